//! # Walk: through an object along its type
//! Room:     reads JSON as Go's decoder does, and says what does not fit where.
//! Comes in: a value, its type.
//! Goes out: the value as Go would write it again; unknown fields; [`Fault`].
//! Keeps:    the first wrong type is the one that is told, unless a text (a time, a quantity) does not parse.
//! Not here: the parsing of those texts; zero values.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

use base64::Engine as _;
use serde_json::{Map, Number, Value};

use super::words::Named;
use super::yaml::whole_numbers;
use super::zero::{add_unset, written, zero};
use super::{BASE64, Fault, Instant, MAX_COMPLAINTS, duration_text, parse_duration, words};
use crate::schema::{Field, Schema, Shape, TypeId};
use taintward_core::quantity::canonical;

/// The types of kinds: they have an `apiVersion` and a kind, wherever they stand.
static ROOTS: LazyLock<HashSet<TypeId>> =
    LazyLock::new(|| Schema::get().kinds().map(|(_, _, id)| id).collect());

/// Where the walk is, and what it has found.
pub(super) struct Walk {
    schema: &'static Schema,
    unknown: Vec<String>,
    /// As strict validation writes it: `spec.containers[0].name`.
    path: String,
    /// As Go's decoder writes it, without indices and keys.
    fields: Vec<&'static str>,
    /// The type the last of [`Self::fields`] is of.
    holder: Option<TypeId>,
    wrong: Option<Fault>,
}

impl Walk {
    pub(super) fn new(schema: &'static Schema) -> Self {
        Self {
            schema,
            unknown: Vec::new(),
            path: String::new(),
            fields: Vec::new(),
            holder: None,
            wrong: None,
        }
    }

    pub(super) fn root(&mut self, of: TypeId, value: Value) -> Result<Value, Fault> {
        let shape = Shape::Object(of);
        let value = self.value(&shape, None, value)?;
        self.wrong.take().map_or(Ok(value), Err)
    }

    pub(super) fn into_unknown(self) -> Vec<String> {
        self.unknown
    }

    /// A value of a shape for which Go may have a name.
    fn value(&mut self, shape: &Shape, named: Option<Named>, value: Value) -> Result<Value, Fault> {
        match (shape, value) {
            (_, Value::Null) => Ok(zero(shape)),
            (Shape::Object(of), Value::Object(object)) => self.object(*of, object).map(Value::Object),
            (Shape::List(of), Value::Array(items)) => self.list(of, named.map(Named::element), items),
            (Shape::Map(of), Value::Object(entries)) => self.map(of, named.map(Named::element), entries),
            (Shape::Raw | Shape::Fields, any) => Ok(any),
            (Shape::Quantity, value) => self.quantity(value),
            (Shape::Time | Shape::MicroTime | Shape::Duration, Value::String(text)) => parsed(shape, &text),
            (Shape::Time | Shape::MicroTime | Shape::Duration, other) => {
                Err(self.misfit(words::value(&other), &words::plain(shape)))
            }
            (Shape::IntOrString, Value::String(text)) => Ok(text.into()),
            // Its own decoder gives up at once.
            (Shape::IntOrString, value) => match int(&value, &Shape::Int32) {
                Some(number) => Ok(number),
                None => Err(self.misfit(&literal(&value), "int32")),
            },
            (shape, value) => Ok(self.scalar(shape, named, value)),
        }
    }

    fn object(&mut self, of: TypeId, object: Map<String, Value>) -> Result<Map<String, Value>, Fault> {
        let (path, fields, holder) = (self.path.len(), self.fields.len(), self.holder);
        let mut normal = Map::new();
        for (name, value) in object {
            let Some((field, declared_in)) = self.find(of, &name) else {
                if !(ROOTS.contains(&of) && self.type_meta(of, &name, &value, &mut normal)) {
                    self.tell_unknown(&name);
                }
                self.fields.truncate(fields);
                continue;
            };
            self.step(&name);
            self.holder = Some(of);
            let named = Some(Named::field(declared_in, &field.name));
            if !(field.pointer && value.is_null()) {
                let value = self.value(&field.shape, named, value)?;
                written(field, value).map(|value| normal.insert(name, value));
            }
            self.path.truncate(path);
            self.fields.truncate(fields);
            self.holder = holder;
        }
        add_unset(of, &mut normal);
        Ok(normal)
    }

    /// The field of this name, and the type that declares it. [`Self::fields`] gets the way to it.
    fn find(&mut self, of: TypeId, name: &str) -> Option<(&'static Field, TypeId)> {
        let declared = self.schema.at(of);
        if let Some(field) = declared.own(name) {
            self.fields.push(&field.name);
            return Some((field, of));
        }
        for (field, inner) in declared.inlined() {
            self.fields.push(&field.name);
            if let Some(found) = self.find(inner, name) {
                return Some(found);
            }
            self.fields.pop();
        }
        None
    }

    /// `apiVersion` and kind, which every kind has and the schema does not list.
    fn type_meta(&mut self, of: TypeId, name: &str, value: &Value, normal: &mut Map<String, Value>) -> bool {
        let name = match name {
            "apiVersion" => "apiVersion",
            "kind" => "kind",
            _ => return false,
        };
        match value {
            Value::String(text) if text.is_empty() => {}
            Value::String(_) => drop(normal.insert(name.into(), value.clone())),
            Value::Null => {}
            _ => {
                let holder = self.holder.replace(of);
                self.fields.extend(["TypeMeta", name]);
                self.note_misfit(words::value(value), "string");
                self.holder = holder;
            }
        }
        true
    }

    fn list(&mut self, of: &Shape, named: Option<Named>, items: Vec<Value>) -> Result<Value, Fault> {
        let path = self.path.len();
        let mut normal = Vec::with_capacity(items.len());
        for (at, item) in items.into_iter().enumerate() {
            // Writing to a text does not fail.
            let _ = write!(self.path, "[{at}]");
            normal.push(self.value(of, named, item)?);
            self.path.truncate(path);
        }
        Ok(Value::Array(normal))
    }

    fn map(&mut self, of: &Shape, named: Option<Named>, entries: Map<String, Value>) -> Result<Value, Fault> {
        let path = self.path.len();
        let mut normal = Map::new();
        for (key, value) in entries {
            self.step(&key);
            // No bytes are bytes too.
            let value = if value.is_null() && *of == Shape::Bytes { "".into() } else { value };
            let value = self.value(of, named, value)?;
            normal.insert(key, value);
            self.path.truncate(path);
        }
        Ok(Value::Object(normal))
    }

    fn scalar(&mut self, shape: &Shape, named: Option<Named>, value: Value) -> Value {
        let fits = match (shape, &value) {
            (Shape::Bool, Value::Bool(_)) | (Shape::String, Value::String(_)) => return value,
            (
                Shape::Int32 | Shape::Int64 | Shape::Uint32 | Shape::Uint64 | Shape::Float64,
                Value::Number(_),
            ) => int(&value, shape),
            (Shape::Bytes, Value::String(text)) => return self.bytes(text),
            (Shape::Bytes, Value::Array(items)) => return self.numbered_bytes(items),
            _ => {
                self.note_misfit(words::value(&value), &type_name(shape, named));
                return zero(shape);
            }
        };
        fits.unwrap_or_else(|| {
            self.note_misfit(&literal(&value), &type_name(shape, named));
            zero(shape)
        })
    }

    fn bytes(&mut self, text: &str) -> Value {
        match decode_base64(text) {
            Ok(bytes) => BASE64.encode(bytes).into(),
            Err(at) => {
                self.note(Fault(format!("illegal base64 data at input byte {at}")));
                Value::Null
            }
        }
    }

    /// Go takes a list of small numbers for bytes too.
    fn numbered_bytes(&mut self, items: &[Value]) -> Value {
        let byte = |item: &Value| match item {
            Value::Null => 0,
            item => match item.as_u64().and_then(|number| u8::try_from(number).ok()) {
                Some(byte) => byte,
                None => {
                    self.note_misfit(&literal(item), "uint8");
                    0
                }
            },
        };
        BASE64.encode(items.iter().map(byte).collect::<Vec<u8>>()).into()
    }

    fn quantity(&mut self, value: Value) -> Result<Value, Fault> {
        let text = match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        canonical(text.trim()).map(Value::from).map_err(|why| Fault(why.to_string()))
    }

    /// One step along a field or a key.
    fn step(&mut self, name: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }

    fn tell_unknown(&mut self, name: &str) {
        let whole = self.path.len();
        self.step(name);
        let words = format!("unknown field {:?}", self.path);
        self.path.truncate(whole);
        if self.unknown.len() < MAX_COMPLAINTS {
            self.unknown.push(words);
        }
    }

    fn misfit(&self, what: &str, named: &str) -> Fault {
        Fault(match self.holder {
            Some(holder) => format!(
                "json: cannot unmarshal {what} into Go struct field {}.{} of type {named}",
                words::short(holder),
                self.fields.join(".")
            ),
            None => format!("json: cannot unmarshal {what} into Go value of type {named}"),
        })
    }

    /// Go's decoder goes on after a wrong type, and tells of the first one at the end.
    fn note_misfit(&mut self, what: &str, named: &str) {
        let fault = self.misfit(what, named);
        self.note(fault);
    }

    fn note(&mut self, fault: Fault) {
        self.wrong.get_or_insert(fault);
    }
}

/// A text with a grammar of its own.
fn parsed(shape: &Shape, text: &str) -> Result<Value, Fault> {
    if *shape == Shape::Duration {
        return parse_duration(text).map(|nanos| duration_text(nanos).into());
    }
    let micro = *shape == Shape::MicroTime;
    let instant = if micro { Instant::parse_micro(text)? } else { Instant::parse(text)? };
    if instant.is_zero() {
        return Ok(Value::Null);
    }
    instant.text(micro).map(Value::from).ok_or_else(|| Fault(format!("the time {text} is out of range")))
}

/// The bytes, or where Go finds that they are none. It reads over line breaks.
fn decode_base64(text: &str) -> Result<Vec<u8>, usize> {
    let letters: Vec<(usize, u8)> =
        text.bytes().enumerate().filter(|(_, byte)| !matches!(byte, b'\r' | b'\n')).collect();
    let plain: Vec<u8> = letters.iter().map(|(_, byte)| *byte).collect();
    let place = |at: usize| letters.get(at).map_or(text.len(), |(place, _)| *place);
    BASE64.decode(&plain).map_err(|error| match error {
        base64::DecodeError::InvalidByte(at, _) => place(at),
        base64::DecodeError::InvalidLastSymbol { offset, .. } => place(offset),
        // It waits for the rest of the padding; without any, the group that was begun is to blame.
        _ if plain.ends_with(b"=") => text.len(),
        _ => place(plain.len() / 4 * 4),
    })
}

fn type_name(shape: &Shape, named: Option<Named>) -> String {
    named.and_then(Named::name).map_or_else(|| words::plain(shape), str::to_owned)
}

/// The number as Go would write it, if it fits.
fn int(value: &Value, shape: &Shape) -> Option<Value> {
    match shape {
        Shape::Int32 => i32::try_from(value.as_i64()?).ok().map(Value::from),
        Shape::Int64 => value.as_i64().map(Value::from),
        Shape::Uint32 => u32::try_from(value.as_u64()?).ok().map(Value::from),
        Shape::Uint64 => value.as_u64().map(Value::from),
        _ => {
            let mut float = Value::Number(Number::from_f64(value.as_f64()?)?);
            whole_numbers(&mut float);
            Some(float)
        }
    }
}

/// A value as Go names it when it is of the right sort but does not fit.
fn literal(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("number {number}"),
        other => words::value(other).to_owned(),
    }
}
