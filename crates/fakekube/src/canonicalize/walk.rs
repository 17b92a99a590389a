//! Walks an object along its type, and reports unknown fields and wrong types.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

use base64::Engine as _;
use serde_json::{Map, Number, Value};

use super::time::{parse_time, time_value};
use super::yaml::whole_numbers;
use super::zero::{add_unset, written, zero};
use super::{BASE64, CanonicalizeError, MAX_COMPLAINTS};
use crate::quantity::canonical;
use crate::schema::{Schema, Shape, TypeId};

/// The types of kinds: they have an `apiVersion` and a kind, wherever they stand.
static ROOTS: LazyLock<HashSet<TypeId>> =
    LazyLock::new(|| Schema::get().kinds().map(|(_, _, id)| id).collect());

/// Where the walk is, and what it has found.
#[derive(Default)]
pub(super) struct FieldWalk {
    pub(super) unknown: Vec<String>,
    /// As strict validation writes it: `spec.containers[0].name`.
    path: String,
}

impl FieldWalk {
    /// A value of a shape.
    pub(super) fn value(&mut self, shape: &Shape, value: Value) -> Result<Value, CanonicalizeError> {
        match (shape, value) {
            (_, Value::Null) => Ok(zero(shape)),
            (Shape::Object(of), Value::Object(object)) => self.object(*of, object).map(Value::Object),
            (Shape::List(of), Value::Array(items)) => self.list(of, items),
            (Shape::Map(of), Value::Object(entries)) => self.map(of, entries),
            (Shape::Raw | Shape::Fields, any)
            | (Shape::Bool, any @ Value::Bool(_))
            | (Shape::String | Shape::IntOrString, any @ Value::String(_)) => Ok(any),
            (Shape::Quantity, Value::String(text)) => self.quantity(&text),
            (Shape::Quantity, other) => self.quantity(&other.to_string()),
            (Shape::Time, Value::String(text)) => self.time(&text, false),
            (Shape::MicroTime, Value::String(text)) => self.time(&text, true),
            (Shape::Bytes, Value::String(text)) => {
                // Line breaks are read over.
                let plain: String = text.chars().filter(|char| !matches!(char, '\r' | '\n')).collect();
                let bytes = BASE64.decode(plain).map_err(|why| self.fault(&format!("no base64: {why}")))?;
                Ok(BASE64.encode(bytes).into())
            }
            (shape, Value::Number(number)) => {
                fitting(shape, &number).ok_or_else(|| self.misfit(shape, &number.into()))
            }
            (shape, other) => Err(self.misfit(shape, &other)),
        }
    }

    fn object(
        &mut self,
        of: TypeId,
        object: Map<String, Value>,
    ) -> Result<Map<String, Value>, CanonicalizeError> {
        let path = self.path.len();
        let mut normal = Map::new();
        for (name, value) in object {
            self.step(&name);
            match Schema::get().field(of, &name) {
                Some(field) if field.pointer && value.is_null() => {}
                Some(field) => {
                    let value = self.value(&field.shape, value)?;
                    written(field, value).map(|value| normal.insert(name, value));
                }
                None if matches!(name.as_str(), "apiVersion" | "kind") && ROOTS.contains(&of) => {
                    let text = self.value(&Shape::String, value)?;
                    Some(text).filter(|text| text != "").map(|text| normal.insert(name, text));
                }
                None if self.unknown.len() < MAX_COMPLAINTS => {
                    self.unknown.push(format!("unknown field {:?}", self.path));
                }
                None => {}
            }
            self.path.truncate(path);
        }
        add_unset(of, &mut normal);
        Ok(normal)
    }

    fn list(&mut self, of: &Shape, items: Vec<Value>) -> Result<Value, CanonicalizeError> {
        let path = self.path.len();
        let mut normal = Vec::with_capacity(items.len());
        for (at, item) in items.into_iter().enumerate() {
            // Writing to a text does not fail.
            let _ = write!(self.path, "[{at}]");
            normal.push(self.value(of, item)?);
            self.path.truncate(path);
        }
        Ok(Value::Array(normal))
    }

    fn map(&mut self, of: &Shape, entries: Map<String, Value>) -> Result<Value, CanonicalizeError> {
        let path = self.path.len();
        let mut normal = Map::new();
        for (key, value) in entries {
            self.step(&key);
            // No bytes are bytes too.
            let value = if value.is_null() && *of == Shape::Bytes { "".into() } else { value };
            let value = self.value(of, value)?;
            normal.insert(key, value);
            self.path.truncate(path);
        }
        Ok(Value::Object(normal))
    }

    fn quantity(&self, text: &str) -> Result<Value, CanonicalizeError> {
        canonical(text.trim()).map(Value::from).map_err(|why| self.fault(&why.to_string()))
    }

    fn time(&self, text: &str, micro: bool) -> Result<Value, CanonicalizeError> {
        parse_time(text, micro).map(|time| time_value(time, micro)).map_err(|why| self.fault(&why.0))
    }

    /// One step along a field or a key.
    fn step(&mut self, name: &str) {
        if !self.path.is_empty() {
            self.path.push('.');
        }
        self.path.push_str(name);
    }

    fn misfit(&self, shape: &Shape, value: &Value) -> CanonicalizeError {
        let found = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "a boolean".to_owned(),
            Value::Number(number) => format!("the number {number}"),
            Value::String(_) => "text".to_owned(),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        };
        let wanted = match shape {
            Shape::Bool => "a boolean",
            Shape::Int32 => "a whole number of 32 bits",
            Shape::Int64 => "a whole number of 64 bits",
            Shape::Float64 => "a number",
            Shape::String | Shape::Bytes | Shape::Time | Shape::MicroTime => "text",
            Shape::IntOrString => "text or a whole number of 32 bits",
            Shape::List(_) => "a list",
            _ => "an object",
        };
        self.fault(&format!("{found} cannot stand where {wanted} is expected"))
    }

    fn fault(&self, what: &str) -> CanonicalizeError {
        CanonicalizeError(if self.path.is_empty() {
            what.to_owned()
        } else {
            format!("{}: {what}", self.path)
        })
    }
}

/// The number as it is written, if it fits.
fn fitting(shape: &Shape, number: &Number) -> Option<Value> {
    match shape {
        Shape::Int32 | Shape::IntOrString => i32::try_from(number.as_i64()?).ok().map(Value::from),
        Shape::Int64 => number.as_i64().map(Value::from),
        Shape::Float64 => {
            let mut float = Value::Number(Number::from_f64(number.as_f64()?)?);
            whole_numbers(&mut float);
            Some(float)
        }
        _ => None,
    }
}
