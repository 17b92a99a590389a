//! # Pending: `taintward pending`
//! Room:     the pods that leave, who is due next first; once, or for as long as somebody watches.
//! Comes in: [`Ask`].
//! Goes out: a list on standard output; gaps, and whether anybody evicts, on standard error; an exit code of [`EXIT_CODES`].
//! Keeps:    every deadline is the core's.
//! Not here: the flags (`args/pending.rs`); why one pod leaves (`explain.rs`); what would be (`plan.rs`).

mod ledger;
mod list;
mod row;
mod screen;
mod watch;

use crate::enforcer::Enforcers;
use crate::kube_args::Cluster;
use crate::output::{Output, PrintError};
use crate::runtime::Runtime;
use crate::survey::{self, Reach, Source, Survey, SurveyError};
use jiff::Timestamp;
use list::PendingList;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use taintward_core::matching::NumericOperators;

/// What is asked.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) watch: bool,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) cluster: Cluster,
    /// The moment to judge by; without it now.
    pub(crate) as_of: Option<Timestamp>,
    pub(crate) numeric: NumericOperators,
    pub(crate) output: Output,
}

/// Exit codes of `taintward pending`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "The list is whole, be it empty or not; with -w: somebody has ended it"),
    (1, "Something could not be read, or the command line makes no sense; what was read is listed"),
];

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
enum PendingError {
    #[error(transparent)]
    Survey(#[from] SurveyError),
    #[error(transparent)]
    Print(#[from] PrintError),
    #[error("the operating system refuses what the program needs to go on: {0}")]
    System(#[from] io::Error),
    #[error("{place}: may not {verb} {what}, which -w needs: grant the verb {verb} on {resource}")]
    Forbidden { place: String, verb: &'static str, resource: &'static str, what: String },
    #[error("{0}")]
    Rejected(String),
}

pub(crate) fn run(ask: &Ask) -> ExitCode {
    let done = if ask.watch { watch::run(ask).map(|()| ExitCode::SUCCESS) } else { answer(ask) };
    match done {
        Ok(code) => code,
        Err(why) => {
            let _ = writeln!(io::stderr(), "error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn answer(ask: &Ask) -> Result<ExitCode, PendingError> {
    let (survey, enforcers, namespace) = read(ask)?;
    for gap in &survey.gaps {
        let _ = writeln!(io::stderr(), "error: {gap}");
    }
    let list = PendingList::of(&survey, enforcers, &namespace);
    if ask.output.is_for_people() {
        if let Some(remark) = list.remark() {
            let _ = writeln!(io::stderr(), "note: {remark}");
        }
        if list.is_empty() {
            let partly = if survey.gaps.is_empty() { "" } else { "As far as it could be read: " };
            let _ = writeln!(io::stderr(), "{partly}{}", list::nobody(&namespace));
        }
    }
    if !(list.is_empty() && ask.output.is_for_people()) {
        ask.output.print(&list)?;
    }
    Ok(if survey.gaps.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The state, who evicts, and the namespace that is meant; all if empty.
fn read(ask: &Ask) -> Result<(Survey, Option<Enforcers>, String), PendingError> {
    if !ask.files.is_empty() {
        let survey = survey::survey(&Source::Files(ask.files.clone()), ask.as_of, ask.numeric)?;
        return Ok((survey, None, ask.cluster.named_namespace().to_owned()));
    }
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        let reach = Reach::of(&ask.cluster).await?;
        let survey = reach.listed(ask.as_of, ask.numeric).await;
        let enforcers = Enforcers::of(&reach, survey.snapshot.now().wall).await;
        let namespace = ask.cluster.namespace(&reach.connected).to_owned();
        Ok((survey, Some(enforcers), namespace))
    })
}
