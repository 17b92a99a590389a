//! Builds the merge patch of the `PoolGuard`, by which the API server judges pods for all pools together.
//!
//! - Invariant: its pools have the form of `DedicatedPool`s, so that one CEL expression judges by both.
//! - Invariant: the patch applies only to the version that was read.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::admission::LabelSelector;
use taintward_core::admission::pool::{DaemonSetPolicy, PoolUsers, ServiceAccount};
use taintward_core::dedicated_pools::{GuardedPool, PoolGuard, UnknownNodePolicy};
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::scheduling::NodeRequirement;
use taintward_core::taint::TaintEffect;

/// The name of the one `PoolGuard`.
pub const POOL_GUARD: &str = "taintward";

/// A `PoolGuard` as it was read.
#[derive(Debug, Deserialize)]
pub struct PoolGuardBody {
    metadata: PoolGuardMeta,
    #[serde(default)]
    spec: PoolGuardSpec,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PoolGuardMeta {
    uid: String,
    resource_version: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PoolGuardSpec {
    unknown_nodes: Option<String>,
    nodes: BTreeMap<String, String>,
    /// The keys of the taints of pools that deny other pods, by which most pods are dismissed.
    keys: BTreeMap<String, String>,
    /// The same with their values.
    taints: BTreeMap<String, String>,
    pools: Vec<Value>,
}

impl PoolGuardBody {
    /// Parses a `PoolGuard`.
    ///
    /// # Errors
    /// It is not one.
    pub fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(body)
    }

    /// The pools in it.
    fn uids(&self) -> impl Iterator<Item = &str> {
        self.spec.pools.iter().filter_map(uid)
    }

    /// Its version.
    pub fn version(&self) -> Option<ResourceVersion> {
        self.metadata.resource_version.parse().ok().map(ResourceVersion)
    }

    /// Whether it judges pods for this pool.
    pub fn contains(&self, pool: &Uid) -> bool {
        self.uids().any(|uid| Uid::new(uid) == *pool)
    }

    /// Returns the pools that should be in it and are not.
    pub fn missing(&self, guard: &PoolGuard) -> BTreeSet<Uid> {
        guard.pools.iter().map(|pool| pool.uid.clone()).filter(|pool| !self.contains(pool)).collect()
    }

    /// Name and UID of the pools that are in it and should not be.
    pub fn others(&self, guard: &PoolGuard) -> Vec<(&str, &str)> {
        let wanted: BTreeSet<String> = guard.pools.iter().map(|pool| pool.uid.to_string()).collect();
        let named =
            self.spec.pools.iter().filter_map(|pool| Some((pool["metadata"]["name"].as_str()?, uid(pool)?)));
        named.filter(|(_, uid)| !wanted.contains(*uid)).collect()
    }

    /// Returns the size of the guard with this content, and the pools that are kept.
    pub fn size_with(&self, guard: &PoolGuard, kept: &BTreeSet<&str>) -> usize {
        let kept = self.spec.pools.iter().filter(|pool| uid(pool).is_some_and(|uid| kept.contains(uid)));
        guard.encoded_len() + kept.map(|pool| encoded_len(&pool.to_string())).sum::<usize>()
    }

    /// Returns the merge patch that gives it this content, and keeps the pools with the UIDs `kept`; `None` if nothing
    /// changes.
    pub fn patch(&self, guard: &PoolGuard, kept: &BTreeSet<&str>) -> Option<Bytes> {
        let kept = self.spec.pools.iter().filter(|pool| uid(pool).is_some_and(|uid| kept.contains(uid)));
        let pools: Vec<Value> = guard.pools.iter().map(pool).chain(kept.cloned()).collect();
        let keeping = pools.iter().filter(|pool| pool["spec"]["enforcement"] == DENY);
        let taint = |pool: &'_ Value| {
            let taint = &pool["spec"]["taint"];
            Some((taint["key"].as_str()?.to_owned(), taint["value"].as_str().unwrap_or_default().to_owned()))
        };
        let taints: Vec<(String, String)> = keeping.filter_map(taint).collect();
        let keys: BTreeSet<&str> = taints.iter().map(|(key, _)| key.as_str()).collect();
        let taints: Vec<String> = taints.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let taints: BTreeSet<&str> = taints.iter().map(String::as_str).collect();
        let mut spec = Map::new();
        let unknown = self.spec.unknown_nodes.as_deref().unwrap_or(UnknownNodePolicy::Allow.as_str());
        if unknown != guard.unknown.as_str() {
            spec.insert("unknownNodes".to_owned(), json!(guard.unknown.as_str()));
        }
        let nodes = guard.nodes.iter().map(AsRef::as_ref).collect();
        let fields = [
            ("nodes", &self.spec.nodes, &nodes),
            ("keys", &self.spec.keys, &keys),
            ("taints", &self.spec.taints, &taints),
        ];
        for (field, had, wanted) in fields {
            let changed = changed(had, wanted);
            if !changed.is_empty() {
                spec.insert(field.to_owned(), changed.into());
            }
        }
        if pools != self.spec.pools {
            spec.insert("pools".to_owned(), pools.into());
        }
        if spec.is_empty() {
            return None;
        }
        let PoolGuardMeta { uid, resource_version } = &self.metadata;
        let patch = json!({ "metadata": { "uid": uid, "resourceVersion": resource_version }, "spec": spec });
        Some(Bytes::from(patch.to_string()))
    }
}

/// The size as an API server encodes it, which escapes the characters of HTML.
fn encoded_len(json: &str) -> usize {
    let escaped = json.chars().filter(|one| matches!(one, '<' | '>' | '&' | '\u{2028}' | '\u{2029}')).count();
    json.len() + 5 * escaped
}

/// The part of a merge patch that gives a map exactly these keys.
fn changed(had: &BTreeMap<String, String>, wanted: &BTreeSet<&str>) -> Map<String, Value> {
    let gone = had.keys().filter(|key| !wanted.contains(key.as_str())).map(|key| (key.clone(), Value::Null));
    let new = wanted.iter().filter(|key| !had.contains_key(**key)).map(|key| ((*key).to_owned(), json!("")));
    gone.chain(new).collect()
}

/// The UID of a pool in it.
fn uid(pool: &Value) -> Option<&str> {
    pool["metadata"]["uid"].as_str()
}

const DENY: &str = "Deny";

fn pool(pool: &GuardedPool) -> Value {
    let default = [TaintEffect::NoSchedule];
    let effects = if pool.taint.effects.is_empty() { &default[..] } else { &pool.taint.effects };
    json!({
        "metadata": { "name": pool.name, "uid": pool.uid.to_string() },
        "spec": {
            "taint": {
                "key": pool.taint.key,
                "value": pool.taint.value,
                "effects": effects.iter().map(TaintEffect::as_str).collect::<Vec<_>>(),
            },
            "users": users(&pool.users),
            "enforcement": if pool.denial_if_unjudged { DENY } else { "Off" },
            "daemonSets": if pool.daemon_sets == DaemonSetPolicy::Allow { "Allow" } else { DENY },
        },
        "status": { "nodeNames": pool.members },
    })
}

fn users(users: &PoolUsers) -> Value {
    let account = |one: &ServiceAccount| json!({ "namespace": one.namespace, "name": one.name });
    let mut object = json!({
        "serviceAccounts": users.service_accounts.iter().map(account).collect::<Vec<_>>(),
        "users": users.users,
        "groups": users.groups,
    });
    if let Some(LabelSelector(requirements)) = &users.namespaces {
        let expression = |one: &NodeRequirement| json!({ "key": one.key, "operator": one.operator.as_str(), "values": one.values });
        let expressions: Vec<Value> = requirements.iter().map(expression).collect();
        object["namespaceSelector"] = json!({ "matchExpressions": expressions });
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::admission::pool::PoolTaint;

    fn body(spec: &Value) -> PoolGuardBody {
        let metadata = json!({"uid": "u", "resourceVersion": "7", "labels": {"mine": "1"}});
        PoolGuardBody::read(json!({"metadata": metadata, "spec": spec}).to_string().as_bytes()).unwrap()
    }

    fn guard(nodes: &[&str], pools: &[(&str, bool)]) -> PoolGuard {
        let guarded = |&(name, denial_if_unjudged): &(&str, bool)| GuardedPool {
            name: name.into(),
            uid: Uid::new(&format!("u-{name}")),
            taint: PoolTaint { key: format!("{name}/key").into(), ..PoolTaint::default() },
            users: PoolUsers {
                namespaces: Some(LabelSelector::of_labels([("team", name)])),
                service_accounts: vec![ServiceAccount { namespace: "n".into(), name: "s".into() }],
                users: vec!["jane".into()],
                groups: vec![],
            },
            daemon_sets: DaemonSetPolicy::Allow,
            denial_if_unjudged,
            members: ["n1".into()].into(),
        };
        PoolGuard {
            nodes: nodes.iter().map(|&name| name.into()).collect(),
            unknown: UnknownNodePolicy::Deny,
            pools: pools.iter().map(guarded).collect(),
            released: BTreeSet::new(),
        }
    }

    fn patched(found: &PoolGuardBody, guard: &PoolGuard, kept: &[&str]) -> Option<Value> {
        found.patch(guard, &kept.iter().copied().collect()).map(|body| serde_json::from_slice(&body).unwrap())
    }

    #[test]
    fn missing_pools_are_added_and_deleted_ones_removed() {
        let found =
            body(&json!({"nodes": {"a": "", "gone": ""}, "keys": {"old": ""}, "unknownNodes": "Deny"}));
        let patch = patched(&found, &guard(&["a", "b.example"], &[("x", true), ("y", false)]), &[]).unwrap();
        assert_eq!(patch["metadata"], json!({"uid": "u", "resourceVersion": "7"}));
        let spec = &patch["spec"];
        assert_eq!(spec["nodes"], json!({"gone": null, "b.example": ""}));
        assert_eq!(spec["keys"], json!({"old": null, "x/key": ""}), "y denies no pods");
        assert_eq!(spec["taints"], json!({"x/key=": ""}));
        assert!(spec.get("unknownNodes").is_none() && spec["pools"].as_array().unwrap().len() == 2);
        let expected = json!({
            "metadata": {"name": "x", "uid": "u-x"},
            "spec": {
                "taint": {"key": "x/key", "value": "", "effects": ["NoSchedule"]},
                "users": {
                    "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["x"]}]},
                    "serviceAccounts": [{"namespace": "n", "name": "s"}], "users": ["jane"], "groups": [],
                },
                "enforcement": "Deny",
                "daemonSets": "Allow",
            },
            "status": {"nodeNames": ["n1"]},
        });
        assert_eq!(spec["pools"][0], expected);
        assert_eq!(spec["pools"][1]["spec"]["enforcement"], "Off");
    }

    #[test]
    fn an_equal_guard_is_not_written() {
        assert_eq!(patched(&body(&json!({})), &PoolGuard::default(), &[]), None, "as installed");
        let wanted = guard(&["a"], &[("x", true)]);
        let patch = patched(&body(&json!({})), &wanted, &[]).unwrap();
        let after = body(&patch["spec"]);
        assert_eq!(patched(&after, &wanted, &[]), None);
        assert!(after.contains(&Uid::new("u-x")) && !after.contains(&Uid::new("u-y")));
        assert_eq!(after.missing(&guard(&[], &[("x", true), ("y", true)])), [Uid::new("u-y")].into());
    }

    #[test]
    fn no_guard_is_larger_than_its_computed_size() {
        let found = body(&json!({}));
        let odd = "<&>\"\\\u{1}\u{2028}ä";
        for many in [0, 1, 7, 500] {
            let mut wanted = guard(&["a", "b"], &[("x", true), ("y", false)]);
            wanted.nodes.extend((0..many).map(|at| format!("node-{at}").into()));
            for pool in &mut wanted.pools {
                pool.users.users.extend((0..many).map(|at| format!("{odd}{at}").into()));
                pool.users.groups.extend((0..many).map(|at| format!("group-{at}").into()));
                let account = ServiceAccount { namespace: "n".into(), name: odd.into() };
                pool.users.service_accounts.extend(vec![account; many]);
                pool.members.extend((0..many).map(|at| format!("node-{at}").into()));
                let labels = (0..many).map(|at| (format!("key-{at}"), format!("value-{at}")));
                let labels: Vec<(String, String)> = labels.collect();
                let labels = labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
                pool.users.namespaces = Some(LabelSelector::of_labels(labels));
            }
            let size = encoded_len(&patched(&found, &wanted, &[]).unwrap().to_string());
            let computed = found.size_with(&wanted, &BTreeSet::new());
            assert!(size <= computed && computed < size + size / 4 + 3_000, "{many}: {size}, {computed}");
        }
    }

    #[test]
    fn an_existing_pool_is_kept() {
        let patch = patched(&body(&json!({})), &guard(&["a"], &[("x", true), ("y", true)]), &[]).unwrap();
        let (found, wanted) = (body(&patch["spec"]), guard(&["a"], &[("y", true)]));
        assert_eq!(found.others(&wanted), [("x", "u-x")]);
        let kept = patched(&found, &wanted, &["u-x"]).unwrap();
        assert_eq!(kept["spec"]["pools"], json!([patch["spec"]["pools"][1], patch["spec"]["pools"][0]]));
        assert!(
            kept["spec"].get("keys").is_none() && kept["spec"].get("taints").is_none(),
            "it denies other pods as before"
        );
        let gone = patched(&found, &wanted, &[]).unwrap();
        assert_eq!(gone["spec"]["pools"].as_array().unwrap().len(), 1);
        assert_eq!(gone["spec"]["keys"], json!({"x/key": null}));
    }

    #[test]
    fn an_invalid_guard_is_an_error() {
        for odd in ["", "{}", r#"{"metadata": {"uid": "u"}}"#, "<html>"] {
            PoolGuardBody::read(odd.as_bytes()).unwrap_err();
        }
    }
}
