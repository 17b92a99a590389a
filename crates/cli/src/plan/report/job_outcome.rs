//! Says what follows for a Job when its pods are evicted: it recreates them, an index fails, or the whole Job.

use super::WorkloadOutcome;
use crate::output::enumerated;
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::cluster_snapshot::{
    ClusterSnapshot, FailureAction, IndexFailure, JobFailure, JobPodOutcome,
};
use taintward_core::forecast::Forecast;

/// The largest number of indexes named.
const INDEXES_MAX: usize = 5;

/// What follows for each Job that was read and loses pods, by the workload's position.
pub(super) fn all(snapshot: &ClusterSnapshot, forecast: &Forecast) -> BTreeMap<u32, WorkloadOutcome> {
    let mut of_jobs: BTreeMap<u32, Vec<JobPodOutcome>> = BTreeMap::new();
    for (pod, outcome) in &forecast.jobs {
        of_jobs.entry(snapshot.pods()[*pod as usize].workload).or_default().push(*outcome);
    }
    let worst = |outcomes: Vec<JobPodOutcome>| WorkloadOutcome {
        is_lost: outcomes.iter().any(|outcome| !outcome.is_recreated()),
        text: text(&outcomes),
    };
    of_jobs.into_iter().map(|(workload, outcomes)| (workload, worst(outcomes))).collect()
}

/// The worst of the outcomes.
fn text(outcomes: &[JobPodOutcome]) -> String {
    let job = outcomes.iter().find_map(|outcome| match outcome {
        JobPodOutcome::JobFails(failure) => Some(format!("the Job fails: {}", job_failure(*failure))),
        JobPodOutcome::Finished => Some("not recreated: the Job has ended".to_owned()),
        JobPodOutcome::Suspended => Some("not recreated while the Job is suspended".to_owned()),
        _ => None,
    });
    let last = || outcomes.iter().max_by_key(|outcome| failures(outcome)).map(recreated);
    job.or_else(|| indexes(outcomes)).or_else(last).unwrap_or_default()
}

fn job_failure(failure: JobFailure) -> String {
    match failure {
        JobFailure::Rule(rule) => {
            format!("rule {rule} of its podFailurePolicy is FailJob for DisruptionTarget")
        }
        JobFailure::BackoffLimit(limit) => format!("more failures than its backoffLimit of {limit}"),
        JobFailure::MaxFailedIndexes(limit) => {
            format!("more failed indexes than its maxFailedIndexes of {limit}")
        }
    }
}

/// `index 0 fails, and the Job with it: ...`
fn indexes(outcomes: &[JobPodOutcome]) -> Option<String> {
    let failing = outcomes.iter().filter_map(|outcome| match outcome {
        JobPodOutcome::IndexFails { index, cause } => Some((*index, *cause)),
        _ => None,
    });
    let failing: Vec<(u32, IndexFailure)> = failing.collect();
    let (_, cause) = failing.first()?;
    let why = match cause {
        IndexFailure::Rule(rule) => {
            format!("rule {rule} of its podFailurePolicy is FailIndex for DisruptionTarget")
        }
        IndexFailure::BackoffLimit(limit) => {
            format!("more failures than its backoffLimitPerIndex of {limit}")
        }
    };
    let names: BTreeSet<u32> = failing.iter().map(|(index, _)| *index).collect();
    let names: Vec<String> = names.iter().map(u32::to_string).collect();
    let (noun, verb) = if names.len() == 1 { ("index", "fails") } else { ("indexes", "fail") };
    Some(format!("{noun} {} {verb}, and the Job at its end: {why}", enumerated(&names, INDEXES_MAX)))
}

fn failures(outcome: &JobPodOutcome) -> (bool, u32) {
    match outcome {
        JobPodOutcome::Recreated { failures, .. } => (false, *failures),
        outcome => (matches!(outcome, JobPodOutcome::ExitCodes { .. }), 0),
    }
}

fn recreated(outcome: &JobPodOutcome) -> String {
    match outcome {
        JobPodOutcome::Ignored { rule } => {
            format!("recreated: rule {rule} of its podFailurePolicy ignores it")
        }
        JobPodOutcome::Recreated { failures, limit: Some(limit) } => {
            format!("recreated: failure {failures} of {limit} that its limit allows")
        }
        JobPodOutcome::ExitCodes { rule, action } => {
            let action = match action {
                FailureAction::FailJob => "FailJob",
                FailureAction::FailIndex => "FailIndex",
                FailureAction::Ignore => "Ignore",
                FailureAction::Count | FailureAction::Unknown => "Count",
            };
            format!("depends on exit codes: rule {rule} of its podFailurePolicy ({action}) comes first")
        }
        _ => "recreated".to_owned(),
    }
}
