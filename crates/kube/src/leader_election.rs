//! Runs leader election against a Lease and publishes the leader ([`Leadership`]).
//!
//! - See `leader_election/election.rs` for the rules.

mod election;
mod lease_store;

pub use election::ElectionTimings;

use crate::clock::Clock;
use crate::watch::RelistTrigger;
use election::Election;
use kube::Client;
use lease_store::LeaseStore;
use rustix::rand::{GetRandomFlags, getrandom};
use std::pin::pin;
use std::time::Duration;
use taintward_core::hash::fnv1a;
use taintward_core::time::{Mono, Span};
use thiserror::Error;
use tokio::sync::watch;

/// The lease, the identity and the timings; names and defaults of client-go's `--leader-elect-*` flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseSettings {
    /// `--leader-elect-resource-namespace`.
    pub namespace: String,
    /// The identity in the lease; must differ between processes.
    pub name: String,
    /// The identity in the lease; must differ between processes.
    pub identity: String,
    /// `--leader-elect-lease-duration`, `--leader-elect-renew-deadline`, `--leader-elect-retry-period`.
    pub rules: ElectionTimings,
}

impl Default for LeaseSettings {
    fn default() -> Self {
        Self {
            namespace: "kube-system".to_owned(),
            name: "taintward".to_owned(),
            identity: identity(),
            rules: ElectionTimings {
                lease: Span::from_secs(15),
                renew: Span::from_secs(10),
                retry: Span::from_secs(2),
            },
        }
    }
}

/// Timings that contradict each other.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum InvalidTimings {
    /// The API counts a lease in seconds.
    #[error(
        "--leader-elect-lease-duration must be a whole number of seconds, at least 1 and at most 2147483647"
    )]
    Lease,
    /// A leader must stop before another may start.
    #[error(
        "--leader-elect-renew-deadline must be less than --leader-elect-lease-duration: \
         a leader has to stop before another may begin"
    )]
    Renew,
    /// At least one renewal must fit.
    #[error(
        "--leader-elect-retry-period must be more than 0, and --leader-elect-renew-deadline more than 1.2 times as \
         long: a leader needs time for more than one try"
    )]
    Retry,
}

impl ElectionTimings {
    /// Checks client-go's conditions for the timings.
    ///
    /// # Errors
    /// The first condition that does not hold.
    pub fn check(self) -> Result<Self, InvalidTimings> {
        let lease = self.lease.as_micros();
        if lease % 1_000_000 != 0 || !(1..=i64::from(i32::MAX)).contains(&(lease / 1_000_000)) {
            return Err(InvalidTimings::Lease);
        }
        if self.renew >= self.lease {
            return Err(InvalidTimings::Renew);
        }
        let retry = self.retry.as_micros();
        if retry == 0 || self.renew.as_micros() <= retry.saturating_mul(6) / 5 {
            return Err(InvalidTimings::Retry);
        }
        Ok(self)
    }

    /// The timeout of one read or write of the lease: half the renew deadline, as in client-go, so that a slow server
    /// still has a leader, and a lost response leaves time for another attempt.
    fn request_max(self) -> Duration {
        Duration::from_micros((self.renew.as_micros() / 2).unsigned_abs()).max(Duration::from_millis(100))
    }
}

/// The leader, as far as this process knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leadership {
    /// Whether this process led when this was published.
    pub leading: bool,
    /// Until when it leads; in the past if it does not.
    pub valid_until: Mono,
    /// The last observed holder of the lease; empty if there is none.
    pub holder: String,
    /// How often the lease changed its holder.
    pub transitions: i32,
    /// When the last successful renewal was sent.
    pub last_renew_ok: Option<Mono>,
    /// When the renewing loop last ran.
    pub loop_alive_at: Mono,
    /// Why the last read or write of the lease failed, until one succeeds.
    pub last_error: Option<String>,
}

impl Leadership {
    /// The state before the first read: there is no leader.
    pub const fn none(now: Mono) -> Self {
        Self {
            leading: false,
            valid_until: Mono::from_micros(i64::MIN),
            holder: String::new(),
            transitions: 0,
            last_renew_ok: None,
            loop_alive_at: now,
            last_error: None,
        }
    }

    /// Whether a request may be sent now that can be carried out up to `longest` from now: it must be over before
    /// another process may lead (S5).
    pub fn allows(&self, now: Mono, longest: Span) -> bool {
        self.leading && now.plus(longest) < self.valid_until
    }
}

/// Returns an identity that no other process has: host name and a random UUID, as client-go does.
pub fn identity() -> String {
    let host = crate::error_text::sanitized(&rustix::system::uname().nodename().to_string_lossy());
    let mut random = [0; 16];
    // Without randomness the process id distinguishes the processes of one host.
    if getrandom(&mut random, GetRandomFlags::empty()).is_err() {
        random[..4].copy_from_slice(&std::process::id().to_be_bytes());
    }
    random[6] = random[6] & 0x0f | 0x40;
    random[8] = random[8] & 0x3f | 0x80;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{host}_{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The content of a lease. The two times are stored as text: they come from other clocks, and are only compared for
/// equality (P28).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LeaseRecord {
    /// `holderIdentity`; empty if the lease is free.
    holder: String,
    /// `leaseDurationSeconds`.
    duration: Span,
    /// `acquireTime`.
    acquired: String,
    /// `renewTime`.
    renewed: String,
    /// `leaseTransitions`.
    transitions: i32,
}

/// The next action.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ElectionAction {
    /// Nothing before this moment.
    Wait(Mono),
    /// Read the lease.
    Read,
    /// Create the lease with this record.
    Create(LeaseRecord),
    /// Replace the version that was last read or written by this record.
    Replace(LeaseRecord),
    /// Nothing any more: the lease is released, or was never held.
    Done,
}

/// The result of the last action.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LeaseResponse {
    /// The lease has this record.
    Found(LeaseRecord),
    /// There is no lease.
    Absent,
    /// The write was done.
    Written,
    /// The write was rejected: the lease is not as last observed.
    Conflict,
    /// No response, or no useful one: a write may have been done or not (P31).
    Unknown,
}

/// How long releasing the lease may take: together with the preceding requests in flight, less than the five seconds in
/// which the process has to end.
const RELEASE_MAX: Duration = Duration::from_millis(1_500);

/// Takes part in the election until `stop` completes, then releases the lease. Never gives up before: any outage heals
/// by itself (L8). Triggers `relist_now` if the lease shows that the server's store was replaced by an older one.
///
/// The caller's requests must have ended before `stop` completes: the next holder may start immediately.
pub async fn run(
    client: Client,
    clock: Clock,
    settings: LeaseSettings,
    out: watch::Sender<Leadership>,
    relist_now: RelistTrigger,
    stop: impl Future<Output = ()>,
) {
    let election = Election::new(settings.rules, &settings.identity, fnv1a(&settings.identity));
    let store = LeaseStore::new(client, settings, relist_now);
    let mut candidate = LeaderElector { store, clock, election, out, last_error: None };
    let mut stop = pin!(stop);
    loop {
        let stopped = tokio::select! {
            biased;
            () = &mut stop => true,
            () = candidate.advance() => false,
        };
        if stopped {
            break;
        }
    }
    candidate.election.stop();
    candidate.publish();
    let release = async { while candidate.advance_release().await {} };
    if tokio::time::timeout(RELEASE_MAX, release).await.is_err() {
        tracing::warn!("cannot release the lease in time, so it expires");
    }
    candidate.publish();
}

/// The state machine, its clock and its store.
struct LeaderElector {
    store: LeaseStore,
    clock: Clock,
    election: Election,
    out: watch::Sender<Leadership>,
    last_error: Option<String>,
}

impl LeaderElector {
    /// One step of the election: a wait, or a request.
    async fn advance(&mut self) {
        let step = self.election.next(self.clock.now());
        self.publish();
        match step {
            ElectionAction::Wait(until) => {
                let lapse = self.election.valid_until().unwrap_or(Mono::NEVER);
                self.clock.sleep_until(until.min(lapse)).await;
            }
            ElectionAction::Done => std::future::pending().await,
            request => self.exchange(request).await,
        }
        self.publish();
    }

    /// One step of the release; false when nothing is left to do.
    async fn advance_release(&mut self) -> bool {
        match self.election.next(self.clock.now()) {
            ElectionAction::Done => return false,
            ElectionAction::Wait(until) => self.clock.sleep_until(until).await,
            request => self.exchange(request).await,
        }
        true
    }

    /// One request. Leadership that ends meanwhile is published when it ends.
    async fn exchange(&mut self, request: ElectionAction) {
        let Self { store, clock, election, out, last_error } = self;
        let mut result = pin!(store.carry_out(request));
        let result = loop {
            let lapse = election.valid_until();
            tokio::select! {
                biased;
                result = &mut result => break result,
                () = clock.sleep_until(lapse.unwrap_or(Mono::NEVER)), if lapse.is_some() => {
                    election.lapse(clock.now().mono);
                    publish(clock, election, last_error.as_deref(), out);
                }
            }
        };
        let response = match result {
            Ok(response) => {
                *last_error = None;
                response
            }
            Err(why) => {
                let why = why.to_string();
                if last_error.as_ref() != Some(&why) {
                    tracing::warn!(err = %why, "a request for the lease failed, retrying");
                    *last_error = Some(why);
                }
                LeaseResponse::Unknown
            }
        };
        election.on_response(clock.now(), response);
    }

    fn publish(&self) {
        publish(&self.clock, &self.election, self.last_error.as_deref(), &self.out);
    }
}

fn publish(clock: &Clock, election: &Election, last_error: Option<&str>, out: &watch::Sender<Leadership>) {
    let now = clock.now().mono;
    out.send_modify(|leadership| {
        let led = leadership.leading;
        election.report(now, leadership);
        leadership.loop_alive_at = now;
        leadership.last_error = last_error.map(str::to_owned);
        match (led, leadership.leading) {
            (false, true) => {
                tracing::info!(transitions = leadership.transitions, "leading: this process holds the lease")
            }
            (true, false) if election.is_stopping() => tracing::info!("releasing the lease"),
            (true, false) => {
                tracing::warn!(holder = %crate::error_text::sanitized(&leadership.holder), "no longer leading")
            }
            _ => {}
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timings(renew_ms: i64) -> ElectionTimings {
        let renew = Span::from_micros(renew_ms * 1_000);
        ElectionTimings { lease: Span::from_secs(15), renew, retry: Span::from_secs(2) }
    }

    #[test]
    fn a_request_for_the_lease_takes_at_most_half_the_renew_deadline() {
        assert_eq!(timings(10_000).request_max(), Duration::from_secs(5));
        assert_eq!(timings(150).request_max(), Duration::from_millis(100));
    }

    #[test]
    fn s5_a_request_must_end_before_the_lease_does() {
        let now = Mono::from_secs(100);
        let leads =
            Leadership { leading: true, valid_until: now.plus(Span::from_secs(4)), ..Leadership::none(now) };
        assert!(leads.allows(now, Span::from_micros(3_999_999)));
        assert!(!leads.allows(now, Span::from_secs(4)), "another process may lead at that moment");
        let follows = Leadership { leading: false, ..leads };
        assert!(!follows.allows(now, Span::ZERO));
    }

    #[test]
    fn an_identity_ends_with_a_random_uuid() {
        let all: Vec<String> = (0..64).map(|_| identity()).collect();
        for (place, identity) in all.iter().enumerate() {
            let (host, uuid) = identity.rsplit_once('_').unwrap();
            assert!(!host.is_empty() && !all[..place].contains(identity), "{identity}");
            let groups: Vec<usize> = uuid.split('-').map(str::len).collect();
            assert_eq!(groups, [8, 4, 4, 4, 12], "{identity}");
            assert!(
                uuid[14..].starts_with('4') && uuid[19..].starts_with(['8', '9', 'a', 'b']),
                "{identity}"
            );
        }
        let digits: std::collections::BTreeSet<_> =
            all.iter().map(|identity| &identity[identity.len() - 21..][..1]).collect();
        assert!(digits.len() > 8, "the rest of these groups is random: {digits:?}");
    }
}
