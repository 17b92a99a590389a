//! Tests the server over real sockets with short limits.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod bodies;
mod certificates;
mod clients;
mod ending;
mod flood;
mod harness;
mod hostile;
mod requests;
