//! Decodes pods from protobuf: spec, tolerations, status, conditions.

use super::node_message::push;
use super::{ProtobufMeta, managed, time};
use crate::decode::field_semantics;
use crate::decode::json::owns_mark;
use crate::decode::protobuf_wire::{ProtobufFields, WireValue};
use crate::decode::{DecodeError, Decoded, DecodedPod};
use taintward_core::fact::{BindingTimes, PodFact};
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion};
use taintward_core::node_lifecycle;
use taintward_core::taint::TaintEffect;
use taintward_core::time::Wall;
use taintward_core::toleration::{Toleration, TolerationOperator};

/// Reads a `Pod`.
pub(in crate::decode) fn pod(message: &[u8]) -> Result<Decoded<DecodedPod>, DecodeError> {
    let mut meta = ProtobufMeta::default();
    let mut spec = PodSpecProtobuf::default();
    let mut status = PodStatusProtobuf::default();
    for field in ProtobufFields::of(message) {
        let (number, part) = field?;
        let (name, read) = match number {
            1 => ("metadata", part.bytes().and_then(|part| meta.read(part, None))),
            2 => ("spec", part.bytes().and_then(|part| spec.read(part))),
            3 => ("status", part.bytes().and_then(|part| status.read(part))),
            _ => continue,
        };
        read.map_err(|fault| fault.at(name))?;
    }
    let uid = meta.uid()?;
    if meta.namespace.is_empty() {
        return Err(DecodeError::new("missing").at("metadata.namespace"));
    }
    if spec.node.is_empty() {
        return Ok(Decoded::Unbound(meta.identity(None)));
    }
    let pod = PodFact {
        id: PodId::new(uid, PodName::new(meta.namespace, meta.name)),
        node: NodeName::new(spec.node),
        version: ResourceVersion::parse(meta.version),
        generation: field_semantics::generation(meta.generation),
        tolerations: spec.tolerations,
        priority: spec.priority,
        node_critical: spec.priority_class == field_semantics::NODE_CRITICAL,
        owner: meta.owner.unwrap_or_default(),
        standing: field_semantics::standing(meta.deleting, status.phase),
        mirror: meta.mirror,
        marked: status.marked,
        marked_by_another: status.marked && marked_by_another(message),
        arrival: BindingTimes { scheduled: status.scheduled, started: status.started, created: meta.created },
    };
    Ok(Decoded::Object(DecodedPod {
        pod,
        ready: status.ready,
        over: field_semantics::is_over(status.phase),
        service_account: spec.service_account.into(),
        priority_class: spec.priority_class.into(),
        made_for: meta.made_for.into(),
    }))
}

/// `PodSpec`, as far as facts need it.
#[derive(Default)]
struct PodSpecProtobuf<'a> {
    node: &'a str,
    service_account: &'a str,
    tolerations: Vec<Toleration>,
    priority_class: &'a str,
    priority: i32,
}

impl<'a> PodSpecProtobuf<'a> {
    fn read(&mut self, message: &'a [u8]) -> Result<(), DecodeError> {
        for field in ProtobufFields::of(message) {
            let (number, value) = field?;
            match number {
                8 => self.service_account = value.text().map_err(|fault| fault.at("serviceAccountName"))?,
                10 => self.node = value.text().map_err(|fault| fault.at("nodeName"))?,
                22 => {
                    push(&mut self.tolerations, value, toleration).map_err(|fault| fault.at("tolerations"))?
                }
                24 => self.priority_class = value.text().map_err(|fault| fault.at("priorityClassName"))?,
                25 => self.priority = value.integer32().map_err(|fault| fault.at("priority"))?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn toleration(value: WireValue<'_>) -> Result<Toleration, DecodeError> {
    let (mut key, mut operator, mut text, mut effect, mut seconds) = ("", "", "", "", None);
    for field in ProtobufFields::of(value.bytes()?) {
        let (number, value) = field?;
        match number {
            1 => key = value.text().map_err(|fault| fault.at("key"))?,
            2 => operator = value.text().map_err(|fault| fault.at("operator"))?,
            3 => text = value.text().map_err(|fault| fault.at("value"))?,
            4 => effect = value.text().map_err(|fault| fault.at("effect"))?,
            // A pointer in Go: a zero that is written is a zero, not "for ever".
            5 => seconds = Some(value.integer().map_err(|fault| fault.at("tolerationSeconds"))?),
            _ => {}
        }
    }
    Ok(Toleration {
        key: key.into(),
        operator: TolerationOperator::new(operator),
        value: text.into(),
        effect: Some(effect).filter(|effect| !effect.is_empty()).map(TaintEffect::new),
        seconds,
    })
}

/// Whether another than we has put the condition on, by the managed fields (P39).
fn marked_by_another(message: &[u8]) -> bool {
    managed(message).any(|entry| field_semantics::is_another(entry.manager) && owns_mark(entry.fields))
}

#[derive(Default)]
struct PodStatusProtobuf<'a> {
    phase: &'a str,
    scheduled: Option<Wall>,
    started: Option<Wall>,
    marked: bool,
    ready: Option<node_lifecycle::ConditionStatus>,
}

impl<'a> PodStatusProtobuf<'a> {
    fn read(&mut self, message: &'a [u8]) -> Result<(), DecodeError> {
        let mut conditions = 0;
        for field in ProtobufFields::of(message) {
            let (number, value) = field?;
            match number {
                1 => self.phase = value.text().map_err(|fault| fault.at("phase"))?,
                2 => {
                    self.condition(value).map_err(|fault| fault.index(conditions).at("conditions"))?;
                    conditions += 1;
                }
                7 => self.started = time(value).map_err(|fault| fault.at("startTime"))?,
                _ => {}
            }
        }
        Ok(())
    }

    fn condition(&mut self, value: WireValue<'_>) -> Result<(), DecodeError> {
        let (mut kind, mut status, mut reason, mut since) = ("", "", "", None);
        for field in ProtobufFields::of(value.bytes()?) {
            let (number, value) = field?;
            match number {
                1 => kind = value.text().map_err(|fault| fault.at("type"))?,
                2 => status = value.text().map_err(|fault| fault.at("status"))?,
                4 => since = time(value).map_err(|fault| fault.at("lastTransitionTime"))?,
                5 => reason = value.text().map_err(|fault| fault.at("reason"))?,
                _ => {}
            }
        }
        self.marked |= field_semantics::is_mark(kind, status, reason);
        self.ready = field_semantics::ready(self.ready, kind, status);
        if field_semantics::is_arrival(kind, status) {
            self.scheduled = self.scheduled.or(since);
        }
        Ok(())
    }
}
