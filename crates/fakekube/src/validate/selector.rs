//! Validates label selectors and evaluates them.

use super::FieldErrors;
use super::{meta, words};
use crate::json_ext::{entries, list, text};
use crate::select::from_object;
use serde_json::Value;

/// A selector that may be absent.
pub(super) fn check(faults: &mut FieldErrors, selector: &Value, path: &str) {
    meta::label_map(faults, &selector["matchLabels"], &format!("{path}.matchLabels"));
    for (index, wanted) in list(selector, "matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{index}]");
        operator(faults, wanted, &path, &[]);
        let key = text(wanted, "key");
        faults.each(&format!("{path}.key"), key, words::qualified_name(key));
        values(faults, wanted, &path);
    }
}

/// The operator and the number of its values. `single` are operators with exactly one.
pub(super) fn operator(faults: &mut FieldErrors, wanted: &Value, path: &str, single: &[&str]) {
    let count = list(wanted, "values").len();
    match text(wanted, "operator") {
        "In" | "NotIn" if count == 0 => {
            faults.required(format!("{path}.values"), "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "In" | "NotIn" => {}
        "Exists" | "DoesNotExist" if count > 0 => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            faults.forbidden(format!("{path}.values"), detail);
        }
        "Exists" | "DoesNotExist" => {}
        other if single.contains(&other) => {
            if count != 1 {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                faults.required(format!("{path}.values"), detail);
            }
        }
        other => faults.invalid(format!("{path}.operator"), other, "not a valid selector operator"),
    }
}

/// The values, each of them a label's.
pub(super) fn values(faults: &mut FieldErrors, wanted: &Value, path: &str) {
    for (index, value) in list(wanted, "values").iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        faults.each(&format!("{path}.values[{index}]"), value, words::label_value(value));
    }
}

/// There, and picks everything.
pub(super) fn is_empty(selector: &Value) -> bool {
    entries(selector, "matchLabels").next().is_none() && list(selector, "matchExpressions").is_empty()
}

/// A selector the server can't work with: an unknown operator, a wrong number of values, a key or value of bad format.
pub(super) fn is_broken(selector: &Value) -> bool {
    let mut faults = FieldErrors::default();
    check(&mut faults, selector, "");
    !faults.0.is_empty()
}

/// Whether it picks an object with these labels. None at all picks nothing.
pub(super) fn picks(selector: &Value, labels: &Value) -> bool {
    from_object(selector).match_labels(labels)
}
