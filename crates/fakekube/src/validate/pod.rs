//! Validates pod specs and templates, as far as schedulers and kubelets act on them.
//!
//! - See `pod/update.rs` for changes, `taints.rs` for tolerations.

pub(super) mod update;

use super::between;
use super::{
    check_annotations, check_label_map, check_operator, check_values, is_empty_selector, selector_picks,
};
use super::{meta, taints};
use crate::field_error::FieldErrors;
use crate::json_ext::{has, list, number, text};
use crate::name_format;
use crate::quantity::Amount;
use serde_json::Value;
use std::collections::HashSet;

/// Validates on create.
pub(super) fn create(errors: &mut FieldErrors, pod: &Value) {
    whole(errors, pod);
    let spec = &pod["spec"];
    if !list(spec, "ephemeralContainers").is_empty() {
        errors.forbidden("spec.ephemeralContainers", "cannot be set on create");
    }
    if !text(spec, "nodeName").is_empty() && !list(spec, "schedulingGates").is_empty() {
        errors.forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared");
    }
}

/// Validates on create, and again on update.
fn whole(errors: &mut FieldErrors, pod: &Value) {
    meta::known(errors, pod, true, name_format::dns_subdomain);
    spec(errors, &pod["spec"], "spec");
}

/// Validates a template at a path, without its owner's additional rules.
pub(super) fn template(errors: &mut FieldErrors, template: &Value, path: &str) {
    check_label_map(errors, &template["metadata"]["labels"], &format!("{path}.labels"));
    check_annotations(errors, &template["metadata"], &format!("{path}.annotations"));
    spec(errors, &template["spec"], &format!("{path}.spec"));
}

fn spec(errors: &mut FieldErrors, spec: &Value, path: &str) {
    if !has(spec, "terminationGracePeriodSeconds") {
        errors.required(format!("{path}.terminationGracePeriodSeconds"), "");
    }
    if list(spec, "containers").is_empty() {
        errors.required(format!("{path}.containers"), "");
    }
    let mut names = HashSet::new();
    for list_name in ["containers", "initContainers"] {
        for (index, container) in list(spec, list_name).iter().enumerate() {
            container_itself(errors, container, &mut names, &format!("{path}.{list_name}[{index}]"));
        }
    }
    one_of(errors, spec, "restartPolicy", &["Always", "OnFailure", "Never"], path);
    check_label_map(errors, &spec["nodeSelector"], &format!("{path}.nodeSelector"));
    node_affinity(errors, &spec["affinity"]["nodeAffinity"], &format!("{path}.affinity.nodeAffinity"));
    scheduling_gates(errors, spec, &format!("{path}.schedulingGates"));
    for name in ["serviceAccountName", "nodeName", "priorityClassName"] {
        let value = text(spec, name);
        if !value.is_empty() {
            errors.each(&format!("{path}.{name}"), value, name_format::dns_subdomain(value));
        }
    }
    let deadline = number(spec, "activeDeadlineSeconds").filter(|it| !(1..=i64::from(i32::MAX)).contains(it));
    if let Some(deadline) = deadline {
        let detail = between(1, i64::from(i32::MAX));
        errors.invalid(format!("{path}.activeDeadlineSeconds"), deadline, &detail);
    }
    taints::tolerations(errors, spec, &format!("{path}.tolerations"));
    if has(spec, "preemptionPolicy") {
        one_of(errors, spec, "preemptionPolicy", &["PreemptLowerPriority", "Never"], path);
    }
}

fn container_itself<'a>(
    errors: &mut FieldErrors,
    container: &'a Value,
    names: &mut HashSet<&'a str>,
    path: &str,
) {
    let name = text(container, "name");
    match name {
        "" => errors.required(format!("{path}.name"), ""),
        name => errors.each(&format!("{path}.name"), name, name_format::dns_label(name)),
    }
    if text(container, "image").is_empty() {
        errors.required(format!("{path}.image"), "");
    }
    one_of(errors, container, "imagePullPolicy", &["Always", "IfNotPresent", "Never"], path);
    resources(errors, &container["resources"], &format!("{path}.resources"));
    if !names.insert(name) {
        errors.duplicate(format!("{path}.name"), name, "");
    }
}

/// Validates a field with a fixed set of values.
fn one_of(errors: &mut FieldErrors, of: &Value, name: &str, known: &[&str], path: &str) {
    match text(of, name) {
        "" => errors.required(format!("{path}.{name}"), ""),
        word if known.contains(&word) => {}
        word => errors.unsupported(format!("{path}.{name}"), word, known),
    }
}

/// `resources` of a container.
fn resources(errors: &mut FieldErrors, resources: &Value, path: &str) {
    for list_name in ["limits", "requests"] {
        for (name, value) in resources[list_name].as_object().into_iter().flatten() {
            let at = format!("{path}.{list_name}[{name}]");
            errors.each(&at, name, name_format::qualified_name(name));
            let Some(quantity) = Amount::read(value) else { continue };
            amount(errors, name, quantity, &at);
            if list_name == "requests" {
                within_limit(errors, name, quantity, &resources["limits"], path);
            }
        }
    }
}

/// Validates an amount of a resource: not negative, and whole if the resource cannot be divided.
pub(super) fn amount(errors: &mut FieldErrors, name: &str, quantity: Amount, path: &str) {
    if quantity.is_negative() {
        errors.invalid(path, quantity.to_string(), "must be greater than or equal to 0");
    }
    if (name == "pods" || is_extended(name)) && !quantity.in_milli().is_whole() {
        errors.invalid(path, quantity.to_string(), "must be an integer");
    }
}

/// A request may not exceed its limit; for extended resources it must equal the limit.
fn within_limit(errors: &mut FieldErrors, name: &str, request: Amount, limits: &Value, path: &str) {
    let wrong = match Amount::read(&limits[name]) {
        Some(limit) if is_extended(name) && request != limit => {
            format!("must be equal to {name} limit of {limit}")
        }
        Some(limit) if request > limit => format!("must be less than or equal to {name} limit of {limit}"),
        None if is_extended(name) => {
            let detail = "Limit must be set for non overcommitable resources";
            return errors.required(format!("{path}.limits"), detail);
        }
        _ => return,
    };
    errors.invalid(format!("{path}.requests"), request.to_string(), &wrong);
}

/// Whether a resource is an extended one, with a domain that is not Kubernetes' own.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/")
}

fn scheduling_gates(errors: &mut FieldErrors, spec: &Value, path: &str) {
    let mut seen = HashSet::new();
    for (index, gate) in list(spec, "schedulingGates").iter().enumerate() {
        let (path, name) = (format!("{path}[{index}]"), text(gate, "name"));
        errors.each(&path, name, name_format::qualified_name(name));
        if !seen.insert(name) {
            errors.duplicate(path, name, "");
        }
    }
}

/// Checks that the template's labels match the selector of its owner.
pub(super) fn picked(errors: &mut FieldErrors, picks: &Value, template: &Value, path: &str) {
    let labels = &template["metadata"]["labels"];
    if (picks.is_null() || !is_empty_selector(picks)) && !selector_picks(picks, labels) {
        let detail = "`selector` does not match template `labels`";
        errors.invalid(format!("{path}.metadata.labels"), labels.clone(), detail);
    }
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// What is wrong with it.
fn node_affinity(errors: &mut FieldErrors, affinity: &Value, path: &str) {
    if has(affinity, REQUIRED) {
        let path = format!("{path}.{REQUIRED}.nodeSelectorTerms");
        let terms = list(&affinity[REQUIRED], "nodeSelectorTerms");
        if terms.is_empty() {
            errors.required(&path, "must have at least one node selector term");
        }
        for (index, wanted) in terms.iter().enumerate() {
            term(errors, wanted, &format!("{path}[{index}]"), true);
        }
    }
    for (index, wanted) in list(affinity, PREFERRED).iter().enumerate() {
        let path = format!("{path}.{PREFERRED}[{index}]");
        let weight = number(wanted, "weight").unwrap_or_default();
        if !(1..=100).contains(&weight) {
            errors.invalid(format!("{path}.weight"), weight, "must be in the range 1-100");
        }
        term(errors, &wanted["preference"], &format!("{path}.preference"), false);
    }
}

fn term(errors: &mut FieldErrors, term: &Value, path: &str, with_values: bool) {
    for (index, wanted) in list(term, "matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{index}]");
        check_operator(errors, wanted, &path, &["Lt", "Gt"]);
        let key = text(wanted, "key");
        errors.each(&format!("{path}.key"), key, name_format::qualified_name(key));
        if with_values {
            check_values(errors, wanted, &path);
        }
    }
    for (index, wanted) in list(term, "matchFields").iter().enumerate() {
        let path = format!("{path}.matchFields[{index}]");
        if !["In", "NotIn"].contains(&text(wanted, "operator")) {
            let operator = text(wanted, "operator");
            errors.invalid(format!("{path}.operator"), operator, "not a valid selector operator");
        }
        if text(wanted, "key") != "metadata.name" {
            let key = text(wanted, "key");
            errors.invalid(format!("{path}.key"), key, "not a valid field selector key");
        }
    }
}
