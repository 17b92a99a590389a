//! Defines what is requested of the API server at a pod's next turn, and what is in flight.

use crate::time::Mono;
use crate::verdict::{EvictionExemption, Outcome, StayReason};

/// What is requested of the API server at a pod's next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum NextStep {
    /// Evict: mark if needed, then delete.
    Evict,
    /// Read the pod first: a precondition failed, or a response was lost.
    ReadPod,
    /// Remove the mark: the pod is not evicted after all (S9).
    ClearMark,
    /// Remove the mark until the next attempt: the pod cannot be evicted yet (S9).
    Rest,
    /// Delete it again: its deletion has started, and no other client would complete it (P31).
    Finish,
}

/// The request in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(in crate::eviction) enum InFlightRequest {
    Mark,
    Delete,
    Evict,
    ReadPod,
    ClearMark,
}

impl NextStep {
    /// Whether the next request at `retry_at` still follows from an outcome.
    pub(super) fn fits(self, outcome: Outcome, is_marked: bool, retry_at: Mono) -> bool {
        match (self, outcome) {
            (Self::ReadPod | Self::Finish, _) => true,
            (Self::Evict | Self::Rest, outcome) => matches!(outcome, Outcome::Leaves { .. }),
            (Self::ClearMark, Outcome::Leaves { .. }) => false,
            (Self::ClearMark, Outcome::StaysUntil(until)) => is_marked && retry_at <= until,
            (Self::ClearMark, Outcome::Stays(StayReason::Exempt(exemption))) => {
                exemption == EvictionExemption::Undecodable
            }
            (Self::ClearMark, Outcome::Stays(_)) => is_marked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_removed_as_planned_unless_the_pod_leaves_or_is_due_before() {
        let (at, later) = (Mono::from_secs(30), Mono::from_secs(31));
        let exempt = |exemption| Outcome::Stays(StayReason::Exempt(exemption));
        for (outcome, fits) in [
            (Outcome::Leaves { due: at }, false),
            (Outcome::StaysUntil(Mono::from_secs(29)), false),
            (Outcome::StaysUntil(at), true),
            (Outcome::StaysUntil(later), true),
            (Outcome::Stays(StayReason::NoTaint), true),
            (exempt(EvictionExemption::Undecodable), true),
            (exempt(EvictionExemption::Terminating), false),
            (exempt(EvictionExemption::Finished), false),
        ] {
            assert_eq!(NextStep::ClearMark.fits(outcome, true, at), fits, "{outcome:?}");
        }
        for outcome in [Outcome::StaysUntil(later), Outcome::Stays(StayReason::NoTaint)] {
            assert!(!NextStep::ClearMark.fits(outcome, false, at), "{outcome:?}: there is no mark");
        }
    }
}
