//! # JSON: the fields that matter, read in one pass
//! Room:     nodes, pods, bookmarks and list heads in JSON; everything else is skipped without being kept.
//! Comes in: the bytes of one object.
//! Goes out: facts equal to those of `protobuf.rs`; a [`Fault`] with the field's path where the bytes are wrong.
//! Not here: the shapes serde reads into (`json/shape.rs`); splitting bodies (`frames.rs`, `list.rs`).

use super::{Decoded, Fault, Identity, harmless, meaning, moment};
use serde::Deserialize;
use serde_json::value::RawValue;
pub(super) use shape::Object;
use shape::{
    Bookmark, Condition, Head, Managed, Meta, NodeObject, Owners, PodObject, TaintEntry, Text,
    TolerationEntry,
};
use taintward_core::fact::{ArrivalFacts, NodeFact, PodFact};
use taintward_core::names::{NodeName, PodName, Uid, Version};
use taintward_core::taint::{Effect, Taint};
use taintward_core::time::Wall;
use taintward_core::toleration::{Operator, Toleration};

mod place;
mod shape;

/// Reads an object into a shape; a fault carries the path of the place serde stopped at.
pub(super) fn read<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Fault> {
    serde_json::from_slice(bytes).map(|Object(value)| value).map_err(|error| {
        let path = place::path_to(bytes, error.line(), error.column());
        let fault = Fault::new(harmless(&error.to_string(), 120));
        if path.is_empty() { fault } else { fault.at(&harmless(&path, 120)) }
    })
}

/// Reads a string.
pub(super) fn string(bytes: &[u8]) -> Result<String, Fault> {
    serde_json::from_slice(bytes).map_err(|_| Fault::new("not a string"))
}

/// The `kind` of an object.
pub(super) fn kind(bytes: &[u8]) -> Result<String, Fault> {
    read::<shape::Kind<'_>>(bytes).map(|object| Text::or_empty(object.kind.as_ref()).to_owned())
}

/// Who an object is, from whatever of it can be read.
pub(super) fn identity(bytes: &[u8]) -> Identity {
    let text = |member: Option<&RawValue>| {
        member.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok()).filter(|text| !text.is_empty())
    };
    let parts = shape::Members::of(bytes, &["metadata", "spec"]);
    let part = |at: usize| parts[at].map_or(&b""[..], |raw| raw.get().as_bytes());
    let meta = shape::Members::of(part(0), &["uid", "namespace", "name", "resourceVersion"]);
    let spec = shape::Members::of(part(1), &["nodeName"]);
    Identity {
        uid: text(meta[0]).map(|uid| Uid::new(&uid)),
        namespace: text(meta[1]).unwrap_or_default(),
        name: text(meta[2]).unwrap_or_default(),
        node: text(spec[0]).map(|node| NodeName::new(&node)),
        version: text(meta[3]).and_then(|version| Version::parse(&version)),
    }
}

/// Reads a `Node`.
pub(super) fn node(bytes: &[u8]) -> Result<Decoded<NodeFact>, Fault> {
    let object: NodeObject<'_> = read(bytes)?;
    let Object(meta) = object.metadata.unwrap_or_default();
    let entries = object.spec.and_then(|Object(spec)| spec.taints).unwrap_or_default().0;
    let taints: Result<Vec<_>, Fault> = entries
        .iter()
        .enumerate()
        .map(|(at, entry)| taint(entry).map_err(|fault| fault.index(at).at("spec.taints")))
        .collect();
    let taints = taints?;
    let uid = uid(&meta)?;
    let created = time(meta.creation_timestamp.as_ref(), "metadata.creationTimestamp")?;
    let taints_changed = if meaning::needs_ownership(&taints) { taints_changed(bytes) } else { None };
    Ok(Decoded::Fact(NodeFact {
        name: NodeName::new(Text::or_empty(meta.name.as_ref())),
        uid,
        version: version(&meta),
        created,
        taints,
        taints_changed,
    }))
}

/// Reads a `Pod`.
pub(super) fn pod(bytes: &[u8]) -> Result<Decoded<PodFact>, Fault> {
    let object: PodObject<'_> = read(bytes)?;
    let Object(meta) = object.metadata.unwrap_or_default();
    let Object(spec) = object.spec.unwrap_or_default();
    let Object(status) = object.status.unwrap_or_default();
    let uid = uid(&meta)?;
    let (namespace, name) = (Text::or_empty(meta.namespace.as_ref()), Text::or_empty(meta.name.as_ref()));
    if namespace.is_empty() {
        return Err(Fault::new("missing").at("metadata.namespace"));
    }
    let created = time(meta.creation_timestamp.as_ref(), "metadata.creationTimestamp")?;
    let conditions = status.conditions.unwrap_or_default().0;
    let started = time(status.start_time.as_ref(), "status.startTime")?;
    let (scheduled, marked) = read_conditions(&conditions)?;
    let node = Text::or_empty(spec.node_name.as_ref());
    if node.is_empty() {
        let (namespace, name) = (namespace.to_owned(), name.to_owned());
        return Ok(Decoded::Unbound(Identity {
            uid: Some(uid),
            namespace,
            name,
            node: None,
            version: version(&meta),
        }));
    }
    let tolerations = spec.tolerations.unwrap_or_default().0;
    let phase = Text::or_empty(status.phase.as_ref());
    Ok(Decoded::Fact(PodFact {
        uid,
        name: PodName::new(namespace, name),
        node: NodeName::new(node),
        version: version(&meta),
        generation: meaning::generation(meta.generation.unwrap_or_default()),
        tolerations: tolerations.iter().map(toleration).collect(),
        priority: spec.priority.unwrap_or_default(),
        node_critical: Text::or_empty(spec.priority_class_name.as_ref()) == meaning::NODE_CRITICAL,
        owner: owner(meta.owner_references.as_ref()),
        standing: meaning::standing(meta.deletion_timestamp.is_some(), phase),
        mirror: meta.annotations.is_some_and(|annotations| annotations.mirror),
        marked,
        arrival: ArrivalFacts { scheduled, started, created },
    }))
}

fn uid(meta: &Meta<'_>) -> Result<Uid, Fault> {
    match (Text::or_empty(meta.name.as_ref()), Text::or_empty(meta.uid.as_ref())) {
        ("", _) => Err(Fault::new("missing").at("metadata.name")),
        (_, "") => Err(Fault::new("missing").at("metadata.uid")),
        (_, uid) => Ok(Uid::new(uid)),
    }
}

fn version(meta: &Meta<'_>) -> Option<Version> {
    Version::parse(Text::or_empty(meta.resource_version.as_ref()))
}

fn time(text: Option<&Text<'_>>, path: &str) -> Result<Option<Wall>, Fault> {
    text.map_or(Ok(None), |text| moment::from_text(text.as_str()).map_err(|fault| fault.at(path)))
}

fn owner(references: Option<&Owners>) -> taintward_core::fact::Owner {
    references.and_then(|references| references.0).unwrap_or_default()
}

fn taint(entry: &TaintEntry<'_>) -> Result<Taint, Fault> {
    Ok(Taint {
        key: Text::or_empty(entry.key.as_ref()).into(),
        value: Text::or_empty(entry.value.as_ref()).into(),
        effect: Effect::new(Text::or_empty(entry.effect.as_ref())),
        time_added: time(entry.time_added.as_ref(), "timeAdded")?,
    })
}

fn toleration(entry: &TolerationEntry<'_>) -> Toleration {
    let effect = Text::or_empty(entry.effect.as_ref());
    Toleration {
        key: Text::or_empty(entry.key.as_ref()).into(),
        operator: Operator::new(Text::or_empty(entry.operator.as_ref())),
        value: Text::or_empty(entry.value.as_ref()).into(),
        effect: Some(effect).filter(|effect| !effect.is_empty()).map(Effect::new),
        seconds: entry.toleration_seconds,
    }
}

fn read_conditions(conditions: &[Condition<'_>]) -> Result<(Option<Wall>, bool), Fault> {
    let (mut scheduled, mut marked) = (None, false);
    for (at, condition) in conditions.iter().enumerate() {
        let kind = Text::or_empty(condition.kind.as_ref());
        let status = Text::or_empty(condition.status.as_ref());
        let reason = Text::or_empty(condition.reason.as_ref());
        let since = time(condition.last_transition_time.as_ref(), "lastTransitionTime")
            .map_err(|fault| fault.index(at).at("status.conditions"))?;
        marked |= meaning::is_mark(kind, status, reason);
        if meaning::is_arrival(kind, status) {
            scheduled = scheduled.or(since);
        }
    }
    Ok((scheduled, marked))
}

/// When `spec.taints` last changed, by the managed fields (D1): a second pass, only for nodes that need it. An entry
/// that can't be read says nothing.
fn taints_changed(bytes: &[u8]) -> Option<Wall> {
    let object: Managed<'_> = read(bytes).ok()?;
    let entries = object.metadata?.0.managed_fields?.0;
    let owning = entries.iter().filter(|entry| {
        Text::or_empty(entry.subresource.as_ref()).is_empty()
            && entry.fields.is_some_and(|fields| owns_taints(fields.get().as_bytes()))
    });
    owning.filter_map(|entry| moment::from_text(entry.time.as_ref()?.as_str()).ok().flatten()).max()
}

/// Whether a `FieldsV1` set has `f:spec.f:taints` in it.
pub(super) fn owns_taints(fields: &[u8]) -> bool {
    read::<shape::FieldSet>(fields)
        .is_ok_and(|set| set.spec.is_some_and(|Object(spec)| spec.taints.is_some()))
}

/// What a bookmark says: the version it stands for, and whether it ends the initial events.
pub(super) fn bookmark(bytes: &[u8]) -> Result<(String, bool), Fault> {
    let Object(meta) = read::<Bookmark<'_>>(bytes)?.metadata.unwrap_or_default();
    let ends = meta.annotations.is_some_and(|annotations| annotations.initial_events_end);
    Ok((Text::or_empty(meta.resource_version.as_ref()).to_owned(), ends))
}

/// What the head of a list says: its version and where it goes on.
pub(super) fn list_meta(bytes: &[u8]) -> Result<(String, String), Fault> {
    let head: Head<'_> = read(bytes)?;
    Ok((
        Text::or_empty(head.resource_version.as_ref()).to_owned(),
        Text::or_empty(head.onward.as_ref()).to_owned(),
    ))
}

/// Splits one line of a watch into the event's type and its object.
pub(super) fn line(bytes: &[u8]) -> Result<(String, &[u8]), Fault> {
    let line: shape::Line<'_> = read(bytes)?;
    Ok((line.kind.as_str().to_owned(), line.object.get().as_bytes()))
}
