//! Tests the list and watch loop, and the decoding of what it delivers.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod decode;
mod list_watch;
mod pool_objects;
