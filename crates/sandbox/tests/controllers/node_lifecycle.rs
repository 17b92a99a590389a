//! Tests node lifecycle in the whole controller, on a cluster in memory, in virtual time.
//!
//! - The evidence is the server's commit log: each taint was added and removed when it should be, and at no other time.
//! - See `tests/simulation` for random runs, `crates/core/tests/engines/node_lifecycle` for the engine.

#![allow(clippy::print_stdout, reason = "the test prints how long a storm took")]

mod assertions;
mod down;
mod edits;
mod invalid_objects;
mod leaders;
mod outages;
mod restarts;
mod storm;
mod timeline;
mod zones;
