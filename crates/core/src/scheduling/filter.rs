//! Decides whether a pod fits a node: the filter plugins of kube-scheduler in their order; the first rejection counts.

use super::affinity::NamedNodes;
use super::{FilterRejection, NodeInfo, PodSchedulingSpec, SchedulerPlugin, UnschedulableReason, amount};
use crate::taint::{Taint, TaintEffect, keys};
use crate::toleration::Toleration;
use crate::toleration_matching::{NumericOperators, TaintMatch, TolerationMatch, match_taints, tolerates};
use alloc::vec;
use alloc::vec::Vec;

/// Decides whether the pod may be scheduled to the node (SC-1, SC-4, SC-5; then affinity, then resources).
pub fn filter(
    spec: &PodSchedulingSpec,
    candidate: &NodeInfo,
    numeric: NumericOperators,
) -> Result<(), FilterRejection> {
    filter_named(spec, &spec.named(), candidate, numeric)
}

/// [`filter`], with the names that the pod requires already computed.
pub(super) fn filter_named(
    spec: &PodSchedulingSpec,
    named: &NamedNodes<'_>,
    candidate: &NodeInfo,
    numeric: NumericOperators,
) -> Result<(), FilterRejection> {
    suits(spec, named, candidate, numeric)?;
    fits(spec, candidate)
}

/// Whether the pod may be scheduled to the node as soon as there is room: everything except resources.
pub fn admits(spec: &PodSchedulingSpec, candidate: &NodeInfo, numeric: NumericOperators) -> bool {
    suits(spec, &spec.named(), candidate, numeric).is_ok()
}

/// Checks everything except resources: the part that does not change while nodes fill up.
pub(super) fn suits(
    spec: &PodSchedulingSpec,
    named: &NamedNodes<'_>,
    candidate: &NodeInfo,
    numeric: NumericOperators,
) -> Result<(), FilterRejection> {
    let name = candidate.name.as_str();
    match named {
        NamedNodes::Conflict => {
            return reject(SchedulerPlugin::NodeAffinity, UnschedulableReason::AffinityConflict);
        }
        NamedNodes::Only(names) if !names.contains(name) => {
            return reject(SchedulerPlugin::NodeAffinity, UnschedulableReason::NotNamed);
        }
        NamedNodes::Only(_) | NamedNodes::Any => {}
    }
    if candidate.unschedulable && !bears_cordon(&spec.tolerations, numeric) {
        return reject(SchedulerPlugin::NodeUnschedulable, UnschedulableReason::Unschedulable);
    }
    if !kept_off_by(&spec.tolerations, &candidate.taints, numeric).is_empty() {
        return reject(SchedulerPlugin::TaintToleration, UnschedulableReason::UntoleratedTaint);
    }
    if !spec.matches(name, &candidate.labels) {
        return reject(SchedulerPlugin::NodeAffinity, UnschedulableReason::NodeAffinity);
    }
    Ok(())
}

/// A rejection that preemption cannot resolve.
fn reject(by: SchedulerPlugin, reason: UnschedulableReason) -> Result<(), FilterRejection> {
    Err(FilterRejection { by, reasons: vec![reason], preemption_may_help: false })
}

/// Whether the pod tolerates the taint of a cordoned node, which represents `spec.unschedulable` itself (SC-4).
fn bears_cordon(tolerations: &[Toleration], numeric: NumericOperators) -> bool {
    let (key, value) = (keys::UNSCHEDULABLE.into(), "".into());
    let taint = Taint { key, value, effect: TaintEffect::NoSchedule, time_added: None };
    tolerations.iter().any(|toleration| tolerates(toleration, &taint, numeric) == TolerationMatch::Yes)
}

/// Returns the taints that repel a pod with these tolerations from their node: those with `NoSchedule` and `NoExecute`
/// (SC-1, MATCH-8).
pub fn kept_off_by<'t>(
    tolerations: &[Toleration],
    taints: &'t [Taint],
    numeric: NumericOperators,
) -> Vec<&'t Taint> {
    untolerated(tolerations, taints, numeric, |effect| {
        matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute)
    })
}

/// Returns the taints with such effects that the pod does not tolerate. A toleration that is not understood tolerates
/// nothing: repelling a pod evicts none (D11).
pub(super) fn untolerated<'t>(
    tolerations: &[Toleration],
    taints: &'t [Taint],
    numeric: NumericOperators,
    counts: impl Fn(&TaintEffect) -> bool,
) -> Vec<&'t Taint> {
    let taints: Vec<&Taint> = taints.iter().filter(|taint| counts(&taint.effect)).collect();
    let matches = match_taints(tolerations, taints.iter().copied(), numeric);
    let borne = |taint: &Taint, taint_match: TaintMatch| match taint_match {
        TaintMatch::Tolerated(_) => true,
        TaintMatch::Untolerated => false,
        TaintMatch::Unsupported(from) => tolerations[from..]
            .iter()
            .any(|toleration| tolerates(toleration, taint, numeric) == TolerationMatch::Yes),
    };
    let judged = taints.into_iter().zip(matches);
    judged.filter(|&(taint, taint_match)| !borne(taint, taint_match)).map(|(taint, _)| taint).collect()
}

/// Checks the resources. All missing ones are reported; a resource of which even the empty node has too little makes
/// preemption pointless.
pub(super) fn fits(spec: &PodSchedulingSpec, candidate: &NodeInfo) -> Result<(), FilterRejection> {
    let mut reasons = Vec::new();
    let mut preemption_may_help = true;
    if candidate.pods >= candidate.pods_max {
        reasons.push(UnschedulableReason::TooManyPods);
    }
    for (name, &wanted) in &spec.load.requested {
        let whole = amount(&candidate.allocatable, name);
        let free = whole.saturating_sub(amount(&candidate.used.requested, name));
        if wanted > 0 && wanted > free {
            reasons.push(UnschedulableReason::Insufficient(name.clone()));
            preemption_may_help &= wanted <= whole;
        }
    }
    if reasons.is_empty() {
        return Ok(());
    }
    Err(FilterRejection { by: SchedulerPlugin::NodeResourcesFit, reasons, preemption_may_help })
}
