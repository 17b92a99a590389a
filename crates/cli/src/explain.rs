//! # Explain: `taintward explain`
//! Room:     one pod or node at a time, or all pods of a workload: which taint, which toleration, since when, until when, what is in the way; what is
//!           left to tell of a pod that is gone; which taints keep a pod without a node off which nodes.
//! Comes in: [`Ask`].
//! Goes out: an answer on standard output, gaps on standard error, an exit code of [`EXIT_CODES`].
//! Keeps:    every verdict is the core's; an answer that lacks something says so in every form, and the exit code is 1.
//! Not here: the flags (`args/explain.rs`), reading (`survey/near.rs`), all pods that leave (`pending.rs`).

mod answer;
mod blocks;
mod gone;
mod human;
mod node;
mod object;
mod places;
mod pod;
mod target;
#[cfg(test)]
mod tests;
mod workload;

pub(crate) use target::{Target, TargetError, parse as parse_targets};

use crate::enforcer::Enforcers;
use crate::kube_args::Cluster;
use crate::output::{Output, PrintError};
use crate::runtime::Runtime;
use crate::say;
use crate::survey::near::{Vicinity, Wanted, in_cluster, in_files};
use crate::survey::{Reach, SurveyError, no_nodes};
use answer::Explanations;
use jiff::Timestamp;
use std::path::PathBuf;
use std::process::ExitCode;
use taintward_core::toleration_matching::NumericOperators;
use target::Kind;

/// What is asked.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) targets: Vec<Target>,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) cluster: Cluster,
    /// The moment to judge by; without it now.
    pub(crate) as_of: Option<Timestamp>,
    pub(crate) numeric: NumericOperators,
    pub(crate) output: Output,
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
    Survey(#[from] SurveyError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

/// What the explanations are made from.
struct Scene {
    vicinity: Vicinity,
    /// `None` for files, which cannot tell.
    enforcers: Option<Enforcers>,
    /// The namespace of pods; `None`: any.
    namespace: Option<String>,
}

pub(crate) fn run(ask: &Ask) -> ExitCode {
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

fn answer(ask: &Ask) -> Result<ExitCode, ExplainError> {
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

fn scene(ask: &Ask) -> Result<Scene, SurveyError> {
    let names = |kind| {
        let those = ask.targets.iter().filter(move |target| target.kind == kind);
        those.map(|target| target.name.clone()).collect()
    };
    let (pods, nodes) = (names(Kind::Pod), names(Kind::Node));
    let workloads = ask.targets.iter().filter_map(|target| match target.kind {
        Kind::Workload(maker) => Some((maker, target.name.clone())),
        Kind::Pod | Kind::Node => None,
    });
    let workloads = workloads.collect();
    if !ask.files.is_empty() {
        let named = ask.cluster.named_namespace();
        let namespace = (!named.is_empty()).then(|| named.to_owned());
        let wanted = Wanted { pods, nodes, workloads, namespace: namespace.clone() };
        let vicinity = in_files(&ask.files, wanted, ask.as_of, ask.numeric);
        if vicinity.survey.snapshot.nodes().is_empty() {
            return Err(no_nodes(vicinity.survey));
        }
        return Ok(Scene { vicinity, enforcers: None, namespace });
    }
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let reach = Reach::of(&ask.cluster).await?;
        let namespace = Some(ask.cluster.namespace(&reach.connected).to_owned());
        let wanted = Wanted { pods, nodes, workloads, namespace: namespace.clone() };
        let vicinity = in_cluster(&reach, wanted, ask.as_of, ask.numeric).await;
        let enforcers = Enforcers::of(&reach, vicinity.survey.snapshot.now().wall).await;
        Ok(Scene { vicinity, enforcers: Some(enforcers), namespace })
    })
}
