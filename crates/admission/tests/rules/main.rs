//! The rules, asked about JSON: what the answer makes of an object is what the core makes of it.
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod claims;
mod nodes;
mod patched;
mod pods;
mod properties;
mod questions;
mod unjudged;
mod world;
