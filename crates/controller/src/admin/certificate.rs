//! # Certificate: what the TLS port shows
//! Room:     reading or making the certificate, and following its renewal on disk.
//! Comes in: two PEM files, or none.
//! Goes out: an acceptor for TLS 1.2 and 1.3.
//! Keeps:    the last good certificate: files that stop making sense change nothing.
//! Not here: client certificates (the port authenticates nobody).

use crate::settings::Certificate;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

/// How often the files are looked at, at most.
pub(super) const RENEWAL_PERIOD: Duration = Duration::from_secs(60);

/// Why there is no certificate to show.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read or holds nothing of the kind.
    #[error("cannot read {what} from {}: {source}; {flag} must name a PEM file", path.display())]
    File {
        /// `a certificate` or `a private key`.
        what: &'static str,
        /// Where it was looked for.
        path: PathBuf,
        /// The flag that names the file.
        flag: &'static str,
        /// What went wrong.
        source: pem::Error,
    },
    /// The certificate and the key do not work together.
    #[error(
        "cannot use the certificate in {} with the key in {}: {source}; \
         --tls-cert-file and --tls-private-key-file must belong together", certificate.display(), key.display()
    )]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What went wrong.
        source: rustls::Error,
    },
    /// No certificate could be made.
    #[error("cannot make a certificate: {0}; give one with --tls-cert-file and --tls-private-key-file")]
    Making(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The certificate on show.
pub(super) struct Shown {
    certificate: Certificate,
    acceptor: TlsAcceptor,
    looked: Instant,
}

impl Shown {
    /// Reads or makes the certificate.
    pub(super) fn new(certificate: &Certificate, address: IpAddr) -> Result<Self, CertificateError> {
        let acceptor = match certificate {
            Certificate::SelfSigned => self_signed(address)?,
            Certificate::Files { certificate, key } => from_files(certificate, key)?,
        };
        Ok(Self { certificate: certificate.clone(), acceptor, looked: Instant::now() })
    }

    /// The acceptor for the next connection; files that changed are read again.
    pub(super) fn acceptor(&mut self) -> TlsAcceptor {
        if let Certificate::Files { certificate, key } = &self.certificate
            && self.looked.elapsed() >= RENEWAL_PERIOD
        {
            self.looked = Instant::now();
            match from_files(certificate, key) {
                Ok(acceptor) => self.acceptor = acceptor,
                Err(error) => tracing::warn!(
                    err = &error as &dyn std::error::Error,
                    "the certificate cannot be renewed; the last good one stays"
                ),
            }
        }
        self.acceptor.clone()
    }
}

fn from_files(certificate: &Path, key: &Path) -> Result<TlsAcceptor, CertificateError> {
    let unreadable = |what, flag, path: &Path| {
        let path = path.to_owned();
        move |source| CertificateError::File { what, path, flag, source }
    };
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .and_then(|chain| if chain.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(chain) })
        .map_err(unreadable("a certificate", "--tls-cert-file", certificate))?;
    let secret = PrivateKeyDer::from_pem_file(key).map_err(unreadable(
        "a private key",
        "--tls-private-key-file",
        key,
    ))?;
    acceptor(chain, secret).map_err(|source| CertificateError::Pair {
        certificate: certificate.to_owned(),
        key: key.to_owned(),
        source,
    })
}

fn self_signed(address: IpAddr) -> Result<TlsAcceptor, CertificateError> {
    let names = vec!["localhost".to_owned(), address.to_string()];
    let made =
        rcgen::generate_simple_self_signed(names).map_err(|error| CertificateError::Making(error.into()))?;
    let secret = PrivateKeyDer::try_from(made.signing_key.serialize_der())
        .map_err(|reason| CertificateError::Making(reason.into()))?;
    acceptor(vec![made.cert.der().clone()], secret).map_err(|error| CertificateError::Making(error.into()))
}

fn acceptor(
    chain: Vec<CertificateDer<'static>>,
    secret: PrivateKeyDer<'static>,
) -> Result<TlsAcceptor, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, secret)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
