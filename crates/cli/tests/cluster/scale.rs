//! Gives stories their size: one that fits into CI, or the full one of `cargo xtask bench policies-full`, which collects
//! their figures.

use std::fmt::Display;
use std::sync::OnceLock;

/// The variable that makes stories as large as the benchmark needs them.
const FULL_SIZE: &str = "TAINTWARD_FULL_SIZE";

/// Whether stories have their full size.
fn is_full() -> bool {
    static IS_FULL: OnceLock<bool> = OnceLock::new();
    *IS_FULL.get_or_init(|| std::env::var_os(FULL_SIZE).is_some())
}

/// The size for CI, or the full one.
pub(crate) fn sized<T>(small: T, full: T) -> T {
    if is_full() { full } else { small }
}

/// Prints a figure for the page of the benchmark: what was measured, the reading, and what was required.
pub(crate) fn figure(what: &str, reading: impl Display, goal: impl Display) {
    println!("figure: {what} | {reading} | {goal}");
}
