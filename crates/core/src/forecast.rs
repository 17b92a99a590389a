//! Computes what would happen if nodes of a [`ClusterSnapshot`] changed: which pods are evicted, when, and where they
//! could go.
//!
//! - Invariant: every decision is the controller's own (`verdict.rs`), with the taint starts that it would use.
//! - See `taint_edit.rs` for the grammar of changes.

mod closed_workloads;
mod impact;
mod judge;
mod placement;
#[cfg(test)]
mod tests;

pub use impact::{BudgetImpact, WorkloadImpact};
pub use placement::{PlacedPod, Placement, evicted_after_binding};

use crate::cluster_snapshot::{ClusterSnapshot, JobPodOutcome, RecreationPolicy};
use crate::taint::{Taint, TaintEffect};
use crate::taint_start::{TaintStart, TaintStartSource};
use crate::time::Mono;
use crate::verdict::{Outcome, StayReason, TaintInstance};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The planned state of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedNodeChange {
    /// Its position in the snapshot.
    pub node: usize,
    /// Its taints, all of them.
    pub taints: Vec<PlannedTaint>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// Its pods are evicted one by one, as `kubectl drain` does, subject to disruption budgets; those of DaemonSets
    /// stay.
    pub drained: bool,
}

impl PlannedNodeChange {
    /// Returns the planned instances: those that continue keep their start, others start when they are added.
    fn instances(&self, before: &[TaintInstance]) -> Vec<TaintInstance> {
        let evicting = self.taints.iter().filter(|planned| planned.taint.effect == TaintEffect::NoExecute);
        let instance = |PlannedTaint { taint, from }: &PlannedTaint| {
            let known = before.iter().find(|instance| instance.taint.is_same(taint));
            let new = TaintStart { at: *from, source: TaintStartSource::SeenLive, clamped: false };
            TaintInstance { taint: taint.clone(), start: known.map_or(new, |known| known.start) }
        };
        evicting.map(instance).collect()
    }
}

/// A taint of the planned state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTaint {
    /// The taint.
    pub taint: Taint,
    /// When it is added; ignored for a taint that exists already.
    pub from: Mono,
}

/// The options of a forecast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForecastOptions<'q> {
    /// Pods that are evicted later than this do not count as evicted.
    pub until: Mono,
    /// At most this many evicted pods are placed.
    pub places_max: usize,
    /// For each pod of the snapshot, whether it is reported; empty: all are. The others are evicted anyway, and free
    /// and use resources; they are only not reported.
    pub about: &'q [bool],
}

impl ForecastOptions<'_> {
    fn is_about(&self, pod: u32) -> bool {
        self.about.is_empty() || self.about.get(pod as usize) == Some(&true)
    }
}

/// What happens to one pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodForecast {
    /// Its position in the snapshot.
    pub pod: u32,
    /// The outcome without the change.
    pub before: Outcome,
    /// The outcome with the change.
    pub after: Outcome,
    /// The taint that decides, among [`NodeForecast::after`]; `None` for a pod that is evicted: the drain evicts it.
    pub decisive: Option<u32>,
}

/// Returns when the pod is evicted, if it is.
pub const fn leaves_at(outcome: Outcome) -> Option<Mono> {
    match outcome {
        Outcome::Stays(_) => None,
        Outcome::StaysUntil(at) | Outcome::Leaves { due: at } => Some(at),
    }
}

impl PodForecast {
    /// When it is evicted.
    pub const fn at(&self) -> Option<Mono> {
        leaves_at(self.after)
    }

    /// Whether a drain evicts it, not a taint.
    pub const fn is_evicted(&self) -> bool {
        self.decisive.is_none() && self.at().is_some()
    }

    /// Whether it would be evicted at the same moment or earlier without the change.
    pub fn leaves_anyway(&self) -> bool {
        leaves_at(self.before).is_some_and(|before| self.at().is_some_and(|after| before <= after))
    }

    /// Whether it is evicted without the change, and stays with it.
    pub fn is_spared(&self) -> bool {
        leaves_at(self.before).is_some() && self.at().is_none()
    }
}

/// What happens on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeForecast {
    /// Its position in the snapshot.
    pub node: usize,
    /// Its NoExecute taints without the change.
    pub before: Vec<TaintInstance>,
    /// Its NoExecute taints with the change.
    pub after: Vec<TaintInstance>,
    /// It is drained.
    pub drained: bool,
    /// All its pods.
    pub pods: Vec<PodForecast>,
}

/// Counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForecastTotals {
    /// Pods that are due by the forecast's moment: that of the snapshot, or of the options if that is later.
    pub going: usize,
    /// Pods that are evicted after that.
    pub later: usize,
    /// Pods that tolerate every taint indefinitely, or whose node has none.
    pub staying: usize,
    /// Pods that have terminated, are terminating, or are static (D6).
    pub exempt: usize,
    /// Pods with a toleration that is not understood; they are not evicted (D11).
    pub not_understood: usize,
    /// Pods that would be evicted without the change, and stay with it.
    pub spared: usize,
    /// Of the evicted pods, those that would be evicted as early without the change.
    pub anyway: usize,
}

/// The forecast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// Up to when pods count as evicted: the moment of the options, or of the snapshot.
    pub moment: Mono,
    /// The changed nodes; without a change, those with a NoExecute taint.
    pub nodes: Vec<NodeForecast>,
    /// The totals.
    pub totals: ForecastTotals,
    /// The impact on workloads; most affected first.
    pub workloads: Vec<WorkloadImpact>,
    /// The impact on disruption budgets that select an evicted pod.
    pub budgets: Vec<BudgetImpact>,
    /// Where evicted pods could go, in the order of their evictions.
    pub placements: Vec<PlacedPod>,
    /// Evicted pods that were not placed because there are too many.
    pub unplaced: usize,
    /// Workloads with pods on the changed nodes that no node would accept any more, except those with an evicted pod
    /// that is placed nowhere.
    pub closed: Vec<u32>,
    /// What follows for evicted pods of Jobs that the snapshot has, by the pods' positions.
    pub jobs: BTreeMap<u32, JobPodOutcome>,
}

impl Forecast {
    /// Whether an evicted pod is recreated, if that is known.
    pub fn recreation(&self, snapshot: &ClusterSnapshot, pod: u32) -> RecreationPolicy {
        match self.jobs.get(&pod) {
            Some(outcome) if !outcome.is_recreated() => RecreationPolicy::Never,
            _ => snapshot.workloads()[snapshot.pods()[pod as usize].workload as usize].kind.returns(),
        }
    }
}

/// An evicted pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EvictedPod {
    /// When.
    at: Mono,
    /// Its position.
    pod: u32,
    /// A drain evicts it, subject to disruption budgets.
    evicted: bool,
}

/// Computes what would happen if nodes changed; without changes, what will happen anyway.
pub fn forecast(
    snapshot: &ClusterSnapshot,
    changes: &[PlannedNodeChange],
    question: ForecastOptions<'_>,
) -> Forecast {
    let moment = if question.until == Mono::NEVER { snapshot.now().mono } else { question.until };
    let mut nodes = judge::nodes(snapshot, changes);
    let mut leavers = leavers(&nodes, question.until);
    let mut budgets = impact::budgets(snapshot, &leavers);
    let mut jobs = impact::jobs(snapshot, &leavers);
    let (mut placements, mut homeless) =
        placement::placements(snapshot, changes, &leavers, &jobs, question.places_max);
    if !question.about.is_empty() {
        nodes
            .iter_mut()
            .for_each(|node| node.pods.retain(|pod_forecast| question.is_about(pod_forecast.pod)));
        leavers.retain(|evicted_pod| question.is_about(evicted_pod.pod));
        let theirs = impact::budgets(snapshot, &leavers);
        budgets.retain(|impact| theirs.iter().any(|hit| hit.budget == impact.budget));
        placements.retain(|placement| question.is_about(placement.pod));
        jobs.retain(|pod, _| question.is_about(*pod));
        homeless = leavers.len() - placements.len();
    }
    let has_future = |pod: u32| jobs.get(&pod).is_none_or(JobPodOutcome::is_recreated);
    let mut closed =
        closed_workloads::closed(snapshot, changes, |pod| question.is_about(pod) && has_future(pod));
    closed.retain(|workload| {
        let is_nowhere = |placed: &PlacedPod| {
            matches!(placed.place, Placement::Nowhere(_))
                && snapshot.pods()[placed.pod as usize].workload == *workload
        };
        !placements.iter().any(is_nowhere)
    });
    let mut totals = ForecastTotals::default();
    nodes.iter().flat_map(|node| &node.pods).for_each(|pod_forecast| totals.count(pod_forecast, moment));
    let workloads = impact::workloads(snapshot, &leavers, moment);
    Forecast { moment, nodes, totals, workloads, budgets, placements, unplaced: homeless, closed, jobs }
}

/// Returns the pods that are evicted up to this moment, unordered.
fn leavers(nodes: &[NodeForecast], until: Mono) -> Vec<EvictedPod> {
    let evicted_pod = |pod_forecast: &PodForecast| {
        let at = pod_forecast.at().filter(|at| *at <= until)?;
        Some(EvictedPod { at, pod: pod_forecast.pod, evicted: pod_forecast.is_evicted() })
    };
    nodes.iter().flat_map(|node| node.pods.iter().filter_map(evicted_pod)).collect()
}

impl ForecastTotals {
    fn count(&mut self, pod_forecast: &PodForecast, moment: Mono) {
        self.spared += usize::from(pod_forecast.is_spared());
        let number = match pod_forecast.after {
            Outcome::Stays(StayReason::Exempt(_)) => &mut self.exempt,
            Outcome::Stays(StayReason::UnsupportedToleration) => &mut self.not_understood,
            Outcome::Stays(StayReason::NoTaint | StayReason::Tolerated | StayReason::OnHold) => {
                &mut self.staying
            }
            Outcome::Leaves { due } | Outcome::StaysUntil(due) => {
                self.anyway += usize::from(pod_forecast.leaves_anyway());
                if due <= moment { &mut self.going } else { &mut self.later }
            }
        };
        *number += 1;
    }
}
