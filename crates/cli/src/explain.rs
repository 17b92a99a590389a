//! Runs `taintward explain`: why pods leave a node or stay, since when, until when, and what blocks them.
//!
//! - Invariant: every verdict is the core's. Incomplete answers say so in every output format, with exit code 1.
//! - See `explain/explain_args.rs` for the flags, `cluster_state/related.rs` for reading, `pending.rs` for a list of all pods
//!   that leave.

mod context;
mod explain_args;
mod missing_pod;
mod node;
mod not_found;
mod object_parts;
mod pod;
mod report;
mod target;
#[cfg(test)]
mod tests;
mod text_parts;
mod workload;

pub(crate) use explain_args::{ExplainArgs, ExplainOptions};

use crate::cluster_state::ClusterStateError;
use crate::output::PrintError;
use crate::say;
use context::ExplainContext;
use report::Explanations;
use std::process::ExitCode;

/// Exit codes of `taintward explain`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "All that was asked about is explained"),
    (1, "Something could not be found or read, or the command line makes no sense; the rest is explained"),
];

/// Why nothing is explained.
#[derive(Debug, thiserror::Error)]
enum ExplainError {
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

pub(crate) fn run(options: &ExplainOptions) -> ExitCode {
    match answer(options) {
        Ok(code) => code,
        Err(why) => {
            if let ExplainError::ClusterState(why) = &why {
                why.gaps().iter().for_each(say::error);
            }
            say::error(why);
            ExitCode::FAILURE
        }
    }
}

fn answer(options: &ExplainOptions) -> Result<ExitCode, ExplainError> {
    let context = ExplainContext::read(options)?;
    let state = &context.related().state;
    state.gaps.iter().for_each(say::error);
    state.notes.iter().for_each(say::note);
    let explanations = Explanations::of(&context, &options.targets);
    explanations.missing().iter().for_each(say::error);
    if !explanations.is_empty() {
        options.output.print(&explanations)?;
    }
    let is_whole = state.gaps.is_empty() && explanations.missing().is_empty();
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
