//! Counts, for each workload and disruption budget, the pods that leave.

use super::EvictedPod;
use crate::cluster_snapshot::{ClusterSnapshot, DisruptionBudget, SnapshotPod};
use crate::fact::PodLifePhase;
use crate::time::Mono;
use alloc::vec::Vec;

/// What happens to a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadImpact {
    /// Its position in the snapshot.
    pub workload: u32,
    /// Pods of it that are not over, in the whole cluster.
    pub pods: u32,
    /// Of these, those that go by the forecast's moment.
    pub going: u32,
    /// Those that go later.
    pub later: u32,
    /// When the first goes.
    pub first: Mono,
    /// When the last goes.
    pub last: Mono,
}

/// What happens to a disruption budget. NoExecute taints do not ask it (TE-23).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetImpact {
    /// Its position in the snapshot.
    pub budget: usize,
    /// Pods it means that leave.
    pub leaving: u32,
    /// Of these, those that are well now.
    pub leaving_healthy: u32,
    /// Of these, those that a drain evicts, one by one, as the budget permits.
    pub evicted_healthy: u32,
    /// Pods it means that are well now.
    pub healthy: u32,
    /// Pods that should stay; `None`: nobody says.
    pub desired: Option<u32>,
}

impl BudgetImpact {
    /// Those that leave without asking.
    fn unasked(&self) -> u32 {
        self.leaving_healthy.saturating_sub(self.evicted_healthy)
    }

    /// Whether fewer would be well than it demands, if all who do not ask it left before others came.
    pub fn is_broken(&self) -> bool {
        let left = self.healthy.saturating_sub(self.unasked());
        self.unasked() > 0 && self.desired.is_some_and(|desired| left < desired)
    }

    /// How many evictions it refuses until others are well.
    pub fn refuses(&self) -> u32 {
        let left = self.healthy.saturating_sub(self.unasked());
        let allowed = self.desired.map_or(u32::MAX, |desired| left.saturating_sub(desired));
        self.evicted_healthy.saturating_sub(allowed)
    }

    /// How many may leave at a time before it is broken.
    pub fn allows(&self) -> Option<u32> {
        self.desired.map(|desired| self.healthy.saturating_sub(desired))
    }
}

fn pod<'s>(snapshot: &'s ClusterSnapshot, evicted_pod: &EvictedPod) -> &'s SnapshotPod {
    &snapshot.pods()[evicted_pod.pod as usize]
}

/// Workloads that lose pods: those that lose most first, then by name.
pub(super) fn workloads(
    snapshot: &ClusterSnapshot,
    leavers: &[EvictedPod],
    moment: Mono,
) -> Vec<WorkloadImpact> {
    // By the workload's position: there may be a million of those that leave.
    let mut hit: Vec<Option<WorkloadImpact>> = alloc::vec![None; snapshot.workloads().len()];
    for evicted_pod in leavers {
        let workload = pod(snapshot, evicted_pod).workload;
        let impact = hit[workload as usize].get_or_insert(WorkloadImpact {
            workload,
            pods: 0,
            going: 0,
            later: 0,
            first: evicted_pod.at,
            last: evicted_pod.at,
        });
        let number = if evicted_pod.at <= moment { &mut impact.going } else { &mut impact.later };
        *number += 1;
        impact.first = impact.first.min(evicted_pod.at);
        impact.last = impact.last.max(evicted_pod.at);
    }
    if leavers.is_empty() {
        return Vec::new();
    }
    for pod in snapshot.pods().iter().filter(|pod| pod.standing == PodLifePhase::Live) {
        if let Some(impact) = &mut hit[pod.workload as usize] {
            impact.pods += 1;
        }
    }
    let mut impacts: Vec<WorkloadImpact> = hit.into_iter().flatten().collect();
    let name = |impact: &WorkloadImpact| &snapshot.workloads()[impact.workload as usize];
    impacts.sort_by(|a, b| (b.going + b.later).cmp(&(a.going + a.later)).then_with(|| name(a).cmp(name(b))));
    impacts
}

/// Budgets that mean a pod that leaves, in the snapshot's order.
pub(super) fn budgets(snapshot: &ClusterSnapshot, leavers: &[EvictedPod]) -> Vec<BudgetImpact> {
    if leavers.is_empty() {
        return Vec::new();
    }
    let hit = |(at, budget)| budget_of(snapshot, leavers, at, budget);
    snapshot.budgets().iter().enumerate().filter_map(hit).collect()
}

fn budget_of(
    snapshot: &ClusterSnapshot,
    leavers: &[EvictedPod],
    at: usize,
    budget: &DisruptionBudget,
) -> Option<BudgetImpact> {
    // Pods share few sets of labels: each is compared once.
    let selected: Vec<bool> = snapshot.label_sets().iter().map(|labels| budget.selects(labels)).collect();
    let is_meant =
        |pod: &SnapshotPod| selected[pod.labels as usize] && *pod.name.namespace() == *budget.namespace;
    let pods = leavers.iter().map(|evicted_pod| (pod(snapshot, evicted_pod), evicted_pod.evicted));
    let meant: Vec<(&SnapshotPod, bool)> = pods.filter(|(pod, _)| is_meant(pod)).collect();
    if meant.is_empty() {
        return None;
    }
    let all = snapshot.pods().iter().filter(|pod| pod.standing == PodLifePhase::Live && is_meant(pod));
    let ready = count(all.clone().filter(|pod| pod.ready));
    let counted = budget.counted(count(all), ready);
    Some(BudgetImpact {
        budget: at,
        leaving: count(meant.iter()),
        leaving_healthy: count(meant.iter().filter(|(pod, _)| pod.ready)),
        evicted_healthy: count(meant.iter().filter(|(pod, evicted)| pod.ready && *evicted)),
        healthy: counted.map_or(ready, |status| status.healthy),
        desired: counted.map(|status| status.desired),
    })
}

fn count(pods: impl Iterator) -> u32 {
    u32::try_from(pods.count()).unwrap_or(u32::MAX)
}
