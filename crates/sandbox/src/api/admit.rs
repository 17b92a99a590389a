//! # Admit: what a cluster's default admission adds
//! Room:     default tolerations (AD-2..5), the taint of new nodes (AD-6), priorities from classes.
//! Comes in: objects on their way in.
//! Goes out: the same, completed; a refusal if what they name is not there.
//! Not here: defaults that need nothing but the object (`defaults.rs`).

use super::Server;
use crate::failure::Failure;
use crate::resource::{Resource, Sub, known};
use crate::store::Txn;
use serde_json::{Value, json};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

/// New objects.
pub(super) fn create(
    server: &Server,
    txn: &Txn<'_>,
    resource: &Resource,
    body: &mut Value,
) -> Result<(), Failure> {
    match (resource.group, resource.plural) {
        ("", "pods") => {
            prioritise(txn, resource, body)?;
            tolerate(server, body);
        }
        ("", "nodes") if server.shared.admission.taint_new_nodes => taint(body),
        _ => {}
    }
    Ok(())
}

/// Changed objects.
pub(super) fn update(server: &Server, resource: &Resource, sub: Option<Sub>, body: &mut Value) {
    if resource.kind == "Pod" && sub.is_none() {
        tolerate(server, body);
    }
}

/// AD-2..4.
fn tolerate(server: &Server, pod: &mut Value) {
    let Some((not_ready, unreachable)) = server.shared.admission.default_toleration_seconds else { return };
    let slot = &mut pod["spec"]["tolerations"];
    if !slot.is_array() {
        *slot = json!([]);
    }
    let Some(tolerations) = slot.as_array_mut() else { return };
    for (key, seconds) in [(NOT_READY, not_ready), (UNREACHABLE, unreachable)] {
        let text = |one: &Value, field: &str| one[field].as_str().unwrap_or_default().to_owned();
        let covers = |one: &Value| {
            let (its_key, effect) = (text(one, "key"), text(one, "effect"));
            (its_key == key || its_key.is_empty()) && (effect == "NoExecute" || effect.is_empty())
        };
        if !tolerations.iter().any(covers) {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds,
            }));
        }
    }
}

/// AD-6.
fn taint(node: &mut Value) {
    let slot = &mut node["spec"];
    if !slot.is_object() {
        *slot = json!({});
    }
    let taints = &mut slot["taints"];
    if !taints.is_array() {
        *taints = json!([]);
    }
    let Some(taints) = taints.as_array_mut() else { return };
    if !taints.iter().any(|one| one["key"] == NOT_READY && one["effect"] == "NoSchedule") {
        taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
}

/// A pod's priority is its class's.
fn prioritise(txn: &Txn<'_>, resource: &Resource, pod: &mut Value) -> Result<(), Failure> {
    let classes = known("scheduling.k8s.io", "priorityclasses");
    let asked = pod["spec"]["priorityClassName"].as_str().unwrap_or_default().to_owned();
    let class = match asked.as_str() {
        "" => {
            let all = txn.all(classes, None).into_iter().map(|(_, class)| class.value());
            all.filter(|class| class["globalDefault"] == true).min_by_key(|class| class["value"].as_i64())
        }
        name => Some(match txn.get(classes, name) {
            Some(class) => class.value(),
            None => match name {
                "system-node-critical" => json!({"metadata": {"name": name}, "value": 2_000_001_000}),
                "system-cluster-critical" => json!({"metadata": {"name": name}, "value": 2_000_000_000}),
                _ => {
                    let why = format!("no PriorityClass with name {name} was found");
                    let pod = pod["metadata"]["name"].as_str().unwrap_or_default();
                    return Err(Failure::forbidden(resource, pod, &why));
                }
            },
        }),
    };
    let computed = class.as_ref().and_then(|class| class["value"].as_i64()).unwrap_or(0);
    if let Some(said) = pod["spec"]["priority"].as_i64()
        && said != computed
    {
        let name = pod["metadata"]["name"].as_str().unwrap_or_default();
        let why = format!(
            "the integer value of priority ({said}) must not be provided in pod spec; priority admission controller \
             computed {computed} from the given PriorityClass name"
        );
        return Err(Failure::forbidden(resource, name, &why));
    }
    let policy = class.as_ref().and_then(|class| class["preemptionPolicy"].as_str());
    let policy = policy.unwrap_or("PreemptLowerPriority").to_owned();
    if let (Some(class), true) = (&class, asked.is_empty()) {
        pod["spec"]["priorityClassName"] = class["metadata"]["name"].clone();
    }
    pod["spec"]["priority"] = json!(computed);
    if pod["spec"]["preemptionPolicy"].is_null() {
        pod["spec"]["preemptionPolicy"] = json!(policy);
    }
    Ok(())
}
