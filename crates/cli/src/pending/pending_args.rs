//! Defines the flags of `taintward pending`.

use crate::args::cluster_state::{ClusterStateArgs, ClusterStateOptions};
use crate::args::kube_args::{ClusterOptions, WHICH};
use crate::output::{OutputError, OutputFormat, OutputOptions};
use clap::Args;
use jiff::Timestamp;
use std::path::PathBuf;
use taintward_core::toleration_matching::NumericOperators;

#[derive(Debug, Args)]
pub(crate) struct PendingArgs {
    /// Goes on, and shows each change: on a terminal the list itself, drawn anew; elsewhere a line for each change. With
    /// -o json an object on each line
    #[arg(short, long, conflicts_with = "as_of")]
    watch: bool,
    /// The cluster's state in files, as kubectl get -o yaml or json prints it, a folder of them, or - for standard
    /// input; may be repeated. Without it the current cluster is read
    #[arg(
        short,
        long,
        value_name = "FILE|FOLDER|-",
        conflicts_with = "watch",
        conflicts_with_all = WHICH
    )]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    state: ClusterStateArgs,
}

/// What to list, and from what.
#[derive(Debug)]
pub(crate) struct PendingOptions {
    pub(crate) watch: bool,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) cluster: ClusterOptions,
    /// The moment to judge by; without it now.
    pub(crate) as_of: Option<Timestamp>,
    pub(crate) numeric: NumericOperators,
    pub(crate) output: OutputOptions,
}

/// What is wrong with the flags.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PendingArgsError {
    #[error("with -w the answer is written as table, wide or json; leave -w out for the other forms")]
    WatchForm,
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl PendingArgs {
    pub(crate) fn resolve(self) -> Result<PendingOptions, PendingArgsError> {
        let ClusterStateOptions { as_of, numeric, output, cluster } = self.state.resolve()?;
        if self.watch
            && !matches!(output.form(), OutputFormat::Table | OutputFormat::Wide | OutputFormat::Json)
        {
            return Err(PendingArgsError::WatchForm);
        }
        Ok(PendingOptions { watch: self.watch, files: self.filename, cluster, as_of, numeric, output })
    }
}
