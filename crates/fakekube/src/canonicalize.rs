//! Brings an object into the form in which an API server returns it: unknown fields dropped, zero values written, texts
//! normalized.
//!
//! - Defaults and validation follow elsewhere (`defaults.rs`, `validate.rs`).

mod bounded;
mod time;
mod walk;
mod yaml;
mod zero;

use std::fmt;

use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

pub(crate) use self::bounded::{BoundedValue, DecodeBudget};
pub(crate) use self::time::{EPOCH, NEVER, parse_time, time_value};
pub use self::yaml::yaml_to_json;
pub(crate) use self::yaml::{documents, read_long_yaml, whole_numbers};
pub(crate) use self::zero::{complete, zero};
use crate::schema::{Schema, Shape, TypeId};

/// Base64 as Go reads it: padded, and not particular about the last bits.
pub(crate) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// More complaints than this are not made about one object.
const MAX_COMPLAINTS: usize = 100;

/// An object as a real server would write it.
#[derive(Clone, Debug, PartialEq)]
pub struct Canonical {
    /// The object. Its `apiVersion` and kind are those it was read as.
    pub value: Value,
    /// What strict validation says of fields nobody knows: `unknown field "spec.tolerance"`. They are dropped.
    pub unknown: Vec<String>,
}

/// Why a body is not an object: what does not fit where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanonicalizeError(pub String);

impl fmt::Display for CanonicalizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CanonicalizeError {}

/// Sends an object through its type.
pub fn normal(api_version: &str, kind: &str, object: Value) -> Result<Canonical, CanonicalizeError> {
    let schema = Schema::get();
    let Some(of) = schema.kind(api_version, kind).or_else(|| schema.kind("meta.k8s.io/v1", kind)) else {
        return Err(CanonicalizeError(format!("no kind {kind:?} is registered for version {api_version:?}")));
    };
    let mut walk = walk::FieldWalk::default();
    let mut value = walk.value(&Shape::Object(of), object)?;
    if let Value::Object(object) = &mut value {
        object.insert("apiVersion".into(), api_version.into());
        object.insert("kind".into(), kind.into());
    }
    Ok(Canonical { value, unknown: walk.unknown })
}

/// Sends part of an object through its type.
pub(crate) fn of_type(of: TypeId, value: Value) -> Result<Canonical, CanonicalizeError> {
    let mut walk = walk::FieldWalk::default();
    let value = walk.value(&Shape::Object(of), value)?;
    Ok(Canonical { value, unknown: walk.unknown })
}

#[cfg(test)]
mod tests;
