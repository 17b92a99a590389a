//! Runs `cargo xtask matrix`: all tests that need a real control plane, on each pinned version of Kubernetes.
//!
//! - What came of it is kept in `xtask/cluster/results`, and docs/versions.md is written from all of it.

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
    /// Only this version, such as 1.34; for several, say it several times. Of the others the page keeps what is recorded
    #[arg(long = "version", value_name = "VERSION", value_parser = Release::named)]
    versions: Vec<&'static Release>,
    /// Only this test program; for several, say it several times. Of the others the page keeps what is recorded
    #[arg(long = "suite", value_name = "NAME", value_parser = suites::named)]
    suites: Vec<&'static str>,
}

pub(crate) async fn run(arguments: &MatrixArgs) -> Result<()> {
    binaries::find_or_build_kwok()?;
    binaries::find_or_build_helm()?;
    let programs = Programs::build()?;
    let mut failed = Vec::new();
    for release in &RELEASES {
        let wanted = |one: &&Release| one.name() == release.name();
        if arguments.versions.is_empty() || arguments.versions.iter().any(wanted) {
            failed.extend(try_release(release, &programs, &arguments.suites).await?);
            page::write()?;
        }
    }
    ensure!(failed.is_empty(), "these tests failed, also when they ran again alone: {}", failed.join(", "));
    Ok(())
}

/// Runs the suites on one version, all if none is named; says what failed. Each result is kept at once, so that a run
/// that is interrupted is not lost.
async fn try_release(release: &Release, programs: &Programs, only: &[&str]) -> Result<Vec<String>> {
    let tools = Binaries::build(release)?;
    let mut record = Record::read(release)?;
    record.probes = probes::ask(&tools).await?;
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
