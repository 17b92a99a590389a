//! Runs `cargo xtask test`: provides a control plane, then runs every test of the workspace.
//!
//! - `CI=true` makes a missing control plane an error.

use crate::{runner_timeout, sources};
use anyhow::Result;
use std::{env, fs, process};
use taintward_envtest::{Binaries, binaries};

#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Only build the programs of Go that the tests run
    #[arg(long)]
    programs_only: bool,
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
    if arguments.programs_only {
        return Ok(());
    }
    let durations = env::temp_dir().join(format!("taintward-durations-{}", process::id()));
    let skipped = env::temp_dir().join(format!("taintward-skipped-{}", process::id()));
    let mut command = sources::cargo();
    command
        .args(["test", "--config", &runner_timeout::runner()?, "--workspace"])
        .args(&arguments.rest)
        .env("TAINTWARD_SKIPPED", &skipped)
        .env(runner_timeout::DURATIONS, &durations);
    let done = sources::run(&mut command);
    println!(
        "\nThe slowest test programs, in seconds:\n{}",
        slowest(&fs::read_to_string(&durations).unwrap_or_default())
    );
    let _ = fs::remove_file(&durations);
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

/// The ten slowest programs, of lines with seconds and a name.
fn slowest(durations: &str) -> String {
    let read = |line: &str| {
        line.split_once(' ').and_then(|(seconds, name)| Some((seconds.parse().ok()?, name.to_owned())))
    };
    let mut all: Vec<(u64, String)> = durations.lines().filter_map(read).collect();
    all.sort_by(|one, other| other.cmp(one));
    all.iter().take(10).map(|(seconds, name)| format!("{seconds:>5}  {name}\n")).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_slowest_programs_come_first() {
        let text: String = (1..=12).map(|at| format!("{at} program{at}\n")).collect();
        let shown = super::slowest(&(text + "broken\n"));
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[9]), (10, "   12  program12", "    3  program3"));
    }
}
