//! Issues the certificates of servers and clients from a certificate authority.

use anyhow::Result;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use std::fmt;
use std::time::Duration;

/// A certificate and its key, both PEM.
pub struct SignedIdentity {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

/// A certificate authority: the one that the cluster trusts, or another one for a test.
pub struct TestAuthority {
    /// The authority's own certificate, PEM.
    pub certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

/// Hides the private key.
impl fmt::Debug for TestAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.certificate)
    }
}

impl TestAuthority {
    /// Creates an authority.
    pub fn new() -> Result<Self> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "taintward-cluster");
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// The certificate of an API server.
    pub(crate) fn api_server(&self) -> Result<SignedIdentity> {
        self.server("kube-apiserver", &["localhost", "127.0.0.1", "kubernetes", "kubernetes.default.svc"])
    }

    /// The certificate of a server with these names and addresses.
    pub fn server(&self, name: &str, called: &[&str]) -> Result<SignedIdentity> {
        let called: Vec<String> = called.iter().map(|name| String::from(*name)).collect();
        self.sign(CertificateParams::new(called)?, name, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// The certificate of a user; the API server reads the name and the group from it.
    pub fn client(&self, name: &str, group: &str) -> Result<SignedIdentity> {
        self.client_until(name, group, None)
    }

    /// The same, with an expiry: this long after 1970.
    pub fn client_until(&self, name: &str, group: &str, end: Option<Duration>) -> Result<SignedIdentity> {
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::OrganizationName, group);
        if let Some(end) = end {
            params.not_after = date_time_ymd(1970, 1, 1) + end;
        }
        self.sign(params, name, ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        name: &str,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<SignedIdentity> {
        params.distinguished_name.push(DnType::CommonName, name);
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate()?;
        Ok(SignedIdentity {
            certificate: params.signed_by(&key, &self.issuer)?.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// A key pair that signs and verifies service account tokens: private, public.
pub(crate) fn token_keys() -> Result<(String, String)> {
    let key = KeyPair::generate()?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}
