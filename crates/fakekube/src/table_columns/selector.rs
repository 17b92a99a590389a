//! Formats labels and label selectors as text.

use super::read::{entries, list, string, strings};
use serde_json::Value;

/// A map of labels.
pub(super) fn labels(object: &Value, path: &str) -> String {
    // The order is that of the whole text: `=` comes after `-` and `.`, which may continue a key.
    let mut pairs: Vec<String> = entries(object, path).map(|(key, value)| format!("{key}={value}")).collect();
    pairs.sort_unstable();
    or_none(pairs.join(","))
}

/// A label selector.
pub(super) fn selector(object: &Value, path: &str) -> String {
    format(object, path).map_or_else(|| "<error>".to_owned(), or_none)
}

/// A label selector, empty if it selects everything or nothing; `None` if it makes no sense.
pub(crate) fn format(object: &Value, path: &str) -> Option<String> {
    let labels = format!("{path}.matchLabels");
    let labels = entries(object, &labels);
    let mut all: Vec<(&str, String)> = labels.map(|(key, value)| (key, format!("{key}={value}"))).collect();
    for expression in list(object, &format!("{path}.matchExpressions")) {
        all.push((string(expression, "key"), requirement(expression)?));
    }
    all.sort_by_key(|(key, _)| *key);
    let texts: Vec<String> = all.into_iter().map(|(_, text)| text).collect();
    Some(texts.join(","))
}

fn requirement(expression: &Value) -> Option<String> {
    let (key, mut values) = (string(expression, "key"), strings(expression, "values"));
    values.sort_unstable();
    match (string(expression, "operator"), values.is_empty()) {
        ("In", false) => Some(format!("{key} in ({})", values.join(","))),
        ("NotIn", false) => Some(format!("{key} notin ({})", values.join(","))),
        ("Exists", true) => Some(key.to_owned()),
        ("DoesNotExist", true) => Some(format!("!{key}")),
        _ => None,
    }
}

pub(super) fn or_none(text: String) -> String {
    if text.is_empty() { "<none>".to_owned() } else { text }
}
