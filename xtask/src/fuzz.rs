//! Runs `cargo xtask fuzz`: each fuzz target with libFuzzer for a while, from the seeds in `fuzz/corpus`.
//!
//! - The pinned compiler is enough: it supports coverage. Only sanitizers need a nightly compiler, and they find faults of
//!   unsafe code, which no crate here has.

use crate::sources::{self, root};
use anyhow::{Context as _, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

#[derive(clap::Args)]
pub(crate) struct FuzzArgs {
    /// The seconds that each target runs
    #[arg(long, default_value_t = 60)]
    pub(crate) seconds: u32,
    /// Run only these targets of `fuzz/src`; all if none is named
    pub(crate) targets: Vec<String>,
}

/// The compiler flags of cargo-fuzz, except the sanitizer.
const FLAGS: [&str; 8] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "-Coverflow-checks=yes",
    "--cfg=fuzzing",
];

/// An input that takes longer is a finding.
const TIMEOUT_SECS: u32 = 10;

/// Memory that a target may use.
const MEMORY_MIB: u32 = 1024;

/// The number of lines of libFuzzer's output that are printed with a finding.
const SHOWN_LINES: usize = 60;

pub(crate) fn run(arguments: &FuzzArgs) -> Result<()> {
    let known = targets()?;
    for name in &arguments.targets {
        ensure!(known.contains(name), "there is no fuzz target {name:?}; there are {}", known.join(", "));
    }
    let wanted = if arguments.targets.is_empty() { &known } else { &arguments.targets };
    let programs = &build()?;
    let cores = thread::available_parallelism().map_or(1, Into::into);
    let mut failed = Vec::new();
    // A target uses one core.
    for names in wanted.chunks(cores) {
        thread::scope(|scope| {
            let start = |name| scope.spawn(move || fuzz(name, programs, arguments.seconds));
            let running: Vec<_> = names.iter().map(String::as_str).map(start).collect();
            for (name, target) in names.iter().zip(running) {
                if !target.join().expect("no target panics")? {
                    failed.push(name.as_str());
                }
            }
            anyhow::Ok(())
        })?;
    }
    ensure!(
        failed.is_empty(),
        "{} failed; `cargo run --manifest-path fuzz/Cargo.toml --bin TARGET -- FILE` repeats an input",
        failed.join(", ")
    );
    Ok(())
}

/// The targets, each a file.
fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for file in fs::read_dir(root().join("fuzz/src"))? {
        names.extend(file?.path().file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// Builds all targets, and returns their folder.
fn build() -> Result<PathBuf> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    let has_compiler =
        Command::new(&compiler).arg("--version").output().is_ok_and(|version| version.status.success());
    ensure!(
        has_compiler,
        "libFuzzer is C++, and {compiler} does not run: install a C++ compiler (g++ or clang), or name one in CXX"
    );
    let (host, folder) = (sources::host()?, root().join("target/fuzz"));
    let mut cargo = sources::cargo();
    cargo.args(["build", "--locked", "--features", "libfuzzer", "--manifest-path", "fuzz/Cargo.toml"]);
    // With `--target`, cargo builds build scripts and macros without the flags.
    cargo.args(["--target", &host, "--target-dir"]).arg(&folder);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}")).env_remove("RUSTFLAGS");
    sources::run(&mut cargo)?;
    Ok(folder.join(host).join("debug"))
}

/// Runs one target; returns false if it found a fault.
fn fuzz(name: &str, programs: &Path, seconds: u32) -> Result<bool> {
    let (seeds, found) =
        (root().join("fuzz/corpus").join(name), root().join("target/fuzz/corpus").join(name));
    let dictionary = root().join("fuzz/dictionaries").join(name).with_extension("dict");
    for needed in [&seeds, &dictionary] {
        ensure!(needed.exists(), "the target {name} needs {}", needed.display());
    }
    let artifacts = root().join("fuzz/artifacts").join(name);
    fs::create_dir_all(&found)?;
    fs::create_dir_all(&artifacts)?;
    let output = Command::new(programs.join(name))
        .arg(&found)
        .arg(&seeds)
        .arg(format!("-dict={}", dictionary.display()))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-timeout={TIMEOUT_SECS}"))
        .arg(format!("-rss_limit_mb={MEMORY_MIB}"))
        .arg("-print_final_stats=1")
        .output()
        .with_context(|| format!("starting the fuzz target {name}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let Some(inputs) =
            stderr.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"))
        else {
            bail!("the fuzz target {name} is not built with libFuzzer");
        };
        println!("{name}: {} inputs in {seconds} s, no fault", inputs.trim());
        return Ok(true);
    }
    let lines: Vec<&str> = stderr.lines().collect();
    eprintln!("{}", lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n"));
    eprintln!("{name}: a fault; the input is in {}", artifacts.display());
    Ok(false)
}
