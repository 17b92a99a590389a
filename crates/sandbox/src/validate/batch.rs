//! # Batch: work that ends
//! Room:     Jobs and CronJobs.
//! Comes in: objects with their defaults and, for Jobs, their generated selectors.
//! Goes out: faults.
//! Not here: cron schedules beyond their number of fields (nothing here runs by them).

use super::found::Faults;
use super::pod_update::put;
use super::{pod, selector, words, workload};
use crate::parts::{has, list, number, text};
use serde_json::{Value, json};

const INDEXED_PARALLELISM: i64 = 100_000;

/// A Job.
pub(super) fn job(faults: &mut Faults, job: &Value) {
    generated(faults, job);
    let spec = &job["spec"];
    job_spec(faults, spec, "spec");
    let picks = &spec["selector"];
    if picks.is_null() {
        faults.required("spec.selector", "");
    } else {
        selector::check(faults, picks, "spec.selector");
    }
    if !selector::is_broken(picks) {
        pod::picked(faults, picks, &spec["template"], "spec.template");
    }
    let completions = number(spec, "completions").unwrap_or_default();
    if text(spec, "completionMode") == "Indexed" && completions > 0 {
        let name = text(&job["metadata"], "name");
        let longest = format!("{name}-{}", completions - 1);
        if !words::dns_label(&longest).is_empty() {
            let detail = format!("will not able to create pod with invalid DNS label: {longest}");
            faults.invalid("metadata.name", name, &detail);
        }
    }
}

/// The labels and the selector that are made for a Job that does not bring its own.
fn generated(faults: &mut Faults, job: &Value) {
    let (spec, meta) = (&job["spec"], &job["metadata"]);
    if spec["manualSelector"] == json!(true) || spec["selector"].is_null() {
        return;
    }
    let (uid, name) = (text(meta, "uid"), text(meta, "name"));
    if uid.is_empty() {
        faults.required("metadata.uid", "");
    }
    let wanted = [
        ("controller-uid", uid),
        ("job-name", name),
        ("batch.kubernetes.io/controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
    ];
    let labels = &spec["template"]["metadata"]["labels"];
    for (key, value) in wanted {
        let path = format!("spec.template.metadata.labels[{key}]");
        let detail = format!("must be '{value}'");
        match labels.get(key) {
            None => faults.required(path, &detail),
            Some(label) if label != value => faults.invalid(path, labels.clone(), &detail),
            Some(_) => {}
        }
    }
    let expected = json!(std::collections::BTreeMap::from(wanted));
    let picks = &spec["selector"];
    if !selector::is_broken(picks) && !selector::picks(picks, &expected) {
        faults.invalid("spec.selector", picks.clone(), "`selector` not auto-generated");
    }
}

fn job_spec(faults: &mut Faults, spec: &Value, path: &str) {
    let numbers = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    for name in numbers {
        faults.not_negative(format!("{path}.{name}"), number(spec, name));
    }
    if has(spec, "maxFailedIndexes") && !has(spec, "backoffLimitPerIndex") {
        faults.required(format!("{path}.backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
    completion_mode(faults, spec, path);
    let replacement = text(spec, "podReplacementPolicy");
    let known: &[&str] =
        if has(spec, "podFailurePolicy") { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
    if !replacement.is_empty() && !known.contains(&replacement) {
        faults.unsupported(format!("{path}.podReplacementPolicy"), replacement, known);
    }
    pod::template(faults, &spec["template"], &format!("{path}.template"));
    let restart = text(&spec["template"]["spec"], "restartPolicy");
    let at = format!("{path}.template.spec.restartPolicy");
    match restart {
        "Always" | "" => faults.required(at, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if has(spec, "podFailurePolicy") => {
            faults.invalid(at, restart, "only \"Never\" is supported when podFailurePolicy is specified");
        }
        "OnFailure" | "Never" => {}
        _ => faults.unsupported(at, restart, &["OnFailure", "Never"]),
    }
}

fn completion_mode(faults: &mut Faults, spec: &Value, path: &str) {
    match text(spec, "completionMode") {
        "Indexed" => {
            if !has(spec, "completions") {
                faults.required(format!("{path}.completions"), "when completion mode is Indexed");
            }
            let parallelism = number(spec, "parallelism").unwrap_or_default();
            if parallelism > INDEXED_PARALLELISM {
                let detail = format!(
                    "must be less than or equal to {INDEXED_PARALLELISM} when completion mode is Indexed"
                );
                faults.invalid(format!("{path}.parallelism"), parallelism, &detail);
            }
        }
        "NonIndexed" | "" => {
            for name in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if let Some(value) = number(spec, name) {
                    faults.invalid(format!("{path}.{name}"), value, "requires indexed completion mode");
                }
            }
        }
        other => faults.unsupported(format!("{path}.completionMode"), other, &["NonIndexed", "Indexed"]),
    }
}

/// What of a Job may not change.
pub(super) fn job_update(faults: &mut Faults, old: &Value, new: &Value) {
    let (was, is) = (&old["spec"], &new["spec"]);
    job_spec(faults, is, "spec");
    selector::check(faults, &is["selector"], "spec.selector");
    if !selector::is_broken(&is["selector"]) {
        pod::picked(faults, &is["selector"], &is["template"], "spec.template");
    }
    let completions = number(is, "completions");
    if number(was, "completions") != completions {
        let shown = Value::from(completions);
        if text(is, "completionMode") != "Indexed" {
            faults.invalid("spec.completions", shown, "field is immutable");
        } else if completions.is_some_and(|completions| Some(completions) != number(is, "parallelism")) {
            faults.invalid("spec.completions", shown, "can only be modified in tandem with spec.parallelism");
        }
    }
    workload::same_selector(faults, old, new);
    template(faults, was, is);
    for name in ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"] {
        if was[name] != is[name] {
            faults.invalid(format!("spec.{name}"), is[name].clone(), "field is immutable");
        }
    }
}

/// The template stays, but for where its pods go while a Job that never ran is suspended.
fn template(faults: &mut Faults, was: &Value, is: &Value) {
    let suspended = was["suspend"] == json!(true);
    let mut old = was["template"].clone();
    let new = &is["template"];
    if suspended {
        for name in ["nodeSelector", "tolerations", "schedulingGates"] {
            put(&mut old["spec"], &new["spec"], name);
        }
        for name in ["annotations", "labels"] {
            put(&mut old["metadata"], &new["metadata"], name);
        }
        if has(&old["spec"], "affinity") || has(&new["spec"], "affinity") {
            old["spec"]["affinity"]["nodeAffinity"] = new["spec"]["affinity"]["nodeAffinity"].clone();
        }
    }
    if old != *new {
        faults.immutable("spec.template");
    }
}

/// A CronJob.
pub(super) fn cron_job(faults: &mut Faults, job: &Value) {
    let spec = &job["spec"];
    let schedule = text(spec, "schedule");
    if schedule.is_empty() {
        faults.required("spec.schedule", "");
    } else {
        let fields = schedule.split_whitespace().collect::<Vec<_>>();
        if !schedule.starts_with('@') && fields.len() != 5 {
            let found = fields.join(" ");
            let detail = format!("expected exactly 5 fields, found {}: [{found}]", fields.len());
            faults.invalid("spec.schedule", schedule, &detail);
        }
    }
    faults.not_negative("spec.startingDeadlineSeconds", number(spec, "startingDeadlineSeconds"));
    let known = ["Allow", "Forbid", "Replace"];
    super::containers::one_of(faults, spec, "concurrencyPolicy", &known, "spec");
    let template = &spec["jobTemplate"]["spec"];
    job_spec(faults, template, "spec.jobTemplate.spec");
    if has(template, "selector") {
        faults.invalid(
            "spec.jobTemplate.spec.selector",
            template["selector"].clone(),
            "`selector` will be auto-generated",
        );
    }
    if template["manualSelector"] == json!(true) {
        faults.unsupported_value("spec.jobTemplate.spec.manualSelector", true, &["nil", "false"]);
    }
    for name in ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"] {
        faults.not_negative(format!("spec.{name}"), number(spec, name));
    }
}

/// On create, the name leaves room for the times in the names of its Jobs.
pub(super) fn cron_job_name(faults: &mut Faults, job: &Value) {
    let name = text(&job["metadata"], "name");
    if name.len() > 52 {
        faults.invalid("metadata.name", name, "must be no more than 52 characters");
    }
}

/// On update of a Job's status.
pub(super) fn job_status(faults: &mut Faults, new: &Value) {
    let status = &new["status"];
    for name in ["active", "succeeded", "failed", "ready", "terminating"] {
        faults.not_negative(format!("status.{name}"), number(status, name));
    }
    let is = |kind: &str| {
        list(status, "conditions")
            .iter()
            .any(|one| text(one, "type") == kind && text(one, "status") == "True")
    };
    let wrong = |faults: &mut Faults, detail: &str| {
        faults.0.push(super::Invalid {
            field: "status.conditions".to_owned(),
            kind: super::Kind::Invalid,
            value: None,
            detail: detail.to_owned(),
        });
    };
    if is("Complete") && is("Failed") {
        wrong(faults, "cannot set Complete=True and Failed=true conditions");
    }
    if is("Failed") && !is("FailureTarget") {
        wrong(faults, "cannot set Failed=True condition without the FailureTarget=true condition");
    }
    if is("Complete") && !is("SuccessCriteriaMet") {
        wrong(faults, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition");
    }
}
