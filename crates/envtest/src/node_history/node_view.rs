//! Extracts taints, conditions and `spec.unschedulable` of a node; heartbeat times are left out.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The keys of Kubernetes' own node taints, without their prefix.
const OWN: [&str; 7] = [
    "not-ready",
    "unreachable",
    "unschedulable",
    "memory-pressure",
    "disk-pressure",
    "pid-pressure",
    "network-unavailable",
];

const PREFIX: &str = "node.kubernetes.io/";

/// The own taints with effect NoExecute, in the short form of [`NodeView::own`].
pub const NO_EXECUTE: [&str; 2] = ["not-ready:NoExecute", "unreachable:NoExecute"];

/// One taint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintView {
    /// Key and effect, such as `key:NoExecute`.
    pub name: String,
    /// Its value; empty if it has none.
    pub value: String,
    /// When it was added, if it has a time.
    pub added: Option<String>,
}

/// The recorded state of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeView {
    /// The UID of the incarnation.
    pub uid: String,
    /// All taints, in order.
    pub taints: Vec<TaintView>,
    /// The status of each condition.
    pub conditions: BTreeMap<String, String>,
    /// The reason of the condition Ready.
    pub reason: String,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
}

/// Whether node-lifecycle-controller would call this key and effect its own.
pub fn is_own(taint: &str) -> bool {
    let Some((key, effect)) = taint.strip_prefix(PREFIX).and_then(|rest| rest.split_once(':')) else {
        return false;
    };
    match effect {
        "NoSchedule" => OWN.contains(&key),
        "NoExecute" => OWN[..2].contains(&key),
        _ => false,
    }
}

impl NodeView {
    pub(super) fn of(node: &Value) -> Self {
        let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
        let list = |place: &str| node.pointer(place).and_then(Value::as_array).into_iter().flatten();
        let taint = |taint: &Value| TaintView {
            name: format!("{}:{}", text(taint, "key"), text(taint, "effect")),
            value: text(taint, "value"),
            added: taint["timeAdded"].as_str().map(str::to_owned),
        };
        let conditions = || list("/status/conditions");
        let ready = conditions().find(|one| one["type"] == "Ready");
        Self {
            uid: node.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().to_owned(),
            taints: list("/spec/taints").map(taint).collect(),
            conditions: conditions().map(|one| (text(one, "type"), text(one, "status"))).collect(),
            reason: ready.map(|one| text(one, "reason")).unwrap_or_default(),
            unschedulable: node["spec"]["unschedulable"] == true,
        }
    }

    /// The own taints in short form, such as `unreachable:NoExecute`.
    pub fn own(&self) -> BTreeSet<String> {
        let own = self.taints.iter().filter(|taint| is_own(&taint.name));
        own.map(|taint| taint.name[PREFIX.len()..].to_owned()).collect()
    }

    /// The names of all other taints, in order.
    pub fn foreign(&self) -> Vec<&str> {
        self.taints.iter().map(|taint| taint.name.as_str()).filter(|name| !is_own(name)).collect()
    }

    /// Whether the node has one of the two own NoExecute taints.
    pub fn is_evicting(&self) -> bool {
        self.own().iter().any(|taint| NO_EXECUTE.contains(&taint.as_str()))
    }

    /// The status of the condition Ready; empty if there is none.
    pub fn ready(&self) -> &str {
        self.conditions.get("Ready").map_or("", String::as_str)
    }

    /// When an own taint was added, if it has a time.
    pub fn added(&self, own: &str) -> Option<&str> {
        let found = self.taints.iter().find(|taint| taint.name.strip_prefix(PREFIX) == Some(own))?;
        found.added.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn own_taints_are_distinguished_from_others() {
        let taint = |key: &str, effect: &str| json!({"key": key, "effect": effect});
        let node = json!({
            "spec": {"taints": [
                taint("node.kubernetes.io/unreachable", "NoExecute"),
                taint("node.kubernetes.io/unschedulable", "NoSchedule"),
                taint("node.kubernetes.io/unschedulable", "NoExecute"),
                taint("node.kubernetes.io/out-of-service", "NoExecute"),
                taint("unreachable", "NoExecute"),
            ]},
            "status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]},
        });
        let sight = NodeView::of(&node);
        assert_eq!(
            sight.own().into_iter().collect::<Vec<_>>(),
            ["unreachable:NoExecute", "unschedulable:NoSchedule"]
        );
        assert_eq!(sight.foreign().len(), 3);
        assert!(sight.is_evicting());
        assert_eq!((sight.ready(), sight.reason.as_str()), ("Unknown", "NodeStatusUnknown"));
        assert_eq!(NodeView::default().ready(), "");
    }
}
