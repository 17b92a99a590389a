//! Computes the taints that a node should have from its conditions and its silence (NL-5, NL-15, NL-16).
//!
//! - Invariant: the result is a difference, so that an existing taint is not written again; unknown values change
//!   nothing (D11).

use super::effect::TaintCause;
use super::fact::{ConditionKind, ConditionStatus, NodeConditions};
use super::managed_taints::{ManagedTaint, ManagedTaints};
use crate::time::Mono;

/// What decides about one node's taints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeSituation {
    /// Its conditions.
    pub conditions: NodeConditions,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// The managed taints that it has.
    pub own: ManagedTaints,
    /// It has been silent for longer than its grace period, as this process observed.
    pub silent: bool,
    /// All zones are fully disrupted according to their nodes' conditions (NL-27).
    pub all_down: bool,
}

/// The changes of one node's taints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TaintPlan {
    /// Added immediately.
    pub add: ManagedTaints,
    /// Removed immediately.
    pub remove: ManagedTaints,
    /// Added when it is the node's turn in its zone (NL-16).
    pub queue: Option<ManagedTaint>,
    /// It is silent, and its conditions are not Unknown yet (NL-12).
    pub declare: bool,
}

/// Decides the changes of one node.
pub fn plan(situation: &NodeSituation) -> TaintPlan {
    let wanted = keeping_off(situation);
    let has = situation.own.no_schedule();
    let (away, queue) = sending_away(situation);
    let has_away = situation.own.no_execute();
    let understood = situation.conditions.ready() != Some(ConditionStatus::Other);
    TaintPlan {
        add: wanted.without(has).and(away.without(has_away)),
        remove: has.without(wanted).and(has_away.without(away)),
        queue,
        declare: situation.silent
            && understood
            && situation.conditions.ready() != Some(ConditionStatus::Unknown),
    }
}

/// Returns the NoSchedule taints that conditions and `spec.unschedulable` require (NL-5, NL-9); if a condition is not
/// understood, the existing ones stay (D11). A node that has not reported `Ready` yet keeps the taint that every node
/// is created with (AD-6, D12): upstream removes it immediately, and pods are scheduled to a node that does not run
/// yet.
fn keeping_off(situation: &NodeSituation) -> ManagedTaints {
    use ConditionKind::{DiskPressure, MemoryPressure, NetworkUnavailable, PidPressure};
    let conditions = &situation.conditions;
    let kept = |taint| situation.own.has(taint).then_some(taint);
    let pressure = |kind, taint| match conditions.get(kind) {
        Some(ConditionStatus::True) => Some(taint),
        Some(ConditionStatus::Other) => kept(taint),
        Some(ConditionStatus::False | ConditionStatus::Unknown) | None => None,
    };
    let ready = match conditions.ready() {
        Some(ConditionStatus::False) => [Some(ManagedTaint::NotReady), None],
        Some(ConditionStatus::Unknown) => [None, Some(ManagedTaint::Unreachable)],
        Some(ConditionStatus::Other) | None => {
            [kept(ManagedTaint::NotReady), kept(ManagedTaint::Unreachable)]
        }
        Some(ConditionStatus::True) => [None, None],
    };
    let others = [
        pressure(MemoryPressure, ManagedTaint::MemoryPressure),
        pressure(DiskPressure, ManagedTaint::DiskPressure),
        pressure(PidPressure, ManagedTaint::PidPressure),
        pressure(NetworkUnavailable, ManagedTaint::NetworkUnavailable),
        situation.unschedulable.then_some(ManagedTaint::Unschedulable),
    ];
    ready.into_iter().chain(others).flatten().collect()
}

/// Returns the NoExecute taints that a node has from now on, and the one it waits for (NL-15, NL-16). They exclude each
/// other, and one replaces the other in the same write (NL-21, NL-45). A node that has not reported `Ready` keeps what
/// it has (NL-40, D12), and unreachable is added only for a silence that this process observed.
fn sending_away(situation: &NodeSituation) -> (ManagedTaints, Option<ManagedTaint>) {
    let has = situation.own.no_execute();
    let (taint, evident) = match situation.conditions.ready() {
        Some(ConditionStatus::Other) => return (has, None),
        Some(ConditionStatus::True) => return (ManagedTaints::NONE, None),
        _ if situation.all_down => return (ManagedTaints::NONE, None),
        None => return (has, None),
        Some(ConditionStatus::False) => (ManagedTaint::NotReadyNoExecute, true),
        Some(ConditionStatus::Unknown) => (ManagedTaint::UnreachableNoExecute, situation.silent),
    };
    match has.is_empty() {
        false => (ManagedTaints::NONE.with(taint), None),
        true => (ManagedTaints::NONE, evident.then_some(taint)),
    }
}

/// Returns why these taints are written to a node in this situation.
pub(super) fn cause(
    situation: &NodeSituation,
    silent_since: Option<Mono>,
    add: ManagedTaints,
    remove: ManagedTaints,
) -> TaintCause {
    let is_ready = situation.conditions.ready() == Some(ConditionStatus::True);
    match (add.no_execute().is_empty(), remove.no_execute().is_empty()) {
        (true, true) => TaintCause::Conditions,
        (true, false) if is_ready => TaintCause::Recovered,
        (true, false) if situation.all_down => TaintCause::EverythingDown,
        _ if !situation.own.no_execute().is_empty() => TaintCause::Swap,
        _ if add.has(ManagedTaint::NotReadyNoExecute) => TaintCause::NotReady,
        _ => silent_since.map_or(TaintCause::NotReady, |since| TaintCause::Silent { since }),
    }
}
