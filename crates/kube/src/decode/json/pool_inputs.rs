//! Decodes namespaces, and nodes of pools, from JSON.

use super::node::{conditions, taints};
use super::{read, uid, version};
use crate::decode::field_semantics::is_ready;
use crate::decode::tolerations::namespace_facts;
use crate::decode::{DecodeError, Decoded, NamespaceObject};
use crate::wire::{Fields, MetaJson, NodeSpecJson, NodeStatusJson, ObjectJson, TextMap};
use taintward_core::admission::pool::{PoolNode, RECORD};
use taintward_core::dedicated_pools::PoolNodeFact;

/// `ObjectMeta` with both its maps.
type MetaWithMaps<'a> = MetaJson<'a, TextMap<'a>, TextMap<'a>>;

/// Reads a `Namespace`.
pub(in crate::decode) fn namespace(bytes: &[u8]) -> Result<Decoded<NamespaceObject>, DecodeError> {
    let Fields(meta) = read::<ObjectJson<MetaWithMaps<'_>>>(bytes)?.metadata;
    let facts = namespace_facts(
        meta.labels.labels(),
        meta.annotations.as_ref().map(TextMap::labels).unwrap_or_default(),
    );
    let (uid, version, name) = (uid(&meta)?, version(&meta), (&meta.name).into());
    Ok(Decoded::Object(NamespaceObject { uid, version, name, facts }))
}

/// Reads a `Node`, for pools.
pub(in crate::decode) fn member(bytes: &[u8]) -> Result<Decoded<PoolNodeFact>, DecodeError> {
    type PoolNodeJson<'a> =
        ObjectJson<MetaWithMaps<'a>, Fields<NodeSpecJson<'a>>, Fields<NodeStatusJson<'a>>>;

    let ObjectJson { metadata: meta, spec, status }: PoolNodeJson<'_> = read(bytes)?;
    let (uid, version) = (uid(&meta)?, version(&meta));
    let node = PoolNode {
        name: (&meta.name).into(),
        labels: meta.labels.labels(),
        taints: taints(&spec)?,
        record: meta.annotations.as_ref().and_then(|all| all.get(RECORD)).map(Box::from),
    };
    Ok(Decoded::Object(PoolNodeFact { uid, version, node, ready: is_ready(&conditions(&status)?) }))
}
