//! # JSON nodes
//! Room:     labels, taints, conditions, and who owns the taints.
//! Comes in: the bytes of one node.
//! Goes out: a [`DecodedNode`] equal to that of `protobuf/node.rs`.
//! Not here: the shapes serde reads into (`wire_types.rs`).

use super::wire_types::{LenientObject, NodeConditionJson, NodeJson, TaintJson, Text};
use super::{managed, owns_taints, read, time, uid, version};
use crate::decode::{DecodeError, Decoded, DecodedNode, field_semantics, timestamps};
use taintward_core::fact::NodeFact;
use taintward_core::identity::NodeName;
use taintward_core::node_lifecycle::{self, ConditionKind, ConditionStatus, NodeCondition};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::time::Wall;

/// Reads a `Node`.
pub(in crate::decode) fn node(bytes: &[u8]) -> Result<Decoded<DecodedNode>, DecodeError> {
    let object: NodeJson<'_> = read(bytes)?;
    let LenientObject(meta) = object.metadata.unwrap_or_default();
    let LenientObject(spec) = object.spec.unwrap_or_default();
    let LenientObject(status) = object.status.unwrap_or_default();
    let taints = each(&spec.taints.unwrap_or_default().0, "spec.taints", taint)?;
    let conditions = each(&status.conditions.unwrap_or_default().0, "status.conditions", condition)?;
    let (uid, version) = (uid(&meta)?, version(&meta));
    let created = time(meta.creation_timestamp.as_ref(), "metadata.creationTimestamp")?;
    let taints_changed = if field_semantics::needs_ownership(&taints) { taints_changed(bytes) } else { None };
    let name = NodeName::new(Text::or_empty(meta.name.as_ref()));
    let labels = meta.labels.unwrap_or_default();
    Ok(Decoded::Object(DecodedNode {
        health: node_lifecycle::NodeHealthFact {
            name: name.clone(),
            uid: uid.clone(),
            version,
            created,
            zone: labels.zone(),
            excluded: labels.excluded(),
            unschedulable: spec.unschedulable.unwrap_or_default(),
            taints: taints.clone(),
            conditions: conditions.into_iter().flatten().collect(),
            platform: labels.platform(),
        },
        taints: NodeFact { name, uid, version, created, taints, taints_changed },
    }))
}

pub(super) fn each<E, T>(
    entries: &[E],
    path: &str,
    read: impl Fn(&E) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let numbered = entries.iter().enumerate();
    numbered.map(|(at, entry)| read(entry).map_err(|fault| fault.index(at).at(path))).collect()
}

pub(super) fn taint(entry: &TaintJson<'_>) -> Result<Taint, DecodeError> {
    Ok(Taint {
        key: Text::or_empty(entry.key.as_ref()).into(),
        value: Text::or_empty(entry.value.as_ref()).into(),
        effect: TaintEffect::new(Text::or_empty(entry.effect.as_ref())),
        time_added: time(entry.time_added.as_ref(), "timeAdded")?,
    })
}

/// One condition; `None` if it is none of those that matter.
pub(super) fn condition(entry: &NodeConditionJson<'_>) -> Result<Option<NodeCondition>, DecodeError> {
    let Some(kind) = ConditionKind::new(Text::or_empty(entry.kind.as_ref())) else { return Ok(None) };
    let heartbeat = time(entry.last_heartbeat_time.as_ref(), "lastHeartbeatTime")?;
    Ok(Some(NodeCondition {
        kind,
        status: ConditionStatus::new(Text::or_empty(entry.status.as_ref())),
        heartbeat,
    }))
}

/// When `spec.taints` last changed, by the managed fields (D1): a second pass, only for nodes that need it. An entry
/// that can't be read says nothing.
pub(in crate::decode) fn taints_changed(bytes: &[u8]) -> Option<Wall> {
    let entries = managed(bytes)?;
    let owning = entries.iter().filter(|entry| {
        Text::or_empty(entry.subresource.as_ref()).is_empty()
            && entry.fields.is_some_and(|fields| owns_taints(fields.get().as_bytes()))
    });
    owning.filter_map(|entry| timestamps::from_text(entry.time.as_ref()?.as_str()).ok().flatten()).max()
}
