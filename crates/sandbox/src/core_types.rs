//! Converts JSON of pods and nodes to the core's types, and back.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use taintward_core::identity::NodeName;
use taintward_core::quantity::Quantity;
use taintward_core::scheduling::{
    ContainerRequests, Labels, NodeInfo, NodeOperator, NodeRequirement, NodeTerm, PodRequests,
    PodSchedulingSpec, PreferredTerm, ResourceRequests, units,
};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::toleration::{Toleration, TolerationOperator};

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The elements of a list; none if it is no list.
pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// `spec.taints` of a node.
pub fn taints(node: &Value) -> Vec<Taint> {
    let one = |taint: &Value| Taint {
        key: text(&taint["key"]).into(),
        value: text(&taint["value"]).into(),
        effect: TaintEffect::new(text(&taint["effect"])),
        time_added: None,
    };
    list(&node["spec"]["taints"]).map(one).collect()
}

/// Tolerations of a pod's `spec`.
pub fn tolerations(spec: &Value) -> Vec<Toleration> {
    let one = |toleration: &Value| Toleration {
        key: text(&toleration["key"]).into(),
        operator: TolerationOperator::new(text(&toleration["operator"])),
        value: text(&toleration["value"]).into(),
        effect: Some(text(&toleration["effect"])).filter(|effect| !effect.is_empty()).map(TaintEffect::new),
        seconds: toleration["tolerationSeconds"].as_i64(),
    };
    list(&spec["tolerations"]).map(one).collect()
}

/// A toleration as the API writes it.
pub fn toleration(one: &Toleration) -> Value {
    let mut value = json!({});
    let effect = one.effect.as_ref().map_or("", TaintEffect::as_str);
    for (field, text) in
        [("key", &*one.key), ("operator", one.operator.as_str()), ("value", &*one.value), ("effect", effect)]
    {
        if !text.is_empty() {
            value[field] = json!(text);
        }
    }
    if let Some(seconds) = one.seconds {
        value["tolerationSeconds"] = json!(seconds);
    }
    value
}

/// A map of texts, as labels and node selectors are.
pub fn labels(value: &Value) -> Labels {
    let pairs = value.as_object().into_iter().flatten();
    pairs.map(|(key, value)| (key.as_str().into(), text(value).into())).collect()
}

fn amounts(value: &Value) -> BTreeMap<Box<str>, Quantity> {
    let pairs = value.as_object().into_iter().flatten();
    // What is no quantity was refused on its way in.
    pairs
        .filter_map(|(name, value)| Some((name.as_str().into(), Quantity::parse(text(value)).ok()?)))
        .collect()
}

fn containers(value: &Value) -> Vec<ContainerRequests> {
    let one = |container: &Value| ContainerRequests {
        requests: amounts(&container["resources"]["requests"]),
        sidecar: container["restartPolicy"] == "Always",
    };
    list(value).map(one).collect()
}

/// What a pod takes.
pub fn load(pod: &Value) -> ResourceRequests {
    let spec = &pod["spec"];
    let requests = PodRequests {
        containers: containers(&spec["containers"]),
        init_containers: containers(&spec["initContainers"]),
        pod: amounts(&spec["resources"]["requests"]),
        overhead: amounts(&spec["overhead"]),
    };
    requests.load()
}

fn requirement(value: &Value) -> NodeRequirement {
    NodeRequirement {
        key: text(&value["key"]).into(),
        operator: NodeOperator::new(text(&value["operator"])),
        values: list(&value["values"]).map(|value| text(value).into()).collect(),
    }
}

fn term(value: &Value) -> NodeTerm {
    NodeTerm {
        expressions: list(&value["matchExpressions"]).map(requirement).collect(),
        fields: list(&value["matchFields"]).map(requirement).collect(),
    }
}

/// What a pod without a node is looking for.
pub fn wish(pod: &Value) -> PodSchedulingSpec {
    let spec = &pod["spec"];
    let affinity = &spec["affinity"]["nodeAffinity"];
    let required = &affinity["requiredDuringSchedulingIgnoredDuringExecution"];
    let preferred = |one: &Value| PreferredTerm {
        weight: one["weight"].as_i64().and_then(|weight| i32::try_from(weight).ok()).unwrap_or(0),
        term: term(&one["preference"]),
    };
    PodSchedulingSpec {
        tolerations: tolerations(spec),
        node_selector: labels(&spec["nodeSelector"]),
        required: required.is_object().then(|| list(&required["nodeSelectorTerms"]).map(term).collect()),
        preferred: list(&affinity["preferredDuringSchedulingIgnoredDuringExecution"])
            .map(preferred)
            .collect(),
        load: load(pod),
        priority: spec["priority"].as_i64().and_then(|priority| i32::try_from(priority).ok()).unwrap_or(0),
        preempts: spec["preemptionPolicy"] != "Never",
    }
}

/// A node, with nothing on it.
pub fn candidate(node: &Value) -> NodeInfo {
    let mut allocatable = amounts(&node["status"]["allocatable"]);
    let pods_max = allocatable.remove("pods").map_or(0, Quantity::units);
    NodeInfo {
        name: NodeName::new(text(&node["metadata"]["name"])),
        labels: labels(&node["metadata"]["labels"]),
        unschedulable: node["spec"]["unschedulable"] == true,
        taints: taints(node),
        allocatable: allocatable
            .into_iter()
            .map(|(name, amount)| (name.clone(), units(&name, amount)))
            .collect(),
        pods_max,
        pods: 0,
        used: ResourceRequests::default(),
    }
}
