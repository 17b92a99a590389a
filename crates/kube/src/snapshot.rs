//! Converts JSON of nodes, pods, disruption budgets and Jobs to the records of a cluster snapshot.
//!
//! - Invariant: the fields that decide about evictions are decoded by the controller's own decoder (`decode.rs`).

mod job;

pub use job::job;

use crate::decode::{
    DecodeError, Decoded, DecodedNode, NodeJson, SelectedLabels, decoded_node, decoded_pod,
    disruption_budget, read_json,
};
use crate::wire::{
    AffinityJson, CappedList, ContainerJson, Fields, NodeStatusJson, ObjectJson, OwnerReferenceJson, PodJson,
    PodSpecJson, PreferredTermJson, QuantitiesJson, RequiredTermsJson, ScalarJson, TextMap, Whole,
};
use std::collections::BTreeMap;
use taintward_core::cluster_snapshot::{DisruptionBudget, NodeRecord, PodRecord, SnapshotBuilder};
use taintward_core::fact::{BindingTimes, PodLifePhase, PodOwnerKind};
use taintward_core::identity::{PodName, Uid};
use taintward_core::node_lifecycle::ConditionStatus;
use taintward_core::quantity::Quantity;
use taintward_core::scheduling::{
    ContainerRequests, NodeTerm, PodRequests, PodSchedulingSpec, PreferredTerm, ResourceRequests, Resources,
    units,
};
use taintward_core::toleration::Toleration;
use taintward_core::toleration_seconds::RecordState;

/// The error, without the position: the JSON is generated, not written by a user.
fn broken(why: DecodeError) -> DecodeError {
    let text = why.to_string();
    DecodeError::new(text.split(" at line ").next().unwrap_or(&text).to_owned())
}

fn amounts(
    QuantitiesJson(written): &QuantitiesJson<'_>,
) -> Result<BTreeMap<Box<str>, Quantity>, DecodeError> {
    let entries = written.iter().map(|(name, ScalarJson(text))| {
        let text = text.as_ref().ok_or_else(|| DecodeError::new("neither a string nor a number").at(name))?;
        let quantity = Quantity::parse(text);
        quantity
            .map(|quantity| (name.into(), quantity))
            .map_err(|why| DecodeError::new(format!("{text:?} is not a quantity: {why}")).at(name))
    });
    entries.collect()
}

fn containers(written: &[ContainerJson<'_>]) -> Result<Vec<ContainerRequests>, DecodeError> {
    let one = |container: &ContainerJson<'_>| {
        let requests = amounts(&container.resources.requests)?;
        Ok(ContainerRequests { requests, sidecar: *container.restart_policy == *"Always" })
    };
    written.iter().map(one).collect()
}

/// Computes the requests of a pod.
///
/// # Errors
/// Names an amount that is not a quantity.
pub fn resource_requests(spec: &PodSpecJson<'_, Whole>) -> Result<ResourceRequests, DecodeError> {
    let requests = PodRequests {
        containers: containers(&spec.containers)?,
        init_containers: containers(&spec.init_containers)?,
        pod: amounts(&spec.resources.requests)?,
        overhead: amounts(&spec.overhead)?,
    };
    Ok(requests.load())
}

/// Converts what a pod requires of a node.
///
/// # Errors
/// Names an amount that is not a quantity.
pub fn scheduling_spec(spec: PodSpecJson<'_, Whole>) -> Result<PodSchedulingSpec, DecodeError> {
    let load = resource_requests(&spec)?;
    let affinity = spec.affinity.0.and_then(|Fields(affinity)| affinity.node_affinity).unwrap_or_default().0;
    let preferred = |one: PreferredTermJson<'_>| PreferredTerm {
        weight: one.weight.unwrap_or_default(),
        term: one.preference.0.into(),
    };
    let required = |Fields(RequiredTermsJson { node_selector_terms: CappedList(terms) })| {
        terms.into_iter().map(NodeTerm::from).collect()
    };
    Ok(PodSchedulingSpec {
        tolerations: spec.tolerations.iter().map(Toleration::from).collect(),
        node_selector: spec.node_selector.labels(),
        required: affinity.required.map(required),
        preferred: affinity.preferred.0.into_iter().map(preferred).collect(),
        load,
        priority: spec.priority.unwrap_or_default(),
        preempts: **spec.preemption_policy != *"Never",
    })
}

/// Converts the allocatable resources of a node, and its maximum number of pods.
///
/// # Errors
/// Names an amount that is not a quantity.
pub fn allocatable(status: &NodeStatusJson<'_, Whole>) -> Result<(Resources, i64), DecodeError> {
    let mut amounts = amounts(&status.allocatable)?;
    let pods_max = amounts.remove("pods").map_or(0, Quantity::units);
    let in_units = |(name, amount): (Box<str>, Quantity)| {
        let units = units(&name, amount);
        (name, units)
    };
    Ok((amounts.into_iter().map(in_units).collect(), pods_max))
}

/// Whether a pod has scheduling rules that are not evaluated here.
fn goes_beyond(spec: &PodSpecJson<'_, Whole>) -> bool {
    let between_pods = |affinity: &Fields<_>| {
        let AffinityJson { pod_affinity, pod_anti_affinity, .. } = &**affinity;
        pod_affinity.is_some() || pod_anti_affinity.is_some()
    };
    spec.affinity.as_ref().is_some_and(between_pods)
        || !spec.topology_spread_constraints.is_empty()
        || spec
            .volumes
            .iter()
            .any(|volume| volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some())
}

/// Adds a pod to the snapshot. Returns whether a pod of the same name was already there. Pods without a namespace are
/// placed in `home`.
///
/// # Errors
/// Why the pod is invalid; it was not added.
pub fn pod(json: &[u8], home: &str, into: &mut SnapshotBuilder) -> Result<bool, DecodeError> {
    let object: PodJson<'_, Whole> = read_json(json).map_err(broken)?;
    let decoded = decoded_pod(&object, json).map_err(broken)?;
    let ObjectJson { metadata: Fields(metadata), spec: Fields(spec), .. } = object;
    let beyond = goes_beyond(&spec);
    let job = metadata.controller().filter(|_| metadata.owner_kind() == PodOwnerKind::Job);
    let job_index = job.and_then(|job| job::index(json, &job.name, &metadata.name));
    let namespace = if metadata.namespace.is_empty() { home } else { &metadata.namespace };
    let read = PodRecord {
        uid: Uid::new(&metadata.uid),
        name: PodName::new(namespace, &metadata.name),
        node: "",
        labels: metadata.labels.labels(),
        owner: metadata.controller().map(OwnerReferenceJson::reference),
        job_index,
        spec: scheduling_spec(spec)?,
        beyond,
        life_phase: PodLifePhase::Live,
        mirror: false,
        marked: false,
        ready: false,
        arrival: BindingTimes::default(),
        record: RecordState::Absent,
        holds: None,
    };
    Ok(match decoded {
        Decoded::Object(decoded) => into.pod(PodRecord {
            record: decoded.records().0,
            node: decoded.pod.node.as_str(),
            life_phase: decoded.pod.life_phase,
            mirror: decoded.pod.mirror,
            marked: decoded.pod.marked,
            ready: decoded.ready == Some(ConditionStatus::True),
            arrival: decoded.pod.arrival,
            holds: decoded.pod.holds,
            ..read
        }),
        Decoded::Unbound(_) | Decoded::Undecodable(_) => into.pod(read),
    })
}

/// Converts a node for the snapshot.
///
/// # Errors
/// Why the node is invalid.
pub fn node(json: &[u8]) -> Result<NodeRecord, DecodeError> {
    let object: NodeJson<'_, TextMap<'_>, Whole> = read_json(json).map_err(broken)?;
    let labels = SelectedLabels::from(&object.metadata.labels);
    let DecodedNode { taints, health, .. } = decoded_node(&object, &labels, json).map_err(broken)?;
    let (allocatable, pods_max) = allocatable(&object.status)?;
    let ready = taintward_core::node_lifecycle::NodeConditions::of(&health.conditions).ready();
    Ok(NodeRecord {
        fact: taints,
        labels: object.metadata.labels.labels(),
        unschedulable: health.unschedulable,
        allocatable,
        pods_max,
        ready: ready.map(|status| status == ConditionStatus::True),
        zone: health.zone,
        excluded: health.excluded,
    })
}

/// Converts a disruption budget for the snapshot. Budgets without a namespace are placed in `home`.
///
/// # Errors
/// Why the budget is invalid.
pub fn budget(json: &[u8], home: &str) -> Result<DisruptionBudget, DecodeError> {
    disruption_budget(read_json(json).map_err(broken)?, home)
}
