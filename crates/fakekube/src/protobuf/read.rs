//! Decodes protobuf messages to JSON with Go's zero values.

use base64::Engine as _;
use jiff::SignedDuration;
use serde_json::{Map, Value};

use super::{
    BYTES, FIXED32, FIXED64, GROUP, GROUP_END, MAGIC, MAX_DEPTH, MAX_MESSAGES, ProtobufError, VARINT,
    field_numbered, wire_type,
};
use crate::canonicalize::{BASE64, EPOCH, complete, time_value, zero};
use crate::schema::{Shape, TypeId};

/// Decodes an object from its envelope.
pub(super) fn envelope(bytes: &[u8]) -> Result<Value, ProtobufError> {
    ProtobufReader { depth: 0, messages: 0 }.envelope(bytes)
}

/// The state of decoding one body.
struct ProtobufReader {
    depth: u32,
    messages: u32,
}

impl ProtobufReader {
    /// An object in its envelope.
    fn envelope(&mut self, bytes: &[u8]) -> Result<Value, ProtobufError> {
        let mut cursor = WireCursor(bytes.strip_prefix(MAGIC).ok_or(ProtobufError::NoEnvelope)?);
        let (mut api_version, mut kind) = (String::new(), String::new());
        let mut raw: &[u8] = &[];
        while let Some((number, wire)) = cursor.tag()? {
            match (number, wire) {
                (1, BYTES) => {
                    let mut inner = WireCursor(cursor.piece()?);
                    while let Some((number, wire)) = inner.tag()? {
                        match (number, wire) {
                            (1, BYTES) => api_version = text(inner.piece()?),
                            (2, BYTES) => kind = text(inner.piece()?),
                            _ => inner.skip(number, wire)?,
                        }
                    }
                }
                (2, BYTES) => raw = cursor.piece()?,
                (3, BYTES) => match cursor.piece()? {
                    [] => {}
                    encoding => return Err(ProtobufError::Encoded(text(encoding))),
                },
                _ => cursor.skip(number, wire)?,
            }
        }
        let Some(of) = super::type_of(&api_version, &kind) else {
            return Err(ProtobufError::UnknownKind { api_version, kind });
        };
        let mut object = Map::new();
        self.message(of, raw, &mut object)?;
        object.insert("apiVersion".into(), api_version.into());
        object.insert("kind".into(), kind.into());
        Ok(Value::Object(object))
    }

    /// Decodes a message into an object, which may exist already: a repeated message is merged.
    fn message(
        &mut self,
        of: TypeId,
        bytes: &[u8],
        object: &mut Map<String, Value>,
    ) -> Result<(), ProtobufError> {
        self.fields(of, bytes, object)?;
        complete(of, object);
        Ok(())
    }

    fn fields(
        &mut self,
        of: TypeId,
        bytes: &[u8],
        object: &mut Map<String, Value>,
    ) -> Result<(), ProtobufError> {
        self.enter()?;
        let mut cursor = WireCursor(bytes);
        while let Some((number, wire)) = cursor.tag()? {
            let Some(field) = field_numbered(of, number) else {
                cursor.skip(number, wire)?;
                continue;
            };
            let name = &field.name;
            match &field.shape {
                Shape::Object(inner) if field.inline => {
                    self.fields(*inner, piece(&mut cursor, name, wire)?, object)?;
                }
                Shape::List(inner) => {
                    let items = list_in(object, name);
                    self.item(inner, name, wire, &mut cursor, items)?;
                }
                Shape::Map(inner) => {
                    let (key, value) = self.entry(inner, name, piece(&mut cursor, name, wire)?)?;
                    match object.get_mut(name) {
                        Some(Value::Object(entries)) => drop(entries.insert(key, value)),
                        _ => drop(object.insert(name.clone(), Value::Object(Map::from_iter([(key, value)])))),
                    }
                }
                shape => {
                    let begun = object.remove(name);
                    object.insert(name.clone(), self.value(shape, name, wire, &mut cursor, begun)?);
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// One element, or several packed ones.
    fn item(
        &mut self,
        of: &Shape,
        name: &str,
        wire: u8,
        cursor: &mut WireCursor<'_>,
        items: &mut Vec<Value>,
    ) -> Result<(), ProtobufError> {
        let plain = wire_type(of);
        if plain == BYTES || wire != BYTES {
            items.push(self.value(of, name, wire, cursor, None)?);
            return Ok(());
        }
        let mut packed = WireCursor(cursor.piece()?);
        while !packed.0.is_empty() {
            items.push(self.value(of, name, plain, &mut packed, None)?);
        }
        Ok(())
    }

    /// A list that is a message of its own.
    fn list(
        &mut self,
        of: &Shape,
        name: &str,
        bytes: &[u8],
        items: &mut Vec<Value>,
    ) -> Result<(), ProtobufError> {
        self.enter()?;
        let mut cursor = WireCursor(bytes);
        while let Some((number, wire)) = cursor.tag()? {
            match number {
                1 => self.item(of, name, wire, &mut cursor, items)?,
                _ => cursor.skip(number, wire)?,
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn entry(&mut self, of: &Shape, name: &str, bytes: &[u8]) -> Result<(String, Value), ProtobufError> {
        let (mut key, mut value) = (String::new(), None);
        let mut cursor = WireCursor(bytes);
        while let Some((number, wire)) = cursor.tag()? {
            match number {
                1 => key = text(piece(&mut cursor, name, wire)?),
                2 => value = Some(self.value(of, name, wire, &mut cursor, None)?),
                _ => cursor.skip(number, wire)?,
            }
        }
        Ok((key, value.unwrap_or_else(|| if *of == Shape::Bytes { "".into() } else { zero(of) })))
    }

    fn value(
        &mut self,
        shape: &Shape,
        name: &str,
        wire: u8,
        cursor: &mut WireCursor<'_>,
        begun: Option<Value>,
    ) -> Result<Value, ProtobufError> {
        if wire != wire_type(shape) {
            return Err(wrong(name, wire));
        }
        Ok(match shape {
            Shape::Bool => (cursor.varint()? != 0).into(),
            // Go keeps the low bits; negative numbers have ten bytes.
            Shape::Int32 => (cursor.varint()? as u32).cast_signed().into(),
            Shape::Int64 => cursor.varint()?.cast_signed().into(),
            Shape::Float64 => f64::from_bits(cursor.fixed64()?).into(),
            Shape::String => text(cursor.piece()?).into(),
            Shape::Bytes => BASE64.encode(cursor.piece()?).into(),
            Shape::Object(of) => {
                let mut object = match begun {
                    Some(Value::Object(begun)) => begun,
                    _ => Map::new(),
                };
                self.message(*of, cursor.piece()?, &mut object)?;
                Value::Object(object)
            }
            Shape::List(of) => {
                let mut items = Vec::new();
                self.list(of, name, cursor.piece()?, &mut items)?;
                Value::Array(items)
            }
            Shape::Map(_) => {
                cursor.piece()?;
                Value::Null
            }
            _ => self.special(shape, name, cursor.piece()?)?,
        })
    }

    /// Messages that are not objects in JSON.
    fn special(&mut self, shape: &Shape, name: &str, bytes: &[u8]) -> Result<Value, ProtobufError> {
        self.enter()?;
        let (mut numbers, mut content) = ([0_u64; 2], None);
        let mut cursor = WireCursor(bytes);
        while let Some((number, wire)) = cursor.tag()? {
            match (shape, number) {
                (Shape::Quantity | Shape::Raw | Shape::Fields, 1) | (Shape::IntOrString, 3) => {
                    content = Some(piece(&mut cursor, name, wire)?);
                }
                (Shape::Time | Shape::MicroTime | Shape::IntOrString, 1 | 2) => {
                    if wire != VARINT {
                        return Err(wrong(name, wire));
                    }
                    numbers[number as usize - 1] = cursor.varint()?;
                }
                _ => cursor.skip(number, wire)?,
            }
        }
        let value = match shape {
            // An empty message is the zero time; one with explicit zeros is the year 1970.
            Shape::Time | Shape::MicroTime if bytes.is_empty() => Value::Null,
            Shape::Time | Shape::MicroTime => time(numbers, *shape == Shape::MicroTime)?,
            Shape::Quantity => match content.unwrap_or_default() {
                b"" => "0".into(),
                quantity => text(quantity).into(),
            },
            Shape::IntOrString if numbers[0] == 1 => text(content.unwrap_or_default()).into(),
            Shape::IntOrString => (numbers[1] as u32).cast_signed().into(),
            _ => self.raw(content.unwrap_or_default())?,
        };
        self.depth -= 1;
        Ok(value)
    }

    /// An object in an envelope, or JSON.
    fn raw(&mut self, bytes: &[u8]) -> Result<Value, ProtobufError> {
        match bytes {
            b"" => Ok(Value::Null),
            _ if bytes.starts_with(MAGIC) => self.envelope(bytes),
            _ => serde_json::from_slice(bytes).map_err(|error| ProtobufError::BadJson(error.to_string())),
        }
    }

    fn enter(&mut self) -> Result<(), ProtobufError> {
        self.depth += 1;
        self.messages += 1;
        match () {
            () if self.depth > MAX_DEPTH => Err(ProtobufError::TooDeep),
            () if self.messages > MAX_MESSAGES => Err(ProtobufError::TooMany),
            () => Ok(()),
        }
    }
}

fn time([seconds, nanos]: [u64; 2], micro: bool) -> Result<Value, ProtobufError> {
    let seconds = seconds.cast_signed();
    // JSON keeps whole seconds, or whole microseconds.
    let nanos = if micro { i32::try_from(nanos).unwrap_or_default().min(999_999_999) } else { 0 };
    let time = EPOCH
        .checked_add(SignedDuration::new(seconds, nanos))
        .map_err(|_| ProtobufError::BadTime(seconds))?;
    Ok(time_value(time, micro))
}

/// The list of this name, to append to.
fn list_in<'a>(object: &'a mut Map<String, Value>, name: &str) -> &'a mut Vec<Value> {
    if !object.get(name).is_some_and(Value::is_array) {
        object.insert(name.to_owned(), Value::Array(Vec::new()));
    }
    object
        .get_mut(name)
        .and_then(Value::as_array_mut)
        .expect("there is a list of this name: it has just been looked for")
}

fn piece<'a>(cursor: &mut WireCursor<'a>, name: &str, wire: u8) -> Result<&'a [u8], ProtobufError> {
    if wire == BYTES { cursor.piece() } else { Err(wrong(name, wire)) }
}

fn wrong(name: &str, found: u8) -> ProtobufError {
    ProtobufError::WrongWireType { field: name.to_owned(), found }
}

/// Text for JSON; invalid UTF-8 is replaced as in Go.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The bytes that are left to read.
struct WireCursor<'a>(&'a [u8]);

impl<'a> WireCursor<'a> {
    /// The number and the wire type of the next field; `None` at the end.
    fn tag(&mut self) -> Result<Option<(u32, u8)>, ProtobufError> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        match u32::try_from(tag >> 3) {
            Ok(number) if number != 0 => Ok(Some((number, (tag & 7) as u8))),
            _ => Err(ProtobufError::BadTag(tag)),
        }
    }

    fn varint(&mut self) -> Result<u64, ProtobufError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or(ProtobufError::Truncated)?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(ProtobufError::Overflow)
    }

    /// Eight bytes, the lowest first.
    fn fixed64(&mut self) -> Result<u64, ProtobufError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(ProtobufError::Truncated)?;
        self.0 = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    /// A length, and that many bytes.
    fn piece(&mut self) -> Result<&'a [u8], ProtobufError> {
        let length = usize::try_from(self.varint()?).map_err(|_| ProtobufError::Truncated)?;
        let (piece, rest) = self.0.split_at_checked(length).ok_or(ProtobufError::Truncated)?;
        self.0 = rest;
        Ok(piece)
    }

    /// Skips a field of this wire type, including groups.
    fn skip(&mut self, number: u32, wire: u8) -> Result<(), ProtobufError> {
        let mut open = 0;
        let mut wire = wire;
        loop {
            match wire {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.fixed64()?),
                BYTES => drop(self.piece()?),
                FIXED32 => self.0 = self.0.get(4..).ok_or(ProtobufError::Truncated)?,
                GROUP if open == MAX_DEPTH => return Err(ProtobufError::TooDeep),
                GROUP => open += 1,
                GROUP_END if open > 0 => open -= 1,
                _ => return Err(ProtobufError::BadTag(u64::from(number) << 3 | u64::from(wire))),
            }
            if open == 0 {
                return Ok(());
            }
            wire = self.tag()?.ok_or(ProtobufError::Truncated)?.1;
        }
    }
}
