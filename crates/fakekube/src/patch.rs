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

pub use apply::{ApplyConflict, ApplyError, apply};
pub use json::{json_patch, merge_patch};
pub use strategic::strategic;
pub use track::{keep_times, track};

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

/// Why a patch was not applied, in the words of a real server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PatchError {
    /// The HTTP status.
    pub code: u16,
    /// The reason; a real server gives none for errors it did not expect (500).
    pub reason: &'static str,
    /// The sentence.
    pub message: String,
}

impl PatchError {
    /// The patch is not what its type says it is.
    fn bad(message: impl Into<String>) -> Self {
        Self { code: 400, reason: "BadRequest", message: message.into() }
    }

    /// The patch can't be applied to this object. A real server keeps to itself why.
    fn unfit() -> Self {
        let message = "the server rejected our request due to an error in our request".into();
        Self { code: 422, reason: "Invalid", message }
    }

    /// What a real server passes on as it is.
    fn plain(message: impl Into<String>) -> Self {
        Self { code: 500, reason: "", message: message.into() }
    }

    fn too_large(message: &str) -> Self {
        let message = format!("Request entity too large: {message}");
        Self { code: 413, reason: "RequestEntityTooLarge", message }
    }

    /// The answer's body.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if !self.reason.is_empty() {
            status["reason"] = self.reason.into();
        }
        if self.code == 422 {
            status["details"] = json!({});
        }
        status
    }
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
