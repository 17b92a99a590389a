//! # Lifecycle: nodes that fall silent, and the whole controller in virtual time
//! Room:     scenarios in which the shipped controller, with both loops, looks after the nodes of a cluster in memory.
//! Comes in: nothing; time is paused and moves when nobody has anything to do.
//! Goes out: assertions against the server's commit log and the requests it was sent, both ways: a taint came and went
//!           when it should, and at no other moment.
//! Not here: chance (`tests/simulation`); the engine by itself (`crates/core/tests/node_lifecycle`).
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]
#![allow(clippy::print_stdout, reason = "how long a storm took is told to people")]

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
