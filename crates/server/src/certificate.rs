//! Loads a certificate with its key from PEM, or generates one, for TLS 1.2 and 1.3.
//!
//! - Invariant: a [`CertificatePair`] is valid; a mismatch is an error when it is loaded, never at a handshake.

mod client_auth;
mod validity;

pub use client_auth::ClientAuthorities;
pub use validity::Validity;

use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read or does not contain the expected PEM.
    #[error("cannot read {what} from {}: {source}; {flag} must name a PEM file", path.display())]
    File {
        /// `a certificate` or `a private key`.
        what: &'static str,
        /// The path of the file.
        path: PathBuf,
        /// The flag that names the file.
        flag: &'static str,
        /// The error.
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
        /// The error.
        source: rustls::Error,
    },
    /// The certificate for verifying clients is not usable as a CA.
    #[error("cannot use what {} holds: {source}; {flag} must name authorities, PEM", path.display())]
    Authority {
        /// The file.
        path: PathBuf,
        /// The flag that names the file.
        flag: &'static str,
        /// The error.
        source: rustls::Error,
    },
    /// The certificate could not be generated.
    #[error("cannot make a certificate: {0}; give one with --tls-cert-file and --tls-private-key-file")]
    Making(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// A certificate, its intermediates, and the key that belongs to it.
#[derive(Clone, Debug)]
pub struct CertificatePair {
    key: Arc<CertifiedKey>,
    validity: Option<Validity>,
}

impl CertificatePair {
    /// Reads two PEM files.
    ///
    /// # Errors
    /// If a file cannot be read, does not contain the expected PEM, or they do not belong together.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
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
        Self::new(chain, secret).map_err(|source| CertificateError::Pair {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            source,
        })
    }

    /// Generates a self-signed certificate for these names.
    ///
    /// # Errors
    /// If a name is invalid, or the system provides no randomness.
    pub fn self_signed(names: Vec<String>) -> Result<Self, CertificateError> {
        let made = rcgen::generate_simple_self_signed(names)
            .map_err(|error| CertificateError::Making(error.into()))?;
        let secret = PrivateKeyDer::try_from(made.signing_key.serialize_der())
            .map_err(|reason| CertificateError::Making(reason.into()))?;
        Self::new(vec![made.cert.der().clone()], secret)
            .map_err(|error| CertificateError::Making(error.into()))
    }

    /// Takes a certificate followed by its intermediates, and its key.
    ///
    /// # Errors
    /// If they do not belong together, or are of an unsupported kind.
    pub fn new(
        chain: Vec<CertificateDer<'static>>,
        secret: PrivateKeyDer<'static>,
    ) -> Result<Self, rustls::Error> {
        let validity = chain.first().and_then(|first| Validity::of(first));
        let key = CertifiedKey::from_der(chain, secret, &provider())?;
        Ok(Self { key: Arc::new(key), validity })
    }

    /// Its validity period; `None` if it cannot be parsed.
    pub fn validity(&self) -> Option<Validity> {
        self.validity
    }

    /// The certificate itself, without its intermediates.
    pub fn certificate(&self) -> Option<&CertificateDer<'static>> {
        self.key.cert.first()
    }

    /// The configuration of a server that accepts all clients, with these ALPN protocols over TLS 1.2 or 1.3, the first
    /// preferred.
    pub fn config(&self, protocols: &[&[u8]]) -> Arc<ServerConfig> {
        self.config_for(&ClientAuthorities::everybody(), protocols)
    }

    /// The same for a server that verifies clients.
    pub fn config_for(&self, clients: &ClientAuthorities, protocols: &[&[u8]]) -> Arc<ServerConfig> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has everything that TLS 1.2 and 1.3 need")
            .with_client_cert_verifier(clients.verifier())
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(Arc::clone(&self.key))));
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Arc::new(config)
    }
}

fn provider() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

#[cfg(test)]
mod tests;
