//! Implements JSON patch (RFC 6902) and JSON merge patch (RFC 7386).
//!
//! - Invariant: no patch makes an object deeper, or much larger, than the patch itself.

use super::{DEPTH_MAX, unfit, within_depth};
use crate::api_status::StatusError;
use json_patch::{Patch, PatchOperation};
use serde::Deserialize as _;
use serde_json::Value;

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
        check_size(&patched, operation, &mut room).ok_or_else(unfit)?;
        json_patch::patch_unsafe(&mut patched, std::slice::from_ref(operation)).map_err(|_| unfit())?;
    }
    Ok(patched)
}

/// Whether what an operation puts somewhere is neither too deep there nor, all copies together, too much.
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
        return Err(StatusError::bad_request("error decoding patch: it is no object"));
    }
    let mut patched = document.clone();
    json_patch::merge(&mut patched, patch);
    Ok(patched)
}
