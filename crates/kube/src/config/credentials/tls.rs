//! Builds the TLS configuration from PEM texts.

use super::ClientIdentity;
use crate::error_text::one_line;
use kube::Config;
use kube::client::ConfigExt as _;
use kube::config::AuthInfo;
use rustls::ClientConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use std::sync::Arc;
use taintward_core::text::error_chain;
use thiserror::Error;

/// Why certificates or keys cannot be used; one sentence, without secrets.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct InvalidCertificate(String);

/// Without `authority`, the configuration's own data count, or the system's certificate authorities.
pub(super) fn tls(
    config: &Config,
    authority: Option<&[u8]>,
    identity: Option<&ClientIdentity>,
) -> Result<ClientConfig, InvalidCertificate> {
    let mut config = config.clone();
    config.auth_info = AuthInfo::default();
    config.root_cert_file = None;
    if let Some(pem) = authority {
        let certificates = certificates("certificate-authority", pem)?;
        config.root_cert = Some(certificates.into_iter().map(|certificate| certificate.to_vec()).collect());
    }
    let mut tls =
        config.rustls_client_config().map_err(|why| InvalidCertificate(one_line(&error_chain(&why))))?;
    if let Some(ClientIdentity { certificate, key }) = identity {
        let certificates = certificates("client-certificate", certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|_| InvalidCertificate("client-key holds no private key in PEM".to_owned()))?;
        let pair = CertifiedKey::from_der(certificates, key, tls.crypto_provider()).map_err(|why| {
            InvalidCertificate(format!("client-certificate and client-key: {}", one_line(&why.to_string())))
        })?;
        tls.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(pair));
    }
    Ok(tls)
}

fn certificates(field: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, InvalidCertificate> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        _ => Err(InvalidCertificate(format!("{field} holds no certificate in PEM"))),
    }
}
