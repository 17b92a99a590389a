//! # Workloads as rows
//! Room:     what keeps pods running: deployments, replica sets, stateful sets, daemon sets, and their revisions.
//! Comes in: their objects, the time.
//! Goes out: cells.
//! Not here: jobs (`batch`).

use super::age::age;
use super::read::{flag, list, number, string};
use super::selector::{format as format_selector, labels, selector};
use super::{AGE, Column, NAME, Sheet, cells, integer, text, wide};
use jiff::Timestamp;
use serde_json::Value;

pub(super) const SHEETS: &[Sheet] = &[
    Sheet::new(
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
    Sheet::new("apps replicasets", REPLICAS, |object, now| {
        let mut cells = replicas(object, now);
        cells.push(selector(object, "spec.selector").into());
        cells
    }),
    Sheet::new(" replicationcontrollers", REPLICAS, |object, now| {
        let mut cells = replicas(object, now);
        cells.push(labels(object, "spec.selector").into());
        cells
    }),
    Sheet::new(
        "apps statefulsets",
        &[NAME, text("Ready"), AGE, wide("Containers"), wide("Images")],
        stateful_set,
    ),
    Sheet::new(
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
    Sheet::new(
        "apps controllerrevisions",
        &[NAME, text("Controller"), text("Revision"), AGE],
        controller_revision,
    ),
];

const REPLICAS: &[Column] = &[
    NAME,
    integer("Desired"),
    integer("Current"),
    integer("Ready"),
    AGE,
    wide("Containers"),
    wide("Images"),
    wide("Selector"),
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

/// All but the selector.
fn replicas(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        string(object, "metadata.name"),
        number(object, "spec.replicas"),
        number(object, "status.replicas"),
        number(object, "status.readyReplicas"),
        age(object, now),
        names(object, CONTAINERS),
        images(object, CONTAINERS),
    ]
}

fn stateful_set(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        string(object, "metadata.name"),
        ready(object),
        age(object, now),
        names(object, CONTAINERS),
        images(object, CONTAINERS),
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

fn controller_revision(object: &Value, now: Timestamp) -> Vec<Value> {
    let owner = list(object, "metadata.ownerReferences").iter().find(|owner| flag(owner, "controller"));
    cells![
        string(object, "metadata.name"),
        owner.map_or_else(|| "<none>".to_owned(), controller),
        number(object, "revision"),
        age(object, now),
    ]
}

/// `daemonset.apps/name`
fn controller(owner: &Value) -> String {
    let (kind, name) = (string(owner, "kind").to_lowercase(), string(owner, "name"));
    match string(owner, "apiVersion").split_once('/') {
        Some((group, _)) if !group.is_empty() => format!("{kind}.{}/{name}", group.to_lowercase()),
        _ if kind.is_empty() => name.to_owned(),
        _ => format!("{kind}/{name}"),
    }
}
