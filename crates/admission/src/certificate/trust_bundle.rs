//! Parses and normalizes the `caBundle` of a webhook configuration, so that equal bundles compare equal.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// The maximum number of certificates of one bundle that are read.
const CERTIFICATES_MAX: usize = 16;

/// Certificates in DER, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TrustBundle(pub Vec<Vec<u8>>);

impl TrustBundle {
    /// Parses PEM; invalid certificates are left out, because API servers do not trust them.
    pub fn from_pem(pem: &[u8]) -> Self {
        let certificates = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok);
        Self(certificates.take(CERTIFICATES_MAX).map(|certificate| certificate.to_vec()).collect())
    }

    /// Formats the bundle for a configuration (which has it in base64).
    pub fn to_pem(&self) -> String {
        self.0.iter().map(|certificate| pem("CERTIFICATE", certificate)).collect()
    }

    /// Whether it contains this certificate.
    pub fn has(&self, certificate: &[u8]) -> bool {
        self.0.iter().any(|each| each == certificate)
    }
}

/// One section of PEM.
pub(super) fn pem(label: &str, der: &[u8]) -> String {
    let base64 = STANDARD.encode(der);
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in base64.as_bytes().chunks(64) {
        text.extend(line.iter().map(|byte| char::from(*byte)));
        text.push('\n');
    }
    text.push_str(&format!("-----END {label}-----\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_survives_a_round_trip_with_text_between_certificates() {
        let bundle = TrustBundle(vec![vec![1; 100], vec![2; 48]]);
        let noise = format!("# own\r\n{}garbage\n{}", bundle.to_pem(), pem("PRIVATE KEY", b"x"));
        assert_eq!(TrustBundle::from_pem(noise.as_bytes()), bundle);
        assert!(bundle.has(&[2; 48]) && !bundle.has(&[3]));
        assert_eq!(TrustBundle::from_pem(b""), TrustBundle::default());
    }
}
