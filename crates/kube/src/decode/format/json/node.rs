//! Decodes nodes from JSON: taints, conditions, labels, owners of taints; and the fields that pools need.

use super::{MetaWithMaps, managed, read, time, uid, version};
use crate::api_time::time_from_text;
use crate::decode::format::{DecodeFrom, Json, NodeFields, is_ready, owns_taints};
use crate::decode::{DecodeError, Decoded, DecodedNode, SelectedLabels};
use crate::wire::{
    Essential, Extent, Fields, MetaJson, NodeConditionJson, NodeSpecJson, NodeStatusJson, ObjectJson,
    TaintJson,
};
use taintward_core::admission::pool::{PoolNode, RECORD};
use taintward_core::dedicated_pools::PoolNodeFact;
use taintward_core::identity::NodeName;
use taintward_core::node_lifecycle::{ConditionKind, ConditionStatus, NodeCondition};
use taintward_core::taint::Taint;
use taintward_core::time::Wall;

/// A `Node`, and the labels that are read.
pub(crate) type NodeJson<'a, L, E> =
    ObjectJson<MetaJson<'a, L>, Fields<NodeSpecJson<'a>>, Fields<NodeStatusJson<'a, E>>>;

impl DecodeFrom<Json> for DecodedNode {
    fn decode_from(bytes: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let mut object: NodeJson<'_, Option<SelectedLabels<'_>>, Essential> = read(bytes)?;
        let labels = object.metadata.0.labels.take().unwrap_or_default();
        decoded_node(&object, &labels, bytes).map(Decoded::Object)
    }
}

/// Decodes a mirror; the bytes it was read from are needed for what it leaves out.
pub(crate) fn decoded_node<L, E: Extent>(
    object: &NodeJson<'_, L, E>,
    labels: &SelectedLabels<'_>,
    bytes: &[u8],
) -> Result<DecodedNode, DecodeError> {
    let ObjectJson { metadata: meta, spec, status } = object;
    let fields = NodeFields {
        taints: taints(spec)?,
        conditions: conditions(status)?,
        uid: uid(meta)?,
        name: NodeName::new(&meta.name),
        version: version(meta),
        created: time(meta.creation_timestamp.as_ref(), "metadata.creationTimestamp")?,
        unschedulable: spec.unschedulable.unwrap_or_default(),
        hold: meta.annotations.as_ref().and_then(|annotations| annotations.hold.as_deref()),
        allow: meta.annotations.as_ref().and_then(|annotations| annotations.allow.as_deref()),
        respect: meta.annotations.as_ref().and_then(|annotations| annotations.respect.as_deref()),
    };
    Ok(fields.decoded(labels, || taints_changed(bytes)))
}

impl DecodeFrom<Json> for PoolNodeFact {
    fn decode_from(object: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        type PoolNodeJson<'a> =
            ObjectJson<MetaWithMaps<'a>, Fields<NodeSpecJson<'a>>, Fields<NodeStatusJson<'a>>>;

        let ObjectJson { metadata: meta, spec, status }: PoolNodeJson<'_> = read(object)?;
        let (uid, version) = (uid(&meta)?, version(&meta));
        let node = PoolNode {
            name: (&meta.name).into(),
            labels: meta.labels.labels(),
            taints: taints(&spec)?,
            record: meta.annotations.as_ref().and_then(|all| all.get(RECORD)).map(Box::from),
        };
        Ok(Decoded::Object(Self { uid, version, node, ready: is_ready(&conditions(&status)?) }))
    }
}

fn taints(spec: &NodeSpecJson<'_>) -> Result<Vec<Taint>, DecodeError> {
    let taint = |entry: &TaintJson<'_>| {
        Ok(Taint { time_added: time(entry.time_added.as_ref(), "timeAdded")?, ..Taint::from(entry) })
    };
    each(&spec.taints, "spec.taints", taint)
}

/// The conditions; `None` for those that do not matter.
fn conditions<E: Extent>(status: &NodeStatusJson<'_, E>) -> Result<Vec<Option<NodeCondition>>, DecodeError> {
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
    numbered.map(|(at, entry)| read(entry).map_err(|error| error.index(at).at(path))).collect()
}

/// When `spec.taints` last changed, by the managed fields (D1), whichever taints there are: a second pass, only for
/// nodes that need it. An entry that cannot be read is ignored.
pub(crate) fn taints_changed(bytes: &[u8]) -> Option<Wall> {
    let owning = managed(bytes).into_iter().filter(|entry| {
        entry.subresource.is_empty()
            && entry.fields.is_some_and(|fields| owns_taints(fields.get().as_bytes()))
    });
    owning.filter_map(|entry| time_from_text(entry.time.as_ref()?).ok().flatten()).max()
}
