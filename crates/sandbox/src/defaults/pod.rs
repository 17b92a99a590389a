//! # Pod: what is filled in for pods and templates
//! Room:     `spec` of pods and templates: policies, containers, probes, volumes, amounts.
//! Comes in: pods, templates.
//! Goes out: the same, filled in.
//! Not here: what admission sets (`admitted.rs`).

use crate::parts::{fill, has, list_mut, object, text};
use crate::quantity;
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
    list_mut(spec, "volumes").for_each(volume);
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
    for variable in list_mut(container, "env") {
        if has(&variable["valueFrom"], "fieldRef") {
            fill(&mut variable["valueFrom"]["fieldRef"], "apiVersion", "v1");
        }
        if has(&variable["valueFrom"], "resourceFieldRef") {
            fill(&mut variable["valueFrom"]["resourceFieldRef"], "divisor", "0");
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if has(container, name) {
            probe(&mut container[name]);
        }
    }
    for name in ["postStart", "preStop"] {
        if has(&container["lifecycle"], name) {
            http(&mut container["lifecycle"][name]);
        }
    }
}

/// The tag of an image is `latest`, or it has neither tag nor digest. What is no image's name has no tag either.
fn is_latest(image: &str) -> bool {
    let (name, digest) = image.split_once('@').map_or((image, false), |(name, _)| (name, true));
    let last = name.rfind('/').map_or(0, |slash| slash + 1);
    let (path, tag) = match name[last..].split_once(':') {
        Some((end, tag)) => (&name[..last + end.len()], Some(tag)),
        None => (name, None),
    };
    let is_host = |part: &str| {
        part == "localhost" || part.contains(['.', ':']) || part.bytes().any(|byte| byte.is_ascii_uppercase())
    };
    let path = path.split_once('/').filter(|(host, _)| is_host(host)).map_or(path, |(_, path)| path);
    let small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    let is_name = path.split('/').all(|part| !part.is_empty() && part.bytes().all(small));
    is_name && tag.map_or(!digest, |tag| tag == "latest")
}

fn probe(probe: &mut Value) {
    for (name, value) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        if probe.get(name).and_then(Value::as_i64).unwrap_or_default() == 0 {
            probe[name] = json!(value);
        }
    }
    http(probe);
    if has(probe, "grpc") && !has(&probe["grpc"], "service") {
        probe["grpc"]["service"] = json!("");
    }
}

fn http(handler: &mut Value) {
    if has(handler, "httpGet") {
        fill(&mut handler["httpGet"], "path", "/");
        fill(&mut handler["httpGet"], "scheme", "HTTP");
    }
}

fn volume(volume: &mut Value) {
    let sourced = volume
        .as_object()
        .is_some_and(|fields| fields.iter().any(|(name, it)| name != "name" && !it.is_null()));
    if !sourced {
        fill(volume, "emptyDir", json!({}));
    }
    for name in ["secret", "configMap", "downwardAPI", "projected"] {
        if has(volume, name) {
            fill(&mut volume[name], "defaultMode", 0o644);
        }
    }
    if has(volume, "hostPath") && !has(&volume["hostPath"], "type") {
        volume["hostPath"]["type"] = json!("");
    }
    let sources =
        volume.get_mut("projected").into_iter().flat_map(|projected| list_mut(projected, "sources"));
    for source in sources {
        if has(source, "serviceAccountToken") {
            fill(&mut source["serviceAccountToken"], "expirationSeconds", 3600);
        }
    }
    for item in volume.get_mut("downwardAPI").into_iter().flat_map(|api| list_mut(api, "items")) {
        if has(item, "fieldRef") {
            fill(&mut item["fieldRef"], "apiVersion", "v1");
        }
    }
    if has(volume, "image") {
        let latest = is_latest(text(&volume["image"], "reference"));
        fill(&mut volume["image"], "pullPolicy", if latest { "Always" } else { "IfNotPresent" });
    }
}

/// Requests that were left out are the limits.
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

/// Amounts as the server writes them: in canonical form, nothing smaller than a milli.
pub(super) fn amounts(of: &mut Value, name: &str) {
    for value in of.get_mut(name).and_then(Value::as_object_mut).into_iter().flat_map(|map| map.values_mut())
    {
        if let Some(quantity) = quantity::read(value) {
            *value = quantity.in_milli().to_string().into();
        }
    }
}
