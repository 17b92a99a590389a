//! Collects a plan: pods that leave, reasons of those that stay, and what was not considered.

use crate::cluster_state::ClusterState;
use crate::messages;
use std::collections::BTreeMap;
use taintward_core::cluster_snapshot::{ClusterSnapshot, RecreationPolicy, SnapshotPod};
use taintward_core::forecast::{Forecast, NodeForecast, PlacedPod, Placement, PodForecast, WorkloadImpact};
use taintward_core::taint_start::TaintStartSource;
use taintward_core::time::Mono;

/// A plan.
pub(super) struct PlanReport<'p> {
    pub(super) survey: &'p ClusterState,
    pub(super) forecast: &'p Forecast,
    /// What was done to nodes, a sentence each.
    pub(super) told: &'p [String],
    /// [`Mono::NEVER`] where no moment was named.
    pub(super) until: Mono,
    /// How many rows of a table people see at most, 0 for all; `None` where they did not say.
    pub(super) limit: Option<usize>,
}

/// A pod that leaves.
#[derive(Clone, Copy)]
pub(super) struct PlanRow<'p> {
    pub(super) node: &'p NodeForecast,
    pub(super) fate: &'p PodForecast,
    pub(super) at: Mono,
}

impl PlanRow<'_> {
    /// Whether it may leave earlier than told: nothing says since when the taint is there, only until when it was not, so
    /// that a controller that saw it come counts from earlier (D1).
    pub(super) fn is_at_the_latest(&self, now: Mono) -> bool {
        let decisive = self.fate.decisive.and_then(|at| self.node.after.get(at as usize));
        let source = decisive.map(|instance| instance.start.source);
        self.at > now
            && matches!(source, Some(TaintStartSource::ManagedFields | TaintStartSource::FirstSight))
    }
}

impl<'p> PlanReport<'p> {
    pub(super) fn snapshot(&self) -> &'p ClusterSnapshot {
        &self.survey.snapshot
    }

    pub(super) fn pod(&self, row: &PlanRow<'_>) -> &'p SnapshotPod {
        &self.snapshot().pods()[row.fate.pod as usize]
    }

    pub(super) fn node_name(&self, node: usize) -> &'p str {
        self.snapshot().nodes()[node].fact.name.as_str()
    }

    /// Who leaves, who is first first; of those that leave together, by node and name.
    pub(super) fn rows(&self) -> Vec<PlanRow<'p>> {
        let of_node = |node: &'p NodeForecast| {
            node.pods.iter().filter_map(move |fate| Some(PlanRow { node, fate, at: fate.at()? }))
        };
        let mut rows: Vec<PlanRow<'_>> = self.forecast.nodes.iter().flat_map(of_node).collect();
        // Within a node they are in the order of names.
        rows.sort_by_key(|row| row.at.max(self.snapshot().now().mono));
        rows
    }

    /// Why a pod leaves.
    pub(super) fn why(&self, row: &PlanRow<'_>) -> String {
        messages::leaves(self.snapshot(), row.node, row.fate)
    }

    /// Where pods that leave could go, by pod.
    pub(super) fn homes(&self) -> BTreeMap<u32, &'p PlacedPod> {
        self.forecast.placements.iter().map(|home| (home.pod, home)).collect()
    }

    /// How many pods of a workload leave and find no place.
    pub(super) fn nowhere(&self, workload: u32) -> usize {
        let is_one = |home: &&PlacedPod| {
            let pod = &self.snapshot().pods()[home.pod as usize];
            pod.workload == workload && matches!(home.place, Placement::Nowhere(_))
        };
        self.forecast.placements.iter().filter(is_one).count()
    }

    /// Why the others on a node stay, and how many for each reason; most first.
    pub(super) fn stays(&self, node: &NodeForecast) -> Vec<(String, usize)> {
        messages::stays(self.snapshot(), node)
    }

    /// Pods that leave and are not made again.
    pub(super) fn lost_for_good(&self) -> u32 {
        let is_lost = |impact: &&WorkloadImpact| {
            self.snapshot().workloads()[impact.workload as usize].kind.returns() == RecreationPolicy::Never
        };
        self.forecast.workloads.iter().filter(is_lost).map(|impact| impact.going + impact.later).sum()
    }

    /// Of these, those that a drain evicts, which kubectl wants to be forced to.
    pub(super) fn lost_in_a_drain(&self) -> usize {
        let is_one = |row: &&PlanRow<'_>| {
            let workload = self.pod(row).workload;
            row.fate.is_evicted()
                && self.snapshot().workloads()[workload as usize].kind.returns() == RecreationPolicy::Never
        };
        self.rows().iter().filter(is_one).count()
    }

    /// Pods that may leave earlier than told.
    pub(super) fn at_the_latest(&self) -> usize {
        let now = self.snapshot().now().mono;
        self.rows().iter().filter(|row| row.is_at_the_latest(now)).count()
    }

    /// Pods that leave and have rules that are not looked at.
    pub(super) fn beyond(&self) -> usize {
        let beyond = |home: &&PlacedPod| {
            let pod = &self.snapshot().pods()[home.pod as usize];
            self.snapshot().shape(pod).beyond
        };
        self.forecast.placements.iter().filter(beyond).count()
    }
}
