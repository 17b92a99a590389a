//! Prints the columns of Deployments, ReplicaSets, DaemonSets and Jobs.

use super::{
    AGE, Made, MadeNow, NAME, Number, TableColumn, condition, given, integer, is_true, list, number, or_none,
    string, text, time, wide,
};
use crate::age::{human, seconds};
use crate::resource::ResourceType;
use crate::select::{format_labels, format_selector};
use jiff::Timestamp;
use serde_json::Value;

/// The columns of a resource, if it is one of those printed here.
pub(super) fn columns(resource: &ResourceType) -> Option<&'static [TableColumn]> {
    Some(match (resource.group, resource.plural) {
        ("apps", "deployments") => DEPLOYMENTS,
        ("apps", "replicasets") => REPLICA_SETS,
        ("apps", "daemonsets") => DAEMON_SETS,
        ("batch", "jobs") => JOBS,
        _ => return None,
    })
}

const DEPLOYMENTS: &[TableColumn] = &[
    NAME,
    text("Ready", Made(ready)),
    text("Up-to-date", Number("status.updatedReplicas")),
    text("Available", Number("status.availableReplicas")),
    AGE,
    CONTAINERS,
    IMAGES,
    wide("Selector", Made(|object| selected(object).unwrap_or_else(|| "<invalid>".to_owned()))),
];

const REPLICA_SETS: &[TableColumn] = &[
    NAME,
    integer("Desired", "spec.replicas"),
    integer("Current", "status.replicas"),
    integer("Ready", "status.readyReplicas"),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const DAEMON_SETS: &[TableColumn] = &[
    NAME,
    integer("Desired", "status.desiredNumberScheduled"),
    integer("Current", "status.currentNumberScheduled"),
    integer("Ready", "status.numberReady"),
    integer("Up-to-date", "status.updatedNumberScheduled"),
    integer("Available", "status.numberAvailable"),
    text(
        "Node Selector",
        Made(|set| or_none(format_labels(&set["spec"]["template"]["spec"]["nodeSelector"]))),
    ),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const JOBS: &[TableColumn] = &[
    NAME,
    text("Status", Made(|job| status(job).to_owned())),
    text("Completions", Made(completions)),
    text("Duration", MadeNow(|job, now| duration(job, now).into())),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const CONTAINERS: TableColumn = wide("Containers", Made(|object| of_containers(object, "name")));
const IMAGES: TableColumn = wide("Images", Made(|object| of_containers(object, "image")));
const SELECTOR: TableColumn =
    wide("Selector", Made(|object| selected(object).map_or_else(|| "<error>".to_owned(), or_none)));

fn of_containers(object: &Value, field: &str) -> String {
    let containers = list(object, "spec.template.spec.containers").iter();
    containers.map(|container| string(container, field)).collect::<Vec<_>>().join(",")
}

fn selected(object: &Value) -> Option<String> {
    format_selector(&object["spec"]["selector"])
}

fn ready(object: &Value) -> String {
    format!("{}/{}", number(object, "status.readyReplicas"), number(object, "spec.replicas"))
}

fn status(job: &Value) -> &'static str {
    let is = |type_| is_true(condition(job, type_));
    match () {
        () if is("Complete") => "Complete",
        () if is("Failed") => "Failed",
        () if given(job, "metadata.deletionTimestamp").is_some() => "Terminating",
        () if is("Suspended") => "Suspended",
        () if is("FailureTarget") => "FailureTarget",
        () if is("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(job: &Value) -> String {
    let succeeded = number(job, "status.succeeded");
    let parallelism = number(job, "spec.parallelism");
    match given(job, "spec.completions") {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        None => format!("{succeeded}/1"),
    }
}

/// The duration of a job; one that has not ended lasts until now.
fn duration(job: &Value, now: Timestamp) -> String {
    time(job, "status.startTime").map_or_else(String::new, |start| {
        human(seconds(start, time(job, "status.completionTime").unwrap_or(now)))
    })
}
