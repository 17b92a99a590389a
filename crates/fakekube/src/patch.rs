//! Applies patches and server-side apply to objects and maintains managedFields.
//!
//! - Takes canonical objects (`canonicalize.rs`); results must be canonicalized and validated again.

mod apply;
mod check;
mod compare;
mod field_set;
mod json;
mod managed_fields;
mod merge_rule;
mod prune;
mod strategic;
mod track;
mod typed;

pub use apply::apply;
pub use json::{json_patch, merge_patch};
pub use strategic::strategic;
pub use track::{keep_times, track};

use crate::api_status::StatusError;
use serde_json::{Value, json};

/// How deep an object may be nested. Text is read to 128 levels; patches may stack what was read, and everything
/// that walks an object is recursive.
const DEPTH_MAX: usize = 512;

/// Who writes, and as what.
#[derive(Clone, Copy, Debug)]
pub struct FieldWriter<'a> {
    /// `fieldManager`, or what the user agent says up to its first `/`; `unknown` if empty.
    pub manager: &'a str,
    /// `status`, `scale`, …; empty for the object itself.
    pub subresource: &'a str,
    /// The `apiVersion` the request is made in.
    pub version: &'a str,
    /// The time, as the API writes it: `2006-01-02T15:04:05Z`.
    pub now: &'a str,
}

/// A patch that cannot be applied to this object. A real server keeps to itself why.
fn unfit() -> StatusError {
    let message = "the server rejected our request due to an error in our request";
    StatusError::new(422, "Invalid", message).with(json!({}))
}

/// What a real server did not expect, and passes on as it is.
fn unexpected(message: impl Into<String>) -> StatusError {
    StatusError::new(500, "", message)
}

/// Whether `value` has at most this many levels.
fn within_depth(value: &Value, depth: usize) -> bool {
    match value {
        Value::Object(fields) => depth > 0 && fields.values().all(|value| within_depth(value, depth - 1)),
        Value::Array(items) => depth > 0 && items.iter().all(|value| within_depth(value, depth - 1)),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
