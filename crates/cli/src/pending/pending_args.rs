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
    /// Watches, and shows each change: a terminal shows the current list; otherwise the command prints a line for each
    /// change, or with -o json an object on each line
    #[arg(short, long, conflicts_with = "as_of")]
    watch: bool,
    /// Lists the pods that taints have evicted, the last one last, according to events, which API servers keep for an
    /// hour by default
    #[arg(long, conflicts_with = "watch")]
    past: bool,
    /// The cluster's state in files, as kubectl get -o yaml or json prints it, a folder of them, or - for standard
    /// input; may be repeated. The default is the current cluster
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

/// The pods to list, and their source.
#[derive(Debug)]
pub(crate) struct PendingOptions {
    pub(crate) watch: bool,
    /// Whether to list past evictions.
    pub(crate) past: bool,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) cluster: ClusterOptions,
    /// The time to evaluate at; the present by default.
    pub(crate) as_of: Option<Timestamp>,
    pub(crate) numeric: NumericOperators,
    pub(crate) output: OutputOptions,
}

/// Why the flags are invalid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PendingArgsError {
    #[error("-w supports the output formats table, wide and json only; omit -w for the others")]
    WatchForm,
    #[error(
        "--past lists events, which do not have the labels and fields of pods; omit -l and --field-selector"
    )]
    PastSelector,
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
        if self.past && !(cluster.selector.is_empty() && cluster.fields.is_empty()) {
            return Err(PendingArgsError::PastSelector);
        }
        Ok(PendingOptions {
            watch: self.watch,
            past: self.past,
            files: self.filename,
            cluster,
            as_of,
            numeric,
            output,
        })
    }
}
