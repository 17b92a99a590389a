//! Tests the sandbox's server: its admission, its files, and what it shares with a real API server.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod admission;
mod patches;
mod quantities;
mod snapshot_files;
mod validation;
