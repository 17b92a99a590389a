//! Computes what would happen if nodes of a [`ClusterSnapshot`] changed: which pods leave, when, and where they could
//! go.
//!
//! - Invariant: every decision is the controller's own (`verdict.rs`), with the taint starts that it would use.
//! - See `taint_edit.rs` for the grammar of changes.

mod impact;
mod judge;
mod placement;
#[cfg(test)]
mod tests;

pub use impact::{BudgetImpact, WorkloadImpact};
pub use placement::{PlacedPod, Placement};

use crate::cluster_snapshot::ClusterSnapshot;
use crate::taint::{Taint, TaintEffect};
use crate::taint_start::{TaintStart, TaintStartSource};
use crate::time::Mono;
use crate::verdict::{Outcome, StayReason, TaintInstance};
use alloc::vec::Vec;

/// How a node would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedNodeChange {
    /// Its position in the snapshot.
    pub node: usize,
    /// Its taints, all of them.
    pub taints: Vec<PlannedTaint>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// Its pods are evicted one by one, as `kubectl drain` does, which asks disruption budgets; those of DaemonSets are left.
    pub drained: bool,
}

impl PlannedNodeChange {
    /// The instances that a node would have: those that go on keep their start, others begin when they come.
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

/// A taint that a node would have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTaint {
    /// The taint.
    pub taint: Taint,
    /// When it comes; of no account for one that is there already.
    pub from: Mono,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForecastOptions<'q> {
    /// Who goes later than this is not counted as going.
    pub until: Mono,
    /// How many of those that leave are given a place, at most.
    pub places_max: usize,
    /// Of each pod of the snapshot, whether it is asked about; empty: all are. The others leave all the same, and make room
    /// and take it; they are only not told.
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
    /// What happens if nothing is changed.
    pub before: Outcome,
    /// What happens then.
    pub after: Outcome,
    /// The taint that decides, among [`NodeForecast::after`]; `None` for one that leaves: a drain evicts it.
    pub decisive: Option<u32>,
}

/// When somebody leaves, if he does.
pub const fn leaves_at(outcome: Outcome) -> Option<Mono> {
    match outcome {
        Outcome::Stays(_) => None,
        Outcome::StaysUntil(at) | Outcome::Leaves { due: at } => Some(at),
    }
}

impl PodForecast {
    /// When it leaves.
    pub const fn at(&self) -> Option<Mono> {
        leaves_at(self.after)
    }

    /// Whether a drain sends it away, and no taint.
    pub const fn is_evicted(&self) -> bool {
        self.decisive.is_none() && self.at().is_some()
    }

    /// Whether it would leave at the same moment or earlier if nothing were changed.
    pub fn leaves_anyway(&self) -> bool {
        leaves_at(self.before).is_some_and(|before| self.at().is_some_and(|after| before <= after))
    }

    /// Whether it leaves if nothing is changed, and stays then.
    pub fn is_spared(&self) -> bool {
        leaves_at(self.before).is_some() && self.at().is_none()
    }
}

/// What happens on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeForecast {
    /// Its position in the snapshot.
    pub node: usize,
    /// Its NoExecute taints if nothing is changed.
    pub before: Vec<TaintInstance>,
    /// Those it would have.
    pub after: Vec<TaintInstance>,
    /// It is drained.
    pub drained: bool,
    /// All its pods.
    pub pods: Vec<PodForecast>,
}

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForecastTotals {
    /// Pods that are due by the moment of the snapshot, or of the question if that is later.
    pub going: usize,
    /// Pods that go after that.
    pub later: usize,
    /// Pods that tolerate every taint for ever, or have none to tolerate.
    pub staying: usize,
    /// Pods that are over, going already, or static (D6).
    pub exempt: usize,
    /// Pods with a toleration that is not understood, which nobody evicts (D11).
    pub not_understood: usize,
    /// Pods that would go if nothing were changed, and stay then.
    pub spared: usize,
    /// Of those that go, those that would go as early if nothing were changed.
    pub anyway: usize,
}

/// What would happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// Up to when pods count as gone: the question's moment, or the snapshot's.
    pub moment: Mono,
    /// The nodes that are changed; without a change, those with a NoExecute taint.
    pub nodes: Vec<NodeForecast>,
    /// All of them together.
    pub totals: ForecastTotals,
    /// What it does to those who made the pods; hardest hit first.
    pub workloads: Vec<WorkloadImpact>,
    /// What it does to disruption budgets that mean a pod that goes.
    pub budgets: Vec<BudgetImpact>,
    /// Where those that go could go, in the order in which they go.
    pub placements: Vec<PlacedPod>,
    /// Pods that go and were given no place because they are too many.
    pub unplaced: usize,
}

/// A pod that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EvictedPod {
    /// When.
    at: Mono,
    /// Its position.
    pod: u32,
    /// A drain evicts it, which asks disruption budgets.
    evicted: bool,
}

/// What would happen if nodes were changed; of no change, what will happen anyway.
pub fn forecast(
    snapshot: &ClusterSnapshot,
    changes: &[PlannedNodeChange],
    question: ForecastOptions<'_>,
) -> Forecast {
    let moment = if question.until == Mono::NEVER { snapshot.now().mono } else { question.until };
    let mut nodes = judge::nodes(snapshot, changes);
    let mut leavers = leavers(&nodes, question.until);
    let mut budgets = impact::budgets(snapshot, &leavers);
    let (mut placements, mut homeless) =
        placement::placements(snapshot, changes, &leavers, question.places_max);
    if !question.about.is_empty() {
        nodes
            .iter_mut()
            .for_each(|node| node.pods.retain(|pod_forecast| question.is_about(pod_forecast.pod)));
        leavers.retain(|evicted_pod| question.is_about(evicted_pod.pod));
        let theirs = impact::budgets(snapshot, &leavers);
        budgets.retain(|impact| theirs.iter().any(|hit| hit.budget == impact.budget));
        placements.retain(|placement| question.is_about(placement.pod));
        homeless = leavers.len() - placements.len();
    }
    let mut totals = ForecastTotals::default();
    nodes.iter().flat_map(|node| &node.pods).for_each(|pod_forecast| totals.count(pod_forecast, moment));
    let workloads = impact::workloads(snapshot, &leavers, moment);
    Forecast { moment, nodes, totals, workloads, budgets, placements, unplaced: homeless }
}

/// Who leaves up to this moment, in no order.
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
