//! # Pools: what is written for dedicated pools
//! Room:     the bodies of writes: finalizer and status of a pool, the one patch of a node, the names of known nodes.
//! Comes in: objects as they were read; what the core has found out.
//! Goes out: bytes, or nothing where nothing is to be written.
//! Not here: sending; what a pool wants of a node (`taintward_core::admission::pool`).

mod finalizer;
mod known;
mod node;
mod status;

pub use finalizer::{FINALIZER, finalizer_patch};
pub use known::{KNOWN_NODES, KnownNodes, UNKNOWN_NODES, Unknown};
pub use node::{MemberObject, Misfit};
pub use status::{ELSEWHERE, progressing, status_patch, told};
