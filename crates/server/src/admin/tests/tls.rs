//! Tests given, generated, renewed and broken certificates.

use super::super::reloading_tls::{RENEWAL_PERIOD, ReloadingTls};
use super::*;
use rustls::pki_types::ServerName;
use std::path::PathBuf;

/// A client that trusts only `root`.
fn client_config(root: &[u8]) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(root.to_vec().into()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}

struct TlsFiles {
    folder: PathBuf,
    root: Vec<u8>,
}

impl TlsFiles {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("taintward-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut files = Self { folder, root: Vec::new() };
        files.renew();
        files
    }

    fn renew(&mut self) {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        std::fs::write(self.folder.join("tls.crt"), made.cert.pem()).unwrap();
        std::fs::write(self.folder.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
        self.root = made.cert.der().to_vec();
    }

    fn certificate(&self) -> ServingCertificate {
        ServingCertificate::Files {
            certificate: self.folder.join("tls.crt"),
            key: self.folder.join("tls.key"),
        }
    }
}

impl Drop for TlsFiles {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Whether a client that trusts only `root` gets a response.
async fn has_response(acceptor: tokio_rustls::TlsAcceptor, root: &[u8]) -> bool {
    let (client, server) = duplex(64 * 1024);
    let admin = TestChecks::default().admin();
    tokio::spawn(async move {
        if let Ok(stream) = acceptor.accept(server).await {
            converse(stream, &admin, &anyone(), &AtomicBool::new(false)).await;
        }
    });
    let connector = tokio_rustls::TlsConnector::from(client_config(root));
    match connector.connect(ServerName::try_from("localhost").unwrap(), client).await {
        Ok(stream) => {
            exchange(stream, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").await.ends_with("\r\n\r\nok")
        }
        Err(_) => false,
    }
}

#[tokio::test]
async fn tls_serves_the_given_certificate_over_a_real_socket() {
    let files = TlsFiles::new("shown");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let shown = ReloadingTls::new(&files.certificate(), address.ip()).unwrap();
    tokio::spawn(AdminListener::of(None, Some((listener, shown))).serve(TestChecks::default().admin()));
    let connector = tokio_rustls::TlsConnector::from(client_config(&files.root));
    let stream = TcpStream::connect(address).await.unwrap();
    let stream = connector.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
    assert!(exchange(stream, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").await.ends_with("\r\n\r\nok"));
    // Plain HTTP on the TLS port gets no response, and does no harm.
    let response = request_raw(address).await;
    assert!(!response.contains("200 OK"), "{response}");
}

async fn request_raw(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let _ = stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let mut response = Vec::new();
    let _ = timeout(Duration::from_secs(20), stream.read_to_end(&mut response)).await.unwrap();
    String::from_utf8_lossy(&response).into_owned()
}

#[tokio::test(start_paused = true)]
async fn a_renewed_certificate_is_served_and_a_broken_one_is_not() {
    let mut files = TlsFiles::new("renewed");
    let first = files.root.clone();
    let mut shown = ReloadingTls::new(&files.certificate(), Ipv4Addr::LOCALHOST.into()).unwrap();
    assert!(has_response(shown.acceptor(), &first).await);

    files.renew();
    assert!(has_response(shown.acceptor(), &first).await, "the files are not checked on every connection");
    tokio::time::advance(RENEWAL_PERIOD).await;
    assert!(has_response(shown.acceptor(), &files.root).await);
    assert!(!has_response(shown.acceptor(), &first).await);
    let second = files.root.clone();
    files.renew();
    assert!(has_response(shown.acceptor(), &second).await, "nor are they after a renewal");
    tokio::time::advance(RENEWAL_PERIOD).await;
    assert!(has_response(shown.acceptor(), &files.root).await);

    std::fs::write(files.folder.join("tls.crt"), "garbage").unwrap();
    tokio::time::advance(RENEWAL_PERIOD).await;
    assert!(has_response(shown.acceptor(), &files.root).await);
}

#[tokio::test]
async fn an_unusable_certificate_names_the_flag() {
    let files = TlsFiles::new("broken");
    let missing = ServingCertificate::Files {
        certificate: files.folder.join("none"),
        key: files.folder.join("tls.key"),
    };
    let rejected = |certificate: &ServingCertificate| {
        ReloadingTls::new(certificate, Ipv4Addr::LOCALHOST.into()).err().unwrap().to_string()
    };
    let error = rejected(&missing);
    assert!(
        error.starts_with("cannot read a certificate from ")
            && error.ends_with("--tls-cert-file must name a PEM file"),
        "{error}"
    );

    std::fs::write(files.folder.join("empty"), "").unwrap();
    let (crt, key, empty) =
        (files.folder.join("tls.crt"), files.folder.join("tls.key"), files.folder.join("empty"));
    let error = rejected(&ServingCertificate::Files { certificate: crt.clone(), key: empty.clone() });
    assert!(error.contains("a private key") && error.contains("--tls-private-key-file"), "{error}");
    let error = rejected(&ServingCertificate::Files { certificate: empty, key });
    assert!(error.contains("a certificate") && error.contains("--tls-cert-file"), "{error}");

    let other = TlsFiles::new("other");
    let error = rejected(&ServingCertificate::Files { certificate: crt, key: other.folder.join("tls.key") });
    assert!(error.contains("must belong together"), "{error}");
    assert!(ReloadingTls::new(&ServingCertificate::SelfSigned, Ipv4Addr::LOCALHOST.into()).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_never_starts_its_handshake_is_cut_off() {
    let mut shown = ReloadingTls::new(&ServingCertificate::SelfSigned, Ipv4Addr::LOCALHOST.into()).unwrap();
    let (_held, server) = duplex(64);
    let began = Instant::now();
    client(server, Some(shown.acceptor()), TestChecks::default().admin(), anyone()).await;
    assert_eq!(began.elapsed(), CONNECTION_MAX);
}
