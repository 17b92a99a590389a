//! Builds the bodies of writes for dedicated pools: finalizer, label, status, node patch, guard.
//!
//! - See `api/dedicated_pools.rs` for sending them.

mod finalizer;
mod guard_label;
mod pool_guard;
mod pool_node_patch;
mod pool_status;

pub use finalizer::finalizer_patch;
pub use guard_label::guard_label_patch;
pub use pool_guard::{POOL_GUARD, PoolGuardBody};
pub use pool_node_patch::{PoolNodeBody, PoolNodeMismatch};
pub use pool_status::status_patch;
