//! Validates changes of pods (VAL-6).

use crate::field_error::FieldErrors;
use crate::json_ext::{has, list, number, text};
use crate::name_format;
use crate::validate::{between, put};
use crate::validate::{meta, taints};
use serde_json::Value;

const CHANGEABLE: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be \
    set to 1 if it was previously negative)";

/// Validates on update.
pub(in crate::validate) fn update(errors: &mut FieldErrors, old: &Value, new: &Value) {
    meta::known_update(errors, old, new);
    super::whole(errors, new);
    for name in ["containers", "initContainers"] {
        if containers(errors, old, new, name) {
            return;
        }
    }
    if deadline(errors, &old["spec"], &new["spec"]) {
        return;
    }
    taints::only_added(errors, old, new);
    gates(errors, &old["spec"], &new["spec"]);
    rest(errors, &old["spec"], &new["spec"]);
}

/// Returns true if validation ends here.
fn containers(errors: &mut FieldErrors, old: &Value, new: &Value, name: &str) -> bool {
    let (old, new) = (list(&old["spec"], name), list(&new["spec"], name));
    if old.len() != new.len() {
        errors.forbidden(format!("spec.{name}"), "pod updates may not add or remove containers");
        return true;
    }
    for (index, container) in new.iter().enumerate() {
        let (path, image) = (format!("spec.{name}[{index}].image"), text(container, "image"));
        if image.is_empty() {
            errors.required(path, "");
        }
    }
    false
}

/// Returns true if validation ends here.
fn deadline(errors: &mut FieldErrors, old: &Value, new: &Value) -> bool {
    let name = "activeDeadlineSeconds";
    let path = "spec.activeDeadlineSeconds";
    match (number(old, name), number(new, name)) {
        (_, Some(new)) if !(0..=i64::from(i32::MAX)).contains(&new) => {
            errors.invalid(path, new, &between(0, i64::from(i32::MAX)));
            true
        }
        (Some(old), Some(new)) if old < new => {
            errors.invalid(path, new, "must be less than or equal to previous value");
            true
        }
        (Some(_), None) => {
            errors.invalid(path, Value::Null, "must not update from a positive integer to nil value");
            false
        }
        _ => false,
    }
}

fn gates(errors: &mut FieldErrors, old: &Value, new: &Value) {
    let was = |name: &str| list(old, "schedulingGates").iter().any(|gate| text(gate, "name") == name);
    for (index, gate) in list(new, "schedulingGates").iter().enumerate() {
        let name = text(gate, "name");
        if !was(name) {
            let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            errors.forbidden(format!("spec.schedulingGates[{index}].name"), &detail);
        }
    }
}

/// Checks that nothing else changes: with the changeable fields put back, the new spec must equal the old one.
fn rest(errors: &mut FieldErrors, old: &Value, new: &Value) {
    let mut put_back = new.clone();
    for name in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        put(&mut put_back, old, name);
    }
    for name in ["containers", "initContainers"] {
        for (index, container) in list(old, name).iter().enumerate() {
            put(&mut put_back[name][index], container, "image");
        }
    }
    let grace = "terminationGracePeriodSeconds";
    if number(old, grace).is_some_and(|grace| grace < 0) && number(new, grace) == Some(1) {
        put(&mut put_back, old, grace);
    }
    if !list(old, "schedulingGates").is_empty() {
        gated(errors, old, &mut put_back);
    }
    if put_back != *old {
        errors.forbidden("spec", &format!("pod updates may not change fields other than {CHANGEABLE}"));
    }
}

/// A pod with scheduling gates may only narrow its node selector and affinity.
fn gated(errors: &mut FieldErrors, old: &Value, put_back: &mut Value) {
    let kept = crate::json_ext::entries(old, "nodeSelector")
        .all(|(key, value)| put_back["nodeSelector"][key] == *value);
    if !kept {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.invalid("spec.nodeSelector", put_back["nodeSelector"].clone(), detail);
    }
    put(put_back, old, "nodeSelector");
    if !has(&old["affinity"]["nodeAffinity"], "requiredDuringSchedulingIgnoredDuringExecution") {
        let affinity = old["affinity"]["nodeAffinity"].clone();
        if has(old, "affinity") {
            crate::json_ext::object(put_back, "affinity")["nodeAffinity"] = affinity;
        } else if !["podAffinity", "podAntiAffinity"].iter().any(|name| has(&put_back["affinity"], name)) {
            put(put_back, old, "affinity");
        }
    }
}

/// Validates on update of the status.
pub(in crate::validate) fn status(errors: &mut FieldErrors, old: &Value, new: &Value) {
    meta::known_update(errors, old, new);
    let system = ["PodScheduled", "Ready", "Initialized"];
    for (index, condition) in list(&new["status"], "conditions").iter().enumerate() {
        let kind = text(condition, "type");
        if !system.contains(&kind) {
            errors.each(&format!("status.conditions[{index}].Type"), kind, name_format::qualified_name(kind));
        }
    }
    let (was, is) = (text(&old["status"], "nominatedNodeName"), text(&new["status"], "nominatedNodeName"));
    if was != is && !is.is_empty() && !text(&old["spec"], "nodeName").is_empty() {
        let detail = "may not be set on pods that are already bound to a node";
        errors.forbidden("status.nominatedNodeName", detail);
    }
    if text(&old["status"], "qosClass") != text(&new["status"], "qosClass") {
        errors.invalid("status.qosClass", text(&new["status"], "qosClass"), "field is immutable");
    }
    if text(&old["spec"], "restartPolicy") != "Always" {
        terminated(errors, old, new);
    }
}

/// A container that has ended and is not to be restarted stays ended.
fn terminated(errors: &mut FieldErrors, old: &Value, new: &Value) {
    let never = text(&old["spec"], "restartPolicy") == "Never";
    for (index, was) in list(&old["status"], "containerStatuses").iter().enumerate() {
        let ended = &was["state"]["terminated"];
        if ended.is_null() || (!never && number(ended, "exitCode") != Some(0)) {
            continue;
        }
        let runs = |is: &Value| text(is, "name") == text(was, "name") && is["state"]["terminated"].is_null();
        if list(&new["status"], "containerStatuses").iter().any(runs) {
            let path = format!("status.containerStatuses[{index}].state");
            errors.forbidden(path, "may not be transitioned to non-terminated state");
        }
    }
}
