//! Prints the columns of Deployments, ReplicaSets and DaemonSets.

use super::age::age;
use super::read::{list, number, string};
use super::selector::{format as format_selector, labels, selector};
use super::{AGE, NAME, TableDefinition, cells, integer, text, wide};
use jiff::Timestamp;
use serde_json::Value;

pub(super) const SHEETS: &[TableDefinition] = &[
    TableDefinition::new(
        "apps deployments",
        &[
            NAME,
            text("Ready"),
            text("Up-to-date"),
            text("Available"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        deployment,
    ),
    TableDefinition::new(
        "apps replicasets",
        &[
            NAME,
            integer("Desired"),
            integer("Current"),
            integer("Ready"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        replica_set,
    ),
    TableDefinition::new(
        "apps daemonsets",
        &[
            NAME,
            integer("Desired"),
            integer("Current"),
            integer("Ready"),
            integer("Up-to-date"),
            integer("Available"),
            text("Node Selector"),
            AGE,
            wide("Containers"),
            wide("Images"),
            wide("Selector"),
        ],
        daemon_set,
    ),
];

const CONTAINERS: &str = "spec.template.spec.containers";

/// The names of containers.
pub(super) fn names(object: &Value, path: &str) -> String {
    joined(object, path, "name")
}

/// The images of containers.
pub(super) fn images(object: &Value, path: &str) -> String {
    joined(object, path, "image")
}

fn joined(object: &Value, path: &str, field: &str) -> String {
    let texts: Vec<&str> = list(object, path).iter().map(|container| string(container, field)).collect();
    texts.join(",")
}

fn ready(object: &Value) -> String {
    format!("{}/{}", number(object, "status.readyReplicas"), number(object, "spec.replicas"))
}

fn deployment(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        string(object, "metadata.name"),
        ready(object),
        number(object, "status.updatedReplicas"),
        number(object, "status.availableReplicas"),
        age(object, now),
        names(object, CONTAINERS),
        images(object, CONTAINERS),
        format_selector(object, "spec.selector").unwrap_or_else(|| "<invalid>".to_owned()),
    ]
}

fn replica_set(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        string(object, "metadata.name"),
        number(object, "spec.replicas"),
        number(object, "status.replicas"),
        number(object, "status.readyReplicas"),
        age(object, now),
        names(object, CONTAINERS),
        images(object, CONTAINERS),
        selector(object, "spec.selector"),
    ]
}

fn daemon_set(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        string(object, "metadata.name"),
        number(object, "status.desiredNumberScheduled"),
        number(object, "status.currentNumberScheduled"),
        number(object, "status.numberReady"),
        number(object, "status.updatedNumberScheduled"),
        number(object, "status.numberAvailable"),
        labels(object, "spec.template.spec.nodeSelector"),
        age(object, now),
        names(object, CONTAINERS),
        images(object, CONTAINERS),
        selector(object, "spec.selector"),
    ]
}
