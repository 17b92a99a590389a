//! # Workload: what keeps pods running
//! Room:     Deployments, ReplicaSets, DaemonSets, StatefulSets: selectors, templates, numbers, strategies.
//! Comes in: `spec` and `status` of objects with their defaults.
//! Goes out: faults.
//! Not here: templates themselves (`pod.rs`), Jobs (`batch.rs`).

use super::found::Faults;
use super::{meta, pod, selector, words};
use crate::parts::{has, list, number, text};
use crate::schema::Schema;
use serde_json::Value;

/// A selector that must be there and pick the template's pods.
fn required_selector(
    faults: &mut Faults,
    spec: &Value,
    whose: &str,
    broken: &str,
    template: impl Fn(&mut Faults),
) {
    let picks = &spec["selector"];
    if picks.is_null() {
        faults.required("spec.selector", "");
    } else {
        selector::check(faults, picks, "spec.selector");
        if selector::is_empty(picks) {
            let detail = format!("empty selector is invalid for {whose}");
            faults.invalid("spec.selector", picks.clone(), &detail);
        }
    }
    if selector::is_broken(picks) {
        faults.invalid("spec.selector", picks.clone(), broken);
    } else {
        pod::picked(faults, picks, &spec["template"], "spec.template");
        template(faults);
    }
}

/// Pods that are kept running start again when they end, and have no end.
fn kept_running(faults: &mut Faults, spec: &Value, whose: &str) {
    let pod = &spec["template"]["spec"];
    let policy = text(pod, "restartPolicy");
    if policy != "Always" {
        faults.unsupported("spec.template.spec.restartPolicy", policy, &["Always"]);
    }
    if has(pod, "activeDeadlineSeconds") {
        let detail = format!("activeDeadlineSeconds in {whose} is not Supported");
        faults.forbidden("spec.template.spec.activeDeadlineSeconds", &detail);
    }
}

fn not_negative(faults: &mut Faults, spec: &Value, names: &[&str]) {
    for name in names {
        faults.not_negative(format!("spec.{name}"), number(spec, name));
    }
}

/// A Deployment.
pub(super) fn deployment(faults: &mut Faults, object: &Value) {
    let spec = &object["spec"];
    not_negative(faults, spec, &["replicas"]);
    required_selector(faults, spec, "deployment", "invalid label selector", |faults| {
        pod::template(faults, &spec["template"], "spec.template");
        kept_running(faults, spec, "ReplicaSet");
    });
    let strategy = &spec["strategy"];
    let rolling = &strategy["rollingUpdate"];
    match text(strategy, "type") {
        "Recreate" if !rolling.is_null() => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            faults.forbidden("spec.strategy.rollingUpdate", detail);
        }
        "Recreate" => {}
        "RollingUpdate" => {
            let path = "spec.strategy.rollingUpdate";
            share(faults, &rolling["maxUnavailable"], &format!("{path}.maxUnavailable"));
            share(faults, &rolling["maxSurge"], &format!("{path}.maxSurge"));
            if worth(&rolling["maxUnavailable"]) == 0 && worth(&rolling["maxSurge"]) == 0 {
                let detail = "may not be 0 when `maxSurge` is 0";
                faults.invalid(format!("{path}.maxUnavailable"), rolling["maxUnavailable"].clone(), detail);
            }
            at_most_all(faults, &rolling["maxUnavailable"], &format!("{path}.maxUnavailable"));
        }
        _ => {
            faults.unsupported_value("spec.strategy", strategy.clone(), &["Recreate", "RollingUpdate"]);
        }
    }
    not_negative(faults, spec, &["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"]);
    if let Some(deadline) = number(spec, "progressDeadlineSeconds")
        && deadline <= number(spec, "minReadySeconds").unwrap_or_default()
    {
        faults.invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds");
    }
}

/// A ReplicaSet.
pub(super) fn replica_set(faults: &mut Faults, object: &Value) {
    let spec = &object["spec"];
    not_negative(faults, spec, &["replicas", "minReadySeconds"]);
    // The server says "deployment" here too.
    required_selector(faults, spec, "deployment", "invalid label selector", |faults| {
        pod::template(faults, &spec["template"], "spec.template");
        kept_running(faults, spec, "ReplicaSet");
    });
}

/// A DaemonSet.
pub(super) fn daemon_set(faults: &mut Faults, object: &Value) {
    let spec = &object["spec"];
    let picks = &spec["selector"];
    selector::check(faults, picks, "spec.selector");
    if !selector::is_broken(picks) {
        pod::picked(faults, picks, &spec["template"], "spec.template");
    }
    if !picks.is_null() && selector::is_empty(picks) {
        faults.invalid("spec.selector", picks.clone(), "empty selector is invalid for daemonset");
    }
    pod::template(faults, &spec["template"], "spec.template");
    kept_running(faults, spec, "DaemonSet");
    not_negative(faults, spec, &["minReadySeconds"]);
    let strategy = &spec["updateStrategy"];
    match text(strategy, "type") {
        "OnDelete" => {}
        "RollingUpdate" => {
            rolling_daemons(faults, &strategy["rollingUpdate"], "spec.updateStrategy.rollingUpdate")
        }
        _ => {
            faults.unsupported_value("spec.updateStrategy", strategy.clone(), &["RollingUpdate", "OnDelete"]);
        }
    }
    not_negative(faults, spec, &["revisionHistoryLimit"]);
}

fn rolling_daemons(faults: &mut Faults, rolling: &Value, path: &str) {
    if rolling.is_null() {
        return faults.required(path, "");
    }
    let names = ["maxUnavailable", "maxSurge"];
    for name in names {
        share(faults, &rolling[name], &format!("{path}.{name}"));
    }
    for name in names {
        at_most_all(faults, &rolling[name], &format!("{path}.{name}"));
    }
    match (worth(&rolling["maxUnavailable"]) != 0, worth(&rolling["maxSurge"]) != 0) {
        (true, true) => {
            let detail = "may not be set when maxUnavailable is non-zero";
            faults.invalid(format!("{path}.maxSurge"), rolling["maxSurge"].clone(), detail);
        }
        (false, false) => faults.required(format!("{path}.maxUnavailable"), "cannot be 0 when maxSurge is 0"),
        _ => {}
    }
}

/// A StatefulSet.
pub(super) fn stateful_set(faults: &mut Faults, object: &Value, create: bool) {
    let spec = &object["spec"];
    let management = text(spec, "podManagementPolicy");
    if !["OrderedReady", "Parallel"].contains(&management) {
        faults.invalid("spec.podManagementPolicy", management, "must be 'OrderedReady' or 'Parallel'");
    }
    let strategy = &spec["updateStrategy"];
    let rolling = &strategy["rollingUpdate"];
    match text(strategy, "type") {
        "OnDelete" if !rolling.is_null() => {
            faults.invalid(
                "spec.updateStrategy.rollingUpdate",
                rolling.clone(),
                "only allowed for updateStrategy 'RollingUpdate'",
            );
        }
        "OnDelete" => {}
        "RollingUpdate" => {
            faults.not_negative("spec.updateStrategy.rollingUpdate.partition", number(rolling, "partition"));
        }
        _ => {
            faults.invalid("spec.updateStrategy", strategy.clone(), "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
    for name in ["whenDeleted", "whenScaled"] {
        let policy = text(&spec["persistentVolumeClaimRetentionPolicy"], name);
        let known = ["Retain", "Delete"];
        if !known.contains(&policy) {
            faults.unsupported(format!("spec.persistentVolumeClaimRetentionPolicy.{name}"), policy, &known);
        }
    }
    not_negative(faults, spec, &["replicas", "minReadySeconds"]);
    let service = text(spec, "serviceName");
    if create && !service.is_empty() {
        faults.each("spec.serviceName", service, words::dns_label(service));
    }
    required_selector(faults, spec, "statefulset", "", |faults| {
        let template = with_claims(spec);
        pod::template(faults, &template, "spec.template");
        meta::labels(faults, &template["metadata"], "spec.template.labels");
        meta::annotations(faults, &template["metadata"], "spec.template.annotations");
    });
    kept_running(faults, spec, "StatefulSet");
}

/// The template with a volume for each claim, and without the names the controller gives.
fn with_claims(spec: &Value) -> Value {
    let mut template = spec["template"].clone();
    let claims = list(spec, "volumeClaimTemplates");
    if let Some(fields) = template["spec"].as_object_mut() {
        fields.remove("subdomain");
        fields.remove("hostname");
        if !claims.is_empty() {
            let names: Vec<&str> = claims.iter().map(|claim| text(&claim["metadata"], "name")).collect();
            let claimed = names
                .iter()
                .map(|name| serde_json::json!({"name": name, "persistentVolumeClaim": {"claimName": name}}));
            let own = list(&spec["template"]["spec"], "volumes").iter();
            let own = own.filter(|volume| !names.contains(&text(volume, "name"))).cloned();
            fields.insert("volumes".to_owned(), claimed.chain(own).collect());
        }
    }
    template
}

/// What of a StatefulSet may not change.
pub(super) fn stateful_set_update(faults: &mut Faults, old: &Value, new: &Value) {
    let free = [
        "replicas",
        "template",
        "updateStrategy",
        "minReadySeconds",
        "ordinals",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
    ];
    let fixed = |object: &Value| {
        let mut object = object.clone();
        if let Some(spec) = object["spec"].as_object_mut() {
            spec.retain(|name, _| !free.contains(&name.as_str()));
        }
        object
    };
    if fixed(old)["spec"] != fixed(new)["spec"] {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                      'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                      'minReadySeconds' are forbidden";
        faults.forbidden("spec", detail);
    }
}

/// The selector stays.
pub(super) fn same_selector(faults: &mut Faults, old: &Value, new: &Value) {
    if old["spec"]["selector"] != new["spec"]["selector"] {
        faults.invalid("spec.selector", new["spec"]["selector"].clone(), "field is immutable");
    }
}

/// A number, or a percentage.
pub(super) fn share(faults: &mut Faults, share: &Value, path: &str) {
    match share.as_str() {
        Some(text) => faults.each(path, text, words::percent(text)),
        None => faults.not_negative(path, share.as_i64()),
    }
}

/// A percentage is not above 100.
pub(super) fn at_most_all(faults: &mut Faults, share: &Value, path: &str) {
    let percent = share.as_str().filter(|text| words::percent(text).is_empty());
    if percent.is_some_and(|_| worth(share) > 100) {
        faults.invalid(path, share.clone(), "must not be greater than 100%");
    }
}

fn worth(share: &Value) -> i64 {
    match share.as_str() {
        Some(text) => text.trim_end_matches('%').parse().unwrap_or_default(),
        None => share.as_i64().unwrap_or_default(),
    }
}

/// On update of a status: numbers that are not below zero, and not above those they are part of.
pub(super) fn status(faults: &mut Faults, kind: &str, new: &Value) {
    let status = &new["status"];
    let schema = Schema::get();
    let known = schema.kind("apps/v1", kind).and_then(|id| schema.field(id, "status"));
    let Some(crate::schema::Shape::Object(id)) = known.map(|field| &field.shape) else { return };
    let (numbers, parts): (&[&str], &[&str]) = match kind {
        "Deployment" => (
            &[
                "observedGeneration",
                "replicas",
                "updatedReplicas",
                "readyReplicas",
                "availableReplicas",
                "unavailableReplicas",
            ],
            &["updatedReplicas", "readyReplicas", "availableReplicas"],
        ),
        "ReplicaSet" => (
            &["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"],
            &["fullyLabeledReplicas", "readyReplicas", "availableReplicas"],
        ),
        "StatefulSet" => (
            &[
                "replicas",
                "readyReplicas",
                "currentReplicas",
                "updatedReplicas",
                "availableReplicas",
                "observedGeneration",
            ],
            &["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
        ),
        _ => (
            &[
                "currentNumberScheduled",
                "numberMisscheduled",
                "desiredNumberScheduled",
                "numberReady",
                "observedGeneration",
                "updatedNumberScheduled",
                "numberAvailable",
                "numberUnavailable",
            ],
            &[],
        ),
    };
    for name in numbers.iter().filter(|name| schema.field(*id, name).is_some()) {
        faults.not_negative(format!("status.{name}"), number(status, name));
    }
    let value = |name: &str| number(status, name).unwrap_or_default();
    for name in parts.iter().filter(|name| value(name) > value("replicas")) {
        faults.invalid(format!("status.{name}"), value(name), "cannot be greater than status.replicas");
    }
    if !parts.is_empty() && value("availableReplicas") > value("readyReplicas") {
        let whole = if kind == "StatefulSet" { "status.readyReplicas" } else { "readyReplicas" };
        let detail = format!("cannot be greater than {whole}");
        faults.invalid("status.availableReplicas", value("availableReplicas"), &detail);
    }
}
