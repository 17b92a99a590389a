//! # Rules: what each resource's objects must be
//! Room:     the one place where the verbs meet normal form, defaults, validation, patches and managed fields.
//! Comes in: bodies and patches.
//! Goes out: bodies as a real server keeps them, or a refusal.
//! Not here: the rules themselves.

use super::{On, Patch, Strictness, Wish};
use crate::clock::Clock;
use crate::failure::Failure;
use crate::resource::{Resource, Sub};
use serde_json::{Value, json};

pub(super) fn read(resource: &Resource, body: Value, _: Strictness) -> Result<(Value, Vec<String>), Failure> {
    let mut body = body;
    body["apiVersion"] = json!(resource.api_version());
    body["kind"] = json!(resource.kind);
    Ok((body, Vec::new()))
}

pub(super) fn begin(_: &Resource, _: &mut Value) {}

pub(super) fn again(_: &Resource, _: &Value, _: &mut Value) {}

pub(super) fn check_new(_: &Resource, _: &Value) -> Result<(), Failure> {
    Ok(())
}

pub(super) fn check_changed(_: &Resource, _: Option<Sub>, _: &Value, _: &Value) -> Result<(), Failure> {
    Ok(())
}

pub(super) fn generation(_: &Resource, _: Option<&Value>, _: &mut Value) {}

pub(super) fn track(_: &Resource, _: Option<&Value>, _: &mut Value, _: &Wish, _: Option<Sub>, _: &Clock) {}

pub(super) fn patched(
    _: &Resource,
    _: &On,
    live: Option<&Value>,
    patch: &Patch,
    _: &Wish,
    _: &Clock,
) -> Result<Value, Failure> {
    let (Patch::Json(patch) | Patch::Merge(patch) | Patch::Strategic(patch) | Patch::Apply(patch)) = patch;
    let mut object = live.cloned().unwrap_or_default();
    merge(&mut object, patch);
    Ok(object)
}

fn merge(object: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *object = patch.clone();
        return;
    };
    for (key, value) in patch {
        match value {
            Value::Null => _ = object.as_object_mut().map(|map| map.remove(key)),
            value => merge(&mut object[key], value),
        }
    }
}

/// Kinds that a PUT makes where they are not there yet.
pub(super) fn made_by_update(resource: &Resource) -> bool {
    matches!(
        resource.kind,
        "Lease"
            | "Event"
            | "Endpoints"
            | "LimitRange"
            | "PriorityClass"
            | "Role"
            | "RoleBinding"
            | "ClusterRole"
            | "ClusterRoleBinding"
    )
}

/// Kinds of which an update must say which version it was made from.
pub(super) fn needs_version(resource: &Resource) -> bool {
    matches!(resource.kind, "Lease" | "PodDisruptionBudget" | "HorizontalPodAutoscaler" | "EndpointSlice")
}

pub(super) fn no_version(resource: &Resource, name: &str) -> Failure {
    let why = "must be specified for an update";
    let message = format!("metadata.resourceVersion: Invalid value: 0: {why}");
    let cause = json!({
        "reason": "FieldValueInvalid", "message": format!("Invalid value: 0: {why}"), "field": "metadata.resourceVersion",
    });
    Failure::invalid(resource.group, resource.kind, name, &[message], vec![cause])
}

/// What an update of the status leaves alone, beside metadata.
pub(super) fn outside_status(_: &Resource) -> [&'static str; 1] {
    ["spec"]
}

/// Pods and nodes take labels and annotations with their status.
pub(super) fn status_may_change_metadata(_: &Resource) -> bool {
    true
}

pub(super) fn patched_scale(scale: &Value, patch: &Patch) -> Result<Value, Failure> {
    let (Patch::Json(patch) | Patch::Merge(patch) | Patch::Strategic(patch) | Patch::Apply(patch)) = patch;
    let mut object = scale.clone();
    merge(&mut object, patch);
    Ok(object)
}
