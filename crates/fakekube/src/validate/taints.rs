//! Validates taints (VAL-8, VAL-9) and tolerations (VAL-1 to VAL-6).

use crate::field_error::FieldErrors;
use crate::json_ext::{has, list, text};
use crate::name_format;
use serde_json::Value;
use std::collections::HashSet;

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// VAL-8. As in a real server, the path in messages is `metadata.taints`, not the field's.
pub(super) fn taints(errors: &mut FieldErrors, node: &Value) {
    let mut seen = HashSet::new();
    for (index, taint) in list(&node["spec"], "taints").iter().enumerate() {
        let path = format!("metadata.taints[{index}]");
        let (key, value, effect) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        errors.each(&format!("{path}.key"), key, name_format::qualified_name(key));
        let wrong = name_format::label_value(value);
        if !wrong.is_empty() {
            errors.invalid(format!("{path}.value"), value, &wrong.join(";"));
        }
        if effect.is_empty() {
            errors.required(format!("{path}.effect"), "");
        } else {
            known_effect(errors, effect, &path);
        }
        if !seen.insert((key, effect)) {
            errors.duplicate(path, taint.clone(), "taints must be unique by key and effect pair");
        }
    }
}

fn known_effect(errors: &mut FieldErrors, effect: &str, path: &str) {
    if !EFFECTS.contains(&effect) {
        errors.unsupported(format!("{path}.effect"), effect, &EFFECTS);
    }
}

/// VAL-1 to VAL-5, for `spec.tolerations` of a pod or a template.
pub(super) fn tolerations(errors: &mut FieldErrors, spec: &Value, path: &str) {
    for (index, toleration) in list(spec, "tolerations").iter().enumerate() {
        let path = format!("{path}[{index}]");
        let (key, effect) = (text(toleration, "key"), text(toleration, "effect"));
        if !key.is_empty() {
            errors.each(&format!("{path}.key"), key, name_format::qualified_name(key));
        } else if text(toleration, "operator") != "Exists" {
            let detail =
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            errors.invalid(format!("{path}.operator"), text(toleration, "operator"), detail);
        }
        if has(toleration, "tolerationSeconds") && effect != "NoExecute" {
            let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            errors.invalid(format!("{path}.effect"), effect, detail);
        }
        operator(errors, toleration, &path);
        if !effect.is_empty() {
            known_effect(errors, effect, &path);
        }
    }
}

/// VAL-3, and VAL-4 without the comparison operators, which are off by default.
fn operator(errors: &mut FieldErrors, toleration: &Value, path: &str) {
    let value = text(toleration, "value");
    let path = format!("{path}.operator");
    match text(toleration, "operator") {
        "" | "Equal" => {
            let wrong = name_format::label_value(value);
            if !wrong.is_empty() {
                errors.invalid(path, value, &wrong.join(";"));
            }
        }
        "Exists" => {
            if !value.is_empty() {
                errors.invalid(path, value, "value must be empty when `operator` is 'Exists'");
            }
        }
        operator @ ("Lt" | "Gt") => errors.unsupported(path, operator, &["Equal", "Exists", "Lt", "Gt"]),
        other => errors.unsupported(path, other, &["Equal", "Exists"]),
    }
}

/// VAL-6: the old tolerations must still be there, except for their seconds.
pub(super) fn only_added(errors: &mut FieldErrors, old: &Value, new: &Value) {
    let same = |a: &Value, b: &Value| {
        ["key", "operator", "value", "effect"].iter().all(|name| text(a, name) == text(b, name))
    };
    let kept = |old: &Value| list(&new["spec"], "tolerations").iter().any(|new| same(old, new));
    if list(&old["spec"], "tolerations").iter().all(kept) {
        tolerations(errors, &new["spec"], "spec.tolerations");
    } else {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.forbidden("spec.tolerations", detail);
    }
}
