//! Defines what is asked of the API server about a pod at its next turn, and what was asked.

use crate::time::Mono;
use crate::verdict::{EvictionExemption, Outcome, StayReason};

/// What is asked of the API server about a pod at its next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NextStep {
    /// Evict: mark if needed, then delete.
    Evict,
    /// Read the pod first: a precondition failed, or an answer was lost.
    ReadPod,
    /// Take the mark away: it is not going after all (S9).
    Unmark,
    /// Take the mark away until the next try: it cannot go yet (S9).
    Rest,
    /// Delete it again: its deletion has begun, and nothing is left that somebody else would do (P31).
    Finish,
}

/// The request that is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum InFlightRequest {
    Mark,
    Delete,
    ReadPod,
    Unmark,
}

impl NextStep {
    /// Whether what is to be asked of the API server at `retry_at` still follows from an outcome.
    pub(super) fn fits(self, outcome: Outcome, is_marked: bool, retry_at: Mono) -> bool {
        match (self, outcome) {
            (Self::ReadPod | Self::Finish, _) => true,
            (Self::Evict | Self::Rest, outcome) => matches!(outcome, Outcome::Leaves { .. }),
            (Self::Unmark, Outcome::Leaves { .. }) => false,
            (Self::Unmark, Outcome::StaysUntil(until)) => is_marked && retry_at <= until,
            (Self::Unmark, Outcome::Stays(StayReason::Exempt(exemption))) => {
                exemption == EvictionExemption::Undecodable
            }
            (Self::Unmark, Outcome::Stays(_)) => is_marked,
        }
    }
}
