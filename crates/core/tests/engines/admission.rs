//! Tests properties of admission with random pods, namespaces, policies and pools.
//!
//! - `PROPTEST_CASES` sets the number of cases.
//! - See `crates/core/src/admission/tests/` for tables of single rules.

mod affinities;
mod cases;
mod nodes;
mod order;

use proptest::test_runner::Config as Runs;

/// The default number of cases of a property.
const CASES: u32 = 2_000;

fn runs() -> Runs {
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { Runs::default().cases } else { CASES };
    Runs { cases, failure_persistence: None, ..Runs::default() }
}
