//! Decodes pods from protobuf: spec, tolerations, status, conditions.

use super::{ProtobufFields, ProtobufMeta, WireValue, managed, push, time};
use crate::decode::format::{DecodeFrom, PodConditionSummary, PodFields, Protobuf, is_another, owns_mark};
use crate::decode::{DecodeError, Decoded, DecodedPod};
use crate::wire::owner_kind;
use taintward_core::identity::ResourceVersion;
use taintward_core::taint::TaintEffect;
use taintward_core::time::Wall;
use taintward_core::toleration::{Toleration, TolerationOperator};

impl DecodeFrom<Protobuf> for DecodedPod {
    fn decode_from(message: &[u8]) -> Result<Decoded<Self>, DecodeError> {
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
            read.map_err(|error| error.at(name))?;
        }
        let fields = PodFields {
            uid: meta.uid()?,
            namespace: meta.namespace,
            name: meta.name,
            version: ResourceVersion::parse(meta.version),
            generation: meta.generation,
            owner: meta.owner.map(owner_kind).unwrap_or_default(),
            mirror: meta.mirror,
            made_for: meta.made_for,
            held: meta.held,
            hold: meta.hold,
            guard: meta.guard,
            is_annotated: meta.is_annotated,
            not_ready_seconds: meta.not_ready_seconds,
            unreachable_seconds: meta.unreachable_seconds,
            deleting: meta.deleting,
            created: meta.created,
            node: spec.node,
            tolerations: spec.tolerations,
            priority: spec.priority,
            priority_class: spec.priority_class,
            service_account: spec.service_account,
            phase: status.phase,
            started: status.started,
            conditions: status.conditions,
        };
        fields.decoded(|| marked_by_another(message))
    }
}

/// The needed parts of `PodSpec`.
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
                8 => self.service_account = value.text().map_err(|error| error.at("serviceAccountName"))?,
                10 => self.node = value.text().map_err(|error| error.at("nodeName"))?,
                22 => {
                    push(&mut self.tolerations, value, toleration).map_err(|error| error.at("tolerations"))?
                }
                24 => self.priority_class = value.text().map_err(|error| error.at("priorityClassName"))?,
                25 => self.priority = value.integer32().map_err(|error| error.at("priority"))?,
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
            1 => key = value.text().map_err(|error| error.at("key"))?,
            2 => operator = value.text().map_err(|error| error.at("operator"))?,
            3 => text = value.text().map_err(|error| error.at("value"))?,
            4 => effect = value.text().map_err(|error| error.at("effect"))?,
            // A pointer in Go: an explicit zero is a zero, not an absent value.
            5 => seconds = Some(value.integer().map_err(|error| error.at("tolerationSeconds"))?),
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

/// Whether another client has set the condition, by the managed fields (P39).
fn marked_by_another(message: &[u8]) -> bool {
    managed(message).any(|entry| is_another(entry.manager) && owns_mark(entry.fields))
}

#[derive(Default)]
struct PodStatusProtobuf<'a> {
    phase: &'a str,
    started: Option<Wall>,
    conditions: PodConditionSummary,
}

impl<'a> PodStatusProtobuf<'a> {
    fn read(&mut self, message: &'a [u8]) -> Result<(), DecodeError> {
        let mut conditions = 0;
        for field in ProtobufFields::of(message) {
            let (number, value) = field?;
            match number {
                1 => self.phase = value.text().map_err(|error| error.at("phase"))?,
                2 => {
                    self.condition(value).map_err(|error| error.index(conditions).at("conditions"))?;
                    conditions += 1;
                }
                7 => self.started = time(value).map_err(|error| error.at("startTime"))?,
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
                1 => kind = value.text().map_err(|error| error.at("type"))?,
                2 => status = value.text().map_err(|error| error.at("status"))?,
                4 => since = time(value).map_err(|error| error.at("lastTransitionTime"))?,
                5 => reason = value.text().map_err(|error| error.at("reason"))?,
                _ => {}
            }
        }
        self.conditions.put(kind, status, reason, since);
        Ok(())
    }
}
