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
pub(super) fn check(errors: &mut FieldErrors, resource: &ResourceType, object: &Value) {
    match (resource.group, resource.plural) {
        ("", "nodes") => node(errors, object),
        ("", "namespaces") => namespace(errors, object, false),
        ("", "bindings") => binding(errors, object),
        (group, "events") => event(errors, object, !group.is_empty()),
        ("policy", "poddisruptionbudgets") => budget(errors, object),
        ("coordination.k8s.io", "leases") => lease(errors, object),
        ("scheduling.k8s.io", "priorityclasses") => priority_class(errors, object),
        _ => {}
    }
}

/// Validates a change of one of these objects.
pub(super) fn check_update(errors: &mut FieldErrors, resource: &ResourceType, old: &Value, new: &Value) {
    match (resource.group, resource.plural) {
        ("", "nodes") => node_update(errors, old, new),
        (group, "events") if !group.is_empty() => event_update(errors, old, new),
        ("scheduling.k8s.io", "priorityclasses") => priority_class_update(errors, old, new),
        _ => {}
    }
}

/// Validates the finalizers of a Namespace on its subresource `finalize`.
pub(super) fn check_finalize(errors: &mut FieldErrors, object: &Value) {
    namespace(errors, object, true);
}

/// VAL-8, and the status that a node may be created with.
fn node(errors: &mut FieldErrors, node: &Value) {
    taints::taints(errors, node);
    node_resources(errors, node);
}

fn node_resources(errors: &mut FieldErrors, node: &Value) {
    for list in ["capacity", "allocatable"] {
        for (name, value) in entries(&node["status"], list) {
            if let Some(quantity) = Amount::read(value) {
                amount(errors, name, quantity, &format!("status.{list}.{name}"));
            }
        }
    }
}

/// VAL-9, VAL-10: taints may change; a node's addresses and its identity at the provider may not.
fn node_update(errors: &mut FieldErrors, old: &Value, new: &Value) {
    node_resources(errors, new);
    if !list(&old["spec"], "podCIDRs").is_empty() && old["spec"]["podCIDRs"] != new["spec"]["podCIDRs"] {
        errors.forbidden("spec.podCIDRs", "node updates may not change podCIDR except from \"\" to valid");
    }
    let was = text(&old["spec"], "providerID");
    if !was.is_empty() && was != text(&new["spec"], "providerID") {
        errors
            .forbidden("spec.providerID", "node updates may not change providerID except from \"\" to valid");
    }
    taints::taints(errors, new);
}

/// Validates a Namespace's own finalizers; with `each`, the path names the finalizer.
fn namespace(errors: &mut FieldErrors, namespace: &Value, each: bool) {
    for (index, name) in list(&namespace["spec"], "finalizers").iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        let path = if each { format!("spec.finalizers[{index}]") } else { "spec.finalizers".to_owned() };
        errors.each(&path, name, name_format::qualified_name(name));
        meta::known_finalizers(errors, &json!([name]), &path, false);
    }
}

/// Validates an Event in its stored form. One of the `newer` group must name its reporter and its time.
fn event(errors: &mut FieldErrors, event: &Value, newer: bool) {
    let namespace = text(&event["metadata"], "namespace");
    let about = text(&event["involvedObject"], "namespace");
    let timed = has(event, "eventTime");
    let wrong = match about {
        "" if timed => !["default", "kube-system"].contains(&namespace),
        "" => !["", "default"].contains(&namespace),
        about => !timed && namespace != about,
    };
    if wrong {
        errors.invalid("involvedObject.namespace", about, "does not match event.namespace");
    }
    if newer {
        if !timed {
            errors.required("eventTime", "");
        }
        let kind = text(event, "type");
        if !["Normal", "Warning"].contains(&kind) {
            errors.invalid("type", "", &format!("has invalid value: {kind}"));
        }
        for name in ["firstTimestamp", "lastTimestamp", "count"] {
            if has(event, name) && event[name] != 0 {
                errors.invalid(name, "", "needs to be unset");
            }
        }
        if has(event, "series") && number(&event["series"], "count").unwrap_or_default() < 2 {
            errors.invalid("series.count", "", "should be at least 2");
        }
    }
    if newer || timed {
        let (reporter, controller) = (
            if newer { "reportingController" } else { "reportingComponent" },
            text(event, "reportingComponent"),
        );
        if controller.is_empty() {
            errors.required(reporter, "");
        }
        errors.each(reporter, controller, name_format::qualified_name(controller));
        for name in ["reportingInstance", "action", "reason"] {
            match text(event, name).len() {
                0 => errors.required(name, ""),
                1..=128 => {}
                _ => errors.invalid(name, "", "can have at most 128 characters"),
            }
        }
        if text(event, "message").len() > 1024 {
            errors.invalid("message", "", "can have at most 1024 characters");
        }
    }
    if !newer {
        errors.each("namespace", namespace, name_format::dns_subdomain(namespace));
    }
}

/// Only the series of an Event of the newer group may change.
fn event_update(errors: &mut FieldErrors, old: &Value, new: &Value) {
    for name in ["reportingInstance", "action", "reason", "message", "type"] {
        if text(old, name) != text(new, name) {
            errors.invalid(name, text(new, name), "field is immutable");
        }
    }
}

/// A PodDisruptionBudget.
fn budget(errors: &mut FieldErrors, budget: &Value) {
    let spec = &budget["spec"];
    if has(spec, "minAvailable") && has(spec, "maxUnavailable") {
        errors.invalid("spec", spec.clone(), "minAvailable and maxUnavailable cannot be both set");
    }
    for name in ["minAvailable", "maxUnavailable"].into_iter().filter(|name| has(spec, name)) {
        share(errors, &spec[name], &format!("spec.{name}"));
        at_most_all(errors, &spec[name], &format!("spec.{name}"));
    }
    check_selector(errors, &spec["selector"], "spec.selector");
    let (policy, known) = (text(spec, "unhealthyPodEvictionPolicy"), ["AlwaysAllow", "IfHealthyBudget"]);
    if has(spec, "unhealthyPodEvictionPolicy") && !known.contains(&policy) {
        errors.unsupported("spec.unhealthyPodEvictionPolicy", policy, &known);
    }
}

/// A Lease.
fn lease(errors: &mut FieldErrors, lease: &Value) {
    let spec = &lease["spec"];
    if let Some(seconds) = number(spec, "leaseDurationSeconds").filter(|seconds| *seconds <= 0) {
        errors.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0");
    }
    errors.not_negative("spec.leaseTransitions", number(spec, "leaseTransitions"));
}

/// A PriorityClass.
fn priority_class(errors: &mut FieldErrors, class: &Value) {
    let system = text(&class["metadata"], "name").starts_with("system-");
    if !system && number(class, "value").unwrap_or_default() > HIGHEST_PRIORITY {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}");
        errors.forbidden("value", &detail);
    }
}

/// Validates a change of a PriorityClass.
fn priority_class_update(errors: &mut FieldErrors, old: &Value, new: &Value) {
    if number(old, "value").unwrap_or_default() != number(new, "value").unwrap_or_default() {
        errors.forbidden("value", "may not be changed in an update.");
    }
}

/// A Binding of a pod to a node.
fn binding(errors: &mut FieldErrors, binding: &Value) {
    let target = &binding["target"];
    if !["", "Node"].contains(&text(target, "kind")) {
        errors.unsupported("target.kind", text(target, "kind"), &["Node", "<empty>"]);
    }
    if text(target, "name").is_empty() {
        errors.required("target.name", "");
    }
}
