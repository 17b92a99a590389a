//! # Outage: live reads go unanswered, until one is answered
//! Room:     whether the API server is away; the one retry a second that finds out that it is back.
//! Comes in: how each request ended.
//! Goes out: which retry may go before its own time; since when the pauses of an outage are over.
//! Keeps:    pauses that grew while nobody could answer hold up nobody once somebody can (L2): whoever waits is asked
//!           about within a second or two, spread, so that a server that comes back is not met by all at once (P26).
//!           While it is away it costs no more than it did: a request a second (L6).
//! Not here: pauses after what a server says itself (`queue.rs`): those go on.

use crate::effect::Failure;
use crate::time::{Mono, Span};

/// The distance between two retries that go before their time.
const PROBE_EVERY: Span = Span::from_secs(1);

/// Whether the API server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Outage {
    /// It does, again since this moment, if it ever did not.
    Over {
        /// Failures from before say nothing of now.
        since: Mono,
    },
    /// A live read went unanswered, and nothing has been answered since.
    Lasts {
        /// When a retry may go whose own time has not come.
        probe_at: Mono,
    },
}

impl Default for Outage {
    fn default() -> Self {
        Self::Over { since: Mono::from_micros(i64::MIN) }
    }
}

impl Outage {
    /// A request ended. Only reads tell of an outage: writes also fail by webhooks. True if an outage is over.
    pub(super) fn learn(&mut self, failure: Option<Failure>, is_read: bool, now: Mono) -> bool {
        match (failure, &self) {
            (Some(Failure::Unavailable), Self::Over { .. }) if is_read => {
                *self = Self::Lasts { probe_at: now.plus(PROBE_EVERY) };
                false
            }
            (Some(Failure::Unavailable | Failure::Throttled(_)), _) | (_, Self::Over { .. }) => false,
            (_, Self::Lasts { .. }) => {
                *self = Self::Over { since: now };
                true
            }
        }
    }

    /// When a retry may go before its time; `None`: none may.
    pub(super) const fn probe_at(self) -> Option<Mono> {
        match self {
            Self::Lasts { probe_at } => Some(probe_at),
            Self::Over { .. } => None,
        }
    }

    /// A retry goes, before its time or not.
    pub(super) fn probed(&mut self, now: Mono) {
        if let Self::Lasts { probe_at } = self {
            *probe_at = now.plus(PROBE_EVERY);
        }
    }

    /// Whether a failure of that moment still counts.
    pub(super) fn counts(self, failed_at: Mono) -> bool {
        match self {
            Self::Over { since } => since < failed_at,
            Self::Lasts { .. } => true,
        }
    }
}
