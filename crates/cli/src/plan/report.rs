//! Collects a plan: pods that are evicted, reasons of those that stay, and limits of the forecast.
//!
//! - See `report/human.rs` and `report/object.rs` for its two outputs, `report/preview_text.rs` for the short one,
//!   `report/job_outcome.rs` for Jobs.

mod delay_text;
mod delays;
mod human;
mod job_outcome;
mod object;
mod paragraphs;
mod preview_text;

use super::eviction_schedule::{EvictionSchedule, PodDeparture};
use super::plan_args::PlanFailOn;
use crate::cluster_state::ClusterState;
use crate::messages;
use crate::output::{PrintOptions, Printable};
use serde_json::Value;
use std::collections::BTreeMap;
use taintward_core::cluster_snapshot::{ClusterSnapshot, RecreationPolicy, SnapshotPod};
use taintward_core::forecast::{
    BudgetImpact, Forecast, ForecastTotals, NodeForecast, PlacedPod, Placement, PodForecast, WorkloadImpact,
};
use taintward_core::taint_start::TaintStartSource;
use taintward_core::time::Mono;

/// A plan.
pub(super) struct PlanReport<'p> {
    state: &'p ClusterState,
    forecast: &'p Forecast,
    /// A sentence for each edit of nodes.
    descriptions: &'p [String],
    /// [`Mono::NEVER`] if no time is given.
    until: Mono,
    /// The largest number of table rows for people, 0 for all; `None` if it is not given.
    limit: Option<usize>,
    /// `None`: every pod leaves when it is due.
    schedule: Option<&'p EvictionSchedule>,
}

/// A pod that is evicted.
#[derive(Clone, Copy)]
struct PlanRow<'p> {
    node: &'p NodeForecast,
    fate: &'p PodForecast,
    at: Mono,
}

/// What follows for the evicted pods of a workload.
struct WorkloadOutcome {
    text: String,
    /// Some of them are not recreated.
    is_lost: bool,
}

impl WorkloadOutcome {
    /// The outcome, if so many of its evicted pods are unschedulable.
    fn with_unschedulable(&self, nowhere: usize, leaving: usize) -> String {
        let Self { text, is_lost } = self;
        match nowhere {
            0 => text.clone(),
            _ if *is_lost => format!("{text}; {nowhere} of {leaving} unschedulable"),
            _ if nowhere == leaving => format!("{text}, but unschedulable"),
            _ => format!("{text}, but {nowhere} of {leaving} unschedulable"),
        }
    }
}

impl PlanRow<'_> {
    /// Whether the pod may be evicted earlier than shown: only the latest possible start of the taint is known, and a
    /// controller that observed it appear counts from an earlier one (D1).
    fn is_at_the_latest(&self, now: Mono) -> bool {
        let decisive = self.fate.decisive.and_then(|at| self.node.after.get(at as usize));
        let source = decisive.map(|instance| instance.start.source);
        self.at > now
            && matches!(source, Some(TaintStartSource::ManagedFields | TaintStartSource::FirstSight))
    }
}

impl<'p> PlanReport<'p> {
    pub(super) const fn new(
        state: &'p ClusterState,
        forecast: &'p Forecast,
        descriptions: &'p [String],
        until: Mono,
        limit: Option<usize>,
        schedule: Option<&'p EvictionSchedule>,
    ) -> Self {
        Self { state, forecast, descriptions, until, limit, schedule }
    }

    /// Whether it has the outcome that `--fail-on` names.
    pub(super) fn has(&self, fail_on: PlanFailOn) -> bool {
        let forecast = self.forecast;
        match fail_on {
            PlanFailOn::Evicted => forecast.totals.going + forecast.totals.later > 0,
            PlanFailOn::Budget => {
                forecast.budgets.iter().any(|impact| self.violates(impact) || impact.blocked() > 0)
            }
            PlanFailOn::Unschedulable => {
                let is_nowhere = |home: &PlacedPod| matches!(home.place, Placement::Nowhere(_));
                !forecast.closed.is_empty() || forecast.placements.iter().any(is_nowhere)
            }
            PlanFailOn::NotRecreated => self.not_recreated() > 0,
            PlanFailOn::Never => false,
        }
    }

    /// A short text about it, at most `width` columns wide.
    pub(super) fn preview(&self, width: usize) -> String {
        preview_text::preview(self, width)
    }

    fn snapshot(&self) -> &'p ClusterSnapshot {
        &self.state.snapshot
    }

    fn pod(&self, row: &PlanRow<'_>) -> &'p SnapshotPod {
        &self.snapshot().pods()[row.fate.pod as usize]
    }

    /// How a pod leaves, if a policy governs it or the brake delays it. A drain is subject to neither.
    fn departure(&self, row: &PlanRow<'p>) -> Option<&'p PodDeparture> {
        let schedule = self.schedule.filter(|_| !row.fate.is_evicted())?;
        schedule.departure(&self.pod(row).uid, self.due(row))
    }

    /// Whether evictions violate the budget: those that respect no budget, or that are forced.
    fn violates(&self, impact: &BudgetImpact) -> bool {
        let budget = &self.snapshot().budgets()[impact.budget];
        let violates = |row: &PlanRow<'p>| {
            let respects = self.departure(row).is_some_and(|one| one.respects_budgets && !one.is_forced);
            let pod = self.pod(row);
            !row.fate.is_evicted()
                && !respects
                && *pod.name.namespace() == *budget.namespace
                && budget.selects(&self.snapshot().label_sets()[pod.labels as usize])
        };
        impact.is_broken() && (self.schedule.is_none() || self.evicted().any(|row| violates(&row)))
    }

    /// When a pod is due, or now if it was due before.
    fn due(&self, row: &PlanRow<'p>) -> Mono {
        row.at.max(self.snapshot().now().mono)
    }

    /// The end of the prediction of delays.
    fn horizon(&self) -> Mono {
        self.schedule.map_or(Mono::NEVER, |schedule| schedule.horizon)
    }

    fn node_name(&self, node: usize) -> &'p str {
        self.snapshot().nodes()[node].fact.name.as_str()
    }

    /// The pods that are evicted, in no particular order.
    fn evicted(&self) -> impl Iterator<Item = PlanRow<'p>> {
        let of_node = |node: &'p NodeForecast| {
            node.pods.iter().filter_map(move |fate| Some(PlanRow { node, fate, at: fate.at()? }))
        };
        self.forecast.nodes.iter().flat_map(of_node)
    }

    /// The pods that are evicted, the next one first; at the same time by node and name.
    fn rows(&self) -> Vec<PlanRow<'p>> {
        let mut rows: Vec<PlanRow<'_>> = self.evicted().collect();
        // Within a node they are sorted by name.
        rows.sort_by_key(|row| row.at.max(self.snapshot().now().mono));
        rows
    }

    /// A time, for people.
    fn moment(&self, at: Mono) -> String {
        messages::moment(self.snapshot().now(), at)
    }

    /// The numbers of pods that are evicted and that stay.
    fn summary(&self) -> String {
        let ForecastTotals { going, later, staying, exempt, not_understood, spared, anyway } =
            self.forecast.totals;
        let nodes = match self.forecast.nodes.len() {
            0 => return "No pod is evicted: no node has a NoExecute taint.".to_owned(),
            1 => "1 node".to_owned(),
            many => format!("{many} nodes"),
        };
        let mut parts = match (going, later) {
            (0, 0) => vec!["No pod is evicted".to_owned()],
            (0, later) => vec![format!("No pod {}", self.by(1)), format!("{} later", pods(later))],
            (going, 0) => vec![format!("{} {}", pods(going), self.by(going))],
            (going, later) => vec![format!("{} {}", pods(going), self.by(going)), format!("{later} later")],
        };
        for (count, what) in [
            (staying, if staying == 1 { "stays" } else { "stay" }),
            (exempt, "skipped"),
            (not_understood, "not evicted because of an unsupported toleration"),
            (spared, "no longer evicted"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        let anyway = match anyway {
            // Without a change, there is no other case.
            0 => String::new(),
            _ if self.descriptions.is_empty() => String::new(),
            count => format!(" {count} of the evicted pods would be evicted without the change too."),
        };
        format!("{} ({nodes}).{anyway}", parts.join(", "))
    }

    fn by(&self, count: usize) -> String {
        match self.until {
            Mono::NEVER if count == 1 => "is evicted now".to_owned(),
            Mono::NEVER => "are evicted now".to_owned(),
            until => format!("will have been evicted by {}", self.moment(until)),
        }
    }

    /// Why a pod is evicted.
    fn why(&self, row: &PlanRow<'_>) -> String {
        messages::leaves(self.snapshot(), row.node, row.fate)
    }

    /// The next nodes of evicted pods, by pod.
    fn homes(&self) -> BTreeMap<u32, &'p PlacedPod> {
        self.forecast.placements.iter().map(|home| (home.pod, home)).collect()
    }

    /// The number of evicted pods of a workload that fit no node.
    fn unschedulable(&self, workload: u32) -> usize {
        let is_one = |home: &&PlacedPod| {
            let pod = &self.snapshot().pods()[home.pod as usize];
            pod.workload == workload && matches!(home.place, Placement::Nowhere(_))
        };
        self.forecast.placements.iter().filter(is_one).count()
    }

    /// Why the other pods of a node stay, with the number for each reason; most first.
    fn stays(&self, node: &NodeForecast) -> Vec<(String, usize)> {
        messages::stays(self.snapshot(), node)
    }

    /// Pods that are evicted and not recreated.
    fn not_recreated(&self) -> usize {
        let is_lost = |row: &&PlanRow<'_>| {
            row.at <= self.until
                && self.forecast.recreation(self.snapshot(), row.fate.pod) == RecreationPolicy::Never
        };
        self.rows().iter().filter(is_lost).count()
    }

    /// The workloads that lose pods, each with what follows for these.
    fn outcomes(&self) -> Vec<(&'p WorkloadImpact, WorkloadOutcome)> {
        let mut of_jobs = job_outcome::all(self.snapshot(), self.forecast);
        let outcome = |impact: &'p WorkloadImpact| {
            let returns = self.snapshot().workloads()[impact.workload as usize].kind.returns();
            let of_kind = || WorkloadOutcome {
                text: messages::returns(returns).to_owned(),
                is_lost: returns == RecreationPolicy::Never,
            };
            (impact, of_jobs.remove(&impact.workload).unwrap_or_else(of_kind))
        };
        self.forecast.workloads.iter().map(outcome).collect()
    }

    /// Those of them that a drain evicts, for which kubectl requires --force.
    fn lost_in_a_drain(&self) -> usize {
        let is_one = |row: &&PlanRow<'_>| {
            let workload = self.pod(row).workload;
            row.fate.is_evicted()
                && self.snapshot().workloads()[workload as usize].kind.returns() == RecreationPolicy::Never
        };
        self.rows().iter().filter(is_one).count()
    }

    /// Pods that may be evicted earlier than shown.
    fn at_the_latest(&self) -> usize {
        let now = self.snapshot().now().mono;
        self.rows().iter().filter(|row| row.is_at_the_latest(now)).count()
    }

    /// Evicted pods with rules that the forecast does not evaluate.
    fn beyond(&self) -> usize {
        let beyond = |home: &&PlacedPod| {
            let pod = &self.snapshot().pods()[home.pod as usize];
            self.snapshot().shape(pod).beyond
        };
        self.forecast.placements.iter().filter(beyond).count()
    }
}

fn pods(count: usize) -> String {
    if count == 1 { "1 pod".to_owned() } else { format!("{count} pods") }
}

impl Printable for PlanReport<'_> {
    fn object(&self) -> Value {
        object::plan(self)
    }

    fn names(&self) -> Vec<String> {
        self.rows().iter().map(|row| format!("pod/{}", self.pod(row).name.name())).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        human::plan(self, view)
    }
}
