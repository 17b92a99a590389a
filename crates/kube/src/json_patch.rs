//! Builds operations of a JSON Patch (RFC 6902).

use crate::api_time::second_time;
use serde_json::{Value, json};
use taintward_core::taint::Taint;

/// The patch applies only if the field has this value; for an API server, an absent field equals null.
pub(crate) fn test(path: &str, value: &Value) -> Value {
    json!({ "op": "test", "path": path, "value": value })
}

/// Escapes the name of a field in a path.
pub(crate) fn escaped(field: &str) -> String {
    field.replace('~', "~0").replace('/', "~1")
}

/// A new taint, without fields that are empty.
pub(crate) fn taint(taint: &Taint) -> Value {
    let mut object = json!({ "key": &*taint.key, "effect": taint.effect.as_str() });
    if !taint.value.is_empty() {
        object["value"] = json!(&*taint.value);
    }
    if let Some(at) = taint.time_added {
        object["timeAdded"] = json!(second_time(at));
    }
    object
}
