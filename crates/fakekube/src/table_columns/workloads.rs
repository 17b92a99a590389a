//! Prints the columns of workloads: Deployments, ReplicaSets, DaemonSets, StatefulSets, Jobs, CronJobs and others.

use super::{
    AGE, Made, MadeNow, NAME, Number, TableColumn, Text, TextOr, condition, count, flag, given, integer,
    is_true, list, number, or_none, selector, string, text, time, wide,
};
use crate::age::{ago, human, seconds};
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
        ("apps", "statefulsets") => STATEFUL_SETS,
        ("apps", "controllerrevisions") => REVISIONS,
        ("batch", "jobs") => JOBS,
        ("batch", "cronjobs") => CRON_JOBS,
        ("", "podtemplates") => POD_TEMPLATES,
        ("", "replicationcontrollers") => REPLICATION_CONTROLLERS,
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

const STATEFUL_SETS: &[TableColumn] = &[NAME, text("Ready", Made(ready)), AGE, CONTAINERS, IMAGES];

const REVISIONS: &[TableColumn] = &[
    NAME,
    text("Controller", Made(controller)),
    text("Revision", MadeNow(|revision, _| number(revision, "revision").into())),
    AGE,
];

const CRON_JOBS: &[TableColumn] = &[
    NAME,
    text("Schedule", Text("spec.schedule")),
    text("Timezone", TextOr("spec.timeZone", "<none>")),
    // Its type is a boolean, and its cells are texts.
    TableColumn { type_: "boolean", ..text("Suspend", Made(suspended)) },
    count("Active", |job| list(job, "status.active").len()),
    text("Last Schedule", MadeNow(last_schedule)),
    AGE,
    wide("Containers", Made(|job| of_containers(&job["spec"]["jobTemplate"]["spec"]["template"], "name"))),
    wide("Images", Made(|job| of_containers(&job["spec"]["jobTemplate"]["spec"]["template"], "image"))),
    wide("Selector", Made(|job| selector(&job["spec"]["jobTemplate"]["spec"]["selector"]))),
];

const POD_TEMPLATES: &[TableColumn] = &[
    NAME,
    text("Containers", Made(|object| of_containers(&object["template"], "name"))),
    text("Images", Made(|object| of_containers(&object["template"], "image"))),
    text("Pod Labels", Made(|object| or_none(format_labels(&object["template"]["metadata"]["labels"])))),
];

const REPLICATION_CONTROLLERS: &[TableColumn] = &[
    NAME,
    integer("Desired", "spec.replicas"),
    integer("Current", "status.replicas"),
    integer("Ready", "status.readyReplicas"),
    AGE,
    CONTAINERS,
    IMAGES,
    wide("Selector", Made(|object| or_none(format_labels(&object["spec"]["selector"])))),
];

const CONTAINERS: TableColumn =
    wide("Containers", Made(|object| of_containers(&object["spec"]["template"], "name")));
const IMAGES: TableColumn =
    wide("Images", Made(|object| of_containers(&object["spec"]["template"], "image")));
const SELECTOR: TableColumn = wide("Selector", Made(|object| selector(&object["spec"]["selector"])));

fn controller(revision: &Value) -> String {
    let owners = list(revision, "metadata.ownerReferences");
    let Some(owner) = owners.iter().find(|owner| flag(owner, "controller")) else {
        return "<none>".to_owned();
    };
    let group = string(owner, "apiVersion").split_once('/').map(|(group, _)| format!(".{group}"));
    let kind = format!("{}{}", string(owner, "kind"), group.unwrap_or_default());
    format!("{}/{}", kind.to_lowercase(), string(owner, "name"))
}

fn suspended(job: &Value) -> String {
    match given(job, "spec.suspend").and_then(Value::as_bool) {
        None => "<unset>",
        Some(true) => "True",
        Some(false) => "False",
    }
    .to_owned()
}

fn last_schedule(job: &Value, now: Timestamp) -> Value {
    match time(job, "status.lastScheduleTime") {
        None => "<none>".into(),
        last => ago(last, now).into(),
    }
}

fn of_containers(template: &Value, field: &str) -> String {
    let containers = list(template, "spec.containers").iter();
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
