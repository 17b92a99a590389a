//! Prints the columns of Nodes.

use super::age::age;
use super::read::{entries, flag, list, string, string_or};
use super::selector::or_none;
use super::{AGE, NAME, TableDefinition, cells, text, wide};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) const SHEETS: &[TableDefinition] = &[TableDefinition::new(
    " nodes",
    &[
        NAME,
        text("Status"),
        text("Roles"),
        AGE,
        text("Version"),
        wide("Internal-IP"),
        wide("External-IP"),
        wide("OS-Image"),
        wide("Kernel-Version"),
        wide("Container-Runtime"),
    ],
    node,
)];

fn node(node: &Value, now: Timestamp) -> Vec<Value> {
    let mut kernel = string_or(node, "status.nodeInfo.kernelVersion", "<unknown>").to_owned();
    let architecture = string(node, "status.nodeInfo.architecture");
    if !architecture.is_empty() {
        kernel = format!("{kernel} ({architecture})");
    }
    cells![
        string(node, "metadata.name"),
        status(node),
        roles(node),
        age(node, now),
        string(node, "status.nodeInfo.kubeletVersion"),
        address(node, "InternalIP"),
        address(node, "ExternalIP"),
        string_or(node, "status.nodeInfo.osImage", "<unknown>"),
        kernel,
        string_or(node, "status.nodeInfo.containerRuntimeVersion", "<unknown>"),
    ]
}

fn status(node: &Value) -> String {
    // Should a type be there twice, the later one counts.
    let mut conditions = list(node, "status.conditions").iter().rev();
    let ready = conditions.find(|condition| string(condition, "type") == "Ready");
    let ready = match ready.map(|condition| string(condition, "status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    if flag(node, "spec.unschedulable") { format!("{ready},SchedulingDisabled") } else { ready.to_owned() }
}

fn roles(node: &Value) -> String {
    let roles: BTreeSet<&str> = entries(node, "metadata.labels")
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None => (key == "kubernetes.io/role").then_some(value),
        })
        .filter(|role| !role.is_empty())
        .collect();
    or_none(Vec::from_iter(roles).join(","))
}

fn address<'a>(node: &'a Value, type_: &str) -> &'a str {
    let mut addresses = list(node, "status.addresses").iter();
    addresses
        .find(|address| string(address, "type") == type_)
        .map_or("<none>", |found| string(found, "address"))
}
