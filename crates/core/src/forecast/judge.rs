//! Judges every pod on the changed nodes, with the taints before and after the change.
//!
//! - Invariant: an existing taint keeps its start (S4); pods of the same template are matched once per node.

use super::{NodeForecast, PlannedNodeChange, PodForecast};
use crate::cluster_snapshot::{ClusterSnapshot, RecreationPolicy};
use crate::taint::TaintEffect;
use crate::toleration_matching::{self, TaintMatch};
use crate::verdict::{self, Outcome, TaintInstance};
use alloc::vec::Vec;

/// Returns the changed nodes or, if there are none, those with a NoExecute taint.
pub(super) fn nodes(snapshot: &ClusterSnapshot, changes: &[PlannedNodeChange]) -> Vec<NodeForecast> {
    if changes.is_empty() {
        let has_taint = |&node: &usize| {
            snapshot.nodes()[node].fact.taints.iter().any(|taint| taint.effect == TaintEffect::NoExecute)
        };
        let tainted = (0..snapshot.nodes().len()).filter(has_taint);
        return tainted.map(|node| one(snapshot, node, None)).collect();
    }
    changes.iter().map(|change| one(snapshot, change.node, Some(change))).collect()
}

fn one(snapshot: &ClusterSnapshot, node: usize, change: Option<&PlannedNodeChange>) -> NodeForecast {
    let before = snapshot.instances(node);
    let after = change.map_or_else(|| before.clone(), |change| change.instances(&before));
    let mut fates = fates(snapshot, node, &before, &after);
    let drained = change.is_some_and(|change| change.drained);
    if drained {
        fates.iter_mut().for_each(|pod_forecast| drain(snapshot, pod_forecast));
    }
    NodeForecast { node, before, after, drained, pods: fates }
}

/// A drain evicts pods now that would stay or be evicted later; neither exempt pods, nor a DaemonSet's, which would be
/// recreated immediately.
fn drain(snapshot: &ClusterSnapshot, pod_forecast: &mut PodForecast) {
    let (pod, now) = (&snapshot.pods()[pod_forecast.pod as usize], snapshot.now().mono);
    let is_left = snapshot.workloads()[pod.workload as usize].kind.returns() == RecreationPolicy::SameNode;
    if pod.exemption.is_none() && !is_left && pod_forecast.at().is_none_or(|at| at > now) {
        (pod_forecast.after, pod_forecast.decisive) = (Outcome::Leaves { due: now }, None);
    }
}

/// How the tolerations of one template match the taints of one node.
struct TemplateMatches {
    shape: u32,
    before: Vec<TaintMatch>,
    after: Vec<TaintMatch>,
}

fn fates(
    snapshot: &ClusterSnapshot,
    node: usize,
    before: &[TaintInstance],
    after: &[TaintInstance],
) -> Vec<PodForecast> {
    let now = snapshot.now().mono;
    let mut known: Vec<TemplateMatches> = Vec::new();
    let pod_forecast = |at: usize| {
        let pod = &snapshot.pods()[at];
        let subject = snapshot.subject(pod);
        let matches = match known.iter().position(|matches| matches.shape == pod.shape) {
            Some(position) => &known[position],
            None => {
                let of = |taints: &[TaintInstance]| {
                    let taints = taints.iter().map(|instance| &instance.taint);
                    toleration_matching::match_taints(subject.tolerations, taints, snapshot.numeric())
                };
                known.push(TemplateMatches { shape: pod.shape, before: of(before), after: of(after) });
                &known[known.len() - 1]
            }
        };
        let (holds, before, after) =
            (pod.record.holds(), pod.record.restarted(before), pod.record.restarted(after));
        let (was, _) = verdict::outcome_with_cause(&subject, &before, &holds, &matches.before, now);
        let (is, decisive) = verdict::outcome_with_cause(&subject, &after, &holds, &matches.after, now);
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        PodForecast { pod: narrow(at), before: was, after: is, decisive: decisive.map(narrow) }
    };
    snapshot.pods_on(node).map(pod_forecast).collect()
}
