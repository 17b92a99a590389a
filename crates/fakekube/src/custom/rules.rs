//! Finds the checks of the CEL rules of a definition, by the text of the rule.
//!
//! - Invariant: a rule without a check stops the server at start.

use serde_json::Value;

/// A rule in CEL, its blanks folded, and whether a value is as it wants it. The value is of the type that the schema says.
pub type RuleCheck = (&'static str, fn(&Value) -> bool);

/// Whether a value is as a rule wants it; `None` if the rule has no check.
pub(super) fn holds(rule: &str, value: &Value, checks: &[RuleCheck]) -> Option<bool> {
    find(rule, checks).map(|(_, check)| check(value))
}

fn find<'c>(rule: &str, checks: &'c [RuleCheck]) -> Option<&'c RuleCheck> {
    let rule = rule.split_whitespace().collect::<Vec<_>>().join(" ");
    checks.iter().find(|(text, _)| *text == rule)
}

/// The rules that stand in a schema at one place.
pub(super) fn at(schema: &Value) -> impl Iterator<Item = (&str, &str)> {
    schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (one["rule"].as_str().unwrap_or_default(), one["message"].as_str().unwrap_or_default()))
}

/// # Panics
/// If a rule anywhere in a schema has no check, or uses what these checks know nothing of.
pub(super) fn expect_checks(schema: &Value, checks: &[RuleCheck]) {
    for (rule, _) in at(schema) {
        assert!(find(rule, checks).is_some(), "nobody checks the rule {rule}");
    }
    let inner = ["items", "additionalProperties"].into_iter().filter_map(|name| schema.get(name));
    let fields = schema["properties"].as_object().into_iter().flatten().map(|(_, schema)| schema);
    inner.chain(fields).for_each(|schema| expect_checks(schema, checks));
}
