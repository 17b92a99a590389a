//! # Countdowns: the whole controller in virtual time
//! Room:     scenarios in which the shipped controller works on a cluster in memory while hours pass in milliseconds.
//! Comes in: nothing; time is paused and moves when nobody has anything to do.
//! Goes out: assertions against the server's commit log and the requests it was sent, both ways: it happened when it
//!           should, and nothing had happened just before.
//! Not here: chance (`tests/simulation`); what only a real API server can show (`crates/cli/tests/real`).
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]
#![allow(clippy::print_stdout, reason = "how long an hour took is told to people")]

mod changes;
mod foreseen;
mod hour;
mod identity;
mod leaders;
mod outages;
mod restarts;
#[path = "../parts/stage.rs"]
mod stage;
#[path = "../parts/wire.rs"]
mod wire;
mod writes;
