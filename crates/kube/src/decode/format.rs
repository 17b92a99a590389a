//! Defines what each encoding reads from an object's bytes, and makes facts of the fields that both have.
//!
//! - See `format/json.rs` and `format/protobuf.rs` for the encodings.

use super::{
    ApiStatus, DecodeError, Decoded, DecodedNode, DecodedPod, Encoding, ObjectIdentity, SelectedLabels,
    UndecodableObject,
};
use crate::hold_request::decode_periods;
use crate::respect_annotation::decode_respects;
use crate::wire::member_at;
use std::borrow::Cow;
use taintward_core::admission::policy::RequestedSeconds;
use taintward_core::fact::{BindingTimes, NodeFact, PodFact, PodLifePhase, PodOwnerKind};
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{
    ConditionKind, ConditionStatus, NodeCondition, NodeConditions, NodeHealthFact,
};
use taintward_core::taint::{Taint, TaintEffect, keys};
use taintward_core::time::Wall;
use taintward_core::toleration::Toleration;

mod json;
mod protobuf;

pub(crate) use json::{
    NodeJson, decoded_node, decoded_pod, disruption_budget, read as read_json, taints_changed,
};
pub(super) use protobuf::{FieldHeader, MAGIC, head, kind};

/// The field manager of Taintward's writes, and the name of the product in messages.
pub const FIELD_MANAGER: &str = "taintward";

/// JSON.
pub(super) struct Json;

/// Kubernetes' protobuf.
pub(super) struct Protobuf;

/// What an encoding reads from bytes, for any kind of object.
pub(super) trait ObjectFormat: Sized {
    const ENCODING: Encoding;

    /// Kind and bytes of the object in a body.
    fn body(bytes: &[u8]) -> Result<(Cow<'_, str>, &[u8]), DecodeError>;

    /// Type of a watch event, and the body of its object.
    fn event(frame: &[u8]) -> Result<(Cow<'_, str>, &[u8]), DecodeError>;

    /// The bytes of an event's object; an error if the encoding shows immediately that it is of another kind.
    fn event_object<'a>(body: &'a [u8], kind: &str) -> Result<&'a [u8], DecodeError>;

    /// The version of a bookmark, and whether it ends the initial events.
    fn bookmark(object: &[u8]) -> Result<(String, bool), DecodeError>;

    /// The metadata of a list.
    fn list_head(metadata: &[u8]) -> Result<ListHead, DecodeError>;

    /// A `Status`.
    fn status(object: &[u8]) -> Result<ApiStatus, DecodeError>;

    /// The identity of an object, from whatever can be read.
    fn identity(object: &[u8]) -> ObjectIdentity;

    /// Whether the deletion of an object, if it has started, waits for nothing: its grace period is over or absent, and
    /// it has no finalizer. If that cannot be read, the answer is no.
    fn waits_for_nothing(object: &[u8]) -> bool;

    /// Decodes an object; one that is not understood is named, if possible.
    fn decode<F: DecodeFrom<Self>>(object: &[u8]) -> Decoded<F> {
        F::decode_from(object).unwrap_or_else(|error| {
            let identity = Some(Self::identity(object)).filter(|identity| !identity.is_empty());
            Decoded::Undecodable(UndecodableObject { identity, why: error.to_string() })
        })
    }
}

/// Decodes an object of a kind that both encodings have.
pub(super) fn decode<F: DecodeFrom<Json> + DecodeFrom<Protobuf>>(
    encoding: Encoding,
    object: &[u8],
) -> Decoded<F> {
    match encoding {
        Encoding::Protobuf => Protobuf::decode(object),
        Encoding::Json => Json::decode(object),
    }
}

/// Whether the deletion of an object, if it has started, waits for nothing ([`ObjectFormat::waits_for_nothing`]).
pub(super) fn waits_for_nothing(encoding: Encoding, object: &[u8]) -> bool {
    match encoding {
        Encoding::Protobuf => Protobuf::waits_for_nothing(object),
        Encoding::Json => Json::waits_for_nothing(object),
    }
}

/// The metadata of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListHead {
    /// The version of the whole list.
    pub(crate) version: String,
    /// The continue token; empty on the last page.
    pub(crate) onward: String,
}

/// A kind of object that can be decoded from an encoding.
pub(super) trait DecodeFrom<Format>: Sized {
    /// Decodes one object, without envelope.
    fn decode_from(object: &[u8]) -> Result<Decoded<Self>, DecodeError>;
}

/// The fields of a pod, from either encoding.
struct PodFields<'a> {
    uid: Uid,
    namespace: &'a str,
    name: &'a str,
    version: Option<ResourceVersion>,
    generation: i64,
    owner: PodOwnerKind,
    mirror: bool,
    made_for: &'a str,
    held: Option<&'a str>,
    hold: Option<&'a str>,
    guard: Option<&'a str>,
    is_annotated: bool,
    not_ready_seconds: Option<&'a str>,
    unreachable_seconds: Option<&'a str>,
    deleting: bool,
    created: Option<Wall>,
    node: &'a str,
    tolerations: Vec<Toleration>,
    priority: i32,
    priority_class: &'a str,
    service_account: &'a str,
    phase: &'a str,
    started: Option<Wall>,
    conditions: PodConditionSummary,
}

impl PodFields<'_> {
    /// `marked_by_another` reads the managed fields, which costs another pass (P39).
    fn decoded(self, marked_by_another: impl FnOnce() -> bool) -> Result<Decoded<DecodedPod>, DecodeError> {
        /// The priority class of pods that are critical for a node.
        const NODE_CRITICAL: &str = "system-node-critical";

        if self.namespace.is_empty() {
            return Err(DecodeError::new("missing").at("metadata.namespace"));
        }
        if self.node.is_empty() {
            return Ok(Decoded::Unbound(ObjectIdentity {
                uid: Some(self.uid),
                namespace: self.namespace.to_owned(),
                name: self.name.to_owned(),
                node: None,
                version: self.version,
            }));
        }
        let requests_seconds = self.not_ready_seconds.is_some() || self.unreachable_seconds.is_some();
        let requested = requests_seconds.then(|| {
            let (not_ready, unreachable) = (self.not_ready_seconds, self.unreachable_seconds);
            RequestedSeconds { not_ready: not_ready.map(Box::from), unreachable: unreachable.map(Box::from) }
        });
        let requested = requested.map(Box::new);
        // None of the pod's containers run any more, and never will.
        let over = matches!(self.phase, "Succeeded" | "Failed");
        let PodConditionSummary { scheduled, marked, ready } = self.conditions;
        let pod = PodFact {
            id: PodId::new(self.uid, PodName::new(self.namespace, self.name)),
            node: NodeName::new(self.node),
            version: self.version,
            // Absurd generations are clamped.
            generation: u32::try_from(self.generation.max(0)).unwrap_or(u32::MAX),
            tolerations: self.tolerations,
            priority: self.priority,
            node_critical: self.priority_class == NODE_CRITICAL,
            owner: self.owner,
            // Whether the pod can still be evicted (D6); a requested deletion takes precedence.
            life_phase: match (self.deleting, over) {
                (true, _) => PodLifePhase::Terminating,
                (false, true) => PodLifePhase::Finished,
                (false, false) => PodLifePhase::Live,
            },
            mirror: self.mirror,
            marked,
            marked_by_another: marked && marked_by_another(),
            arrival: BindingTimes { scheduled, started: self.started, created: self.created },
            ready: None,
            template: None,
            holds: self.hold.and_then(decode_periods),
            ignores_holds: false,
        };
        Ok(Decoded::Object(DecodedPod {
            pod,
            ready,
            over,
            service_account: self.service_account.into(),
            priority_class: self.priority_class.into(),
            made_for: self.made_for.into(),
            held: self.held.map(Box::from),
            guard: self.guard.map(Box::from),
            is_annotated: self.is_annotated,
            requested,
        }))
    }
}

/// The parts of a pod's conditions.
#[derive(Default)]
struct PodConditionSummary {
    /// When the pod was bound to its node (D1).
    scheduled: Option<Wall>,
    /// One is that of a taint eviction (TE-31).
    marked: bool,
    /// The status of the condition `Ready`; contradictory ones are not understood, as with nodes.
    ready: Option<ConditionStatus>,
}

impl PodConditionSummary {
    fn put(&mut self, kind: &str, status: &str, reason: &str, since: Option<Wall>) {
        match (kind, status, reason) {
            ("PodScheduled", "True", _) => self.scheduled = self.scheduled.or(since),
            ("DisruptionTarget", "True", "DeletionByTaintManager") => self.marked = true,
            ("Ready", status, _) => {
                let (status, before) = (ConditionStatus::new(status), self.ready);
                let agreed =
                    before.filter(|before| *before != status).map_or(status, |_| ConditionStatus::Other);
                self.ready = Some(agreed);
            }
            _ => {}
        }
    }
}

/// Whether an entry of managed fields belongs to another client than Taintward, whichever of its processes wrote.
fn is_another(manager: &str) -> bool {
    !matches!(manager, "" | FIELD_MANAGER)
}

/// Whether a `FieldsV1` set contains `f:spec.f:taints`.
fn owns_taints(fields: &[u8]) -> bool {
    member_at(fields, &["f:spec", "f:taints"]).is_some()
}

/// Whether a `FieldsV1` set contains a field that makes the condition `DisruptionTarget` that of a taint eviction, or
/// its time: a repeated write changes only the time.
fn owns_mark(fields: &[u8]) -> bool {
    let in_mark = |field| {
        member_at(fields, &["f:status", "f:conditions", r#"k:{"type":"DisruptionTarget"}"#, field]).is_some()
    };
    in_mark("f:reason") || in_mark("f:lastTransitionTime")
}

/// The fields of a node, from either encoding.
struct NodeFields<'a> {
    uid: Uid,
    name: NodeName,
    version: Option<ResourceVersion>,
    created: Option<Wall>,
    unschedulable: bool,
    taints: Vec<Taint>,
    /// `None` for those that do not matter.
    conditions: Vec<Option<NodeCondition>>,
    hold: Option<&'a str>,
    allow: Option<&'a str>,
    respect: Option<&'a str>,
}

impl NodeFields<'_> {
    /// `taints_changed` reads the managed fields, which costs another pass: only for a NoExecute taint without
    /// `timeAdded` (D1).
    fn decoded(
        self,
        labels: &SelectedLabels<'_>,
        taints_changed: impl FnOnce() -> Option<Wall>,
    ) -> DecodedNode {
        let Self { uid, name, version, created, unschedulable, taints, conditions, hold, allow, respect } =
            self;
        let is_unknown = |taint: &Taint| taint.effect == TaintEffect::NoExecute && taint.time_added.is_none();
        let taints_changed = taints.iter().any(is_unknown).then(taints_changed).flatten();
        let out_of_service = taints.iter().any(|taint| &*taint.key == keys::OUT_OF_SERVICE);
        let (zone, excluded, platform) = labels.zone_exclusion_and_platform();
        DecodedNode {
            taints: NodeFact {
                name: name.clone(),
                uid: uid.clone(),
                version,
                created,
                taints: taints.clone(),
                taints_changed,
                ready_out_of_service: out_of_service && is_ready(&conditions),
                labels: None,
                allow_no_execute: allow.map(Box::from),
                respect_budgets: respect.map(|text| Box::new(decode_respects(text))),
                holds: hold.and_then(decode_periods),
            },
            health: NodeHealthFact {
                name,
                uid,
                version,
                created,
                zone,
                excluded,
                unschedulable,
                taints,
                conditions: conditions.into_iter().flatten().collect(),
                platform,
            },
            hold: hold.map(Box::from),
        }
    }
}

/// Whether a node's conditions, of which `None` are those that do not matter, report that it is ready; contradictory
/// ones do not.
fn is_ready(conditions: &[Option<NodeCondition>]) -> bool {
    let relevant: Vec<NodeCondition> = conditions.iter().flatten().copied().collect();
    NodeConditions::of(&relevant).get(ConditionKind::Ready) == Some(ConditionStatus::True)
}
