//! Builds the bodies of writes for dedicated pools: finalizer, status, node patch, known nodes.
//!
//! - See `api/dedicated_pools.rs` for sending them.

mod finalizer;
mod known_nodes;
mod pool_node_patch;
mod pool_status;

pub use finalizer::finalizer_patch;
pub use known_nodes::{KNOWN_NODES, UNKNOWN_NODES, known_nodes_patch};
pub use pool_node_patch::{PoolNodeBody, PoolNodeMismatch};
pub use pool_status::status_patch;
