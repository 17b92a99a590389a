//! # JSON namespaces and members of pools
//! Room:     what admission wants of namespaces, and pools of nodes: all labels, a few annotations, taints.
//! Comes in: the bytes of one object.
//! Goes out: a [`NamespaceJson`] or [`PoolNodeFact`] equal to that of `protobuf/pool_inputs.rs`.
//! Not here: nodes as the engines want them (`json/node.rs`).

use super::node::{condition, each, taint};
use super::wire_types::{LenientObject, NamespaceJson, PoolNodeJson, Text};
use super::{read, uid, version};
use crate::decode::field_semantics::is_ready;
use crate::decode::tolerations::namespace_facts;
use crate::decode::{DecodeError, Decoded, NamespaceObject};
use taintward_core::admission::pool::{PoolNode, RECORD};
use taintward_core::dedicated_pools::PoolNodeFact;

/// Reads a `Namespace`.
pub(in crate::decode) fn namespace(bytes: &[u8]) -> Result<Decoded<NamespaceObject>, DecodeError> {
    let object: NamespaceJson<'_> = read(bytes)?;
    let LenientObject(meta) = object.metadata.unwrap_or_default();
    let (uid, version) = (uid(&meta)?, version(&meta));
    let name = Text::or_empty(meta.name.as_ref()).into();
    let (labels, annotations) = (meta.labels.unwrap_or_default().0, meta.annotations.unwrap_or_default().0);
    Ok(Decoded::Object(NamespaceObject { uid, version, name, facts: namespace_facts(labels, annotations) }))
}

/// Reads a `Node`, for pools.
pub(in crate::decode) fn member(bytes: &[u8]) -> Result<Decoded<PoolNodeFact>, DecodeError> {
    let object: PoolNodeJson<'_> = read(bytes)?;
    let LenientObject(meta) = object.metadata.unwrap_or_default();
    let LenientObject(spec) = object.spec.unwrap_or_default();
    let (uid, version) = (uid(&meta)?, version(&meta));
    let node = PoolNode {
        name: Text::or_empty(meta.name.as_ref()).into(),
        labels: meta.labels.unwrap_or_default().0,
        taints: each(&spec.taints.unwrap_or_default().0, "spec.taints", taint)?,
        record: meta.annotations.unwrap_or_default().0.remove(RECORD),
    };
    let LenientObject(status) = object.status.unwrap_or_default();
    let conditions = each(&status.conditions.unwrap_or_default().0, "status.conditions", condition)?;
    Ok(Decoded::Object(PoolNodeFact { uid, version, node, ready: is_ready(&conditions) }))
}
