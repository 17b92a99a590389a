//! # Print: JSON as it is read by people
//! Room:     the order of keys in `Status` objects; line breaks and indents for whoever asked for them.
//! Comes in: a value.
//! Goes out: text.
//! Not here: other encodings.

use super::query::Query;
use http::header::USER_AGENT;
use http::request::Parts;
use serde_json::Value;
use std::fmt::Write as _;

/// What stands first in every object, in this order.
const FIRST: [&str; 3] = ["kind", "apiVersion", "metadata"];
/// The order of a `Status` and of its details.
const STATUS: [&str; 8] =
    ["kind", "apiVersion", "metadata", "status", "message", "reason", "details", "code"];
const DETAILS: [&str; 6] = ["name", "group", "kind", "uid", "causes", "retryAfterSeconds"];
const CAUSE: [&str; 3] = ["reason", "message", "field"];

/// Programs whose users are human beings.
const BROWSERS: [&str; 3] = ["curl", "Wget", "Mozilla/5.0"];

/// Whether an answer is to be printed for a human being.
pub(super) fn is_wanted(head: &Parts) -> bool {
    match Query::read(head.uri.query().unwrap_or_default()).find("pretty") {
        Some(said) => !matches!(said, "false" | "0"),
        None => {
            let agent = head.headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
            BROWSERS.iter().any(|browser| agent.is_some_and(|agent| agent.starts_with(browser)))
        }
    }
}

/// On one line.
pub(super) fn dense(value: &Value) -> String {
    let mut text = String::new();
    write(value, order(value), None, &mut text);
    text
}

/// On many.
pub(super) fn pretty(value: &Value) -> String {
    let mut text = String::new();
    write(value, order(value), Some(0), &mut text);
    text
}

fn order(value: &Value) -> &'static [&'static str] {
    if value["kind"] == "Status" && value["apiVersion"] == "v1" { &STATUS } else { &FIRST }
}

/// The order of what stands under a key.
fn inner(outer: &'static [&'static str], key: &str) -> &'static [&'static str] {
    match (outer.len(), key) {
        (8, "details") => &DETAILS,
        (6, "causes") => &CAUSE,
        _ => &[],
    }
}

/// `indent` is how deep this stands, if it is to be seen.
fn write(value: &Value, order: &'static [&'static str], indent: Option<usize>, text: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            let place = |key: &str| order.iter().position(|one| *one == key).unwrap_or(order.len());
            entries.sort_by_key(|(key, _)| place(key));
            text.push('{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                separate(index, indent, text);
                _ = write!(text, "{}:", Value::from(key.as_str()));
                text.push_str(if indent.is_some() { " " } else { "" });
                write(value, inner(order, key), indent.map(|depth| depth + 1), text);
            }
            close(indent, '}', text);
        }
        Value::Array(all) if !all.is_empty() => {
            text.push('[');
            for (index, value) in all.iter().enumerate() {
                separate(index, indent, text);
                write(value, order, indent.map(|depth| depth + 1), text);
            }
            close(indent, ']', text);
        }
        scalar => _ = write!(text, "{scalar}"),
    }
}

fn separate(index: usize, indent: Option<usize>, text: &mut String) {
    if index > 0 {
        text.push(',');
    }
    if let Some(depth) = indent {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth + 1));
    }
}

fn close(indent: Option<usize>, bracket: char, text: &mut String) {
    if let Some(depth) = indent {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", depth));
    }
    text.push(bracket);
}

#[cfg(test)]
mod tests {
    use super::{dense, pretty};
    use serde_json::json;

    #[test]
    fn a_status_has_its_own_order() {
        let status = json!({"apiVersion": "v1", "code": 404, "details": {"kind": "pods", "name": "x"}, "kind": "Status"});
        let text = r#"{"kind":"Status","apiVersion":"v1","details":{"name":"x","kind":"pods"},"code":404}"#;
        assert_eq!(dense(&status), text);
        let map = json!({"apiVersion": "v1", "data": {"b": [1], "a": {}}, "kind": "ConfigMap"});
        let text = "{\n  \"kind\": \"ConfigMap\",\n  \"apiVersion\": \"v1\",\n  \"data\": {\n    \"a\": {},\n    \
                    \"b\": [\n      1\n    ]\n  }\n}";
        assert_eq!(pretty(&map), text);
    }
}
