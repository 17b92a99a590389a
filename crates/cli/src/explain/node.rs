//! Explains a node: each taint with meaning, start, author and note, and the effect on its pods.

mod node_object;
mod node_text;

use super::taint_description::{ShownMeanings, TaintDescription};
use super::target::TargetKind;
use super::{ExplainContext, Explanation, ExplanationResult, not_found};
use crate::cluster_state::details::{ConditionDetails, NodeDetails};
use crate::output::PrintOptions;
use crate::past_eviction::PastEviction;
use serde_json::Value;
use taintward_core::cluster_snapshot::{ClusterSnapshot, SnapshotNode};
use taintward_core::forecast::{
    Forecast, ForecastOptions, NodeForecast, PlannedNodeChange, PlannedTaint, PodForecast, forecast,
};
use taintward_core::taint::Taint;
use taintward_core::taint_start::taint_start_for_display;
use taintward_core::time::{Mono, Now};
use taintward_core::verdict::{EvictionExemption, Outcome, StayReason};

/// A node and its explanation.
struct NodeExplanation<'s> {
    context: &'s ExplainContext,
    at: usize,
    details: Option<&'s NodeDetails>,
    forecast: Forecast,
}

/// The explanation of the node of that name.
pub(super) fn explain<'s>(context: &'s ExplainContext, name: &str) -> ExplanationResult<'s> {
    match context.snapshot().node_at(name) {
        Some(at) => Ok(Box::new(NodeExplanation::of(context, at))),
        None if context.controllers.is_some() && !context.related.absent.contains(name) => {
            Err(format!("cannot explain node {name}, because it could not be read; fix the errors above"))
        }
        None => Err(not_found::describe(context, TargetKind::Node, name)),
    }
}

impl Explanation for NodeExplanation<'_> {
    fn name(&self) -> String {
        format!("node/{}", self.node_name())
    }

    fn text(&self, view: &PrintOptions, shown: &mut ShownMeanings, text: &mut String) {
        node_text::text(self, view, shown, text);
    }

    fn object(&self) -> Value {
        node_object::object(self)
    }
}

impl<'s> NodeExplanation<'s> {
    fn of(context: &'s ExplainContext, at: usize) -> Self {
        let snapshot = context.snapshot();
        let node = &snapshot.nodes()[at];
        let details = context.related.details.nodes.get(node.fact.name.as_str());
        // As it is now: existing taints keep their start.
        let now = snapshot.now().mono;
        let planned = |taint: &Taint| PlannedTaint { taint: taint.clone(), from: now };
        let taints = node.fact.taints.iter().map(planned).collect();
        let unschedulable = node.unschedulable;
        let unchanged = PlannedNodeChange { node: at, taints, unschedulable, drained: false };
        let question = ForecastOptions { until: Mono::NEVER, places_max: 0, about: &[] };
        Self { context, at, details, forecast: forecast(snapshot, &[unchanged], question) }
    }

    fn snapshot(&self) -> &'s ClusterSnapshot {
        self.context.snapshot()
    }

    fn now(&self) -> Now {
        self.snapshot().now()
    }

    fn node(&self) -> &'s SnapshotNode {
        &self.snapshot().nodes()[self.at]
    }

    fn node_name(&self) -> &'s str {
        self.node().fact.name.as_str()
    }

    fn taints(&self) -> Vec<TaintDescription<'s>> {
        let fact = &self.node().fact;
        let one = |taint: &'s Taint| {
            let start = taint_start_for_display(taint, fact, self.now());
            TaintDescription::of(self.context, self.node_name(), taint, start)
        };
        fact.taints.iter().map(one).collect()
    }

    /// The forecast of its pods.
    fn fates(&self) -> &NodeForecast {
        self.forecast.nodes.first().expect("a forecast has the nodes that it is asked about")
    }

    /// Pods with a deadline, the first one first.
    fn leaving(&self) -> Vec<(&PodForecast, Mono)> {
        let mut leaving: Vec<(&PodForecast, Mono)> =
            self.fates().pods.iter().filter_map(|fate| Some((fate, fate.at()?))).collect();
        leaving.sort_by_key(|(_, at)| *at);
        leaving
    }

    /// Pods that have been deleted but still exist.
    fn deleted(&self) -> Vec<String> {
        let gone = Outcome::Stays(StayReason::Exempt(EvictionExemption::Terminating));
        let going = self.fates().pods.iter().filter(|fate| fate.after == gone);
        going.map(|fate| self.snapshot().pods()[fate.pod as usize].name.as_str().to_owned()).collect()
    }

    /// The number of pods whose countdowns are paused.
    fn held(&self) -> usize {
        let is_held = |fate: &&PodForecast| fate.after == Outcome::Stays(StayReason::OnHold);
        self.fates().pods.iter().filter(is_held).count()
    }

    /// The pods that were evicted from it, the newest last.
    fn past_evictions(&self) -> Vec<PastEviction<'s>> {
        let mut past = self.context.past_evictions();
        past.retain(|eviction| eviction.node() == Some(self.node_name()));
        past
    }

    /// Conditions that report a problem.
    fn ailments(&self) -> Vec<&'s ConditionDetails> {
        let is_wrong = |condition: &&ConditionDetails| match condition.kind.as_str() {
            "Ready" => condition.status != "True",
            _ => condition.status != "False",
        };
        self.details.into_iter().flat_map(|details| &details.conditions).filter(is_wrong).collect()
    }
}
