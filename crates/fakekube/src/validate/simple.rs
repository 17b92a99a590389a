//! Validates Nodes, Namespaces, Events, PodDisruptionBudgets, Leases, PriorityClasses and Bindings.

use super::check_selector;
use super::pod::amount;
use super::workload::{at_most_all, share};
use super::{meta, taints};
use crate::field_error::FieldErrors;
use crate::json_ext::{entries, has, list, number, text};
use crate::name_format;
use crate::quantity::Amount;
use crate::resource::ResourceType;
use serde_json::{Value, json};

const HIGHEST_PRIORITY: i64 = 1_000_000_000;

/// Validates one of these objects by itself.
pub(super) fn check(faults: &mut FieldErrors, resource: &ResourceType, object: &Value) {
    match (resource.group, resource.plural) {
        ("", "nodes") => node(faults, object),
        ("", "namespaces") => namespace(faults, object, false),
        ("", "bindings") => binding(faults, object),
        (group, "events") => event(faults, object, !group.is_empty()),
        ("policy", "poddisruptionbudgets") => budget(faults, object),
        ("coordination.k8s.io", "leases") => lease(faults, object),
        ("scheduling.k8s.io", "priorityclasses") => priority_class(faults, object),
        _ => {}
    }
}

/// Validates a change of one of these objects.
pub(super) fn check_update(faults: &mut FieldErrors, resource: &ResourceType, old: &Value, new: &Value) {
    match (resource.group, resource.plural) {
        ("", "nodes") => node_update(faults, old, new),
        (group, "events") if !group.is_empty() => event_update(faults, old, new),
        ("scheduling.k8s.io", "priorityclasses") => priority_class_update(faults, old, new),
        _ => {}
    }
}

/// Validates the finalizers of a Namespace on its subresource `finalize`.
pub(super) fn check_finalize(faults: &mut FieldErrors, object: &Value) {
    namespace(faults, object, true);
}

/// VAL-8, and the status that a node may be created with.
fn node(faults: &mut FieldErrors, node: &Value) {
    taints::taints(faults, node);
    node_resources(faults, node);
}

fn node_resources(faults: &mut FieldErrors, node: &Value) {
    for list in ["capacity", "allocatable"] {
        for (name, value) in entries(&node["status"], list) {
            if let Some(quantity) = Amount::read(value) {
                amount(faults, name, quantity, &format!("status.{list}.{name}"));
            }
        }
    }
}

/// VAL-9, VAL-10: taints may change; a node's addresses and its identity at the provider may not.
fn node_update(faults: &mut FieldErrors, old: &Value, new: &Value) {
    node_resources(faults, new);
    if !list(&old["spec"], "podCIDRs").is_empty() && old["spec"]["podCIDRs"] != new["spec"]["podCIDRs"] {
        faults.forbidden("spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid");
    }
    let was = text(&old["spec"], "providerID");
    if !was.is_empty() && was != text(&new["spec"], "providerID") {
        faults
            .forbidden("spec.providerID", "node updates may not change providerID except from \"\" to valid");
    }
    taints::taints(faults, new);
}

/// Validates a Namespace's own finalizers; with `each`, the path names the finalizer.
fn namespace(faults: &mut FieldErrors, namespace: &Value, each: bool) {
    for (index, name) in list(&namespace["spec"], "finalizers").iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        let path = if each { format!("spec.finalizers[{index}]") } else { "spec.finalizers".to_owned() };
        faults.each(&path, name, name_format::qualified_name(name));
        meta::known_finalizers(faults, &json!([name]), &path, false);
    }
}

/// Validates an Event in its stored form. One of the `newer` group must name its reporter and its time.
fn event(faults: &mut FieldErrors, event: &Value, newer: bool) {
    let namespace = text(&event["metadata"], "namespace");
    let about = text(&event["involvedObject"], "namespace");
    let timed = has(event, "eventTime");
    let wrong = match about {
        "" if timed => !["default", "kube-system"].contains(&namespace),
        "" => !["", "default"].contains(&namespace),
        about => !timed && namespace != about,
    };
    if wrong {
        faults.invalid("involvedObject.namespace", about, "does not match event.namespace");
    }
    if newer {
        if !timed {
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
        if has(event, "series") && number(&event["series"], "count").unwrap_or_default() < 2 {
            faults.invalid("series.count", "", "should be at least 2");
        }
    }
    if newer || timed {
        let (reporter, controller) = (
            if newer { "reportingController" } else { "reportingComponent" },
            text(event, "reportingComponent"),
        );
        if controller.is_empty() {
            faults.required(reporter, "");
        }
        faults.each(reporter, controller, name_format::qualified_name(controller));
        for name in ["reportingInstance", "action", "reason"] {
            match text(event, name).len() {
                0 => faults.required(name, ""),
                1..=128 => {}
                _ => faults.invalid(name, "", "can have at most 128 characters"),
            }
        }
        if text(event, "message").len() > 1024 {
            faults.invalid("message", "", "can have at most 1024 characters");
        }
    }
    if !newer {
        faults.each("namespace", namespace, name_format::dns_subdomain(namespace));
    }
}

/// Only the series of an Event of the newer group may change.
fn event_update(faults: &mut FieldErrors, old: &Value, new: &Value) {
    for name in ["reportingInstance", "action", "reason", "message", "type"] {
        if text(old, name) != text(new, name) {
            faults.invalid(name, text(new, name), "field is immutable");
        }
    }
}

/// A PodDisruptionBudget.
fn budget(faults: &mut FieldErrors, budget: &Value) {
    let spec = &budget["spec"];
    if has(spec, "minAvailable") && has(spec, "maxUnavailable") {
        faults.invalid("spec", spec.clone(), "minAvailable and maxUnavailable cannot be both set");
    }
    for name in ["minAvailable", "maxUnavailable"].into_iter().filter(|name| has(spec, name)) {
        share(faults, &spec[name], &format!("spec.{name}"));
        at_most_all(faults, &spec[name], &format!("spec.{name}"));
    }
    check_selector(faults, &spec["selector"], "spec.selector");
    let (policy, known) = (text(spec, "unhealthyPodEvictionPolicy"), ["AlwaysAllow", "IfHealthyBudget"]);
    if has(spec, "unhealthyPodEvictionPolicy") && !known.contains(&policy) {
        faults.unsupported("spec.unhealthyPodEvictionPolicy", policy, &known);
    }
}

/// A Lease.
fn lease(faults: &mut FieldErrors, lease: &Value) {
    let spec = &lease["spec"];
    if let Some(seconds) = number(spec, "leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        faults.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0");
    }
    faults.not_negative("spec.leaseTransitions", number(spec, "leaseTransitions"));
}

/// A PriorityClass.
fn priority_class(faults: &mut FieldErrors, class: &Value) {
    let system = text(&class["metadata"], "name").starts_with("system-");
    if !system && number(class, "value").unwrap_or_default() > HIGHEST_PRIORITY {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}");
        faults.forbidden("value", &detail);
    }
}

/// Validates a change of a PriorityClass.
fn priority_class_update(faults: &mut FieldErrors, old: &Value, new: &Value) {
    if number(old, "value").unwrap_or_default() != number(new, "value").unwrap_or_default() {
        faults.forbidden("value", "may not be changed in an update.");
    }
}

/// A Binding of a pod to a node.
fn binding(faults: &mut FieldErrors, binding: &Value) {
    let target = &binding["target"];
    if !["", "Node"].contains(&text(target, "kind")) {
        faults.unsupported("target.kind", text(target, "kind"), &["Node", "<empty>"]);
    }
    if text(target, "name").is_empty() {
        faults.required("target.name", "");
    }
}
