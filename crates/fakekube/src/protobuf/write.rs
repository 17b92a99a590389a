//! Encodes JSON to protobuf from end to beginning, byte for byte as upstream's generated code.

use base64::Engine as _;
use serde_json::{Map, Value};

use super::plan::{self, BYTES, FIXED64, VARINT};
use crate::canonicalize::{BASE64, EPOCH, NEVER, parse_time};
use crate::schema::{SchemaField, Shape, TypeId};

/// Bytes in the opposite order.
#[derive(Default)]
pub(super) struct ReverseWriter(Vec<u8>);

impl ReverseWriter {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Puts bytes before all there are.
    pub(super) fn prefix(&mut self, bytes: &[u8]) {
        self.0.extend(bytes.iter().rev());
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
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

    /// A field that is a message: what `inner` writes.
    fn message(&mut self, number: u32, inner: impl FnOnce(&mut Self)) {
        let before = self.0.len();
        inner(self);
        self.varint((self.0.len() - before) as u64);
        self.tag(number, BYTES);
    }
}

/// `runtime.Unknown` around an object.
pub(super) fn envelope(
    out: &mut ReverseWriter,
    api_version: &str,
    kind: &str,
    of: Option<TypeId>,
    object: &Value,
) {
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
pub(super) fn watch_event(out: &mut ReverseWriter, event: &str, object: &[u8]) {
    out.message(2, |out| out.bytes(1, object));
    out.bytes(1, event.as_bytes());
}

fn fields(out: &mut ReverseWriter, of: TypeId, object: Option<&Map<String, Value>>) {
    for one in plan::of(of).iter().rev() {
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
        // Nothing is written for what is nil in Go; everything else is written, zero or not.
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
