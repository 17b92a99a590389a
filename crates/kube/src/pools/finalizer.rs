//! # Finalizer of a pool
//! Room:     the merge patch that puts our finalizer on a pool, or takes it off.
//! Comes in: the pool as it was read.
//! Goes out: the patch; none where the finalizers are as they are to be.
//! Keeps:    it applies to the version that was read only; finalizers of others stay, in their order.
//! Not here: when it may go (the controller).

use bytes::Bytes;
use serde_json::json;
use taintward_core::dedicated_pools::{FINALIZER, PoolFact};

/// The merge patch that makes a pool be held, or not; `None` if it is so.
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
