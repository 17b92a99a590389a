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

pub(crate) fn run(ask: &PendingOptions) -> ExitCode {
    let done = if ask.watch { watch::run(ask).map(|()| ExitCode::SUCCESS) } else { answer(ask) };
    match done {
        Ok(code) => code,
        Err(why) => {
            if let PendingError::Survey(why) = &why {
                why.gaps().iter().for_each(say::error);
            }
            say::error(why);
            ExitCode::FAILURE
        }
    }
}

fn answer(ask: &PendingOptions) -> Result<ExitCode, PendingError> {
    let PendingSnapshot { survey, enforcers, namespace, elsewhere } = read(ask)?;
    survey.gaps.iter().for_each(say::error);
    survey.notes.iter().for_each(say::note);
    let list = PendingList::of(&survey, enforcers, &namespace, offline(ask));
    if ask.output.is_for_people() {
        if io::stderr().is_terminal() {
            say::line("", messages::about(&survey.from, survey.snapshot.now()));
        }
        list.remarks().into_iter().for_each(say::note);
        if list.is_empty() {
            let partly = if survey.gaps.is_empty() { "" } else { "As far as it could be read: " };
            say::line(partly, list::empty_list(&namespace, &elsewhere));
        }
    }
    if !(list.is_empty() && ask.output.is_for_people()) {
        ask.output.print(&list)?;
    }
    Ok(if survey.gaps.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the list is made from.
struct PendingSnapshot {
    survey: ClusterState,
    enforcers: Option<ActiveControllers>,
    /// The one that is meant; all if empty.
    namespace: String,
    /// How many count down in other namespaces, if none does in this one.
    elsewhere: BTreeMap<String, usize>,
}

fn read(ask: &PendingOptions) -> Result<PendingSnapshot, PendingError> {
    if !ask.files.is_empty() {
        let from = StateSource::Files(ask.files.clone(), Box::new(ask.cluster.clone()));
        let survey = cluster_state::survey(&from, ask.as_of, ask.numeric)?;
        let namespace = ask.cluster.named_namespace().to_owned();
        let elsewhere = list::by_namespace(&survey);
        return Ok(PendingSnapshot { survey, enforcers: None, namespace, elsewhere });
    }
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let reach = ClusterReader::of(&ask.cluster).await?;
        let mut survey = reach.listed(ask.as_of, ask.numeric).await;
        let enforcers = ActiveControllers::of(&reach, survey.snapshot.now().wall).await;
        let namespace = ask.cluster.namespace(&reach.connected).to_owned();
        let mut elsewhere = BTreeMap::new();
        if !namespace.is_empty() && ask.output.is_for_people() && list::by_namespace(&survey).is_empty() {
            if reach.lacks_namespace(&namespace).await {
                survey.gaps.push(ReadError::plain(format!("there is no namespace {namespace}; check -n")));
            }
            let everywhere = reach.listed_everywhere(ask.as_of, ask.numeric).await;
            // Without access to other namespaces there is no remark about them.
            if everywhere.gaps.is_empty() {
                elsewhere = list::by_namespace(&everywhere);
            }
        }
        Ok(PendingSnapshot { survey, enforcers: Some(enforcers), namespace, elsewhere })
    })
}

/// The flags that another command needs to ask about the same files.
fn offline(ask: &PendingOptions) -> String {
    let files = ask.files.iter().map(|file| format!(" -f {}", file.display()));
    files.chain(ask.as_of.map(|as_of| format!(" --as-of {as_of}"))).collect()
}
