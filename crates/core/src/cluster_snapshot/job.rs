//! Evaluates what a Job does when its pods are evicted: it recreates them, or fails (NB-3).
//!
//! - The rules are those of Kubernetes' Job controller. An evicted pod has the condition `DisruptionTarget`, counts as
//!   a failure, and no rule of the Job but `Ignore` prevents that.
//! - Unknown here: the exit codes of containers that are stopped. A container that ends with 0 makes its pod succeed.

#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::vec::Vec;

/// A Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRecord {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// `spec.podFailurePolicy.rules`.
    pub rules: Vec<PodFailureRule>,
    /// `spec.backoffLimit`, with the default of the API; `None`: there is none.
    pub backoff_limit: Option<u32>,
    /// `spec.backoffLimitPerIndex`.
    pub backoff_limit_per_index: Option<u32>,
    /// `spec.maxFailedIndexes`.
    pub max_failed_indexes: Option<u32>,
    /// `status.failed`, and the failures that it does not count yet.
    pub failed: u32,
    /// How many indexes `status.failedIndexes` has.
    pub failed_indexes: u32,
    /// Whether it runs.
    pub phase: JobPhase,
}

/// Whether a Job runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobPhase {
    /// It creates pods.
    Active,
    /// `spec.suspend`.
    Suspended,
    /// It is complete, has failed, or is about to.
    Finished,
}

/// A rule of a pod failure policy. The first rule that matches counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PodFailureRule {
    /// What it matches.
    pub matches: FailureMatch,
    /// What follows.
    pub action: FailureAction,
}

/// What a rule of a pod failure policy matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureMatch {
    /// The condition `DisruptionTarget`, which every evicted pod has.
    Disruption,
    /// Other conditions.
    OtherConditions,
    /// Exit codes of containers.
    ExitCodes,
}

/// The action of a rule of a pod failure policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureAction {
    /// The Job fails.
    FailJob,
    /// The index of the pod fails.
    FailIndex,
    /// The failure does not count.
    Ignore,
    /// The failure counts, as without a rule.
    Count,
    /// An action that this version does not know: the rule matches nothing.
    Unknown,
}

/// The index of a pod in its Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobIndex {
    /// The annotation `batch.kubernetes.io/job-completion-index`.
    pub index: u32,
    /// The annotation `batch.kubernetes.io/job-index-failure-count`: earlier failures of this index.
    pub failures: u32,
}

/// What follows for an evicted pod of a Job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobPodOutcome {
    /// It is recreated, because this rule ignores the failure.
    Ignored {
        /// Its position.
        rule: u32,
    },
    /// It is recreated: the Job, or its index, has not reached its limit.
    Recreated {
        /// Failures, including this one.
        failures: u32,
        /// The limit, `None`: there is none.
        limit: Option<u32>,
    },
    /// The Job fails for this reason, and deletes its other pods.
    JobFails(JobFailure),
    /// The index of the pod fails for good, and with it the Job when all its indexes have ended.
    IndexFails {
        /// The index.
        index: u32,
        /// Why.
        cause: IndexFailure,
    },
    /// The exit codes of its containers decide: this rule is before those that decide otherwise.
    ExitCodes {
        /// Its position.
        rule: u32,
        /// Its action.
        action: FailureAction,
    },
    /// It is not recreated while the Job is suspended.
    Suspended,
    /// It is not recreated: the Job had already ended.
    Finished,
}

/// Why a Job fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobFailure {
    /// This rule of its pod failure policy.
    Rule(u32),
    /// More failures than `spec.backoffLimit`.
    BackoffLimit(u32),
    /// More failed indexes than `spec.maxFailedIndexes`.
    MaxFailedIndexes(u32),
}

/// Why an index fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexFailure {
    /// This rule of the pod failure policy.
    Rule(u32),
    /// More failures than `spec.backoffLimitPerIndex`.
    BackoffLimit(u32),
}

impl JobPodOutcome {
    /// Whether another pod replaces the evicted one.
    pub const fn is_recreated(&self) -> bool {
        matches!(self, Self::Ignored { .. } | Self::Recreated { .. } | Self::ExitCodes { .. })
    }
}

/// A Job while its pods are evicted one after the other.
#[derive(Clone, Copy, Debug)]
pub struct JobProgress<'j> {
    job: &'j JobRecord,
    failed: u32,
    failed_indexes: u32,
    failure: Option<JobFailure>,
}

/// A decision of a pod failure policy: the action, and the rule, if one matched.
type PolicyDecision = (FailureAction, Option<u32>);

impl<'j> JobProgress<'j> {
    /// The Job as it is now.
    pub const fn of(job: &'j JobRecord) -> Self {
        Self { job, failed: job.failed, failed_indexes: job.failed_indexes, failure: None }
    }

    /// Why the Job has failed, if it has.
    pub const fn failure(&self) -> Option<JobFailure> {
        self.failure
    }

    /// Evicts a pod.
    pub fn evict(&mut self, index: Option<JobIndex>) -> JobPodOutcome {
        match (self.job.phase, self.failure) {
            (JobPhase::Finished, _) => return JobPodOutcome::Finished,
            (JobPhase::Suspended, _) => return JobPodOutcome::Suspended,
            (JobPhase::Active, Some(failure)) => return JobPodOutcome::JobFails(failure),
            (JobPhase::Active, None) => {}
        }
        let before = *self;
        let outcome = self.follow(policy(&self.job.rules, false), index);
        // If a rule on exit codes would change the outcome, it decides.
        let mut other = before;
        let otherwise = policy(&self.job.rules, true);
        match (otherwise, other.follow(otherwise, index)) {
            ((action, Some(rule)), differs) if !is_alike(&outcome, &differs) => {
                *self = before;
                JobPodOutcome::ExitCodes { rule, action }
            }
            _ => outcome,
        }
    }

    fn follow(&mut self, (action, rule): PolicyDecision, index: Option<JobIndex>) -> JobPodOutcome {
        match (action, rule) {
            (FailureAction::Ignore, Some(rule)) => return JobPodOutcome::Ignored { rule },
            (FailureAction::FailJob, Some(rule)) => return self.fail(JobFailure::Rule(rule)),
            _ => {}
        }
        self.failed = self.failed.saturating_add(1);
        if let Some(limit) = self.job.backoff_limit.filter(|limit| self.failed > *limit) {
            return self.fail(JobFailure::BackoffLimit(limit));
        }
        let (Some(limit), Some(index)) = (self.job.backoff_limit_per_index, index) else {
            return JobPodOutcome::Recreated { failures: self.failed, limit: self.job.backoff_limit };
        };
        let cause = match (action, rule) {
            (FailureAction::FailIndex, Some(rule)) => IndexFailure::Rule(rule),
            _ if index.failures >= limit => IndexFailure::BackoffLimit(limit),
            _ => {
                let failures = index.failures.saturating_add(1);
                return JobPodOutcome::Recreated { failures, limit: Some(limit) };
            }
        };
        self.failed_indexes = self.failed_indexes.saturating_add(1);
        match self.job.max_failed_indexes.filter(|limit| self.failed_indexes > *limit) {
            Some(limit) => self.fail(JobFailure::MaxFailedIndexes(limit)),
            None => JobPodOutcome::IndexFails { index: index.index, cause },
        }
    }

    const fn fail(&mut self, failure: JobFailure) -> JobPodOutcome {
        self.failure = Some(failure);
        JobPodOutcome::JobFails(failure)
    }
}

/// Returns what the first matching rule decides; with `exits`, a rule on exit codes matches.
fn policy(rules: &[PodFailureRule], exits: bool) -> PolicyDecision {
    let matching = rules.iter().enumerate().find(|(_, rule)| {
        let matches = match rule.matches {
            FailureMatch::Disruption => true,
            FailureMatch::ExitCodes => exits,
            FailureMatch::OtherConditions => false,
        };
        matches && rule.action != FailureAction::Unknown
    });
    match matching {
        Some((at, rule)) => (rule.action, Some(u32::try_from(at).unwrap_or(u32::MAX))),
        None => (FailureAction::Count, None),
    }
}

/// Whether two outcomes differ at most in their reasons.
fn is_alike(a: &JobPodOutcome, b: &JobPodOutcome) -> bool {
    match (a, b) {
        (JobPodOutcome::IndexFails { .. }, JobPodOutcome::IndexFails { .. })
        | (JobPodOutcome::JobFails(_), JobPodOutcome::JobFails(_)) => true,
        _ => a.is_recreated() && b.is_recreated(),
    }
}
