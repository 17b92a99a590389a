//! # Snapshot: JSON becomes what a snapshot is told
//! Room:     one node, pod or disruption budget at a time.
//! Comes in: JSON, as an API server writes it.
//! Goes out: the core's types; a sentence that names the field where something is not as it should be.
//! Keeps:    who is evicted is read by the controller's own decoder (`decode`); only what the controller does not want to
//!           know is read here.
//! Not here: where the JSON comes from (`paged_list.rs`, files).

mod snapshot_json;

use crate::decode::{Decoded, DecodedNode, DecodedPod, WatchedObject as _};
use snapshot_json::{
    BudgetSelectorJson, ContainerJson, DisruptionBudgetJson, NodeRequirementJson, NodeTermJson,
    PreferredTermJson, QuantitiesJson, ScalarJson, SnapshotNodeJson, SnapshotOwner, SnapshotPodJson,
    SnapshotPodSpec, SnapshotToleration, StringMap,
};
use std::collections::BTreeMap;
use taintward_core::cluster_snapshot::{
    BudgetStatus, DisruptionBudget, DisruptionLimit, IntOrPercent, NodeRecord, OwnerReference, PodRecord,
    SnapshotBuilder,
};
use taintward_core::fact::{BindingTimes, PodLifePhase};
use taintward_core::identity::{PodName, Uid};
use taintward_core::node_lifecycle::ConditionStatus;
use taintward_core::quantity::Quantity;
use taintward_core::scheduling::{
    ContainerRequests, Labels, NodeOperator, NodeRequirement, NodeTerm, PodRequests, PodSchedulingSpec,
    PreferredTerm, units,
};
use taintward_core::taint::TaintEffect;
use taintward_core::toleration::{Toleration, TolerationOperator};

/// What is wrong, without the place: the JSON is not what somebody wrote.
fn broken(why: impl ToString) -> String {
    let told = why.to_string();
    told.split(" at line ").next().unwrap_or(&told).to_owned()
}

fn labels(texts: StringMap) -> Labels {
    texts.into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect()
}

fn amounts(written: QuantitiesJson) -> Result<BTreeMap<Box<str>, Quantity>, String> {
    let one = |(name, amount): (Box<str>, ScalarJson)| {
        let text = amount.into_text();
        match Quantity::parse(&text) {
            Ok(quantity) => Ok((name, quantity)),
            Err(why) => Err(format!("{name}: {text:?} is no quantity: {why}")),
        }
    };
    written.into_iter().map(one).collect()
}

fn containers(written: Vec<ContainerJson>) -> Result<Vec<ContainerRequests>, String> {
    let one = |container: ContainerJson| {
        let requests = amounts(container.resources.requests)?;
        Ok(ContainerRequests { requests, sidecar: container.restart_policy == "Always" })
    };
    written.into_iter().map(one).collect()
}

fn requirement(written: NodeRequirementJson) -> NodeRequirement {
    let NodeRequirementJson { key, operator, values } = written;
    NodeRequirement { key, operator: NodeOperator::new(&operator), values }
}

fn term(written: NodeTermJson) -> NodeTerm {
    NodeTerm {
        expressions: written.match_expressions.into_iter().map(requirement).collect(),
        fields: written.match_fields.into_iter().map(requirement).collect(),
    }
}

fn toleration(written: SnapshotToleration) -> Toleration {
    let effect = Some(written.effect).filter(|effect| !effect.is_empty());
    Toleration {
        key: written.key,
        operator: TolerationOperator::new(&written.operator),
        value: written.value,
        effect: effect.map(|effect| TaintEffect::new(&effect)),
        seconds: written.toleration_seconds,
    }
}

fn wish(spec: SnapshotPodSpec) -> Result<PodSchedulingSpec, String> {
    let affinity = spec.affinity.node_affinity;
    let preferred = |one: PreferredTermJson| PreferredTerm { weight: one.weight, term: term(one.preference) };
    let requests = PodRequests {
        containers: containers(spec.containers)?,
        init_containers: containers(spec.init_containers)?,
        pod: amounts(spec.resources.requests)?,
        overhead: amounts(spec.overhead)?,
    };
    Ok(PodSchedulingSpec {
        tolerations: spec.tolerations.into_iter().map(toleration).collect(),
        node_selector: labels(spec.node_selector),
        required: affinity
            .required
            .map(|required| required.node_selector_terms.into_iter().map(term).collect()),
        preferred: affinity.preferred.into_iter().map(preferred).collect(),
        load: requests.load(),
        priority: spec.priority,
        preempts: spec.preemption_policy != "Never",
    })
}

/// Scheduling rules of a pod that nothing here looks at.
fn goes_beyond(spec: &SnapshotPodSpec) -> bool {
    spec.affinity.pod_affinity.is_some()
        || spec.affinity.pod_anti_affinity.is_some()
        || !spec.topology_spread_constraints.is_empty()
        || spec
            .volumes
            .iter()
            .any(|volume| volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some())
}

/// Tells a pod; says whether another with its name had been told. Who names no namespace is in `home`.
///
/// # Errors
/// What is wrong with it; it was not told.
pub fn pod(json: &[u8], home: &str, into: &mut SnapshotBuilder) -> Result<bool, String> {
    let decoded = DecodedPod::from_json(json);
    if let Decoded::Undecodable(unreadable) = decoded {
        return Err(broken(unreadable.why));
    }
    let SnapshotPodJson { metadata, spec } = serde_json::from_slice(json).map_err(broken)?;
    let beyond = goes_beyond(&spec);
    let namespace = if metadata.namespace.is_empty() { home } else { &metadata.namespace };
    if metadata.name.is_empty() {
        return Err("metadata.name is missing".to_owned());
    }
    let mut read = PodRecord {
        uid: Uid::new(""),
        name: PodName::new(namespace, &metadata.name),
        node: "",
        labels: labels(metadata.labels),
        owner: metadata.owner_references.iter().find(|owner| owner.controller).map(owner),
        spec: wish(spec)?,
        beyond,
        standing: PodLifePhase::Live,
        mirror: false,
        marked: false,
        ready: false,
        arrival: BindingTimes::default(),
    };
    match decoded {
        Decoded::Object(DecodedPod { pod, ready, .. }) => {
            let (standing, mirror, marked, arrival) = (pod.standing, pod.mirror, pod.marked, pod.arrival);
            let (uid, ready) = (pod.uid, ready == Some(ConditionStatus::True));
            read.spec.tolerations = pod.tolerations;
            let node = pod.node;
            let node = node.as_str();
            Ok(into.pod(PodRecord { uid, node, standing, mirror, marked, ready, arrival, ..read }))
        }
        Decoded::Unbound(identity) => {
            read.uid = identity.uid.unwrap_or(read.uid);
            Ok(into.pod(read))
        }
        Decoded::Undecodable(unreadable) => Err(broken(unreadable.why)),
    }
}

fn owner(owner: &SnapshotOwner) -> OwnerReference<'_> {
    let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
    OwnerReference { group, kind: &owner.kind, name: &owner.name }
}

/// A node, to be told.
///
/// # Errors
/// What is wrong with it.
pub fn node(json: &[u8]) -> Result<NodeRecord, String> {
    let DecodedNode { taints, health } = match DecodedNode::from_json(json) {
        Decoded::Object(seen) => seen,
        Decoded::Undecodable(unreadable) => return Err(broken(unreadable.why)),
        Decoded::Unbound(_) => return Err("it is no node".to_owned()),
    };
    let SnapshotNodeJson { metadata, status } = serde_json::from_slice(json).map_err(broken)?;
    let mut allocatable = amounts(status.allocatable)?;
    let pods_max = allocatable.remove("pods").map_or(0, Quantity::units);
    let ready = taintward_core::node_lifecycle::NodeConditions::of(&health.conditions).ready();
    Ok(NodeRecord {
        fact: taints,
        labels: labels(metadata.labels),
        unschedulable: health.unschedulable,
        allocatable: allocatable
            .into_iter()
            .map(|(name, amount)| {
                let units = units(&name, amount);
                (name, units)
            })
            .collect(),
        pods_max,
        ready: ready.map(|status| status == ConditionStatus::True),
        zone: health.zone,
        excluded: health.excluded,
    })
}

/// A disruption budget, to be told. Who names no namespace is in `home`.
///
/// # Errors
/// What is wrong with it.
pub fn budget(json: &[u8], home: &str) -> Result<DisruptionBudget, String> {
    let DisruptionBudgetJson { metadata, spec, status } = serde_json::from_slice(json).map_err(broken)?;
    let portion = |written: Option<ScalarJson>, field: &str| -> Result<Option<IntOrPercent>, String> {
        let Some(text) = written.map(ScalarJson::into_text) else { return Ok(None) };
        let portion = IntOrPercent::parse(&text);
        portion.map(Some).ok_or_else(|| format!("{field}: {text:?} is neither a number nor a percentage"))
    };
    let least = portion(spec.min_available, "minAvailable")?.map(DisruptionLimit::MinAvailable);
    let most = portion(spec.max_unavailable, "maxUnavailable")?.map(DisruptionLimit::MaxUnavailable);
    // Counts of an earlier generation, or of nobody, say nothing.
    let counted =
        status.filter(|counts| counts.observed_generation >= metadata.generation && counts.expected_pods > 0);
    let namespace = if metadata.namespace.is_empty() { home } else { &metadata.namespace };
    Ok(DisruptionBudget {
        namespace: namespace.into(),
        name: metadata.name.into(),
        selector: spec.selector.map(selector),
        floor: least.or(most),
        status: counted
            .map(|counts| BudgetStatus { healthy: counts.current_healthy, desired: counts.desired_healthy }),
    })
}

fn selector(written: BudgetSelectorJson) -> Vec<NodeRequirement> {
    let label = |(key, value): (Box<str>, Option<Box<str>>)| NodeRequirement {
        key,
        operator: NodeOperator::In,
        values: vec![value.unwrap_or_default()],
    };
    let expressions = written.match_expressions.into_iter().map(requirement);
    written.match_labels.into_iter().map(label).chain(expressions).collect()
}
