//! Runs `taintward taint`: adds and removes taints as kubectl does (KT-1 to KT-10), with a preview and confirmation.
//!
//! - Invariant: no concurrent edit is lost; without a terminal, the command does not prompt, and its output is kubectl's
//!   except for the differences in docs/differences.md.
//! - See `taintward_core::taint_edit` for the grammar, `taint/taint_args.rs` for the flags.

mod confirm;
mod list;
mod node_write_error;
mod request;
mod taint_args;
mod write;

pub(crate) use confirm::Preview;
pub(crate) use taint_args::{TaintArgs, TaintOptions};

use crate::cluster_state::{ClusterStateError, open};
use node_write_error::NodeWriteError;
use request::{TaintRequest, TaintUsageError};
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;
use taintward_kube::config::{Connected, probe};
use taintward_kube::node_client::NodeClient;

/// How long to probe the API server after a request without a response.
const PROBED_MAX: Duration = Duration::from_secs(5);

/// Why nothing was attempted.
#[derive(Debug, thiserror::Error)]
enum TaintCommandError {
    #[error(transparent)]
    Misuse(#[from] TaintUsageError),
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error("{0}")]
    Nodes(#[from] taintward_kube::api::RequestError),
    #[error(
        "cannot ask for confirmation on the terminal: {0}; no node was changed; use --no-preview to change nodes \
         without a question"
    )]
    Prompt(#[from] io::Error),
    #[error("aborted: no node was changed")]
    Declined,
}

/// Exit codes of `taintward taint`, which are kubectl's.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "All nodes were changed, or the command only listed or previewed"),
    (1, "Not all nodes were changed, or the command line is invalid"),
];

pub(crate) fn run(options: &TaintOptions, preview: Preview<'_>) -> ExitCode {
    if let Some(warning) = &options.warning {
        crate::say::warning(warning);
    }
    match carry_out(options, preview) {
        Ok(failures) if failures.is_empty() => ExitCode::SUCCESS,
        Ok(failures) => complain(&node_write_error::told(&failures)),
        Err(trouble @ TaintCommandError::Misuse(_)) => complain(&format!("error: {trouble}\n")),
        Err(trouble) => {
            crate::say::error(trouble);
            ExitCode::FAILURE
        }
    }
}

/// Prints to standard error; a failure to do so is ignored.
fn complain(text: &str) -> ExitCode {
    let _ = io::stderr().write_all(text.as_bytes());
    ExitCode::FAILURE
}

fn carry_out(options: &TaintOptions, preview: Preview<'_>) -> Result<Vec<NodeWriteError>, TaintCommandError> {
    let request = TaintRequest::read(options)?;
    let (runtime, connected) = open(&options.cluster.settings)?;
    let names = match runtime.block_on(request.names(&connected.streams, options.cluster.timeout)) {
        Ok(names) => names,
        Err(why) => {
            runtime.block_on(reached(options, &connected))?;
            return Err(why.into());
        }
    };
    // Outside of the runtime, because a preview may start its own.
    confirm::before(options, request.change(), &names, preview)?;
    let timeout = options.cluster.timeout;
    // A person may have thought for long, and a limit for all writes would end them half-way.
    let timeout = if options.list { timeout } else { timeout.only_each() };
    let nodes = NodeClient::new(connected.client.clone(), timeout);
    runtime.block_on(async {
        let failures = match options.list {
            true => list::show(options, &nodes, &names).await,
            false => write::all(options, request.change(), &nodes, &names).await,
        };
        let is_silent = |failure: &NodeWriteError| matches!(failure, NodeWriteError::Silent(_));
        if !failures.is_empty() && failures.len() == names.len() && failures.iter().all(is_silent) {
            reached(options, &connected).await?;
        }
        Ok(failures)
    })
}

/// Fails if the API server does not respond at all, with its address and what to do.
async fn reached(options: &TaintOptions, connected: &Connected) -> Result<(), ClusterStateError> {
    let unreachable = |why| ClusterStateError::Unreachable { place: connected.where_from.clone(), why };
    let probed = probe(&connected.client, options.cluster.timeout.only_each().next().min(PROBED_MAX)).await;
    probed.map(drop).map_err(unreachable)
}
