//! Decodes nodes from JSON: labels, taints, conditions, owners of taints.

use super::{managed, owns_taints, read, time, uid, version};
use crate::decode::labels::SelectedLabels;
use crate::decode::{DecodeError, Decoded, DecodedNode, timestamps};
use crate::wire::{
    Essential, Extent, Fields, MetaJson, NodeConditionJson, NodeSpecJson, NodeStatusJson, ObjectJson,
    TaintJson,
};
use taintward_core::identity::NodeName;
use taintward_core::node_lifecycle::{ConditionKind, ConditionStatus, NodeCondition, NodeHealthFact};
use taintward_core::taint::Taint;
use taintward_core::time::Wall;

/// A `Node`, and what is read of its labels.
pub(crate) type NodeJson<'a, L, E> =
    ObjectJson<MetaJson<'a, L>, Fields<NodeSpecJson<'a>>, Fields<NodeStatusJson<'a, E>>>;

/// Reads a `Node`.
pub(in crate::decode) fn node(bytes: &[u8]) -> Result<Decoded<DecodedNode>, DecodeError> {
    let mut object: NodeJson<'_, Option<SelectedLabels<'_>>, Essential> = read(bytes)?;
    let labels = object.metadata.0.labels.take().unwrap_or_default();
    decoded_node(&object, &labels, bytes).map(Decoded::Object)
}

/// What a mirror says; the bytes it was read from are needed for what it leaves out.
pub(crate) fn decoded_node<L, E: Extent>(
    object: &NodeJson<'_, L, E>,
    labels: &SelectedLabels<'_>,
    bytes: &[u8],
) -> Result<DecodedNode, DecodeError> {
    let ObjectJson { metadata: meta, spec, status } = object;
    let health = NodeHealthFact {
        taints: taints(spec)?,
        conditions: conditions(status)?.into_iter().flatten().collect(),
        uid: uid(meta)?,
        name: NodeName::new(&meta.name),
        version: version(meta),
        created: time(meta.creation_timestamp.as_ref(), "metadata.creationTimestamp")?,
        zone: labels.zone(),
        excluded: labels.excluded(),
        unschedulable: spec.unschedulable.unwrap_or_default(),
        platform: labels.platform(),
    };
    Ok(DecodedNode::of(health, || taints_changed(bytes)))
}

pub(super) fn taints(spec: &NodeSpecJson<'_>) -> Result<Vec<Taint>, DecodeError> {
    let taint = |entry: &TaintJson<'_>| {
        Ok(Taint { time_added: time(entry.time_added.as_ref(), "timeAdded")?, ..Taint::from(entry) })
    };
    each(&spec.taints, "spec.taints", taint)
}

/// The conditions; `None` for those that do not matter.
pub(super) fn conditions<E: Extent>(
    status: &NodeStatusJson<'_, E>,
) -> Result<Vec<Option<NodeCondition>>, DecodeError> {
    each(&status.conditions, "status.conditions", |entry: &NodeConditionJson<'_>| {
        let Some(kind) = ConditionKind::new(&entry.kind) else { return Ok(None) };
        let heartbeat = time(entry.last_heartbeat_time.as_ref(), "lastHeartbeatTime")?;
        Ok(Some(NodeCondition { kind, status: ConditionStatus::new(&entry.status), heartbeat }))
    })
}

fn each<E, T>(
    entries: &[E],
    path: &str,
    read: impl Fn(&E) -> Result<T, DecodeError>,
) -> Result<Vec<T>, DecodeError> {
    let numbered = entries.iter().enumerate();
    numbered.map(|(at, entry)| read(entry).map_err(|fault| fault.index(at).at(path))).collect()
}

/// When `spec.taints` last changed, by the managed fields (D1): a second pass, only for nodes that need it. An entry
/// that can't be read says nothing.
pub(in crate::decode) fn taints_changed(bytes: &[u8]) -> Option<Wall> {
    let owning = managed(bytes).into_iter().filter(|entry| {
        entry.subresource.is_empty()
            && entry.fields.is_some_and(|fields| owns_taints(fields.get().as_bytes()))
    });
    owning.filter_map(|entry| timestamps::from_text(entry.time.as_ref()?).ok().flatten()).max()
}
