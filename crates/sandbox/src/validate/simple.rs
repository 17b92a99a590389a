//! # Simple: kinds with little to check
//! Room:     Nodes, Namespaces, ConfigMaps, Secrets, Events, PodDisruptionBudgets, Leases, PriorityClasses, Bindings.
//! Comes in: objects with their defaults.
//! Goes out: faults.
//! Not here: taints (`taints.rs`).

use super::containers::amount;
use super::found::Faults;
use super::workload::{at_most_all, share};
use super::{meta, selector, taints, words};
use crate::parts::{entries, has, list, number, text};
use crate::quantity;
use serde_json::{Value, json};
use std::collections::HashSet;

const DATA_LIMIT: usize = 1024 * 1024;
const HIGHEST_PRIORITY: i64 = 1_000_000_000;
const SYSTEM_PRIORITIES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// VAL-8, and what of the status a node may bring.
pub(super) fn node(faults: &mut Faults, node: &Value) {
    taints::taints(faults, node);
    node_resources(faults, node);
    let cidrs = list(&node["spec"], "podCIDRs");
    for (index, cidr) in cidrs.iter().enumerate() {
        let cidr = cidr.as_str().unwrap_or_default();
        if !is_cidr(cidr) {
            let detail = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            faults.invalid(format!("spec.podCIDRs[{index}]"), cidr, detail);
        }
    }
    let six = |cidr: &Value| cidr.as_str().is_some_and(|cidr| cidr.contains(':'));
    if cidrs.len() > 2 || (cidrs.len() == 2 && six(&cidrs[0]) == six(&cidrs[1])) {
        faults.invalid("spec.podCIDRs", json!(cidrs), "may specify no more than one CIDR for each IP family");
    }
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(_)) => 32,
        Ok(std::net::IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

fn node_resources(faults: &mut Faults, node: &Value) {
    for list in ["capacity", "allocatable"] {
        for (name, value) in entries(&node["status"], list) {
            if let Some(quantity) = quantity::read(value) {
                amount(faults, name, quantity, &format!("status.{list}.{name}"));
            }
        }
    }
}

/// VAL-9, VAL-10: taints may change; a node's addresses and its identity at the provider may not.
pub(super) fn node_update(faults: &mut Faults, old: &Value, new: &Value) {
    node_resources(faults, new);
    let mut seen = HashSet::new();
    for (index, address) in list(&new["status"], "addresses").iter().enumerate() {
        if !seen.insert((text(address, "type"), text(address, "address"))) {
            faults.duplicate(format!("status.addresses[{index}]"), address.clone(), "");
        }
    }
    let (was, is) = (list(&old["spec"], "podCIDRs"), list(&new["spec"], "podCIDRs"));
    let changed = match was {
        [] => 0,
        _ if was.len() != is.len() => 1,
        _ => was.iter().zip(is).filter(|(was, is)| was != is).count(),
    };
    for _ in 0..changed {
        faults.forbidden("spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid");
    }
    let was = text(&old["spec"], "providerID");
    if !was.is_empty() && was != text(&new["spec"], "providerID") {
        faults
            .forbidden("spec.providerID", "node updates may not change providerID except from \"\" to valid");
    }
    taints::taints(faults, new);
}

/// A Namespace's own finalizers, at a path that may name each.
pub(super) fn namespace(faults: &mut Faults, namespace: &Value, each: bool) {
    for (index, name) in list(&namespace["spec"], "finalizers").iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        let path = if each { format!("spec.finalizers[{index}]") } else { "spec.finalizers".to_owned() };
        faults.each(&path, name, words::qualified_name(name));
        meta::known_finalizers(faults, &json!([name]), &path, false);
    }
}

/// A Namespace's phase says whether it is being deleted.
pub(super) fn namespace_status(faults: &mut Faults, new: &Value) {
    let phase = text(&new["status"], "phase");
    let (wanted, detail) = if has(&new["metadata"], "deletionTimestamp") {
        ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty")
    } else {
        ("Active", "may only be 'Active' if `deletionTimestamp` is empty")
    };
    if phase != wanted {
        faults.invalid("status.Phase", phase, detail);
    }
}

/// The bytes base64 stands for.
fn decoded(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_default();
    text.trim_end_matches('=').len() * 3 / 4
}

/// A ConfigMap.
pub(super) fn config_map(faults: &mut Faults, map: &Value) {
    let mut size = 0;
    for (key, value) in entries(map, "data") {
        let path = format!("data[{key}]");
        faults.each(&path, key, words::config_key(key));
        if map["binaryData"].get(key).is_some() {
            faults.invalid(path, key, "duplicate of key present in binaryData");
        }
        size += value.as_str().unwrap_or_default().len();
    }
    for (key, value) in entries(map, "binaryData") {
        faults.each(&format!("binaryData[{key}]"), key, words::config_key(key));
        size += decoded(value);
    }
    if size > DATA_LIMIT {
        faults.too_long("[]", DATA_LIMIT);
    }
}

/// A Secret.
pub(super) fn secret(faults: &mut Faults, secret: &Value) {
    let data = &secret["data"];
    let mut size = 0;
    for (key, value) in entries(secret, "data") {
        faults.each(&format!("data[{key}]"), key, words::config_key(key));
        size += decoded(value);
    }
    if size > DATA_LIMIT {
        faults.too_long("data", DATA_LIMIT);
    }
    let need: &[&str] = match text(secret, "type") {
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            if text(&secret["metadata"]["annotations"], key).is_empty() {
                faults.required(format!("metadata.annotations[{key}]"), "");
            }
            &[]
        }
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/basic-auth" if !has(data, "username") && !has(data, "password") => {
            &["username", "password"]
        }
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        _ => &[],
    };
    for key in need.iter().filter(|key| !has(data, key)) {
        faults.required(format!("data[{key}]"), "");
    }
}

/// What says of itself that it does not change does not change.
pub(super) fn immutable(faults: &mut Faults, old: &Value, new: &Value, names: &[&str]) {
    if old["immutable"] != json!(true) {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if new["immutable"] != json!(true) {
        faults.forbidden("immutable", detail);
    }
    for name in names.iter().filter(|name| old[**name] != new[**name]) {
        faults.forbidden(*name, detail);
    }
}

/// An Event as `v1` has it.
pub(super) fn event(faults: &mut Faults, event: &Value) {
    event_place(faults, event);
    if has(event, "eventTime") {
        new_event(faults, event, "reportingComponent");
    }
    let namespace = text(&event["metadata"], "namespace");
    faults.each("namespace", namespace, words::dns_subdomain(namespace));
}

/// An event of the newer group, in the older form.
pub(super) fn newer_event(faults: &mut Faults, event: &Value) {
    event_place(faults, event);
    if !has(event, "eventTime") {
        faults.required("eventTime", "");
    }
    let kind = text(event, "type");
    if !["Normal", "Warning"].contains(&kind) {
        faults.invalid("type", "", &format!("has invalid value: {kind}"));
    }
    for name in ["firstTimestamp", "lastTimestamp", "count"] {
        if has(event, name) && event[name] != 0 {
            faults.invalid(name, "", "needs to be unset");
        }
    }
    new_event(faults, event, "reportingController");
    if has(event, "series") && number(&event["series"], "count").unwrap_or_default() < 2 {
        faults.invalid("series.count", "", "should be at least 2");
    }
}

/// Only the series of such an event may go on.
pub(super) fn newer_event_update(faults: &mut Faults, old: &Value, new: &Value) {
    for name in ["reportingInstance", "action", "reason", "message", "type"] {
        if text(old, name) != text(new, name) {
            faults.invalid(name, text(new, name), "field is immutable");
        }
    }
}

/// An event is where its object is.
fn event_place(faults: &mut Faults, event: &Value) {
    let namespace = text(&event["metadata"], "namespace");
    let about = text(&event["involvedObject"], "namespace");
    let wrong = if !has(event, "eventTime") {
        if about.is_empty() { !["", "default"].contains(&namespace) } else { namespace != about }
    } else {
        about.is_empty() && !["default", "kube-system"].contains(&namespace)
    };
    if wrong {
        faults.invalid("involvedObject.namespace", about, "does not match event.namespace");
    }
}

fn new_event(faults: &mut Faults, event: &Value, reporter: &str) {
    let controller = text(event, "reportingComponent");
    if controller.is_empty() {
        faults.required(reporter, "");
    }
    faults.each(reporter, controller, words::qualified_name(controller));
    for name in ["reportingInstance", "action", "reason"] {
        let value = text(event, name);
        if value.is_empty() {
            faults.required(name, "");
        }
        if value.len() > 128 {
            faults.invalid(name, "", "can have at most 128 characters");
        }
    }
    if text(event, "message").len() > 1024 {
        faults.invalid("message", "", "can have at most 1024 characters");
    }
}

/// A PodDisruptionBudget.
pub(super) fn budget(faults: &mut Faults, budget: &Value) {
    let spec = &budget["spec"];
    if has(spec, "minAvailable") && has(spec, "maxUnavailable") {
        faults.invalid("spec", spec.clone(), "minAvailable and maxUnavailable cannot be both set");
    }
    for name in ["minAvailable", "maxUnavailable"].into_iter().filter(|name| has(spec, name)) {
        share(faults, &spec[name], &format!("spec.{name}"));
        at_most_all(faults, &spec[name], &format!("spec.{name}"));
    }
    selector::check(faults, &spec["selector"], "spec.selector");
    let (policy, known) = (text(spec, "unhealthyPodEvictionPolicy"), ["AlwaysAllow", "IfHealthyBudget"]);
    if has(spec, "unhealthyPodEvictionPolicy") && !known.contains(&policy) {
        faults.unsupported("spec.unhealthyPodEvictionPolicy", policy, &known);
    }
}

/// On update of a PodDisruptionBudget's status.
pub(super) fn budget_status(faults: &mut Faults, new: &Value) {
    for name in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
        faults.not_negative(format!("status.{name}"), number(&new["status"], name));
    }
}

/// A Lease.
pub(super) fn lease(faults: &mut Faults, lease: &Value) {
    let spec = &lease["spec"];
    if let Some(seconds) = number(spec, "leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        faults.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0");
    }
    faults.not_negative("spec.leaseTransitions", number(spec, "leaseTransitions"));
}

/// A PriorityClass.
pub(super) fn priority_class(faults: &mut Faults, class: &Value) {
    let (name, value) = (text(&class["metadata"], "name"), number(class, "value").unwrap_or_default());
    if name.starts_with("system-") {
        let why = match SYSTEM_PRIORITIES.iter().find(|(known, _)| *known == name) {
            None => Some(format!("{name} is not a known system priority class")),
            Some((_, known)) if *known != value => {
                Some(format!("value of {name} PriorityClass must be {known}"))
            }
            Some(_) if class["globalDefault"] == json!(true) => {
                Some(format!("globalDefault of {name} PriorityClass must be false"))
            }
            Some(_) => None,
        };
        if let Some(why) = why {
            let words = "priority class names with 'system-' prefix are reserved for system use only. error:";
            faults.forbidden("metadata.name", &format!("{words} {why}"));
        }
    } else if value > HIGHEST_PRIORITY {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}");
        faults.forbidden("value", &detail);
    }
    if has(class, "preemptionPolicy") {
        let path = "preemptionPolicy";
        let known = ["PreemptLowerPriority", "Never"];
        let policy = text(class, path);
        if !known.contains(&policy) {
            faults.unsupported(path, policy, &known);
        }
    }
}

/// What of a PriorityClass may not change.
pub(super) fn priority_class_update(faults: &mut Faults, old: &Value, new: &Value) {
    if number(old, "value").unwrap_or_default() != number(new, "value").unwrap_or_default() {
        faults.forbidden("value", "may not be changed in an update.");
    }
    if text(old, "preemptionPolicy") != text(new, "preemptionPolicy") {
        faults.invalid("preemptionPolicy", text(new, "preemptionPolicy"), "field is immutable");
    }
}

/// A Binding of a pod to a node.
pub(super) fn binding(faults: &mut Faults, binding: &Value) {
    let target = &binding["target"];
    if !["", "Node"].contains(&text(target, "kind")) {
        faults.unsupported("target.kind", text(target, "kind"), &["Node", "<empty>"]);
    }
    if text(target, "name").is_empty() {
        faults.required("target.name", "");
    }
}
