//! Computes the conditions `Ready`, `Offended`, `Advised` and `Guarded` of a pool's status.

use super::fact::{PoolFact, RecordedStatus};
use super::guard_coverage::GuardCoverage;
use crate::admission::pool::{PoolAssessment, PoolFinding, PoolStatus, PoolValidity, Reason};
use crate::status_condition::{ConditionState, StatusCondition};
use crate::time::Wall;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The reason of the condition `Ready` while pods of an exclusive pool run on other nodes.
pub const ELSEWHERE: &str = "PodsElsewhere";

/// The condition about the PoolGuard.
const GUARDED: &str = "Guarded";

/// Returns the status to report. A condition whose status is unchanged keeps its transition time.
pub fn observed_status(
    seen: &PoolFact,
    assessment: &PoolAssessment,
    status: PoolStatus,
    at: Wall,
) -> RecordedStatus {
    let conditions = [
        ("Ready", ready(seen, assessment, &status)),
        ("Offended", offended(&status)),
        ("Advised", advised(assessment)),
    ];
    let conditions = conditions.into_iter().map(|(kind, value)| condition(seen, kind, value, at));
    let conditions = conditions.collect();
    // Pods to evict are not reported: the engine evicts them.
    let status = PoolStatus { evicted: Vec::new(), ..status };
    RecordedStatus { observed: seen.generation, conditions, status }
}

/// Reports whether the guard covers the pool. While nothing is known, the condition stays.
pub(crate) fn set_guarded(
    recorded: &mut RecordedStatus,
    seen: &PoolFact,
    coverage: Option<GuardCoverage>,
    at: Wall,
) {
    let before = seen
        .recorded
        .as_ref()
        .and_then(|recorded| recorded.conditions.iter().find(|one| *one.kind == *GUARDED));
    let recorded = &mut recorded.conditions;
    match (coverage, before) {
        (None, Some(before)) => recorded.push(before.clone()),
        (coverage, _) => {
            let coverage = coverage.unwrap_or(GuardCoverage::Pending);
            let value = (coverage == GuardCoverage::Guarded, coverage.reason(), coverage.message());
            recorded.push(condition(seen, GUARDED, value, at));
        }
    }
}

fn condition(
    seen: &PoolFact,
    kind: &str,
    (is_true, reason, message): ConditionValue,
    at: Wall,
) -> StatusCondition {
    let before = seen.recorded.as_ref().map(|recorded| recorded.conditions.as_slice()).unwrap_or_default();
    StatusCondition::at(kind, ConditionState { is_true, reason, message }, before, (seen.generation, at))
}

/// Revokes that a pool is ready: the cluster does not match its spec yet.
pub fn set_progressing(recorded: &mut RecordedStatus, seen: &PoolFact, message: &str, at: Wall) {
    let Some(ready) = recorded.conditions.iter_mut().find(|one| *one.kind == *"Ready") else { return };
    if *ready.status == *"True" {
        *ready = condition(seen, "Ready", (false, "Progressing", message.to_owned()), at);
    }
}

/// Status, reason and message of a condition.
type ConditionValue = (bool, &'static str, String);

/// Whether a finding keeps a pool from doing what its spec says.
fn hinders(finding: &&PoolFinding) -> bool {
    finding.reason.rejects() || matches!(finding.reason, Reason::LocksOutSystem | Reason::NodeConflict)
}

fn ready(seen: &PoolFact, assessment: &PoolAssessment, status: &PoolStatus) -> ConditionValue {
    if seen.pool.leaving {
        let message = "it is being deleted: the controller removes its taints and labels from nodes";
        return (false, "Leaving", message.to_owned());
    }
    let findings: Vec<&PoolFinding> = assessment.findings.iter().filter(hinders).collect();
    match (findings.first(), assessment.validity) {
        (Some(first), _) => (false, first.reason.as_str(), joined(&findings)),
        (None, PoolValidity::Applied) if status.elsewhere > 0 => {
            let pods = if status.elsewhere == 1 { "pod runs" } else { "pods run" };
            let message = format!(
                "{} of its {pods} on nodes outside the pool: delete these older pods, or set placement: Allowed",
                status.elsewhere
            );
            (false, ELSEWHERE, message)
        }
        (None, PoolValidity::Applied) => (true, "Applied", "its nodes are dedicated".to_owned()),
        (None, PoolValidity::Frozen) => (false, "Frozen", "it takes no more nodes".to_owned()),
        (None, PoolValidity::Rejected) => {
            (false, "Refused", "it has no effect until it is corrected".to_owned())
        }
    }
}

fn offended(status: &PoolStatus) -> ConditionValue {
    match status.violations {
        0 => (false, "NoOffenders", "no pod on its nodes is known to be an offender".to_owned()),
        1 => (
            true,
            "Offenders",
            "pods that do not belong to the pool run on its nodes: see offenders".to_owned(),
        ),
        many => (
            true,
            "Offenders",
            format!("{many} pods that do not belong to the pool run on its nodes: see offenders"),
        ),
    }
}

fn advised(assessment: &PoolAssessment) -> ConditionValue {
    let findings: Vec<&PoolFinding> =
        assessment.findings.iter().filter(|finding| !hinders(finding)).collect();
    match findings.first() {
        Some(first) => (true, first.reason.as_str(), joined(&findings)),
        None => (false, "NoAdvice", "no finding".to_owned()),
    }
}

fn joined(findings: &[&PoolFinding]) -> String {
    let messages: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    messages.join("; ")
}
