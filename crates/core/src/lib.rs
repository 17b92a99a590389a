//! # taintward-core: decides
//!
//! Facts and the time go in; decisions with reasons come out. Everything that later acts, explains, previews
//! or simulates asks this crate, so an explanation cannot drift from what the controller does.
//!
//! Comes in: [`fact::NodeFact`], [`fact::PodFact`], results of effects, and [`time::Now`].
//! Goes out: [`verdict::Verdict`]s, effects to carry out, notices to report, the next moment to look again.
//! Not here: clocks, I/O, randomness, logging, async, hash-ordered collections, Kubernetes' own object types.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod admission;
pub mod api_error;
mod backoff;
pub mod cluster_snapshot;
pub mod countdown_hold;
pub mod dedicated_pools;
pub mod engine;
pub mod eviction;
pub mod fact;
pub mod forecast;
pub mod identity;
mod intern;
pub mod label;
pub mod lint;
pub mod node_lifecycle;
pub mod quantity;
pub mod scheduling;
pub mod taint;
pub mod taint_edit;
pub mod taint_start;
pub mod text;
pub mod time;
pub mod toleration;
pub mod toleration_matching;
pub mod verdict;
