//! Implements the subresources `pods/binding` and `pods/eviction`.
//!
//! - The disruption controller, which computes the status of budgets, is not part of an API server.

use super::{check_uid, is_ending, metadata, track};
use crate::api::{ApiServer, DeleteOptions, DeleteResult, ResourcePath, WriteOptions};
use crate::api_status::StatusError;
use crate::clock::VirtualClock;
use crate::resource::{Subresource, known};
use crate::select;
use crate::store::Transaction;
use serde_json::{Value, json};

impl ApiServer {
    /// Binds a pod to a node.
    ///
    /// # Errors
    /// 409 if it is bound already; 404.
    pub fn bind(
        &self,
        on: &ResourcePath,
        binding: &Value,
        options: &WriteOptions,
    ) -> Result<(), StatusError> {
        let resource = on.number.get();
        let node = binding["target"]["name"].as_str().unwrap_or_default().to_owned();
        match binding["target"]["kind"].as_str() {
            None | Some("" | "Node") => {}
            Some(kind) => {
                let known = r#"supported values: "Node", "<empty>""#;
                let why = format!("target.kind: Unsupported value: \"{kind}\": {known}");
                return Err(StatusError::new(500, "", why));
            }
        }
        if node.is_empty() {
            return Err(StatusError::new(500, "", "target.name: Required value"));
        }
        self.store().write(|txn| {
            let old = txn.get(on.number, &on.key());
            let old = old.ok_or_else(|| StatusError::not_found(resource, &on.name))?;
            check_uid(resource, on, &old, binding)?;
            let mut pod = old.value();
            if is_ending(&pod) {
                let why = format!("pod {} is being deleted, cannot be assigned to a host", on.name);
                return Err(StatusError::conflict(&BINDING, &on.name, &why));
            }
            if let Some(bound) = pod["spec"]["nodeName"].as_str().filter(|bound| !bound.is_empty()) {
                let why = format!("pod {} is already assigned to node \"{bound}\"", on.name);
                return Err(StatusError::conflict(&BINDING, &on.name, &why));
            }
            let gates = pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
            if gates {
                let why = format!("pod {} has non-empty .spec.schedulingGates", on.name);
                return Err(StatusError::conflict(&BINDING, &on.name, &why));
            }
            pod["spec"]["nodeName"] = json!(node);
            let condition = json!({
                "type": "PodScheduled", "status": "True",
                "lastProbeTime": null, "lastTransitionTime": self.clock().time_text(),
            });
            set_condition(&mut pod, condition);
            for (field, value) in binding["metadata"]["annotations"].as_object().into_iter().flatten() {
                metadata(&mut pod).entry("annotations").or_insert_with(|| json!({}))[field] = value.clone();
            }
            if !options.dry_run {
                txn.put(on.number, &on.key(), pod);
            }
            Ok(())
        })
    }

    /// Deletes a pod if its budgets allow it.
    ///
    /// # Errors
    /// 429 if a budget does not; 404.
    pub fn evict(
        &self,
        on: &ResourcePath,
        how: &DeleteOptions,
        options: &WriteOptions,
    ) -> Result<DeleteResult, StatusError> {
        let resource = on.number.get();
        self.store().write(|txn| {
            let old = txn.get(on.number, &on.key());
            let pod = old.ok_or_else(|| StatusError::not_found(resource, &on.name))?.value();
            if !needs_no_budget(&pod) {
                spend_budget(txn, on, &pod, options, self.clock())?;
            }
            if !is_ending(&pod) && !options.dry_run {
                let mut marked = pod;
                set_condition(
                    &mut marked,
                    json!({
                        "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                        "message": "Eviction API: evicting", "lastProbeTime": null,
                        "lastTransitionTime": self.clock().time_text(),
                    }),
                );
                txn.put(on.number, &on.key(), marked);
            }
            let how = DeleteOptions { version: None, ..how.clone() };
            self.delete_in(txn, on, &how, options)
        })
    }
}

static BINDING: crate::resource::ResourceType = crate::resource::ResourceType {
    group: "",
    version: "v1",
    plural: "pods/binding",
    singular: "binding",
    kind: "pods/binding",
    namespaced: true,
    short: &[],
    categories: &[],
    subs: &[],
    kept: false,
};

/// Whether no budget applies to a pod: it is terminating, has ended, or does not run yet.
fn needs_no_budget(pod: &Value) -> bool {
    is_ending(pod) || matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed" | "Pending"))
}

/// Whether a pod counts as healthy.
pub fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "Ready" && one["status"] == "True"))
}

fn spend_budget(
    txn: &mut Transaction<'_>,
    on: &ResourcePath,
    pod: &Value,
    options: &WriteOptions,
    clock: &VirtualClock,
) -> Result<(), StatusError> {
    let budgets = known("policy", "poddisruptionbudgets");
    let matching: Vec<_> = txn
        .all(budgets, Some(&on.namespace))
        .into_iter()
        .map(|(key, budget)| (key, budget.value()))
        .filter(|(_, budget)| select::from_object(&budget["spec"]["selector"]).match_object(pod))
        .collect();
    let (key, mut budget) = match <[_; 1]>::try_from(matching) {
        Ok([one]) => one,
        Err(none) if none.is_empty() => return Ok(()),
        Err(_) => {
            let why = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
            return Err(StatusError::new(500, "", why));
        }
    };
    let name = budget["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let status = &budget["status"];
    let number = |field: &str| status[field].as_i64().unwrap_or(0);
    if !is_ready(pod) {
        let always = budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow";
        if always || (number("currentHealthy") >= number("desiredHealthy") && number("desiredHealthy") > 0) {
            return Ok(());
        }
    }
    let generation = budget["metadata"]["generation"].as_i64().unwrap_or(0);
    if number("observedGeneration") < generation {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(
            too_many("Cannot evict pod as it would violate the pod's disruption budget.", &why).later(10)
        );
    }
    if number("disruptionsAllowed") <= 0 {
        let (needs, has) = (number("desiredHealthy"), number("currentHealthy"));
        let why = match has <= needs {
            true => {
                format!("The disruption budget {name} needs {needs} healthy pods and has {has} currently")
            }
            false => format!("The disruption budget {name} does not allow evicting pods currently"),
        };
        return Err(too_many("Cannot evict pod as it would violate the pod's disruption budget.", &why));
    }
    if !options.dry_run {
        let left = number("disruptionsAllowed") - 1;
        let before = budget.clone();
        budget["status"]["disruptionsAllowed"] = json!(left);
        budget["status"]["disruptedPods"][&on.name] = json!(clock.time_text());
        let (status, reason) = match left > 0 {
            true => ("True", "SufficientPods"),
            false => ("False", "InsufficientPods"),
        };
        let now = clock.time_text();
        set_condition(
            &mut budget,
            json!({
                "type": "DisruptionAllowed", "status": status, "reason": reason, "message": "",
                "observedGeneration": generation, "lastTransitionTime": now,
            }),
        );
        let by = WriteOptions::by("kube-apiserver");
        let resource = budgets.get();
        track(resource, Some(&before), &mut budget, &by, Some(Subresource::Status), clock);
        txn.put(budgets, &key, budget);
    }
    Ok(())
}

fn too_many(message: &str, why: &str) -> StatusError {
    let causes = json!({"causes": [{"reason": "DisruptionBudget", "message": why}]});
    StatusError::new(429, "TooManyRequests", message).with(causes)
}

/// Replaces the condition of the same type, or appends a new one. Keeps the transition time of a condition that does
/// not change.
pub fn set_condition(object: &mut Value, mut condition: Value) {
    let slot = &mut object["status"]["conditions"];
    if !slot.is_array() {
        *slot = json!([]);
    }
    let Some(all) = slot.as_array_mut() else { return };
    match all.iter_mut().find(|one| one["type"] == condition["type"]) {
        Some(old) => {
            if old["status"] == condition["status"] && !old["lastTransitionTime"].is_null() {
                condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = condition;
        }
        None => all.push(condition),
    }
}
