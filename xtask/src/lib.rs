//! Gives tests what the commands `cargo xtask measures` and `cargo xtask observability` make.
//!
//! The other commands belong to the program (`main.rs`).

#![forbid(unsafe_code)]

pub mod measures;
pub mod observability;
