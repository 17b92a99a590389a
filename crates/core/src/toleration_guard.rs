//! Decides which seconds the tolerations of a guarded pod have: a ceiling, as long as Taintward evicts it by its own
//! ones.
//!
//! - Invariant: the record with the own seconds is stored in the pod and changes in the same write as the seconds.
//! - Invariant: no toleration gets fewer seconds than its own, and none without seconds is changed. Without Taintward,
//!   kube-controller-manager evicts the pod at the ceiling.

mod record;
#[cfg(test)]
mod tests;
mod unrecorded;

pub use record::GuardRecord;
pub use unrecorded::{UnrecordedCause, kept_by};

use crate::fact::{NodeFact, PodFact};
use crate::scheduling::Labels;
use crate::taint::{TaintEffect, keys};
use crate::toleration::{SecondsChanges, Toleration, TolerationOperator};
use crate::toleration_hold::{HeldToleration, HoldCoverage};
use crate::toleration_matching::canonical_integer;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The label of a namespace whose pods are guarded; its value is the ceiling in seconds.
pub const CEILING_LABEL: &str = "taintward.io/guard-ceiling-seconds";

/// The minimum ceiling, in seconds.
pub const CEILING_MIN: i64 = 10;

/// The maximum ceiling, in seconds: seven days.
pub const CEILING_MAX: i64 = 7 * 24 * 60 * 60;

/// The label of a namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum GuardCeiling {
    /// Its pods are not guarded.
    #[default]
    None,
    /// Its pods are guarded, with a ceiling of this many seconds.
    Seconds(i64),
    /// The label is not a number of seconds between [`CEILING_MIN`] and [`CEILING_MAX`]: the pods stay unchanged (D11).
    Undecodable,
}

impl GuardCeiling {
    /// Returns the ceiling of a namespace with these labels.
    pub fn of(labels: &Labels) -> Self {
        let Some(text) = labels.get(CEILING_LABEL) else { return Self::None };
        let seconds = canonical_integer(text).filter(|seconds| (CEILING_MIN..=CEILING_MAX).contains(seconds));
        seconds.map_or(Self::Undecodable, Self::Seconds)
    }
}

/// One write: new seconds, and the record that belongs to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardWrite {
    /// The seconds that change.
    pub seconds: SecondsChanges,
    /// The record afterwards; `None` removes it.
    pub record: Option<GuardRecord>,
}

/// Returns the write that gives a pod the seconds that it should have; `None` if it has them.
///
/// `own` are changes of its own seconds, by their positions: those of backfill. Only for pods whose node is not silent:
/// kube-controller-manager ignores a change of seconds while their countdown runs (D2).
pub fn guard_write(
    tolerations: &[Toleration],
    record: Option<&GuardRecord>,
    ceiling: GuardCeiling,
    own: &SecondsChanges,
) -> Option<GuardWrite> {
    let mut wanted = own_tolerations(tolerations, record);
    for (at, seconds) in own {
        if let Some(toleration) = wanted.get_mut(*at) {
            toleration.seconds = *seconds;
        }
    }
    let mut guarded = Vec::new();
    match ceiling {
        GuardCeiling::None => {}
        GuardCeiling::Undecodable => return None,
        GuardCeiling::Seconds(ceiling) => {
            for at in HoldCoverage::of(&wanted).positions {
                if wanted[at].seconds.is_some_and(|own| own < ceiling) {
                    guarded.extend(HeldToleration::recorded(&wanted[at], Some(ceiling)));
                    wanted[at].seconds = Some(ceiling);
                }
            }
        }
    }
    let differs = |(_, (is, wanted)): &(usize, (&Toleration, &Toleration))| is.seconds != wanted.seconds;
    let pairs = tolerations.iter().zip(&wanted).enumerate();
    let seconds: SecondsChanges =
        pairs.filter(differs).map(|(at, (_, wanted))| (at, wanted.seconds)).collect();
    let after = GuardRecord::recorded(guarded);
    let is_same = seconds.is_empty() && after.as_ref() == record;
    (!is_same).then_some(GuardWrite { seconds, record: after })
}

/// Returns the tolerations of a pod with its own seconds, in the pod's order.
pub fn own_tolerations(tolerations: &[Toleration], record: Option<&GuardRecord>) -> Vec<Toleration> {
    let mut own = tolerations.to_vec();
    for (at, held) in record.into_iter().flat_map(|record| record.applying_to(tolerations)) {
        own[at].seconds = Some(held.own());
    }
    own
}

/// Returns a pod as taint eviction judges it if it evicts guarded pods only; `None`: kube-controller-manager evicts it.
///
/// A pod that is not guarded but has Taintward's mark is judged as one that stays, so that the mark is removed (S9).
pub fn guarded_pod(mut pod: PodFact, record: Option<&GuardRecord>) -> Option<PodFact> {
    match record.filter(|record| record.still_applies(&pod.tolerations)) {
        Some(record) => pod.tolerations = own_tolerations(&pod.tolerations, Some(record)),
        None if pod.marked && !pod.marked_by_another => pod.tolerations = [every_taint()].into(),
        None => return None,
    }
    // kube-controller-manager evicts at the ceiling, which no annotation delays.
    pod.ignores_holds = true;
    Some(pod)
}

fn every_taint() -> Toleration {
    let operator = TolerationOperator::Exists;
    Toleration { key: Box::default(), operator, value: Box::default(), effect: None, seconds: None }
}

/// Returns a node as taint eviction judges it if it evicts guarded pods only: with the two taints that a ceiling
/// covers.
pub fn guarded_node(mut node: NodeFact) -> NodeFact {
    let is_covered = |key: &str| [keys::NOT_READY, keys::UNREACHABLE].contains(&key);
    node.taints.retain(|taint| taint.effect == TaintEffect::NoExecute && is_covered(&taint.key));
    node
}
