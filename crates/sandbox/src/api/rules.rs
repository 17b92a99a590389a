//! # Rules: what each resource's objects must be
//! Room:     the one place where the verbs meet normal form, defaults, validation, patches and managed fields.
//! Comes in: bodies and patches.
//! Goes out: bodies as a real server keeps them, or a refusal.
//! Not here: the rules themselves.

use super::{On, Patch, Strictness, Wish, kind, meta};
use crate::clock::Clock;
use crate::defaults::Admission;
use crate::failure::Failure;
use crate::normal::{Fault, Normal, normal};
use crate::patch::{self, PatchError, Writer};
use crate::resource::{Resource, Sub};
use crate::schema::{Schema, TypeId};
use crate::{custom, defaults, validate};
use serde_json::{Value, json};

/// An object through its type. An empty list of owners is a wish to forget them, and would not come back from there.
fn typed(version: &str, kind: &str, body: Value) -> Result<Normal, Fault> {
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
pub(super) fn read(resource: &Resource, body: Value, wish: &Wish) -> Result<(Value, Vec<String>), Failure> {
    let refused = |why: &dyn std::fmt::Display| {
        let (kind, version) = (resource.kind, resource.version);
        Failure::bad_request(format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"))
    };
    let read = typed(&resource.api_version(), resource.kind, body).map_err(|fault| refused(&fault))?;
    match wish.strictness {
        Strictness::Ignore => Ok((read.value, Vec::new())),
        Strictness::Strict if !read.unknown.is_empty() => {
            Err(refused(&format_args!("strict decoding error: {}", read.unknown.join(", "))))
        }
        Strictness::Warn | Strictness::Strict => Ok((read.value, read.unknown)),
    }
}

fn is_custom(resource: &Resource) -> bool {
    custom::of(resource.group, resource.plural).is_some()
}

/// A body with the values for what it leaves out.
pub(super) fn defaulted(resource: &Resource, mut body: Value) -> Value {
    defaults::apply_defaults(resource.group, resource.plural, &mut body);
    body
}

/// Reads what a patch made of an object. What is wrong with it is the patch's fault.
pub(super) fn read_patched(
    resource: &Resource,
    patched: Value,
    patch: &Patch,
    wish: &Wish,
) -> Result<(Value, Vec<String>), Failure> {
    if matches!(patch, Patch::Apply(_)) {
        return read(resource, patched, wish);
    }
    kind::check_body(resource, &patched).and_then(|()| read(resource, patched, wish)).map_err(|failure| {
        let message = format!("Invalid value: {}", failure.message);
        let cause = json!({"reason": "FieldValueInvalid", "message": message, "field": "patch"});
        Failure::invalid("", "", "", &[format!("patch: {message}")], vec![cause])
    })
}

/// What a new object is given.
pub(super) fn begin(resource: &Resource, body: &mut Value, admission: Admission) {
    defaults::on_create(resource.group, resource.plural, body, admission);
}

/// What a changed object is given, and what of it stays as it was.
pub(super) fn again(
    resource: &Resource,
    sub: Option<Sub>,
    old: &Value,
    body: &mut Value,
    admission: Admission,
) {
    let place = (resource.group, resource.plural, sub.map_or("", Sub::name));
    defaults::on_update(place, old, body, admission);
}

/// The zero values that a real server writes, too.
///
/// # Errors
/// 500 for what does not fit its type: whatever comes from outside was read, and refused, before.
pub(super) fn complete(body: Value) -> Result<Value, Failure> {
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let complete = typed(&version, &kind, body);
    complete.map(|complete| complete.value).map_err(|fault| Failure::new(500, "InternalError", fault.0))
}

fn refused(resource: &Resource, object: &Value, faults: &[validate::Invalid]) -> Result<(), Failure> {
    if faults.is_empty() { Ok(()) } else { Err(invalid(resource, object, faults)) }
}

/// The refusal of an object with faults.
pub(super) fn invalid(resource: &Resource, object: &Value, faults: &[validate::Invalid]) -> Failure {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    // Events are judged, and named, in the form in which they are kept.
    let group = if resource.kind == "Event" { "" } else { resource.group };
    Failure::of_status(&validate::status(group, resource.kind, name, faults))
}

/// Whether a new object may be.
pub(super) fn check_new(resource: &Resource, body: &Value) -> Result<(), Failure> {
    refused(resource, body, &validate::on_create(resource.group, resource.plural, body))
}

/// Whether a change may be.
pub(super) fn check_changed(
    resource: &Resource,
    sub: Option<Sub>,
    old: &Value,
    body: &Value,
) -> Result<(), Failure> {
    let sub = sub.map_or("", Sub::name);
    refused(resource, body, &validate::on_update(resource.group, resource.plural, sub, old, body))
}

/// What a server says of an object that it takes.
pub(super) fn warnings(resource: &Resource, body: &Value) -> Vec<String> {
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
pub(super) fn generation(resource: &Resource, old: Option<&Value>, body: &mut Value) {
    defaults::generation(old, body, resource.plural);
}

/// Kinds of which an update must say which version it was made from.
pub(super) fn without_version(resource: &Resource, body: &Value) -> Option<Failure> {
    let status = validate::without_version(resource.group, resource.plural, body)?;
    Some(Failure::of_status(&status))
}

/// Who owns which fields now. What was applied is owned already: then nobody is named.
pub(super) fn track(
    resource: &Resource,
    old: Option<&Value>,
    body: &mut Value,
    wish: &Wish,
    sub: Option<Sub>,
    clock: &Clock,
) {
    if wish.manager.is_empty() {
        return;
    }
    let Some(of) = type_of(resource, body) else { return };
    let (now, version) = (clock.stamp(), resource.api_version());
    let subresource = sub.map_or("", Sub::name);
    let writer = Writer { manager: &wish.manager, subresource, version: &version, now: &now };
    let mut fields = patch::track(old, body, of, &writer);
    if sub == Some(Sub::Scale) {
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

fn type_of(resource: &Resource, body: &Value) -> Option<TypeId> {
    let version = body["apiVersion"].as_str().map_or_else(|| resource.api_version(), String::from);
    Schema::get().kind(&version, resource.kind)
}

fn unfit(error: &PatchError) -> Failure {
    Failure::of_status(&error.status())
}

/// An object after a patch.
pub(super) fn patched(
    resource: &Resource,
    on: &On,
    live: Option<&Value>,
    patch: &Patch,
    wish: &Wish,
    clock: &Clock,
) -> Result<Value, Failure> {
    let nothing = Value::Null;
    let Some(of) = Schema::get().kind(&resource.api_version(), resource.kind) else {
        return Err(Failure::no_such_path());
    };
    match patch {
        Patch::Apply(applied) => {
            let (now, version) = (clock.stamp(), resource.api_version());
            let subresource = on.sub.map_or("", Sub::name);
            let writer = Writer { manager: &wish.manager, subresource, version: &version, now: &now };
            let done = patch::apply(live, applied, of, &writer, wish.force);
            done.map_err(|error| Failure::of_status(&error.status()))
        }
        other => by_kind(live.unwrap_or(&nothing), other, of),
    }
}

fn by_kind(live: &Value, patch: &Patch, of: TypeId) -> Result<Value, Failure> {
    match patch {
        Patch::Json(patch) => patch::json_patch(live, patch),
        Patch::Merge(patch) => patch::merge_patch(live, patch),
        Patch::Strategic(patch) | Patch::Apply(patch) => patch::strategic(live, patch, of),
    }
    .map_err(|error| unfit(&error))
}

/// A Scale after a patch.
pub(super) fn patched_scale(scale: &Value, patch: &Patch) -> Result<Value, Failure> {
    match Schema::get().kind("autoscaling/v1", "Scale") {
        Some(of) => by_kind(scale, patch, of),
        None => Err(Failure::no_such_path()),
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
