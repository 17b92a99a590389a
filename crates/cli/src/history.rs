//! Runs `taintward history`: tells from a record what happened to pods and nodes, when and why.

mod entry;
mod eviction_entries;
mod filter;
mod history_pod;
mod list;
mod node_entries;
mod seconds_entries;
mod sentences;
#[cfg(test)]
mod tests;
mod timeline;

use crate::args::{duration, object_names};
use crate::completion_kind::CompletionKind;
use crate::explain::{Target, TargetKind, parse_targets};
use crate::output::{OutputArgs, PrintError};
use crate::record_files::{self, RecordFilesError};
use crate::running_record::{RunningRecordArgs, RunningRecordError};
use crate::stderr;
use clap::Args;
pub(crate) use entry::{HistoryEntry, HistoryEvent, HistoryObject};
pub(crate) use filter::HistoryFilter;
pub(crate) use list::History;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use taintward_record::RecordReader;
use timeline::Timeline;

/// Exit codes of `taintward history`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "The history is printed"),
    (
        1,
        "Nothing is recorded about a named object, the record could not be read to its end, or the command line is invalid",
    ),
];

/// The flags of `taintward history`.
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// Whose history: pod/NAME or node/NAME; several are allowed, also as pod NAME... The default are the decisions about
    /// all nodes and pods
    #[arg(value_name = "TYPE/NAME", add = CompletionKind::Explained.completer())]
    objects: Vec<String>,
    /// The record: a folder that --record-dir named, or a file. The default is that of a running controller
    #[arg(short, long, value_name = "FILE|FOLDER")]
    filename: Option<PathBuf>,
    /// The namespace of the pods. The default is every namespace
    #[arg(short, long, value_name = "NAMESPACE", value_parser = object_names::namespace)]
    namespace: Option<String>,
    /// Leaves out what is older, such as 3h or 30m
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    since: Option<Duration>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    running: RunningRecordArgs,
}

/// Why there is no history.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HistoryError {
    #[error(transparent)]
    Files(#[from] RecordFilesError),
    #[error(transparent)]
    Fetch(#[from] RunningRecordError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

impl HistoryArgs {
    /// Checks the names.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.targets().map(drop)
    }

    fn targets(&self) -> Result<Vec<Target>, String> {
        if self.objects.is_empty() {
            return Ok(Vec::new());
        }
        let targets = parse_targets(&self.objects).map_err(|why| why.to_string())?;
        match targets.iter().find(|target| matches!(target.kind, TargetKind::Workload(_))) {
            Some(target) => {
                Err(format!("a record has no {}s; expected pod/NAME or node/NAME", target.kind.as_str()))
            }
            None => Ok(targets),
        }
    }

    fn filter(&self) -> HistoryFilter {
        let targets = self.targets().expect("the parser of the command line has checked the names");
        let names = |kind| {
            let those = targets.iter().filter(move |target| target.kind == kind);
            those.map(|target| target.name.clone()).collect()
        };
        let since = self.since.and_then(|length| HistoryFilter::since(length).since);
        HistoryFilter {
            pods: names(TargetKind::Pod),
            nodes: names(TargetKind::Node),
            namespace: self.namespace.clone(),
            since,
        }
    }
}

pub(crate) fn run(options: &HistoryArgs) -> ExitCode {
    stderr::exit_code(history(options))
}

fn history(options: &HistoryArgs) -> Result<ExitCode, HistoryError> {
    let history = match &options.filename {
        Some(record) => History::read(record, options.filter())?,
        None => History::fetch(&options.running, options.filter())?,
    };
    let missing = history.missing(&options.targets().unwrap_or_default());
    match options.output.is_for_people() && history.entries.is_empty() {
        true => stderr::line("", format!("Nothing of that is recorded in {}.", history.from)),
        false => options.output.print(&history)?,
    }
    stderr::errors(&missing);
    for path in &history.cut_off {
        stderr::note(format!("{path} is cut off within an entry; the history ends there"));
    }
    Ok(if missing.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl History {
    pub(crate) fn read(record: &Path, filter: HistoryFilter) -> Result<Self, RecordFilesError> {
        let (mut timeline, mut cut_off) = (Timeline::new(filter), Vec::new());
        record_files::read_all(record, |path, reader| {
            timeline.read(reader)?;
            cut_off.extend(reader.is_cut_off().then(|| path.display().to_string()));
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(Self { from: record.display().to_string(), entries: timeline.finish(), cut_off })
    }

    pub(crate) fn fetch(from: &RunningRecordArgs, filter: HistoryFilter) -> Result<Self, RunningRecordError> {
        let (record, mut timeline) = (from.fetch()?, Timeline::new(filter));
        let failed = |error| from.not_a_record(error);
        let mut reader = RecordReader::open(&record[..]).map_err(failed)?;
        timeline.read(&mut reader).map_err(failed)?;
        Ok(Self { from: from.place(), entries: timeline.finish(), cut_off: Vec::new() })
    }

    /// The named objects about which there is no entry.
    fn missing(&self, targets: &[Target]) -> Vec<String> {
        let is_about = |object: &HistoryObject, target: &Target| match object {
            HistoryObject::Cluster => false,
            HistoryObject::Node(node) => target.kind == TargetKind::Node && node.as_str() == target.name,
            HistoryObject::Pod { name, .. } => target.kind == TargetKind::Pod && name.name() == target.name,
        };
        let is_missing = |target: &&Target| !self.entries.iter().any(|entry| is_about(&entry.object, target));
        let text =
            |target: &Target| format!("nothing is recorded about {}/{}", target.kind.as_str(), target.name);
        targets.iter().filter(is_missing).map(text).collect()
    }
}
