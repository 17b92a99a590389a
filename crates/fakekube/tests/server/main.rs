//! Tests what the server answers, beside recorded answers of a real one, and to clients that mean harm.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

#[path = "../parts/cluster.rs"]
mod cluster;

mod access;
mod columns;
mod malformed_requests;
mod recorded;
