//! Checks items 9 and 10: client certificates and versions of TLS.

use super::harness::{ChecklistHarness, ItemResult, demand};
use crate::admission::client::{WebhookClient, believing, question};
use crate::admission::hook::{Hook, HookFiles, all};
use crate::admission::register::{Registered, namespace, plain_pod, register_as, requests};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};
use serde_json::json;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use taintward_envtest::certificates::{SignedIdentity, TestAuthority};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn clients_must_present_a_certificate(harness: &ChecklistHarness) -> ItemResult {
    let authorities = harness.write("clients.crt", &harness.clients.certificate);
    let demands = format!("--client-ca-file={authorities}");
    let flags = HookFiles::new(&harness.cluster, "strict", &harness.authority).flags();
    let hook = Hook::start(&harness.cluster, &harness.account, &all(&flags, &[&demands])).ready().await;
    let requested = async |identity: Option<&SignedIdentity>| {
        let who = believing(&harness.authority.certificate, identity);
        let mut client = WebhookClient::connect(hook.port, &who).await?;
        client.post("/mutate", question("u", "main", &plain_pod("p")).to_string()).await
    };
    let stranger = TestAuthority::new().unwrap().client("kube-apiserver", "webhooks").unwrap();
    for (who, identity) in [("a client without a certificate", None), ("another authority", Some(&stranger))]
    {
        demand(requested(identity).await.is_err(), format!("{who} was admitted"))?;
    }
    let known = harness.clients.client("kube-apiserver", "webhooks").unwrap();
    let (status, _) = requested(Some(&known))
        .await
        .map_err(|why| format!("the API server's certificate was rejected: {why}"))?;
    demand(status == 200, status)?;
    namespace(&harness.api, "strict", "strict", json!({})).await;
    let reported = Registered::strict(&hook, "strict", &harness.authority.certificate);
    register_as(&harness.api, "strict", &[reported]).await;
    requests(&harness.api, &hook, "strict").await;
    let failed = hook.metric("taintward_webhook_ended_connections_total", "handshake");
    demand(failed >= 2.0, format!("{failed} handshakes failed"))?;
    Ok("the handshake fails without a certificate, and with one of another authority; it succeeds for the API server, which \
            presents its own".into())
}

/// The ClientHello of TLS 1.1: one suite, no extensions.
fn old_hello() -> Vec<u8> {
    let mut hello = vec![3, 2];
    hello.extend([7; 32]);
    // No session; the suite TLS_RSA_WITH_AES_128_CBC_SHA; no compression.
    hello.extend([0, 0, 2, 0, 0x2f, 1, 0]);
    let length = u8::try_from(hello.len()).unwrap();
    let mut record = vec![22, 3, 1, 0, length + 4, 1, 0, 0, length];
    record.extend(hello);
    record
}

pub(crate) async fn old_versions(harness: &ChecklistHarness) -> ItemResult {
    let responded = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, harness.hook.port)).await?;
        stream.write_all(&old_hello()).await?;
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response).await;
        std::io::Result::Ok(response)
    };
    let response =
        timeout(STARTUP_TIMEOUT, responded).await.map_err(|_| "no end")?.map_err(|why| why.to_string())?;
    // An alert (21), not a server's handshake message (22).
    demand(response.first().is_none_or(|kind| *kind == 21), format!("TLS 1.1 is answered: {response:?}"))?;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let connector = speaking(&harness.authority.certificate, version);
        let client = WebhookClient::connect(harness.hook.port, &connector).await;
        demand(client.is_ok(), format!("{version:?} is not supported"))?;
    }
    let lock = include_str!("../../../../Cargo.lock");
    for other in ["openssl-sys", "aws-lc-sys", "native-tls", "boring-sys"] {
        demand(!lock.contains(&format!("name = \"{other}\"")), format!("{other} is among the dependencies"))?;
    }
    Ok("TLS 1.1 gets an alert, 1.2 and 1.3 work; the library is rustls with ring, and no other".into())
}

/// Speaks only one version of TLS.
fn speaking(authorities: &str, version: &'static SupportedProtocolVersion) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authorities.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version]).unwrap();
    TlsConnector::from(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
