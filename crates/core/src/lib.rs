//! # taintward-core: DECIDE
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
pub mod change;
pub mod effect;
pub mod engine;
pub mod fact;
pub mod forecast;
pub mod health;
pub mod hold;
mod intern;
pub mod label;
pub mod lint;
pub mod matching;
pub mod names;
pub mod quantity;
pub mod scheduling;
pub mod snapshot;
pub mod start;
pub mod taint;
pub mod text;
pub mod time;
pub mod toleration;
pub mod verdict;
