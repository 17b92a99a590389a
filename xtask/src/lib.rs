//! Gives tests what the commands `cargo xtask book`, `measures` and `observability` use.
//!
//! The other commands belong to the program (`main.rs`).

#![forbid(unsafe_code)]

pub mod book;
pub mod cargo_tool;
pub mod files;
pub mod markdown;
pub mod measures;
pub mod observability;
