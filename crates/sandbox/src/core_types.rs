//! Converts JSON of pods and nodes to the core's types, and back.

use serde::Deserialize;
use serde_json::{Value, json};
use taintward_core::identity::NodeName;
use taintward_core::scheduling::{Labels, NodeInfo, PodSchedulingSpec, ResourceRequests};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::toleration::Toleration;
use taintward_kube::snapshot::{allocatable, resource_requests, scheduling_spec};
use taintward_kube::wire::{
    CappedList, Fields, NodeStatusJson, PodSpecJson, TaintJson, TextMap, TolerationJson, Whole,
};

/// Deserializes a field; an absent one gives the default. Fields of another form were rejected on admission.
fn read<'a, T: Deserialize<'a> + Default>(value: &'a Value) -> T {
    T::deserialize(value).unwrap_or_default()
}

/// The elements of a list; none if it is not a list.
pub fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// `spec.taints` of a node.
pub fn taints(node: &Value) -> Vec<Taint> {
    let CappedList(taints) = read::<CappedList<TaintJson<'_>>>(&node["spec"]["taints"]);
    taints.iter().map(Taint::from).collect()
}

/// Tolerations of a pod's `spec`.
pub fn tolerations(spec: &Value) -> Vec<Toleration> {
    let CappedList(tolerations) = read::<CappedList<TolerationJson<'_>>>(&spec["tolerations"]);
    tolerations.iter().map(Toleration::from).collect()
}

/// A toleration in the API's form.
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

/// A map of strings, such as labels and node selectors.
pub fn labels(value: &Value) -> Labels {
    read::<TextMap<'_>>(value).labels()
}

/// The resources that a pod requests.
pub fn load(pod: &Value) -> ResourceRequests {
    let Fields(spec) = read::<Fields<PodSpecJson<'_, Whole>>>(&pod["spec"]);
    resource_requests(&spec).unwrap_or_default()
}

/// The scheduling spec of a pending pod.
pub fn pod_scheduling_spec(pod: &Value) -> PodSchedulingSpec {
    let Fields(spec) = read::<Fields<PodSpecJson<'_, Whole>>>(&pod["spec"]);
    scheduling_spec(spec).unwrap_or_default()
}

/// A node without pods.
pub fn candidate(node: &Value) -> NodeInfo {
    let Fields(status) = read::<Fields<NodeStatusJson<'_, Whole>>>(&node["status"]);
    let (allocatable, pods_max) = allocatable(&status).unwrap_or_default();
    NodeInfo {
        name: NodeName::new(node["metadata"]["name"].as_str().unwrap_or_default()),
        labels: labels(&node["metadata"]["labels"]),
        unschedulable: node["spec"]["unschedulable"] == true,
        taints: taints(node),
        allocatable,
        pods_max,
        pods: 0,
        used: ResourceRequests::default(),
    }
}
