//! Reads and writes the state of rotation in the data of a Secret.
//!
//! - Invariant: keys match their certificates, and the served certificate was signed by the stored authority.

use super::issuer::{IssuingAuthority, ServingPair};
use super::rotation::{RetiredAuthority, StoredState, TrustedAuthority};
use super::trust_bundle::pem;
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use taintward_core::time::Wall;
use taintward_server::certificate::{CertificatePair, Validity};

/// The serving certificate, as in every Secret of type `kubernetes.io/tls`.
pub const SERVING_KEY: &str = "tls.crt";
/// The authority that signed it.
pub const AUTHORITY_KEY: &str = "ca.crt";
const SERVING_SECRET: &str = "tls.key";
const AUTHORITY_SECRET: &str = "ca.key";
const MEMORY: &str = "rotation.json";

/// Why a Secret is invalid.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// A key is missing.
    #[error("the Secret has no {0}")]
    Missing(&'static str),
    /// A value is invalid.
    #[error("{what} in the Secret is invalid: {reason}")]
    Broken {
        /// Its key.
        what: &'static str,
        /// The reason.
        reason: String,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RotationAnnotations {
    names: Vec<String>,
    /// Seconds since 1970, as all times here.
    trusted_since: Option<i64>,
    next: Option<NextAuthority>,
    #[serde(default)]
    former: Vec<RetiredCertificate>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NextAuthority {
    certificate: String,
    key: String,
    trusted_since: Option<i64>,
}

#[derive(Serialize, Deserialize)]
struct RetiredCertificate {
    certificate: String,
    until: i64,
}

impl StoredState {
    /// The Secret's `data`, before base64.
    pub fn to_data(&self) -> BTreeMap<&'static str, String> {
        let memory = RotationAnnotations {
            names: self.serving.names.clone(),
            trusted_since: self.current.since.map(seconds),
            next: self.next.as_ref().map(|next| NextAuthority {
                certificate: pem("CERTIFICATE", &next.authority.certificate),
                key: next.authority.key.clone(),
                trusted_since: next.since.map(seconds),
            }),
            former: self.former.iter().map(RetiredCertificate::of).collect(),
        };
        BTreeMap::from([
            (SERVING_KEY, self.serving.certificate.clone()),
            (SERVING_SECRET, self.serving.key.clone()),
            (AUTHORITY_KEY, pem("CERTIFICATE", &self.current.authority.certificate)),
            (AUTHORITY_SECRET, self.current.authority.key.clone()),
            (MEMORY, serde_json::to_string(&memory).expect("strings and numbers can be written")),
        ])
    }

    /// Parses a Secret's `data`.
    ///
    /// # Errors
    /// If it is not the output of [`Self::to_data`]; such a Secret counts as absent.
    pub fn from_data(data: &BTreeMap<String, Vec<u8>>) -> Result<Self, SecretError> {
        let text = |what| {
            let bytes = data.get(what).ok_or(SecretError::Missing(what))?;
            String::from_utf8(bytes.clone()).map_err(|error| broken(what, error))
        };
        let memory: RotationAnnotations =
            serde_json::from_str(&text(MEMORY)?).map_err(|error| broken(MEMORY, error))?;
        let authority = authority(AUTHORITY_KEY, &text(AUTHORITY_KEY)?, text(AUTHORITY_SECRET)?)?;
        let (certificate, key) = (text(SERVING_KEY)?, text(SERVING_SECRET)?);
        let der = first(SERVING_KEY, &certificate)?;
        let validity = Validity::of(&der).ok_or_else(|| broken(SERVING_KEY, "no times in it"))?;
        let serving = ServingPair { certificate, key, names: memory.names, validity };
        serving.pair()?;
        signed(&authority, &der, &serving)?;
        let former = memory.former.iter().map(RetiredCertificate::read).collect::<Result<_, _>>()?;
        let next = memory.next.map(NextAuthority::read).transpose()?;
        let current = TrustedAuthority { authority, since: memory.trusted_since.map(Wall::from_secs) };
        Ok(Self { current, serving, next, former })
    }
}

impl ServingPair {
    /// The pair to serve.
    ///
    /// # Errors
    /// If the key does not belong to the certificate.
    pub fn pair(&self) -> Result<CertificatePair, SecretError> {
        let der = first(SERVING_KEY, &self.certificate)?;
        let key = secret(SERVING_SECRET, &self.key)?;
        CertificatePair::new(vec![der], key).map_err(|error| broken(SERVING_SECRET, error))
    }
}

impl NextAuthority {
    fn read(self) -> Result<TrustedAuthority, SecretError> {
        let authority = authority(MEMORY, &self.certificate, self.key)?;
        Ok(TrustedAuthority { authority, since: self.trusted_since.map(Wall::from_secs) })
    }
}

impl RetiredCertificate {
    fn of(former: &RetiredAuthority) -> Self {
        Self { certificate: pem("CERTIFICATE", &former.certificate), until: seconds(former.until) }
    }

    fn read(&self) -> Result<RetiredAuthority, SecretError> {
        let certificate = first(MEMORY, &self.certificate)?.to_vec();
        Ok(RetiredAuthority { certificate, until: Wall::from_secs(self.until) })
    }
}

fn authority(what: &'static str, certificate: &str, key: String) -> Result<IssuingAuthority, SecretError> {
    let der = first(what, certificate)?;
    let validity = Validity::of(&der).ok_or_else(|| broken(what, "no times in it"))?;
    CertificatePair::new(vec![der.clone()], secret(AUTHORITY_SECRET, &key)?)
        .map_err(|error| broken(AUTHORITY_SECRET, error))?;
    Ok(IssuingAuthority { certificate: der.to_vec(), key, validity })
}

/// Checks that the authority signed it, for the names in it.
fn signed(
    authority: &IssuingAuthority,
    der: &CertificateDer<'_>,
    serving: &ServingPair,
) -> Result<(), SecretError> {
    let unrelated = |error: String| broken(SERVING_KEY, error);
    let mut roots = RootCertStore::empty();
    roots.add(authority.certificate.clone().into()).map_err(|error| broken(AUTHORITY_KEY, error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .map_err(|error| broken(AUTHORITY_KEY, error))?;
    // Whether it has expired since is checked elsewhere.
    let then = u64::try_from(serving.validity.from.as_micros() / 1_000_000).unwrap_or(0) + 1;
    let then = UnixTime::since_unix_epoch(Duration::from_secs(then));
    for name in &serving.names {
        let name = ServerName::try_from(name.as_str()).map_err(|error| unrelated(error.to_string()))?;
        verifier
            .verify_server_cert(der, &[], &name, &[], then)
            .map_err(|error| unrelated(error.to_string()))?;
    }
    Ok(())
}

fn first(what: &'static str, pem: &str) -> Result<CertificateDer<'static>, SecretError> {
    CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| broken(what, format!("{error:?}")))
}

fn secret(what: &'static str, pem: &str) -> Result<PrivateKeyDer<'static>, SecretError> {
    PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|error| broken(what, format!("{error:?}")))
}

fn broken(what: &'static str, reason: impl ToString) -> SecretError {
    SecretError::Broken { what, reason: reason.to_string() }
}

/// Rounded up to whole seconds: nothing begins or ends too early.
fn seconds(at: Wall) -> i64 {
    at.as_micros().div_euclid(1_000_000) + i64::from(at.as_micros().rem_euclid(1_000_000) > 0)
}

#[cfg(test)]
mod tests;
