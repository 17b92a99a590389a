//! Sets what creation and admission add: service account, priority, tolerations (AD-2), a new node's taint (AD-6),
//! status.

use super::AdmissionDefaults;
use crate::json_ext::{fill, has, list, number, object, text};
use crate::quantity::Amount;
use crate::resource::ResourceType;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The annotation that counts the changes of a DaemonSet's template.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

const NOT_READY: &str = "node.kubernetes.io/not-ready";

/// What is added to a new pod, node, Job or DaemonSet.
pub(super) fn created(resource: &ResourceType, new: &mut Value, admission: AdmissionDefaults) {
    match (resource.group, resource.plural) {
        ("", "pods") => pod_created(new, admission),
        ("", "nodes") if admission.taint_new_nodes => node_created(new),
        ("batch", "jobs") => job_created(new),
        ("apps", "daemonsets") => {
            object(object(new, "metadata"), "annotations")[TEMPLATE_GENERATION] = json!("1");
        }
        _ => {}
    }
}

/// A new pod.
fn pod_created(pod: &mut Value, admission: AdmissionDefaults) {
    let spec = object(pod, "spec");
    if admission.service_account {
        fill(spec, "serviceAccountName", "default");
    }
    if has(spec, "serviceAccountName") {
        spec["serviceAccount"] = spec["serviceAccountName"].clone();
    }
    priority(pod, None);
    if admission.default_tolerations {
        tolerations(pod);
    }
    let mut status = json!({"phase": "Pending", "qosClass": qos(&pod["spec"])});
    if !list(&pod["spec"], "schedulingGates").is_empty() {
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": null,
            "lastTransitionTime": null, "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
    }
    pod["status"] = status;
}

/// Sets a pod's priority from the PriorityClass that it names, or from the default class. Without a class it is 0, or
/// the priority of one of the two system classes.
pub fn priority(pod: &mut Value, class: Option<&Value>) {
    let spec = object(pod, "spec");
    let (value, policy) = match (class, text(spec, "priorityClassName")) {
        (Some(class), name) => {
            let value = number(class, "value").unwrap_or_default();
            if name.is_empty() {
                spec["priorityClassName"] = class["metadata"]["name"].clone();
            }
            (value, text(class, "preemptionPolicy"))
        }
        (None, "") => (0, ""),
        (None, "system-node-critical") => (2_000_001_000, ""),
        (None, "system-cluster-critical") => (2_000_000_000, ""),
        (None, _) => return,
    };
    spec["priority"] = json!(value);
    fill(spec, "preemptionPolicy", if policy.is_empty() { "PreemptLowerPriority" } else { policy });
}

/// AD-2, AD-4: a pod without a toleration for not-ready or unreachable nodes tolerates them for five minutes.
pub fn tolerations(pod: &mut Value) {
    let spec = object(pod, "spec");
    let mut all = list(spec, "tolerations").to_vec();
    let tolerates = |one: &Value, key: &str| {
        let (known, effect) = (text(one, "key"), text(one, "effect"));
        (known.is_empty() || known == key) && (effect.is_empty() || effect == "NoExecute")
    };
    for key in [NOT_READY, "node.kubernetes.io/unreachable"] {
        if !list(spec, "tolerations").iter().any(|one| tolerates(one, key)) {
            all.push(
                json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}),
            );
        }
    }
    spec["tolerations"] = all.into();
}

/// AD-6: a new node is not ready yet.
fn node_created(node: &mut Value) {
    let spec = object(node, "spec");
    let mut taints = list(spec, "taints").to_vec();
    if taints.iter().any(|taint| text(taint, "key") == NOT_READY && text(taint, "effect") == "NoSchedule") {
        return;
    }
    taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
    spec["taints"] = taints.into();
}

/// A new Job's labels and selector, unless it brings its own.
fn job_created(job: &mut Value) {
    if job["spec"]["manualSelector"] == json!(true) {
        return;
    }
    let (name, uid) = (job["metadata"]["name"].clone(), job["metadata"]["uid"].clone());
    let spec = object(job, "spec");
    let labels = object(object(object(spec, "template"), "metadata"), "labels");
    for (key, value) in [
        ("job-name", &name),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("batch.kubernetes.io/controller-uid", &uid),
    ] {
        fill(labels, key, value.clone());
    }
    fill(object(object(spec, "selector"), "matchLabels"), "batch.kubernetes.io/controller-uid", uid);
}

/// Counts a change of a DaemonSet's template.
pub(super) fn template_generation(old: &Value, new: &mut Value) {
    let was = text(&old["metadata"]["annotations"], TEMPLATE_GENERATION).parse().unwrap_or(1_i64);
    let same = old["spec"]["template"] == new["spec"]["template"];
    let count = if same { was } else { was + 1 };
    object(object(new, "metadata"), "annotations")[TEMPLATE_GENERATION] = json!(count.to_string());
}

/// The quality-of-service class of a pod.
fn qos(spec: &Value) -> &'static str {
    let mut sums: [BTreeMap<&str, Amount>; 2] = [BTreeMap::new(), BTreeMap::new()];
    let mut guaranteed = true;
    let pod_level = has(spec, "resources");
    let containers = list(spec, "containers").iter().chain(list(spec, "initContainers"));
    let all: Vec<&Value> = if pod_level { vec![spec] } else { containers.collect() };
    for one in all {
        for (sum, name) in sums.iter_mut().zip(["requests", "limits"]) {
            let mut found = 0;
            for resource in ["cpu", "memory"] {
                let Some(amount) = Amount::read(&one["resources"][name][resource]) else { continue };
                if amount.is_positive() {
                    found += 1;
                    let total = sum.get(resource).map_or(amount, |total| total.plus(amount));
                    sum.insert(resource, total);
                }
            }
            guaranteed &= name == "requests" || found == 2;
        }
    }
    let [requests, limits] = sums;
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if guaranteed && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
