//! # Clients: whom a TLS port lets in
//! Room:     who must have signed a client's certificate.
//! Comes in: a PEM file of authorities.
//! Goes out: what a TLS configuration asks of clients.
//! Not here: what a client that is let in may do.

use super::{CertificateError, provider};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoClientAuth, VerifierBuilderError, WebPkiClientVerifier};
use rustls::{OtherError, RootCertStore};
use std::path::Path;
use std::sync::Arc;

/// Who is let in.
#[derive(Clone, Debug)]
pub struct Clients(Arc<dyn ClientCertVerifier>);

impl Clients {
    /// Whoever comes; nobody is asked for a certificate.
    pub fn everybody() -> Self {
        Self(Arc::new(NoClientAuth))
    }

    /// Whoever shows a certificate that one of the authorities in this PEM file has signed; a handshake without one
    /// fails. `flag` is named if the file cannot be used.
    ///
    /// # Errors
    /// If the file cannot be read, or holds no authority.
    pub fn signed_by(authorities: &Path, flag: &'static str) -> Result<Self, CertificateError> {
        let unusable = |source| CertificateError::File {
            what: "the authority of clients",
            path: authorities.to_owned(),
            flag,
            source,
        };
        let read = CertificateDer::pem_file_iter(authorities)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(unusable)?;
        if read.is_empty() {
            return Err(unusable(pem::Error::NoItemsFound));
        }
        let odd = |source| CertificateError::Authority { path: authorities.to_owned(), flag, source };
        let mut roots = RootCertStore::empty();
        for authority in read {
            roots.add(authority).map_err(odd)?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(provider()));
        let general = |error: VerifierBuilderError| odd(rustls::Error::Other(OtherError(Arc::new(error))));
        Ok(Self(verifier.build().map_err(general)?))
    }

    pub(super) fn verifier(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::clone(&self.0)
    }
}
