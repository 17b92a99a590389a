//! Runs `taintward taint`: adds and removes taints as kubectl does (KT-1 to KT-10), with a preview and confirmation.
//!
//! - Invariant: no concurrent edit is lost; without a terminal, the command does not prompt, and its output is kubectl's
//!   except for the differences in docs/differences.md.
//! - See `taintward_core::taint_edit` for the grammar, `taint/taint_args.rs` for the flags.

mod budget_respect;
mod list;
mod node_write_error;
mod request;
mod taint_args;
mod write;

pub(crate) use taint_args::TaintArgs;

use crate::args::dry_run::DryRun;
use crate::cluster_state::{ClusterStateError, open};
use crate::confirm;
use node_write_error::NodeWriteError;
use request::{TaintRequest, TaintUsageError};
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::Duration;
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::taint_edit::TaintEdit;
use taintward_kube::config::{Connected, probe};
use taintward_kube::node_client::NodeClient;

/// A short preview: for each node, the NoExecute taints that it would get.
pub(crate) type Preview<'p> = &'p dyn Fn(&[(String, Vec<Taint>)]) -> String;

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

pub(crate) fn run(options: &TaintArgs, preview: Preview<'_>) -> ExitCode {
    if let Some(warning) = &options.dry_run.warning {
        crate::stderr::warning(warning);
    }
    match carry_out(options, preview) {
        Ok(failures) if failures.is_empty() => ExitCode::SUCCESS,
        Ok(failures) => complain(&node_write_error::report(&failures)),
        Err(error @ TaintCommandError::Misuse(_)) => complain(&format!("error: {error}\n")),
        Err(error) => {
            crate::stderr::error(error);
            ExitCode::FAILURE
        }
    }
}

/// Prints to standard error; a failure to do so is ignored.
fn complain(text: &str) -> ExitCode {
    let _ = io::stderr().write_all(text.as_bytes());
    ExitCode::FAILURE
}

fn carry_out(options: &TaintArgs, preview: Preview<'_>) -> Result<Vec<NodeWriteError>, TaintCommandError> {
    let request = TaintRequest::read(options)?;
    let (runtime, connected) = open(&options.cluster.server.settings)?;
    let names = match runtime.block_on(request.names(&connected.streams, options.cluster.server.timeout)) {
        Ok(names) => names,
        Err(why) => {
            runtime.block_on(reached(options, &connected))?;
            return Err(why.into());
        }
    };
    // Outside of the runtime, because a preview may start its own.
    confirm_evictions(options, request.change(), &names, preview)?;
    let timeout = options.cluster.server.timeout;
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

/// Shows the preview and prompts, if needed; fails if the user does not confirm.
fn confirm_evictions(
    options: &TaintArgs,
    change: &TaintEdit,
    names: &[String],
    preview: Preview<'_>,
) -> Result<(), TaintCommandError> {
    let evicting: Vec<Taint> =
        change.add.iter().filter(|taint| taint.effect == TaintEffect::NoExecute).cloned().collect();
    if !confirm::is_possible()
        || options.no_preview
        || options.dry_run.kind != DryRun::No
        || evicting.is_empty()
        || names.is_empty()
    {
        return Ok(());
    }
    let nodes: Vec<(String, Vec<Taint>)> =
        names.iter().map(|name| (name.clone(), evicting.clone())).collect();
    io::stderr().write_all(preview(&nodes).as_bytes())?;
    if options.yes {
        return Ok(());
    }
    if confirm::prompt("")? { Ok(()) } else { Err(TaintCommandError::Declined) }
}

/// Fails if the API server does not respond at all, with its address and what to do.
async fn reached(options: &TaintArgs, connected: &Connected) -> Result<(), ClusterStateError> {
    let unreachable = |why| ClusterStateError::Unreachable { place: connected.where_from.clone(), why };
    let probed =
        probe(&connected.client, options.cluster.server.timeout.only_each().next().min(PROBED_MAX)).await;
    probed.map(drop).map_err(unreachable)
}
