//! Applies patches and server-side apply to objects and maintains managedFields.
//!
//! - Invariant: no JSON patch makes an object deeper, or much larger, than the patch itself.
//! - Takes canonical objects (`canonicalize.rs`); results must be canonicalized and validated again.

mod ownership;
mod strategic;

pub use ownership::{apply, keep_times, track};
pub use strategic::strategic;

use crate::api_status::StatusError;
use ::json_patch::{Patch, PatchOperation};
use serde::Deserialize as _;
use serde_json::{Value, json};

/// How deep an object may be nested. Text is parsed to 128 levels; patches may nest further, and everything that walks
/// an object is recursive.
const DEPTH_MAX: usize = 512;

/// The field manager of a write.
#[derive(Clone, Copy, Debug)]
pub struct FieldWriter<'a> {
    /// `fieldManager`, or the user agent up to its first `/`; `unknown` if empty.
    pub manager: &'a str,
    /// `status`, `scale`, …; empty for the object itself.
    pub subresource: &'a str,
    /// The `apiVersion` the request is made in.
    pub version: &'a str,
    /// The time, in the API's format: `2006-01-02T15:04:05Z`.
    pub now: &'a str,
}

/// The error for a patch that cannot be applied to this object. A real server does not say why.
fn unfit() -> StatusError {
    let message = "the server rejected our request due to an error in our request";
    StatusError::new(422, "Invalid", message).with(json!({}))
}

/// An error that a real server does not expect, and passes on as it is.
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

/// How many operations a patch may have.
const OPERATIONS_MAX: usize = 10_000;

/// How much text all `copy` operations of a patch may add.
const COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Applies `operations` to `document`.
pub fn json_patch(document: &Value, operations: &Value) -> Result<Value, StatusError> {
    let Patch(operations) = Patch::deserialize(operations)
        .map_err(|why| StatusError::bad_request(format!("error decoding patch: {why}")))?;
    if operations.len() > OPERATIONS_MAX {
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {}",
            operations.len()
        );
        return Err(StatusError::new(413, "RequestEntityTooLarge", message));
    }
    let mut patched = document.clone();
    let mut room = COPIED_BYTES_MAX;
    for operation in &operations {
        if is_test_of_absence(&patched, operation) {
            continue;
        }
        check_size(&patched, operation, &mut room).ok_or_else(unfit)?;
        ::json_patch::patch_unsafe(&mut patched, std::slice::from_ref(operation)).map_err(|_| unfit())?;
    }
    Ok(patched)
}

/// Whether an operation tests that an object has no such member, and it has none: to an API server that equals `null`.
fn is_test_of_absence(document: &Value, operation: &PatchOperation) -> bool {
    let PatchOperation::Test(test) = operation else { return false };
    let path = test.path.as_str();
    let parent = path.rsplit_once('/').and_then(|(parent, _)| document.pointer(parent));
    test.value.is_null() && parent.is_some_and(Value::is_object) && document.pointer(path).is_none()
}

/// Checks that the value of an operation is not nested too deep at its place, and that all copies together are not too
/// large.
fn check_size(document: &Value, operation: &PatchOperation, room: &mut usize) -> Option<()> {
    let put = match operation {
        PatchOperation::Add(add) => &add.value,
        PatchOperation::Replace(replace) => &replace.value,
        PatchOperation::Move(of) => document.pointer(of.from.as_str())?,
        PatchOperation::Copy(of) => {
            let copied = document.pointer(of.from.as_str())?;
            *room = room.checked_sub(copied.to_string().len())?;
            copied
        }
        PatchOperation::Remove(_) | PatchOperation::Test(_) => return Some(()),
    };
    let depth = operation.path().as_str().matches('/').count();
    within_depth(put, DEPTH_MAX.checked_sub(depth)?).then_some(())
}

/// Merges `patch` into `document`.
pub fn merge_patch(document: &Value, patch: &Value) -> Result<Value, StatusError> {
    if !patch.is_object() {
        return Err(StatusError::bad_request("error decoding patch: it is not an object"));
    }
    let mut patched = document.clone();
    ::json_patch::merge(&mut patched, patch);
    Ok(patched)
}

#[cfg(test)]
mod tests;
