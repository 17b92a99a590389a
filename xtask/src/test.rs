//! Runs `cargo xtask test`: provides a control plane, then runs every test of the workspace.
//!
//! - `CI=true` makes a missing control plane an error.
//! - Programs that wait for control planes run beside those that compute (`test/lanes.rs`).

mod lanes;

use crate::cpu_load::CpuLoad;
use crate::{runner_timeout, sources};
use anyhow::Result;
use lanes::{TestLanes, TestTarget};
use std::path::Path;
use std::{env, fs, process};
use taintward_envtest::{Binaries, binaries};

#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// Only build the programs of Go that the tests run
    #[arg(long)]
    programs_only: bool,
    /// Run all tests, also after one failed
    #[arg(long)]
    no_fail_fast: bool,
    /// Run only the tests that need a control plane or a browser, beside two busy threads for each core
    #[arg(long, conflicts_with = "rest")]
    stress: bool,
    /// Arguments for `cargo test`, which then runs one program after the other
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
    let recorded = |name: &str| env::temp_dir().join(format!("taintward-{name}-{}", process::id()));
    let (durations, skipped) = (recorded("durations"), recorded("skipped"));
    let result = run_programs(arguments, &durations, &skipped);
    println!("\nThe slowest test programs, in seconds:\n{}", slowest(&take(&durations)));
    let names = take(&skipped);
    if !names.is_empty() {
        let names: Vec<&str> = names.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
        eprintln!(
            "\nSKIPPED {} tests whose requirements are missing (`cargo xtask setup` lists them): {}",
            names.len(),
            names.join(", ")
        );
    }
    result
}

/// Reads a file that the test programs wrote, if they wrote it, and removes it.
fn take(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_default();
    let _ = fs::remove_file(file);
    text
}

/// Builds the test programs and runs them. The programs append to these two files.
fn run_programs(arguments: &TestArgs, durations: &Path, skipped: &Path) -> Result<()> {
    let own = runner_timeout::own_path()?;
    let cargo_test = |through: &[&str]| {
        let mut command = sources::cargo_through(through);
        command.args(["test", "--workspace", "--config", &runner_timeout::runner_at(&own)]);
        command.env("TAINTWARD_SKIPPED", skipped).env(runner_timeout::DURATIONS, durations);
        if arguments.no_fail_fast {
            command.arg("--no-fail-fast");
        }
        command
    };
    if !arguments.rest.is_empty() {
        return sources::run(cargo_test(&[]).args(&arguments.rest));
    }
    let lanes = TestLanes::of(&TestTarget::all()?)?;
    // The second lane builds its own programs while the first one runs: cargo does not build in one folder twice at once.
    sources::run(cargo_test(&[]).arg("--no-run").args(lanes.first()))?;
    if !arguments.stress {
        return lanes.run(&cargo_test);
    }
    let _load = [CpuLoad::start(), CpuLoad::start()];
    lanes.only_waiting().run(&cargo_test)
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
