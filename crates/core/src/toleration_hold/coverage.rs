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
    /// The countdown of another NoExecute taint of the node runs too: if the seconds of one are removed,
    /// kube-controller-manager keeps the deadline that it had (TE-18).
    OtherCountdown,
    /// No toleration matches the taint: the pod is evicted immediately, and tolerations of a running pod cannot change
    /// that.
    Untolerated,
    /// The toleration with the seconds is for every key: without seconds it would tolerate every taint indefinitely.
    EveryKey,
    /// A toleration before the one with seconds has an unknown operator or effect.
    NotUnderstood,
}

/// Which countdowns of a pod a hold can stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldCoverage {
    /// Positions of the tolerations whose seconds it clears, in ascending order; none twice.
    pub positions: Vec<usize>,
    /// The worst reason why one of the two countdowns continues.
    pub uncovered: Option<UncoveredReason>,
}

impl HoldCoverage {
    /// Returns the coverage of a pod with these tolerations: for each of `not-ready` and `unreachable`, the first match
    /// counts (MATCH-9).
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

    /// The same on a silent node with these taints, if the countdown had begun before the hold.
    pub fn beside(mut self, tolerations: &[Toleration], taints: &[Taint]) -> Self {
        if has_other_countdown(tolerations, taints) {
            self.not_covered(UncoveredReason::OtherCountdown);
        }
        self
    }

    fn not_covered(&mut self, reason: UncoveredReason) {
        self.uncovered = self.uncovered.max(Some(reason));
    }
}

/// Whether the pod tolerates another NoExecute taint than not-ready and unreachable for a while.
fn has_other_countdown(tolerations: &[Toleration], taints: &[Taint]) -> bool {
    let others = taints.iter().filter(|taint| {
        taint.effect == TaintEffect::NoExecute && ![keys::NOT_READY, keys::UNREACHABLE].contains(&&*taint.key)
    });
    let mut matches = others.map(|taint| match_taint(tolerations, taint, NumericOperators::Off));
    matches.any(|found| matches!(found, TaintMatch::Tolerated(at) if tolerations[at].seconds.is_some()))
}
