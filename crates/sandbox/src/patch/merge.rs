//! # Merge patch (RFC 7386)
//! Room:     objects are merged, null deletes, everything else is replaced.
//! Comes in: an object; a patch.
//! Goes out: the object changed, or why not.
//! Keeps:    a real server's own way: nulls go from objects in lists too, unless the list replaces an object.
//! Not here: merging lists (`strategic.rs`).

use super::{DEPTH_MAX, PatchError, go, within_depth};
use serde_json::{Map, Value};

/// Applies `patch` to `document`.
pub fn merge_patch(document: &Value, patch: &Value) -> Result<Value, PatchError> {
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => return Err(PatchError::bad("Invalid JSON Patch")),
        other => {
            let found = go::json_name(other);
            return Err(PatchError::bad(format!(
                "error decoding patch: json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
            )));
        }
    };
    if !patch.values().all(|value| within_depth(value, DEPTH_MAX)) {
        return Err(PatchError::bad("error decoding patch: invalid character '{' exceeded max depth"));
    }
    let mut patched = document.as_object().cloned().unwrap_or_default();
    merge_fields(&mut patched, patch);
    Ok(Value::Object(patched))
}

fn merge_fields(into: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, change) in patch {
        match (into.get_mut(name), change) {
            (_, Value::Null) => {
                into.remove(name);
            }
            (Some(Value::Object(there)), Value::Object(change)) => merge_fields(there, change),
            (Some(there @ Value::Object(_)), change) => *there = change.clone(),
            (_, change) => {
                into.insert(name.clone(), without_nulls(change));
            }
        }
    }
}

/// A value without the fields that are null; nulls in lists stay.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| !value.is_null());
            fields.map(|(name, value)| (name.clone(), without_nulls(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
