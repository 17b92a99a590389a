//! Reads the needed fields of Kubernetes' protobuf without copying, and skips all others.
//!
//! - A field given twice counts as its last value, and messages are merged: protobuf's own rule.
//! - See the files of the folder `protobuf` for single kinds, and `object_format.rs` there for what all have in common.

use crate::api_time::time_from_parts;
use crate::decode::DecodeError;
use crate::wire::{LONGEST_LIST, group};
use taintward_core::cluster_snapshot::OwnerReference;
use taintward_core::scheduling::Labels;
use taintward_core::time::Wall;

mod lease_message;
mod metadata_message;
mod namespace_message;
mod node_message;
mod object_format;
mod pod_message;
mod pod_template_message;
#[cfg(test)]
mod tests;
mod workload_message;

use metadata_message::ProtobufMeta;

/// The four bytes before every Kubernetes protobuf body.
pub(in crate::decode) const MAGIC: [u8; 4] = *b"k8s\0";

/// One field's value by wire type.
#[derive(Clone, Copy, Debug)]
enum WireValue<'a> {
    /// An integer or a bool.
    Varint(u64),
    /// A string, bytes or a message.
    Bytes(&'a [u8]),
    /// Four or eight bytes; no needed field has this type.
    Fixed,
}

impl<'a> WireValue<'a> {
    fn bytes(self) -> Result<&'a [u8], DecodeError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            Self::Varint(_) | Self::Fixed => {
                Err(DecodeError::new("a number where text or a message was expected"))
            }
        }
    }

    fn text(self) -> Result<&'a str, DecodeError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| DecodeError::new("not UTF-8"))
    }

    fn integer(self) -> Result<i64, DecodeError> {
        match self {
            Self::Varint(bits) => Ok(bits.cast_signed()),
            Self::Bytes(_) | Self::Fixed => Err(DecodeError::new("not an integer of variable length")),
        }
    }

    /// A 32-bit integer; higher bits are cut off, as every protobuf reader does.
    fn integer32(self) -> Result<i32, DecodeError> {
        self.integer().map(|wide| wide as i32)
    }

    fn flag(self) -> Result<bool, DecodeError> {
        self.integer().map(|bits| bits != 0)
    }
}

/// The start of a field: its number, and what follows.
#[derive(Clone, Copy, Debug)]
pub(in crate::decode) enum FieldHeader {
    /// The value itself is in the header.
    Varint(u64),
    /// This many bytes follow.
    Length(u64),
    /// This many bytes follow, of no interest.
    Fixed(u64),
}

/// Reads the header of a field: number, header, and its length in bytes. `None` if more bytes are needed.
pub(in crate::decode) fn head(bytes: &[u8]) -> Result<Option<(u32, FieldHeader, usize)>, DecodeError> {
    let Some((tag, tag_len)) = varint(bytes)? else { return Ok(None) };
    let number = u32::try_from(tag >> 3).ok().filter(|&number| number != 0);
    let number = number.ok_or_else(|| DecodeError::new("an impossible field number"))?;
    let rest = &bytes[tag_len..];
    match tag & 7 {
        0 => Ok(varint(rest)?.map(|(value, len)| (number, FieldHeader::Varint(value), tag_len + len))),
        1 => Ok(Some((number, FieldHeader::Fixed(8), tag_len))),
        2 => Ok(varint(rest)?.map(|(value, len)| (number, FieldHeader::Length(value), tag_len + len))),
        5 => Ok(Some((number, FieldHeader::Fixed(4), tag_len))),
        _ => Err(DecodeError::new("an unknown wire type")),
    }
}

/// Reads a varint and returns its length; `None` if it is truncated.
fn varint(bytes: &[u8]) -> Result<Option<(u64, usize)>, DecodeError> {
    let mut value = 0;
    for (at, &byte) in bytes.iter().take(10).enumerate() {
        let bits = u64::from(byte & 0x7f);
        if at == 9 && byte > 1 {
            break;
        }
        value |= bits << (7 * at);
        if byte < 0x80 {
            return Ok(Some((value, at + 1)));
        }
    }
    if bytes.len() < 10 { Ok(None) } else { Err(DecodeError::new("an integer longer than 64 bits")) }
}

/// The fields of one message, in the order of the bytes.
struct ProtobufFields<'a>(&'a [u8]);

impl<'a> ProtobufFields<'a> {
    fn of(message: &'a [u8]) -> Self {
        Self(message)
    }

    fn take(&mut self) -> Result<(u32, WireValue<'a>), DecodeError> {
        let cut_off = || DecodeError::new("cut off");
        let (number, head, len) = head(self.0)?.ok_or_else(cut_off)?;
        let rest = &self.0[len..];
        let (value, used) = match head {
            FieldHeader::Varint(value) => (WireValue::Varint(value), 0),
            FieldHeader::Length(length) | FieldHeader::Fixed(length) => {
                let length = usize::try_from(length).ok().filter(|&length| length <= rest.len());
                let length = length.ok_or_else(cut_off)?;
                match head {
                    FieldHeader::Length(_) => (WireValue::Bytes(&rest[..length]), length),
                    FieldHeader::Fixed(_) | FieldHeader::Varint(_) => (WireValue::Fixed, length),
                }
            }
        };
        self.0 = &rest[used..];
        Ok((number, value))
    }
}

impl<'a> Iterator for ProtobufFields<'a> {
    type Item = Result<(u32, WireValue<'a>), DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.take();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

/// The kind in a `TypeMeta`.
pub(in crate::decode) fn kind(types: &[u8]) -> Result<&str, DecodeError> {
    let mut kind = "";
    for field in ProtobufFields::of(types) {
        if let (2, value) = field? {
            kind = value.text().map_err(|error| error.at("kind"))?;
        }
    }
    Ok(kind)
}

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
            let (key, value) = entry(value).map_err(|error| error.at(name))?;
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

/// One entry of the managed fields.
#[derive(Default)]
struct ManagedFieldsProtobuf<'a> {
    manager: &'a str,
    at: Option<Wall>,
    fields: &'a [u8],
    subresource: &'a str,
}

/// Returns an object's managed fields, in a second pass over it: few objects need it. Entries that cannot be read are
/// left out.
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

/// Returns the controlling owner from an owner reference; `None` if it is not the controlling one.
fn owner(value: WireValue<'_>) -> Result<Option<OwnerReference<'_>>, DecodeError> {
    let (mut kind, mut name, mut version, mut controls) = ("", "", "", false);
    for field in ProtobufFields::of(value.bytes()?) {
        match field? {
            (1, value) => kind = value.text().map_err(|error| error.at("kind"))?,
            (3, value) => name = value.text().map_err(|error| error.at("name"))?,
            (5, value) => version = value.text().map_err(|error| error.at("apiVersion"))?,
            (6, value) => controls = value.flag().map_err(|error| error.at("controller"))?,
            _ => {}
        }
    }
    Ok(controls.then(|| OwnerReference { group: group(version), kind, name }))
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
    Ok(time_from_parts(seconds, nanos)?)
}

/// Field 1 of `FieldsV1` and of `RawExtension`: the bytes as such.
fn raw(value: WireValue<'_>) -> Result<&[u8], DecodeError> {
    let mut raw: &[u8] = &[];
    for field in ProtobufFields::of(value.bytes()?) {
        if let (1, value) = field? {
            raw = value.bytes()?;
        }
    }
    Ok(raw)
}

/// Reads one more entry of a list.
fn push<T>(
    list: &mut Vec<T>,
    value: WireValue<'_>,
    read: impl Fn(WireValue<'_>) -> Result<T, DecodeError>,
) -> Result<(), DecodeError> {
    if list.len() == LONGEST_LIST {
        return Err(DecodeError::new(format!("more than {LONGEST_LIST} entries")));
    }
    list.push(read(value).map_err(|error| error.index(list.len()))?);
    Ok(())
}
