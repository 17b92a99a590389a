//! Tests the rules on JSON: the response changes an object exactly as the core does.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod claims;
mod nodes;
mod patched;
mod pods;
mod properties;
mod questions;
mod unjudged;
mod world;
