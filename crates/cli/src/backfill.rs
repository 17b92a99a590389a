//! Runs `taintward backfill`: shows which running pods have other tolerationSeconds than new ones get. Writes nothing.
//!
//! - Input: namespaces, policies and pods of a cluster. Output: a row for each namespace.

mod backfill_command_args;
mod preview;

pub(crate) use backfill_command_args::{BackfillCommandArgs, BackfillOptions};

use crate::cluster_state::{ClusterStateError, open};
use crate::messages::counted;
use crate::output::PrintError;
use crate::say;
use preview::{BackfillPreview, PreviewError};
use std::process::ExitCode;

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
enum BackfillError {
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error(transparent)]
    Preview(#[from] PreviewError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

pub(crate) fn run(options: &BackfillOptions) -> ExitCode {
    say::exit_code(show(options))
}

fn show(options: &BackfillOptions) -> Result<(), BackfillError> {
    let (runtime, connected) = open(&options.cluster.settings)?;
    let preview = runtime.block_on(BackfillPreview::read(&connected.streams, options))?;
    if !options.output.is_for_people() {
        return Ok(options.output.print(&preview)?);
    }
    if !preview.is_empty() {
        options.output.print(&preview)?;
    }
    say::note(match preview.pending() {
        0 => "every running pod has the seconds that a new pod would get, or seconds that its author chose"
            .to_owned(),
        pending => format!(
            "toleration-backfill-controller would patch {}, those on silent nodes when the node recovers",
            counted(pending, "pod")
        ),
    });
    Ok(())
}
