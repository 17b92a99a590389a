//! Tests the messages about an unreachable server and about missing permissions.

use crate::fake::{ClientReply, server};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use taintward_core::api_error::ApiFailure;
use taintward_core::time::Wall;
use taintward_kube::api::{Permission, check_access};
use taintward_kube::config::{
    ConfigOverrides, ConnectError, ConnectSettings, Connected, Impersonation, ProbeError, connect, greet,
    probe,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{self, ServerConfig};

const LIMIT: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn each_response_has_its_message() {
    let ok = || ClientReply::json(200, &json!({ "gitVersion": "v1.36.3" }));
    let (client, log) = server(move |_| ok());
    assert_eq!(probe(&client, LIMIT).await, Ok("v1.36.3".to_owned()));
    assert_eq!(log.lock().unwrap()[0].line(), "GET /version");
    for (code, word) in [
        (401, "renew"),
        (403, "bind the user to a ClusterRole"),
        (500, "not a healthy API server"),
        (404, "404"),
    ] {
        let (client, log) = server(move |_| ClientReply::status(code, "Any", "because"));
        let error = probe(&client, LIMIT).await.unwrap_err();
        let fits = match code {
            401 => matches!(error, ProbeError::Unauthorized(_)),
            403 => matches!(error, ProbeError::Forbidden(_)),
            _ => matches!(error, ProbeError::NoApiServer(_)),
        };
        assert!(fits && error.to_string().contains(word) && error.to_string().contains("because"), "{error}");
        assert_eq!(log.lock().unwrap().len(), 1);
    }
    let (client, _) = server(|_| ClientReply::Response(200, vec![], "<html>welcome</html>".into()));
    assert!(matches!(probe(&client, LIMIT).await, Err(ProbeError::NoApiServer(_))));
    let (client, _) = server(|_| ClientReply::Silence(Duration::from_secs(3600)));
    let error = probe(&client, LIMIT).await.unwrap_err();
    assert!(
        matches!(error, ProbeError::Unreachable(_)) && error.to_string().contains("within 5s"),
        "{error}"
    );
    let (client, _) = server(|_| ClientReply::Reset);
    assert!(matches!(probe(&client, LIMIT).await, Err(ProbeError::Unreachable(_))));
}

#[tokio::test(start_paused = true)]
async fn the_servers_own_date_is_its_clock_and_a_caches_is_not() {
    let date = ("date", "Sat, 21 Nov 2026 10:00:00 GMT");
    let odd = ("date", "Sat, 21 Nov 2026 10:00:00 CET");
    for (headers, expected) in [
        (vec![date], Some(Wall::from_secs(1_795_255_200))),
        (vec![date, ("age", "30")], None),
        (vec![date, date], None),
        (vec![odd], None),
        (vec![], None),
    ] {
        let what = format!("{headers:?}");
        let (client, _) = server(move |_| {
            let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
            ClientReply::Response(200, headers, r#"{"gitVersion":"v1.36.3"}"#.into())
        });
        assert_eq!(greet(&client, LIMIT).await.unwrap().date, expected, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn missing_permissions_are_reported_with_the_rule_that_grants_them() {
    let (client, log) = server(|seen| {
        let allowed = seen.body["spec"]["resourceAttributes"]["verb"] == json!("get");
        ClientReply::json(201, &json!({ "status": { "allowed": allowed } }))
    });
    let lease = Permission {
        verb: "update",
        group: "coordination.k8s.io",
        resource: "leases",
        namespace: Some("kube-system".into()),
        name: Some("taintward".into()),
    };
    let needs = [
        Permission::everywhere("get", "", "nodes"),
        Permission::everywhere("patch", "", "pods/status"),
        lease,
    ];
    let missing = check_access(&client, &needs, None, LIMIT).await.unwrap();
    let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
    assert_eq!(
        missing,
        [
            "may not patch pods/status; add to its ClusterRole: {apiGroups: [\"\"], resources: [\"pods/status\"], \
             verbs: [\"patch\"]}",
            "may not update leases in namespace kube-system; add to its Role: {apiGroups: [\"coordination.k8s.io\"], \
             resources: [\"leases\"], resourceNames: [\"taintward\"], verbs: [\"update\"]}",
        ]
    );
    let seen = log.lock().unwrap();
    assert_eq!(seen[1].line(), "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    let requested = &seen[1].body["spec"]["resourceAttributes"];
    assert_eq!((&requested["resource"], &requested["subresource"]), (&json!("pods"), &json!("status")));
}

#[tokio::test(start_paused = true)]
async fn a_review_without_a_response_is_neither_allowed_nor_denied() {
    let (client, _) = server(|_| ClientReply::status(503, "ServiceUnavailable", "starting"));
    let rejection =
        check_access(&client, &[Permission::everywhere("get", "", "nodes")], None, LIMIT).await.unwrap_err();
    assert_eq!(rejection.failure, ApiFailure::Unavailable);
    let (client, _) = server(|_| ClientReply::Response(201, vec![], "[]".into()));
    let missing =
        check_access(&client, &[Permission::everywhere("get", "", "nodes")], None, LIMIT).await.unwrap();
    assert_eq!(missing.len(), 1, "only an explicit yes counts");
}

/// A kubeconfig file of one test, removed with it.
struct ProbeFile(PathBuf);

impl Drop for ProbeFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

async fn error_of(name: &str, user: &str, cluster: &str) -> ConnectError {
    connect_as(name, user, cluster).await.err().unwrap()
}

async fn connect_as(name: &str, user: &str, cluster: &str) -> Result<Connected, ConnectError> {
    let file = ProbeFile(std::env::temp_dir().join(format!("taintward-probe-{}-{name}", std::process::id())));
    let text = format!(
        "{{clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:1'{cluster}}}}}], \
         users: [{{name: u, user: {{{user}}}}}], \
         contexts: [{{name: x, context: {{cluster: c, user: u}}}}], current-context: x}}"
    );
    std::fs::write(&file.0, text).unwrap();
    let settings = ConnectSettings { kubeconfig: Some(file.0.clone()), ..ConnectSettings::default() };
    connect(&settings).await
}

#[tokio::test]
async fn unusable_credentials_certificates_and_proxies_are_distinguished() {
    let exec = |command: &str| {
        format!(
            "exec: {{apiVersion: client.authentication.k8s.io/v1, command: {command}, interactiveMode: Never}}"
        )
    };
    for command in ["false", "/nowhere/at/all"] {
        let connected = connect_as("exec", &exec(command), "").await.unwrap();
        let error = probe(&connected.client, LIMIT).await.unwrap_err();
        assert!(matches!(error, ProbeError::Credentials(_)), "{error}");
        assert!(!error.to_string().contains('\n') && error.to_string().contains(command), "{error}");
    }
    for useless in [
        "tokenFile: /nowhere/at/all",
        "auth-provider: {name: gcp}",
        "auth-provider: {name: oidc}",
        "exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: a}",
        "exec: {apiVersion: client.authentication.k8s.io/v1}",
    ] {
        let error = error_of("useless", useless, "").await;
        assert!(matches!(error, ConnectError::Credentials { .. }), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
    let error = error_of("key", "client-certificate-data: aGFsbG8=, client-key-data: aGFsbG8=", "").await;
    assert!(matches!(error, ConnectError::BadCertificate { .. }), "{error}");
    let error = error_of("proxy", "token: t", ", proxy-url: 'ftp://127.0.0.1:1'").await;
    assert!(matches!(error, ConnectError::Proxy { .. }), "{error}");
    let error = error_of("name", "token: t", ", tls-server-name: 'a b'").await;
    assert!(matches!(error, ConnectError::BadCertificate { .. }), "{error}");
}

async fn connected(name: &str, address: SocketAddr, authority: &CertifiedKey<rcgen::KeyPair>) -> Connected {
    let file = ProbeFile(std::env::temp_dir().join(format!("taintward-probe-{}-{name}", std::process::id())));
    let (authority_file, pem) = (ProbeFile(file.0.with_extension("pem")), authority.cert.pem());
    std::fs::write(&authority_file.0, pem).unwrap();
    let text = format!(
        "{{clusters: [{{name: c, cluster: {{server: 'https://{address}', certificate-authority: '{}'}}}}], \
         users: [{{name: u, user: {{token: t}}}}], \
         contexts: [{{name: x, context: {{cluster: c, user: u}}}}], current-context: x}}",
        authority_file.0.display()
    );
    std::fs::write(&file.0, text).unwrap();
    let acting = (name == "acting").then(|| Impersonation {
        user: "jane".to_owned(),
        groups: vec!["shop".to_owned(), "ops".to_owned()],
        uid: Some("42".to_owned()),
    });
    let settings = ConnectSettings {
        kubeconfig: Some(file.0.clone()),
        overrides: ConfigOverrides { acting, ..ConfigOverrides::default() },
        connect_timeout: Duration::from_millis(300),
        ..ConnectSettings::default()
    };
    connect(&settings).await.unwrap()
}

fn certificate() -> CertifiedKey<rcgen::KeyPair> {
    generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap()
}

/// An HTTPS server that responds to every connection's first request with a version and returns that request.
async fn https(own: &CertifiedKey<rcgen::KeyPair>) -> (SocketAddr, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let serving = tokio::spawn(async move {
        loop {
            let (tcp, _) = listener.accept().await.unwrap();
            let Ok(mut tls) = acceptor.accept(tcp).await else { continue };
            let mut requested = vec![0; 4096];
            let read = tls.read(&mut requested).await.unwrap();
            let body = "{\"gitVersion\":\"v1.0.0\"}";
            let response = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
            tls.write_all(response.as_bytes()).await.unwrap();
            tls.shutdown().await.unwrap();
            return String::from_utf8_lossy(&requested[..read]).into_owned();
        }
    });
    (address, serving)
}

#[tokio::test]
async fn a_server_with_the_right_certificate_gets_one_request_with_credentials() {
    let own = certificate();
    let (address, serving) = https(&own).await;
    let connected = connected("right", address, &own).await;
    assert!(
        connected.where_from.contains("context \"x\"") && connected.where_from.contains(&address.to_string())
    );
    assert_eq!(probe(&connected.client, LIMIT).await, Ok("v1.0.0".to_owned()));
    let requested = serving.await.unwrap().to_ascii_lowercase();
    assert!(requested.starts_with("get /version http/1.1"), "{requested}");
    assert!(
        requested.contains("user-agent: taintward/") && requested.contains("authorization: bearer t"),
        "{requested}"
    );
    assert!(!requested.contains("accept-encoding"), "no compression is requested: {requested}");
}

#[tokio::test]
async fn requests_carry_the_impersonation() {
    let own = certificate();
    let (address, serving) = https(&own).await;
    let connected = connected("acting", address, &own).await;
    assert!(connected.where_from.contains(", as \"jane\", server"), "{}", connected.where_from);
    assert_eq!(probe(&connected.client, LIMIT).await, Ok("v1.0.0".to_owned()));
    let requested = serving.await.unwrap().to_ascii_lowercase();
    let mut message: Vec<_> = requested.lines().filter(|line| line.starts_with("impersonate-")).collect();
    message.sort_unstable();
    let expected = ["group: ops", "group: shop", "uid: 42", "user: jane"];
    assert_eq!(message, expected.map(|line| format!("impersonate-{line}")), "{requested}");
    assert!(requested.contains("authorization: bearer t"), "the credentials stay: {requested}");
}

#[tokio::test]
async fn a_wrong_certificate_is_reported_as_such() {
    let (address, _serving) = https(&certificate()).await;
    let connected = connected("wrong", address, &certificate()).await;
    let error = probe(&connected.client, LIMIT).await.unwrap_err();
    assert!(matches!(error, ProbeError::Certificate(_)), "{error}");
    assert!(error.to_string().contains("certificate-authority"), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_is_reported_with_the_address_to_write() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut hello = [0; 1];
        connection.read_exact(&mut hello).await.unwrap();
        connection.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    let plain = connected("plain", address, &certificate()).await;
    let error = probe(&plain.client, LIMIT).await.unwrap_err();
    assert_eq!(error, ProbeError::PlainHttp);
    assert!(error.to_string().ends_with("write the address with http:// instead of https://"), "{error}");
    serving.await.unwrap();
}

#[tokio::test]
async fn a_closed_port_and_a_silent_server_are_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mute = connected("mute", address, &certificate()).await;
    let start = std::time::Instant::now();
    let error = probe(&mute.client, LIMIT).await.unwrap_err();
    assert!(matches!(error, ProbeError::Unreachable(_)), "{error}");
    assert!(start.elapsed() < LIMIT, "the connection has a timeout of its own");
    drop(listener);
    let closed = connected("closed", address, &certificate()).await;
    let error = probe(&closed.client, LIMIT).await.unwrap_err();
    assert!(matches!(error, ProbeError::Unreachable(_)) && error.to_string().contains("refused"), "{error}");
}
