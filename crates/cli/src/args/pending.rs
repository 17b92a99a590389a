//! # Pending: the flags of `taintward pending`
//! Room:     flags, defaults, words.
//! Comes in: arguments.
//! Goes out: an [`Ask`].
//! Not here: what the choices do (`pending.rs`).

use super::gates::{self, Setting};
use crate::kube_args::KubeArgs;
use crate::output::{Form, OutputArgs, OutputError};
use crate::pending::Ask;
use clap::Args;
use jiff::Timestamp;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct PendingArgs {
    /// Goes on, and shows each change: on a terminal the list itself, drawn anew; elsewhere a line for each change. With
    /// -o json an object on each line
    #[arg(short, long)]
    watch: bool,
    /// The cluster's state in files, as kubectl get -o yaml or json prints it, a folder of them, or - for standard
    /// input; may be repeated. Without it the current cluster is read
    #[arg(
        short,
        long,
        value_name = "FILE|FOLDER|-",
        conflicts_with_all = ["kubeconfig", "context", "watch", "selector", "field_selector"]
    )]
    filename: Vec<PathBuf>,
    /// Judge as if it were this time; without it by now. For files that were written a while ago
    #[arg(long, value_name = "TIME", conflicts_with = "watch")]
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
pub(super) enum PendingArgsError {
    #[error(
        "with -w pods are chosen by namespace only, because labels are not watched: leave -l and --field-selector out"
    )]
    WatchChosen,
    #[error("with -w the answer is written as table, wide or json; leave -w out for the other forms")]
    WatchForm,
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl PendingArgs {
    pub(super) fn settle(self) -> Result<Ask, PendingArgsError> {
        let output = self.output.settle()?;
        let cluster = self.kube.settle();
        if self.watch {
            if !cluster.selector.is_empty() || !cluster.fields.is_empty() {
                return Err(PendingArgsError::WatchChosen);
            }
            if !matches!(output.form(), Form::Table | Form::Wide | Form::Json) {
                return Err(PendingArgsError::WatchForm);
            }
        }
        Ok(Ask {
            watch: self.watch,
            files: self.filename,
            cluster,
            as_of: self.as_of,
            numeric: gates::numeric(&self.feature_gates),
            output,
        })
    }
}
