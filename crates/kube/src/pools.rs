//! # Pools: what is written for dedicated pools
//! Room:     the bodies of writes: finalizer and status of a pool, the one patch of a node, the names of known nodes.
//! Comes in: objects as they were read; what the core has found out.
//! Goes out: bytes, or nothing where nothing is to be written.
//! Not here: sending; what a pool wants of a node (`taintward_core::admission::pool`).

mod finalizer;
mod known_nodes;
mod pool_node_patch;
mod pool_status;

pub use finalizer::finalizer_patch;
pub use known_nodes::{KNOWN_NODES, UNKNOWN_NODES, known_nodes_patch};
pub use pool_node_patch::{PoolNodeBody, PoolNodeMismatch};
pub use pool_status::status_patch;
