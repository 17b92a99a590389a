//! # xtask as a library
//! Gives tests what the command `cargo xtask measures` counts.
//!
//! Not here: the commands themselves (`main.rs`).
#![forbid(unsafe_code)]

pub mod measures;
