//! Sets defaults of workload controllers.

use super::pod;
use crate::json_ext::{entries, fill, has, list_mut, object, text};
use serde_json::{Value, json};

/// An object of one of these resources.
pub(super) fn workload(resource: &str, of: &mut Value) {
    let spec = object(of, "spec");
    match resource {
        "deployments" => deployment(spec),
        "replicasets" => fill(spec, "replicas", 1),
        "daemonsets" => daemon_set(spec),
        "statefulsets" => stateful_set(spec),
        "jobs" => job(of),
        "cronjobs" => cron_job(spec),
        _ => return,
    }
    if resource != "cronjobs" {
        pod::template(object(object(of, "spec"), "template"));
    }
}

fn deployment(spec: &mut Value) {
    fill(spec, "replicas", 1);
    let strategy = object(spec, "strategy");
    fill(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let rolling = object(strategy, "rollingUpdate");
        fill(rolling, "maxUnavailable", "25%");
        fill(rolling, "maxSurge", "25%");
    }
    fill(spec, "revisionHistoryLimit", 10);
    fill(spec, "progressDeadlineSeconds", 600);
}

fn daemon_set(spec: &mut Value) {
    let strategy = object(spec, "updateStrategy");
    fill(strategy, "type", "RollingUpdate");
    if text(strategy, "type") == "RollingUpdate" {
        let rolling = object(strategy, "rollingUpdate");
        fill(rolling, "maxUnavailable", 1);
        fill(rolling, "maxSurge", 0);
    }
    fill(spec, "revisionHistoryLimit", 10);
}

fn stateful_set(spec: &mut Value) {
    fill(spec, "podManagementPolicy", "OrderedReady");
    let strategy = object(spec, "updateStrategy");
    if text(strategy, "type").is_empty() {
        fill(strategy, "type", "RollingUpdate");
        fill(strategy, "rollingUpdate", json!({}));
    }
    if text(strategy, "type") == "RollingUpdate" && has(strategy, "rollingUpdate") {
        fill(&mut strategy["rollingUpdate"], "partition", 0);
    }
    let retention = object(spec, "persistentVolumeClaimRetentionPolicy");
    fill(retention, "whenDeleted", "Retain");
    fill(retention, "whenScaled", "Retain");
    fill(spec, "replicas", 1);
    fill(spec, "revisionHistoryLimit", 10);
    for claim in list_mut(spec, "volumeClaimTemplates") {
        fill(claim, "apiVersion", "v1");
        fill(claim, "kind", "PersistentVolumeClaim");
        fill(object(claim, "spec"), "volumeMode", "Filesystem");
        fill(object(claim, "status"), "phase", "Pending");
    }
}

fn job(job: &mut Value) {
    let spec = object(job, "spec");
    if !has(spec, "parallelism") && !has(spec, "completions") {
        spec["completions"] = json!(1);
    }
    fill(spec, "parallelism", 1);
    let limit = if has(spec, "backoffLimitPerIndex") { i32::MAX } else { 6 };
    fill(spec, "backoffLimit", limit);
    fill(spec, "completionMode", "NonIndexed");
    fill(spec, "suspend", false);
    let replacement = if has(spec, "podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    fill(spec, "podReplacementPolicy", replacement);
    fill(spec, "manualSelector", false);
    for rule in spec.get_mut("podFailurePolicy").into_iter().flat_map(|policy| list_mut(policy, "rules")) {
        for condition in list_mut(rule, "onPodConditions") {
            fill(condition, "status", "True");
        }
    }
    let labels = spec["template"]["metadata"]["labels"].clone();
    if labels.is_object() && entries(&job["metadata"], "labels").next().is_none() {
        object(job, "metadata")["labels"] = labels;
    }
}

fn cron_job(spec: &mut Value) {
    fill(spec, "concurrencyPolicy", "Allow");
    fill(spec, "suspend", false);
    fill(spec, "successfulJobsHistoryLimit", 3);
    fill(spec, "failedJobsHistoryLimit", 1);
    pod::template(object(object(object(spec, "jobTemplate"), "spec"), "template"));
}
