//! Writes objects: every write is one transaction of the store, and goes through the steps in this file.
//!
//! - Canonical form, defaults, validation, patches and managed fields; the metadata that a server controls.

mod create;
mod delete;
mod eviction;
mod scale;
mod update;

pub use create::CreateResult;
pub use delete::{DeleteOptions, DeleteResult};
pub use eviction::{is_ready, set_condition};
pub(crate) use scale::of as scale_of;

use super::{AdmissionAttributes, ApiServer, FieldValidation, PatchBody, ResourcePath, WriteOptions};
use crate::api_status::StatusError;
use crate::canonicalize::{Canonical, CanonicalizeError, normal};
use crate::clock::VirtualClock;
use crate::patch::{self, FieldWriter};
use crate::resource::{ResourceType, Subresource};
use crate::schema::{Schema, TypeId};
use crate::store::{self, StoredObject};
use crate::{custom, defaults, field_error};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The longest prefix of a generated name.
const GENERATED_MAX: usize = 58;

impl ApiServer {
    fn run_admit(
        &self,
        attributes: &AdmissionAttributes<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), StatusError> {
        let mut plugins = self.shared.plugins.iter();
        plugins.try_for_each(|plugin| plugin.admit(attributes, object, warnings))
    }

    fn run_validate(
        &self,
        attributes: &AdmissionAttributes<'_>,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), StatusError> {
        let mut plugins = self.shared.plugins.iter();
        plugins.try_for_each(|plugin| plugin.validate(attributes, object, warnings))
    }
}

/// Canonicalizes an object by its type. An empty list of owners asks to drop all ownership, and canonicalization would
/// remove it.
fn typed(version: &str, kind: &str, body: Value) -> Result<Canonical, CanonicalizeError> {
    let forgets = body["metadata"]["managedFields"] == json!([]);
    let mut read = match custom::of_kind(version, kind) {
        Some(definition) => definition.read(body)?,
        None => normal(version, kind, body)?,
    };
    if forgets {
        metadata(&mut read.value).insert("managedFields".into(), json!([]));
    }
    Ok(read)
}

/// Reads a body as an object of the resource. Drops unknown fields, warns of them or rejects them; rejects wrong types.
fn read(
    resource: &ResourceType,
    body: Value,
    options: &WriteOptions,
) -> Result<(Value, Vec<String>), StatusError> {
    let rejected = |why: &dyn std::fmt::Display| {
        let (kind, version) = (resource.kind, resource.version);
        StatusError::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        ))
    };
    let read = typed(&resource.api_version(), resource.kind, body).map_err(|error| rejected(&error))?;
    match options.strictness {
        FieldValidation::Ignore => Ok((read.value, Vec::new())),
        FieldValidation::Strict if !read.unknown.is_empty() => {
            Err(rejected(&format_args!("strict decoding error: {}", read.unknown.join(", "))))
        }
        FieldValidation::Warn | FieldValidation::Strict => Ok((read.value, read.unknown)),
    }
}

/// Reads the result of a patch. What is wrong with it is the patch's fault.
fn read_patched(
    resource: &ResourceType,
    patched: Value,
    patch: &PatchBody,
    options: &WriteOptions,
) -> Result<(Value, Vec<String>), StatusError> {
    if matches!(patch, PatchBody::Apply(_)) {
        return read(resource, patched, options);
    }
    check_body(resource, &patched).and_then(|()| read(resource, patched, options)).map_err(|failure| {
        let message = format!("Invalid value: {}", failure.message);
        let cause = json!({"reason": "FieldValueInvalid", "message": message, "field": "patch"});
        StatusError::invalid("", "", "", &[format!("patch: {message}")], vec![cause])
    })
}

/// Adds the zero values that a real server writes, too.
///
/// # Errors
/// 500 for an object that does not fit its type: input from outside has been read, and rejected, before.
fn complete(body: Value) -> Result<Value, StatusError> {
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let complete = typed(&version, &kind, body);
    complete.map(|complete| complete.value).map_err(|error| StatusError::new(500, "InternalError", error.0))
}

/// Rejects an object with faults.
fn reject_invalid(
    resource: &ResourceType,
    object: &Value,
    errors: &[field_error::FieldError],
) -> Result<(), StatusError> {
    if errors.is_empty() {
        return Ok(());
    }
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    // Events are validated, and named, in the form in which they are stored.
    let group = if resource.kind == "Event" { "" } else { resource.group };
    Err(field_error::invalid(group, resource.kind, name, errors))
}

/// The warnings of a server about an object that it accepts.
fn warnings(resource: &ResourceType, body: &Value) -> Vec<String> {
    if custom::of(resource).is_none() {
        return Vec::new();
    }
    let names = body["metadata"]["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let known = ["kubernetes", "orphan", "foregroundDeletion"];
    let odd = names.filter(|name| !name.contains('/') && !known.contains(name));
    let words = |name| {
        format!(
            "metadata.finalizers: {name:?}: prefer a domain-qualified finalizer name to avoid accidental conflicts \
             with other finalizer writers"
        )
    };
    odd.map(words).collect()
}

/// Computes `managedFields`, whose times stay those of the last change. Server-side apply has set them already: then the
/// options name no manager.
fn track(
    resource: &ResourceType,
    old: Option<&Value>,
    body: &mut Value,
    options: &WriteOptions,
    sub: Option<Subresource>,
    clock: &VirtualClock,
) {
    if !options.manager.is_empty()
        && let Some(of) = type_of(resource, body)
    {
        let (now, version) = (clock.time_text(), resource.api_version());
        let subresource = sub.map_or("", Subresource::name);
        let writer = FieldWriter { manager: &options.manager, subresource, version: &version, now: &now };
        let mut fields = patch::track(old, body, of, &writer);
        if sub == Some(Subresource::Scale) {
            untime(&mut fields);
        }
        let metadata = metadata(body);
        match fields.is_null() {
            true => metadata.remove("managedFields"),
            false => metadata.insert("managedFields".into(), fields),
        };
    }
    if let Some(old) = old {
        patch::keep_times(old, body);
    }
}

/// Removes the times of the entries: a real server keeps none for what a Scale wrote.
fn untime(fields: &mut Value) {
    let lines = fields.as_array_mut().into_iter().flatten();
    for line in lines.filter(|line| line["subresource"] == "scale").filter_map(Value::as_object_mut) {
        line.remove("time");
    }
}

fn type_of(resource: &ResourceType, body: &Value) -> Option<TypeId> {
    let version = body["apiVersion"].as_str().map_or_else(|| resource.api_version(), String::from);
    Schema::get().kind(&version, resource.kind)
}

/// An object after a patch.
fn patched(
    resource: &ResourceType,
    on: &ResourcePath,
    live: Option<&Value>,
    patch: &PatchBody,
    options: &WriteOptions,
    clock: &VirtualClock,
) -> Result<Value, StatusError> {
    let nothing = Value::Null;
    let Some(of) = Schema::get().kind(&resource.api_version(), resource.kind) else {
        return Err(StatusError::no_such_path());
    };
    match patch {
        PatchBody::Apply(applied) => {
            let (now, version) = (clock.time_text(), resource.api_version());
            let subresource = on.sub.map_or("", Subresource::name);
            let writer = FieldWriter { manager: &options.manager, subresource, version: &version, now: &now };
            patch::apply(live, applied, of, &writer, options.force)
        }
        other => by_kind(live.unwrap_or(&nothing), other, of),
    }
}

fn by_kind(live: &Value, patch: &PatchBody, of: TypeId) -> Result<Value, StatusError> {
    match patch {
        PatchBody::Json(patch) => patch::json_patch(live, patch),
        PatchBody::Merge(patch) => patch::merge_patch(live, patch),
        PatchBody::Strategic(patch) | PatchBody::Apply(patch) => patch::strategic(live, patch, of),
    }
}

/// Whether a PUT creates a missing object of this kind.
fn made_by_update(resource: &ResourceType) -> bool {
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

/// Rejects a body that is not of the resource's kind.
pub(crate) fn check_body(resource: &ResourceType, object: &Value) -> Result<(), StatusError> {
    let is_custom = custom::of(resource).is_some();
    let value = |field: &str| object[field].as_str().unwrap_or_default();
    let fits = |value: &str, expected: &str| value == expected || value.is_empty() && !is_custom;
    let (version, kind, expected) = (value("apiVersion"), value("kind"), resource.api_version());
    if !fits(version, &expected) {
        return Err(StatusError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )));
    }
    if !fits(kind, resource.kind) {
        let why =
            format!("the kind in the data ({kind}) does not match the expected kind ({})", resource.kind);
        return Err(StatusError::bad_request(why));
    }
    Ok(())
}

/// Rejects a body whose name or namespace contradicts the path.
fn settle_place(resource: &ResourceType, on: &ResourcePath, body: &mut Value) -> Result<(), StatusError> {
    let metadata = metadata(body);
    let value = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    let place = if resource.namespaced { on.namespace.as_str() } else { "" };
    if resource.namespaced && !value.is_empty() && value != place {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(StatusError::bad_request(why));
    }
    match place {
        "" => metadata.remove("namespace"),
        place => metadata.insert("namespace".into(), json!(place)),
    };
    let value = metadata.get("name").and_then(Value::as_str).unwrap_or_default();
    if !on.name.is_empty() && value != on.name {
        if value.is_empty() {
            let why = format!(
                "the name of the object ({} based on URL) was undeterminable: name must be provided",
                on.name
            );
            return Err(StatusError::bad_request(why));
        }
        let why =
            format!("the name of the object ({value}) does not match the name on the URL ({})", on.name);
        return Err(StatusError::bad_request(why));
    }
    Ok(())
}

/// Sets the identity of a new object.
fn begin(resource: &ResourceType, body: &mut Value, server: &ApiServer) {
    let metadata = metadata(body);
    for field in ["selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion"] {
        metadata.remove(field);
    }
    let unnamed = metadata.get("name").and_then(Value::as_str).is_none_or(str::is_empty);
    let base = metadata.get("generateName").and_then(Value::as_str).unwrap_or_default();
    if unnamed && !base.is_empty() {
        let base: String = base.chars().take(GENERATED_MAX).collect();
        let namespace = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
        let suffix = server.ids().suffix(&format!("{}/{namespace}", resource.plural), &base);
        metadata.insert("name".into(), json!(format!("{base}{suffix}")));
    }
    metadata.insert("uid".into(), json!(server.ids().uid()));
    metadata.insert("creationTimestamp".into(), json!(server.clock().time_text()));
    defaults::generation(resource, None, body);
}

/// `metadata`, replaced by an object if it is not one.
fn metadata(body: &mut Value) -> &mut Map<String, Value> {
    if !body.is_object() {
        *body = json!({});
    }
    let slot = &mut body["metadata"];
    if !slot.is_object() {
        *slot = json!({});
    }
    match slot {
        Value::Object(map) => map,
        _ => unreachable!("it was made an object just now"),
    }
}

/// Whether an object is being deleted.
pub fn is_ending(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Whether a finalizer holds an object back from its removal.
pub fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty())
}

/// An object that is not stored.
fn unkept(value: &Value) -> Arc<StoredObject> {
    Arc::new(StoredObject { version: 0, uid: "".into(), json: store::bytes(value) })
}

/// The UID of the object that a body replaces, if the body names it.
fn check_uid(
    resource: &ResourceType,
    on: &ResourcePath,
    old: &StoredObject,
    body: &Value,
) -> Result<(), StatusError> {
    match body["metadata"]["uid"].as_str() {
        None | Some("") => Ok(()),
        Some(expected) if *expected == *old.uid => Ok(()),
        Some(expected) => {
            let why = format!(
                "Precondition failed: UID in precondition: {expected}, UID in object meta: {}",
                old.uid
            );
            Err(StatusError::conflict(resource, &on.name, &why))
        }
    }
}

#[cfg(test)]
mod tests;
