//! Counts, for each workload and disruption budget, the evicted pods, and finds Jobs that fail.

use super::EvictedPod;
use crate::cluster_snapshot::{ClusterSnapshot, DisruptionBudget, JobPodOutcome, JobProgress, SnapshotPod};
use crate::fact::PodLifePhase;
use crate::time::Mono;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What happens to a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadImpact {
    /// Its position in the snapshot.
    pub workload: u32,
    /// Its pods that have not terminated, in the whole cluster.
    pub pods: u32,
    /// Of these, those that are evicted by the forecast's moment.
    pub going: u32,
    /// Those that are evicted later.
    pub later: u32,
    /// When the first is evicted.
    pub first: Mono,
    /// When the last is evicted.
    pub last: Mono,
}

/// What happens to a disruption budget. Evictions by NoExecute taints ignore it (TE-23).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetImpact {
    /// Its position in the snapshot.
    pub budget: usize,
    /// Evicted pods that it selects.
    pub leaving: u32,
    /// Of these, those that are healthy now.
    pub leaving_healthy: u32,
    /// Of these, those that a drain evicts, one by one, as the budget permits.
    pub evicted_healthy: u32,
    /// Pods that it selects and that are healthy now.
    pub healthy: u32,
    /// Pods that must stay; `None`: unknown.
    pub desired: Option<u32>,
}

impl BudgetImpact {
    /// Evicted pods that ignore the budget.
    fn unasked(&self) -> u32 {
        self.leaving_healthy.saturating_sub(self.evicted_healthy)
    }

    /// Whether fewer pods than required would be healthy if all evictions that ignore the budget happened before
    /// replacements are healthy.
    pub fn is_broken(&self) -> bool {
        let left = self.healthy.saturating_sub(self.unasked());
        self.unasked() > 0 && self.desired.is_some_and(|desired| left < desired)
    }

    /// How many evictions it rejects until other pods are healthy.
    pub fn blocked(&self) -> u32 {
        let left = self.healthy.saturating_sub(self.unasked());
        let allowed = self.desired.map_or(u32::MAX, |desired| left.saturating_sub(desired));
        self.evicted_healthy.saturating_sub(allowed)
    }

    /// How many pods may be evicted at a time without violating it.
    pub fn allows(&self) -> Option<u32> {
        self.desired.map(|desired| self.healthy.saturating_sub(desired))
    }
}

fn pod<'s>(snapshot: &'s ClusterSnapshot, evicted_pod: &EvictedPod) -> &'s SnapshotPod {
    &snapshot.pods()[evicted_pod.pod as usize]
}

/// Returns the workloads that lose pods: those that lose most first, then by name.
pub(super) fn workloads(
    snapshot: &ClusterSnapshot,
    leavers: &[EvictedPod],
    moment: Mono,
) -> Vec<WorkloadImpact> {
    // Indexed by the workload's position: there may be a million evicted pods.
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
    for pod in snapshot.pods().iter().filter(|pod| pod.life_phase == PodLifePhase::Live) {
        if let Some(impact) = &mut hit[pod.workload as usize] {
            impact.pods += 1;
        }
    }
    let mut impacts: Vec<WorkloadImpact> = hit.into_iter().flatten().collect();
    let name = |impact: &WorkloadImpact| &snapshot.workloads()[impact.workload as usize];
    impacts.sort_by(|a, b| (b.going + b.later).cmp(&(a.going + a.later)).then_with(|| name(a).cmp(name(b))));
    impacts
}

/// Returns what follows for evicted pods of Jobs that the snapshot has, in the order of the evictions: each failure
/// counts for the next one. A Job that fails deletes the pods that it recreated before, too.
pub(super) fn jobs(snapshot: &ClusterSnapshot, leavers: &[EvictedPod]) -> BTreeMap<u32, JobPodOutcome> {
    let job = |evicted_pod: &EvictedPod| {
        let pod = pod(snapshot, evicted_pod);
        let job = snapshot.job(&snapshot.workloads()[pod.workload as usize])?;
        Some((evicted_pod.at, evicted_pod.pod, job))
    };
    let mut evictions: Vec<_> = leavers.iter().filter_map(job).collect();
    evictions.sort_unstable_by_key(|(at, pod, _)| (*at, *pod));
    let mut running: BTreeMap<u32, JobProgress<'_>> = BTreeMap::new();
    let mut outcomes = BTreeMap::new();
    for (_, at, job) in evictions {
        let pod = &snapshot.pods()[at as usize];
        let progress = running.entry(pod.workload).or_insert_with(|| JobProgress::of(job));
        outcomes.insert(at, progress.evict(pod.job_index));
    }
    for (at, outcome) in &mut outcomes {
        let pod = &snapshot.pods()[*at as usize];
        if let Some(failure) = running.get(&pod.workload).and_then(JobProgress::failure) {
            *outcome = JobPodOutcome::JobFails(failure);
        }
    }
    outcomes
}

/// Returns the budgets that select an evicted pod, in the snapshot's order.
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
    // Pods share few label sets: each is compared once.
    let selected: Vec<bool> = snapshot.label_sets().iter().map(|labels| budget.selects(labels)).collect();
    let is_meant =
        |pod: &SnapshotPod| selected[pod.labels as usize] && *pod.name.namespace() == *budget.namespace;
    let pods = leavers.iter().map(|evicted_pod| (pod(snapshot, evicted_pod), evicted_pod.evicted));
    let meant: Vec<(&SnapshotPod, bool)> = pods.filter(|(pod, _)| is_meant(pod)).collect();
    if meant.is_empty() {
        return None;
    }
    let all = snapshot.pods().iter().filter(|pod| pod.life_phase == PodLifePhase::Live && is_meant(pod));
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
