//! # JSON namespaces and members of pools
//! Room:     what admission wants of namespaces, and pools of nodes: all labels, a few annotations, taints.
//! Comes in: the bytes of one object.
//! Goes out: a [`SeenNamespace`] or [`SeenMember`] equal to that of `protobuf/surroundings.rs`.
//! Not here: nodes as the engines want them (`json/node.rs`).

use super::node::{condition, each, taint};
use super::shape::{MemberObject, NamespaceObject, Object, Text};
use super::{read, uid, version};
use crate::decode::meaning::is_ready;
use crate::decode::tolerations::namespace_facts;
use crate::decode::{Decoded, Fault, SeenMember, SeenNamespace};
use taintward_core::admission::pool::{PoolNode, RECORD};

/// Reads a `Namespace`.
pub(in crate::decode) fn namespace(bytes: &[u8]) -> Result<Decoded<SeenNamespace>, Fault> {
    let object: NamespaceObject<'_> = read(bytes)?;
    let Object(meta) = object.metadata.unwrap_or_default();
    let (uid, version) = (uid(&meta)?, version(&meta));
    let name = Text::or_empty(meta.name.as_ref()).into();
    let (labels, annotations) = (meta.labels.unwrap_or_default().0, meta.annotations.unwrap_or_default().0);
    Ok(Decoded::Fact(SeenNamespace { uid, version, name, facts: namespace_facts(labels, annotations) }))
}

/// Reads a `Node`, for pools.
pub(in crate::decode) fn member(bytes: &[u8]) -> Result<Decoded<SeenMember>, Fault> {
    let object: MemberObject<'_> = read(bytes)?;
    let Object(meta) = object.metadata.unwrap_or_default();
    let Object(spec) = object.spec.unwrap_or_default();
    let (uid, version) = (uid(&meta)?, version(&meta));
    let node = PoolNode {
        name: Text::or_empty(meta.name.as_ref()).into(),
        labels: meta.labels.unwrap_or_default().0,
        taints: each(&spec.taints.unwrap_or_default().0, "spec.taints", taint)?,
        record: meta.annotations.unwrap_or_default().0.remove(RECORD),
    };
    let Object(status) = object.status.unwrap_or_default();
    let conditions = each(&status.conditions.unwrap_or_default().0, "status.conditions", condition)?;
    Ok(Decoded::Fact(SeenMember { uid, version, node, ready: is_ready(&conditions) }))
}
