//! Registers DedicatedPool, EvictionPolicy, PoolGuard and TolerationPolicy, from `deploy/crds`, with a check in Rust for each of their CEL rules.

use fakekube::custom::{self, CustomResource, RuleCheck};
use serde_json::Value;
use taintward_core::label::{is_key, is_value};

/// The API group of all of them.
pub const GROUP: &str = "taintward.io";

/// The definitions, as they are applied to real clusters.
const DEFINITIONS: [&str; 4] = [
    include_str!("../../../deploy/crds/dedicatedpools.yaml"),
    include_str!("../../../deploy/crds/evictionpolicies.yaml"),
    include_str!("../../../deploy/crds/poolguards.yaml"),
    include_str!("../../../deploy/crds/tolerationpolicies.yaml"),
];

/// Registers the kinds. Call it before the first server starts.
pub fn register() {
    custom::register(&DEFINITIONS.map(|definition| CustomResource { definition, checks: CHECKS }));
}

/// The exact rules, and their checks.
const CHECKS: &[RuleCheck] = &[
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
    (
        "(has(self.users) ? self.users.map(one, bytes(one).size() + 3).sum() : 0) + (has(self.groups) ? self.groups.map(one, bytes(one).size() + 3).sum() : 0) + (has(self.serviceAccounts) ? self.serviceAccounts.map(one, one.__namespace__.size() + one.name.size() + 26).sum() : 0) + (has(self.namespaceSelector) && has(self.namespaceSelector.matchLabels) ? self.namespaceSelector.matchLabels.map(key, key.size() + self.namespaceSelector.matchLabels[key].size() + 50).sum() : 0) + (has(self.namespaceSelector) && has(self.namespaceSelector.matchExpressions) ? self.namespaceSelector.matchExpressions.map(one, one.key.size() + 50 + (has(one.values) ? one.values.map(value, value.size() + 3).sum() : 0)).sum() : 0) <= 63000",
        |users| users_size(users) <= 63_000,
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
    ("!has(self.waveTimeoutSeconds) || has(self.order)", |spec| {
        !has(spec, "waveTimeoutSeconds") || has(spec, "order")
    }),
    (
        "type(self) == int ? self >= 1 && self <= 999999999 : self.matches('^([1-9][0-9]{0,8}|([1-9][0-9]{0,8},)?([1-9][0-9]?|100)%)$')",
        is_unavailable_limit,
    ),
];

/// Whether it is a number of replicas, a percentage, or both.
fn is_unavailable_limit(limit: &Value) -> bool {
    let within = |text: &str, most: i64| {
        let digits = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
        digits && text.parse().is_ok_and(|number: i64| (1..=most).contains(&number))
    };
    let Some(text) = limit.as_str() else {
        return limit.as_i64().is_some_and(|number| (1..=REPLICAS_MAX).contains(&number));
    };
    let (replicas, percent) = match text.strip_suffix('%') {
        None => (Some(text), None),
        Some(rest) => match rest.split_once(',') {
            None => (None, Some(rest)),
            Some((replicas, percent)) => (Some(replicas), Some(percent)),
        },
    };
    replicas.is_none_or(|text| within(text, REPLICAS_MAX)) && percent.is_none_or(|text| within(text, 100))
}

/// The largest number of replicas in a limit.
const REPLICAS_MAX: i64 = 999_999_999;

/// The size of the users of a pool in the PoolGuard.
fn users_size(users: &Value) -> usize {
    let len = |text: &Value| text.as_str().map_or(0, str::len);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let names = list(&users["users"]).into_iter().chain(list(&users["groups"])).map(|one| len(&one) + 3);
    let accounts = list(&users["serviceAccounts"]);
    let accounts = accounts.iter().map(|one| len(&one["namespace"]) + len(&one["name"]) + 26);
    let selector = &users["namespaceSelector"];
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels = labels.map(|(key, value)| key.len() + len(value) + 50);
    let expressions = list(&selector["matchExpressions"]);
    let expressions = expressions.iter().map(|one| {
        let values: usize = list(&one["values"]).iter().map(|value| len(value) + 3).sum();
        len(&one["key"]) + 50 + values
    });
    names.chain(accounts).chain(labels).chain(expressions).sum()
}

fn has(object: &Value, field: &str) -> bool {
    object.get(field).is_some()
}

fn has_some(object: &Value, list: &str) -> bool {
    object[list].as_array().is_some_and(|list| !list.is_empty())
}

/// Whether a key does not belong to Kubernetes, apart from the domains that Kubernetes leaves to others.
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

#[cfg(test)]
mod tests;
