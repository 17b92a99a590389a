//! Verifies client certificates against a CA file and allowed common names.

use super::provider;
use super::validity::common_name;
use crate::escape::escaped;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoClientAuth, VerifierBuilderError, WebPkiClientVerifier};
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName};
use rustls::{OtherError, RootCertStore, SignatureScheme};
use std::path::Path;
use std::sync::Arc;

/// Which clients are accepted.
#[derive(Clone, Debug)]
pub struct ClientAuthorities(Arc<dyn ClientCertVerifier>);

impl ClientAuthorities {
    /// All clients; no certificate is requested.
    pub fn everybody() -> Self {
        Self(Arc::new(NoClientAuth))
    }

    /// Clients with a certificate that one of the authorities in this PEM file has signed; a handshake without one
    /// fails. `flag` is named if the file cannot be used.
    ///
    /// # Errors
    /// If the file cannot be read, or contains no authority.
    pub fn signed_by(authorities: &Path, flag: &'static str) -> Result<Self, super::CertificateError> {
        let unusable = |source| super::CertificateError::File {
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
        let odd = |source| super::CertificateError::Authority { path: authorities.to_owned(), flag, source };
        let mut roots = RootCertStore::empty();
        for authority in read {
            roots.add(authority).map_err(odd)?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::new(provider()));
        let general = |error: VerifierBuilderError| odd(rustls::Error::Other(OtherError(Arc::new(error))));
        Ok(Self(verifier.build().map_err(general)?))
    }

    /// Of those only clients whose certificate has one of these common names, as `--requestheader-allowed-names` of an
    /// API server; without a name, all of them.
    #[must_use]
    pub fn named(self, names: impl IntoIterator<Item = String>) -> Self {
        let names: Vec<String> = names.into_iter().collect();
        if names.is_empty() { self } else { Self(Arc::new(NamedClientVerifier { inner: self.0, names })) }
    }

    pub(super) fn verifier(&self) -> Arc<dyn ClientCertVerifier> {
        Arc::clone(&self.0)
    }
}

/// Requires a common name in addition to another verifier.
#[derive(Debug)]
struct NamedClientVerifier {
    inner: Arc<dyn ClientCertVerifier>,
    names: Vec<String>,
}

impl ClientCertVerifier for NamedClientVerifier {
    fn offer_client_auth(&self) -> bool {
        self.inner.offer_client_auth()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.inner.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let verified = self.inner.verify_client_cert(certificate, intermediates, now)?;
        let name = common_name(certificate).unwrap_or_default();
        if self.names.contains(&name) {
            return Ok(verified);
        }
        tracing::debug!(name = &*escaped(&name), "a client's certificate has a name that is not allowed");
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
