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
use taintward_core::identity::Uid;
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
    pools: Vec<Value>,
}

impl PoolGuardBody {
    /// Parses a `PoolGuard`.
    ///
    /// # Errors
    /// Why it is invalid.
    pub fn read(body: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(body).map_err(|why| why.to_string())
    }

    /// The pools in it.
    fn uids(&self) -> impl Iterator<Item = &str> {
        self.spec.pools.iter().filter_map(uid)
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

    /// Returns the merge patch that gives it this content, and keeps the pools with the UIDs `kept`; `None` if nothing
    /// changes.
    pub fn patch(&self, guard: &PoolGuard, kept: &BTreeSet<&str>) -> Option<Bytes> {
        let kept = self.spec.pools.iter().filter(|pool| uid(pool).is_some_and(|uid| kept.contains(uid)));
        let pools: Vec<Value> = guard.pools.iter().map(pool).chain(kept.cloned()).collect();
        let keeping = pools.iter().filter(|pool| pool["spec"]["enforcement"] == DENY);
        let keys: BTreeSet<&str> = keeping.filter_map(|pool| pool["spec"]["taint"]["key"].as_str()).collect();
        let mut spec = Map::new();
        let unknown = self.spec.unknown_nodes.as_deref().unwrap_or(UnknownNodePolicy::Allow.as_str());
        if unknown != guard.unknown.as_str() {
            spec.insert("unknownNodes".to_owned(), json!(guard.unknown.as_str()));
        }
        let nodes = guard.nodes.iter().map(AsRef::as_ref).collect();
        for (field, had, wanted) in [("nodes", &self.spec.nodes, &nodes), ("keys", &self.spec.keys, &keys)] {
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
            "enforcement": if pool.keeps_out { DENY } else { "Off" },
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
        let guarded = |&(name, keeps_out): &(&str, bool)| GuardedPool {
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
            keeps_out,
            members: ["n1".into()].into(),
        };
        PoolGuard {
            nodes: nodes.iter().map(|&name| name.into()).collect(),
            unknown: UnknownNodePolicy::Deny,
            pools: pools.iter().map(guarded).collect(),
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
    fn an_existing_pool_is_kept() {
        let patch = patched(&body(&json!({})), &guard(&["a"], &[("x", true), ("y", true)]), &[]).unwrap();
        let (found, wanted) = (body(&patch["spec"]), guard(&["a"], &[("y", true)]));
        assert_eq!(found.others(&wanted), [("x", "u-x")]);
        let kept = patched(&found, &wanted, &["u-x"]).unwrap();
        assert_eq!(kept["spec"]["pools"], json!([patch["spec"]["pools"][1], patch["spec"]["pools"][0]]));
        assert!(kept["spec"].get("keys").is_none(), "it denies other pods as before");
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
