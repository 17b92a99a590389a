//! Decodes nodes from protobuf: labels, taints, conditions, owners of taints.

use super::{ProtobufMeta, managed, time};
use crate::decode::json::owns_taints;
use crate::decode::labels::SelectedLabels;
use crate::decode::protobuf_wire::{ProtobufFields, WireValue};
use crate::decode::{DecodeError, Decoded, DecodedNode};
use crate::wire::LONGEST_LIST;
use taintward_core::identity::{NodeName, ResourceVersion};
use taintward_core::node_lifecycle::{ConditionKind, ConditionStatus, NodeCondition, NodeHealthFact};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::time::Wall;

/// Reads a `Node`.
pub(in crate::decode) fn node(message: &[u8]) -> Result<Decoded<DecodedNode>, DecodeError> {
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
        read.map_err(|fault| fault.at(name))?;
    }
    let health = NodeHealthFact {
        uid: meta.uid()?,
        name: NodeName::new(meta.name),
        version: ResourceVersion::parse(meta.version),
        created: meta.created,
        zone: labels.zone(),
        excluded: labels.excluded(),
        unschedulable: spec.unschedulable,
        taints: spec.taints,
        conditions: conditions.into_iter().flatten().collect(),
        platform: labels.platform(),
    };
    Ok(Decoded::Object(DecodedNode::of(health, || taints_changed(message))))
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
                    self.unschedulable = value.flag().map_err(|fault| fault.at("unschedulable"))?;
                }
                (5, value) => push(&mut self.taints, value, taint).map_err(|fault| fault.at("taints"))?,
                _ => {}
            }
        }
        Ok(())
    }
}

/// Reads one more entry of a list.
pub(super) fn push<T>(
    list: &mut Vec<T>,
    value: WireValue<'_>,
    read: impl Fn(WireValue<'_>) -> Result<T, DecodeError>,
) -> Result<(), DecodeError> {
    if list.len() == LONGEST_LIST {
        return Err(DecodeError::new(format!("more than {LONGEST_LIST} entries")));
    }
    list.push(read(value).map_err(|fault| fault.index(list.len()))?);
    Ok(())
}

pub(super) fn taint(value: WireValue<'_>) -> Result<Taint, DecodeError> {
    let (mut key, mut text, mut effect, mut time_added) = ("", "", "", None);
    for field in ProtobufFields::of(value.bytes()?) {
        let (number, value) = field?;
        match number {
            1 => key = value.text().map_err(|fault| fault.at("key"))?,
            2 => text = value.text().map_err(|fault| fault.at("value"))?,
            3 => effect = value.text().map_err(|fault| fault.at("effect"))?,
            4 => time_added = time(value).map_err(|fault| fault.at("timeAdded"))?,
            _ => {}
        }
    }
    Ok(Taint { key: key.into(), value: text.into(), effect: TaintEffect::new(effect), time_added })
}

pub(super) fn status(message: &[u8], conditions: &mut Vec<Option<NodeCondition>>) -> Result<(), DecodeError> {
    for field in ProtobufFields::of(message) {
        if let (4, value) = field? {
            push(conditions, value, condition).map_err(|fault| fault.at("conditions"))?;
        }
    }
    Ok(())
}

/// One condition; `None` if it is none of those that matter.
fn condition(value: WireValue<'_>) -> Result<Option<NodeCondition>, DecodeError> {
    let (mut kind, mut status, mut beat) = ("", "", None);
    for field in ProtobufFields::of(value.bytes()?) {
        let (number, value) = field?;
        match number {
            1 => kind = value.text().map_err(|fault| fault.at("type"))?,
            2 => status = value.text().map_err(|fault| fault.at("status"))?,
            3 => beat = Some(value),
            _ => {}
        }
    }
    let Some(kind) = ConditionKind::new(kind) else { return Ok(None) };
    let heartbeat = beat.map_or(Ok(None), time).map_err(|fault| fault.at("lastHeartbeatTime"))?;
    Ok(Some(NodeCondition { kind, status: ConditionStatus::new(status), heartbeat }))
}

/// When `spec.taints` last changed, by the managed fields (D1). An entry that can't be read says nothing; it doesn't
/// make the node unreadable.
fn taints_changed(message: &[u8]) -> Option<Wall> {
    let owning = managed(message).filter(|entry| entry.subresource.is_empty() && owns_taints(entry.fields));
    owning.filter_map(|entry| entry.at).max()
}
