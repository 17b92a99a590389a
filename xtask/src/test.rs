//! Runs `cargo xtask test`: provides a control plane, then runs every test of the workspace.
//!
//! - `CI=true` makes a missing control plane an error.

use crate::{runner_timeout, sources};
use anyhow::Result;
use std::{env, fs, process};
use taintward_envtest::{Binaries, binaries};

#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Arguments for `cargo test`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

pub(crate) fn run(arguments: &TestArgs) -> Result<()> {
    let all = env::var("CI").as_deref() == Ok("true");
    if all {
        binaries::KWOK.find_or_build()?;
        binaries::HELM.find_or_build()?;
        binaries::PROMTOOL.find_or_build()?;
        binaries::ACTIONLINT.find_or_build()?;
    }
    if let Err(why) = Binaries::find_or_build() {
        if all {
            return Err(
                why.context("with CI=true, every test must run, including those that need a real API server")
            );
        }
        eprintln!("\nWARNING: no real API server; the tests that need one are skipped.\n  {why:#}\n");
    }
    let skipped = env::temp_dir().join(format!("taintward-skipped-{}", process::id()));
    let mut command = sources::cargo();
    command
        .args(["test", "--config", &runner_timeout::runner()?, "--workspace"])
        .args(&arguments.rest)
        .env("TAINTWARD_SKIPPED", &skipped);
    let done = sources::run(&mut command);
    let names = fs::read_to_string(&skipped).unwrap_or_default();
    let _ = fs::remove_file(&skipped);
    if !names.is_empty() {
        let names: Vec<&str> = names.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
        eprintln!(
            "\nSKIPPED {} tests whose requirements are missing (`cargo xtask setup` lists them): {}",
            names.len(),
            names.join(", ")
        );
    }
    done
}
