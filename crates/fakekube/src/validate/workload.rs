//! Validates Deployments, ReplicaSets, DaemonSets and Jobs.

use super::pod;
use super::put;
use super::{check_selector, is_broken_selector, is_empty_selector, selector_picks};
use crate::field_error::FieldErrors;
use crate::json_ext::{has, number, text};
use crate::name_format;
use crate::resource::ResourceType;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Validates a workload by itself.
pub(super) fn check(errors: &mut FieldErrors, resource: &ResourceType, object: &Value) {
    match (resource.group, resource.plural) {
        ("apps", "deployments") => deployment(errors, object),
        ("apps", "replicasets") => replica_set(errors, object),
        ("apps", "daemonsets") => daemon_set(errors, object),
        ("batch", "jobs") => job(errors, object),
        _ => {}
    }
}

/// Validates a change of a workload; for those that keep pods running, also its new state.
pub(super) fn check_update(errors: &mut FieldErrors, resource: &ResourceType, old: &Value, new: &Value) {
    match (resource.group, resource.plural) {
        ("apps", "deployments" | "replicasets" | "daemonsets") => {
            check(errors, resource, new);
            same_selector(errors, old, new);
        }
        ("batch", "jobs") => job_update(errors, old, new),
        _ => {}
    }
}

/// Validates the selector of a workload that keeps pods running: it must be present and match the template's labels.
fn runs_pods(errors: &mut FieldErrors, spec: &Value, whose: &str, owner: &str) {
    let picks = &spec["selector"];
    if picks.is_null() {
        errors.required("spec.selector", "");
    } else {
        check_selector(errors, picks, "spec.selector");
        if is_empty_selector(picks) {
            let detail = format!("empty selector is invalid for {whose}");
            errors.invalid("spec.selector", picks.clone(), &detail);
        }
    }
    if is_broken_selector(picks) {
        return errors.invalid("spec.selector", picks.clone(), "invalid label selector");
    }
    pod::picked(errors, picks, &spec["template"], "spec.template");
    pod::template(errors, &spec["template"], "spec.template");
    let pod = &spec["template"]["spec"];
    let policy = text(pod, "restartPolicy");
    if policy != "Always" {
        errors.unsupported("spec.template.spec.restartPolicy", policy, &["Always"]);
    }
    if has(pod, "activeDeadlineSeconds") {
        let detail = format!("activeDeadlineSeconds in {owner} is not Supported");
        errors.forbidden("spec.template.spec.activeDeadlineSeconds", &detail);
    }
}

fn not_negative(errors: &mut FieldErrors, spec: &Value, names: &[&str]) {
    for name in names {
        errors.not_negative(format!("spec.{name}"), number(spec, name));
    }
}

/// A Deployment.
fn deployment(errors: &mut FieldErrors, object: &Value) {
    let spec = &object["spec"];
    not_negative(errors, spec, &["replicas"]);
    runs_pods(errors, spec, "deployment", "ReplicaSet");
    let rolling = &spec["strategy"]["rollingUpdate"];
    match text(&spec["strategy"], "type") {
        "Recreate" if !rolling.is_null() => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            errors.forbidden("spec.strategy.rollingUpdate", detail);
        }
        "RollingUpdate" => {
            let path = "spec.strategy.rollingUpdate";
            share(errors, &rolling["maxUnavailable"], &format!("{path}.maxUnavailable"));
            share(errors, &rolling["maxSurge"], &format!("{path}.maxSurge"));
            if worth(&rolling["maxUnavailable"]) == 0 && worth(&rolling["maxSurge"]) == 0 {
                let detail = "may not be 0 when `maxSurge` is 0";
                errors.invalid(format!("{path}.maxUnavailable"), rolling["maxUnavailable"].clone(), detail);
            }
            at_most_all(errors, &rolling["maxUnavailable"], &format!("{path}.maxUnavailable"));
        }
        _ => {}
    }
    not_negative(errors, spec, &["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"]);
}

/// A ReplicaSet.
fn replica_set(errors: &mut FieldErrors, object: &Value) {
    not_negative(errors, &object["spec"], &["replicas", "minReadySeconds"]);
    // The server says "deployment" here too.
    runs_pods(errors, &object["spec"], "deployment", "ReplicaSet");
}

/// A DaemonSet.
fn daemon_set(errors: &mut FieldErrors, object: &Value) {
    runs_pods(errors, &object["spec"], "daemonset", "DaemonSet");
    not_negative(errors, &object["spec"], &["minReadySeconds", "revisionHistoryLimit"]);
}

/// A Job.
fn job(errors: &mut FieldErrors, job: &Value) {
    generated(errors, job);
    job_spec(errors, &job["spec"]);
}

/// Checks the labels and the selector that are generated for a Job without its own.
fn generated(errors: &mut FieldErrors, job: &Value) {
    let (spec, meta) = (&job["spec"], &job["metadata"]);
    if spec["manualSelector"] == json!(true) || spec["selector"].is_null() {
        return;
    }
    let (uid, name) = (text(meta, "uid"), text(meta, "name"));
    let wanted = BTreeMap::from([
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ]);
    let picks = &spec["selector"];
    if !is_broken_selector(picks) && !selector_picks(picks, &json!(wanted)) {
        errors.invalid("spec.selector", picks.clone(), "`selector` not auto-generated");
    }
}

fn job_spec(errors: &mut FieldErrors, spec: &Value) {
    let numbers =
        ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"];
    not_negative(errors, spec, &numbers);
    pod::template(errors, &spec["template"], "spec.template");
    let at = "spec.template.spec.restartPolicy";
    match text(&spec["template"]["spec"], "restartPolicy") {
        "Always" | "" => errors.required(at, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if has(spec, "podFailurePolicy") => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.invalid(at, "OnFailure", detail);
        }
        "OnFailure" | "Never" => {}
        other => errors.unsupported(at, other, &["OnFailure", "Never"]),
    }
    let picks = &spec["selector"];
    if picks.is_null() {
        errors.required("spec.selector", "");
    }
    check_selector(errors, picks, "spec.selector");
    if !is_broken_selector(picks) {
        pod::picked(errors, picks, &spec["template"], "spec.template");
    }
}

/// Validates a change of a Job.
fn job_update(errors: &mut FieldErrors, old: &Value, new: &Value) {
    let (was, is) = (&old["spec"], &new["spec"]);
    job_spec(errors, is);
    let completions = number(is, "completions");
    if number(was, "completions") != completions && text(is, "completionMode") != "Indexed" {
        errors.invalid("spec.completions", completions, "field is immutable");
    }
    same_selector(errors, old, new);
    let mut template = was["template"].clone();
    if was["suspend"] == json!(true) {
        // The scheduling fields of the template may change while the Job is suspended.
        for name in ["nodeSelector", "tolerations", "schedulingGates", "affinity"] {
            put(&mut template["spec"], &is["template"]["spec"], name);
        }
        put(&mut template, &is["template"], "metadata");
    }
    if template != is["template"] {
        errors.immutable("spec.template");
    }
}

/// Checks that the selector does not change.
fn same_selector(errors: &mut FieldErrors, old: &Value, new: &Value) {
    if old["spec"]["selector"] != new["spec"]["selector"] {
        errors.invalid("spec.selector", new["spec"]["selector"].clone(), "field is immutable");
    }
}

/// A number, or a percentage.
pub(super) fn share(errors: &mut FieldErrors, share: &Value, path: &str) {
    match share.as_str() {
        Some(text) => errors.each(path, text, name_format::percent(text)),
        None => errors.not_negative(path, share.as_i64()),
    }
}

/// A percentage is not above 100.
pub(super) fn at_most_all(errors: &mut FieldErrors, share: &Value, path: &str) {
    if share.as_str().is_some_and(|text| name_format::percent(text).is_empty()) && worth(share) > 100 {
        errors.invalid(path, share.clone(), "must not be greater than 100%");
    }
}

fn worth(share: &Value) -> i64 {
    match share.as_str() {
        Some(text) => text.trim_end_matches('%').parse().unwrap_or_default(),
        None => share.as_i64().unwrap_or_default(),
    }
}
