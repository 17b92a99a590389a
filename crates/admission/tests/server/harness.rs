//! Runs a server and simple clients for the tests.

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use taintward_admission::metrics::WebhookMetrics;
use taintward_admission::review::{
    AdmissionRequest, InvalidReview, JsonPatchBuilder, PatchedToleration, ReviewVerdict, Reviewer,
    RuleEffect, RuleOutcome,
};
use taintward_admission::server::{WallClock, WebhookListener, WebhookService};
use taintward_admission::settings::*;
use taintward_core::time::{Mono, Wall};
use taintward_server::metrics::{Exposition, Registry};
use testkit::wait::until_true;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub(crate) const SHORT: Duration = Duration::from_millis(400);
/// On a busy machine every response arrives within this time.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);
/// The time of the tests.
const NOW: i64 = 1_800_000_000;

/// No limits but those that a test is about.
pub(crate) fn limits() -> ServerLimits {
    let long = TIMEOUT * 4;
    ServerLimits {
        head: long,
        body: long,
        stall: long,
        idle: long,
        silence: long,
        farewell: Duration::ZERO,
        drain: TIMEOUT,
        ..ServerLimits::default()
    }
}

/// Adds a toleration, and reports a rule as unknown; panics for the pod `breaks`, rejects the pod `unreviewed`, and
/// `unjudged` if it cannot be judged. It knows `young-3` at the third call, and `young-for-ever` never.
#[derive(Default)]
struct HarnessRules {
    requested: AtomicUsize,
}

impl Reviewer for HarnessRules {
    fn mutate(&self, request: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
        assert_ne!(request.name, "breaks", "told to");
        let requested = self.requested.fetch_add(1, Ordering::Relaxed) + 1;
        if request.name == "young-for-ever" || (request.name == "young-3" && requested < 3) {
            return Ok(ReviewVerdict { is_early: true, ..ReviewVerdict::allow() });
        }
        let mut patch = JsonPatchBuilder::default();
        patch.add_tolerations(
            None,
            &[PatchedToleration { key: "k", operator: "Exists", ..PatchedToleration::default() }],
        );
        Ok(ReviewVerdict {
            patch,
            notes: vec![RuleOutcome { rule: "pool", effect: RuleEffect::Unknown }],
            ..ReviewVerdict::default()
        })
    }

    fn denial_if_unjudged(&self, request: &AdmissionRequest<'_>) -> Option<&'static str> {
        (request.name == "unjudged").then_some("told to")
    }

    fn validate(&self, request: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
        Ok(if request.name == "refused" { ReviewVerdict::deny("not here") } else { ReviewVerdict::allow() })
    }
}

/// Certificate files of one test.
pub(crate) struct CertificateFiles(pub(crate) PathBuf);

impl CertificateFiles {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("taintward-hook-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    /// Writes another certificate with this validity. Returns the root to trust.
    pub(crate) fn renew(&self, days_before: i64, days_after: i64) -> Vec<u8> {
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let date = |days: i64| {
            let seconds = u64::try_from(NOW + days * 86_400).unwrap();
            rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
        };
        (params.not_before, params.not_after) = (date(-days_before), date(days_after));
        let key = rcgen::KeyPair::generate().unwrap();
        let made = params.self_signed(&key).unwrap();
        std::fs::write(self.certificate(), made.pem()).unwrap();
        std::fs::write(self.key(), key.serialize_pem()).unwrap();
        made.der().to_vec()
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.0.join("tls.crt")
    }

    pub(crate) fn key(&self) -> PathBuf {
        self.0.join("tls.key")
    }
}

impl Drop for CertificateFiles {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running server.
pub(crate) struct ServerHarness {
    pub(crate) address: SocketAddr,
    pub(crate) metrics_address: Option<SocketAddr>,
    pub(crate) metrics: Arc<WebhookMetrics>,
    pub(crate) files: CertificateFiles,
    pub(crate) root: Vec<u8>,
    /// The wall clock, in seconds.
    pub(crate) now: Arc<AtomicI64>,
    stop: Option<oneshot::Sender<()>>,
    pub(crate) served: JoinHandle<()>,
}

impl ServerHarness {
    pub(crate) async fn set(limits: ServerLimits) -> Self {
        Self::of(limits, None, None).await
    }

    /// One that accepts only clients with such a certificate.
    pub(crate) async fn demanding(limits: ServerLimits, clients: ClientCaSettings) -> Self {
        Self::of(limits, Some(clients), None).await
    }

    /// One with a separate port for metrics and health.
    pub(crate) async fn with_metrics(limits: ServerLimits) -> Self {
        Self::of(limits, None, Some("127.0.0.1:0".parse().unwrap())).await
    }

    async fn of(
        limits: ServerLimits,
        clients: Option<ClientCaSettings>,
        metrics: Option<SocketAddr>,
    ) -> Self {
        static HARNESSES: AtomicU64 = AtomicU64::new(0);
        let files = CertificateFiles::new(&format!("harness{}", HARNESSES.fetch_add(1, Ordering::Relaxed)));
        let root = files.renew(1, 90);
        let now = Arc::new(AtomicI64::new(NOW));
        let reading = Arc::clone(&now);
        let clock: WallClock = Arc::new(move || Wall::from_secs(reading.load(Ordering::Relaxed)));
        let settings = WebhookServerSettings {
            address: "127.0.0.1:0".parse().unwrap(),
            metrics,
            certificate: CertificateSource::Files {
                certificate: files.certificate(),
                key: files.key(),
                every: Duration::from_millis(20),
            },
            clients,
            limits,
        };
        let listening = WebhookListener::open(&settings, clock).await.unwrap();
        let (address, metrics_address) = (listening.address().unwrap(), listening.metrics_address());
        let (started, clock) = (Wall::from_secs(NOW), Arc::new(|| Mono::from_secs(0)));
        let metrics = Arc::new(WebhookMetrics::new(Registry::default(), clock, "0", started, &["pool"]));
        let service = WebhookService {
            reviewer: Arc::new(HarnessRules::default()),
            metrics: Arc::clone(&metrics),
            checks: Vec::new(),
        };
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(listening.serve(service, async move {
            let _ = stopped.await;
        }));
        Self { address, metrics_address, metrics, files, root, now, stop: Some(stop), served }
    }

    pub(crate) fn request_stop(&mut self) {
        drop(self.stop.take());
    }

    /// The value of a series without labels, or with exactly these.
    pub(crate) fn value(&self, series: &str) -> f64 {
        let text = self.metrics.render(Exposition::Prometheus);
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {series} in {text}")).parse().unwrap()
    }

    pub(crate) async fn reaches(&self, series: &str, value: f64) {
        self.wait(series, value, |is| is >= value).await;
    }

    pub(crate) async fn becomes(&self, series: &str, value: f64) {
        self.wait(series, value, |is| is == value).await;
    }

    async fn wait(&self, series: &str, value: f64, holds: impl Fn(f64) -> bool) {
        until_true(&format!("{series} to be {value}"), TIMEOUT, async || holds(self.value(series))).await;
    }

    pub(crate) async fn tls(&self) -> TlsStream<TcpStream> {
        connect(self.address, &self.root).await.unwrap()
    }

    /// Sends bytes over TLS and reads until the server closes the connection.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.tls().await;
        stream.write_all(bytes).await.unwrap();
        let mut response = Vec::new();
        let _ = timeout(TIMEOUT, stream.read_to_end(&mut response)).await.expect("no end");
        String::from_utf8_lossy(&response).into_owned()
    }

    /// How long a review of another client takes, from connecting to the response.
    pub(crate) async fn responds(&self) -> Duration {
        let began = Instant::now();
        let mut client = HarnessClient::connect(self).await;
        let (status, body) = client.post("/mutate", question("a", 100)).await;
        assert_eq!(status, 200, "{body}");
        assert!(body.contains("\"uid\":\"u\"") && body.contains("\"allowed\":true"), "{body}");
        began.elapsed()
    }
}

/// The protocols that API servers offer.
pub(crate) const BOTH: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// A TLS connection that trusts only `root`.
pub(crate) async fn connect(address: SocketAddr, root: &[u8]) -> std::io::Result<TlsStream<TcpStream>> {
    connect_as(address, root, &BOTH, None).await
}

/// A client certificate and its key, in DER.
pub(crate) type Identity = (Vec<u8>, Vec<u8>);

/// The same with these protocols and a client certificate.
pub(crate) async fn connect_as(
    address: SocketAddr,
    root: &[u8],
    protocols: &[&[u8]],
    identity: Option<&Identity>,
) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    connector(root, protocols, identity).connect(ServerName::try_from("localhost").unwrap(), stream).await
}

/// Connects with these protocols and a client certificate.
pub(crate) fn connector(root: &[u8], protocols: &[&[u8]], identity: Option<&Identity>) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(root.to_vec().into()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = AtNow(
        rustls::client::WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()
            .unwrap(),
    );
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let key = rustls::pki_types::PrivateKeyDer::try_from(key.clone()).unwrap();
            builder.with_client_auth_cert(vec![certificate.clone().into()], key).unwrap()
        }
    };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    TlsConnector::from(Arc::new(config))
}

/// Verifies at the test's own time.
#[derive(Debug)]
struct AtNow(Arc<rustls::client::WebPkiServerVerifier>);

impl rustls::client::danger::ServerCertVerifier for AtNow {
    fn verify_server_cert(
        &self,
        certificate: &rustls::pki_types::CertificateDer<'_>,
        intermediates: &[rustls::pki_types::CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        let now = rustls::pki_types::UnixTime::since_unix_epoch(Duration::from_secs(NOW.unsigned_abs()));
        self.0.verify_server_cert(certificate, intermediates, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &rustls::pki_types::CertificateDer<'_>,
        signature: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// A well-behaved client.
pub(crate) struct HarnessClient(http1::SendRequest<Full<Bytes>>);

impl HarnessClient {
    pub(crate) async fn connect(harness: &ServerHarness) -> Self {
        Self::over(harness.tls().await).await
    }

    pub(crate) async fn over(stream: TlsStream<TcpStream>) -> Self {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    pub(crate) async fn send(
        &mut self,
        request: http::Request<Full<Bytes>>,
    ) -> Result<(u16, String), hyper::Error> {
        let responded = async {
            self.0.ready().await?;
            let response = self.0.send_request(request).await?;
            let status = response.status().as_u16();
            let body = response.into_body().collect().await?.to_bytes();
            Ok((status, String::from_utf8_lossy(&body).into_owned()))
        };
        timeout(TIMEOUT, responded).await.expect("no answer")
    }

    pub(crate) async fn post(&mut self, path: &str, body: String) -> (u16, String) {
        self.send(post(path, body)).await.unwrap()
    }

    pub(crate) async fn get(&mut self, path: &str) -> (u16, String) {
        let request = http::Request::get(format!("https://localhost{path}")).header("host", "localhost");
        self.send(request.body(Full::default()).unwrap()).await.unwrap()
    }
}

pub(crate) fn post(path: &str, body: String) -> http::Request<Full<Bytes>> {
    http::Request::post(format!("https://localhost{path}"))
        .header("host", "localhost")
        .header("content-type", "application/json")
        .body(Full::from(body))
        .unwrap()
}

/// A review of a pod of this name, with this much padding.
pub(crate) fn question(name: &str, padding: usize) -> String {
    let named = r#"{"group":"","version":"v1","kind":"Pod","resource":"pods"}"#;
    let pod = format!(r#"{{"spec":{{"a":"{}"}}}}"#, "x".repeat(padding));
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","kind":{named},"resource":{named},"operation":"CREATE","name":"{name}","object":{pod}}}}}"#
    )
}
