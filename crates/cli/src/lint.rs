//! Runs `taintward lint`: reads manifests or a cluster, applies the core's rules and prints a report.
//!
//! - Invariant: every output format reports failed reads, with exit code 1.
//! - See `lint/lint_args.rs` for the flags, `manifest.rs` for YAML.

mod baseline;
mod cluster;
mod collect;
mod config;
mod elements;
mod eviction_policies;
mod finding;
mod github;
mod glob;
mod json;
mod known_kinds;
mod lint_args;
mod object;
mod policy_findings;
mod report;
mod rules;
mod sarif;
mod shape;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use lint_args::LintArgs;

use crate::args::kube_args::ClusterOptions;
use crate::cluster_state::ClusterStateError;
use crate::output::{self, OutputArgs, PrintOptions, Printable};
use crate::stderr;
use baseline::{Baseline, BaselineError};
use collect::{CollectedObjects, PodFindings};
use config::{ConfigError, LintConfig};
use lint_args::LintForm;
use report::LintReportData;
use serde_json::Value;
use std::path::PathBuf;
use std::process::ExitCode;
use taintward_core::lint::Severity;
use taintward_core::toleration_matching::NumericOperators;

/// Exit codes of `taintward lint`.
pub(crate) const EXIT_CODES: [(u8, &str); 3] = [
    (0, "No finding is as severe as --fail-on"),
    (1, "A read failed, or the command line or the config is invalid; everything that was read is reported"),
    (2, "A finding is as severe as --fail-on, and everything was read"),
];

/// Why the report cannot be shown.
#[derive(Debug, thiserror::Error)]
enum LintError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
}

impl Printable for LintReportData {
    fn object(&self) -> Value {
        json::object(self)
    }

    /// Each object with findings, once.
    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for finding in &self.findings {
            let name = format!("{}/{}", finding.object.kind.to_lowercase(), finding.object.name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn human(&self, view: &PrintOptions) -> String {
        table::print(self, view)
    }
}

pub(crate) fn run(options: &LintArgs) -> ExitCode {
    let output = options.common_output();
    if let (true, Some(output)) = (options.rules, &output) {
        return stderr::exit_code(output.print(&rules::RuleTable));
    }
    stderr::exit_code(report(options).map(|report| print(options, output, &report)))
}

/// Counts the findings of the rules in files, or else in the cluster, without config and baseline: errors, and warnings.
pub(crate) fn count(files: &[PathBuf], cluster: &ClusterOptions) -> Result<(usize, usize), String> {
    let cluster = files.is_empty().then_some(cluster);
    let gathered = gather(files, cluster, NumericOperators::default(), PodFindings::Counted)
        .map_err(|why| why.to_string())?;
    let report = LintReportData::new(gathered, &LintConfig::default(), Baseline::default());
    match report.gaps.first() {
        Some(gap) => Err(gap.clone()),
        None => Ok((report.count(Severity::Error), report.count(Severity::Warning))),
    }
}

fn report(options: &LintArgs) -> Result<LintReportData, LintError> {
    let config = LintConfig::load(options.config.as_deref())?;
    let baseline = Baseline::load(options.baseline.as_deref())?;
    let gathered = gather(&options.files(), options.cluster(), options.numeric(), PodFindings::Reported)?;
    Ok(LintReportData::new(gathered, &config, baseline))
}

/// Reads files, a cluster, or files to check against the nodes and DaemonSets of a cluster.
fn gather(
    files: &[PathBuf],
    cluster: Option<&ClusterOptions>,
    numeric: NumericOperators,
    pods: PodFindings,
) -> Result<CollectedObjects, LintError> {
    let mut gathered = match cluster {
        Some(cluster) if files.is_empty() => cluster::read(cluster, numeric, pods)?,
        Some(cluster) => cluster::around(cluster, CollectedObjects::from_files(files))?,
        None if files.is_empty() => CollectedObjects::default(),
        None => CollectedObjects::from_files(files),
    };
    gathered.facts.numeric = numeric;
    Ok(gathered)
}

fn print(options: &LintArgs, output: Option<OutputArgs>, report: &LintReportData) -> ExitCode {
    complain(report);
    let printed = match (&options.output, &output) {
        (LintForm::Github, _) => output::print(&github::print(report)),
        (LintForm::Common(_), Some(output)) => output.print(report),
        _ => output::print(&sarif::print(report)),
    };
    if let Err(why) = printed {
        stderr::error(why);
        return ExitCode::FAILURE;
    }
    remark(report, output.is_some_and(|output| output.is_for_people()));
    let worst = report.findings.iter().map(|finding| finding.rule.severity()).max();
    if report.is_partial() {
        ExitCode::FAILURE
    } else if options.fail_on.is_some_and(|limit| worst.is_some_and(|worst| worst >= limit)) {
        ExitCode::from(2)
    } else {
        ExitCode::SUCCESS
    }
}

/// Prints everything but findings to standard error, so that standard output keeps its format. A failure to write it is
/// ignored.
fn complain(report: &LintReportData) {
    stderr::errors(&report.unreadable);
    stderr::errors(&report.gaps);
}

fn remark(report: &LintReportData, is_for_people: bool) {
    if report.is_empty() && !report.is_partial() {
        stderr::warning(
            "nothing was checked: the input has no pod, workload, node or eviction policy, and no tolerations or \
             taints in objects of other kinds",
        );
    }
    // A user whom other permissions fail too learns of one at a time.
    if !report.is_partial() {
        report.unchecked.iter().for_each(stderr::note);
    }
    report.unused_silences.iter().for_each(stderr::note);
    // A finding in a file that could not be read may still exist.
    match report.gone {
        0 => {}
        _ if report.is_partial() => {}
        1 => stderr::note("1 finding of the baseline no longer occurs: write the baseline again"),
        many => {
            stderr::note(format!("{many} findings of the baseline no longer occur: write the baseline again"))
        }
    }
    if is_for_people {
        stderr::line("", report.summary());
    }
}
