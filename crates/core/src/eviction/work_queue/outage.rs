//! Detects that the API server is unavailable, sends one probing retry a second, and ends all pauses when it responds.
//!
//! - Invariant: once it responds, each waiting pod is retried within a second or two, spread (L2, P26). A server that
//!   answers only some requests is overloaded: pauses stay (L6).

use crate::api_error::ApiFailure;
use crate::backoff::jitter;
use crate::identity::PodRef;
use crate::time::{Mono, Span};

/// The distance between two retries that go before their time.
const PROBE_EVERY: Span = Span::from_secs(1);

/// Without a single answer for so long the API server is away. Pauses that grew for less are short by themselves.
const AWAY_AFTER: Span = Span::from_secs(3);

/// Over how long the retries of an outage are spread when it is over.
const RETRIES_SPREAD: Span = Span::from_secs(1);

/// Whether the API server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ServerOutage {
    /// When the last outage ended: failures from before say nothing of now.
    ended: Mono,
    /// A live read went unanswered, and nothing has been answered since.
    ongoing: Option<OngoingOutage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct OngoingOutage {
    since: Mono,
    /// When a retry may go whose own time has not come.
    probe_at: Mono,
}

impl Default for ServerOutage {
    fn default() -> Self {
        Self { ended: Mono::from_micros(i64::MIN), ongoing: None }
    }
}

impl ServerOutage {
    /// A request ended. Only reads tell of an outage: writes also fail by webhooks. True if an outage is over.
    pub(super) fn observe(&mut self, failure: Option<ApiFailure>, is_read: bool, now: Mono) -> bool {
        match (failure, self.ongoing) {
            (Some(ApiFailure::Unavailable), None) if is_read => {
                self.ongoing = Some(OngoingOutage { since: now, probe_at: now.plus(AWAY_AFTER) });
                false
            }
            (Some(ApiFailure::Unavailable | ApiFailure::Throttled(_)), _) | (_, None) => false,
            (_, Some(OngoingOutage { since, .. })) => {
                self.ongoing = None;
                let was_away = now >= since.plus(AWAY_AFTER);
                if was_away {
                    self.ended = now;
                }
                was_away
            }
        }
    }

    /// When a retry may go before its time; `None`: none may.
    pub(super) fn probe_at(self) -> Option<Mono> {
        self.ongoing.map(|silence| silence.probe_at)
    }

    /// A retry goes, before its time or not.
    pub(super) fn probed(&mut self, now: Mono) {
        if let Some(silence) = &mut self.ongoing {
            silence.probe_at = silence.probe_at.max(now.plus(PROBE_EVERY));
        }
    }

    /// Whether a failure of that moment still counts.
    pub(super) fn counts(self, failed_at: Mono) -> bool {
        self.ongoing.is_some() || self.ended < failed_at
    }
}

/// When a pod has its turn whose requests went unanswered in an outage that is over `now`.
pub(super) fn retry_after(pod: &PodRef, failures: u32, now: Mono) -> Mono {
    let share = i64::from(jitter(pod.node.as_str(), &pod.uid, failures));
    now.plus(Span::from_micros(RETRIES_SPREAD.as_micros() * share / 1024))
}
