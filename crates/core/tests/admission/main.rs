//! # Admission properties: what holds for any request
//! Room:     random pods, namespaces, policies and pools.
//! Comes in: `PROPTEST_CASES` asks for more of them.
//! Goes out: a shrunk case where a property does not hold.
//! Not here: tables of single rules (`crates/core/src/admission/tests/`).

mod affinities;
mod nodes;
mod order;
mod worlds;

use proptest::test_runner::Config as Runs;

/// How many cases a property is tried with, unless the environment asks for another number.
const CASES: u32 = 2_000;

fn runs() -> Runs {
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { Runs::default().cases } else { CASES };
    Runs { cases, failure_persistence: None, ..Runs::default() }
}
