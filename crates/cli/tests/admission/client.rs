//! Sends AdmissionReviews to a webhook over TLS, with chosen trust and client certificates.

use super::hook::STARTUP_TIMEOUT;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use taintward_envtest::certificates::SignedIdentity;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Trusts only these authorities (PEM), and presents a client certificate if there is one.
pub(crate) fn believing(authorities: &str, identity: Option<&SignedIdentity>) -> TlsConnector {
    TlsConnector::from(Arc::new(config(authorities, identity)))
}

/// The same as a TLS configuration.
pub(crate) fn config(authorities: &str, identity: Option<&SignedIdentity>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    for one in CertificateDer::pem_slice_iter(authorities.as_bytes()) {
        roots.add(one.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    match identity {
        None => builder.with_no_client_auth(),
        Some(SignedIdentity { certificate, key }) => {
            let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
            builder
                .with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap())
                .unwrap()
        }
    }
}

/// Opens a connection without sending a request.
pub(crate) async fn connect(port: u16, as_who: &TlsConnector) -> io::Result<TlsStream<TcpStream>> {
    let shaken = async {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.set_nodelay(true)?;
        as_who.connect(ServerName::try_from("127.0.0.1").unwrap(), stream).await
    };
    timeout(STARTUP_TIMEOUT, shaken).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// A connection that sends one request after the other.
pub(crate) struct WebhookClient {
    sender: http1::SendRequest<Full<Bytes>>,
    /// The certificate that the webhook presented, in DER.
    pub(crate) shown: Vec<u8>,
}

impl WebhookClient {
    pub(crate) async fn connect(port: u16, as_who: &TlsConnector) -> io::Result<Self> {
        let stream = connect(port, as_who).await?;
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let shown = certificates.first().map(|one| one.to_vec()).unwrap_or_default();
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        Ok(Self { sender, shown })
    }

    /// Sends a body. Returns the status and the response.
    pub(crate) async fn post(&mut self, path: &str, body: impl Into<Bytes>) -> io::Result<(u16, String)> {
        let request =
            Request::post(path).header("host", "127.0.0.1").header("content-type", "application/json");
        self.send(request.body(Full::from(body.into())).unwrap()).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> io::Result<(u16, String)> {
        let request = Request::get(path).header("host", "127.0.0.1").body(Full::default()).unwrap();
        self.send(request).await
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> io::Result<(u16, String)> {
        let responded = async {
            self.sender.ready().await.map_err(io::Error::other)?;
            let response = self.sender.send_request(request).await.map_err(io::Error::other)?;
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.map_err(io::Error::other)?.to_bytes();
            Ok((status, String::from_utf8_lossy(&body).into_owned()))
        };
        timeout(STARTUP_TIMEOUT, responded).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    }

    /// Sends a review. Returns the `response` of its result.
    pub(crate) async fn request(&mut self, phase: &str, question: &Value) -> Value {
        let (status, text) = self.post(&format!("/{phase}"), question.to_string()).await.unwrap();
        assert_eq!(status, 200, "{text}");
        let response: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(response["kind"], "AdmissionReview", "{text}");
        response["response"].clone()
    }
}

/// A review for creating a pod, as an API server sends it.
pub(crate) fn question(uid: &str, namespace: &str, pod: &Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": uid,
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "name": pod["metadata"]["name"], "namespace": namespace,
            "operation": "CREATE",
            "userInfo": {"username": "eve", "groups": ["system:authenticated"]},
            "object": pod,
            "dryRun": false,
        },
    })
}
