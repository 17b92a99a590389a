//! # JSON: the fields that matter, read in one pass
//! Room:     pods, leases, bookmarks and list heads in JSON; everything else is skipped without being kept.
//! Comes in: the bytes of one object.
//! Goes out: facts equal to those of `protobuf.rs`; a [`DecodeError`] with the field's path where the bytes are wrong.
//! Not here: nodes (`json/node.rs`); admission's objects (`json/pool.rs` and its neighbours); the shapes serde reads into (`json/wire_types.rs`); splitting bodies (`frames.rs`, `list.rs`).

use super::{DecodeError, Decoded, DecodedPod, ObjectIdentity, field_semantics, timestamps};
use crate::error_text::sanitize;
use serde::Deserialize;
use serde_json::value::RawValue;
use taintward_core::fact::{BindingTimes, PodFact};
use taintward_core::identity::{NodeName, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{ConditionStatus, LeaseFact};
use taintward_core::taint::TaintEffect;
use taintward_core::time::Wall;
use taintward_core::toleration::{Toleration, TolerationOperator};
pub(super) use wire_types::LenientObject;
use wire_types::{
    BookmarkJson, ControllerOwner, LeaseJson, ListMetaJson, ManagedFieldsEntry, ManagedFieldsObject,
    MetaJson, PodConditionJson, PodJson, Text, TolerationJson,
};

mod json_path;
mod node;
mod policy;
mod pool;
mod pool_inputs;
mod status;
mod wire_types;

pub(super) use node::{node, taints_changed};
pub(super) use policy::policy;
pub(super) use pool::pool;
pub(super) use pool_inputs::{member, namespace};

/// Reads an object into a shape; a fault carries the path of the place serde stopped at.
pub(super) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    serde_json::from_slice(bytes).map(|LenientObject(value)| value).map_err(|error| {
        let path = json_path::path_to(bytes, error.line(), error.column());
        let fault = DecodeError::new(sanitize(&error.to_string(), 120));
        if path.is_empty() { fault } else { fault.at(&sanitize(&path, 120)) }
    })
}

/// Reads a string.
pub(super) fn string(bytes: &[u8]) -> Result<String, DecodeError> {
    serde_json::from_slice(bytes).map_err(|_| DecodeError::new("not a string"))
}

/// The `kind` of an object.
pub(super) fn kind(bytes: &[u8]) -> Result<String, DecodeError> {
    read::<wire_types::KindJson<'_>>(bytes).map(|object| Text::or_empty(object.kind.as_ref()).to_owned())
}

/// Who an object is, from whatever of it can be read.
pub(super) fn identity(bytes: &[u8]) -> ObjectIdentity {
    let text = |member: Option<&RawValue>| {
        member.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok()).filter(|text| !text.is_empty())
    };
    let parts = wire_types::Members::of(bytes, &["metadata", "spec"]);
    let part = |at: usize| parts[at].map_or(&b""[..], |raw| raw.get().as_bytes());
    let meta = wire_types::Members::of(part(0), &["uid", "namespace", "name", "resourceVersion"]);
    let spec = wire_types::Members::of(part(1), &["nodeName"]);
    ObjectIdentity {
        uid: text(meta[0]).map(|uid| Uid::new(&uid)),
        namespace: text(meta[1]).unwrap_or_default(),
        name: text(meta[2]).unwrap_or_default(),
        node: text(spec[0]).map(|node| NodeName::new(&node)),
        version: text(meta[3]).and_then(|version| ResourceVersion::parse(&version)),
    }
}

/// Whether the deletion of an object, if it has begun, waits for nothing: a grace period that is over (an API server takes
/// none for that, too), and no finalizer. What cannot be read is waited for.
pub(super) fn waits_for_nothing(bytes: &[u8]) -> bool {
    let parts = wire_types::Members::of(bytes, &["metadata"]);
    let Some(meta) = parts[0] else { return false };
    let told = wire_types::Members::of(meta.get().as_bytes(), &["deletionGracePeriodSeconds", "finalizers"]);
    told[0].is_none_or(|grace| matches!(grace.get(), "0" | "null"))
        && told[1].is_none_or(|finalizers| {
            serde_json::from_str::<Option<Vec<String>>>(finalizers.get())
                .is_ok_and(|finalizers| finalizers.unwrap_or_default().is_empty())
        })
}

/// Reads a `Pod`.
pub(super) fn pod(bytes: &[u8]) -> Result<Decoded<DecodedPod>, DecodeError> {
    let object: PodJson<'_> = read(bytes)?;
    let LenientObject(meta) = object.metadata.unwrap_or_default();
    let LenientObject(spec) = object.spec.unwrap_or_default();
    let LenientObject(status) = object.status.unwrap_or_default();
    let uid = uid(&meta)?;
    let (namespace, name) = (Text::or_empty(meta.namespace.as_ref()), Text::or_empty(meta.name.as_ref()));
    if namespace.is_empty() {
        return Err(DecodeError::new("missing").at("metadata.namespace"));
    }
    let created = time(meta.creation_timestamp.as_ref(), "metadata.creationTimestamp")?;
    let conditions = status.conditions.unwrap_or_default().0;
    let started = time(status.start_time.as_ref(), "status.startTime")?;
    let PodConditionSummary { scheduled, marked, ready } = read_conditions(&conditions)?;
    let node = Text::or_empty(spec.node_name.as_ref());
    if node.is_empty() {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        return Ok(Decoded::Unbound(ObjectIdentity {
            uid: Some(uid),
            namespace,
            name,
            node: None,
            version: version(&meta),
        }));
    }
    let tolerations = spec.tolerations.unwrap_or_default().0;
    let phase = Text::or_empty(status.phase.as_ref());
    let priority_class = Text::or_empty(spec.priority_class_name.as_ref());
    let annotations = meta.annotations.as_ref();
    let pod = PodFact {
        uid,
        name: PodName::new(namespace, name),
        node: NodeName::new(node),
        version: version(&meta),
        generation: field_semantics::generation(meta.generation.unwrap_or_default()),
        tolerations: tolerations.iter().map(toleration).collect(),
        priority: spec.priority.unwrap_or_default(),
        node_critical: priority_class == field_semantics::NODE_CRITICAL,
        owner: owner(meta.owner_references.as_ref()),
        standing: field_semantics::standing(meta.deletion_timestamp.is_some(), phase),
        mirror: annotations.is_some_and(|annotations| annotations.mirror),
        marked,
        marked_by_another: marked && marked_by_another(bytes),
        arrival: BindingTimes { scheduled, started, created },
    };
    let service_account = Text::or_empty(spec.service_account_name.as_ref()).into();
    Ok(Decoded::Object(DecodedPod {
        pod,
        ready,
        over: field_semantics::is_over(phase),
        service_account,
        priority_class: priority_class.into(),
        made_for: annotations.map(|annotations| annotations.made_for.clone()).unwrap_or_default(),
    }))
}

/// Reads a node's `Lease`.
pub(super) fn lease(bytes: &[u8]) -> Result<Decoded<LeaseFact>, DecodeError> {
    let object: LeaseJson<'_> = read(bytes)?;
    let LenientObject(meta) = object.metadata.unwrap_or_default();
    let LenientObject(spec) = object.spec.unwrap_or_default();
    uid(&meta)?;
    Ok(Decoded::Object(LeaseFact {
        node: NodeName::new(Text::or_empty(meta.name.as_ref())),
        version: version(&meta),
        renewed: time(spec.renew_time.as_ref(), "spec.renewTime")?,
    }))
}

fn uid<L, A>(meta: &MetaJson<'_, L, A>) -> Result<Uid, DecodeError> {
    match (Text::or_empty(meta.name.as_ref()), Text::or_empty(meta.uid.as_ref())) {
        ("", _) => Err(DecodeError::new("missing").at("metadata.name")),
        (_, "") => Err(DecodeError::new("missing").at("metadata.uid")),
        (_, uid) => Ok(Uid::new(uid)),
    }
}

fn version<L, A>(meta: &MetaJson<'_, L, A>) -> Option<ResourceVersion> {
    ResourceVersion::parse(Text::or_empty(meta.resource_version.as_ref()))
}

fn time(text: Option<&Text<'_>>, path: &str) -> Result<Option<Wall>, DecodeError> {
    text.map_or(Ok(None), |text| timestamps::from_text(text.as_str()).map_err(|fault| fault.at(path)))
}

fn owner(references: Option<&ControllerOwner>) -> taintward_core::fact::PodOwnerKind {
    references.and_then(|references| references.0).unwrap_or_default()
}

fn toleration(entry: &TolerationJson<'_>) -> Toleration {
    let effect = Text::or_empty(entry.effect.as_ref());
    Toleration {
        key: Text::or_empty(entry.key.as_ref()).into(),
        operator: TolerationOperator::new(Text::or_empty(entry.operator.as_ref())),
        value: Text::or_empty(entry.value.as_ref()).into(),
        effect: Some(effect).filter(|effect| !effect.is_empty()).map(TaintEffect::new),
        seconds: entry.toleration_seconds,
    }
}

/// What a pod's conditions say.
#[derive(Default)]
struct PodConditionSummary {
    scheduled: Option<Wall>,
    marked: bool,
    ready: Option<ConditionStatus>,
}

fn read_conditions(conditions: &[PodConditionJson<'_>]) -> Result<PodConditionSummary, DecodeError> {
    let mut told = PodConditionSummary::default();
    for (at, condition) in conditions.iter().enumerate() {
        let kind = Text::or_empty(condition.kind.as_ref());
        let status = Text::or_empty(condition.status.as_ref());
        let reason = Text::or_empty(condition.reason.as_ref());
        let since = time(condition.last_transition_time.as_ref(), "lastTransitionTime")
            .map_err(|fault| fault.index(at).at("status.conditions"))?;
        told.marked |= field_semantics::is_mark(kind, status, reason);
        told.ready = field_semantics::ready(told.ready, kind, status);
        if field_semantics::is_arrival(kind, status) {
            told.scheduled = told.scheduled.or(since);
        }
    }
    Ok(told)
}

/// An object's managed fields, in a second pass over it: few objects need it.
fn managed(bytes: &[u8]) -> Option<Vec<ManagedFieldsEntry<'_>>> {
    Some(read::<ManagedFieldsObject<'_>>(bytes).ok()?.metadata?.0.managed_fields?.0)
}

/// Whether another than we has put the condition on, by the managed fields (P39).
fn marked_by_another(bytes: &[u8]) -> bool {
    managed(bytes).into_iter().flatten().any(|entry| {
        field_semantics::is_another(Text::or_empty(entry.manager.as_ref()))
            && entry.fields.is_some_and(|fields| owns_mark(fields.get().as_bytes()))
    })
}

/// Whether a `FieldsV1` set has `f:spec.f:taints` in it.
pub(super) fn owns_taints(fields: &[u8]) -> bool {
    in_set(fields, &["f:spec", "f:taints"])
}

/// Whether a `FieldsV1` set has in it what makes the condition `DisruptionTarget` that of a taint eviction, or its time:
/// who writes it a second time changes nothing else.
pub(super) fn owns_mark(fields: &[u8]) -> bool {
    let in_mark =
        |field| in_set(fields, &["f:status", "f:conditions", r#"k:{"type":"DisruptionTarget"}"#, field]);
    in_mark("f:reason") || in_mark("f:lastTransitionTime")
}

/// Whether there is something at this path of a set.
fn in_set(fields: &[u8], path: &[&'static str]) -> bool {
    let Some((first, rest)) = path.split_first() else { return true };
    let found = wire_types::Members::of(fields, &[*first]);
    found[0].is_some_and(|part| in_set(part.get().as_bytes(), rest))
}

/// What a bookmark says: the version it stands for, and whether it ends the initial events.
pub(super) fn bookmark(bytes: &[u8]) -> Result<(String, bool), DecodeError> {
    let LenientObject(meta) = read::<BookmarkJson<'_>>(bytes)?.metadata.unwrap_or_default();
    let ends = meta.annotations.is_some_and(|annotations| annotations.initial_events_end);
    Ok((Text::or_empty(meta.resource_version.as_ref()).to_owned(), ends))
}

/// What the head of a list says: its version and where it goes on.
pub(super) fn list_meta(bytes: &[u8]) -> Result<(String, String), DecodeError> {
    let head: ListMetaJson<'_> = read(bytes)?;
    Ok((
        Text::or_empty(head.resource_version.as_ref()).to_owned(),
        Text::or_empty(head.onward.as_ref()).to_owned(),
    ))
}

/// Splits one line of a watch into the event's type and its object.
pub(super) fn line(bytes: &[u8]) -> Result<(String, &[u8]), DecodeError> {
    let line: wire_types::WatchLineJson<'_> = read(bytes)?;
    Ok((line.kind.as_str().to_owned(), line.object.get().as_bytes()))
}
