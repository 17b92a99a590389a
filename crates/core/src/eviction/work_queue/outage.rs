//! Detects that the API server is unavailable, sends one probing retry a second, and ends all pauses when it responds.
//!
//! - Invariant: once it responds, each waiting pod is retried within a second or two, spread (L2, P26). If a server
//!   answers only some requests, it is overloaded: pauses stay (L6).

use crate::api_error::ApiFailure;
use crate::backoff::jitter;
use crate::identity::PodRef;
use crate::time::{Mono, Span};

/// The interval between two retries that are sent before their time.
const PROBE_EVERY: Span = Span::from_secs(1);

/// After this long without a single response the API server counts as unavailable. Pauses that grew for less are short
/// anyway.
const AWAY_AFTER: Span = Span::from_secs(3);

/// The interval over which retries are spread when an outage ends.
const RETRIES_SPREAD: Span = Span::from_secs(1);

/// Whether the API server responds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ServerOutage {
    /// When the last outage ended: earlier failures no longer count.
    ended: Mono,
    /// A live read got no response, and no request has got one since.
    ongoing: Option<OngoingOutage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct OngoingOutage {
    since: Mono,
    /// When the next retry may be sent before its own time.
    probe_at: Mono,
}

impl Default for ServerOutage {
    fn default() -> Self {
        Self { ended: Mono::from_micros(i64::MIN), ongoing: None }
    }
}

impl ServerOutage {
    /// A request ended. Only reads show an outage: writes also fail because of webhooks. True if an outage is over.
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

    /// When a retry may be sent before its time; `None`: none may.
    pub(super) fn probe_at(self) -> Option<Mono> {
        self.ongoing.map(|silence| silence.probe_at)
    }

    /// A retry is sent, before its time or not.
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

/// When a pod gets its turn if its requests got no response in an outage that is over `now`.
pub(super) fn retry_after(pod: &PodRef, failures: u32, now: Mono) -> Mono {
    let share = i64::from(jitter(pod.node.as_str(), &pod.uid, failures));
    now.plus(Span::from_micros(RETRIES_SPREAD.as_micros() * share / 1024))
}
