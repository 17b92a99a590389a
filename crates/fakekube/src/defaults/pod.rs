//! Sets defaults of pod specs and templates.

use super::amounts;
use crate::json_ext::{fill, has, list_mut, object, text};
use serde_json::{Value, json};

const CONTAINERS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// A pod.
pub(super) fn pod(pod: &mut Value) {
    let spec = object(pod, "spec");
    spec_of_any(spec);
    for name in ["containers", "initContainers"] {
        list_mut(spec, name).for_each(requests);
    }
    if has(spec, "resources") {
        requests(spec);
    }
    fill(spec, "enableServiceLinks", true);
    if spec["hostNetwork"] == json!(true) {
        for name in ["containers", "initContainers"] {
            for port in list_mut(spec, name).flat_map(|container| list_mut(container, "ports")) {
                if port.get("hostPort").and_then(Value::as_i64).unwrap_or_default() == 0 {
                    port["hostPort"] = port["containerPort"].clone();
                }
            }
        }
    }
}

/// A template.
pub(super) fn template(template: &mut Value) {
    spec_of_any(object(template, "spec"));
}

fn spec_of_any(spec: &mut Value) {
    fill(spec, "dnsPolicy", "ClusterFirst");
    fill(spec, "restartPolicy", "Always");
    fill(spec, "securityContext", json!({}));
    fill(spec, "terminationGracePeriodSeconds", 30);
    fill(spec, "schedulerName", "default-scheduler");
    // The old name of the field and the new one say the same.
    let account = [text(spec, "serviceAccountName"), text(spec, "serviceAccount")];
    if let Some(account) = account.iter().find(|name| !name.is_empty()).map(|name| (*name).to_owned()) {
        spec["serviceAccountName"] = json!(account);
        spec["serviceAccount"] = json!(account);
    }
    for name in CONTAINERS {
        list_mut(spec, name).for_each(container);
    }
    amounts(spec, "overhead");
}

fn container(container: &mut Value) {
    let policy = if is_latest(text(container, "image")) { "Always" } else { "IfNotPresent" };
    fill(container, "imagePullPolicy", policy);
    fill(container, "terminationMessagePath", "/dev/termination-log");
    fill(container, "terminationMessagePolicy", "File");
    let resources = object(container, "resources");
    amounts(resources, "limits");
    amounts(resources, "requests");
    for port in list_mut(container, "ports") {
        fill(port, "protocol", "TCP");
    }
}

/// Whether the tag of an image is `latest`, or there is neither tag nor digest.
fn is_latest(image: &str) -> bool {
    let (name, digest) = image.split_once('@').map_or((image, false), |(name, _)| (name, true));
    let last = name.rsplit('/').next().unwrap_or_default();
    last.split_once(':').map_or(!digest, |(_, tag)| tag == "latest")
}

/// Missing requests default to the limits.
fn requests(container: &mut Value) {
    let Some(resources) = container.get_mut("resources") else { return };
    let Some(limits) = resources["limits"].as_object().cloned() else { return };
    let requests = object(resources, "requests");
    for (name, limit) in limits {
        if !has(requests, &name) {
            requests[name] = limit;
        }
    }
}
