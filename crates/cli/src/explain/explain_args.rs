//! Defines the flags of `taintward explain`.

use super::target::{Target, TargetError, parse as parse_targets};
use crate::args::cluster_state::{ClusterStateArgs, ClusterStateOptions};
use crate::args::kube_args::{ClusterOptions, WHICH};
use crate::completion_kind::CompletionKind;
use crate::output::{OutputError, OutputOptions};
use clap::Args;
use jiff::Timestamp;
use std::path::PathBuf;
use taintward_core::toleration_matching::NumericOperators;

// Objects are named here: selectors are accepted only to be rejected with a reason.
#[derive(Debug, Args)]
#[command(
    mut_arg("namespace", |arg| arg.help("The namespace of the pods. The default is that of the context; with files, all namespaces")),
    mut_arg("all_namespaces", |arg| arg.hide(true)),
    mut_arg("selector", |arg| arg.hide(true)),
    mut_arg("field_selector", |arg| arg.hide(true))
)]
pub(crate) struct ExplainArgs {
    /// What to explain: pod/NAME, node/NAME, or all pods of a workload: deploy/NAME, sts/NAME, ds/NAME, rs/NAME,
    /// job/NAME; several are allowed, also as pod NAME...
    #[arg(value_name = "TYPE/NAME", add = CompletionKind::Explained.completer())]
    objects: Vec<String>,
    /// The cluster's state in files, as kubectl get -o yaml or json prints it, a folder of them, or - for standard
    /// input; may be repeated. The default is the current cluster
    #[arg(short, long, value_name = "FILE|FOLDER|-", conflicts_with_all = WHICH)]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    state: ClusterStateArgs,
}

/// What to explain, and from which source.
#[derive(Debug)]
pub(crate) struct ExplainOptions {
    pub(crate) targets: Vec<Target>,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) cluster: ClusterOptions,
    /// The time to evaluate at; the present by default.
    pub(crate) as_of: Option<Timestamp>,
    pub(crate) numeric: NumericOperators,
    pub(crate) output: OutputOptions,
}

/// Why the flags are invalid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExplainArgsError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(
        "explain accepts names, not selectors; omit -A, -l and --field-selector, or use taintward pending"
    )]
    Chosen,
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl ExplainArgs {
    pub(crate) fn resolve(self) -> Result<ExplainOptions, ExplainArgsError> {
        if self.state.kube.chooses() {
            return Err(ExplainArgsError::Chosen);
        }
        let targets = parse_targets(&self.objects)?;
        let ClusterStateOptions { as_of, numeric, output, cluster } = self.state.resolve()?;
        Ok(ExplainOptions { targets, files: self.filename, cluster, as_of, numeric, output })
    }
}
