//! Deletes one object or a collection: grace periods, finalizers, dependents.
//!
//! - Invariant: no object is removed while it has a finalizer; a bound pod is removed after its kubelet has ended the
//!   grace period.

use super::{is_ending, is_held, metadata, unkept};
use crate::api::{ApiServer, Propagation, ResourcePath, WriteOptions};
use crate::api_status::StatusError;
use crate::resource::ResourceType;
use crate::store::{StoredObject, Transaction};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::sync::Arc;

/// The grace period of a pod that names none.
const POD_GRACE: i64 = 30;

/// Namespaces that cannot be deleted.
const IMMORTAL: [&str; 3] = ["default", "kube-system", "kube-public"];

/// How to delete an object.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    /// Deletes only the object with this UID.
    pub uid: Option<String>,
    /// Deletes only this version of it.
    pub version: Option<String>,
    /// Overrides the object's own grace period.
    pub grace: Option<i64>,
    /// What happens to its dependents.
    pub propagation: Option<Propagation>,
}

/// The result of a deletion.
#[derive(Clone, Debug)]
pub struct DeleteResult {
    /// The last state if it is gone, otherwise the present state.
    pub object: Arc<StoredObject>,
    /// Whether the object is gone.
    pub gone: bool,
}

impl ApiServer {
    /// Deletes an object.
    ///
    /// # Errors
    /// 404; 409 if a precondition does not hold.
    pub fn delete(
        &self,
        on: &ResourcePath,
        how: &DeleteOptions,
        options: &WriteOptions,
    ) -> Result<DeleteResult, StatusError> {
        self.store().write(|txn| self.delete_in(txn, on, how, options))
    }

    pub(super) fn delete_in(
        &self,
        txn: &mut Transaction<'_>,
        on: &ResourcePath,
        how: &DeleteOptions,
        options: &WriteOptions,
    ) -> Result<DeleteResult, StatusError> {
        let resource = on.number.get();
        if resource.kind == "Namespace" && IMMORTAL.contains(&on.name.as_str()) {
            return Err(StatusError::forbidden(resource, &on.name, "this namespace may not be deleted"));
        }
        let Some(old) = txn.get(on.number, &on.key()) else {
            return Err(StatusError::not_found(resource, &on.name));
        };
        let before = old.value();
        check(resource, on, how, &old, &before)?;
        let Some(after) = ending(resource, &before, how, self.clock().now()) else {
            return Ok(DeleteResult { object: old, gone: false });
        };
        let grace = after["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        let stays = grace > 0 || is_held(&after) || is_namespace_in_use(resource, &after);
        // Only pods get a deletion timestamp before they are removed, however short their grace period is.
        let is_pod = resource.kind == "Pod";
        let object = match (options.dry_run, stays) {
            (true, false) if !is_pod => old,
            (true, _) => unkept(&after),
            (false, true) if after == before => old,
            (false, true) => txn.put(on.number, &on.key(), after),
            (false, false) if is_pod => {
                let last = txn.put(on.number, &on.key(), after);
                txn.remove(on.number, &on.key(), last.value());
                last
            }
            (false, false) => {
                txn.remove(on.number, &on.key(), before);
                old
            }
        };
        Ok(DeleteResult { object, gone: !stays })
    }
}

fn is_namespace_in_use(resource: &ResourceType, object: &Value) -> bool {
    resource.kind == "Namespace"
        && object["spec"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty())
}

fn check(
    resource: &ResourceType,
    on: &ResourcePath,
    how: &DeleteOptions,
    old: &StoredObject,
    before: &Value,
) -> Result<(), StatusError> {
    let version = before["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    let fails = |field: &str, expected: &str, is: &str, perhaps: &str| {
        let mut details = json!({"name": on.name, "kind": resource.kind});
        if !resource.group.is_empty() {
            details["group"] = json!(resource.group);
        }
        let message = format!(
            "Operation cannot be fulfilled on {} \"{}\": the {field} in the precondition ({expected}) does not match the \
             {field} in record ({is}). The object might have been {perhaps}",
            resource.qualified_kind(),
            on.name
        );
        Err(StatusError::new(409, "Conflict", message).with(details))
    };
    match (&how.uid, &how.version) {
        (Some(uid), _) if **uid != *old.uid => fails("UID", uid, &old.uid, "deleted and then recreated"),
        (_, Some(expected)) if expected != version => fails("ResourceVersion", expected, version, "modified"),
        _ => Ok(()),
    }
}

/// The object with its deletion timestamp; `None` if it has one already.
fn ending(resource: &ResourceType, before: &Value, how: &DeleteOptions, now: Timestamp) -> Option<Value> {
    let mut after = before.clone();
    let grace = grace(resource, before, how);
    settle_dependents(&mut after, how.propagation);
    if is_ending(before) {
        let running = before["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        if grace >= running && grace > 0 {
            return None;
        }
    }
    let began = match before["metadata"]["deletionTimestamp"].as_str() {
        // A second deletion keeps the start of the first.
        Some(end) => {
            let running = before["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
            let end: Option<Timestamp> = end.parse().ok();
            end.and_then(|end| end.checked_sub(SignedDuration::from_secs(running)).ok()).unwrap_or(now)
        }
        None => now,
    };
    let end = began.checked_add(SignedDuration::from_secs(grace)).unwrap_or(Timestamp::MAX);
    let fields = metadata(&mut after);
    fields.insert("deletionTimestamp".into(), json!(crate::clock::time_text(end)));
    fields.insert("deletionGracePeriodSeconds".into(), json!(grace));
    if !is_ending(before)
        && let Some(generation) = before["metadata"]["generation"].as_i64()
    {
        fields.insert("generation".into(), json!(generation + 1));
    }
    if resource.kind == "Namespace" {
        after["status"]["phase"] = json!("Terminating");
    }
    Some(after)
}

/// Only pods that may be running somewhere have a grace period.
fn grace(resource: &ResourceType, object: &Value, how: &DeleteOptions) -> i64 {
    if resource.kind != "Pod" {
        return 0;
    }
    let unbound = object["spec"]["nodeName"].as_str().is_none_or(str::is_empty);
    if unbound || matches!(object["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
        return 0;
    }
    let own = object["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(POD_GRACE);
    // A negative number means one second.
    match how.grace.unwrap_or(own) {
        negative if negative < 0 => 1,
        grace => grace,
    }
}

/// Sets the finalizers that keep the object until its dependents are handled.
fn settle_dependents(object: &mut Value, propagation: Option<Propagation>) {
    let wanted = match propagation {
        Some(Propagation::Foreground) => Some("foregroundDeletion"),
        Some(Propagation::Orphan) => Some("orphan"),
        Some(Propagation::Background) => None,
        None => return,
    };
    let fields = metadata(object);
    let mut finalizers = fields.get("finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    finalizers.retain(|one| !["foregroundDeletion", "orphan"].contains(&one.as_str().unwrap_or_default()));
    finalizers.extend(wanted.map(|wanted| json!(wanted)));
    match finalizers.is_empty() {
        true => fields.remove("finalizers"),
        false => fields.insert("finalizers".into(), Value::Array(finalizers)),
    };
}
