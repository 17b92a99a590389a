//! Decodes protobuf responses to JSON by the schema's field numbers.

use fakekube::schema::{Schema, Shape, TypeId};
use serde_json::{Map, Value, json};

/// The prefix of every encoded object.
pub(crate) const MAGIC: &[u8] = b"k8s\0";

/// A field on the wire.
enum Raw<'a> {
    Number(u64),
    Fixed(u64),
    Bytes(&'a [u8]),
}

/// An object with its magic and its envelope.
pub(crate) fn object(bytes: &[u8]) -> Value {
    let envelope = bytes.strip_prefix(MAGIC).unwrap_or_else(|| panic!("no magic: {bytes:?}"));
    let (mut version, mut kind, mut raw, mut rest) = (String::new(), String::new(), &[][..], Map::new());
    for (number, value) in fields(envelope) {
        match (number, value) {
            (1, Raw::Bytes(meta)) => {
                for (number, value) in fields(meta) {
                    match (number, value) {
                        (1, Raw::Bytes(text)) => version = utf8(text),
                        (2, Raw::Bytes(text)) => kind = utf8(text),
                        (other, _) => panic!("field {other} in a type's meta"),
                    }
                }
            }
            (2, Raw::Bytes(bytes)) => raw = bytes,
            (3 | 4, Raw::Bytes(text)) => drop(rest.insert(format!("?envelope-{number}"), utf8(text).into())),
            (other, _) => panic!("field {other} in an envelope"),
        }
    }
    let schema = Schema::get();
    let known = schema.kind(&version, &kind).or_else(|| named(schema, &version, &kind));
    let known = known.unwrap_or_else(|| panic!("the schema knows no {version} {kind}"));
    let mut object = message(schema, known, raw);
    object["apiVersion"] = version.into();
    object["kind"] = kind.into();
    object.as_object_mut().unwrap().extend(rest);
    object
}

/// Kinds such as `v1 Status` belong to every version.
fn named(schema: &Schema, version: &str, kind: &str) -> Option<TypeId> {
    let of = |package: &str| schema.named(&format!("{package}.{kind}"));
    of(&format!("core/{version}")).or_else(|| of("meta/v1")).or_else(|| of(version))
}

/// An event of a watch, without the preceding length.
pub(crate) fn event(frame: &[u8]) -> Value {
    let mut event = json!({});
    for (number, value) in fields(frame) {
        match (number, value) {
            (1, Raw::Bytes(text)) => event["type"] = utf8(text).into(),
            (2, Raw::Bytes(extension)) => {
                for (number, value) in fields(extension) {
                    let (1, Raw::Bytes(raw)) = (number, value) else { panic!("no raw object") };
                    event["object"] = object(raw);
                }
            }
            (other, _) => panic!("field {other} in an event"),
        }
    }
    event
}

/// All events of a watch that has ended.
pub(crate) fn events(mut bytes: &[u8]) -> Value {
    let mut all = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (frame, rest) = rest.split_at(usize::try_from(u32::from_be_bytes(*length)).unwrap());
        all.push(event(frame));
        bytes = rest;
    }
    all.into()
}

fn message(schema: &Schema, id: TypeId, bytes: &[u8]) -> Value {
    let mut object = json!({});
    for (number, raw) in fields(bytes) {
        let Some(field) = schema.at(id).fields.iter().find(|field| field.number == number) else {
            object[format!("?{number}")] = hex(&raw).into();
            continue;
        };
        if field.inline {
            let Shape::Object(inner) = field.shape else { panic!("{} is inline and no object", field.name) };
            let inner = message(schema, inner, slice(&raw));
            object.as_object_mut().unwrap().extend(inner.as_object().unwrap().clone());
            continue;
        }
        let place = &mut object[&field.name];
        match &field.shape {
            Shape::List(shape) => {
                let value = read(schema, shape, &raw);
                if let Value::Array(list) = place { list.push(value) } else { *place = json!([value]) }
            }
            Shape::Map(shape) => {
                let (mut key, mut value) = (String::new(), empty(shape));
                for (number, raw) in fields(slice(&raw)) {
                    if number == 1 { key = utf8(slice(&raw)) } else { value = read(schema, shape, &raw) }
                }
                place[key] = value;
            }
            shape => *place = read(schema, shape, &raw),
        }
    }
    object
}

fn empty(shape: &Shape) -> Value {
    if matches!(shape, Shape::String | Shape::Quantity) { "".into() } else { Value::Null }
}

fn read(schema: &Schema, shape: &Shape, raw: &Raw<'_>) -> Value {
    match (shape, raw) {
        (Shape::Bool, Raw::Number(number)) => (*number != 0).into(),
        (Shape::Int32 | Shape::Int64, Raw::Number(number)) => number.cast_signed().into(),
        (Shape::Float64, Raw::Fixed(bits)) => f64::from_bits(*bits).into(),
        (Shape::String, Raw::Bytes(text)) => utf8(text).into(),
        (Shape::Bytes, Raw::Bytes(_)) => hex(raw).into(),
        (Shape::Time | Shape::MicroTime, Raw::Bytes(bytes)) => {
            let mut time = json!({"seconds": 0, "nanos": 0});
            for (number, raw) in fields(bytes) {
                let Raw::Number(value) = raw else { panic!("a time with other fields than numbers") };
                time[if number == 1 { "seconds" } else { "nanos" }] = value.cast_signed().into();
            }
            time
        }
        (Shape::Object(id), Raw::Bytes(bytes)) => message(schema, *id, bytes),
        (Shape::Raw, Raw::Bytes(bytes)) => fields(bytes).next().map_or(Value::Null, |(_, raw)| {
            let inner = slice(&raw);
            if inner.starts_with(MAGIC) { object(inner) } else { json(inner) }
        }),
        (Shape::Fields, Raw::Bytes(bytes)) => {
            fields(bytes).next().map_or(Value::Null, |(_, raw)| json(slice(&raw)))
        }
        (Shape::Quantity, Raw::Bytes(bytes)) => {
            fields(bytes).next().map_or("0".into(), |(_, raw)| utf8(slice(&raw)).into())
        }
        (Shape::IntOrString, Raw::Bytes(bytes)) => {
            let part = |(number, raw): (u32, Raw<'_>)| match raw {
                Raw::Number(value) => json!([number, value]),
                other => json!([number, utf8(slice(&other))]),
            };
            fields(bytes).map(part).collect()
        }
        (shape, _) => panic!("a {shape:?} is written otherwise"),
    }
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|error| panic!("{error}: {bytes:?}"))
}

fn slice<'a>(raw: &Raw<'a>) -> &'a [u8] {
    let Raw::Bytes(bytes) = raw else { panic!("a number where bytes belong") };
    bytes
}

fn utf8(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).unwrap().to_owned()
}

fn hex(raw: &Raw<'_>) -> String {
    match raw {
        Raw::Number(number) | Raw::Fixed(number) => format!("{number:x}"),
        Raw::Bytes(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn fields(mut bytes: &[u8]) -> impl Iterator<Item = (u32, Raw<'_>)> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let tag = varint(&mut bytes);
        let raw = match tag & 7 {
            0 => Raw::Number(varint(&mut bytes)),
            1 => Raw::Fixed(u64::from_le_bytes(split(&mut bytes, 8).try_into().unwrap())),
            2 => {
                let length = usize::try_from(varint(&mut bytes)).unwrap();
                Raw::Bytes(split(&mut bytes, length))
            }
            5 => Raw::Fixed(u32::from_le_bytes(split(&mut bytes, 4).try_into().unwrap()).into()),
            other => panic!("wire type {other}"),
        };
        Some((u32::try_from(tag >> 3).unwrap(), raw))
    })
}

fn split<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (piece, rest) = bytes.split_at_checked(length).expect("a field longer than its message");
    *bytes = rest;
    piece
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..70).step_by(7) {
        let byte = split(bytes, 1)[0];
        if shift < 64 {
            value |= u64::from(byte & 0x7f) << shift;
        }
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("an endless number")
}
