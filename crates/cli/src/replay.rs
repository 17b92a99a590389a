//! Runs `taintward replay`: lets the engines of this program decide again what a record contains.

mod policy_file;
mod policy_report;
#[cfg(test)]
mod tests;

use crate::messages::counted;
use crate::output::{
    API_VERSION, OutputArgs, PrintError, PrintOptions, Printable, Table, TableCell, TableColumn, dated,
};
use crate::record_files::{self, RecordFilesError};
use crate::stderr;
use clap::Args;
use jiff::tz::TimeZone;
use policy_file::PolicyFileError;
use policy_report::PolicyReport;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use taintward_core::engine_monitor::RequestViolation;
use taintward_core::time::Wall;
use taintward_record::{CheckSummary, Difference, Replay, ReplayError, ReplaySummary};

/// Exit codes of `taintward replay`.
pub(crate) const EXIT_CODES: [(u8, &str); 3] = [
    (0, "The controllers of this program decide the same, or the prediction of --with-policy is printed"),
    (1, "The record could not be read to its end, or the command line is invalid"),
    (
        2,
        "The controllers of this program decide differently, or, with --check, a request violates a property; the first \
         of these is printed",
    ),
];

/// The flags of `taintward replay`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// A record: a folder that --record-dir named, or a file of it
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    /// Also checks each request of taint-eviction-controller and node-lifecycle-controller by the properties of
    /// docs/invariants.md, independently of their engines
    #[arg(long)]
    check: bool,
    /// Shows which pods would have left, and when, with the eviction policies of this file instead of those of the record
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    with_policy: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Why a record was not replayed to its end.
#[derive(Debug, thiserror::Error)]
enum ReplayCommandError {
    #[error(transparent)]
    Files(#[from] RecordFilesError),
    #[error(transparent)]
    Policies(#[from] PolicyFileError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

/// A record, and what became of its replay.
struct ReplayReport {
    controllers: Vec<ReplaySummary>,
    /// The files that end within a frame.
    cut_off: Vec<String>,
    difference: Option<Difference>,
    /// `None` without --check.
    check: Option<CheckReport>,
}

/// The requests that were checked.
struct CheckReport {
    checked: usize,
    violated: usize,
    violations: Vec<RequestViolation>,
}

pub(crate) fn run(options: &ReplayArgs) -> ExitCode {
    stderr::exit_code(replay(options))
}

fn replay(options: &ReplayArgs) -> Result<ExitCode, ReplayCommandError> {
    if let Some(policies) = &options.with_policy {
        let report = PolicyReport::of(&options.record, &policy_file::read(policies)?)?;
        options.output.print(&report)?;
        report.notes.iter().for_each(stderr::note);
        return Ok(ExitCode::SUCCESS);
    }
    let report = ReplayReport::of(&options.record, options.check)?;
    options.output.print(&report)?;
    for path in &report.cut_off {
        stderr::note(format!("{path} is cut off within an entry; it was replayed up to there"));
    }
    let is_violated = report.check.as_ref().is_some_and(|check| check.violated > 0);
    Ok(if report.difference.is_some() || is_violated { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

impl ReplayReport {
    fn of(record: &Path, is_checked: bool) -> Result<Self, RecordFilesError> {
        let (mut replay, mut cut_off, mut difference) = (Replay::new(), Vec::new(), None);
        record_files::read_all(record, |path, reader| match replay.read(reader) {
            Ok(()) => {
                cut_off.extend(reader.is_cut_off().then(|| path.display().to_string()));
                Ok(ControlFlow::Continue(()))
            }
            Err(ReplayError::Record(error)) => Err(error),
            Err(ReplayError::Differs(first)) => {
                difference = Some(*first);
                Ok(ControlFlow::Break(()))
            }
        })?;
        let CheckSummary { checked, violated, violations } = replay.check();
        let check = is_checked.then_some(CheckReport { checked, violated, violations });
        Ok(Self { controllers: replay.summaries().cloned().collect(), cut_off, difference, check })
    }
}

/// As programs read times.
fn text(wall: Wall) -> String {
    jiff::Timestamp::from_microsecond(wall.as_micros()).map_or_else(|_| String::new(), |at| at.to_string())
}

impl CheckReport {
    fn object(&self) -> Value {
        let violations = self.violations.iter().map(|violation| {
            json!({
                "property": violation.property.id(),
                "decidedAt": text(violation.at.wall),
                "namespace": violation.pod.as_ref().map(|(name, _)| name.namespace()),
                "pod": violation.pod.as_ref().map(|(name, _)| name.name()),
                "uid": violation.pod.as_ref().map(|(_, uid)| uid.to_string()),
                "node": violation.node.as_str(),
                "reason": violation.reason,
            })
        });
        json!({
            "requests": self.checked,
            "violated": self.violated,
            "violations": violations.collect::<Vec<_>>(),
        })
    }

    fn text(&self, zone: &TimeZone) -> String {
        let checked = counted(self.checked, "request");
        match &self.violations[..] {
            [] => format!("{checked} checked: no property is violated.\n"),
            [first, ..] => format!(
                "{checked} checked: {} violated. The first, {}:\n{first}\n",
                self.violated,
                dated(first.at.wall, zone),
            ),
        }
    }
}

impl Printable for ReplayReport {
    fn object(&self) -> Value {
        let controllers = self.controllers.iter().map(|summary| {
            json!({
                "name": summary.controller.as_str(),
                "beginsAt": summary.times.map(|(first, _)| text(first.wall)),
                "endsAt": summary.times.map(|(_, last)| text(last.wall)),
                "segments": summary.segments,
                "inputs": summary.inputs,
                "requests": summary.effects,
                "reports": summary.notices,
            })
        });
        let difference = self.difference.as_ref().map(|difference| {
            json!({
                "controller": difference.controller.as_str(),
                "decidedAt": text(difference.now.wall),
                "inputsBefore": difference.inputs,
                "recorded": difference.recorded,
                "replayed": difference.replayed,
            })
        });
        json!({
            "apiVersion": API_VERSION,
            "kind": "Replay",
            "controllers": controllers.collect::<Vec<_>>(),
            "cutOff": self.cut_off,
            "difference": difference,
            "check": self.check.as_ref().map(CheckReport::object),
        })
    }

    fn names(&self) -> Vec<String> {
        self.controllers.iter().map(|summary| format!("controller/{}", summary.controller.as_str())).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        let zone = TimeZone::system();
        let title = |name| TableColumn::new(name);
        let number = |name| TableColumn::new(name).right();
        let columns = vec![
            title("CONTROLLER"),
            title("FROM"),
            title("UNTIL"),
            number("INPUTS"),
            number("REQUESTS"),
            number("REPORTS"),
        ];
        let mut table = Table::new(columns);
        for summary in &self.controllers {
            let time = |at: Option<Wall>| at.map_or_else(|| "-".to_owned(), |at| dated(at, &zone));
            table.push(
                [
                    summary.controller.as_str().to_owned(),
                    time(summary.times.map(|(first, _)| first.wall)),
                    time(summary.times.map(|(_, last)| last.wall)),
                    summary.inputs.to_string(),
                    summary.effects.to_string(),
                    summary.notices.to_string(),
                ]
                .map(TableCell::new)
                .into(),
            );
        }
        let outcome = match &self.difference {
            None => "This program decides the same.\n".to_owned(),
            Some(Difference { controller, now, inputs, recorded, replayed }) => format!(
                "This program decides differently. The first difference: {}, {}, after {inputs} inputs.\nrecorded: {recorded}\nreplayed: {replayed}\n",
                controller.as_str(),
                dated(now.wall, &zone),
            ),
        };
        let check = self.check.as_ref().map(|check| check.text(&zone)).unwrap_or_default();
        table.print(view) + "\n" + &outcome + &check
    }
}
