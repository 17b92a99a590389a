//! Sets how many cases a property is tested with.

use proptest::test_runner::Config;

/// So many cases, or as many as the variable `PROPTEST_CASES` says.
pub(crate) fn cases(default: u32) -> Config {
    let all = Config { failure_persistence: None, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_some() { all } else { Config { cases: default, ..all } }
}
