//! Decodes nodes from protobuf: labels, taints, conditions, owners of taints; and the fields that pools need.

use super::{LabelsAndAnnotations, ProtobufFields, ProtobufMeta, WireValue, managed, metadata, push, time};
use crate::decode::format::{DecodeFrom, NodeFields, Protobuf, is_ready, owns_taints};
use crate::decode::{DecodeError, Decoded, DecodedNode, SelectedLabels};
use taintward_core::admission::pool::{PoolNode, RECORD};
use taintward_core::dedicated_pools::PoolNodeFact;
use taintward_core::identity::{NodeName, ResourceVersion};
use taintward_core::node_lifecycle::{ConditionKind, ConditionStatus, NodeCondition};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::time::Wall;

impl DecodeFrom<Protobuf> for DecodedNode {
    fn decode_from(message: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let (mut meta, mut labels) = (ProtobufMeta::default(), SelectedLabels::default());
        let (mut spec, mut conditions) = (NodeSpecProtobuf::default(), Vec::new());
        for field in ProtobufFields::of(message) {
            let (number, part) = field?;
            let (name, read) = match number {
                1 => ("metadata", part.bytes().and_then(|part| meta.read(part, Some(&mut labels)))),
                2 => ("spec", part.bytes().and_then(|part| spec.read(part))),
                3 => ("status", part.bytes().and_then(|part| status(part, &mut conditions))),
                _ => continue,
            };
            read.map_err(|error| error.at(name))?;
        }
        let fields = NodeFields {
            uid: meta.uid()?,
            name: NodeName::new(meta.name),
            version: ResourceVersion::parse(meta.version),
            created: meta.created,
            unschedulable: spec.unschedulable,
            taints: spec.taints,
            conditions,
            hold: meta.hold,
            allow: meta.allow,
            respect: meta.respect,
        };
        Ok(Decoded::Object(fields.decoded(&labels, || taints_changed(message))))
    }
}

impl DecodeFrom<Protobuf> for PoolNodeFact {
    fn decode_from(message: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let (mut meta, mut maps) = (ProtobufMeta::default(), LabelsAndAnnotations::default());
        let (mut taints, mut conditions) = (Vec::new(), Vec::new());
        for field in ProtobufFields::of(message) {
            let (number, part) = field?;
            let (name, read) = match number {
                1 => ("metadata", metadata(part, &mut meta, &mut maps)),
                2 => ("spec", part.bytes().and_then(|part| taints_of(part, &mut taints))),
                3 => ("status", part.bytes().and_then(|part| status(part, &mut conditions))),
                _ => continue,
            };
            read.map_err(|error| error.at(name))?;
        }
        let (uid, version) = (meta.uid()?, ResourceVersion::parse(meta.version));
        let record = maps.annotations.remove(RECORD);
        let node = PoolNode { name: meta.name.into(), labels: maps.labels, taints, record };
        Ok(Decoded::Object(Self { uid, version, node, ready: is_ready(&conditions) }))
    }
}

#[derive(Default)]
struct NodeSpecProtobuf {
    taints: Vec<Taint>,
    unschedulable: bool,
}

impl NodeSpecProtobuf {
    fn read(&mut self, message: &[u8]) -> Result<(), DecodeError> {
        for field in ProtobufFields::of(message) {
            match field? {
                (4, value) => {
                    self.unschedulable = value.flag().map_err(|error| error.at("unschedulable"))?;
                }
                (5, value) => push(&mut self.taints, value, taint).map_err(|error| error.at("taints"))?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn taint(value: WireValue<'_>) -> Result<Taint, DecodeError> {
    let (mut key, mut text, mut effect, mut time_added) = ("", "", "", None);
    for field in ProtobufFields::of(value.bytes()?) {
        let (number, value) = field?;
        match number {
            1 => key = value.text().map_err(|error| error.at("key"))?,
            2 => text = value.text().map_err(|error| error.at("value"))?,
            3 => effect = value.text().map_err(|error| error.at("effect"))?,
            4 => time_added = time(value).map_err(|error| error.at("timeAdded"))?,
            _ => {}
        }
    }
    Ok(Taint { key: key.into(), value: text.into(), effect: TaintEffect::new(effect), time_added })
}

fn status(message: &[u8], conditions: &mut Vec<Option<NodeCondition>>) -> Result<(), DecodeError> {
    for field in ProtobufFields::of(message) {
        if let (4, value) = field? {
            push(conditions, value, condition).map_err(|error| error.at("conditions"))?;
        }
    }
    Ok(())
}

/// One condition; `None` if it does not matter.
fn condition(value: WireValue<'_>) -> Result<Option<NodeCondition>, DecodeError> {
    let (mut kind, mut status, mut beat) = ("", "", None);
    for field in ProtobufFields::of(value.bytes()?) {
        let (number, value) = field?;
        match number {
            1 => kind = value.text().map_err(|error| error.at("type"))?,
            2 => status = value.text().map_err(|error| error.at("status"))?,
            3 => beat = Some(value),
            _ => {}
        }
    }
    let Some(kind) = ConditionKind::new(kind) else { return Ok(None) };
    let heartbeat = beat.map_or(Ok(None), time).map_err(|error| error.at("lastHeartbeatTime"))?;
    Ok(Some(NodeCondition { kind, status: ConditionStatus::new(status), heartbeat }))
}

/// When `spec.taints` last changed, by the managed fields (D1). An entry that cannot be read is ignored; the node stays
/// decodable.
fn taints_changed(message: &[u8]) -> Option<Wall> {
    let owning = managed(message).filter(|entry| entry.subresource.is_empty() && owns_taints(entry.fields));
    owning.filter_map(|entry| entry.at).max()
}

/// The taints of a `NodeSpec`.
fn taints_of(message: &[u8], taints: &mut Vec<Taint>) -> Result<(), DecodeError> {
    for field in ProtobufFields::of(message) {
        if let (5, value) = field? {
            push(taints, value, taint).map_err(|error| error.at("taints"))?;
        }
    }
    Ok(())
}
