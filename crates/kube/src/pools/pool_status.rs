//! # Status of a pool
//! Room:     conditions, from how a pool stands and what its author should know; the merge patch of its status.
//! Comes in: the pool as it was read; the core's assessment, counts and memory.
//! Goes out: [`RecordedStatus`]; a patch, or none where the status says just that.
//! Keeps:    the patch applies to the version that was read only, and names every field that it once wrote.
//! Not here: reading it (`decode/json/status.rs`); sending, to the subresource `status`.

use crate::api::second_time;
use crate::decode::{PoolCondition, PoolObject, RecordedStatus};
use bytes::Bytes;
use serde_json::{Value, json};
use taintward_core::admission::pool::{
    AppliedMark, NamedPod, PoolAssessment, PoolFinding, PoolStatus, PoolValidity, Reason,
};
use taintward_core::time::Wall;

/// The reason of the condition `Ready` while pods of an exclusive pool run on other nodes.
pub const ELSEWHERE: &str = "PodsElsewhere";

/// The longest message of a condition, in characters.
const MESSAGE_MOST: usize = 4_096;

/// What to tell of a pool. A condition that has the status it had has had it since then.
pub fn told(seen: &PoolObject, assessment: &PoolAssessment, status: PoolStatus, at: Wall) -> RecordedStatus {
    let before = seen.recorded.as_ref().map(|told| told.conditions.as_slice()).unwrap_or_default();
    let conditions = [
        ("Ready", ready(seen, assessment, &status)),
        ("Offended", offended(&status)),
        ("Advised", advised(assessment)),
    ];
    let conditions = conditions.into_iter().map(|(kind, (is, reason, message))| {
        let status = if is { "True" } else { "False" };
        let same = before.iter().find(|one| *one.kind == *kind && *one.status == *status);
        PoolCondition {
            kind: kind.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.chars().take(MESSAGE_MOST).collect::<String>().into(),
            since: same.map_or(whole_second(at), |one| one.since),
            observed: seen.generation,
        }
    });
    let conditions = conditions.collect();
    // Who is to be evicted is nothing to tell: it is done.
    let status = PoolStatus { evicted: Vec::new(), ..status };
    RecordedStatus { observed: seen.generation, conditions, status }
}

/// Takes back that a pool is ready: something that its spec says is still to be done.
pub fn progressing(told: &mut RecordedStatus, seen: &PoolObject, message: &str, at: Wall) {
    let before = seen.recorded.as_ref().map(|told| told.conditions.as_slice()).unwrap_or_default();
    let Some(ready) = told.conditions.iter_mut().find(|one| *one.kind == *"Ready") else { return };
    if *ready.status != *"True" {
        return;
    }
    let same = before.iter().find(|one| one.kind == ready.kind && *one.status == *"False");
    ready.since = same.map_or(whole_second(at), |one| one.since);
    (ready.status, ready.reason) = ("False".into(), "Progressing".into());
    ready.message = message.chars().take(MESSAGE_MOST).collect::<String>().into();
}

/// Status, reason and message of a condition.
type ConditionValue = (bool, &'static str, String);

/// Whether a finding keeps a pool from doing what its spec says.
fn hinders(finding: &&PoolFinding) -> bool {
    finding.reason.refuses() || matches!(finding.reason, Reason::LocksOutSystem | Reason::NodeConflict)
}

fn ready(seen: &PoolObject, assessment: &PoolAssessment, status: &PoolStatus) -> ConditionValue {
    if seen.pool.leaving {
        return (false, "Leaving", "it is being deleted, and its nodes are given back".to_owned());
    }
    let findings: Vec<&PoolFinding> = assessment.findings.iter().filter(hinders).collect();
    match (findings.first(), assessment.standing) {
        (Some(first), _) => (false, first.reason.as_str(), joined(&findings)),
        (None, PoolValidity::Applied) if status.elsewhere > 0 => {
            let pods = if status.elsewhere == 1 { "pod runs" } else { "pods run" };
            let message = format!(
                "{} of its {pods} on nodes that are not its own: delete what was there before the pool, or set placement: \
                 Allowed",
                status.elsewhere
            );
            (false, ELSEWHERE, message)
        }
        (None, PoolValidity::Applied) => (true, "Applied", "its nodes are dedicated".to_owned()),
        (None, PoolValidity::Frozen) => (false, "Frozen", "it takes no more nodes".to_owned()),
        (None, PoolValidity::Refused) => {
            (false, "Refused", "it does nothing until it is corrected".to_owned())
        }
    }
}

fn offended(status: &PoolStatus) -> ConditionValue {
    match status.offenders {
        0 => (false, "NoOffenders", "no pods of others are known to be on its nodes".to_owned()),
        1 => (true, "Offenders", "a pod of somebody else is on its nodes: see offenders".to_owned()),
        many => (true, "Offenders", format!("{many} pods of others are on its nodes: see offenders")),
    }
}

fn advised(assessment: &PoolAssessment) -> ConditionValue {
    let findings: Vec<&PoolFinding> =
        assessment.findings.iter().filter(|finding| !hinders(finding)).collect();
    match findings.first() {
        Some(first) => (true, first.reason.as_str(), joined(&findings)),
        None => (false, "NoAdvice", "nothing to say".to_owned()),
    }
}

fn joined(findings: &[&PoolFinding]) -> String {
    let messages: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
    messages.join("; ")
}

/// As it can be written, so that what is read back is equal.
fn whole_second(at: Wall) -> Wall {
    Wall::from_secs(at.as_micros().div_euclid(1_000_000))
}

/// The merge patch that makes the status say this; `None` if it does.
pub fn status_patch(seen: &PoolObject, told: &RecordedStatus, past: &[AppliedMark]) -> Option<Bytes> {
    if seen.recorded.as_ref() == Some(told) && seen.pool.applied_marks == past {
        return None;
    }
    let mut metadata = json!({ "uid": seen.uid.to_string() });
    if let Some(version) = seen.version {
        metadata["resourceVersion"] = json!(version.to_string());
    }
    let counts = &told.status;
    let status = json!({
        "observedGeneration": told.observed,
        "standing": counts.standing.as_str(),
        "nodeNames": counts.members,
        "nodes": counts.nodes,
        "conflicts": counts.conflicts,
        "pods": counts.pods,
        "elsewhere": counts.elsewhere,
        "exempt": counts.exempt,
        "exemptPods": counts.exempt_pods.iter().map(named).collect::<Vec<_>>(),
        "unknown": counts.unknown,
        "offenderCount": counts.offenders,
        "offenders": counts.offending_pods.iter().map(named).collect::<Vec<_>>(),
        "past": past.iter().map(mark).collect::<Vec<_>>(),
        "conditions": told.conditions.iter().map(condition).collect::<Vec<_>>(),
    });
    Some(Bytes::from(json!({ "metadata": metadata, "status": status }).to_string()))
}

fn named(one: &NamedPod) -> Value {
    let (namespace, name) = (one.pod.namespace(), one.pod.name());
    json!({ "namespace": namespace, "name": name, "node": one.node, "message": one.message })
}

fn mark(mark: &AppliedMark) -> Value {
    match mark {
        AppliedMark::Taint { key, value, effect } => {
            json!({ "kind": "Taint", "key": key, "value": value, "effect": effect.as_str() })
        }
        AppliedMark::Label { key, value } => json!({ "kind": "Label", "key": key, "value": value }),
    }
}

fn condition(one: &PoolCondition) -> Value {
    json!({
        "type": one.kind,
        "status": one.status,
        "reason": one.reason,
        "message": one.message,
        "lastTransitionTime": second_time(one.since),
        "observedGeneration": one.observed,
    })
}
