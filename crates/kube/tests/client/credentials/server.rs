//! Serves on loopback, and accepts chosen tokens and certificates only.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig, crypto};

/// Signs certificates.
pub(super) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    der: rcgen::Certificate,
}

/// A certificate and its key.
pub(super) struct CertifiedPair {
    pub(super) certificate: rcgen::Certificate,
    pub(super) key: KeyPair,
}

impl Authority {
    pub(super) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let der = params.self_signed(&key).unwrap();
        Self { issuer: Issuer::new(params, key), der }
    }

    pub(super) fn pem(&self) -> String {
        self.der.pem()
    }

    /// Valid until the end of this year.
    pub(super) fn sign(&self, year: i32) -> CertifiedPair {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(year, 12, 31));
        let key = KeyPair::generate().unwrap();
        CertifiedPair { certificate: params.signed_by(&key, &self.issuer).unwrap(), key }
    }

    /// The TLS configuration of a server that requests certificates of this authority and does not require them.
    pub(super) fn server(&self) -> Arc<ServerConfig> {
        let provider = Arc::new(crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.der.der().clone()).unwrap();
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .allow_unauthenticated()
            .build()
            .unwrap();
        let own = self.sign(4000);
        let key = PrivateKeyDer::try_from(own.key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(clients)
            .with_single_cert(vec![own.certificate.der().clone()], key)
            .unwrap();
        Arc::new(config)
    }
}

/// What it accepts, and what it has received.
#[derive(Default)]
pub(super) struct ServerState {
    pub(super) tokens: Vec<&'static str>,
    /// DER.
    pub(super) clients: Vec<Vec<u8>>,
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) connections: usize,
    pub(super) on_response: usize,
    pub(super) rejected: usize,
}

pub(super) struct CredentialServer {
    pub(super) address: SocketAddr,
    state: Arc<Mutex<ServerState>>,
}

impl CredentialServer {
    pub(super) async fn start(state: ServerState) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(state));
        tokio::spawn(serve(listener, Arc::clone(&state)));
        Self { address, state }
    }

    pub(super) fn with<T>(&self, check: impl FnOnce(&mut ServerState) -> T) -> T {
        check(&mut self.state.lock().unwrap())
    }
}

async fn serve(listener: TcpListener, state: Arc<Mutex<ServerState>>) {
    loop {
        let (tcp, _) = listener.accept().await.unwrap();
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let tls = state.lock().unwrap().tls.clone();
            let Some(tls) = tls else { return response(tcp, None, state).await };
            let Ok(tls) = TlsAcceptor::from(tls).accept(tcp).await else { return };
            let shown = tls.get_ref().1.peer_certificates().map(|chain| chain[0].to_vec());
            response(tls, shown, state).await;
        });
    }
}

async fn response(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    shown: Option<Vec<u8>>,
    state: Arc<Mutex<ServerState>>,
) {
    state.lock().unwrap().connections += 1;
    let mut buffer = vec![0; 16 << 10];
    while let Ok(length @ 1..) = stream.read(&mut buffer).await {
        let requested = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let token = requested.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
        let status = {
            let mut state = state.lock().unwrap();
            let believed = state.tokens.iter().any(|known| Some(*known) == token)
                || state.clients.iter().any(|known| Some(known) == shown.as_ref());
            if believed {
                state.on_response += 1
            } else {
                state.rejected += 1
            }
            if believed { "200 OK" } else { "401 Unauthorized" }
        };
        let body = r#"{"gitVersion":"v1.0.0","message":"Unauthorized"}"#;
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}", body.len());
        if stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await.is_err() {
            return;
        }
    }
}
