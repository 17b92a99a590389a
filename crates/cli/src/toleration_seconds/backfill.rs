//! Runs `taintward backfill`: shows which running pods have other tolerationSeconds than new ones get. Writes nothing.
//!
//! - Input: namespaces, policies and pods of a cluster. Output: a row for each namespace.

mod preview;

use crate::args::default_seconds;
use crate::args::kube_args::ClusterOptions;
use crate::cluster_state::{ClusterStateError, open};
use crate::messages::counted;
use crate::output::{OutputArgs, PrintError};
use crate::stderr;
use crate::toleration_seconds::ClusterReadError;
use clap::Args;
use preview::BackfillPreview;
use taintward_core::admission::policy::DefaultDurations;

#[derive(Debug, Args)]
pub(crate) struct BackfillCommandArgs {
    /// The tolerationSeconds that count as a default, as for `taintward run --backfill-from`
    #[arg(long, value_name = "SECONDS", default_value = "300", value_delimiter = ',', value_parser = default_seconds::parse)]
    backfill_from: Vec<DefaultDurations>,
    #[command(flatten)]
    cluster: ClusterOptions,
    #[command(flatten)]
    output: OutputArgs,
}

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BackfillError {
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error(transparent)]
    Read(#[from] ClusterReadError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

pub(crate) fn run(options: &BackfillCommandArgs) -> Result<(), BackfillError> {
    let (runtime, connected) = open(&options.cluster.server.settings)?;
    let preview = runtime.block_on(BackfillPreview::read(&connected.streams, options))?;
    if !options.output.is_for_people() {
        return Ok(options.output.print(&preview)?);
    }
    if !preview.is_empty() {
        options.output.print(&preview)?;
    }
    stderr::note(match preview.pending() {
        0 => "every running pod has the seconds that a new pod would get, or seconds that its author chose"
            .to_owned(),
        pending => format!(
            "toleration-backfill-controller would patch {}, those on silent nodes when the node recovers",
            counted(pending, "pod")
        ),
    });
    Ok(())
}
