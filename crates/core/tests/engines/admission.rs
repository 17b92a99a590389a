//! Tests properties of admission with random pods, namespaces, policies and pools.
//!
//! - `PROPTEST_CASES` sets the number of cases.
//! - See `crates/core/src/admission/tests/` for tables of single rules.

mod affinities;
mod cases;
mod nodes;
mod order;
