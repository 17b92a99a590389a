//! Runs `taintward doctor`: checks a cluster before and after the installation of Taintward, and lists what to change.
//!
//! - Invariant: the command only reads. A failed read makes a check unknown, and does not end the others.
//! - See `doctor/checks.rs` for the checks, `doctor/distribution.rs` for what differs between distributions.

mod check;
mod checks;
mod collect;
mod controllers_flag;
mod distribution;
mod doctor_args;
mod facts;
mod report;
#[cfg(test)]
mod tests;

pub(crate) use doctor_args::{DoctorArgs, DoctorOptions};

use crate::cluster_state::{ClusterReader, ClusterStateError, ReadError};
use crate::output::PrintError;
use crate::runtime::Runtime;
use crate::say;
use check::CheckVerdict;
use checks::DoctorScope;
use distribution::RecognizedDistribution;
use facts::ClusterFacts;
use report::DoctorReport;
use std::process::ExitCode;

/// Exit codes of `taintward doctor`.
pub(crate) const EXIT_CODES: [(u8, &str); 3] = [
    (0, "No check failed, and no check is unknown"),
    (1, "A read failed, or a check is unknown; no check failed"),
    (2, "A check failed"),
];

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
pub(crate) type Lint<'l> = &'l dyn Fn(&DoctorOptions) -> LintCounts;

pub(crate) fn run(options: &DoctorOptions, lint: Lint<'_>) -> ExitCode {
    let done = examine(options, lint);
    if let Err(DoctorError::Files(faults)) = &done {
        faults.iter().for_each(say::error);
    }
    say::exit_code(done)
}

fn examine(options: &DoctorOptions, lint: Lint<'_>) -> Result<ExitCode, DoctorError> {
    let facts = if options.files.is_empty() { read(options)? } else { collect::from_files(&options.files)? };
    let report = diagnose(&facts, options, &lint(options));
    options.output.print(&report)?;
    Ok(match () {
        () if report.count(CheckVerdict::Failed) > 0 => ExitCode::from(2),
        () if report.count(CheckVerdict::Unknown) > 0 => ExitCode::FAILURE,
        () => ExitCode::SUCCESS,
    })
}

fn read(options: &DoctorOptions) -> Result<ClusterFacts, ClusterStateError> {
    let mut cluster = options.cluster.clone();
    cluster.settings.warn = say::warning;
    Runtime::new()?.block_on(async {
        let reader = ClusterReader::of(&cluster).await?;
        Ok(collect::from_cluster(&reader, options).await)
    })
}

fn diagnose(facts: &ClusterFacts, options: &DoctorOptions, lint: &LintCounts) -> DoctorReport {
    let recognized = RecognizedDistribution::of(facts);
    let scope =
        DoctorScope { facts, recognized: &recognized, pre: options.pre, namespace: &options.namespace, lint };
    let checks = checks::run(&scope);
    DoctorReport { recognized, checks }
}
