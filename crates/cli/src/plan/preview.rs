//! Formats a short plan that `taintward taint` shows before a NoExecute taint evicts pods.
//!
//! - Invariant: it never fails; what cannot be read is reported, and `taint` still prompts for confirmation.

use super::eviction_schedule::{EvictionPlan, EvictionSchedule};
use super::node_edits::{self, NodeEdit, NodeSet};
use super::report::PlanReport;
use crate::args::kube_args::ClusterOptions;
use crate::cluster_state;
use crate::messages;
use crate::output::{harmless, wrap};
use taintward_core::eviction_policy::BudgetRespect;
use taintward_core::forecast::{ForecastOptions, forecast};
use taintward_core::node_lifecycle;
use taintward_core::taint::Taint;
use taintward_core::taint_edit::TaintEdit;
use taintward_core::time::Mono;

/// The width of the lines: standard error may be another terminal than standard output, or none.
const WIDTH: usize = 80;

/// The pods that would be evicted if these nodes got these taints, and whether budgets count for that.
pub(crate) fn preview(
    cluster: &ClusterOptions,
    nodes: &[(String, Vec<Taint>)],
    respect: Option<BudgetRespect>,
) -> String {
    match planned(cluster, nodes, respect) {
        Ok(text) => text,
        Err(why) => format!("{}The evicted pods are unknown: {}\n", opening(nodes), harmless(&why)),
    }
}

/// `3 nodes get a=b:NoExecute:`
fn opening(nodes: &[(String, Vec<Taint>)]) -> String {
    let taints = nodes.first().map(|(_, taints)| taints.as_slice()).unwrap_or_default();
    let taints: Vec<String> = taints.iter().map(ToString::to_string).collect();
    let (noun, verb) = if nodes.len() == 1 { ("node", "gets") } else { ("nodes", "get") };
    format!("{} {noun} {verb} {}:\n", nodes.len(), taints.join(", "))
}

fn planned(
    cluster: &ClusterOptions,
    nodes: &[(String, Vec<Taint>)],
    respect: Option<BudgetRespect>,
) -> Result<String, String> {
    let names: Vec<&str> = nodes.iter().map(|(name, _)| name.as_str()).collect();
    let mut state = cluster_state::of_nodes(cluster, &names).map_err(|why| why.to_string())?;
    let edit = |(node, taints): &(String, Vec<Taint>)| NodeEdit::Taints {
        nodes: NodeSet::Names(vec![node.clone()]),
        change: TaintEdit { add: taints.clone(), remove: Vec::new() },
    };
    let edits: Vec<NodeEdit> = nodes.iter().map(edit).collect();
    let edited = node_edits::apply(&state.snapshot, &edits, &node_lifecycle::NodeLifecycleConfig::default())
        .map_err(|why| why.to_string())?;
    let schedule = EvictionSchedule::of(
        Some(cluster),
        &mut state,
        EvictionPlan { changes: &edited.changes, respect, until: Mono::NEVER },
    )
    .map_err(|why| why.to_string())?;
    // Next nodes would require all pods of the cluster.
    let question = ForecastOptions { until: Mono::NEVER, places_max: 0, about: &[] };
    let forecast = forecast(&state.snapshot, &edited.changes, question);
    let report =
        PlanReport::new(&state, &forecast, &edited.descriptions, Mono::NEVER, None, schedule.as_ref());
    let mut text = String::new();
    sentence_in_lines(&mut text, &messages::about(&state.from, state.snapshot.now()));
    Ok(text + &opening(nodes) + &report.preview(WIDTH))
}

/// Wraps a sentence.
fn sentence_in_lines(text: &mut String, sentence: &str) {
    wrap(&harmless(sentence), WIDTH).iter().for_each(|line| *text += &format!("{line}\n"));
}
