//! Finds the workloads that lose the last node that would accept their pods, whether or not pods are evicted.
//!
//! - Resources do not count: a full cluster accepts pods again when others end.

use super::PlannedNodeChange;
use super::placement::candidates;
use crate::cluster_snapshot::{ClusterSnapshot, RecreationPolicy, SnapshotPod, WorkloadKind};
use crate::scheduling::{NodeInfo, PodSchedulingSpec, admits};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Returns the workloads with a pod on a changed node that some node accepts without the change, and none with it, in
/// the order of their names. `is_meant` selects the pods.
pub(super) fn closed(
    snapshot: &ClusterSnapshot,
    changes: &[PlannedNodeChange],
    is_meant: impl Fn(u32) -> bool,
) -> Vec<u32> {
    if changes.is_empty() {
        return Vec::new();
    }
    let (before, after) = (candidates(snapshot, &[]), candidates(snapshot, changes));
    let accepts = |nodes: &[NodeInfo], spec: &PodSchedulingSpec| {
        nodes.iter().any(|node| admits(spec, node, snapshot.numeric()))
    };
    let mut known: BTreeMap<u32, bool> = BTreeMap::new();
    let mut found = BTreeSet::new();
    for at in changes.iter().flat_map(|change| snapshot.pods_on(change.node)) {
        let pod = &snapshot.pods()[at];
        if !u32::try_from(at).is_ok_and(&is_meant) || !is_recreated(snapshot, pod) {
            continue;
        }
        let spec = &snapshot.shape(pod).spec;
        let is_closed = known.entry(pod.shape);
        if *is_closed.or_insert_with(|| !accepts(&after, spec) && accepts(&before, spec)) {
            found.insert(pod.workload);
        }
    }
    let mut found: Vec<u32> = found.into_iter().collect();
    found.sort_by_key(|workload| &snapshot.workloads()[*workload as usize]);
    found
}

/// Whether another pod may take its place on any node: pods of DaemonSets and static pods belong to their nodes.
fn is_recreated(snapshot: &ClusterSnapshot, pod: &SnapshotPod) -> bool {
    let kind = &snapshot.workloads()[pod.workload as usize].kind;
    let returns = !matches!(kind.returns(), RecreationPolicy::SameNode | RecreationPolicy::Never);
    pod.exemption.is_none() && returns && *kind != WorkloadKind::Node
}
