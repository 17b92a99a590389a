//! Tests node lifecycle in the whole controller, on a cluster in memory, in virtual time.
//!
//! - The evidence is the server's commit log: each taint was added and removed when it should be, and at no other time.
//! - See `tests/simulation` for random runs, `crates/core/tests/engines/node_lifecycle` for the engine.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]
#![allow(clippy::print_stdout, reason = "the test prints how long a storm took")]

mod down;
mod edits;
mod leaders;
mod odd;
mod outages;
mod restarts;
#[path = "../parts/stage.rs"]
mod stage;
mod storm;
mod timeline;
#[path = "../parts/wire.rs"]
mod wire;
mod words;
mod zones;
