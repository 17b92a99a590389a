//! Builds the merge patch that adds or removes the finalizer of a pool.
//!
//! - Invariant: it applies only to the version that was read; other finalizers stay in their order.

use bytes::Bytes;
use serde_json::json;
use taintward_core::dedicated_pools::{FINALIZER, PoolFact};

/// Returns the merge patch that adds or removes the finalizer; `None` if nothing changes.
pub fn finalizer_patch(seen: &PoolFact, hold: bool) -> Option<Bytes> {
    if seen.has_finalizer() == hold {
        return None;
    }
    let others = seen.finalizers.iter().map(AsRef::as_ref).filter(|one| *one != FINALIZER);
    let finalizers: Vec<&str> = others.chain(hold.then_some(FINALIZER)).collect();
    let mut metadata = json!({ "uid": seen.uid.to_string(), "finalizers": finalizers });
    if let Some(version) = seen.version {
        metadata["resourceVersion"] = json!(version.to_string());
    }
    Some(Bytes::from(json!({ "metadata": metadata }).to_string()))
}
