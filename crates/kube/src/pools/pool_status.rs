//! Builds the merge patch of the status of a pool.
//!
//! - Invariant: it applies only to the version that was read, and names every field that earlier versions wrote.

use crate::status_condition::condition;
use bytes::Bytes;
use serde_json::{Value, json};
use taintward_core::admission::pool::{AppliedMark, NamedPod};
use taintward_core::dedicated_pools::{PoolFact, RecordedStatus};

/// Returns the merge patch that gives the status this content; `None` if nothing changes.
pub fn status_patch(seen: &PoolFact, recorded: &RecordedStatus, past: &[AppliedMark]) -> Option<Bytes> {
    if seen.has_recorded(recorded, past) {
        return None;
    }
    let mut metadata = json!({ "uid": seen.uid.to_string() });
    if let Some(version) = seen.version {
        metadata["resourceVersion"] = json!(version.to_string());
    }
    let counts = &recorded.status;
    let status = json!({
        "observedGeneration": recorded.observed,
        "standing": counts.validity.as_str(),
        "nodeNames": counts.members,
        "nodes": counts.nodes,
        "conflicts": counts.conflicts,
        "pods": counts.pods,
        "elsewhere": counts.elsewhere,
        "exempt": counts.exempt,
        "exemptPods": counts.exempt_pods.iter().map(named).collect::<Vec<_>>(),
        "unknown": counts.unknown,
        "offenderCount": counts.violations,
        "offenders": counts.violating_pods.iter().map(named).collect::<Vec<_>>(),
        "past": past.iter().map(mark).collect::<Vec<_>>(),
        "conditions": recorded.conditions.iter().map(condition).collect::<Vec<_>>(),
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
