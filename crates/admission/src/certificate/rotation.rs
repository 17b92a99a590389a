//! Plans the next step of certificate rotation ([`RotationStep`]) from the Secret, the trust bundles and the time.
//!
//! - Invariant: an authority is trusted everywhere, and has been for a while, before a certificate that it signed is
//!   served, and until all of them have expired; any number of replicas may run this.

use super::issuer::{IssueError, Issuer, IssuingAuthority, RotationPlan, ServingPair};
use super::trust_bundle::TrustBundle;
use taintward_core::time::{Span, Wall};

/// The maximum number of authorities that are still trusted for their earlier certificates.
const FORMER_MAX: usize = 8;

/// An authority that no longer signs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RetiredAuthority {
    /// Its certificate, in DER.
    pub certificate: Vec<u8>,
    /// When all certificates that it signed have expired.
    pub until: Wall,
}

/// An authority, and since when all configurations trust it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TrustedAuthority {
    /// The authority.
    pub authority: IssuingAuthority,
    /// `None`: not all of them do, as far as was observed.
    pub since: Option<Wall>,
}

/// The content of the Secret.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoredState {
    /// The authority of the serving certificate.
    pub current: TrustedAuthority,
    /// The serving certificate.
    pub serving: ServingPair,
    /// The next authority, while API servers begin to trust it.
    pub next: Option<TrustedAuthority>,
    /// Previous authorities.
    pub former: Vec<RetiredAuthority>,
}

/// The observed state.
#[derive(Clone, Copy, Debug)]
pub struct ObservedState<'a> {
    /// The content of the Secret; `None`: it is absent or invalid.
    pub stored: Option<&'a StoredState>,
    /// The trust bundle of each webhook configuration.
    pub configured: &'a [TrustBundle],
}

/// The next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RotationStep {
    /// Write the Secret, over the version that was read; then read everything again, whether or not that succeeded.
    Write(Box<StoredState>),
    /// Leave the Secret as it is.
    Keep {
        /// What every configuration must trust; those that differ are patched, over the version that was read.
        trust: TrustBundle,
        /// The certificate to serve from now on; `None`: the current one stays.
        show: Option<ServingPair>,
        /// When the next step is due, if nothing changes before. Checking earlier or more often does no harm.
        next: Wall,
    },
}

/// Plans the next step.
///
/// The caller reads the webhook configurations first and then the Secret, both from the API server and not from a
/// cache, and writes each only over the version that was read. After a conflict, or any write, it reads everything
/// again.
///
/// # Errors
/// If a certificate cannot be issued.
pub fn step(
    observed: ObservedState<'_>,
    now: Wall,
    plan: &RotationPlan,
    issuer: &mut impl Issuer,
) -> Result<RotationStep, IssueError> {
    let Some(stored) = observed.stored else {
        return Ok(RotationStep::Write(Box::new(begin(observed.configured, now, plan, issuer)?)));
    };
    if let Some(better) = better(stored, observed.configured, now, plan, issuer)? {
        return Ok(RotationStep::Write(Box::new(better)));
    }
    let current = &stored.current;
    let show = current.is_settled(now, plan) && all_trust(observed.configured, &current.authority);
    Ok(RotationStep::Keep {
        trust: stored.bundle(),
        show: show.then(|| stored.serving.clone()),
        next: stored.next_time(now, plan),
    })
}

impl StoredState {
    /// Returns what every configuration must trust.
    pub fn bundle(&self) -> TrustBundle {
        let now = std::iter::once(&self.current).chain(&self.next).map(|each| &each.authority.certificate);
        TrustBundle(now.chain(self.former.iter().map(|each| &each.certificate)).cloned().collect())
    }

    fn next_time(&self, now: Wall, plan: &RotationPlan) -> Wall {
        let waiting = [Some(&self.current), self.next.as_ref()].into_iter().flatten();
        let settled = waiting.filter_map(|each| each.since).map(|since| since.plus(plan.settle));
        let renewals = match &self.next {
            None => self.current.authority.validity.renewal(),
            Some(next) => next.authority.validity.renewal(),
        };
        let ends = self.former.iter().map(|each| each.until.plus(Span::from_micros(1)));
        settled
            .chain(ends)
            .chain([renewals, self.serving.validity.renewal()])
            .filter(|at| *at > now)
            .min()
            .unwrap_or(now.plus(plan.settle))
    }
}

impl TrustedAuthority {
    /// Whether every API server has had the time to observe it.
    fn is_settled(&self, now: Wall, plan: &RotationPlan) -> bool {
        self.since.is_some_and(|since| since.plus(plan.settle) <= now)
    }
}

/// Makes a first Secret, or a new one if it was lost. Certificates of any trusted authority may still be served by
/// another replica.
fn begin(
    configured: &[TrustBundle],
    now: Wall,
    plan: &RotationPlan,
    issuer: &mut impl Issuer,
) -> Result<StoredState, IssueError> {
    let authority = issuer.authority(plan, now)?;
    let serving = issuer.serving(&authority, plan, now)?;
    let mut former = Vec::new();
    remember(&mut former, &TrustBundle::default(), configured, now, plan);
    // If nothing is trusted yet, nothing breaks, and there is no need to wait.
    let since = former.is_empty().then(|| Wall::from_micros(0));
    Ok(StoredState { current: TrustedAuthority { authority, since }, serving, next: None, former })
}

/// Keeps trusted authorities that are unknown here: a replica may still serve certificates that they signed, for the
/// maximum lifetime of one issued before now.
fn remember(
    former: &mut Vec<RetiredAuthority>,
    known: &TrustBundle,
    configured: &[TrustBundle],
    now: Wall,
    plan: &RotationPlan,
) {
    for certificate in configured.iter().flat_map(|bundle| &bundle.0) {
        let new = !known.has(certificate) && former.iter().all(|each| each.certificate != *certificate);
        if new && former.len() < FORMER_MAX {
            former.push(RetiredAuthority {
                certificate: certificate.clone(),
                until: now.plus(plan.serving_life),
            });
        }
    }
}

/// Returns the improved Secret, if it should change. One change at a time.
fn better(
    stored: &StoredState,
    configured: &[TrustBundle],
    now: Wall,
    plan: &RotationPlan,
    issuer: &mut impl Issuer,
) -> Result<Option<StoredState>, IssueError> {
    let mut better = stored.clone();
    better.former.retain(|former| now <= former.until);
    if better != *stored {
        return Ok(Some(better));
    }
    // A configuration that trusts others, but not this one, was written for another Secret, which was lost.
    let doubted = is_doubted(configured, &stored.current.authority);
    if doubted {
        remember(&mut better.former, &stored.bundle(), configured, now, plan);
    }
    // It is observed until it has been seen to be trusted everywhere, and has settled.
    if doubted || !stored.current.is_settled(now, plan) {
        better.current.since = since(&stored.current, configured, now);
    }
    if better != *stored {
        return Ok(Some(better));
    }
    if let Some(next) = &stored.next {
        let since = since(next, configured, now);
        let trusted = TrustedAuthority { since, ..next.clone() };
        if next.authority.validity.renewal() <= now {
            better.next = Some(TrustedAuthority { authority: issuer.authority(plan, now)?, since: None });
        } else if since != next.since {
            better.next = Some(trusted);
        } else if next.is_settled(now, plan) {
            better.serving = issuer.serving(&next.authority, plan, now)?;
            better.current = trusted;
            better.next = None;
            let before = &stored.current.authority;
            let until = before.validity.until;
            better.former.push(RetiredAuthority { certificate: before.certificate.clone(), until });
            shorten(&mut better.former);
        }
    } else if stored.current.authority.validity.renewal() <= now {
        better.next = Some(TrustedAuthority { authority: issuer.authority(plan, now)?, since: None });
    }
    let names = stored.serving.names != plan.names;
    if better == *stored && (names || worth_renewing(stored, now)) {
        better.serving = issuer.serving(&stored.current.authority, plan, now)?;
    }
    Ok((better != *stored).then_some(better))
}

/// Since when all configurations trust an authority, including the current observation.
fn since(trusted: &TrustedAuthority, configured: &[TrustBundle], now: Wall) -> Option<Wall> {
    all_trust(configured, &trusted.authority).then(|| trusted.since.unwrap_or(now))
}

fn all_trust(configured: &[TrustBundle], authority: &IssuingAuthority) -> bool {
    configured.iter().all(|bundle| bundle.has(&authority.certificate))
}

/// Whether a configuration trusts only others. An empty bundle does not count: nothing breaks.
fn is_doubted(configured: &[TrustBundle], authority: &IssuingAuthority) -> bool {
    configured.iter().any(|bundle| !bundle.0.is_empty() && !bundle.has(&authority.certificate))
}

/// Whether two thirds of the lifetime are over, and a new certificate would last longer.
fn worth_renewing(stored: &StoredState, now: Wall) -> bool {
    let serving = stored.serving.validity;
    serving.renewal() <= now && serving.until < stored.current.authority.validity.until
}

/// Keeps the authorities that are trusted for the longest.
fn shorten(former: &mut Vec<RetiredAuthority>) {
    while former.len() > FORMER_MAX {
        let first = former.iter().enumerate().min_by_key(|(_, each)| each.until).map(|(index, _)| index);
        former.remove(first.unwrap_or(0));
    }
}
