//! Decodes the needed fields of pods, leases, bookmarks and list metadata from JSON, in one pass.
//!
//! - See `json/node.rs` and `json/pool.rs` for other kinds.

use super::{DecodeError, Decoded, DecodedPod, ObjectIdentity, field_semantics, timestamps};
use crate::error_text::sanitize;
use crate::wire::{
    CappedList, Essential, Extent, Fields, KindJson, KnownAnnotations, LeaseSpecJson, ListMetaJson,
    ManagedFieldsJson, MetaJson, ObjectJson, PodConditionJson, PodJson, Text, WatchLineJson, member_at,
    members, object_from_slice,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use taintward_core::fact::{BindingTimes, PodFact};
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{ConditionStatus, LeaseFact};
use taintward_core::time::Wall;
use taintward_core::toleration::Toleration;

mod json_path;
mod node;
mod policy;
mod pool;
mod pool_inputs;
mod status;

pub(crate) use node::{NodeJson, decoded_node};
pub(super) use node::{node, taints_changed};
pub(super) use policy::policy;
pub(super) use pool::pool;
pub(super) use pool_inputs::{member, namespace};

/// Reads an object into its mirror; a fault carries the path of the place serde stopped at.
pub(crate) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    object_from_slice(bytes).map_err(|error| {
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
    read::<KindJson<'_>>(bytes).map(|object| object.kind.to_string())
}

/// Who an object is, from whatever of it can be read.
pub(super) fn identity(bytes: &[u8]) -> ObjectIdentity {
    let text = |member: Option<&RawValue>| {
        member.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok()).filter(|text| !text.is_empty())
    };
    let parts = members(bytes, ["metadata", "spec"]);
    let [meta, spec] = parts.map(|part| part.map_or(&b""[..], |raw| raw.get().as_bytes()));
    let [uid, namespace, name, version] =
        members(meta, ["uid", "namespace", "name", "resourceVersion"]).map(text);
    let [node] = members(spec, ["nodeName"]).map(text);
    ObjectIdentity {
        uid: uid.map(|uid| Uid::new(&uid)),
        namespace: namespace.unwrap_or_default(),
        name: name.unwrap_or_default(),
        node: node.map(|node| NodeName::new(&node)),
        version: version.and_then(|version| ResourceVersion::parse(&version)),
    }
}

/// Whether the deletion of an object, if it has begun, waits for nothing: a grace period that is over (an API server takes
/// none for that, too), and no finalizer. What cannot be read is waited for.
pub(super) fn waits_for_nothing(bytes: &[u8]) -> bool {
    let Some(meta) = member_at(bytes, &["metadata"]) else { return false };
    let [grace, finalizers] = members(meta.get().as_bytes(), ["deletionGracePeriodSeconds", "finalizers"]);
    grace.is_none_or(|grace| matches!(grace.get(), "0" | "null"))
        && finalizers.is_none_or(|finalizers| {
            serde_json::from_str::<Option<Vec<String>>>(finalizers.get())
                .is_ok_and(|finalizers| finalizers.unwrap_or_default().is_empty())
        })
}

/// Reads a `Pod`.
pub(super) fn pod(bytes: &[u8]) -> Result<Decoded<DecodedPod>, DecodeError> {
    decoded_pod(&read::<PodJson<'_, Essential>>(bytes)?, bytes)
}

/// What a mirror says; the bytes it was read from are needed for what it leaves out.
pub(crate) fn decoded_pod<E: Extent>(
    object: &PodJson<'_, E>,
    bytes: &[u8],
) -> Result<Decoded<DecodedPod>, DecodeError> {
    let ObjectJson { metadata: meta, spec, status } = object;
    let uid = uid(meta)?;
    if meta.namespace.is_empty() {
        return Err(DecodeError::new("missing").at("metadata.namespace"));
    }
    let created = time(meta.creation_timestamp.as_ref(), "metadata.creationTimestamp")?;
    let started = time(status.start_time.as_ref(), "status.startTime")?;
    let PodConditionSummary { scheduled, marked, ready } = read_conditions(&status.conditions)?;
    if spec.node_name.is_empty() {
        return Ok(Decoded::Unbound(ObjectIdentity {
            uid: Some(uid),
            namespace: meta.namespace.to_string(),
            name: meta.name.to_string(),
            node: None,
            version: version(meta),
        }));
    }
    let annotations = meta.annotations.as_ref();
    let pod = PodFact {
        id: PodId::new(uid, PodName::new(&meta.namespace, &meta.name)),
        node: NodeName::new(&spec.node_name),
        version: version(meta),
        generation: field_semantics::generation(meta.generation.unwrap_or_default()),
        tolerations: spec.tolerations.iter().map(Toleration::from).collect(),
        priority: spec.priority.unwrap_or_default(),
        node_critical: *spec.priority_class_name == *field_semantics::NODE_CRITICAL,
        owner: meta.owner_kind(),
        standing: field_semantics::standing(meta.deletion_timestamp.is_some(), &status.phase),
        mirror: annotations.is_some_and(|annotations| annotations.mirror),
        marked,
        marked_by_another: marked && marked_by_another(bytes),
        arrival: BindingTimes { scheduled, started, created },
    };
    Ok(Decoded::Object(DecodedPod {
        pod,
        ready,
        over: field_semantics::is_over(&status.phase),
        service_account: (&spec.service_account_name).into(),
        priority_class: (&spec.priority_class_name).into(),
        made_for: annotations.map(|annotations| (&annotations.made_for).into()).unwrap_or_default(),
    }))
}

/// Reads a node's `Lease`.
pub(super) fn lease(bytes: &[u8]) -> Result<Decoded<LeaseFact>, DecodeError> {
    let ObjectJson { metadata: meta, spec, .. }: ObjectJson<MetaJson<'_>, Fields<LeaseSpecJson<'_>>> =
        read(bytes)?;
    uid(&meta)?;
    Ok(Decoded::Object(LeaseFact {
        node: NodeName::new(&meta.name),
        version: version(&meta),
        renewed: time(spec.renew_time.as_ref(), "spec.renewTime")?,
    }))
}

fn uid<L, A>(meta: &MetaJson<'_, L, A>) -> Result<Uid, DecodeError> {
    match (&*meta.name, &*meta.uid) {
        ("", _) => Err(DecodeError::new("missing").at("metadata.name")),
        (_, "") => Err(DecodeError::new("missing").at("metadata.uid")),
        (_, uid) => Ok(Uid::new(uid)),
    }
}

fn version<L, A>(meta: &MetaJson<'_, L, A>) -> Option<ResourceVersion> {
    ResourceVersion::parse(&meta.resource_version)
}

fn time(text: Option<&Text<'_>>, path: &str) -> Result<Option<Wall>, DecodeError> {
    text.map_or(Ok(None), |text| timestamps::from_text(text).map_err(|fault| fault.at(path)))
}

/// What a pod's conditions say.
#[derive(Default)]
struct PodConditionSummary {
    scheduled: Option<Wall>,
    marked: bool,
    ready: Option<ConditionStatus>,
}

fn read_conditions(conditions: &[PodConditionJson<'_>]) -> Result<PodConditionSummary, DecodeError> {
    let mut summary = PodConditionSummary::default();
    for (at, condition) in conditions.iter().enumerate() {
        let PodConditionJson { kind, status, reason, last_transition_time } = condition;
        let since = time(last_transition_time.as_ref(), "lastTransitionTime")
            .map_err(|fault| fault.index(at).at("status.conditions"))?;
        summary.marked |= field_semantics::is_mark(kind, status, reason);
        summary.ready = field_semantics::ready(summary.ready, kind, status);
        if field_semantics::is_arrival(kind, status) {
            summary.scheduled = summary.scheduled.or(since);
        }
    }
    Ok(summary)
}

/// An object's managed fields, in a second pass over it: few objects need it. None if they cannot be read.
fn managed(bytes: &[u8]) -> Vec<ManagedFieldsJson<'_>> {
    let entries = member_at(bytes, &["metadata", "managedFields"]);
    let entries = entries.map(|raw| serde_json::from_str::<CappedList<ManagedFieldsJson<'_>>>(raw.get()));
    entries.and_then(Result::ok).unwrap_or_default().0
}

/// Whether another than we has put the condition on, by the managed fields (P39).
fn marked_by_another(bytes: &[u8]) -> bool {
    managed(bytes).iter().any(|entry| {
        field_semantics::is_another(&entry.manager)
            && entry.fields.is_some_and(|fields| owns_mark(fields.get().as_bytes()))
    })
}

/// Whether a `FieldsV1` set has `f:spec.f:taints` in it.
pub(super) fn owns_taints(fields: &[u8]) -> bool {
    member_at(fields, &["f:spec", "f:taints"]).is_some()
}

/// Whether a `FieldsV1` set has in it what makes the condition `DisruptionTarget` that of a taint eviction, or its time:
/// who writes it a second time changes nothing else.
pub(super) fn owns_mark(fields: &[u8]) -> bool {
    let in_mark = |field| {
        member_at(fields, &["f:status", "f:conditions", r#"k:{"type":"DisruptionTarget"}"#, field]).is_some()
    };
    in_mark("f:reason") || in_mark("f:lastTransitionTime")
}

/// What a bookmark says: the version it stands for, and whether it ends the initial events.
pub(super) fn bookmark(bytes: &[u8]) -> Result<(String, bool), DecodeError> {
    let Fields(meta) = read::<ObjectJson<MetaJson<'_>>>(bytes)?.metadata;
    let ends =
        meta.annotations.is_some_and(|annotations: KnownAnnotations<'_>| annotations.initial_events_end);
    Ok((meta.resource_version.to_string(), ends))
}

/// What the head of a list says: its version and where it goes on.
pub(super) fn list_meta(bytes: &[u8]) -> Result<(String, String), DecodeError> {
    let head: ListMetaJson<'_> = read(bytes)?;
    Ok((head.resource_version.to_string(), head.continue_token.to_string()))
}

/// Splits one line of a watch into the event's type and its object.
pub(super) fn line(bytes: &[u8]) -> Result<(String, &[u8]), DecodeError> {
    let line: WatchLineJson<'_> = read(bytes)?;
    Ok((line.kind.to_string(), line.object.get().as_bytes()))
}
