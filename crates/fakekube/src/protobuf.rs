//! Encodes and decodes Kubernetes' protobuf format for every kind of the schema.
//!
//! - Invariant: no input panics, recurses deeper than [`MAX_DEPTH`] or yields more than [`MAX_MESSAGES`] messages.

mod cursor;
mod plan;
mod read;
mod write;

use std::fmt;

use serde_json::Value;

use crate::schema::{Schema, TypeId};

/// What every object on the wire begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Messages may be nested this deep.
pub const MAX_DEPTH: u32 = 64;

/// Messages in one body: each becomes an object, and the smallest take two bytes on the wire.
pub const MAX_MESSAGES: u32 = 1_000_000;

/// Bytes that are no object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtobufError {
    /// There is no `k8s\0` in front.
    NoEnvelope,
    /// No type has this `apiVersion` and kind.
    UnknownKind {
        /// As the envelope says.
        api_version: String,
        /// As the envelope says.
        kind: String,
    },
    /// The bytes end within a value.
    Truncated,
    /// A number of more than 64 bits.
    Overflow,
    /// A field 0, or the end of a group that did not begin.
    BadTag(u64),
    /// A known field, written as something else.
    WrongWireType {
        /// Its name in JSON.
        field: String,
        /// As found.
        found: u8,
    },
    /// Raw JSON that is none.
    BadJson(String),
    /// A time before year 0 or after year 9999.
    BadTime(i64),
    /// The content is compressed or otherwise encoded.
    Encoded(String),
    /// More nested than [`MAX_DEPTH`].
    TooDeep,
    /// More objects than [`MAX_MESSAGES`].
    TooMany,
}

impl fmt::Display for ProtobufError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEnvelope => {
                write!(f, "provided data does not appear to be a protobuf message, expected prefix k8s")
            }
            Self::UnknownKind { api_version, kind } => {
                write!(f, "no kind {kind:?} is registered for version {api_version:?}")
            }
            Self::Truncated => write!(f, "unexpected EOF"),
            Self::Overflow => write!(f, "proto: integer overflow"),
            Self::BadTag(tag) => write!(f, "proto: illegal tag {} (wire type {})", tag >> 3, tag & 7),
            Self::WrongWireType { field, found } => {
                write!(f, "proto: wrong wireType = {found} for field {field}")
            }
            Self::BadJson(why) => write!(f, "raw extension: {why}"),
            Self::BadTime(seconds) => write!(f, "the time {seconds} is out of range"),
            Self::Encoded(how) => write!(f, "unknown content encoding {how:?}"),
            Self::TooDeep => write!(f, "nested deeper than {MAX_DEPTH} messages"),
            Self::TooMany => write!(f, "more than {MAX_MESSAGES} messages"),
        }
    }
}

impl std::error::Error for ProtobufError {}

/// An object in its envelope.
///
/// What the schema does not know is left out, and a value of the wrong type counts as not set: pass objects that went
/// through `canonicalize`. A kind the schema does not know comes out as an envelope with nothing in it.
pub fn encode(api_version: &str, kind: &str, object: &Value) -> Vec<u8> {
    let mut out = write::ReverseWriter::default();
    write::envelope(&mut out, api_version, kind, type_of(api_version, kind), object);
    out.prefix(MAGIC);
    out.finish()
}

/// The object in an envelope, with its `apiVersion` and `kind`.
pub fn decode(bytes: &[u8]) -> Result<Value, ProtobufError> {
    read::ProtobufReader::new().envelope(bytes)
}

/// A frame of a watch: a big-endian length, then the event. `object` is in its envelope already.
pub fn encode_watch_event(event: &str, object: &[u8]) -> Vec<u8> {
    let mut out = write::ReverseWriter::default();
    write::watch_event(&mut out, event, object);
    let length =
        u32::try_from(out.len()).expect("a watch event is an object, and objects are limited to megabytes");
    out.prefix(&length.to_be_bytes());
    out.finish()
}

/// The type of a kind. Those of `meta/v1` (`Status`, `DeleteOptions`) belong to every group.
fn type_of(api_version: &str, kind: &str) -> Option<TypeId> {
    let schema = Schema::get();
    schema.kind(api_version, kind).or_else(|| schema.kind("meta.k8s.io/v1", kind))
}

#[cfg(test)]
mod tests;
