//! Prints the columns of nodes, namespaces, leases, disruption budgets and events.

use super::{
    AGE, Made, MadeNow, NAME, TableColumn, Text, TextOr, flag, given, integer, list, number, or_none, string,
    string_or, text, time, wide,
};
use crate::age::ago;
use crate::resource::ResourceType;
use serde_json::Value;
use std::collections::BTreeSet;

/// The columns of a resource, if it is one of those printed here.
pub(super) fn columns(resource: &ResourceType) -> Option<&'static [TableColumn]> {
    Some(match (resource.group, resource.plural) {
        ("", "nodes") => NODES,
        ("", "namespaces") => NAMESPACES,
        ("", "events") => EVENTS,
        ("coordination.k8s.io", "leases") => LEASES,
        ("policy", "poddisruptionbudgets") => BUDGETS,
        _ => return None,
    })
}

const NODES: &[TableColumn] = &[
    NAME,
    text("Status", Made(node_status)),
    text("Roles", Made(roles)),
    AGE,
    text("Version", Text("status.nodeInfo.kubeletVersion")),
    wide("Internal-IP", Made(|node| address(node, "InternalIP"))),
    wide("External-IP", Made(|node| address(node, "ExternalIP"))),
    wide("OS-Image", TextOr("status.nodeInfo.osImage", "<unknown>")),
    wide("Kernel-Version", Made(kernel)),
    wide("Container-Runtime", TextOr("status.nodeInfo.containerRuntimeVersion", "<unknown>")),
];

const NAMESPACES: &[TableColumn] = &[NAME, text("Status", Text("status.phase")), AGE];

const LEASES: &[TableColumn] = &[NAME, text("Holder", Text("spec.holderIdentity")), AGE];

const BUDGETS: &[TableColumn] = &[
    NAME,
    text("Min Available", Made(|budget| bound(budget, "spec.minAvailable"))),
    text("Max Unavailable", Made(|budget| bound(budget, "spec.maxUnavailable"))),
    integer("Allowed Disruptions", "status.disruptionsAllowed"),
    AGE,
];

const EVENTS: &[TableColumn] = &[
    text("Last Seen", MadeNow(|event, now| ago(time(event, last_seen(event)), now).into())),
    text("Type", Text("type")),
    text("Reason", Text("reason")),
    text("Object", Made(target)),
    wide("Subobject", Text("involvedObject.fieldPath")),
    wide("Source", Made(source)),
    text("Message", Made(|event| string(event, "message").trim().to_owned())),
    wide("First Seen", MadeNow(|event, now| ago(time(event, first_seen(event)), now).into())),
    wide("Count", MadeNow(|event, _| count(event).into())),
    TableColumn { priority: 1, ..NAME },
];

fn node_status(node: &Value) -> String {
    // If a type occurs twice, the later one counts.
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
    let labels = given(node, "metadata.labels").and_then(Value::as_object).into_iter().flatten();
    let roles: BTreeSet<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
            Some(role) => Some(role),
            None => value.as_str().filter(|_| key == "kubernetes.io/role"),
        })
        .filter(|role| !role.is_empty())
        .collect();
    or_none(Vec::from_iter(roles).join(","))
}

fn address(node: &Value, type_: &str) -> String {
    let mut addresses = list(node, "status.addresses").iter();
    let found = addresses.find(|address| string(address, "type") == type_);
    found.map_or("<none>", |found| string(found, "address")).to_owned()
}

fn kernel(node: &Value) -> String {
    let kernel = string_or(node, "status.nodeInfo.kernelVersion", "<unknown>");
    match string(node, "status.nodeInfo.architecture") {
        "" => kernel.to_owned(),
        architecture => format!("{kernel} ({architecture})"),
    }
}

fn bound(budget: &Value, path: &str) -> String {
    let found = given(budget, path);
    found.map_or_else(|| "N/A".to_owned(), |found| found.as_str().map_or(found.to_string(), String::from))
}

fn first_seen(event: &Value) -> &'static str {
    if time(event, "firstTimestamp").is_some() { "firstTimestamp" } else { "eventTime" }
}

fn last_seen(event: &Value) -> &'static str {
    match given(event, "series") {
        Some(_) => "series.lastObservedTime",
        None if time(event, "lastTimestamp").is_some() => "lastTimestamp",
        None => first_seen(event),
    }
}

fn count(event: &Value) -> i64 {
    match given(event, "series") {
        Some(series) => number(series, "count"),
        None => number(event, "count").max(1),
    }
}

fn target(event: &Value) -> String {
    let kind = string(event, "involvedObject.kind").to_lowercase();
    match string(event, "involvedObject.name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

/// The component and host of an event, from the older fields or else from the newer ones.
fn source(event: &Value) -> String {
    let component = string_or(event, "source.component", string(event, "reportingComponent"));
    match string_or(event, "source.host", string(event, "reportingInstance")) {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    }
}
