//! Implements the CEL rules of the definitions in Rust, found by the text of the rule.
//!
//! - Invariant: a rule without a check stops the server at start.

use serde_json::Value;
use taintward_core::label::{is_key, is_value};

/// Whether a value is as a rule wants it. It is of the type that the schema says.
pub(super) type Check = fn(&Value) -> bool;

/// The rules, word by word, and their checks.
const CHECKS: [(&str, Check); 13] = [
    (
        "self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && self.indexOf('/') <= 253",
        |key| key.as_str().is_some_and(is_key),
    ),
    (
        "!self.matches('^([^/]*[.])?(kubernetes|k8s)[.]io/') || self.matches('^([^/]*[.])?node-restriction[.]kubernetes[.]io/') || (self.startsWith('node-role.kubernetes.io/') && !(self in ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master']))",
        |key| key.as_str().is_some_and(is_own),
    ),
    ("self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$')", |value| {
        value.as_str().is_some_and(is_value)
    }),
    (
        "self.all(key, key.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && key.indexOf('/') <= 253)",
        |map| map.as_object().into_iter().flatten().all(|(key, _)| is_key(key)),
    ),
    ("self.all(key, self[key].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))", |map| {
        map.as_object().into_iter().flatten().all(|(_, value)| value.as_str().is_some_and(is_value))
    }),
    ("self.all(value, value.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))", |list| {
        list.as_array().into_iter().flatten().all(|value| value.as_str().is_some_and(is_value))
    }),
    ("has(self.selector) || (has(self.names) && self.names.size() > 0)", |nodes| {
        has(nodes, "selector") || has_some(nodes, "names")
    }),
    (
        "has(self.namespaceSelector) || (has(self.serviceAccounts) && self.serviceAccounts.size() > 0) || (has(self.users) && self.users.size() > 0) || (has(self.groups) && self.groups.size() > 0)",
        |users| {
            let lists = ["serviceAccounts", "users", "groups"];
            has(users, "namespaceSelector") || lists.into_iter().any(|list| has_some(users, list))
        },
    ),
    ("self.operator in ['Exists', 'DoesNotExist'] || (has(self.values) && self.values.size() > 0)", |one| {
        one["operator"] == "Exists" || one["operator"] == "DoesNotExist" || has_some(one, "values")
    }),
    ("self.operator in ['In', 'NotIn'] || !has(self.values) || self.values.size() == 0", |one| {
        one["operator"] == "In" || one["operator"] == "NotIn" || !has_some(one, "values")
    }),
    ("(self.kind == 'Taint') == has(self.effect)", |mark| (mark["kind"] == "Taint") == has(mark, "effect")),
    ("type(self) == int || self == 'forever'", |seconds| seconds.is_i64() || *seconds == "forever"),
    ("!has(self.least) || !has(self.most) || self.least <= self.most", |bounds| {
        match (bounds["least"].as_i64(), bounds["most"].as_i64()) {
            (Some(least), Some(most)) => least <= most,
            _ => true,
        }
    }),
];

/// The check of a rule.
pub(super) fn check(rule: &str) -> Option<Check> {
    let rule = rule.split_whitespace().collect::<Vec<_>>().join(" ");
    CHECKS.iter().find(|(text, _)| *text == rule).map(|(_, check)| *check)
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
pub(super) fn expect_checks(schema: &Value) {
    for (rule, _) in at(schema) {
        assert!(check(rule).is_some(), "nobody checks the rule {rule}");
    }
    let inner = ["items", "additionalProperties"].into_iter().filter_map(|name| schema.get(name));
    let fields = schema["properties"].as_object().into_iter().flatten().map(|(_, schema)| schema);
    inner.chain(fields).for_each(expect_checks);
}

fn has(object: &Value, field: &str) -> bool {
    object.get(field).is_some()
}

fn has_some(object: &Value, list: &str) -> bool {
    object[list].as_array().is_some_and(|list| !list.is_empty())
}

/// Whether a key is nobody's else: not of Kubernetes but for what it leaves to others.
fn is_own(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else { return true };
    let under = |parent: &str| {
        domain.strip_suffix(parent).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    !(under("kubernetes.io") || under("k8s.io"))
        || under("node-restriction.kubernetes.io")
        || domain == "node-role.kubernetes.io"
            && !key.ends_with("/control-plane")
            && !key.ends_with("/master")
}
