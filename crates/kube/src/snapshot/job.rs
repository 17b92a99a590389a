//! Converts JSON of Jobs, and the index of a Job's pod, to the records of a cluster snapshot.

use super::broken;
use crate::decode::{DecodeError, read_json};
use crate::wire::{
    CappedList, Fields, JobConditionJson, JobJson, JobStatusJson, PodFailureRuleJson, Text, member_at,
    members,
};
use taintward_core::cluster_snapshot::{
    FailureAction, FailureMatch, JobIndex, JobPhase, JobRecord, PodFailureRule,
};

/// The annotations of a pod that a Job counts by index.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";

/// The condition of evicted pods.
const DISRUPTION: &str = "DisruptionTarget";

/// The API's default of `spec.backoffLimit` without `spec.backoffLimitPerIndex`.
const BACKOFF_LIMIT: u32 = 6;

/// The conditions of a Job that has ended, or is about to.
const ENDS: [&str; 4] = ["Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"];

/// Converts a Job for the snapshot. Jobs without a namespace are placed in `home`.
///
/// # Errors
/// Why the Job is invalid.
pub fn job(json: &[u8], home: &str) -> Result<JobRecord, DecodeError> {
    let JobJson { metadata: Fields(metadata), spec: Fields(spec), status: Fields(status) } =
        read_json(json).map_err(broken)?;
    let CappedList(rules) = spec.pod_failure_policy.unwrap_or_default().0.rules;
    let has_ended =
        |condition: &JobConditionJson<'_>| *condition.status == *"True" && ENDS.contains(&&*condition.kind);
    let phase = match () {
        () if metadata.deletion_timestamp.is_some() || status.conditions.iter().any(has_ended) => {
            JobPhase::Finished
        }
        () if spec.suspend == Some(true) => JobPhase::Suspended,
        () => JobPhase::Active,
    };
    let by_default = spec.backoff_limit_per_index.is_none().then_some(BACKOFF_LIMIT);
    let namespace = if metadata.namespace.is_empty() { home } else { &metadata.namespace };
    Ok(JobRecord {
        namespace: namespace.into(),
        name: (&metadata.name).into(),
        rules: rules.iter().map(rule).collect(),
        // The API server writes the largest number for no limit.
        backoff_limit: spec.backoff_limit.or(by_default).filter(|limit| *limit < i32::MAX as u32),
        backoff_limit_per_index: spec.backoff_limit_per_index,
        max_failed_indexes: spec.max_failed_indexes,
        failed: failed(&status),
        failed_indexes: counted(&status.failed_indexes),
        phase,
    })
}

fn rule(rule: &PodFailureRuleJson<'_>) -> PodFailureRule {
    let is_disruption = |condition: &JobConditionJson<'_>| {
        *condition.kind == *DISRUPTION && matches!(&*condition.status, "True" | "")
    };
    let matches = match () {
        () if rule.on_exit_codes.is_some() => FailureMatch::ExitCodes,
        () if rule.on_pod_conditions.iter().any(is_disruption) => FailureMatch::Disruption,
        () => FailureMatch::OtherConditions,
    };
    let action = match &*rule.action {
        "FailJob" => FailureAction::FailJob,
        "FailIndex" => FailureAction::FailIndex,
        "Ignore" => FailureAction::Ignore,
        "Count" => FailureAction::Count,
        _ => FailureAction::Unknown,
    };
    PodFailureRule { matches, action }
}

/// Failures, with those that the Job controller has seen and not counted yet.
fn failed(status: &JobStatusJson<'_>) -> u32 {
    let uncounted = status.uncounted_terminated_pods.as_ref().map_or(0, |pods| pods.failed.0.len());
    status.failed.unwrap_or_default().saturating_add(u32::try_from(uncounted).unwrap_or(u32::MAX))
}

/// How many numbers a list such as `0,2-4` has.
fn counted(list: &str) -> u32 {
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let interval = |text: &str| {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        Some(number(last)?.checked_sub(number(first)?)?.saturating_add(1))
    };
    list.split(',').filter_map(interval).fold(0, u32::saturating_add)
}

/// Returns the index of a Job's pod: that of its annotations, or of its name `JOB-INDEX-SUFFIX` in a file without them.
pub(super) fn index(json: &[u8], job: &str, pod: &str) -> Option<JobIndex> {
    annotated(json).or_else(|| {
        let (index, _) = pod.strip_prefix(job)?.strip_prefix('-')?.split_once('-')?;
        Some(JobIndex { index: index.parse().ok()?, failures: 0 })
    })
}

/// Reads the index of a pod from its annotations.
fn annotated(json: &[u8]) -> Option<JobIndex> {
    let annotations = member_at(json, &["metadata", "annotations"])?;
    let found = members(annotations.get().as_bytes(), [INDEX, INDEX_FAILURES]);
    let [index, failures] = found.map(|value| {
        let text: Text<'_> = serde_json::from_str(value?.get()).ok()?;
        text.parse().ok()
    });
    Some(JobIndex { index: index?, failures: failures.unwrap_or(0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(spec: &str, status: &str) -> JobRecord {
        let json = format!(r#"{{"metadata": {{"name": "a"}}, "spec": {spec}, "status": {status}}}"#);
        job(json.as_bytes(), "home").unwrap()
    }

    #[test]
    fn limits_have_the_defaults_of_the_api() {
        let read = |spec| read(spec, "{}");
        assert_eq!(read("{}").backoff_limit, Some(6));
        assert_eq!(read(r#"{"backoffLimit": 0}"#).backoff_limit, Some(0));
        let indexed = read(r#"{"backoffLimitPerIndex": 2, "maxFailedIndexes": 3}"#);
        assert_eq!((indexed.backoff_limit, indexed.backoff_limit_per_index), (None, Some(2)));
        assert_eq!(indexed.max_failed_indexes, Some(3));
        let stored = read(r#"{"backoffLimitPerIndex": 2, "backoffLimit": 2147483647}"#);
        assert_eq!(stored.backoff_limit, None);
        assert_eq!((&*stored.namespace, &*stored.name), ("home", "a"));
    }

    #[test]
    fn rules_are_read_in_order() {
        let spec = r#"{"podFailurePolicy": {"rules": [
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
            {"action": "FailJob", "onPodConditions": [{"type": "Ready"}, {"type": "DisruptionTarget", "status": "True"}]},
            {"action": "Count", "onPodConditions": [{"type": "DisruptionTarget", "status": "False"}]},
            {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [1]}},
            {"action": "Retry", "onPodConditions": null}]}}"#;
        let rules = read(spec, "{}").rules.into_iter().map(|rule| (rule.matches, rule.action));
        let expected = [
            (FailureMatch::Disruption, FailureAction::Ignore),
            (FailureMatch::Disruption, FailureAction::FailJob),
            (FailureMatch::OtherConditions, FailureAction::Count),
            (FailureMatch::ExitCodes, FailureAction::FailIndex),
            (FailureMatch::OtherConditions, FailureAction::Unknown),
        ];
        assert_eq!(rules.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn failures_and_failed_indexes_are_counted() {
        let status =
            r#"{"failed": 2, "failedIndexes": "0,2-4,7", "uncountedTerminatedPods": {"failed": ["u", "v"]}}"#;
        let read = read("{}", status);
        assert_eq!((read.failed, read.failed_indexes, read.phase), (4, 5, JobPhase::Active));
        assert_eq!([counted(""), counted("x"), counted("4-2"), counted("3")], [0, 0, 0, 1]);
    }

    #[test]
    fn a_job_that_has_ended_or_is_suspended_creates_no_pods() {
        let phase = |spec, status| read(spec, status).phase;
        let ended = r#"{"conditions": [{"type": "FailureTarget", "status": "True"}]}"#;
        let not_yet = r#"{"conditions": [{"type": "Failed", "status": "False"}]}"#;
        assert_eq!(phase("{}", ended), JobPhase::Finished);
        assert_eq!(phase("{}", not_yet), JobPhase::Active);
        assert_eq!(phase(r#"{"suspend": true}"#, "{}"), JobPhase::Suspended);
        let deleted = br#"{"metadata": {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}}"#;
        assert_eq!(job(deleted, "").unwrap().phase, JobPhase::Finished);
        assert!(job(br#"{"spec": {"backoffLimit": "six"}}"#, "").is_err());
    }

    #[test]
    fn the_index_of_a_pod_is_in_its_annotations_or_its_name() {
        let index = |json| index(json, "a", "a-7d4b9");
        let pod = br#"{"metadata": {"annotations": {"batch.kubernetes.io/job-completion-index": "3",
            "batch.kubernetes.io/job-index-failure-count": "1"}}}"#;
        assert_eq!(index(pod), Some(JobIndex { index: 3, failures: 1 }));
        let first = br#"{"metadata": {"annotations": {"batch.kubernetes.io/job-completion-index": "0"}}}"#;
        assert_eq!(index(first), Some(JobIndex { index: 0, failures: 0 }));
        for none in [
            &br#"{"metadata": {"annotations": {"batch.kubernetes.io/job-completion-index": 3}}}"#[..],
            br#"{"metadata": {"annotations": null}}"#,
            b"{}",
        ] {
            assert_eq!(index(none), None);
        }
        let named = |pod| super::index(b"{}", "a-b", pod).map(|found| found.index);
        assert_eq!([named("a-b-4-7d4b9"), named("a-b-7d4b9"), named("a-4-7d4b9")], [Some(4), None, None]);
    }
}
