//! Validates node affinity.

use super::FieldErrors;
use super::{selector, words};
use crate::json_ext::{has, list, number, text};
use serde_json::Value;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// What is wrong with it.
pub(super) fn check(faults: &mut FieldErrors, affinity: &Value, path: &str) {
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
        let weight = number(wanted, "weight").unwrap_or_default();
        if !(1..=100).contains(&weight) {
            faults.invalid(format!("{path}.weight"), weight, "must be in the range 1-100");
        }
        term(faults, &wanted["preference"], &format!("{path}.preference"), false);
    }
}

fn term(faults: &mut FieldErrors, term: &Value, path: &str, check_values: bool) {
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
        let path = format!("{path}.matchFields[{index}]");
        if !["In", "NotIn"].contains(&text(wanted, "operator")) {
            let operator = text(wanted, "operator");
            faults.invalid(format!("{path}.operator"), operator, "not a valid selector operator");
        }
        if text(wanted, "key") != "metadata.name" {
            let key = text(wanted, "key");
            faults.invalid(format!("{path}.key"), key, "not a valid field selector key");
        }
    }
}
