//! Decodes namespaces, and nodes of pools, from protobuf.

use super::node_message::{push, status, taint};
use super::{ProtobufMeta, entry};
use crate::decode::field_semantics::is_ready;
use crate::decode::protobuf_wire::{ProtobufFields, WireValue};
use crate::decode::tolerations::namespace_facts;
use crate::decode::{DecodeError, Decoded, NamespaceObject};
use taintward_core::admission::pool::{PoolNode, RECORD};
use taintward_core::dedicated_pools::PoolNodeFact;
use taintward_core::identity::ResourceVersion;
use taintward_core::scheduling::Labels;
use taintward_core::taint::Taint;

/// The two maps of an `ObjectMeta`, whole.
#[derive(Default)]
struct LabelsAndAnnotations {
    labels: Labels,
    annotations: Labels,
}

impl LabelsAndAnnotations {
    fn read(&mut self, message: &[u8]) -> Result<(), DecodeError> {
        for field in ProtobufFields::of(message) {
            let (map, name, value) = match field? {
                (11, value) => (&mut self.labels, "labels", value),
                (12, value) => (&mut self.annotations, "annotations", value),
                _ => continue,
            };
            let (key, value) = entry(value).map_err(|fault| fault.at(name))?;
            map.insert(key.into(), value.into());
        }
        Ok(())
    }
}

fn metadata<'a>(
    part: WireValue<'a>,
    meta: &mut ProtobufMeta<'a>,
    maps: &mut LabelsAndAnnotations,
) -> Result<(), DecodeError> {
    let part = part.bytes()?;
    meta.read(part, None)?;
    maps.read(part)
}

/// Reads a `Namespace`.
pub(in crate::decode) fn namespace(message: &[u8]) -> Result<Decoded<NamespaceObject>, DecodeError> {
    let (mut meta, mut maps) = (ProtobufMeta::default(), LabelsAndAnnotations::default());
    for field in ProtobufFields::of(message) {
        if let (1, part) = field? {
            metadata(part, &mut meta, &mut maps).map_err(|fault| fault.at("metadata"))?;
        }
    }
    let (uid, version, name) = (meta.uid()?, ResourceVersion::parse(meta.version), meta.name.into());
    let facts = namespace_facts(maps.labels, maps.annotations);
    Ok(Decoded::Object(NamespaceObject { uid, version, name, facts }))
}

/// Reads a `Node`, for pools.
pub(in crate::decode) fn member(message: &[u8]) -> Result<Decoded<PoolNodeFact>, DecodeError> {
    let (mut meta, mut maps) = (ProtobufMeta::default(), LabelsAndAnnotations::default());
    let (mut taints, mut conditions) = (Vec::new(), Vec::new());
    for field in ProtobufFields::of(message) {
        let (number, part) = field?;
        let (name, read) = match number {
            1 => ("metadata", metadata(part, &mut meta, &mut maps)),
            2 => ("spec", part.bytes().and_then(|part| spec(part, &mut taints))),
            3 => ("status", part.bytes().and_then(|part| status(part, &mut conditions))),
            _ => continue,
        };
        read.map_err(|fault| fault.at(name))?;
    }
    let (uid, version) = (meta.uid()?, ResourceVersion::parse(meta.version));
    let record = maps.annotations.remove(RECORD);
    let node = PoolNode { name: meta.name.into(), labels: maps.labels, taints, record };
    Ok(Decoded::Object(PoolNodeFact { uid, version, node, ready: is_ready(&conditions) }))
}

fn spec(message: &[u8], taints: &mut Vec<Taint>) -> Result<(), DecodeError> {
    for field in ProtobufFields::of(message) {
        if let (5, value) = field? {
            push(taints, value, taint).map_err(|fault| fault.at("taints"))?;
        }
    }
    Ok(())
}
