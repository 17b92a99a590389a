//! Defines pools that differ in one property each, and the namespaces and nodes they need.

use serde_json::{Value, json};

/// Namespaces with their labels.
pub(crate) const NAMESPACES: [(&str, &[(&str, &str)]); 5] = [
    ("a", &[("team", "a"), ("tier", "gold")]),
    ("b", &[("team", "b")]),
    ("ab", &[("team", "a"), ("tier", "silver")]),
    ("none", &[]),
    ("kube-system", &[]),
];

/// Nodes outside of all pools.
pub(crate) const KNOWN: [&str; 2] = ["open-1", "open-2"];

/// The unusual state of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolPhase {
    Applied,
    /// It is being deleted.
    Leaving,
    /// An older pool has the same taint.
    Rejected,
}

/// A pool: its name is the last part of its taint's key.
#[derive(Clone, Debug)]
pub(crate) struct TestPool {
    pub(crate) name: &'static str,
    pub(crate) spec: Value,
    pub(crate) phase: PoolPhase,
}

/// `team=a`.
fn team(name: &str) -> Value {
    json!({"namespaceSelector": {"matchLabels": {"team": name}}})
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Value {
    let mut one = json!({"key": key, "operator": operator});
    if !values.is_empty() {
        one["values"] = json!(values);
    }
    json!({"namespaceSelector": {"matchExpressions": [one]}})
}

/// The taint value of each pool that has one.
pub(crate) const VALUE: &str = "5";

pub(crate) fn test_pools() -> Vec<TestPool> {
    let accounts = json!({"serviceAccounts": [{"namespace": "b", "name": "runner"}, {"namespace": "none", "name": "default"}]});
    let both = json!({"namespaceSelector": {
        "matchLabels": {"team": "a"},
        "matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["gold"]}],
    }});
    let pool = |name: &'static str, users: Value, more: Value| {
        let mut spec = json!({
            "taint": {"key": format!("example.com/{name}"), "value": VALUE},
            "nodes": {"names": [format!("{name}-1"), format!("{name}-2")]},
            "users": users,
        });
        for (key, value) in more.as_object().unwrap() {
            spec[key] = value.clone();
        }
        if let Some(effects) = spec.as_object_mut().unwrap().remove("effects") {
            spec["taint"]["effects"] = effects;
        }
        TestPool { name, spec, phase: PoolPhase::Applied }
    };
    let mut all = vec![
        pool("labels", team("a"), json!({})),
        pool(
            "in",
            expression("tier", "In", &["gold", "silver"]),
            json!({"effects": ["NoSchedule", "NoExecute"]}),
        ),
        pool("not-in", expression("team", "NotIn", &["b"]), json!({"effects": ["NoExecute"]})),
        pool(
            "exists",
            expression("team", "Exists", &[]),
            json!({"effects": ["PreferNoSchedule", "NoSchedule"]}),
        ),
        pool("not-there", expression("tier", "DoesNotExist", &[]), json!({"placement": "Allowed"})),
        pool("both", both, json!({})),
        pool("accounts", accounts, json!({})),
        pool("users", json!({"users": ["ann"]}), json!({})),
        pool("groups", json!({"groups": ["ops", "system:serviceaccounts"]}), json!({"daemonSets": "Allow"})),
        pool("evicting", json!({"users": ["ann"], "groups": ["ops"]}), json!({"enforcement": "Evict"})),
        pool("warned", team("a"), json!({"enforcement": "Warn"})),
        pool("off", team("a"), json!({"enforcement": "Off"})),
        pool("soft", team("a"), json!({"effects": ["PreferNoSchedule"]})),
        TestPool { phase: PoolPhase::Leaving, ..pool("leaving", team("a"), json!({})) },
    ];
    let mut twin = pool("twin", team("b"), json!({}));
    twin.spec["taint"]["key"] = json!("example.com/labels");
    all.push(TestPool { phase: PoolPhase::Rejected, ..twin });
    all
}

/// The names of the pools that keep other pods out.
pub(crate) fn deniers() -> Vec<&'static str> {
    let denies = |pool: &TestPool| {
        let soft = pool.spec["taint"]["effects"] == json!(["PreferNoSchedule"]);
        let denies = pool.spec.get("enforcement").is_none_or(|own| own == "Evict");
        pool.phase == PoolPhase::Applied && denies && !soft
    };
    test_pools().into_iter().filter(denies).map(|pool| pool.name).collect()
}
