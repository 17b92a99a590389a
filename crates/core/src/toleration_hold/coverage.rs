//! Decides which tolerations of a pod a hold may clear.
//!
//! - See `toleration_hold.rs` for what happens to them.

use crate::taint::{Taint, TaintEffect, keys};
use crate::toleration::Toleration;
use crate::toleration_matching::{NumericOperators, TaintMatch, match_taint};
use alloc::vec::Vec;

/// Why a hold cannot stop a countdown of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UncoveredReason {
    /// No toleration answers the taint: the pod leaves at once, and a running pod cannot be told otherwise.
    Untolerated,
    /// The toleration with the seconds is for every key: without seconds it would tolerate every taint for ever.
    EveryKey,
    /// A toleration that stands before the one with seconds has an operator or effect that is not known here.
    NotUnderstood,
}

/// What a hold can do for a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldCoverage {
    /// Positions of the tolerations whose seconds it clears, in ascending order; none twice.
    pub positions: Vec<usize>,
    /// The worst reason why one of the two countdowns goes on.
    pub uncovered: Option<UncoveredReason>,
}

impl HoldCoverage {
    /// Of a pod with these tolerations: for each of `not-ready` and `unreachable`, the first that matches counts
    /// (MATCH-9).
    pub fn of(tolerations: &[Toleration]) -> Self {
        let mut coverage = Self::default();
        for key in [keys::NOT_READY, keys::UNREACHABLE] {
            let taint =
                Taint { key: key.into(), value: "".into(), effect: TaintEffect::NoExecute, time_added: None };
            match match_taint(tolerations, &taint, NumericOperators::Off) {
                TaintMatch::Tolerated(at) if tolerations[at].seconds.is_none() => {}
                TaintMatch::Tolerated(at) if tolerations[at].key.is_empty() => {
                    coverage.not_covered(UncoveredReason::EveryKey);
                }
                TaintMatch::Tolerated(at) => coverage.positions.push(at),
                TaintMatch::Untolerated => coverage.not_covered(UncoveredReason::Untolerated),
                TaintMatch::Unsupported(_) => coverage.not_covered(UncoveredReason::NotUnderstood),
            }
        }
        coverage.positions.sort_unstable();
        coverage
    }

    fn not_covered(&mut self, reason: UncoveredReason) {
        self.uncovered = self.uncovered.max(Some(reason));
    }
}
