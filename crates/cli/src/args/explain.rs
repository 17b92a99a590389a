//! # Explain: the flags of `taintward explain`
//! Room:     flags, defaults, words.
//! Comes in: arguments.
//! Goes out: an [`Ask`].
//! Not here: what the choices do (`explain.rs`).

use super::gates::{self, Setting};
use crate::complete::Kind;
use crate::explain::{Ask, TargetError, parse_targets};
use crate::kube_args::KubeArgs;
use crate::output::{OutputArgs, OutputError};
use clap::Args;
use jiff::Timestamp;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// What is to be explained: pod/NAME, node/NAME, or pod NAME...; several at once
    #[arg(value_name = "pod/NAME|node/NAME", add = Kind::PodOrNode.completer())]
    objects: Vec<String>,
    /// The cluster's state in files, as kubectl get -o yaml or json prints it, a folder of them, or - for standard
    /// input; may be repeated. Without it the current cluster is read
    #[arg(short, long, value_name = "FILE|FOLDER|-", conflicts_with_all = ["kubeconfig", "context"])]
    filename: Vec<PathBuf>,
    /// Judge as if it were this time; without it by now. For files that were written a while ago
    #[arg(long, value_name = "TIME")]
    as_of: Option<Timestamp>,
    /// Feature gates of the cluster, as Name=true; TaintTolerationComparisonOperators (false by default) is the one that
    /// counts here
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = gates::parse)]
    feature_gates: Vec<Setting>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    kube: KubeArgs,
}

/// What is wrong with the flags.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExplainArgsError {
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(
        "pods are named here, not chosen: leave -A, -l and --field-selector out; taintward pending has them"
    )]
    Chosen,
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl ExplainArgs {
    pub(super) fn settle(self) -> Result<Ask, ExplainArgsError> {
        if self.kube.chooses() {
            return Err(ExplainArgsError::Chosen);
        }
        Ok(Ask {
            targets: parse_targets(&self.objects)?,
            files: self.filename,
            cluster: self.kube.settle(),
            as_of: self.as_of,
            numeric: gates::numeric(&self.feature_gates),
            output: self.output.settle()?,
        })
    }
}
