//! Sets the NoSchedule taints that follow node conditions and `spec.unschedulable` (NL-5, NL-6).

use super::pods::on;
use super::{Controller, ReconcileContext};
use crate::core_types;
use fakekube::resource::known;
use jiff::Timestamp;
use serde_json::{Value, json};
use taintward_core::taint::keys;

const NAME: &str = "node-controller";

/// A condition, the status that matters, and the taint for it.
const MEANT: [(&str, &str, &str); 6] = [
    ("Ready", "False", keys::NOT_READY),
    ("Ready", "Unknown", keys::UNREACHABLE),
    ("MemoryPressure", "True", keys::MEMORY_PRESSURE),
    ("DiskPressure", "True", keys::DISK_PRESSURE),
    ("PIDPressure", "True", keys::PID_PRESSURE),
    ("NetworkUnavailable", "True", keys::NETWORK_UNAVAILABLE),
];

pub(super) struct NodeController;

impl Controller for NodeController {
    fn step(&mut self, view: &ReconcileContext<'_>) -> Option<Timestamp> {
        let nodes = known("", "nodes");
        for key in view.changed.of(nodes) {
            let Some(node) = view.mirror.one(nodes, key) else { continue };
            let wanted = wanted(node);
            let present = core_types::list(&node["spec"]["taints"]);
            let ours = present.filter(|taint| is_ours(taint)).filter_map(|taint| taint["key"].as_str());
            let mut ours: Vec<&str> = ours.collect();
            ours.sort_unstable();
            if ours != wanted {
                let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
                let _ = view.server.change(&on(nodes, node), NAME, |node| set(node, &wanted));
            }
        }
        None
    }
}

fn is_ours(taint: &Value) -> bool {
    let known = MEANT.iter().any(|(_, _, key)| taint["key"] == *key) || taint["key"] == keys::UNSCHEDULABLE;
    known && taint["effect"] == "NoSchedule"
}

/// The keys of the taints that a node should have, in order.
fn wanted(node: &Value) -> Vec<&'static str> {
    let holds = |kind: &str, status: &str| {
        core_types::list(&node["status"]["conditions"])
            .any(|one| one["type"] == kind && one["status"] == status)
    };
    let mut keys: Vec<_> =
        MEANT.iter().filter(|(kind, status, _)| holds(kind, status)).map(|one| one.2).collect();
    let silent = !core_types::list(&node["status"]["conditions"]).any(|one| one["type"] == "Ready");
    if silent
        && core_types::list(&node["spec"]["taints"])
            .any(|taint| is_ours(taint) && taint["key"] == keys::NOT_READY)
    {
        // The node has no Ready condition yet.
        keys.push(keys::NOT_READY);
    }
    keys.extend((node["spec"]["unschedulable"] == true).then_some(keys::UNSCHEDULABLE));
    keys.sort_unstable();
    keys
}

fn set(node: &mut Value, wanted: &[String]) {
    let present = core_types::list(&node["spec"]["taints"]).cloned();
    let mut taints: Vec<Value> = present
        .filter(|taint| !is_ours(taint) || wanted.iter().any(|key| taint["key"] == key.as_str()))
        .collect();
    for key in wanted {
        if !taints.iter().any(|taint| is_ours(taint) && taint["key"] == key.as_str()) {
            taints.push(json!({"key": key, "effect": "NoSchedule"}));
        }
    }
    match taints.is_empty() {
        true => _ = node["spec"].as_object_mut().map(|spec| spec.remove("taints")),
        false => node["spec"]["taints"] = Value::Array(taints),
    }
}
