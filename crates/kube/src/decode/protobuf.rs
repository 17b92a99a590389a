//! Decodes the needed fields of Kubernetes' protobuf and skips all others.
//!
//! - A field given twice counts as its last value, and messages are merged: protobuf's own rule.
//! - See the files of the folder `protobuf` for single kinds.

use super::labels::SelectedLabels;
use super::protobuf_wire::{ProtobufFields, WireValue};
use super::{DecodeError, Decoded, ObjectIdentity, timestamps};
use crate::wire::{INITIAL_EVENTS_END, MIRROR, owner_kind};
use std::borrow::Cow;
use taintward_core::admission::pool::MADE_FOR;
use taintward_core::fact::PodOwnerKind;
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::LeaseFact;
use taintward_core::time::Wall;

mod node_message;
mod pod_message;
mod pool_inputs;

pub(super) use node_message::node;
pub(super) use pod_message::pod;
pub(super) use pool_inputs::{member, namespace};

/// The four bytes before every Kubernetes protobuf body.
pub(super) const MAGIC: [u8; 4] = *b"k8s\0";

/// An object in its envelope (`runtime.Unknown`).
pub(super) struct UnknownEnvelope<'a> {
    pub(super) kind: &'a str,
    pub(super) raw: &'a [u8],
}

/// Opens the envelope of a body.
pub(super) fn envelope(bytes: &[u8]) -> Result<UnknownEnvelope<'_>, DecodeError> {
    let message = bytes.strip_prefix(&MAGIC).ok_or_else(|| DecodeError::new("no Kubernetes protobuf"))?;
    let mut envelope = UnknownEnvelope { kind: "", raw: &[] };
    for field in ProtobufFields::of(message) {
        match field? {
            (1, types) => envelope.kind = kind(types.bytes()?)?,
            (2, raw) => envelope.raw = raw.bytes()?,
            (3, encoding) if !encoding.text()?.is_empty() => {
                return Err(DecodeError::new("an encoded object"));
            }
            _ => {}
        }
    }
    Ok(envelope)
}

/// The kind in a `TypeMeta`.
pub(super) fn kind(types: &[u8]) -> Result<&str, DecodeError> {
    let mut kind = "";
    for field in ProtobufFields::of(types) {
        if let (2, value) = field? {
            kind = value.text().map_err(|fault| fault.at("kind"))?;
        }
    }
    Ok(kind)
}

/// `ObjectMeta`, as far as facts need it.
#[derive(Default)]
struct ProtobufMeta<'a> {
    name: &'a str,
    namespace: &'a str,
    uid: &'a str,
    version: &'a str,
    generation: i64,
    created: Option<Wall>,
    deleting: bool,
    owner: Option<PodOwnerKind>,
    mirror: bool,
    made_for: &'a str,
}

impl<'a> ProtobufMeta<'a> {
    /// Reads it, and the labels if somebody wants them.
    fn read(
        &mut self,
        message: &'a [u8],
        mut labels: Option<&mut SelectedLabels<'a>>,
    ) -> Result<(), DecodeError> {
        let mut owners = 0;
        for field in ProtobufFields::of(message) {
            let (number, value) = field?;
            match number {
                1 => self.name = value.text().map_err(|fault| fault.at("name"))?,
                3 => self.namespace = value.text().map_err(|fault| fault.at("namespace"))?,
                5 => self.uid = value.text().map_err(|fault| fault.at("uid"))?,
                6 => self.version = value.text().map_err(|fault| fault.at("resourceVersion"))?,
                7 => self.generation = value.integer().map_err(|fault| fault.at("generation"))?,
                8 => self.created = time(value).map_err(|fault| fault.at("creationTimestamp"))?,
                9 => {
                    self.deleting =
                        value.bytes().map(|_| true).map_err(|fault| fault.at("deletionTimestamp"))?
                }
                11 => {
                    if let Some(labels) = &mut labels {
                        label(value, labels).map_err(|fault| fault.at("labels"))?;
                    }
                }
                12 => match entry(value).map_err(|fault| fault.at("annotations"))? {
                    (MIRROR, _) => self.mirror = true,
                    (MADE_FOR, value) => self.made_for = value,
                    _ => {}
                },
                13 => {
                    let owner = owner(value).map_err(|fault| fault.index(owners).at("ownerReferences"))?;
                    self.owner = self.owner.or(owner);
                    owners += 1;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What must be there for the object to be somebody.
    fn uid(&self) -> Result<Uid, DecodeError> {
        match (self.name, self.uid) {
            ("", _) => Err(DecodeError::new("missing").at("metadata.name")),
            (_, "") => Err(DecodeError::new("missing").at("metadata.uid")),
            (_, uid) => Ok(Uid::new(uid)),
        }
    }

    fn identity(&self, node: Option<&str>) -> ObjectIdentity {
        ObjectIdentity {
            uid: Some(self.uid).filter(|uid| !uid.is_empty()).map(Uid::new),
            namespace: self.namespace.to_owned(),
            name: self.name.to_owned(),
            node: node.map(NodeName::new),
            version: ResourceVersion::parse(self.version),
        }
    }
}

/// One entry of the managed fields.
#[derive(Default)]
struct ManagedFieldsProtobuf<'a> {
    manager: &'a str,
    at: Option<Wall>,
    fields: &'a [u8],
    subresource: &'a str,
}

/// An object's managed fields, in a second pass over it: few objects need it. What can't be read is left out.
fn managed(message: &[u8]) -> impl Iterator<Item = ManagedFieldsProtobuf<'_>> {
    let parts = ProtobufFields::of(message).map_while(Result::ok).filter(|&(number, _)| number == 1);
    let entries = parts
        .filter_map(|(_, meta)| meta.bytes().ok())
        .flat_map(|meta| ProtobufFields::of(meta).map_while(Result::ok).filter(|&(number, _)| number == 17));
    entries.filter_map(|(_, entry)| ManagedFieldsProtobuf::read(entry).ok())
}

impl<'a> ManagedFieldsProtobuf<'a> {
    fn read(value: WireValue<'a>) -> Result<Self, DecodeError> {
        let mut entry = Self::default();
        for field in ProtobufFields::of(value.bytes()?) {
            match field? {
                (1, value) => entry.manager = value.text()?,
                (4, value) => entry.at = time(value)?,
                (7, value) => entry.fields = raw(value)?,
                (8, value) => entry.subresource = value.text()?,
                _ => {}
            }
        }
        Ok(entry)
    }
}

/// One entry of a map of strings.
fn entry(value: WireValue<'_>) -> Result<(&str, &str), DecodeError> {
    let mut entry = ("", "");
    for field in ProtobufFields::of(value.bytes()?) {
        match field? {
            (1, key) => entry.0 = key.text()?,
            (2, value) => entry.1 = value.text()?,
            _ => {}
        }
    }
    Ok(entry)
}

fn label<'a>(value: WireValue<'a>, labels: &mut SelectedLabels<'a>) -> Result<(), DecodeError> {
    let (key, value) = entry(value)?;
    if let Some(slot) = labels.slot(key) {
        *slot = Some(Cow::Borrowed(value));
    }
    Ok(())
}

/// What one owner reference says about the controlling owner; `None` if it is not the controlling one.
fn owner(value: WireValue<'_>) -> Result<Option<PodOwnerKind>, DecodeError> {
    let (mut kind, mut group, mut controls) = ("", "", false);
    for field in ProtobufFields::of(value.bytes()?) {
        match field? {
            (1, value) => kind = value.text().map_err(|fault| fault.at("kind"))?,
            (5, value) => group = value.text().map_err(|fault| fault.at("apiVersion"))?,
            (6, value) => controls = value.flag().map_err(|fault| fault.at("controller"))?,
            _ => {}
        }
    }
    Ok(controls.then(|| owner_kind(group, kind)))
}

/// A `Time` or `MicroTime` message; an empty one is Go's zero time.
fn time(value: WireValue<'_>) -> Result<Option<Wall>, DecodeError> {
    let message = value.bytes()?;
    if message.is_empty() {
        return Ok(None);
    }
    let (mut seconds, mut nanos) = (0, 0);
    for field in ProtobufFields::of(message) {
        match field? {
            (1, value) => seconds = value.integer()?,
            (2, value) => nanos = value.integer32()?,
            _ => {}
        }
    }
    timestamps::from_parts(seconds, nanos)
}

/// As its namesake for JSON.
pub(super) fn waits_for_nothing(message: &[u8]) -> bool {
    let waits = |meta: &[u8]| {
        let mut fields = ProtobufFields::of(meta);
        fields.any(|field| match field {
            Ok((10, grace)) => grace.integer().is_ok_and(|seconds| seconds != 0),
            Ok((number, _)) => number == 14,
            Err(_) => true,
        })
    };
    let mut parts = ProtobufFields::of(message);
    !parts.any(|part| match part {
        Ok((1, meta)) => meta.bytes().map_or(true, waits),
        Ok(_) => false,
        Err(_) => true,
    })
}

/// Who an object is, from whatever of it can be read.
pub(super) fn identity(message: &[u8]) -> ObjectIdentity {
    let mut meta = ProtobufMeta::default();
    let mut node = None;
    for (number, value) in ProtobufFields::of(message).map_while(Result::ok) {
        let Ok(part) = value.bytes() else { continue };
        match number {
            // A fault in one field must not hide the others; what was read before it stands.
            1 => identity_meta(&mut meta, part),
            2 => {
                let name =
                    ProtobufFields::of(part).map_while(Result::ok).filter(|&(number, _)| number == 10).last();
                node = name.and_then(|(_, value)| value.text().ok()).filter(|name| !name.is_empty());
            }
            _ => {}
        }
    }
    meta.identity(node)
}

fn identity_meta<'a>(meta: &mut ProtobufMeta<'a>, message: &'a [u8]) {
    for (number, value) in ProtobufFields::of(message).map_while(Result::ok) {
        let Ok(text) = value.text() else { continue };
        match number {
            1 => meta.name = text,
            3 => meta.namespace = text,
            5 => meta.uid = text,
            6 => meta.version = text,
            _ => {}
        }
    }
}

/// Reads a node's `Lease`.
pub(super) fn lease(message: &[u8]) -> Result<Decoded<LeaseFact>, DecodeError> {
    let (mut meta, mut renewed) = (ProtobufMeta::default(), None);
    for field in ProtobufFields::of(message) {
        let (number, part) = field?;
        let (name, read) = match number {
            1 => ("metadata", part.bytes().and_then(|part| meta.read(part, None))),
            2 => ("spec", part.bytes().and_then(|part| lease_spec(part, &mut renewed))),
            _ => continue,
        };
        read.map_err(|fault| fault.at(name))?;
    }
    meta.uid()?;
    Ok(Decoded::Object(LeaseFact {
        node: NodeName::new(meta.name),
        version: ResourceVersion::parse(meta.version),
        renewed,
    }))
}

fn lease_spec(message: &[u8], renewed: &mut Option<Wall>) -> Result<(), DecodeError> {
    for field in ProtobufFields::of(message) {
        if let (4, value) = field? {
            *renewed = time(value).map_err(|fault| fault.at("renewTime"))?;
        }
    }
    Ok(())
}

/// Field 1 of `FieldsV1` and of `RawExtension`: the bytes as such.
pub(super) fn raw(value: WireValue<'_>) -> Result<&[u8], DecodeError> {
    let mut raw: &[u8] = &[];
    for field in ProtobufFields::of(value.bytes()?) {
        if let (1, value) = field? {
            raw = value.bytes()?;
        }
    }
    Ok(raw)
}

/// What a bookmark says: the version it stands for, and whether it ends the initial events.
pub(super) fn bookmark(message: &[u8]) -> Result<(String, bool), DecodeError> {
    let (mut version, mut ends) = ("", false);
    for field in ProtobufFields::of(message) {
        let (1, meta) = field? else { continue };
        for field in ProtobufFields::of(meta.bytes()?) {
            match field? {
                (6, value) => version = value.text()?,
                (12, value) => ends |= entry(value)? == (INITIAL_EVENTS_END, "true"),
                _ => {}
            }
        }
    }
    Ok((version.to_owned(), ends))
}

/// What the head of a list says: its version and where it goes on.
pub(super) fn list_meta(message: &[u8]) -> Result<(String, String), DecodeError> {
    let (mut version, mut onward) = ("", "");
    for field in ProtobufFields::of(message) {
        match field? {
            (2, value) => version = value.text()?,
            (3, value) => onward = value.text()?,
            _ => {}
        }
    }
    Ok((version.to_owned(), onward.to_owned()))
}
