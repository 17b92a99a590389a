//! Tests client and server certificates in files that are replaced.

use super::server::{Authority, CertifiedPair, CredentialServer, ServerState};
use super::setting::{Setting, believed, meanwhile, request};
use std::time::Duration;
use taintward_kube::config::ProbeError;

const FILES: &str = "client-certificate: own.crt, client-key: own.key";

fn put(setting: &Setting, pair: &CertifiedPair) -> Vec<u8> {
    setting.write("own.crt", &pair.certificate.pem());
    setting.write("own.key", &pair.key.serialize_pem());
    pair.certificate.der().to_vec()
}

/// A server that closes the connection for an expired certificate, and then gets a new one.
#[tokio::test]
async fn an_expired_client_certificate_that_is_replaced_is_used() {
    let (authority, setting) = (Authority::new(), Setting::new());
    let server =
        CredentialServer::start(ServerState { tls: Some(authority.server()), ..ServerState::default() })
            .await;
    setting.write("ca.crt", &authority.pem());
    put(&setting, &authority.sign(2021));
    let place = format!("https://{}", server.address);
    let connected = setting.connect(&place, "certificate-authority: ca.crt", FILES).await;
    meanwhile(&connected, Duration::from_secs(2), |response| {
        matches!(response, Err(ProbeError::Certificate(_)))
    })
    .await;
    let good = put(&setting, &authority.sign(4000));
    server.with(|state| state.clients = vec![good]);
    let took = believed(&connected, Duration::from_secs(5)).await;
    assert!(took < Duration::from_secs(3), "{took:?}");
}

/// A server that responds 401 to it, as API servers do, over the connection that was opened with it.
#[tokio::test]
async fn a_new_identity_gets_new_connections() {
    let (authority, setting) = (Authority::new(), Setting::new());
    let (first, second) = (authority.sign(4000), authority.sign(4000));
    let server =
        CredentialServer::start(ServerState { tls: Some(authority.server()), ..ServerState::default() })
            .await;
    setting.write("ca.crt", &authority.pem());
    let known = put(&setting, &first);
    server.with(|state| state.clients = vec![known]);
    let place = format!("https://{}", server.address);
    let connected = setting.connect(&place, "certificate-authority: ca.crt", FILES).await;
    assert!(request(&connected).await.is_ok());
    let known = put(&setting, &second);
    server.with(|state| state.clients = vec![known]);
    assert!(matches!(request(&connected).await, Err(ProbeError::Unauthorized(_))));
    let took = believed(&connected, Duration::from_secs(5)).await;
    assert!(took < Duration::from_secs(3), "{took:?}");
    server.with(|state| assert_eq!(state.connections, 2));
    // Half of a pair, and invalid content, change nothing.
    setting.write("own.key", &first.key.serialize_pem());
    meanwhile(&connected, Duration::from_millis(1200), Result::is_ok).await;
    setting.write("own.crt", "rubbish");
    server.with(|state| state.tokens = vec!["nobody's"]);
    assert!(request(&connected).await.is_ok());
}

/// The server's certificate comes from another authority, and the file with the authority is replaced later.
#[tokio::test]
async fn another_authority_is_trusted_once_its_file_has_it() {
    let (old, new, setting) = (Authority::new(), Authority::new(), Setting::new());
    let server = CredentialServer::start(ServerState {
        tls: Some(new.server()),
        tokens: vec!["t"],
        ..ServerState::default()
    })
    .await;
    setting.write("ca.crt", &old.pem());
    let place = format!("https://{}", server.address);
    let connected = setting.connect(&place, "certificate-authority: ca.crt", "token: t").await;
    meanwhile(&connected, Duration::from_secs(3), |response| {
        matches!(response, Err(ProbeError::Certificate(_)))
    })
    .await;
    setting.write("ca.crt", &new.pem());
    let took = believed(&connected, Duration::from_secs(5)).await;
    assert!(took < Duration::from_secs(3), "{took:?}");
    // Only the new one is trusted.
    server.with(|state| state.tls = Some(old.server()));
    let stranger = setting.connect(&place, "certificate-authority: ca.crt", "token: t").await;
    assert!(matches!(request(&stranger).await, Err(ProbeError::Certificate(_))));
}

#[tokio::test]
async fn a_plugin_may_return_a_certificate() {
    let (authority, setting) = (Authority::new(), Setting::new());
    let pair = authority.sign(4000);
    let server =
        CredentialServer::start(ServerState { tls: Some(authority.server()), ..ServerState::default() })
            .await;
    server.with(|state| state.clients = vec![pair.certificate.der().to_vec()]);
    setting.write("ca.crt", &authority.pem());
    let credential = serde_json::json!({
        "apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
        "status": {"clientCertificateData": pair.certificate.pem(), "clientKeyData": pair.key.serialize_pem()},
    });
    setting.write("credential", &credential.to_string());
    let user = setting.plugin("cat credential");
    let place = format!("https://{}", server.address);
    let connected = setting.connect(&place, "certificate-authority: ca.crt", &user).await;
    assert_eq!(request(&connected).await, Ok("v1.0.0".to_owned()));
    assert_eq!(setting.runs(), 1);
}
