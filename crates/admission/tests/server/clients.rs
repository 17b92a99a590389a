//! Tests the verification of client certificates.

use super::harness::{BOTH, CertificateFiles, Identity, ServerHarness, TIMEOUT, connect_as, limits};
use taintward_admission::server::WebhookListener;
use taintward_admission::settings::{CertificateSource, ClientCaSettings, WebhookServerSettings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

/// An authority: its certificate in PEM, and its issuer.
fn authority(name: &str) -> (String, rcgen::Issuer<'static, rcgen::KeyPair>) {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let key = rcgen::KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    (pem, rcgen::Issuer::new(params, key))
}

fn signed(by: &rcgen::Issuer<'static, rcgen::KeyPair>, purpose: rcgen::ExtendedKeyUsagePurpose) -> Identity {
    signed_for(&["rcgen self signed cert"], by, purpose)
}

/// A client certificate with these common names.
fn signed_for(
    names: &[&str],
    by: &rcgen::Issuer<'static, rcgen::KeyPair>,
    purpose: rcgen::ExtendedKeyUsagePurpose,
) -> Identity {
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.extended_key_usages = vec![purpose];
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::OrganizationName, "system:masters");
    names.iter().for_each(|name| params.distinguished_name.push(rcgen::DnType::CommonName, *name));
    let key = rcgen::KeyPair::generate().unwrap();
    (params.signed_by(&key, by).unwrap().der().to_vec(), key.serialize_der())
}

/// The response to a health request; empty from a server that closes the connection. With TLS 1.3 a client learns only
/// by reading that it is rejected.
async fn requested(harness: &ServerHarness, identity: Option<&Identity>) -> String {
    let response = async {
        let mut stream = connect_as(harness.address, &harness.root, &BOTH, identity).await?;
        stream.write_all(b"GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response).await?;
        std::io::Result::Ok(String::from_utf8_lossy(&response).into_owned())
    };
    timeout(TIMEOUT, response).await.expect("an end").unwrap_or_default()
}

#[tokio::test]
async fn only_clients_with_a_certificate_of_the_authority_are_accepted() {
    let ((pem, ours), (_, theirs)) = (authority("ours"), authority("theirs"));
    let files = CertificateFiles::new("authorities");
    let file = files.0.join("clients.crt");
    std::fs::write(&file, pem).unwrap();
    let mut harness = ServerHarness::demanding(limits(), ClientCaSettings { file, names: Vec::new() }).await;
    let client = rcgen::ExtendedKeyUsagePurpose::ClientAuth;
    let known = signed(&ours, client.clone());
    let response = requested(&harness, Some(&known)).await;
    assert!(response.starts_with("HTTP/1.1 200 OK"), "{response}");
    let server = signed(&ours, rcgen::ExtendedKeyUsagePurpose::ServerAuth);
    for (who, identity) in
        [("nobody", None), ("a stranger", Some(&signed(&theirs, client))), ("a server", Some(&server))]
    {
        assert_eq!(requested(&harness, identity).await, "", "{who}");
    }
    harness.becomes("taintward_webhook_ended_connections_total{reason=\"handshake\"}", 3.0).await;
    // Another serving certificate makes the same demand.
    harness.root = harness.files.renew(1, 90);
    harness.reaches("taintward_webhook_certificate_reloads_total", 2.0).await;
    assert_eq!(requested(&harness, None).await, "");
    assert!(requested(&harness, Some(&known)).await.starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn of_these_only_clients_with_an_allowed_name() {
    let (pem, ours) = authority("ours");
    let files = CertificateFiles::new("names");
    let file = files.0.join("clients.crt");
    std::fs::write(&file, pem).unwrap();
    let names = vec!["kube-apiserver".to_owned(), "front-proxy-client".to_owned()];
    let harness = ServerHarness::demanding(limits(), ClientCaSettings { file, names }).await;
    let client = rcgen::ExtendedKeyUsagePurpose::ClientAuth;
    for (names, is_let_in) in [
        (&["kube-apiserver"][..], true),
        (&["front-proxy-client"], true),
        (&["kube-apiserver2"], false),
        (&["random-user"], false),
        (&["system:masters"], false),
        (&[], false),
    ] {
        let who = signed_for(names, &ours, client.clone());
        let response = requested(&harness, Some(&who)).await;
        assert_eq!(response.starts_with("HTTP/1.1 200 OK"), is_let_in, "{names:?}: {response}");
    }
    assert_eq!(requested(&harness, None).await, "");
}

#[tokio::test]
async fn without_a_file_all_clients_are_accepted_and_an_unusable_file_is_an_error() {
    let harness = ServerHarness::set(limits()).await;
    assert!(requested(&harness, None).await.starts_with("HTTP/1.1 200 OK"));
    let files = CertificateFiles::new("no-authorities");
    files.renew(1, 90);
    for content in [None, Some(""), Some("garbage")] {
        let file = files.0.join("clients.crt");
        if let Some(content) = content {
            std::fs::write(&file, content).unwrap();
        }
        let settings = WebhookServerSettings {
            address: "127.0.0.1:0".parse().unwrap(),
            metrics: None,
            certificate: CertificateSource::Files {
                certificate: files.certificate(),
                key: files.key(),
                every: TIMEOUT,
            },
            clients: Some(ClientCaSettings { file, names: Vec::new() }),
            limits: limits(),
        };
        let clock = std::sync::Arc::new(|| taintward_core::time::Wall::from_secs(1_800_000_000));
        let message = WebhookListener::open(&settings, clock).await.err().map(|error| error.to_string());
        let message = message.unwrap_or_default();
        assert!(message.contains("--client-ca-file must name"), "{content:?}: {message}");
    }
}
