//! Builds the JSON Patch that changes managed taints of a node (NL-20, NL-45).
//!
//! - Invariant: it applies to exactly what was read and touches managed taints only (S8).

use super::node_bodies::NodeBody;
use crate::api::bodies::second_time;
use bytes::Bytes;
use serde_json::{Value, json};
use taintward_core::node_lifecycle::{ManagedTaint, ManagedTaints};
use taintward_core::time::Wall;

/// The tests name UID, version, and each taint that goes, whole. Taints go from the highest place down, so that no place
/// moves before it is used.
pub(super) fn patch(seen: &NodeBody, add: ManagedTaints, remove: ManagedTaints, at: Wall) -> Option<Bytes> {
    let remove = remove.without(add);
    let taints = seen.spec.as_ref().and_then(|spec| spec.taints.as_deref());
    let listed = taints.unwrap_or_default();
    let gone: Vec<(usize, &Value)> =
        listed.iter().enumerate().filter(|(_, taint)| is_one_of(taint, remove)).collect();
    let new: Vec<Value> = add
        .iter()
        .filter(|own| !listed.iter().any(|taint| is(taint, *own)))
        .map(|own| json!({ "key": own.key(), "effect": own.effect().as_str(), "timeAdded": second_time(at) }))
        .collect();
    if gone.is_empty() && new.is_empty() {
        return None;
    }
    let mut steps = vec![
        test("/metadata/uid".to_owned(), &json!(seen.metadata.uid)),
        test("/metadata/resourceVersion".to_owned(), &json!(seen.metadata.resource_version)),
    ];
    for (place, taint) in gone.into_iter().rev() {
        let path = format!("/spec/taints/{place}");
        steps.push(test(path.clone(), taint));
        steps.push(json!({ "op": "remove", "path": path }));
    }
    steps.extend(additions(seen.spec.is_some(), taints.is_some(), new));
    Some(Bytes::from(Value::Array(steps).to_string()))
}

/// Behind the last taint, or as the first ones.
fn additions(has_spec: bool, has_taints: bool, new: Vec<Value>) -> Vec<Value> {
    let add = |path: &str, value: Value| json!({ "op": "add", "path": path, "value": value });
    match (has_spec, has_taints) {
        _ if new.is_empty() => Vec::new(),
        (_, true) => new.into_iter().map(|taint| add("/spec/taints/-", taint)).collect(),
        (true, false) => vec![add("/spec/taints", Value::Array(new))],
        (false, false) => vec![add("/spec", json!({ "taints": new }))],
    }
}

fn test(path: String, value: &Value) -> Value {
    json!({ "op": "test", "path": path, "value": value })
}

/// Key and effect agree; the value does not matter (NL-6).
fn is(taint: &Value, own: ManagedTaint) -> bool {
    taint["key"] == own.key() && taint["effect"] == own.effect().as_str()
}

fn is_one_of(taint: &Value, owns: ManagedTaints) -> bool {
    owns.iter().any(|own| is(taint, own))
}
