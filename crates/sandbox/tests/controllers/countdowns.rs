//! Tests the whole controller on a cluster in memory, in virtual time.
//!
//! - The evidence is the server's commit log: each eviction happened when it should, and not before.
//! - See `tests/simulation` for random runs, `crates/cli/tests/real` for a real API server.

#![allow(clippy::print_stdout, reason = "the test prints how long an hour took")]

mod changes;
mod foreseen;
mod hour;
mod identity;
mod leaders;
mod outages;
mod restarts;
mod writes;
