//! Tests the whole controller on a cluster in memory, in virtual time.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod countdowns;
mod harness;
mod node_lifecycle;
mod wire;
