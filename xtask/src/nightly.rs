//! # Nightly: what takes too long to be asked of every change
//! Room:     every test that is marked `#[ignore]`, optimised.
//! Comes in: names of tests, to run only some.
//! Goes out: cargo's words.
//! Not here: the tests of every change (`test.rs`).

use crate::{sources, within};
use anyhow::Result;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run only tests whose names contain one of these
    names: Vec<String>,
}

/// The crates that have such tests. Programs of tests that choose their scenarios by themselves know no `--ignored`.
const CRATES: [&str; 3] = ["taintward-core", "taintward-client", "taintward-webhook"];

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut command = sources::cargo();
    command.args(["test", "--release", "--no-fail-fast", "--config", &within::runner()?]);
    command.args(CRATES.iter().flat_map(|name| ["--package", name]));
    command.args(["--", "--ignored"]).args(&arguments.names);
    sources::run(&mut command)
}
