//! Counts from the audit log how many pods of an app were healthy at each moment, without code of the program.

use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use taintward_envtest::audit::AuditEntry;

/// What an audit entry does to the number of healthy pods.
enum Change {
    Ready,
    Leaves,
}

/// The smallest number of healthy pods after the largest was reached, by the writes of the app's pods. A pod is healthy
/// from the write that made it ready, until its accepted eviction or deletion arrived.
pub(super) fn lowest_healthy(record: &[Arc<AuditEntry>]) -> u64 {
    let mut changes: Vec<(Timestamp, &str, Change)> = record
        .iter()
        .filter_map(|entry| Some((change(entry)?, entry)))
        .map(|(change, entry)| {
            let at = match change {
                Change::Ready => entry.received,
                Change::Leaves => entry.completed,
            };
            (at, &*entry.name, change)
        })
        .collect();
    changes.sort_by_key(|(at, ..)| *at);
    let (mut healthy, mut most, mut lowest) = (BTreeSet::new(), 0, u64::MAX);
    for (_, name, change) in changes {
        match change {
            Change::Ready => _ = healthy.insert(name),
            Change::Leaves => _ = healthy.remove(name),
        }
        let now = u64::try_from(healthy.len()).unwrap();
        if now > most {
            (most, lowest) = (now, now);
        }
        lowest = lowest.min(now);
    }
    lowest
}

fn change(entry: &AuditEntry) -> Option<Change> {
    if !(200..300).contains(&entry.code) {
        return None;
    }
    match (&*entry.resource, &*entry.verb) {
        ("pods/eviction", "create") | ("pods", "delete") => Some(Change::Leaves),
        ("pods/status", "patch" | "update") => is_ready(&entry.response).then_some(Change::Ready),
        _ => None,
    }
}

fn is_ready(pod: &Value) -> bool {
    let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    let ready = |one: &Value| one["type"] == "Ready" && one["status"] == "True";
    pod["metadata"]["deletionTimestamp"].is_null() && conditions.any(ready)
}
