//! Reloads the certificate of the secure port when its files change.
//!
//! - Invariant: unusable files leave the last good certificate in use.

use crate::certificate::{CertificateError, CertificatePair};
use crate::settings::ServingCertificate;
use std::net::IpAddr;
use std::time::Duration;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

/// The minimum interval between two checks of the files.
pub(super) const RENEWAL_PERIOD: Duration = Duration::from_secs(60);

/// The current certificate.
pub(super) struct ReloadingTls {
    certificate: ServingCertificate,
    acceptor: TlsAcceptor,
    checked_at: Instant,
}

impl ReloadingTls {
    /// Reads or generates the certificate.
    pub(super) fn new(certificate: &ServingCertificate, address: IpAddr) -> Result<Self, CertificateError> {
        let acceptor = match certificate {
            ServingCertificate::SelfSigned => {
                acceptor(&CertificatePair::self_signed(vec!["localhost".to_owned(), address.to_string()])?)
            }
            ServingCertificate::Files { certificate, key } => {
                acceptor(&CertificatePair::from_files(certificate, key)?)
            }
        };
        Ok(Self { certificate: certificate.clone(), acceptor, checked_at: Instant::now() })
    }

    /// The acceptor for the next connection; files that changed are read again.
    pub(super) fn acceptor(&mut self) -> TlsAcceptor {
        if let ServingCertificate::Files { certificate, key } = &self.certificate
            && self.checked_at.elapsed() >= RENEWAL_PERIOD
        {
            self.checked_at = Instant::now();
            match CertificatePair::from_files(certificate, key) {
                Ok(pair) => self.acceptor = acceptor(&pair),
                Err(error) => tracing::warn!(
                    err = &error as &dyn std::error::Error,
                    "cannot reload the certificate, keeping the last valid one"
                ),
            }
        }
        self.acceptor.clone()
    }
}

fn acceptor(pair: &CertificatePair) -> TlsAcceptor {
    TlsAcceptor::from(pair.config(&[b"http/1.1"]))
}
