//! # Pod: pods, and the templates of pods
//! Room:     `spec` of a pod or template; a pod as a whole, on create.
//! Comes in: pods, templates, with their defaults.
//! Goes out: faults.
//! Not here: changes (`pod_update.rs`), containers (`containers.rs`), tolerations (`taints.rs`).

use super::containers::{self, Around, one_of};
use super::found::Faults;
use super::{affinity, meta, selector, taints, words};
use crate::parts::{entries, has, list, number, text};
use serde_json::{Value, json};
use std::collections::HashSet;

/// On create.
pub(super) fn create(faults: &mut Faults, pod: &Value) {
    whole(faults, pod);
    let spec = &pod["spec"];
    if !list(spec, "ephemeralContainers").is_empty() {
        faults.forbidden("spec.ephemeralContainers", "cannot be set on create");
    }
    if !text(spec, "nodeName").is_empty() && !list(spec, "schedulingGates").is_empty() {
        faults.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared");
    }
}

/// On create, and again on update.
pub(super) fn whole(faults: &mut Faults, pod: &Value) {
    meta::known(faults, pod, true, words::dns_subdomain);
    pod_annotations(faults, &pod["metadata"], &pod["spec"], "metadata.annotations");
    spec(faults, &pod["spec"], "spec", true);
    for name in ["containers", "initContainers"] {
        for (index, container) in list(&pod["spec"], name).iter().enumerate() {
            let image = text(container, "image");
            if image.trim() != image {
                let detail = "must not have leading or trailing whitespace";
                faults.invalid(format!("spec.{name}[{index}].image"), image, detail);
            }
        }
    }
}

/// A template at a path; what its owner demands besides is not here.
pub(super) fn template(faults: &mut Faults, template: &Value, path: &str) {
    let meta = &template["metadata"];
    meta::labels(faults, meta, &format!("{path}.labels"));
    meta::annotations(faults, meta, &format!("{path}.annotations"));
    pod_annotations(faults, meta, &template["spec"], &format!("{path}.annotations"));
    spec(faults, &template["spec"], &format!("{path}.spec"), false);
    if !list(&template["spec"], "ephemeralContainers").is_empty() {
        faults.forbidden(
            format!("{path}.spec.ephemeralContainers"),
            "ephemeral containers not allowed in pod template",
        );
    }
}

fn pod_annotations(faults: &mut Faults, meta: &Value, spec: &Value, path: &str) {
    for (key, value) in entries(meta, "annotations") {
        let value = value.as_str().unwrap_or_default();
        match key {
            "kubernetes.io/config.mirror" if text(spec, "nodeName").is_empty() => {
                let detail = "must set spec.nodeName if mirror pod annotation is set";
                faults.invalid(format!("{path}[{key}]"), value, detail);
            }
            "controller.kubernetes.io/pod-deletion-cost" => {
                let plain = !value.starts_with('+')
                    && (value == "0" || !value.trim_start_matches('-').starts_with('0'));
                if !value.is_empty() && (value.parse::<i32>().is_err() || !plain) {
                    faults.invalid(format!("{path}[{key}]"), value, "must be a 32bit integer");
                }
            }
            _ => {}
        }
    }
}

/// The `spec` of a pod (`is_pod`) or of a template.
fn spec(faults: &mut Faults, spec: &Value, path: &str, is_pod: bool) {
    if !has(spec, "terminationGracePeriodSeconds") {
        faults.required(format!("{path}.terminationGracePeriodSeconds"), "");
    }
    let around = Around { volumes: volumes(faults, spec, &format!("{path}.volumes")), spec };
    containers::containers(faults, &around, &format!("{path}.containers"));
    containers::init_containers(faults, &around, &format!("{path}.initContainers"));
    host_network(faults, spec, path, is_pod);
    one_of(faults, spec, "restartPolicy", &["Always", "OnFailure", "Never"], path);
    one_of(faults, spec, "dnsPolicy", &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], path);
    if text(spec, "dnsPolicy") == "None" && !has(spec, "dnsConfig") {
        let detail = "must provide `dnsConfig` when `dnsPolicy` is None";
        faults.required(format!("{path}.dnsConfig"), detail);
    }
    meta::label_map(faults, &spec["nodeSelector"], &format!("{path}.nodeSelector"));
    security(faults, spec, &format!("{path}.securityContext"));
    affinity::affinity(faults, &spec["affinity"], &format!("{path}.affinity"));
    for (index, gate) in list(spec, "readinessGates").iter().enumerate() {
        let name = text(gate, "conditionType");
        faults.each(
            &format!("{path}.readinessGates[{index}].conditionType"),
            name,
            words::qualified_name(name),
        );
    }
    scheduling_gates(faults, spec, &format!("{path}.schedulingGates"));
    affinity::spread(faults, spec, path);
    names(faults, spec, path);
    taints::tolerations(faults, spec, &format!("{path}.tolerations"));
    priority(faults, spec, path);
}

/// Volumes: their names, if they are right.
fn volumes<'a>(faults: &mut Faults, spec: &'a Value, path: &str) -> HashSet<&'a str> {
    let mut names = HashSet::new();
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let path = format!("{path}[{index}]");
        let before = faults.0.len();
        source(faults, volume, &path);
        let name = text(volume, "name");
        match name {
            "" => faults.required(format!("{path}.name"), ""),
            name => faults.each(&format!("{path}.name"), name, words::dns_label(name)),
        }
        if names.contains(name) {
            faults.duplicate(format!("{path}.name"), name, "");
        }
        if faults.0.len() == before {
            names.insert(name);
        }
    }
    names
}

fn source(faults: &mut Faults, volume: &Value, path: &str) {
    let order = [
        ("emptyDir", ""),
        ("hostPath", "path"),
        ("secret", "secretName"),
        ("nfs", "server"),
        ("persistentVolumeClaim", "claimName"),
        ("configMap", "name"),
        ("projected", ""),
        ("downwardAPI", ""),
        ("csi", "driver"),
        ("ephemeral", ""),
        ("image", ""),
    ];
    let mut count = 0;
    for (name, needs) in order.into_iter().filter(|(name, _)| has(volume, name)) {
        count += 1;
        if count > 1 {
            faults.forbidden(format!("{path}.{name}"), "may not specify more than 1 volume type");
        } else if !needs.is_empty() && text(&volume[name], needs).is_empty() {
            faults.required(format!("{path}.{name}.{needs}"), "");
        }
    }
    let others =
        volume.as_object().is_some_and(|fields| fields.len() > count + usize::from(has(volume, "name")));
    if count == 0 && !others {
        faults.required(path, "must specify a volume type");
    }
}

/// What a pod shares with its node, and as whom it runs.
fn security(faults: &mut Faults, spec: &Value, path: &str) {
    if spec["shareProcessNamespace"] == json!(true) && spec["hostPID"] == json!(true) {
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        faults.invalid(format!("{path}.shareProcessNamespace"), true, detail);
    }
    for name in ["fsGroup", "runAsUser", "runAsGroup"] {
        let most = i64::from(i32::MAX);
        if let Some(id) = number(&spec["securityContext"], name).filter(|id| !(0..=most).contains(id)) {
            faults.invalid(format!("{path}.{name}"), id, &words::between(0, most));
        }
    }
}

fn host_network(faults: &mut Faults, spec: &Value, path: &str, is_pod: bool) {
    if spec["hostNetwork"] != json!(true) {
        return;
    }
    for (at, container) in list(spec, "containers").iter().enumerate() {
        for (index, port) in list(container, "ports").iter().enumerate() {
            let host = number(port, "hostPort").unwrap_or_default();
            if (is_pod || host != 0) && host != number(port, "containerPort").unwrap_or_default() {
                let path = format!("{path}.containers[{at}].ports[{index}].hostPort");
                faults.invalid(path, host, "must match `containerPort` when `hostNetwork` is true");
            }
        }
    }
}

fn scheduling_gates(faults: &mut Faults, spec: &Value, path: &str) {
    let mut seen = HashSet::new();
    for (index, gate) in list(spec, "schedulingGates").iter().enumerate() {
        let (path, name) = (format!("{path}[{index}]"), text(gate, "name"));
        faults.each(&path, name, words::qualified_name(name));
        if !seen.insert(name) {
            faults.duplicate(path, name, "");
        }
    }
}

fn names(faults: &mut Faults, spec: &Value, path: &str) {
    let mut check = |name: &str, format: meta::Name| {
        let value = text(spec, name);
        if !value.is_empty() {
            faults.each(&format!("{path}.{name}"), value, format(value));
        }
    };
    check("serviceAccountName", words::dns_subdomain);
    check("nodeName", words::dns_subdomain);
    if let Some(deadline) =
        number(spec, "activeDeadlineSeconds").filter(|it| !(1..=i64::from(i32::MAX)).contains(it))
    {
        faults.invalid(
            format!("{path}.activeDeadlineSeconds"),
            deadline,
            &words::between(1, i64::from(i32::MAX)),
        );
    }
    let mut check = |name: &str| {
        let value = text(spec, name);
        if !value.is_empty() {
            faults.each(&format!("{path}.{name}"), value, words::dns_label(value));
        }
    };
    check("hostname");
    check("subdomain");
}

fn priority(faults: &mut Faults, spec: &Value, path: &str) {
    for name in ["priorityClassName", "runtimeClassName"] {
        let value = text(spec, name);
        if !value.is_empty() {
            faults.each(&format!("{path}.{name}"), value, words::dns_subdomain(value));
        }
    }
    if has(spec, "preemptionPolicy") {
        one_of(faults, spec, "preemptionPolicy", &["PreemptLowerPriority", "Never"], path);
    }
}

/// What the owner of a template demands of its labels.
pub(super) fn picked(faults: &mut Faults, picks: &Value, template: &Value, path: &str) {
    let labels = &template["metadata"]["labels"];
    if (picks.is_null() || !selector::is_empty(picks)) && !selector::picks(picks, labels) {
        faults.invalid(
            format!("{path}.metadata.labels"),
            labels.clone(),
            "`selector` does not match template `labels`",
        );
    }
}
