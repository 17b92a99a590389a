//! Gives tests what the commands `cargo xtask book`, `measures`, `observability` and `picture diagrams` use.
//!
//! The other commands belong to the program (`main.rs`).

#![forbid(unsafe_code)]

pub mod book;
pub mod diagrams;
pub mod files;
pub mod markdown;
pub mod measures;
pub mod observability;
