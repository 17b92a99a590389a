//! # Read: what the rules want to know of an object
//! Room:     pods and nodes out of JSON.
//! Comes in: an object that is well-formed JSON.
//! Goes out: the core's types; how much of a patch's target there is.
//! Keeps:    one pass over the text; only what a rule asks for is kept; nothing recurses with it. An object whose fields
//!           are of the wrong form cannot be judged: no API server sends one.
//! Not here: which fields there are (`decode_objects/shapes.rs`); any rule.

mod shapes;

use crate::review::{BorrowedText, InvalidReview, LenientFields};
use serde::Deserialize;
use serde_json::value::RawValue;
use shapes::{NodeShape, OldPodShape, PodShape, RequirementShape, SpecShape, TermShape, TolerationShape};
use taintward_core::admission::policy::RequestedSeconds;
use taintward_core::admission::request::{AdmittedPod, PodIdentity, PreviousPod};
use taintward_core::scheduling::{NodeOperator, NodeRequirement, NodeTerm};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::toleration::{Toleration, TolerationOperator};
use taintward_server::escape::escaped;

/// The most of a reader's reason that is told, in characters: it may repeat what it read.
const REASON_MAX: usize = 200;

/// A pod as it is asked for.
#[derive(Debug)]
pub(super) struct ReviewedPod<'a> {
    /// What the rules are asked about; its namespace is that of the request.
    pub(super) asked: AdmittedPod,
    /// What there is of the fields that a patch may change.
    pub(super) shape: PresentFields<'a>,
}

/// Which of the fields that a patch may change are there.
#[derive(Debug, Default)]
pub(super) struct PresentFields<'a> {
    /// `spec.tolerations`, as they stand there.
    pub(super) tolerations: Option<&'a RawValue>,
    /// `metadata.annotations` is an object.
    pub(super) annotations: bool,
    /// `spec.affinity` is an object.
    pub(super) affinity: bool,
    /// `spec.affinity.nodeAffinity` is one.
    pub(super) node_affinity: bool,
    /// The terms of its required part, as they stand there.
    pub(super) terms: Option<&'a RawValue>,
}

/// A node as it is going to be, or was.
#[derive(Debug, Default)]
pub(super) struct ReviewedNode {
    pub(super) taints: Vec<Taint>,
    /// The annotation that lets taints through.
    pub(super) allow: Option<Box<str>>,
    /// Its condition `Ready` is true; `None` where it says nothing.
    pub(super) ready: Option<bool>,
}

fn object<'a, T: Deserialize<'a>>(what: &str, raw: &'a RawValue) -> Result<T, InvalidReview> {
    let LenientFields(read) = serde_json::from_str(raw.get()).map_err(|error| odd(what, &error))?;
    Ok(read)
}

fn odd(what: &str, error: &serde_json::Error) -> InvalidReview {
    let reason: String = error.to_string().chars().take(REASON_MAX).collect();
    InvalidReview::object(format!("{what} is not as an API server writes it: {}", escaped(&reason)))
}

/// Reads a pod.
pub(super) fn pod(raw: &RawValue) -> Result<ReviewedPod<'_>, InvalidReview> {
    let pod: PodShape<'_> = object("request.object", raw)?;
    let metadata = pod.metadata.map(|LenientFields(metadata)| metadata).unwrap_or_default();
    let spec = pod.spec.map(|LenientFields(spec)| spec).unwrap_or_default();
    let mut asked = AdmittedPod {
        identity: PodIdentity {
            namespace: Box::default(),
            service_account: boxed(spec.service_account_name.as_ref()),
            priority_class: boxed(spec.priority_class_name.as_ref()),
            owner: metadata.owner_references.unwrap_or_default().0,
            mirror: false,
            made_for: Box::default(),
        },
        node: spec
            .node_name
            .as_ref()
            .filter(|BorrowedText(name)| !name.is_empty())
            .map(|BorrowedText(name)| name.as_ref().into()),
        gated: !spec.scheduling_gates.as_ref().is_none_or(Vec::is_empty),
        leaving: metadata.deletion_timestamp.is_some(),
        host_network: spec.host_network.unwrap_or(false),
        control_plane: metadata.labels.is_some_and(|labels| labels.control_plane),
        ..AdmittedPod::default()
    };
    let mut present = PresentFields::default();
    if let Some(annotations) = metadata.annotations {
        present.annotations = true;
        asked.identity.mirror = annotations.mirror;
        asked.identity.made_for = annotations.made_for.unwrap_or_default();
        asked.asked =
            RequestedSeconds { not_ready: annotations.not_ready, unreachable: annotations.unreachable };
    }
    containers(&spec, &mut asked);
    let shape = constraints(spec, &mut asked, present)?;
    Ok(ReviewedPod { asked, shape })
}

fn containers(spec: &SpecShape<'_>, asked: &mut AdmittedPod) {
    let listed = [&spec.containers, &spec.init_containers];
    let all = listed.into_iter().flatten().flatten();
    asked.best_effort = !spec.resources.as_ref().is_some_and(|LenientFields(own)| own.have_a_class());
    for LenientFields(resources) in all.filter_map(|LenientFields(container)| container.resources.as_ref()) {
        asked.best_effort &= !resources.have_a_class();
        let names = resources.requests.iter().flat_map(|requests| &requests.special);
        asked.resources.extend(names.cloned());
    }
}

fn constraints<'a>(
    spec: SpecShape<'a>,
    asked: &mut AdmittedPod,
    mut shape: PresentFields<'a>,
) -> Result<PresentFields<'a>, InvalidReview> {
    shape.tolerations = spec.tolerations;
    asked.tolerations = tolerations(spec.tolerations)?;
    asked.node_selector = spec.node_selector.unwrap_or_default().0;
    let Some(LenientFields(affinity)) = spec.affinity else { return Ok(shape) };
    shape.affinity = true;
    let Some(LenientFields(nodes)) = affinity.node_affinity else { return Ok(shape) };
    shape.node_affinity = true;
    asked.prefers = nodes.preferred.is_some_and(|preferred| !preferred.is_empty());
    if let Some(LenientFields(required)) = nodes.required {
        let terms: Vec<LenientFields<TermShape<'a>>> = list(required.node_selector_terms)?;
        asked.required = Some(terms.into_iter().map(term).collect());
        shape.terms = required.node_selector_terms;
    }
    Ok(shape)
}

fn list<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Result<Vec<T>, InvalidReview> {
    raw.map_or_else(|| Ok(Vec::new()), |raw| serde_json::from_str(raw.get()))
        .map_err(|error| odd("a list", &error))
}

fn tolerations(raw: Option<&RawValue>) -> Result<Vec<Toleration>, InvalidReview> {
    Ok(list(raw)?.into_iter().map(toleration).collect())
}

/// A pod as it was before a change.
pub(super) fn pod_before(raw: &RawValue) -> Result<PreviousPod, InvalidReview> {
    let pod: OldPodShape<'_> = object("request.oldObject", raw)?;
    let annotations =
        pod.metadata.and_then(|LenientFields(metadata)| metadata.annotations).unwrap_or_default();
    let made_for = annotations.made_for.unwrap_or_default();
    let Some(LenientFields(spec)) = pod.spec else {
        return Ok(PreviousPod { made_for, ..PreviousPod::default() });
    };
    let gated = !spec.scheduling_gates.as_ref().is_none_or(Vec::is_empty);
    Ok(PreviousPod { tolerations: tolerations(spec.tolerations)?, gated, made_for })
}

/// Reads a node.
pub(super) fn node(raw: &RawValue) -> Result<ReviewedNode, InvalidReview> {
    let node: NodeShape<'_> = object("the node", raw)?;
    let spec = node.spec.and_then(|LenientFields(spec)| spec.taints).unwrap_or_default();
    let taint = |LenientFields(taint): LenientFields<TolerationShape<'_>>| Taint {
        key: boxed(taint.key.as_ref()),
        value: boxed(taint.value.as_ref()),
        effect: TaintEffect::new(taint.effect.as_ref().map_or("", |BorrowedText(text)| text)),
        time_added: None,
    };
    let conditions = node.status.and_then(|LenientFields(status)| status.conditions).unwrap_or_default();
    let is = |text: &Option<BorrowedText<'_>>, wanted: &str| {
        text.as_ref().is_some_and(|BorrowedText(text)| text == wanted)
    };
    let ready = conditions.iter().find(|LenientFields(condition)| is(&condition.kind, "Ready"));
    Ok(ReviewedNode {
        taints: spec.into_iter().map(taint).collect(),
        allow: node
            .metadata
            .and_then(|LenientFields(metadata)| metadata.annotations)
            .and_then(|all| all.allow),
        ready: ready.map(|LenientFields(condition)| is(&condition.status, "True")),
    })
}

/// The entries of a list, as they stand there.
pub(super) fn entries(raw: &RawValue) -> Result<Vec<&RawValue>, InvalidReview> {
    list(Some(raw))
}

fn toleration(LenientFields(read): LenientFields<TolerationShape<'_>>) -> Toleration {
    let text = |text: &Option<BorrowedText<'_>>| boxed(text.as_ref());
    Toleration {
        key: text(&read.key),
        operator: TolerationOperator::new(read.operator.as_ref().map_or("", |BorrowedText(text)| text)),
        value: text(&read.value),
        effect: read
            .effect
            .filter(|BorrowedText(text)| !text.is_empty())
            .map(|BorrowedText(text)| TaintEffect::new(&text)),
        seconds: read.toleration_seconds,
    }
}

fn term(LenientFields(read): LenientFields<TermShape<'_>>) -> NodeTerm {
    let all = |list: Option<Vec<LenientFields<RequirementShape<'_>>>>| {
        list.unwrap_or_default().into_iter().map(requirement).collect()
    };
    NodeTerm { expressions: all(read.match_expressions), fields: all(read.match_fields) }
}

fn requirement(LenientFields(read): LenientFields<RequirementShape<'_>>) -> NodeRequirement {
    let values = read.values.unwrap_or_default();
    NodeRequirement {
        key: boxed(read.key.as_ref()),
        operator: NodeOperator::new(read.operator.as_ref().map_or("", |BorrowedText(text)| text)),
        values: values.iter().map(|BorrowedText(value)| value.as_ref().into()).collect(),
    }
}

fn boxed(text: Option<&BorrowedText<'_>>) -> Box<str> {
    text.map_or_else(Box::default, |BorrowedText(text)| text.as_ref().into())
}
