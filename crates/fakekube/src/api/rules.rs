//! Applies canonical form, defaults, validation, patches and managed fields to the objects of each resource.

use super::{FieldValidation, PatchBody, ResourcePath, WriteOptions, kind, meta};
use crate::api_status::StatusError;
use crate::canonicalize::{Canonical, CanonicalizeError, normal};
use crate::clock::VirtualClock;
use crate::defaults::AdmissionDefaults;
use crate::patch::{self, FieldWriter};
use crate::resource::{ResourceType, Subresource};
use crate::schema::{Schema, TypeId};
use crate::{custom, defaults, validate};
use serde_json::{Value, json};

/// An object through its type. An empty list of owners is a wish to forget them, and would not come back from there.
fn typed(version: &str, kind: &str, body: Value) -> Result<Canonical, CanonicalizeError> {
    let forgets = body["metadata"]["managedFields"] == json!([]);
    let mut read = match custom::of_kind(version, kind) {
        Some(definition) => definition.read(body)?,
        None => normal(version, kind, body)?,
    };
    if forgets {
        meta::metadata(&mut read.value).insert("managedFields".into(), json!([]));
    }
    Ok(read)
}

/// Reads a body as what the resource is: unknown fields dropped, warned of or refused; wrong types refused.
pub(super) fn read(
    resource: &ResourceType,
    body: Value,
    wish: &WriteOptions,
) -> Result<(Value, Vec<String>), StatusError> {
    let refused = |why: &dyn std::fmt::Display| {
        let (kind, version) = (resource.kind, resource.version);
        StatusError::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
        ))
    };
    let read = typed(&resource.api_version(), resource.kind, body).map_err(|fault| refused(&fault))?;
    match wish.strictness {
        FieldValidation::Ignore => Ok((read.value, Vec::new())),
        FieldValidation::Strict if !read.unknown.is_empty() => {
            Err(refused(&format_args!("strict decoding error: {}", read.unknown.join(", "))))
        }
        FieldValidation::Warn | FieldValidation::Strict => Ok((read.value, read.unknown)),
    }
}

fn is_custom(resource: &ResourceType) -> bool {
    custom::of(resource.group, resource.plural).is_some()
}

/// A body with the values for what it leaves out.
pub(super) fn defaulted(resource: &ResourceType, mut body: Value) -> Value {
    defaults::apply_defaults(resource.group, resource.plural, &mut body);
    body
}

/// Reads what a patch made of an object. What is wrong with it is the patch's fault.
pub(super) fn read_patched(
    resource: &ResourceType,
    patched: Value,
    patch: &PatchBody,
    wish: &WriteOptions,
) -> Result<(Value, Vec<String>), StatusError> {
    if matches!(patch, PatchBody::Apply(_)) {
        return read(resource, patched, wish);
    }
    kind::check_body(resource, &patched).and_then(|()| read(resource, patched, wish)).map_err(|failure| {
        let message = format!("Invalid value: {}", failure.message);
        let cause = json!({"reason": "FieldValueInvalid", "message": message, "field": "patch"});
        StatusError::invalid("", "", "", &[format!("patch: {message}")], vec![cause])
    })
}

/// What a new object is given.
pub(super) fn begin(resource: &ResourceType, body: &mut Value, admission: AdmissionDefaults) {
    defaults::on_create(resource.group, resource.plural, body, admission);
}

/// What a changed object is given, and what of it stays as it was.
pub(super) fn again(
    resource: &ResourceType,
    sub: Option<Subresource>,
    old: &Value,
    body: &mut Value,
    admission: AdmissionDefaults,
) {
    let place = (resource.group, resource.plural, sub.map_or("", Subresource::name));
    defaults::on_update(place, old, body, admission);
}

/// The zero values that a real server writes, too.
///
/// # Errors
/// 500 for what does not fit its type: whatever comes from outside was read, and refused, before.
pub(super) fn complete(body: Value) -> Result<Value, StatusError> {
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let complete = typed(&version, &kind, body);
    complete.map(|complete| complete.value).map_err(|fault| StatusError::new(500, "InternalError", fault.0))
}

fn refused(
    resource: &ResourceType,
    object: &Value,
    faults: &[validate::FieldError],
) -> Result<(), StatusError> {
    if faults.is_empty() { Ok(()) } else { Err(invalid(resource, object, faults)) }
}

/// The refusal of an object with faults.
pub(super) fn invalid(
    resource: &ResourceType,
    object: &Value,
    faults: &[validate::FieldError],
) -> StatusError {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    // Events are judged, and named, in the form in which they are kept.
    let group = if resource.kind == "Event" { "" } else { resource.group };
    StatusError::of_status(&validate::status(group, resource.kind, name, faults))
}

/// Whether a new object may be.
pub(super) fn check_new(resource: &ResourceType, body: &Value) -> Result<(), StatusError> {
    refused(resource, body, &validate::on_create(resource.group, resource.plural, body))
}

/// Whether a change may be.
pub(super) fn check_changed(
    resource: &ResourceType,
    sub: Option<Subresource>,
    old: &Value,
    body: &Value,
) -> Result<(), StatusError> {
    let sub = sub.map_or("", Subresource::name);
    refused(resource, body, &validate::on_update(resource.group, resource.plural, sub, old, body))
}

/// What a server says of an object that it takes.
pub(super) fn warnings(resource: &ResourceType, body: &Value) -> Vec<String> {
    if !is_custom(resource) {
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

/// `metadata.generation`.
pub(super) fn generation(resource: &ResourceType, old: Option<&Value>, body: &mut Value) {
    defaults::generation(old, body, resource.group, resource.plural);
}

/// Kinds of which an update must say which version it was made from.
pub(super) fn without_version(resource: &ResourceType, body: &Value) -> Option<StatusError> {
    let status = validate::without_version(resource.group, resource.plural, body)?;
    Some(StatusError::of_status(&status))
}

/// Who owns which fields now. What was applied is owned already: then nobody is named.
pub(super) fn track(
    resource: &ResourceType,
    old: Option<&Value>,
    body: &mut Value,
    wish: &WriteOptions,
    sub: Option<Subresource>,
    clock: &VirtualClock,
) {
    if wish.manager.is_empty() {
        return;
    }
    let Some(of) = type_of(resource, body) else { return };
    let (now, version) = (clock.stamp(), resource.api_version());
    let subresource = sub.map_or("", Subresource::name);
    let writer = FieldWriter { manager: &wish.manager, subresource, version: &version, now: &now };
    let mut fields = patch::track(old, body, of, &writer);
    if sub == Some(Subresource::Scale) {
        untime(&mut fields);
    }
    let metadata = meta::metadata(body);
    match fields.is_null() {
        true => metadata.remove("managedFields"),
        false => metadata.insert("managedFields".into(), fields),
    };
    if let Some(old) = old {
        patch::keep_times(old, body);
    }
}

/// A real server keeps no time of what a Scale wrote.
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
pub(super) fn patched(
    resource: &ResourceType,
    on: &ResourcePath,
    live: Option<&Value>,
    patch: &PatchBody,
    wish: &WriteOptions,
    clock: &VirtualClock,
) -> Result<Value, StatusError> {
    let nothing = Value::Null;
    let Some(of) = Schema::get().kind(&resource.api_version(), resource.kind) else {
        return Err(StatusError::no_such_path());
    };
    match patch {
        PatchBody::Apply(applied) => {
            let (now, version) = (clock.stamp(), resource.api_version());
            let subresource = on.sub.map_or("", Subresource::name);
            let writer = FieldWriter { manager: &wish.manager, subresource, version: &version, now: &now };
            patch::apply(live, applied, of, &writer, wish.force)
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

/// A Scale after a patch.
pub(super) fn patched_scale(scale: &Value, patch: &PatchBody) -> Result<Value, StatusError> {
    match Schema::get().kind("autoscaling/v1", "Scale") {
        Some(of) => by_kind(scale, patch, of),
        None => Err(StatusError::no_such_path()),
    }
}

/// Kinds that a PUT makes where they are not there yet.
pub(super) fn made_by_update(resource: &ResourceType) -> bool {
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
