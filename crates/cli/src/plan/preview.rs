//! Formats a short plan that `taintward taint` shows before a NoExecute taint evicts pods.
//!
//! - Invariant: it never fails; what cannot be read is reported, and `taint` still asks for confirmation.

use super::human::{leaves, moment, summary};
use super::node_edits::{self, EditedNodes, NodeEdit, NodeSet};
use super::report::PlanReport;
use crate::args::kube_args::ClusterOptions;
use crate::cluster_state;
use crate::messages::{self, bullet};
use crate::output::{harmless, wrap};
use std::fmt::Write as _;
use taintward_core::forecast::{ForecastOptions, forecast};
use taintward_core::node_lifecycle;
use taintward_core::taint::Taint;
use taintward_core::taint_edit::TaintEdit;
use taintward_core::time::Mono;

/// Pods that are named; the others are counted.
const NAMED_MOST: usize = 5;

/// How wide the lines are: standard error may be somewhere else than standard output.
const WIDTH: usize = 80;

/// Who would leave if these nodes got these taints.
pub(crate) fn preview(cluster: &ClusterOptions, nodes: &[(String, Vec<Taint>)]) -> String {
    match told(cluster, nodes) {
        Ok(told) => told,
        Err(why) => format!("{}Who would leave cannot be told: {}\n", opening(nodes), harmless(&why)),
    }
}

/// `3 nodes get a=b:NoExecute:`
fn opening(nodes: &[(String, Vec<Taint>)]) -> String {
    let taints = nodes.first().map(|(_, taints)| taints.as_slice()).unwrap_or_default();
    let taints: Vec<String> = taints.iter().map(ToString::to_string).collect();
    let (noun, verb) = if nodes.len() == 1 { ("node", "gets") } else { ("nodes", "get") };
    format!("{} {noun} {verb} {}:\n", nodes.len(), taints.join(", "))
}

fn told(cluster: &ClusterOptions, nodes: &[(String, Vec<Taint>)]) -> Result<String, String> {
    let names: Vec<&str> = nodes.iter().map(|(name, _)| name.as_str()).collect();
    let survey = cluster_state::of_nodes(cluster, &names).map_err(|why| why.to_string())?;
    let edit = |(node, taints): &(String, Vec<Taint>)| NodeEdit::Taints {
        nodes: NodeSet::Names(vec![node.clone()]),
        change: TaintEdit { add: taints.clone(), remove: Vec::new() },
    };
    let edits: Vec<NodeEdit> = nodes.iter().map(edit).collect();
    let EditedNodes { changes, told } =
        node_edits::apply(&survey.snapshot, &edits, &node_lifecycle::NodeLifecycleConfig::default())
            .map_err(|why| why.to_string())?;
    // Where they could go would need all pods of the cluster.
    let question = ForecastOptions { until: Mono::NEVER, places_max: 0, about: &[] };
    let forecast = forecast(&survey.snapshot, &changes, question);
    let (told, until) = (&told[..], Mono::NEVER);
    let answer = PlanReport { survey: &survey, forecast: &forecast, told, until, limit: None };
    let mut said = String::new();
    sentence_in_lines(&mut said, &messages::about(&survey.from, survey.snapshot.now()));
    Ok(said + &opening(nodes) + &text(&answer))
}

/// A sentence in lines that fit.
fn sentence_in_lines(text: &mut String, sentence: &str) {
    wrap(&harmless(sentence), WIDTH).iter().for_each(|line| *text += &format!("{line}\n"));
}

fn text(answer: &PlanReport<'_>) -> String {
    let mut text = String::new();
    for gap in &answer.survey.gaps {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "error: {}", harmless(&gap.to_string()));
    }
    text += &summary(answer);
    text.push('\n');
    let rows = answer.rows();
    for row in rows.iter().take(NAMED_MOST) {
        let pod = &answer.pod(row).name;
        bullet(&mut text, &format!("{pod} {}: {}", leaves(&moment(answer, row.at)), answer.why(row)), WIDTH);
    }
    if rows.len() > NAMED_MOST {
        bullet(
            &mut text,
            &format!("and {} more; taintward plan names them all", rows.len() - NAMED_MOST),
            WIDTH,
        );
    }
    let lost = answer.lost_for_good();
    if lost > 0 {
        bullet(&mut text, &format!("{lost} of them are lost for good: nobody makes them again"), WIDTH);
    }
    for impact in answer.forecast.budgets.iter().filter(|impact| impact.is_broken()) {
        let budget = &answer.snapshot().budgets()[impact.budget];
        bullet(
            &mut text,
            &format!(
                "this breaks disruption budget {}/{}: NoExecute does not ask it",
                budget.namespace, budget.name
            ),
            WIDTH,
        );
    }
    text
}
