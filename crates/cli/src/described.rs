//! Validates printed JSON against the schemas in `docs/`, for tests.
//!
//! - Invariant: every field of an object must be in the schema.

use serde_json::Value;
use std::path::Path;

/// A file of `docs/`.
pub(crate) fn document(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::read_to_string(folder.join(name)).expect("the document is there")
}

/// A schema of `docs/`.
pub(crate) fn schema(name: &str) -> Value {
    serde_json::from_str(&document(name)).expect("the schema is JSON")
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "null" => value.is_null(),
        other => panic!("the documents do not use the type {other}"),
    }
}

/// The fault, if there is one.
fn fault(schema: &Value, value: &Value, path: &str) -> Option<String> {
    if let Some(choices) = schema["oneOf"].as_array() {
        let faults: Vec<String> = choices.iter().filter_map(|choice| fault(choice, value, path)).collect();
        let fitting = choices.len() - faults.len();
        return (fitting != 1).then(|| format!("{path} fits {fitting} of its forms: {faults:?}"));
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return Some(format!("{path} is not described")),
    };
    if !kinds.iter().any(|kind| is(kind, value)) {
        return Some(format!("{path} is not of {kinds:?}: {value}"));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        return Some(format!("{path}: {value}"));
    }
    if schema["enum"].as_array().is_some_and(|choice| !choice.contains(value)) {
        return Some(format!("{path}: {value}"));
    }
    let items = value.as_array().into_iter().flatten().enumerate();
    let of_items = items.filter_map(|(at, item)| fault(&schema["items"], item, &format!("{path}[{at}]")));
    of_items.chain(of_fields(schema, value, path)).next()
}

fn of_fields(schema: &Value, value: &Value, path: &str) -> Option<String> {
    let fields = value.as_object()?;
    if schema["additionalProperties"] != false {
        return Some(format!("{path} may have any fields"));
    }
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(missing) = required.into_iter().find(|name| !fields.contains_key(*name)) {
        return Some(format!("{path}.{missing} is missing"));
    }
    fields
        .iter()
        .find_map(|(name, value)| fault(&schema["properties"][name], value, &format!("{path}.{name}")))
}

/// # Panics
///
/// If the value does not match the schema.
pub(crate) fn check(schema: &Value, value: &Value) {
    assert_eq!(fault(schema, value, ""), None);
}
