//! Runs `taintward doctor`: checks a cluster before and after the installation of Taintward, and lists what to change.
//!
//! - Invariant: the command only reads. A failed read makes a check unknown, and does not end the others.
//! - See `doctor/checks.rs` for the checks, `doctor/distribution.rs` for what differs between distributions.

mod check;
mod checks;
mod collect;
mod controllers_flag;
mod distribution;
mod facts;
mod report;
#[cfg(test)]
mod tests;

use crate::args::kube_args::{ClusterOptions, ServerOptions, WHICH};
use crate::args::object_names;
use crate::cluster_state::{ClusterReader, ClusterStateError, ReadError};
use crate::output::{OutputArgs, PrintError};
use crate::runtime::Runtime;
use crate::stderr;
use check::CheckVerdict;
use checks::DoctorScope;
use clap::Args;
use distribution::RecognizedDistribution;
use facts::ClusterFacts;
use report::DoctorReport;
use std::path::PathBuf;
use std::process::ExitCode;

/// Exit codes of `taintward doctor`.
pub(crate) const EXIT_CODES: [(u8, &str); 3] = [
    (0, "No check failed, and no check is unknown"),
    (1, "A read failed, or a check is unknown; no check failed"),
    (2, "A check failed"),
];

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Check whether you can install Taintward, and list what to change first. Without this flag, the command checks an
    /// installation
    #[arg(long)]
    pub(crate) pre: bool,
    /// The namespace of Taintward, present or planned
    #[arg(short, long, value_name = "NAME", default_value = "taintward-system", value_parser = object_names::namespace)]
    pub(crate) namespace: String,
    /// Objects in files, as kubectl get -o yaml or json prints them, a folder of them, or - for standard input; may be
    /// repeated. The default is the current cluster
    #[arg(short, long, value_name = "FILE|FOLDER|-", conflicts_with_all = WHICH)]
    pub(crate) filename: Vec<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    pub(crate) server: ServerOptions,
}

/// Why the report cannot be shown.
#[derive(Debug, thiserror::Error)]
enum DoctorError {
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error(transparent)]
    Print(#[from] PrintError),
    #[error("cannot read some files, see above; fix them, or omit them")]
    Files(Vec<ReadError>),
}

/// The findings of `taintward lint` in the same cluster or files.
#[derive(Clone, Debug, Default)]
pub(crate) struct LintCounts {
    pub(crate) errors: usize,
    pub(crate) warnings: usize,
    /// Why the findings are missing.
    pub(crate) failure: Option<String>,
}

/// Runs `taintward lint`; passed in, because commands do not import each other.
pub(crate) type Lint<'l> = &'l dyn Fn(&DoctorArgs) -> LintCounts;

pub(crate) fn run(options: &DoctorArgs, lint: Lint<'_>) -> ExitCode {
    let done = examine(options, lint);
    if let Err(DoctorError::Files(faults)) = &done {
        faults.iter().for_each(stderr::error);
    }
    stderr::exit_code(done)
}

fn examine(options: &DoctorArgs, lint: Lint<'_>) -> Result<ExitCode, DoctorError> {
    let facts =
        if options.filename.is_empty() { read(options)? } else { collect::from_files(&options.filename)? };
    let report = diagnose(&facts, options, &lint(options));
    options.output.print(&report)?;
    Ok(match () {
        () if report.count(CheckVerdict::Failed) > 0 => ExitCode::from(2),
        () if report.count(CheckVerdict::Unknown) > 0 => ExitCode::FAILURE,
        () => ExitCode::SUCCESS,
    })
}

fn read(options: &DoctorArgs) -> Result<ClusterFacts, ClusterStateError> {
    let mut cluster = ClusterOptions::from(options.server.clone());
    cluster.server.settings.warn = stderr::warning;
    Runtime::new()?.block_on(async {
        let reader = ClusterReader::of(&cluster).await?;
        Ok(collect::from_cluster(&reader, options).await)
    })
}

fn diagnose(facts: &ClusterFacts, options: &DoctorArgs, lint: &LintCounts) -> DoctorReport {
    let recognized = RecognizedDistribution::of(facts);
    let scope =
        DoctorScope { facts, recognized: &recognized, pre: options.pre, namespace: &options.namespace, lint };
    let checks = checks::run(&scope);
    DoctorReport { recognized, checks }
}
