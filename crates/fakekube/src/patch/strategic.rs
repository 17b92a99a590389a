//! Implements strategic merge patch with its directives (`$patch`, `$retainKeys`, `$deleteFromPrimitiveList/x`,
//! `$setElementOrder/x`).

mod lists;

use super::{DEPTH_MAX, unexpected, within_depth};
use crate::api_status::StatusError;
use crate::schema::{MergeStrategy, Schema, Shape, TypeId};
use serde_json::{Map, Value};
use std::mem::discriminant;

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

/// Objects that are replaced, not merged.
const REPLACED: [(&str, &str); 1] = [("policy/v1.PodDisruptionBudgetSpec", "selector")];

type JsonFields = Map<String, Value>;

/// Applies `patch` to `document`, an object of type `of`.
pub fn strategic(document: &Value, patch: &Value, of: TypeId) -> Result<Value, StatusError> {
    let patch = match patch {
        Value::Object(patch) => patch.clone(),
        Value::Null => Map::new(),
        _ => return Err(StatusError::bad_request("error decoding patch: it is not an object")),
    };
    if !patch.values().all(|value| within_depth(value, DEPTH_MAX)) {
        return Err(StatusError::bad_request("invalid character '{' exceeded max depth"));
    }
    let document = document.as_object().cloned().unwrap_or_default();
    merge_fields(document, patch, PatchTarget::Object(of)).map(Value::Object)
}

/// Where the schema describes the fields of an object.
#[derive(Clone, Copy)]
enum PatchTarget {
    Object(TypeId),
    /// Not an object with fields in the server's view; the name that it has there.
    Other(&'static str),
}

/// The schema of a field.
struct PatchField {
    /// The target of its fields, or of its items' fields.
    spot: PatchTarget,
    merge: MergeStrategy,
    replaced: bool,
}

impl PatchTarget {
    fn of(shape: &Shape) -> Self {
        match shape {
            Shape::Object(id) => Self::Object(*id),
            Shape::Map(_) => Self::Other("map"),
            Shape::List(_) => Self::Other("slice"),
            _ => Self::Other("string"),
        }
    }

    fn field(self, name: &str) -> Result<PatchField, StatusError> {
        let id = match self {
            Self::Object(id) => id,
            Self::Other(kind) => {
                return Err(unexpected(format!(
                    "merging an object in json but data type is not struct, instead is: {kind}"
                )));
            }
        };
        let schema = Schema::get();
        let of = schema.at(id);
        let field = schema.field(id, name).ok_or_else(|| {
            let of = of.name.rsplit('.').next().unwrap_or_default();
            unexpected(format!("unable to find api field in struct {of} for the json field {name:?}"))
        })?;
        let spot = match &field.shape {
            Shape::List(item) => Self::of(item),
            shape => Self::of(shape),
        };
        let replaced = REPLACED.iter().any(|(parent, field)| *parent == of.name && *field == name);
        Ok(PatchField { spot, merge: field.merge.clone(), replaced })
    }
}

fn unknown_directive(directive: &Value) -> StatusError {
    unexpected(format!("unknown patch type: {directive}"))
}

/// Merges a patch into an object.
fn merge_fields(
    mut into: JsonFields,
    mut patch: JsonFields,
    spot: PatchTarget,
) -> Result<JsonFields, StatusError> {
    if let Some(directive) = patch.get(PATCH) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(PATCH);
                Ok(patch)
            }
            Some("delete") => Ok(Map::new()),
            _ => Err(unknown_directive(directive)),
        };
    }
    retain_keys(&mut into, &mut patch)?;
    lists::merge_ordered(&mut into, &mut patch, spot)?;
    for (name, change) in patch {
        let (name, deletes) = match target(&name, DELETE_FROM) {
            None => (name, false),
            Some(Some(list)) => (list.to_owned(), true),
            Some(None) => return Err(StatusError::bad_request("invalid patch format of primitive list")),
        };
        if change.is_null() {
            into.remove(&name);
            continue;
        }
        let alike = into.get(&name).is_some_and(|there| discriminant(there) == discriminant(&change));
        if !alike {
            if !deletes {
                set(&mut into, name, without_directives(discard_nulls(change)));
            }
            continue;
        }
        let there = into.remove(&name).unwrap_or_default();
        match (there, change) {
            (Value::Object(there), Value::Object(change)) => {
                let known = spot.field(&name)?;
                let merged = if known.replaced { change } else { merge_fields(there, change, known.spot)? };
                into.insert(name, Value::Object(merged));
            }
            (Value::Array(there), Value::Array(change)) => {
                let known = spot.field(&name)?;
                into.insert(name, Value::Array(lists::merge(there, change, &known, deletes)?));
            }
            (_, change) => set(&mut into, name, without_directives(change)),
        }
    }
    Ok(into)
}

fn set(into: &mut JsonFields, name: String, value: Option<Value>) {
    match value {
        Some(value) => into.insert(name, value),
        None => into.remove(&name),
    };
}

/// The field that a directive is about: `None` if `name` is not such a directive, `Some(None)` if it is invalid.
fn target<'n>(name: &'n str, directive: &str) -> Option<Option<&'n str>> {
    let rest = name.strip_prefix(directive)?;
    Some(rest.strip_prefix('/'))
}

/// Removes the fields of `into` that `$retainKeys` does not name.
fn retain_keys(into: &mut JsonFields, patch: &mut JsonFields) -> Result<(), StatusError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let bad = || StatusError::bad_request("invalid patch format of retainKeys");
    let Value::Array(keys) = keys else { return Err(bad()) };
    let named = |name: &str| keys.iter().any(|key| key == name);
    let directive = |name: &str| name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
    if !patch.iter().all(|(name, value)| value.is_null() || directive(name) || named(name)) {
        return Err(bad());
    }
    into.retain(|name, _| named(name));
    Ok(())
}

/// Removes null fields, at any depth.
fn discard_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            fields.map(|(name, value)| (name, discard_nulls(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(discard_nulls).collect(),
        other => other,
    }
}

/// Removes values with a directive; `None` if that is the value itself.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => Some(
            fields.into_iter().filter_map(|(name, value)| Some((name, without_directives(value)?))).collect(),
        ),
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        other => Some(other),
    }
}
