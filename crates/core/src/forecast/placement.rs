//! Finds a node for each evicted pod that its workload recreates, in the order of the evictions.
//!
//! - Invariant: an evicted pod uses no resources; a pod that was placed does.
//! - Affinity between pods, topology constraints and volumes are not evaluated.

use super::{EvictedPod, PlannedNodeChange, leaves_at};
use crate::cluster_snapshot::{
    ClusterSnapshot, JobPodOutcome, RecreationPolicy, SnapshotPod, TEMPLATE_HASH, WorkloadKind,
};
use crate::fact::PodLifePhase;
use crate::hash::fnv1a;
use crate::ordered_hold::OrderedHolds;
use crate::scheduling::{NodeInfo, Placer, PodToPlace, why_none};
use crate::taint_start::{BindingSource, PodBinding};
use crate::time::Mono;
use crate::verdict::{self, PodInput, TaintInstance};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Where a pod could go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// On this node.
    Node(usize),
    /// On this node, whose NoExecute taints it tolerates only for a while: it is evicted again (DS-4).
    Again(usize),
    /// On no node: why, in the scheduler's words.
    Nowhere(Arc<str>),
    /// It is not recreated, or not for another node.
    None(RecreationPolicy),
}

/// An evicted pod, and where it could go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedPod {
    /// Its position in the snapshot.
    pub pod: u32,
    /// The placement.
    pub place: Placement,
}

/// Returns the placements of evicted pods, and how many were not placed because there are too many.
pub(super) fn placements(
    snapshot: &ClusterSnapshot,
    changes: &[PlannedNodeChange],
    leavers: &[EvictedPod],
    jobs: &BTreeMap<u32, JobPodOutcome>,
    most: usize,
) -> (Vec<PlacedPod>, usize) {
    let all = leavers.len();
    if all == 0 || most == 0 {
        return (Vec::new(), all);
    }
    let first_leavers = first(snapshot, leavers.to_vec(), most);
    let mut placer = Placer::new(candidates(snapshot, changes), snapshot.numeric());
    let groups = SpreadGroups::of(snapshot, &first_leavers);
    for (pod, group) in groups.members(snapshot) {
        if let (Some(node), PodLifePhase::Live) = (pod.node, pod.life_phase) {
            placer.count(group, node as usize, 1);
        }
    }
    let taints = TaintsByNode::of(snapshot, changes);
    let mut why: BTreeMap<u32, Arc<str>> = BTreeMap::new();
    let (mut placements, mut at) = (Vec::with_capacity(first_leavers.len()), 0);
    while let Some(next) = first_leavers.get(at) {
        // Pods that are deleted at the same moment no longer count when the others are placed.
        let together = first_leavers[at..].iter().take_while(|evicted_pod| evicted_pod.at == next.at).count();
        let batch = &first_leavers[at..at + together];
        // They are live: all others are exempt.
        for evicted_pod in batch {
            let pod = &snapshot.pods()[evicted_pod.pod as usize];
            if let (Some(node), Some(group)) = (pod.node, groups.group(snapshot, pod)) {
                placer.count(group, node as usize, -1);
            }
        }
        for evicted_pod in batch {
            let pod = &snapshot.pods()[evicted_pod.pod as usize];
            let spec = &snapshot.shape(pod).spec;
            if let Some(node) = pod.node {
                placer.take(node as usize, &spec.load);
            }
            let fails = jobs.get(&evicted_pod.pod).is_some_and(|outcome| !outcome.is_recreated());
            let place = match snapshot.workloads()[pod.workload as usize].kind.returns() {
                _ if fails => Placement::None(RecreationPolicy::Never),
                returns @ (RecreationPolicy::SameNode | RecreationPolicy::Never) => Placement::None(returns),
                _ => {
                    let (kind, group) = (pod.shape, groups.group(snapshot, pod));
                    match placer.choose(PodToPlace { kind, spec, group, tie: tie(pod) }) {
                        Some(node) => {
                            placer.put(node, &spec.load);
                            if let Some(group) = group {
                                placer.count(group, node, 1);
                            }
                            match taints.sends_away(snapshot, pod, node, evicted_pod) {
                                true => Placement::Again(node),
                                false => Placement::Node(node),
                            }
                        }
                        None => {
                            let sentence =
                                || -> Arc<str> { reason(&why_none(spec, &placer.why_not(spec))).into() };
                            Placement::Nowhere(why.entry(pod.shape).or_insert_with(sentence).clone())
                        }
                    }
                }
            };
            placements.push(PlacedPod { pod: evicted_pod.pod, place });
        }
        at += together;
    }
    (placements, all - first_leavers.len())
}

/// Returns the first `most` evicted pods, at least one, in the order of their evictions; of simultaneous ones, the more
/// important later.
fn first(snapshot: &ClusterSnapshot, mut leavers: Vec<EvictedPod>, most: usize) -> Vec<EvictedPod> {
    let order = |evicted_pod: &EvictedPod| {
        let pod = &snapshot.pods()[evicted_pod.pod as usize];
        (evicted_pod.at, snapshot.shape(pod).spec.priority, evicted_pod.pod)
    };
    if leavers.len() > most {
        leavers.select_nth_unstable_by_key(most - 1, order);
        leavers.truncate(most);
    }
    leavers.sort_unstable_by_key(order);
    leavers
}

/// Returns a pseudorandom number that is always the same for the same pod: the scheduler chooses randomly among equal
/// nodes.
fn tie(pod: &SnapshotPod) -> u64 {
    fnv1a(pod.name.as_str()) >> 32
}

/// Pods that the scheduler spreads together: those of one ReplicaSet or StatefulSet that has an evicted pod.
struct SpreadGroups<'s>(BTreeMap<(u32, &'s str), u32>);

impl<'s> SpreadGroups<'s> {
    fn of(snapshot: &'s ClusterSnapshot, leavers: &[EvictedPod]) -> Self {
        let mut groups = BTreeMap::new();
        for evicted_pod in leavers {
            if let Some(key) = Self::key(snapshot, &snapshot.pods()[evicted_pod.pod as usize]) {
                let next = u32::try_from(groups.len()).unwrap_or(u32::MAX);
                groups.entry(key).or_insert(next);
            }
        }
        Self(groups)
    }

    /// The template hash distinguishes a Deployment's ReplicaSets.
    fn key(snapshot: &'s ClusterSnapshot, pod: &SnapshotPod) -> Option<(u32, &'s str)> {
        let hash =
            || snapshot.label_sets()[pod.labels as usize].get(TEMPLATE_HASH).map_or("", |hash| &**hash);
        match snapshot.workloads()[pod.workload as usize].kind {
            WorkloadKind::Deployment => Some((pod.workload, hash())),
            WorkloadKind::ReplicaSet | WorkloadKind::StatefulSet => Some((pod.workload, "")),
            _ => None,
        }
    }

    fn group(&self, snapshot: &'s ClusterSnapshot, pod: &SnapshotPod) -> Option<u32> {
        self.0.get(&Self::key(snapshot, pod)?).copied()
    }

    fn members(&self, snapshot: &'s ClusterSnapshot) -> impl Iterator<Item = (&'s SnapshotPod, u32)> {
        snapshot.pods().iter().filter_map(|pod| Some((pod, self.group(snapshot, pod)?)))
    }
}

/// The planned NoExecute taints of nodes that have any.
struct TaintsByNode(BTreeMap<usize, Vec<TaintInstance>>);

impl TaintsByNode {
    fn of(snapshot: &ClusterSnapshot, changes: &[PlannedNodeChange]) -> Self {
        let now = (0..snapshot.nodes().len()).map(|node| (node, snapshot.instances(node)));
        let mut all: BTreeMap<usize, Vec<TaintInstance>> =
            now.filter(|(_, taints)| !taints.is_empty()).collect();
        for change in changes {
            let before = all.remove(&change.node).unwrap_or_default();
            let after = change.instances(&before);
            if !after.is_empty() {
                all.insert(change.node, after);
            }
        }
        Self(all)
    }

    /// Whether a pod that is placed on a node after its eviction is evicted from there as well.
    fn sends_away(
        &self,
        snapshot: &ClusterSnapshot,
        pod: &SnapshotPod,
        node: usize,
        evicted_pod: &EvictedPod,
    ) -> bool {
        let Some(taints) = self.0.get(&node) else { return false };
        let bound_at = evicted_pod.at.max(snapshot.now().mono);
        evicted_after_binding(snapshot, pod, taints, bound_at).is_some()
    }
}

/// Returns when a pod that is bound at this moment to a node with these NoExecute taints is evicted from it; `None`:
/// it stays (DS-4).
pub fn evicted_after_binding(
    snapshot: &ClusterSnapshot,
    pod: &SnapshotPod,
    taints: &[TaintInstance],
    bound_at: Mono,
) -> Option<Mono> {
    let arrival = PodBinding { at: bound_at, source: BindingSource::SeenLive };
    let tolerations = &snapshot.shape(pod).spec.tolerations;
    let subject = PodInput { tolerations, arrival, exemption: None, holds: OrderedHolds::default() };
    leaves_at(verdict::judge(&subject, taints, snapshot.numeric(), snapshot.now()).outcome)
}

/// Removes the scheduler's remarks on preemption: the forecast does not preempt pods.
fn reason(sentence: &str) -> String {
    sentence.split(" preemption: ").next().unwrap_or(sentence).trim_end_matches('.').into()
}

/// Returns the planned nodes.
pub(super) fn candidates(snapshot: &ClusterSnapshot, changes: &[PlannedNodeChange]) -> Vec<NodeInfo> {
    let mut candidates: Vec<NodeInfo> =
        (0..snapshot.nodes().len()).map(|node| snapshot.candidate(node)).collect();
    for change in changes {
        let candidate = &mut candidates[change.node];
        candidate.unschedulable = change.unschedulable;
        candidate.taints = change.taints.iter().map(|planned| planned.taint.clone()).collect();
    }
    candidates
}
