//! Tests decoding and writing of pools, policies and related objects.

mod eviction_policies;
mod eviction_surroundings;
mod mangled;
mod node;
mod policies;
mod reading;
mod residents;
pub(crate) mod sample;
mod status;
mod surroundings;
mod writing;
