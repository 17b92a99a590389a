//! Brings an object into the form in which an API server returns it: unknown fields dropped, zero values written, texts
//! normalized.
//!
//! - Defaults and validation follow elsewhere (`defaults.rs`, `validate.rs`).

mod bounded;
mod yaml;
mod zero;

use self::zero::{add_unset, written};
use crate::quantity::canonical;
use crate::schema::{Schema, Shape, TypeId};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use serde_json::{Map, Number, Value};
use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

pub(crate) use self::bounded::{BoundedValue, DecodeBudget};
pub use self::yaml::yaml_to_json;
pub(crate) use self::yaml::{documents, read_long_yaml, whole_numbers};
pub(crate) use self::zero::{complete, zero};

/// Base64 as Go reads it: padded, and lenient about the last bits.
pub(crate) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// The largest number of errors reported for one object.
const MAX_COMPLAINTS: usize = 100;

/// An object as a real server would write it.
#[derive(Clone, Debug, PartialEq)]
pub struct Canonical {
    /// The object. Its `apiVersion` and kind are those it was read with.
    pub value: Value,
    /// Errors of strict validation for unknown fields: `unknown field "spec.tolerance"`. The fields are dropped.
    pub unknown: Vec<String>,
}

/// Why a body is not an object: what does not fit, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CanonicalizeError(pub String);

/// Canonicalizes an object by its type.
pub fn normal(api_version: &str, kind: &str, object: Value) -> Result<Canonical, CanonicalizeError> {
    let schema = Schema::get();
    let Some(of) = schema.kind(api_version, kind).or_else(|| schema.kind("meta.k8s.io/v1", kind)) else {
        return Err(CanonicalizeError(format!("no kind {kind:?} is registered for version {api_version:?}")));
    };
    let mut walk = FieldWalk::default();
    let mut value = walk.value(&Shape::Object(of), object)?;
    if let Value::Object(object) = &mut value {
        object.insert("apiVersion".into(), api_version.into());
        object.insert("kind".into(), kind.into());
    }
    Ok(Canonical { value, unknown: walk.unknown })
}

/// Canonicalizes part of an object by its type.
pub(crate) fn of_type(of: TypeId, value: Value) -> Result<Canonical, CanonicalizeError> {
    let mut walk = FieldWalk::default();
    let value = walk.value(&Shape::Object(of), value)?;
    Ok(Canonical { value, unknown: walk.unknown })
}

/// Types that have an `apiVersion` and a kind, wherever they occur.
static ROOTS: LazyLock<HashSet<TypeId>> =
    LazyLock::new(|| Schema::get().kinds().map(|(_, _, id)| id).collect());

/// The position of the walk, and what it has found.
#[derive(Default)]
struct FieldWalk {
    unknown: Vec<String>,
    /// As strict validation writes it: `spec.containers[0].name`.
    path: String,
}

impl FieldWalk {
    /// Canonicalizes a value of a shape.
    fn value(&mut self, shape: &Shape, value: Value) -> Result<Value, CanonicalizeError> {
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
                // Line breaks are ignored.
                let plain: String = text.chars().filter(|char| !matches!(char, '\r' | '\n')).collect();
                let bytes = BASE64.decode(plain).map_err(|why| self.error(&format!("no base64: {why}")))?;
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
            // Writing to a string does not fail.
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
        canonical(text.trim()).map(Value::from).map_err(|why| self.error(&why.to_string()))
    }

    fn time(&self, text: &str, micro: bool) -> Result<Value, CanonicalizeError> {
        parse_time(text, micro).map(|time| time_value(time, micro)).map_err(|why| self.error(&why.0))
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
        self.error(&format!("{found} cannot stand where {wanted} is expected"))
    }

    fn error(&self, what: &str) -> CanonicalizeError {
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

/// A time that was never set.
pub(crate) const NEVER: DateTime = DateTime::constant(1, 1, 1, 0, 0, 0, 0);

/// Where protobuf counts from.
pub(crate) const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Parses a time. With `micro`, the fraction must have exactly six digits; without, a fraction is ignored.
pub(crate) fn parse_time(text: &str, micro: bool) -> Result<DateTime, CanonicalizeError> {
    let digits = |rest: &str| rest.bytes().take_while(u8::is_ascii_digit).count();
    if micro && text.split_once('.').map(|(_, rest)| digits(rest)) != Some(6) {
        return Err(CanonicalizeError(format!("the time {text:?} has no six digits of a fraction")));
    }
    let error = |why: jiff::Error| CanonicalizeError(format!("the time {text:?}: {why}"));
    let pieces = Pieces::parse(text).map_err(error)?;
    let (Some(time), Some(offset)) = (pieces.time(), pieces.to_numeric_offset()) else {
        return Err(CanonicalizeError(format!(
            "the time {text:?} has no hour, or none that is one everywhere"
        )));
    };
    let offset = SignedDuration::from_secs(offset.seconds().into());
    pieces.date().to_datetime(time).checked_sub(offset).map_err(error)
}

/// A time as it is written.
pub(crate) fn time_value(time: DateTime, micro: bool) -> Value {
    match (time == NEVER, micro) {
        (true, _) => Value::Null,
        (false, true) => format!("{time:.6}Z").into(),
        (false, false) => format!("{time:.0}Z").into(),
    }
}

#[cfg(test)]
mod tests;
