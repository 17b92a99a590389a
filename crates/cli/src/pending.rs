//! Runs `taintward pending`: lists the pods that leave, the next one first, once or continuously.
//!
//! - Invariant: every deadline is the core's.
//! - See `explain.rs` for why one pod leaves, `plan.rs` for what would happen.

mod list;
mod pending_args;
mod pending_error;
mod row;
mod terminal_screen;
mod tracker;
mod watch;

pub(crate) use pending_args::{PendingArgs, PendingOptions};

use crate::active_controllers::ActiveControllers;
use crate::cluster_state::{self, ClusterReader, ClusterState, ReadError, StateSource};
use crate::messages;
use crate::runtime::Runtime;
use crate::say;
use list::PendingList;
use pending_error::PendingError;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

/// Exit codes of `taintward pending`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "The list is complete (it may be empty); with -w: the user quit"),
    (1, "Something could not be read, or the command line makes no sense; what was read is listed"),
];

pub(crate) fn run(options: &PendingOptions) -> ExitCode {
    let done = if options.watch { watch::run(options).map(|()| ExitCode::SUCCESS) } else { answer(options) };
    match done {
        Ok(code) => code,
        Err(why) => {
            if let PendingError::ClusterState(why) = &why {
                why.gaps().iter().for_each(say::error);
            }
            say::error(why);
            ExitCode::FAILURE
        }
    }
}

fn answer(options: &PendingOptions) -> Result<ExitCode, PendingError> {
    let PendingSnapshot { state, enforcers, namespace, elsewhere } = read(options)?;
    state.gaps.iter().for_each(say::error);
    state.notes.iter().for_each(say::note);
    let list = PendingList::of(&state, enforcers, &namespace, offline(options));
    if options.output.is_for_people() {
        if io::stderr().is_terminal() {
            say::line("", messages::about(&state.from, state.snapshot.now()));
        }
        list.remarks().into_iter().for_each(say::note);
        if list.is_empty() {
            let partly = if state.gaps.is_empty() { "" } else { "As far as it could be read: " };
            say::line(partly, list::empty_list(&namespace, &elsewhere));
        }
    }
    if !(list.is_empty() && options.output.is_for_people()) {
        options.output.print(&list)?;
    }
    Ok(if state.gaps.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the list is made from.
struct PendingSnapshot {
    state: ClusterState,
    enforcers: Option<ActiveControllers>,
    /// The one that is meant; all if empty.
    namespace: String,
    /// How many count down in other namespaces, if none does in this one.
    elsewhere: BTreeMap<String, usize>,
}

fn read(options: &PendingOptions) -> Result<PendingSnapshot, PendingError> {
    if !options.files.is_empty() {
        let from = StateSource::Files(options.files.clone(), Box::new(options.cluster.clone()));
        let state = cluster_state::read(&from, options.as_of, options.numeric)?;
        let namespace = options.cluster.named_namespace().to_owned();
        let elsewhere = list::by_namespace(&state);
        return Ok(PendingSnapshot { state, enforcers: None, namespace, elsewhere });
    }
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let reach = ClusterReader::of(&options.cluster).await?;
        let mut state = reach.listed(options.as_of, options.numeric).await;
        let enforcers = ActiveControllers::of(&reach, state.snapshot.now().wall).await;
        let namespace = options.cluster.namespace(&reach.connected).to_owned();
        let mut elsewhere = BTreeMap::new();
        if !namespace.is_empty() && options.output.is_for_people() && list::by_namespace(&state).is_empty() {
            if reach.lacks_namespace(&namespace).await {
                state.gaps.push(ReadError::plain(format!("there is no namespace {namespace}; check -n")));
            }
            let everywhere = reach.listed_everywhere(options.as_of, options.numeric).await;
            // Without access to other namespaces there is no remark about them.
            if everywhere.gaps.is_empty() {
                elsewhere = list::by_namespace(&everywhere);
            }
        }
        Ok(PendingSnapshot { state, enforcers: Some(enforcers), namespace, elsewhere })
    })
}

/// The flags that another command needs to read the same files.
fn offline(options: &PendingOptions) -> String {
    let files = options.files.iter().map(|file| format!(" -f {}", file.display()));
    files.chain(options.as_of.map(|as_of| format!(" --as-of {as_of}"))).collect()
}
