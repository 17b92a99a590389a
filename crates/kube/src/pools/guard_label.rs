//! Builds the merge patch that adds or removes the label of a pool that the guard contains.
//!
//! - Invariant: it applies only to the version that was read.

use bytes::Bytes;
use serde_json::json;
use taintward_core::dedicated_pools::{GUARD_LABEL, PoolFact};

/// Returns the merge patch that adds or removes the label.
pub fn guard_label_patch(seen: &PoolFact, has_label: bool) -> Bytes {
    let label = has_label.then_some("true");
    let mut metadata = json!({ "uid": seen.uid.to_string(), "labels": { GUARD_LABEL: label } });
    if let Some(version) = seen.version {
        metadata["resourceVersion"] = json!(version.to_string());
    }
    Bytes::from(json!({ "metadata": metadata }).to_string())
}
