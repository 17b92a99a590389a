//! Builds complete objects to decode.

use serde_json::{Value, json};
use taintward_core::dedicated_pools::PoolFact;
use taintward_kube::decode::{Decoded, WatchedObject};

/// The fact, which must exist.
pub(crate) fn fact<F: std::fmt::Debug>(decoded: Decoded<F>) -> F {
    match decoded {
        Decoded::Object(fact) => fact,
        other => panic!("{other:?}"),
    }
}

/// Why it cannot be decoded; its identity must be known.
pub(crate) fn why<F: std::fmt::Debug>(decoded: Decoded<F>) -> String {
    match decoded {
        Decoded::Undecodable(unreadable) => {
            assert_eq!(unreadable.identity.unwrap().name, "team-a");
            unreadable.why
        }
        other => panic!("{other:?}"),
    }
}

/// A pool with every field of its spec.
pub(crate) fn pool() -> Value {
    json!({
        "apiVersion": "taintward.io/v1alpha1",
        "kind": "DedicatedPool",
        "metadata": {
            "name": "team-a", "uid": "uid-1", "resourceVersion": "41", "generation": 3,
            "creationTimestamp": "2027-01-15T08:00:00Z", "finalizers": ["taintward.io/nodes"],
            "labels": {"a": "b"}, "managedFields": [{"manager": "kubectl"}],
        },
        "spec": {
            "taint": {"key": "example.com/pool", "value": "a", "effects": ["NoSchedule", "NoExecute"]},
            "label": {"key": "example.com/nodes", "value": "of-a"},
            "nodes": {
                "names": ["n1", "n2"],
                "selector": {
                    "matchLabels": {"z": "1", "b": ""},
                    "matchExpressions": [
                        {"key": "disk", "operator": "NotIn", "values": ["hdd", "tape"]},
                        {"key": "spot", "operator": "DoesNotExist"},
                    ],
                },
            },
            "users": {
                "namespaceSelector": {},
                "serviceAccounts": [{"namespace": "ci", "name": "runner"}],
                "users": ["jane"],
                "groups": ["ops"],
            },
            "placement": "Allowed",
            "enforcement": "Deny",
            "daemonSets": "Allow",
        },
    })
}

/// The pool, decoded.
pub(crate) fn seen(pool: &Value) -> PoolFact {
    fact(PoolFact::from_json(pool.to_string().as_bytes()))
}
