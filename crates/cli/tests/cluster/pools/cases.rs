//! Lists valid pools and policies, and invalid fields in them.

use serde_json::{Value, json};

pub(crate) const POOL: &str = r#"{
    "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": "team-a"},
    "spec": {
        "taint": {"key": "example.com/pool", "value": "a"},
        "nodes": {"names": ["n1"]},
        "users": {"groups": ["team-a"]}
    }
}"#;

pub(crate) const POLICY: &str = r#"{
    "apiVersion": "taintward.io/v1alpha1", "kind": "TolerationPolicy", "metadata": {"name": "web"},
    "spec": {
        "namespaceSelector": {"matchLabels": {"tier": "web"}},
        "notReadySeconds": 30, "unreachableSeconds": "forever",
        "bounds": {"least": 5, "most": 600}
    }
}"#;

pub(crate) const EVICTION_POLICY: &str = r#"{
    "apiVersion": "taintward.io/v1alpha1", "kind": "EvictionPolicy", "metadata": {"name": "gentle"},
    "spec": {
        "taints": [{"key": "example.com/maintenance", "values": ["now", ""]}], "nodeSelector": {},
        "respectBudgets": {"deadlineSeconds": 2592000}, "maxPodsPerMinute": 1, "maxNodesAtOnce": 1,
        "maxUnavailablePerWorkload": "2,10%", "order": "PriorityClass", "waveTimeoutSeconds": 1,
        "maxTerminationGracePeriodSeconds": 0
    }
}"#;

/// An invalid value, and the message about it.
pub(crate) struct Wrong {
    pub(crate) at: &'static str,
    pub(crate) value: Value,
    pub(crate) message: &'static str,
}

fn wrong(at: &'static str, value: Value, message: &'static str) -> Wrong {
    Wrong { at, value, message }
}

pub(crate) fn pools() -> Vec<Wrong> {
    let long_domain = format!("{}.example/pool", "a.".repeat(125) + "a");
    let expressions = |one: Value| json!({"selector": {"matchExpressions": [one]}});
    let labels = |labels: Value| json!({"selector": {"matchLabels": labels}});
    let of_taint = "is not a valid taint key: use at most 63";
    let reserved = "belongs to Kubernetes: write a key of your own";
    vec![
        wrong("/spec/taint", json!({"key": "a/b/c"}), of_taint),
        wrong("/spec/taint", json!({"key": ""}), of_taint),
        wrong("/spec/taint", json!({"key": "Example.com/x"}), of_taint),
        wrong("/spec/taint", json!({"key": "a".repeat(64)}), of_taint),
        wrong("/spec/taint", json!({"key": long_domain}), of_taint),
        wrong("/spec/taint", json!({"key": "node.kubernetes.io/not-ready"}), reserved),
        wrong("/spec/taint", json!({"key": "k8s.io/x"}), reserved),
        wrong("/spec/taint", json!({"key": "node-role.kubernetes.io/control-plane"}), reserved),
        wrong(
            "/spec/taint",
            json!({"key": "a", "value": "-b"}),
            "is not a valid taint value: use at most 63",
        ),
        wrong("/spec/taint", json!({"key": "a", "effects": ["NoRun"]}), "supported values: \"NoSchedule\""),
        wrong("/spec/taint", json!({"key": "a", "effects": []}), "at least 1 items"),
        wrong("/spec/taint", json!({"key": "a", "effects": ["NoExecute", "NoExecute"]}), "Duplicate value"),
        wrong("/spec/taint", json!({}), "spec.taint.key: Required value"),
        wrong("/spec/label", json!({"key": "a b"}), "is not a valid label key: use at most 63"),
        wrong(
            "/spec/label",
            json!({"key": "a", "value": "b/c"}),
            "is not a valid label value: use at most 63",
        ),
        wrong("/spec/label", json!({"key": "kubernetes.io/hostname"}), "which kubelets cannot set"),
        wrong("/spec/nodes", json!({}), "no node can belong to it: write names, or a selector"),
        wrong("/spec/nodes", json!({"names": []}), "no node can belong to it"),
        wrong("/spec/nodes", labels(json!({"a b": "c"})), "contains an invalid label key: use at most 63"),
        wrong("/spec/nodes", labels(json!({"a": "b c"})), "contains an invalid label value: use at most 63"),
        wrong("/spec/nodes", expressions(json!({"key": "a", "operator": "In"})), "In and NotIn need values"),
        wrong(
            "/spec/nodes",
            expressions(json!({"key": "a", "operator": "Exists", "values": ["b"]})),
            "Exists and DoesNotExist take no values",
        ),
        wrong(
            "/spec/nodes",
            expressions(json!({"key": "a", "operator": "Gt", "values": ["1"]})),
            "supported values",
        ),
        wrong(
            "/spec/nodes",
            expressions(json!({"key": "!", "operator": "Exists"})),
            "is not a valid label key",
        ),
        wrong(
            "/spec/nodes",
            expressions(json!({"key": "a", "operator": "In", "values": ["b", "-"]})),
            "contains an invalid label value",
        ),
        wrong("/spec/users", json!({}), "no pod may use it: write a namespaceSelector"),
        wrong("/spec/users", json!({"groups": [], "users": [], "serviceAccounts": []}), "no pod may use it"),
        wrong("/spec/users", json!({"serviceAccounts": [{"name": "x"}]}), "namespace: Required value"),
        wrong("/spec/users", json!({"users": [""]}), "users[0]"),
        wrong("/spec/placement", json!("Sometimes"), "supported values: \"Exclusive\", \"Allowed\""),
        wrong("/spec/enforcement", json!("off"), "supported values: \"Deny\", \"Evict\", \"Warn\", \"Off\""),
        wrong("/spec/effects", json!([]), "unknown field \"spec.effects\""),
        wrong("/spec", json!({}), "spec.taint: Required value"),
    ]
}

pub(crate) fn policies() -> Vec<Wrong> {
    let seconds = "write a whole number of seconds without quotes, or forever";
    vec![
        wrong("/spec", json!({}), "spec.namespaceSelector: Required value"),
        wrong("/spec/notReadySeconds", json!("30"), seconds),
        wrong("/spec/unreachableSeconds", json!("Forever"), seconds),
        wrong("/spec/unreachableSeconds", json!(1.5), "must be of type integer,string"),
        wrong("/spec/bounds", json!({"least": 3, "most": 2}), "least is above most: swap them"),
        wrong("/spec/bounds", json!({"least": "3"}), "spec.bounds.least"),
        wrong("/spec/priority", json!(3_000_000_000_u32), "spec.priority"),
        wrong(
            "/spec/namespaceSelector",
            json!({"matchLabels": {"a": "b c"}}),
            "contains an invalid label value",
        ),
    ]
}

pub(crate) fn eviction_policies() -> Vec<Wrong> {
    let replicas = "write a number of replicas from 1, a percentage from 1% to 100%, or both with a comma";
    vec![
        wrong("/spec/respectBudgets", json!({"deadlineSeconds": 0}), "spec.respectBudgets.deadlineSeconds"),
        wrong(
            "/spec/respectBudgets",
            json!({"deadlineSeconds": 31_536_000}),
            "less than or equal to 2592000",
        ),
        wrong("/spec/maxPodsPerMinute", json!(0), "spec.maxPodsPerMinute"),
        wrong("/spec/maxNodesAtOnce", json!(0), "spec.maxNodesAtOnce"),
        wrong("/spec/maxUnavailablePerWorkload", json!(0), replicas),
        wrong("/spec/maxUnavailablePerWorkload", json!("0%"), replicas),
        wrong("/spec/maxUnavailablePerWorkload", json!("150%"), replicas),
        wrong("/spec/maxUnavailablePerWorkload", json!("2,10"), replicas),
        wrong("/spec/maxUnavailablePerWorkload", json!(1.5), "must be of type integer,string"),
        wrong("/spec/order", json!("Priority"), "supported values: \"PriorityClass\""),
        wrong("/spec/waveTimeoutSeconds", json!(0), "spec.waveTimeoutSeconds"),
        wrong("/spec", json!({"waveTimeoutSeconds": 60}), "add order: PriorityClass, or remove it"),
        wrong("/spec/maxTerminationGracePeriodSeconds", json!(-1), "spec.maxTerminationGracePeriodSeconds"),
        wrong("/spec/taints", json!([{"key": "a b"}]), "is not a valid taint key: use at most 63"),
        wrong("/spec/taints", json!([{"key": "a", "values": ["b c"]}]), "contains an invalid taint value"),
        wrong("/spec/podSelector", json!({"matchLabels": {"a b": "c"}}), "contains an invalid label key"),
        wrong("/spec/perMinute", json!(1), "unknown field \"spec.perMinute\""),
    ]
}
