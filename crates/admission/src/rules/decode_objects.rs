//! Decodes pods and nodes from JSON to the core's types, in one pass.
//!
//! - Invariant: nothing recurses with the input. An object with fields of a wrong type cannot be judged; no API server
//!   sends one.

use crate::review::InvalidReview;
use serde::Deserialize;
use serde_json::value::RawValue;
use taintward_core::admission::policy::RequestedSeconds;
use taintward_core::admission::request::{AdmittedPod, PodIdentity, PreviousPod};
use taintward_core::quantity::Quantity;
use taintward_core::scheduling::NodeTerm;
use taintward_core::taint::Taint;
use taintward_core::toleration::Toleration;
use taintward_kube::wire::{
    AffinityJson, Fields, MetaJson, NodeSpecJson, NodeStatusJson, ObjectJson, PodSpecJson, QuantitiesJson,
    ResourcesJson, ScalarJson, Text, TextMap, Whole, member_at, object_from_slice,
};
use taintward_server::escape::escaped;

/// A pod without its status, which no rule reads.
type PodJson<'a> = ObjectJson<MetaJson<'a, TextMap<'a>>, Fields<PodSpecJson<'a, Whole>>>;

type NodeJson<'a> = ObjectJson<MetaJson<'a>, Fields<NodeSpecJson<'a>>, Fields<NodeStatusJson<'a>>>;

/// The maximum length of a decoder's reason, in characters: it may quote the input.
const REASON_MAX: usize = 200;

/// A requested pod.
#[derive(Debug)]
pub(super) struct ReviewedPod<'a> {
    /// The input of the rules; its namespace is that of the request.
    pub(super) requested: AdmittedPod,
    /// Which of the fields that a patch may change exist.
    pub(super) shape: PresentFields<'a>,
}

/// Which of the fields that a patch may change exist.
#[derive(Debug)]
pub(super) struct PresentFields<'a> {
    pod: &'a RawValue,
    /// `metadata.annotations` is an object.
    pub(super) annotations: bool,
    /// `spec.affinity` is an object.
    pub(super) affinity: bool,
    /// `spec.affinity.nodeAffinity` is an object.
    pub(super) node_affinity: bool,
}

impl<'a> PresentFields<'a> {
    /// `spec.tolerations`, as written.
    pub(super) fn tolerations(&self) -> Option<&'a RawValue> {
        self.at(&["spec", "tolerations"])
    }

    /// The terms of the required node affinity, as written.
    pub(super) fn terms(&self) -> Option<&'a RawValue> {
        const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

        self.at(&["spec", "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms"])
    }

    fn at(&self, path: &[&str]) -> Option<&'a RawValue> {
        member_at(self.pod.get().as_bytes(), path).filter(|raw| raw.get() != "null")
    }
}

/// The new or old state of a node.
#[derive(Debug, Default)]
pub(super) struct ReviewedNode {
    pub(super) taints: Vec<Taint>,
    /// The annotation that allows taints.
    pub(super) allow: Option<Box<str>>,
    /// Its condition `Ready` is true; `None` without that condition.
    pub(super) ready: Option<bool>,
}

fn object<'a, T: Deserialize<'a>>(what: &str, raw: &'a RawValue) -> Result<T, InvalidReview> {
    object_from_slice(raw.get().as_bytes()).map_err(|error| odd(what, &error))
}

fn odd(what: &str, error: &serde_json::Error) -> InvalidReview {
    let reason: String = error.to_string().chars().take(REASON_MAX).collect();
    InvalidReview::object(format!("{what} is not as an API server writes it: {}", escaped(&reason)))
}

/// Decodes a pod.
pub(super) fn pod(raw: &RawValue) -> Result<ReviewedPod<'_>, InvalidReview> {
    let PodJson { metadata: Fields(metadata), spec: Fields(spec), .. } = object("request.object", raw)?;
    let mut shape = PresentFields {
        pod: raw,
        annotations: metadata.annotations.is_some(),
        affinity: false,
        node_affinity: false,
    };
    let annotations = metadata.annotations.as_ref();
    let text = |text: &Option<Text<'_>>| text.as_ref().map(Box::from);
    let mut requested = AdmittedPod {
        identity: PodIdentity {
            namespace: Box::default(),
            service_account: (&spec.service_account_name).into(),
            priority_class: (&spec.priority_class_name).into(),
            owner: metadata.owner_kind(),
            mirror: annotations.is_some_and(|annotations| annotations.mirror),
            made_for: annotations.map(|annotations| (&annotations.made_for).into()).unwrap_or_default(),
        },
        requested: annotations.map_or_else(RequestedSeconds::default, |annotations| RequestedSeconds {
            not_ready: text(&annotations.not_ready),
            unreachable: text(&annotations.unreachable),
        }),
        node: Some(&spec.node_name).filter(|name| !name.is_empty()).map(Box::from),
        gated: !spec.scheduling_gates.is_empty(),
        leaving: metadata.deletion_timestamp.is_some(),
        host_network: spec.host_network.unwrap_or(false),
        control_plane: metadata.labels.get("tier") == Some("control-plane"),
        tolerations: spec.tolerations.iter().map(Toleration::from).collect(),
        node_selector: spec.node_selector.labels(),
        ..AdmittedPod::default()
    };
    containers(&spec, &mut requested);
    if let Some(Fields(AffinityJson { node_affinity, .. })) = spec.affinity.0 {
        shape.affinity = true;
        shape.node_affinity = node_affinity.is_some();
        let Fields(nodes) = node_affinity.unwrap_or_default();
        requested.prefers = !nodes.preferred.is_empty();
        let terms = |terms: Vec<_>| terms.into_iter().map(NodeTerm::from).collect();
        requested.required = nodes.required.map(|Fields(required)| terms(required.node_selector_terms.0));
    }
    Ok(ReviewedPod { requested, shape })
}

fn containers(spec: &PodSpecJson<'_, Whole>, requested: &mut AdmittedPod) {
    let all = spec.containers.iter().chain(&**spec.init_containers);
    requested.best_effort = !has_a_class(&spec.resources);
    for container in all {
        requested.best_effort &= !has_a_class(&container.resources);
        // Names with a domain: extended resources may be among them.
        let names = container.resources.requests.0.iter().map(|(name, _)| name);
        requested.resources.extend(names.filter(|name| name.contains('/')).map(Box::from));
    }
}

/// Whether CPU or memory is requested or limited: the pod is not BestEffort.
fn has_a_class(resources: &ResourcesJson<'_>) -> bool {
    let has = |QuantitiesJson(amounts): &QuantitiesJson<'_>| {
        amounts.iter().any(|(name, amount)| matches!(&**name, "cpu" | "memory") && is_positive(amount))
    };
    has(&resources.requests) || has(&resources.limits)
}

fn is_positive(ScalarJson(amount): &ScalarJson<'_>) -> bool {
    amount.as_ref().is_some_and(|text| Quantity::parse(text).is_ok_and(Quantity::is_positive))
}

/// Decodes a pod's state before an update.
pub(super) fn pod_before(raw: &RawValue) -> Result<PreviousPod, InvalidReview> {
    let PodJson { metadata: Fields(metadata), spec, .. } = object("request.oldObject", raw)?;
    Ok(PreviousPod {
        tolerations: spec.tolerations.iter().map(Toleration::from).collect(),
        gated: !spec.scheduling_gates.is_empty(),
        made_for: metadata.annotations.map(|annotations| (&annotations.made_for).into()).unwrap_or_default(),
    })
}

/// Decodes a node.
pub(super) fn node(raw: &RawValue) -> Result<ReviewedNode, InvalidReview> {
    let NodeJson { metadata: Fields(metadata), spec, status } = object("the node", raw)?;
    let ready = status.conditions.iter().find(|condition| *condition.kind == *"Ready");
    Ok(ReviewedNode {
        taints: spec.taints.iter().map(Taint::from).collect(),
        allow: metadata.annotations.and_then(|all| all.allow).as_ref().map(Box::from),
        ready: ready.map(|condition| *condition.status == *"True"),
    })
}

/// The entries of a list, as written.
pub(super) fn entries(raw: &RawValue) -> Result<Vec<&RawValue>, InvalidReview> {
    serde_json::from_str(raw.get()).map_err(|error| odd("a list", &error))
}
