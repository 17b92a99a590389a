//! Tests the engine of dedicated pools with simulated users, API server and time.

#![allow(unreachable_pub, reason = "modules of one test crate")]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod api_server;
mod control_loop;
mod decisions;
mod guard;
mod objects;
mod properties;
mod retries;
mod scenarios;
mod watches;
