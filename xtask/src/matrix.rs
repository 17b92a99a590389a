//! Runs `cargo xtask matrix`: all tests that need a real control plane, on each pinned version of Kubernetes.
//!
//! - It keeps the results in `xtask/cluster/results`, and writes docs/versions.md from all of them.

mod page;
mod probes;
mod record;
mod suites;

use anyhow::{Result, ensure};
use record::Record;
use suites::{Programs, SUITES};
use taintward_envtest::releases::RELEASES;
use taintward_envtest::{Binaries, Release, binaries};

#[derive(clap::Args, Default)]
pub(crate) struct MatrixArgs {
    /// Run only this version, such as 1.34; repeat the flag for several. The page keeps the recorded results of the
    /// others
    #[arg(long = "version", value_name = "VERSION", value_parser = Release::named)]
    versions: Vec<&'static Release>,
    /// Run only this test program; repeat the flag for several. The page keeps the recorded results of the others
    #[arg(long = "suite", value_name = "NAME", value_parser = suites::named)]
    suites: Vec<&'static str>,
}

pub(crate) async fn run(arguments: &MatrixArgs) -> Result<()> {
    binaries::KWOK.find_or_build()?;
    binaries::HELM.find_or_build()?;
    let programs = Programs::build()?;
    let mut failed = Vec::new();
    for release in &RELEASES {
        let wanted = |one: &&Release| one.name() == release.name();
        if arguments.versions.is_empty() || arguments.versions.iter().any(wanted) {
            failed.extend(try_release(release, &programs, &arguments.suites).await?);
            page::write()?;
        }
    }
    ensure!(
        failed.is_empty(),
        "these tests failed, and failed again when they ran alone: {}",
        failed.join(", ")
    );
    Ok(())
}

/// Runs the suites on one version, all if none is named, and returns the failed tests. Each result is written
/// immediately, so that an interrupted run is not lost.
async fn try_release(release: &Release, programs: &Programs, only: &[&str]) -> Result<Vec<String>> {
    let tools = Binaries::build(release)?;
    let mut record = Record::read(release)?;
    record.probes = probes::request(&tools).await?;
    let mut failed = Vec::new();
    for suite in SUITES.iter().filter(|suite| only.is_empty() || only.contains(&suite.name)) {
        let result = suite.run(programs, release)?;
        eprintln!("Kubernetes {}: {}: {}", release.name(), suite.name, result.in_words());
        failed.extend(
            result.failed.iter().map(|test| format!("{test} of {} on {}", suite.name, release.name())),
        );
        record.suites.insert(suite.name.to_owned(), result);
        record.write(release)?;
    }
    Ok(failed)
}
