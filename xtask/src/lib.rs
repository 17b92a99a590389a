//! Gives tests what the command `cargo xtask measures` counts.
//!
//! The other commands belong to the program (`main.rs`).

#![forbid(unsafe_code)]

pub mod measures;
