//! Encodes and decodes Kubernetes' protobuf format for every kind of the schema.
//!
//! - Invariant: no input panics, recurses deeper than [`MAX_DEPTH`] or yields more than [`MAX_MESSAGES`] messages.

mod read;

use crate::canonicalize::{BASE64, EPOCH, NEVER, parse_time};
use crate::schema::{Schema, SchemaField, Shape, TypeId};
use base64::Engine as _;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The prefix of every encoded object.
const MAGIC: &[u8] = b"k8s\0";

/// Messages may be nested this deep.
pub const MAX_DEPTH: u32 = 64;

/// Messages in one body: each becomes an object, and the smallest take two bytes on the wire.
pub const MAX_MESSAGES: u32 = 1_000_000;

/// Why bytes cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProtobufError {
    /// The prefix `k8s\0` is missing.
    #[error("provided data does not appear to be a protobuf message, expected prefix k8s")]
    NoEnvelope,
    /// No type has this `apiVersion` and kind.
    #[error("no kind {kind:?} is registered for version {api_version:?}")]
    UnknownKind {
        /// From the envelope.
        api_version: String,
        /// From the envelope.
        kind: String,
    },
    /// The bytes end within a value.
    #[error("unexpected EOF")]
    Truncated,
    /// A number of more than 64 bits.
    #[error("proto: integer overflow")]
    Overflow,
    /// A field 0, or the end of a group that did not begin.
    #[error("proto: illegal tag {} (wire type {})", .0 >> 3, .0 & 7)]
    BadTag(u64),
    /// A known field with another wire type.
    #[error("proto: wrong wireType = {found} for field {field}")]
    WrongWireType {
        /// The field's name in JSON.
        field: String,
        /// The wire type found.
        found: u8,
    },
    /// An invalid raw JSON value.
    #[error("raw extension: {0}")]
    BadJson(String),
    /// A time before year 0 or after year 9999.
    #[error("the time {0} is out of range")]
    BadTime(i64),
    /// The content is compressed or otherwise encoded.
    #[error("unknown content encoding {0:?}")]
    Encoded(String),
    /// More nested than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} messages")]
    TooDeep,
    /// More objects than [`MAX_MESSAGES`].
    #[error("more than {MAX_MESSAGES} messages")]
    TooMany,
}

/// Encodes an object in its envelope.
///
/// Fields that the schema does not know are left out, and a value of the wrong type counts as not set: pass objects
/// that went through `canonicalize`. An object of an unknown kind becomes an empty envelope.
pub fn encode(api_version: &str, kind: &str, object: &Value) -> Vec<u8> {
    let mut out = ReverseWriter::default();
    envelope(&mut out, api_version, kind, type_of(api_version, kind), object);
    out.prefix(MAGIC);
    out.finish()
}

/// Decodes an object from its envelope, with its `apiVersion` and `kind`.
pub fn decode(bytes: &[u8]) -> Result<Value, ProtobufError> {
    read::envelope(bytes)
}

/// A frame of a watch: a big-endian length, then the event. `object` is in its envelope already.
pub fn encode_watch_event(event: &str, object: &[u8]) -> Vec<u8> {
    let mut out = ReverseWriter::default();
    watch_event(&mut out, event, object);
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

static PLAN: LazyLock<HashMap<TypeId, Vec<&'static SchemaField>>> = LazyLock::new(|| {
    let schema = Schema::get();
    schema.types().map(|id| (id, fields_of(schema, id))).collect()
});

fn fields_of(schema: &'static Schema, id: TypeId) -> Vec<&'static SchemaField> {
    let mut fields: Vec<_> = schema.at(id).fields.iter().filter(|field| field.number != 0).collect();
    fields.sort_by_key(|field| field.number);
    fields
}

/// The fields of a type, by number.
fn numbered_fields(id: TypeId) -> &'static [&'static SchemaField] {
    PLAN.get(&id).map_or(&[], Vec::as_slice)
}

/// The field of this number.
fn field_numbered(id: TypeId, number: u32) -> Option<&'static SchemaField> {
    let fields = numbered_fields(id);
    fields.binary_search_by_key(&number, |field| field.number).ok().map(|at| fields[at])
}

/// The wire type of a value of this shape.
fn wire_type(shape: &Shape) -> u8 {
    match shape {
        Shape::Bool | Shape::Int32 | Shape::Int64 => VARINT,
        Shape::Float64 => FIXED64,
        _ => BYTES,
    }
}

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const BYTES: u8 = 2;
const GROUP: u8 = 3;
const GROUP_END: u8 = 4;
const FIXED32: u8 = 5;

/// A buffer that is filled from its end.
#[derive(Default)]
struct ReverseWriter(Vec<u8>);

impl ReverseWriter {
    fn len(&self) -> usize {
        self.0.len()
    }

    /// Prepends bytes.
    fn prefix(&mut self, bytes: &[u8]) {
        self.0.extend(bytes.iter().rev());
    }

    fn finish(mut self) -> Vec<u8> {
        self.0.reverse();
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        let mut bytes = [0; 10];
        let mut length = 0;
        while value >= 0x80 {
            bytes[length] = (value & 0x7f) as u8 | 0x80;
            value >>= 7;
            length += 1;
        }
        bytes[length] = value as u8;
        self.prefix(&bytes[..=length]);
    }

    fn tag(&mut self, number: u32, wire: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire));
    }

    fn number(&mut self, number: u32, value: u64) {
        self.varint(value);
        self.tag(number, VARINT);
    }

    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.prefix(bytes);
        self.varint(bytes.len() as u64);
        self.tag(number, BYTES);
    }

    /// Writes a message field, whose content `inner` writes.
    fn message(&mut self, number: u32, inner: impl FnOnce(&mut Self)) {
        let before = self.0.len();
        inner(self);
        self.varint((self.0.len() - before) as u64);
        self.tag(number, BYTES);
    }
}

/// `runtime.Unknown` around an object.
fn envelope(out: &mut ReverseWriter, api_version: &str, kind: &str, of: Option<TypeId>, object: &Value) {
    out.bytes(4, b"");
    out.bytes(3, b"");
    out.message(2, |out| {
        if let (Some(of), Value::Object(object)) = (of, object) {
            fields(out, of, Some(object));
        }
    });
    out.message(1, |out| {
        out.bytes(2, kind.as_bytes());
        out.bytes(1, api_version.as_bytes());
    });
}

/// `WatchEvent` around an object in its envelope.
fn watch_event(out: &mut ReverseWriter, event: &str, object: &[u8]) {
    out.message(2, |out| out.bytes(1, object));
    out.bytes(1, event.as_bytes());
}

fn fields(out: &mut ReverseWriter, of: TypeId, object: Option<&Map<String, Value>>) {
    for one in numbered_fields(of).iter().rev() {
        match &one.shape {
            Shape::Object(inner) if one.inline => {
                out.message(one.number, |out| fields(out, *inner, object));
            }
            _ => {
                let value = object.and_then(|object| object.get(&one.name)).filter(|value| !value.is_null());
                field(out, one, value);
            }
        }
    }
}

fn field(out: &mut ReverseWriter, field: &SchemaField, value: Option<&Value>) {
    let SchemaField { number, shape, pointer, .. } = field;
    match (shape, value) {
        (Shape::List(of), Some(Value::Array(items))) => list(out, *number, of, items),
        (Shape::Map(of), Some(Value::Object(entries))) => {
            for (key, value) in entries.iter().rev() {
                out.message(*number, |out| {
                    element(out, 2, of, Some(value));
                    out.bytes(1, key.as_bytes());
                });
            }
        }
        // What is nil in Go is not written; everything else is, zero or not.
        (Shape::List(_) | Shape::Map(_), _) | (Shape::Bytes, None) => {}
        (_, None) if *pointer => {}
        _ => element(out, *number, shape, value),
    }
}

fn list(out: &mut ReverseWriter, number: u32, of: &Shape, items: &[Value]) {
    for item in items.iter().rev() {
        element(out, number, of, Some(item));
    }
}

/// One value: a field's, a list's or a map's.
fn element(out: &mut ReverseWriter, number: u32, shape: &Shape, value: Option<&Value>) {
    match shape {
        Shape::Bool => out.number(number, u64::from(value.and_then(Value::as_bool).unwrap_or_default())),
        Shape::Int32 | Shape::Int64 => {
            out.number(number, value.and_then(Value::as_i64).unwrap_or_default().cast_unsigned());
        }
        Shape::Float64 => {
            out.prefix(&value.and_then(Value::as_f64).unwrap_or_default().to_le_bytes());
            out.tag(number, FIXED64);
        }
        Shape::String => out.bytes(number, text(value).as_bytes()),
        Shape::Bytes => out.bytes(number, &BASE64.decode(text(value)).unwrap_or_default()),
        Shape::Time => out.message(number, |out| time(out, text(value), false)),
        Shape::MicroTime => out.message(number, |out| time(out, text(value), true)),
        Shape::Quantity => out.message(number, |out| match value {
            Some(Value::Number(plain)) => out.bytes(1, plain.to_string().as_bytes()),
            Some(Value::String(text)) => out.bytes(1, text.as_bytes()),
            _ => out.bytes(1, b"0"),
        }),
        Shape::IntOrString => out.message(number, |out| {
            let number = value.and_then(Value::as_i64).unwrap_or_default();
            out.bytes(3, text(value).as_bytes());
            out.number(2, number.cast_unsigned());
            out.number(1, u64::from(value.is_some_and(Value::is_string)));
        }),
        Shape::Raw | Shape::Fields => out.message(number, |out| {
            if let Some(value) = value.filter(|value| !value.is_null()) {
                out.bytes(1, value.to_string().as_bytes());
            }
        }),
        Shape::Object(of) => out.message(number, |out| fields(out, *of, value.and_then(Value::as_object))),
        // A list within a map or a list has a type of its own in Go, and is a message.
        Shape::List(of) => out.message(number, |out| {
            list(out, 1, of, value.and_then(Value::as_array).map_or(&[], Vec::as_slice));
        }),
        // The schema has no maps within lists or maps.
        Shape::Map(_) => {}
    }
}

fn text(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// Seconds and nanoseconds; nothing at all for the zero time.
fn time(out: &mut ReverseWriter, text: &str, micro: bool) {
    let Some(time) = parse_time(text, micro).ok().filter(|time| *time != NEVER) else { return };
    let nanos = if micro { time.subsec_nanosecond().unsigned_abs().into() } else { 0 };
    out.number(2, nanos);
    let whole = time.with().subsec_nanosecond(0).build().unwrap_or(time);
    out.number(1, whole.duration_since(EPOCH).as_secs().cast_unsigned());
}

#[cfg(test)]
mod tests;
