//! Runs `cargo xtask mutants`: changes the code in many small ways, one at a time, and lists the changes that no test notices.
//!
//! - cargo-mutants proposes the changes. It would build the tests anew for each of them, which takes a minute and a half for
//!   one change of the core and a week for all; here, one program has all changes behind switches, and a change is tried by the
//!   tests that reach it, until one fails.
//! - MutantScores are kept in `target/mutants`, so a run that was interrupted goes on, and a later one tries only what was missed.

mod mutant;
mod scores;
mod switch_build;
mod switches;
mod trial;

use crate::sources;
use anyhow::{Context as _, Result};
use clap::ValueEnum;
use mutant::Mutant;
use scores::{MutantResult, MutantScores};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use switch_build::SwitchPackage;
use trial::Trial;
use xtask::cargo_tool::MUTANTS;

#[derive(clap::Args)]
pub(crate) struct MutantsArgs {
    /// The code to change
    #[arg(long, value_enum, default_value_t = MutantScope::Core)]
    scope: MutantScope,
    /// Only the part K of N equal parts, such as 3/200
    #[arg(long, value_name = "K/N", value_parser = part)]
    part: Option<(usize, usize)>,
    /// Only files whose path contains this, such as eviction/cache
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    file: String,
    /// Only print the score of what was tried so far
    #[arg(long, conflicts_with_all = ["part", "file"])]
    score: bool,
}

/// The sizes of random tests: a change that only a larger number of cases notices is a gap of the others.
const SIZES: [(&str, &str); 2] = [("PROPTEST_CASES", "200"), ("WORLDS", "200")];

/// The exhaustive search takes minutes.
const SKIPPED: &str = "no_interleaving";

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

    /// The package, and the files that are changed.
    const fn code(self) -> (&'static str, &'static str) {
        match self {
            Self::Core => ("--package=taintward-core", "crates/core/src/**/*.rs"),
            Self::Watch => ("--package=taintward-kube", "crates/kube/src/watch{.rs,/**/*.rs}"),
            Self::LeaderElection => {
                ("--package=taintward-kube", "crates/kube/src/leader_election{.rs,/**/*.rs}")
            }
        }
    }

    /// The test programs that have to notice.
    const fn tests(self) -> &'static [&'static str] {
        match self {
            Self::Core => &["--package=taintward-core", "--lib", "--test=engines"],
            Self::Watch => &["--package=taintward-kube", "--lib", "--test=watch"],
            Self::LeaderElection => &["--package=taintward-kube", "--lib", "--test=client"],
        }
    }
}

fn part(text: &str) -> Result<(usize, usize), String> {
    let numbers =
        text.split_once('/').and_then(|(part, parts)| Some((part.parse().ok()?, parts.parse().ok()?)));
    let valid = numbers.filter(|(part, parts): &(usize, usize)| (1..=*parts).contains(part));
    valid.ok_or_else(|| "expected a part such as 3/200".to_owned())
}

pub(crate) fn run(arguments: &MutantsArgs) -> Result<()> {
    let scope = arguments.scope;
    let mut results = MutantScores::open(&folder().join(format!("{}.jsonl", scope.name())))?;
    if !arguments.score {
        // The checkout may be edited in the meantime.
        let copy = folder().join("checkout");
        sources::copy_to(&copy)?;
        run_part(arguments, &copy, &mut results)?;
    }
    results.print(&proposed(scope, sources::root())?)
}

/// Tries a part of the changes of a scope, and prints the score.
pub(crate) fn run_scope(scope: MutantScope, part: (usize, usize)) -> Result<()> {
    run(&MutantsArgs { scope, part: Some(part), file: String::new(), score: false })
}

fn proposed(scope: MutantScope, root: &Path) -> Result<Vec<Mutant>> {
    let (package, files) = scope.code();
    let mut list = Command::new(MUTANTS.find_or_build()?);
    list.args(["mutants", package, "--file", files, "--list", "--json", "--diff"]);
    Mutant::list(&sources::output(list.current_dir(root))?)
}

fn run_part(arguments: &MutantsArgs, copy: &Path, results: &mut MutantScores) -> Result<()> {
    let scope = arguments.scope;
    let (part, parts) = arguments.part.unwrap_or((1, 1));
    let mutations = proposed(scope, copy)?;
    let is_chosen = |(number, mutation): &(usize, &Mutant)| {
        number % parts == part - 1
            && mutation.file().contains(&arguments.file)
            && !results.is_settled(mutation)
    };
    let chosen: Vec<usize> =
        mutations.iter().enumerate().filter(is_chosen).map(|(number, _)| number).collect();
    if chosen.is_empty() {
        return Ok(());
    }
    eprintln!("building {} with {} changes", scope.name(), mutations.len());
    let built = SwitchPackage::new(copy, scope.code().0, scope.tests(), &mutations)?.build()?;
    let trial = Trial::new(built.programs, folder().join("runs"), (SKIPPED, &SIZES))?;
    eprintln!("{} tests; {} changes to try", trial.len(), chosen.len());
    let mut numbers = Vec::new();
    for number in chosen {
        let mutation = mutations.get(number).context("a number of no change")?;
        if built.invalid.contains(&number) {
            results.add(mutation, MutantResult::Invalid)?;
        } else if built.switched.contains(&number) {
            numbers.push(number);
        } else {
            results.add(mutation, MutantResult::NoSwitch)?;
        }
    }
    let shared = Mutex::new(results);
    trial.run(&numbers, |number, result| {
        let mutation = mutations.get(number).context("a number of no change")?;
        let mut results = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        results.add(mutation, result.into())
    })
}

fn folder() -> PathBuf {
    sources::root().join("target/mutants")
}
