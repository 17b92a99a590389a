//! Runs `cargo xtask mutants`: changes the code in many small ways, one at a time, and lists the changes that no test notices.
//!
//! - cargo-mutants makes the changes. A scope has a share of the code and the test programs that have to notice.
//! - A part that is finished is not run again, so a run that was interrupted goes on: `target/mutants` has a folder for each.

use crate::sources;
use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use xtask::cargo_tool::MUTANTS;

#[derive(clap::Args)]
pub(crate) struct MutantsArgs {
    /// The code to change
    #[arg(long, value_enum, default_value_t = MutantScope::Core)]
    scope: MutantScope,
    /// Only the part K of N equal parts, such as 3/200; several are run one after the other. Without it, nothing is run, and
    /// the score so far is printed
    #[arg(long = "part", value_name = "K/N", value_parser = part)]
    parts: Vec<(u32, u32)>,
}

/// The sizes of random tests: a change that only a larger number of cases notices is a gap of the others.
const SIZES: [(&str, &str); 2] = [("PROPTEST_CASES", "24"), ("WORLDS", "200")];

/// A share of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum MutantScope {
    /// The crate taintward-core
    Core,
    /// Lists and watches
    Watch,
    /// Leader election
    LeaderElection,
}

impl MutantScope {
    const fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Watch => "watch",
            Self::LeaderElection => "leader-election",
        }
    }

    /// The package and its files.
    const fn code(self) -> (&'static str, &'static str) {
        match self {
            Self::Core => ("taintward-core", "crates/core/src/**/*.rs"),
            Self::Watch => ("taintward-kube", "crates/kube/src/watch{.rs,/**/*.rs}"),
            Self::LeaderElection => ("taintward-kube", "crates/kube/src/leader_election{.rs,/**/*.rs}"),
        }
    }

    /// The programs that have to notice, without tests that take long: what only they notice is a gap of the others.
    const fn tests(self) -> &'static [&'static str] {
        match self {
            Self::Core => {
                &["--lib", "--test=engines", "--", "--skip=exhaustive", "--skip=random", "--skip=fleet"]
            }
            Self::Watch => &["--lib", "--test=watch"],
            Self::LeaderElection => &["--lib", "--test=client"],
        }
    }
}

fn part(text: &str) -> Result<(u32, u32), String> {
    let numbers =
        text.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    let valid = numbers.filter(|(part, parts): &(u32, u32)| (1..=*parts).contains(part));
    valid.ok_or_else(|| "expected a part such as 3/200".to_owned())
}

pub(crate) fn run(arguments: &MutantsArgs) -> Result<()> {
    for part in &arguments.parts {
        run_part(arguments.scope, *part)?;
    }
    print_score(arguments.scope)
}

/// Runs a part, unless it is finished.
pub(crate) fn run_part(scope: MutantScope, (part, parts): (u32, u32)) -> Result<()> {
    let folder = folder().join(format!("{}-{part}-of-{parts}", scope.name()));
    let finished = folder.join("finished");
    if finished.exists() {
        println!("part {part} of {parts} is finished; remove {} to run it again", folder.display());
        return Ok(());
    }
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    let mut command = std::process::Command::new(MUTANTS.find_or_build()?);
    let (package, files) = scope.code();
    command.args(["mutants", "--package", package, "--file", files, "--output"]).arg(&folder);
    // The parts of cargo-mutants begin with 0.
    command.args(["--shard", &format!("{}/{parts}", part - 1), "--no-shuffle", "--minimum-test-timeout=60"]);
    command.arg("--").args(scope.tests()).envs(SIZES).current_dir(sources::root());
    let status = command.status().context("starting cargo-mutants")?;
    // 2: a change was not noticed. 3: tests did not end, which counts as noticed.
    ensure!(matches!(status.code(), Some(0 | 2 | 3)), "cargo-mutants failed: {status}");
    fs::write(finished, "").context("writing the end of a part")
}

/// The changes of a module.
#[derive(Default)]
struct ModuleScore {
    noticed: BTreeSet<String>,
    missed: BTreeSet<String>,
}

pub(crate) fn print_score(scope: MutantScope) -> Result<()> {
    let mut modules: BTreeMap<String, ModuleScore> = BTreeMap::new();
    for folder in fs::read_dir(folder()).into_iter().flatten() {
        let folder = folder?;
        if folder.file_name().to_string_lossy().starts_with(&format!("{}-", scope.name())) {
            let results = folder.path().join("mutants.out");
            for (file, is_missed) in [("caught.txt", false), ("timeout.txt", false), ("missed.txt", true)] {
                add(&mut modules, &results.join(file), is_missed);
            }
        }
    }
    println!("| module | changes | noticed |\n|---|---:|---:|");
    let (mut noticed, mut all) = (0, 0);
    for (module, ModuleScore { noticed: some, missed }) in &modules {
        let changes = some.len() + missed.len();
        println!("| {module} | {changes} | {} |", percent(some.len(), changes));
        (noticed, all) = (noticed + some.len(), all + changes);
    }
    println!("| all | {all} | {} |", percent(noticed, all));
    for missed in modules.values().flat_map(|module| &module.missed) {
        println!("not noticed: {missed}");
    }
    Ok(())
}

fn add(modules: &mut BTreeMap<String, ModuleScore>, results: &Path, is_missed: bool) {
    for change in fs::read_to_string(results).unwrap_or_default().lines() {
        let path = change.split(':').next().unwrap_or_default();
        let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside);
        let module = inside.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        let score = modules.entry(module.to_owned()).or_default();
        if is_missed { &mut score.missed } else { &mut score.noticed }.insert(change.to_owned());
    }
}

fn percent(part: usize, whole: usize) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}

fn folder() -> PathBuf {
    sources::root().join("target/mutants")
}
