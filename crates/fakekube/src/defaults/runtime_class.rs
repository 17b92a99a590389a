//! Merges the RuntimeClass of a new pod into it, as the admission plugin RuntimeClass does: overhead, node selector,
//! tolerations.

use crate::json_ext::{has, list, object, text};
use serde_json::Value;

/// Adds what the class says to a pod that names it.
///
/// # Errors
/// Why the pod and the class contradict each other.
pub fn runtime_class(pod: &mut Value, class: &Value) -> Result<(), String> {
    let spec = object(pod, "spec");
    match class.pointer("/overhead/podFixed").filter(|overhead| !overhead.is_null()) {
        Some(overhead) if has(spec, "overhead") && spec["overhead"] != *overhead => {
            return Err("Pod's Overhead doesn't match RuntimeClass's defined Overhead".to_owned());
        }
        Some(overhead) => spec["overhead"] = overhead.clone(),
        None if has(spec, "overhead") => {
            return Err("Pod Overhead set without corresponding RuntimeClass defined Overhead".to_owned());
        }
        None => {}
    }
    let scheduling = &class["scheduling"];
    for (key, value) in scheduling["nodeSelector"].as_object().into_iter().flatten() {
        let own = &mut object(spec, "nodeSelector")[key];
        if !own.is_null() && own != value {
            return Err(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
            ));
        }
        *own = value.clone();
    }
    let added = list(scheduling, "tolerations");
    if !added.is_empty() {
        let all: Vec<Value> = list(spec, "tolerations").iter().chain(added).cloned().collect();
        spec["tolerations"] = merged(&all).into();
    }
    Ok(())
}

/// The tolerations without those that another one covers.
fn merged(all: &[Value]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for (at, one) in all.iter().enumerate() {
        let is_covered = merged.iter().chain(&all[at + 1..]).any(|other| covers(other, one));
        if !is_covered {
            merged.push(one.clone());
        }
    }
    merged
}

/// Whether one toleration matches everything that another one matches, for at least as long.
fn covers(one: &Value, other: &Value) -> bool {
    if one == other {
        return true;
    }
    let (key, operator, effect) = (text(one, "key"), text(one, "operator"), text(one, "effect"));
    let is_any_key = key.is_empty() && operator == "Exists";
    if !is_any_key && key != text(other, "key") || !effect.is_empty() && effect != text(other, "effect") {
        return false;
    }
    let seconds = |one: &Value| one["tolerationSeconds"].as_i64();
    let is_long_enough = effect != "NoExecute"
        || seconds(one).is_none_or(|own| seconds(other).is_some_and(|other| other <= own));
    let is_equal = text(other, "operator") == "Equal" && text(one, "value") == text(other, "value");
    is_long_enough && (operator == "Exists" || is_equal)
}
