//! # Affinity: where a pod wants to be
//! Room:     node affinity, pod affinity and anti-affinity, spreading over topologies.
//! Comes in: parts of `spec` of a pod or a template.
//! Goes out: faults.
//! Not here: what they pick (the scheduler).

use super::found::Faults;
use super::{selector, words};
use crate::parts::{has, list, number, text};
use serde_json::Value;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// `spec.affinity`.
pub(super) fn affinity(faults: &mut Faults, affinity: &Value, path: &str) {
    of_nodes(faults, &affinity["nodeAffinity"], &format!("{path}.nodeAffinity"));
    for name in ["podAffinity", "podAntiAffinity"] {
        of_pods(faults, &affinity[name], &format!("{path}.{name}"));
    }
}

fn of_nodes(faults: &mut Faults, affinity: &Value, path: &str) {
    if has(affinity, REQUIRED) {
        let path = format!("{path}.{REQUIRED}.nodeSelectorTerms");
        let terms = list(&affinity[REQUIRED], "nodeSelectorTerms");
        if terms.is_empty() {
            faults.required(&path, "must have at least one node selector term");
        }
        for (index, wanted) in terms.iter().enumerate() {
            term(faults, wanted, &format!("{path}[{index}]"), true);
        }
    }
    for (index, wanted) in list(affinity, PREFERRED).iter().enumerate() {
        let path = format!("{path}.{PREFERRED}[{index}]");
        weight(faults, wanted, &path);
        term(faults, &wanted["preference"], &format!("{path}.preference"), false);
    }
}

fn term(faults: &mut Faults, term: &Value, path: &str, check_values: bool) {
    for (index, wanted) in list(term, "matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{index}]");
        selector::operator(faults, wanted, &path, &["Lt", "Gt"]);
        let key = text(wanted, "key");
        faults.each(&format!("{path}.key"), key, words::qualified_name(key));
        if check_values {
            selector::values(faults, wanted, &path);
        }
    }
    for (index, wanted) in list(term, "matchFields").iter().enumerate() {
        field(faults, wanted, &format!("{path}.matchFields[{index}]"));
    }
}

fn field(faults: &mut Faults, wanted: &Value, path: &str) {
    let values = list(wanted, "values");
    match text(wanted, "operator") {
        "In" | "NotIn" if values.len() != 1 => {
            let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            faults.required(format!("{path}.values"), detail);
        }
        "In" | "NotIn" => {}
        other => faults.invalid(format!("{path}.operator"), other, "not a valid selector operator"),
    }
    match text(wanted, "key") {
        "metadata.name" => {
            for (index, value) in values.iter().enumerate() {
                let value = value.as_str().unwrap_or_default();
                faults.each(&format!("{path}.values[{index}]"), value, words::dns_subdomain(value));
            }
        }
        other => faults.invalid(format!("{path}.key"), other, "not a valid field selector key"),
    }
}

fn weight(faults: &mut Faults, wanted: &Value, path: &str) {
    let weight = number(wanted, "weight").unwrap_or_default();
    if !(1..=100).contains(&weight) {
        faults.invalid(format!("{path}.weight"), weight, "must be in the range 1-100");
    }
}

fn of_pods(faults: &mut Faults, affinity: &Value, path: &str) {
    for (index, term) in list(affinity, REQUIRED).iter().enumerate() {
        pod_term(faults, term, &format!("{path}.{REQUIRED}[{index}]"));
    }
    for (index, wanted) in list(affinity, PREFERRED).iter().enumerate() {
        let path = format!("{path}.{PREFERRED}[{index}]");
        weight(faults, wanted, &path);
        pod_term(faults, &wanted["podAffinityTerm"], &format!("{path}.podAffinityTerm"));
    }
}

fn pod_term(faults: &mut Faults, term: &Value, path: &str) {
    for name in ["labelSelector", "namespaceSelector"] {
        selector::check(faults, &term[name], &format!("{path}.{name}"));
    }
    for namespace in list(term, "namespaces").iter().filter_map(Value::as_str) {
        faults.each(&format!("{path}.namespace"), namespace, words::dns_label(namespace));
    }
    let (path, key) = (format!("{path}.topologyKey"), text(term, "topologyKey"));
    if key.is_empty() {
        faults.required(&path, "can not be empty");
    }
    faults.each(&path, key, words::qualified_name(key));
}

/// `spec.topologySpreadConstraints`.
pub(super) fn spread(faults: &mut Faults, spec: &Value, path: &str) {
    let all = list(spec, "topologySpreadConstraints");
    for (index, constraint) in all.iter().enumerate() {
        let path = format!("{path}.topologySpreadConstraints[{index}]");
        let skew = number(constraint, "maxSkew").unwrap_or_default();
        if skew <= 0 {
            faults.invalid(format!("{path}.maxSkew"), skew, "must be greater than zero");
        }
        let (key, otherwise) = (text(constraint, "topologyKey"), text(constraint, "whenUnsatisfiable"));
        if key.is_empty() {
            faults.required(format!("{path}.topologyKey"), "can not be empty");
        }
        let known = ["DoNotSchedule", "ScheduleAnyway"];
        if !known.contains(&otherwise) {
            faults.unsupported(format!("{path}.whenUnsatisfiable"), otherwise, &known);
        }
        let again = |other: &Value| {
            text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == otherwise
        };
        if all[index + 1..].iter().any(again) {
            let shown = format!("{{{key}, {otherwise}}}");
            faults.duplicate(format!("{path}.{{topologyKey, whenUnsatisfiable}}"), shown.as_str(), "");
        }
        selector::check(faults, &constraint["labelSelector"], &format!("{path}.labelSelector"));
    }
}
