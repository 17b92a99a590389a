//! Runs `taintward explain`: why pods leave a node or stay, since when, until when, and what blocks them.
//!
//! - Invariant: every verdict is the core's. Incomplete answers say so in every output format, with exit code 1.
//! - See `args/explain.rs` for the flags, `cluster_state/related.rs` for reading, `pending.rs` for a list of all pods
//!   that leave.

mod blockers;
mod human;
mod missing_pod;
mod node;
mod object;
mod pod;
mod possible_nodes;
mod report;
mod target;
#[cfg(test)]
mod tests;
mod workload;

pub(crate) use target::{Target, TargetError, parse as parse_targets};

use crate::active_controllers::ActiveControllers;
use crate::args::kube_args::ClusterOptions;
use crate::cluster_state::related::{RelatedObjects, in_cluster, in_files};
use crate::cluster_state::related_details::ObjectNames;
use crate::cluster_state::{ClusterReader, ClusterStateError, no_nodes};
use crate::output::{OutputOptions, PrintError};
use crate::runtime::Runtime;
use crate::say;
use jiff::Timestamp;
use report::Explanations;
use std::path::PathBuf;
use std::process::ExitCode;
use taintward_core::toleration_matching::NumericOperators;
use target::TargetKind;

/// What is asked.
#[derive(Debug)]
pub(crate) struct ExplainOptions {
    pub(crate) targets: Vec<Target>,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) cluster: ClusterOptions,
    /// The moment to judge by; without it now.
    pub(crate) as_of: Option<Timestamp>,
    pub(crate) numeric: NumericOperators,
    pub(crate) output: OutputOptions,
}

/// Exit codes of `taintward explain`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "All that was asked about is explained"),
    (1, "Something could not be found or read, or the command line makes no sense; the rest is explained"),
];

/// Why nothing is explained.
#[derive(Debug, thiserror::Error)]
enum ExplainError {
    #[error(transparent)]
    Survey(#[from] ClusterStateError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

/// What the explanations are made from.
struct ExplainContext {
    vicinity: RelatedObjects,
    /// `None` for files, which cannot tell.
    enforcers: Option<ActiveControllers>,
    /// The namespace of pods; `None`: any.
    namespace: Option<String>,
}

pub(crate) fn run(ask: &ExplainOptions) -> ExitCode {
    match answer(ask) {
        Ok(code) => code,
        Err(why) => {
            if let ExplainError::Survey(why) = &why {
                why.gaps().iter().for_each(say::error);
            }
            say::error(why);
            ExitCode::FAILURE
        }
    }
}

fn answer(ask: &ExplainOptions) -> Result<ExitCode, ExplainError> {
    let scene = scene(ask)?;
    let survey = &scene.vicinity.survey;
    survey.gaps.iter().for_each(say::error);
    survey.notes.iter().for_each(say::note);
    let explanations = Explanations::of(&scene, &ask.targets);
    explanations.missing.iter().for_each(say::error);
    if !explanations.stories.is_empty() {
        ask.output.print(&explanations)?;
    }
    let is_whole = survey.gaps.is_empty() && explanations.missing.is_empty();
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn scene(ask: &ExplainOptions) -> Result<ExplainContext, ClusterStateError> {
    let names = |kind| {
        let those = ask.targets.iter().filter(move |target| target.kind == kind);
        those.map(|target| target.name.clone()).collect()
    };
    let (pods, nodes) = (names(TargetKind::Pod), names(TargetKind::Node));
    let workloads = ask.targets.iter().filter_map(|target| match target.kind {
        TargetKind::Workload(maker) => Some((maker, target.name.clone())),
        TargetKind::Pod | TargetKind::Node => None,
    });
    let workloads = workloads.collect();
    if !ask.files.is_empty() {
        let named = ask.cluster.named_namespace();
        let namespace = (!named.is_empty()).then(|| named.to_owned());
        let wanted = ObjectNames { pods, nodes, workloads, namespace: namespace.clone() };
        let vicinity = in_files(&ask.files, wanted, ask.as_of, ask.numeric);
        if vicinity.survey.snapshot.nodes().is_empty() {
            return Err(no_nodes(vicinity.survey));
        }
        return Ok(ExplainContext { vicinity, enforcers: None, namespace });
    }
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let reach = ClusterReader::of(&ask.cluster).await?;
        let namespace = Some(ask.cluster.namespace(&reach.connected).to_owned());
        let wanted = ObjectNames { pods, nodes, workloads, namespace: namespace.clone() };
        let vicinity = in_cluster(&reach, wanted, ask.as_of, ask.numeric).await;
        let enforcers = ActiveControllers::of(&reach, vicinity.survey.snapshot.now().wall).await;
        Ok(ExplainContext { vicinity, enforcers: Some(enforcers), namespace })
    })
}
