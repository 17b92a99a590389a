//! Issues authorities, and certificates for the names of a Service, as a plan says.
//!
//! - Invariant: no certificate outlives its authority; all begin in the past, because clocks differ.

use super::trust_bundle::pem;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use std::time::Duration;
use taintward_core::time::{Span, Wall};
use taintward_server::certificate::Validity;

/// How far the clocks of API servers may be behind the local one.
const SKEW: Span = Span::from_secs(3600);

/// The last second of the year 9999, the maximum of certificate times.
const LAST_SECOND: u64 = 253_402_300_799;

/// The parameters of certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotationPlan {
    /// The names of the Service.
    pub names: Vec<String>,
    /// How long an authority lasts.
    pub authority_life: Span,
    /// How long a serving certificate lasts.
    pub serving_life: Span,
    /// How long the configurations must have trusted an authority, until every API server has observed it.
    pub settle: Span,
}

impl RotationPlan {
    /// An authority for a year, certificates for 90 days, each renewed when two thirds are over; a minute to settle.
    pub fn new(names: Vec<String>) -> Self {
        const DAY: i64 = 86_400;
        Self {
            names,
            authority_life: Span::from_secs(365 * DAY),
            serving_life: Span::from_secs(90 * DAY),
            settle: Span::from_secs(60),
        }
    }
}

/// A certificate authority with its key, which signs serving certificates.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IssuingAuthority {
    /// Its certificate, in DER.
    pub certificate: Vec<u8>,
    /// Its key, in PEM.
    pub key: String,
    /// When it is valid.
    pub validity: Validity,
}

/// A serving certificate with its key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ServingPair {
    /// The certificate, in PEM.
    pub certificate: String,
    /// Its key, in PEM.
    pub key: String,
    /// The names it is for.
    pub names: Vec<String>,
    /// When it is valid.
    pub validity: Validity,
}

/// A certificate could not be issued.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a certificate: {0}")]
pub struct IssueError(#[from] rcgen::Error);

/// Issues certificates.
pub trait Issuer {
    /// Issues an authority that is valid from now on.
    ///
    /// # Errors
    /// If it cannot be issued.
    fn authority(&mut self, plan: &RotationPlan, now: Wall) -> Result<IssuingAuthority, IssueError>;

    /// Issues a certificate for the names of the plan, signed by this authority.
    ///
    /// # Errors
    /// If a name, or the authority's key, is invalid.
    fn serving(
        &mut self,
        authority: &IssuingAuthority,
        plan: &RotationPlan,
        now: Wall,
    ) -> Result<ServingPair, IssueError>;
}

/// Issues real certificates, with keys on P-256.
#[derive(Clone, Copy, Debug, Default)]
pub struct RcgenIssuer;

impl Issuer for RcgenIssuer {
    fn authority(&mut self, plan: &RotationPlan, now: Wall) -> Result<IssuingAuthority, IssueError> {
        let key = KeyPair::generate()?;
        let validity = lasting(plan.authority_life, now, Wall::from_micros(i64::MAX));
        let made = authority_params(validity).self_signed(&key)?;
        Ok(IssuingAuthority { certificate: made.der().to_vec(), key: key.serialize_pem(), validity })
    }

    fn serving(
        &mut self,
        authority: &IssuingAuthority,
        plan: &RotationPlan,
        now: Wall,
    ) -> Result<ServingPair, IssueError> {
        let issuer =
            rcgen::Issuer::new(authority_params(authority.validity), KeyPair::from_pem(&authority.key)?);
        let validity = lasting(plan.serving_life, now, authority.validity.until);
        let mut params = CertificateParams::new(plan.names.clone())?;
        params.distinguished_name = named(plan.names.first().map_or("", String::as_str));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        limit(&mut params, validity);
        let key = KeyPair::generate()?;
        let made = params.signed_by(&key, &issuer)?;
        Ok(ServingPair {
            certificate: pem("CERTIFICATE", made.der()),
            key: key.serialize_pem(),
            names: plan.names.clone(),
            validity,
        })
    }
}

/// The validity from a while ago until `life` is over, in whole seconds, as in certificates.
fn lasting(life: Span, now: Wall, until: Wall) -> Validity {
    let whole = |at: Wall| Wall::from_secs(at.as_micros().div_euclid(1_000_000));
    Validity { from: whole(minus(now, SKEW)), until: whole(now.plus(life).min(until)) }
}

fn minus(at: Wall, span: Span) -> Wall {
    Wall::from_micros(at.as_micros().saturating_sub(span.as_micros()))
}

/// The parameters of an authority, apart from its key: always the same, because they are not stored.
fn authority_params(validity: Validity) -> CertificateParams {
    let mut params = CertificateParams::default();
    // Each has a name of its own, so that two of them in one bundle are never confused.
    let began = validity.from.as_micros() / 1_000_000;
    params.distinguished_name = named(&format!("taintward-webhook-ca-{began}"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    limit(&mut params, validity);
    params
}

/// A subject; names longer than the maximum of 64 characters are truncated, because clients use only the alternative
/// names.
fn named(name: &str) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name.chars().take(64).collect::<String>());
    subject
}

/// Sets both times. Times before 1970 or after 9999 cannot be encoded and are useless.
fn limit(params: &mut CertificateParams, validity: Validity) {
    let since = |at: Wall| u64::try_from(at.as_micros() / 1_000_000).unwrap_or(0).min(LAST_SECOND);
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + Duration::from_secs(since(validity.from));
    params.not_after = epoch + Duration::from_secs(since(validity.until));
}

impl std::fmt::Debug for IssuingAuthority {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "authority of {:?}", self.validity)
    }
}

impl std::fmt::Debug for ServingPair {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "certificate of {:?}", self.validity)
    }
}
