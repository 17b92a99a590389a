//! Runs `cargo xtask nightly`: the tests that take too long for every change.

use crate::campaign::{self, CampaignArgs};
use crate::fuzz::{self, FuzzArgs};
use crate::guards::{self, GuardsArgs};
use crate::matrix::{self, MatrixArgs};
use crate::mutants::{self, MutantScope};
use crate::{observability_test, runner_timeout, sources};
use anyhow::Result;
use clap::ValueEnum;
use std::time::{SystemTime, UNIX_EPOCH};
use taintward_envtest::{Binaries, binaries};

#[derive(clap::Args)]
pub(crate) struct NightlyArgs {
    /// Run only this part; repeat the flag for several
    #[arg(long = "part", value_name = "PART")]
    parts: Vec<NightlyPart>,
    /// Run only ignored tests whose names contain one of these
    #[arg(conflicts_with = "parts")]
    names: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum NightlyPart {
    /// Ignored tests, optimized
    Ignored,
    /// Outages of up to a minute on a real API server
    Outages,
    /// Node lifecycle of five hundred nodes on a real API server
    Fleet,
    /// Exhaustive search of the engines' states, five times as many as in CI
    Exhaustive,
    /// Random histories of the engines, fifty times as many as in CI
    Random,
    /// A million random worlds of the eviction engine with a model of the API server
    Worlds,
    /// Small changes of the code that tests have to notice: another part each night
    Mutants,
    /// One guard of the engines removed at a time
    Guards,
    /// Random worlds in the simulation, ten times as many as in CI
    Simulation,
    /// Faults on a real control plane: 500 episodes, two at a time, in about an hour
    Campaign,
    /// Each fuzz target for ten minutes
    Fuzz,
    /// All alerts and dashboards on a real Prometheus
    Alerts,
    /// The tests that need a control plane, on each pinned version of Kubernetes
    Matrix,
}

/// Programs that have ignored tests. Programs that choose their scenarios by themselves do not support `--ignored`.
const PROGRAMS: [&str; 2] = [
    "--package taintward-core --package taintward-kube --package taintward-admission",
    "--package taintward --test managed_real",
];

/// Seconds for which the API server, its etcd or the network is unavailable.
const OUTAGES: &str = "10,30,60";

/// Nodes that renew their leases.
const FLEET_NODES: &str = "500";

/// States of each scope of the exhaustive search.
const EXHAUSTIVE_STATES: &str = "200000";

/// Random histories with many watch events, lost requests and restarts.
const HISTORIES: &str = "100000";

/// Worlds of the eviction engine, by their numbers.
const WORLDS: &str = "1000000";

/// Parts of the changes of each scope, one for each night.
const MUTANT_PARTS: [(MutantScope, usize); 3] =
    [(MutantScope::Core, 100), (MutantScope::Watch, 10), (MutantScope::LeaderElection, 5)];

/// Worlds that the simulation generates.
const SEEDS: &str = "10000";

pub(crate) async fn run(arguments: &NightlyArgs) -> Result<()> {
    let all = NightlyPart::value_variants();
    let parts = match (&*arguments.parts, &*arguments.names) {
        ([], []) => all,
        ([], _) => &[NightlyPart::Ignored],
        (parts, _) => parts,
    };
    for part in all.iter().filter(|part| parts.contains(part)) {
        match part {
            NightlyPart::Ignored => ignored(&arguments.names)?,
            NightlyPart::Outages => outages()?,
            NightlyPart::Fleet => fleet()?,
            NightlyPart::Exhaustive => engines("exhaustive", ("EXHAUSTIVE_STATES", EXHAUSTIVE_STATES))?,
            NightlyPart::Random => engines("in_a_storm", ("PROPTEST_CASES", HISTORIES))?,
            NightlyPart::Worlds => engines("worlds", ("WORLDS", WORLDS))?,
            NightlyPart::Mutants => mutants()?,
            NightlyPart::Guards => guards::run(&GuardsArgs::default())?,
            NightlyPart::Simulation => simulation()?,
            NightlyPart::Campaign => campaign::run(&CampaignArgs::nightly())?,
            NightlyPart::Fuzz => fuzz::run(&FuzzArgs { seconds: 600, targets: Vec::new() })?,
            NightlyPart::Alerts => observability_test::test(&[]).await?,
            NightlyPart::Matrix => matrix::run(&MatrixArgs::default()).await?,
        }
    }
    Ok(())
}

fn ignored(names: &[String]) -> Result<()> {
    control_plane()?;
    for programs in PROGRAMS {
        let mut command = sources::cargo();
        command.args(["test", "--release", "--no-fail-fast", "--config", &runner_timeout::runner()?]);
        command.args(programs.split(' ')).args(["--", "--show-output", "--ignored"]).args(names);
        // A machine without a control plane is a failure, not a reason to skip.
        sources::run(command.env("CI", "true"))?;
    }
    Ok(())
}

fn outages() -> Result<()> {
    control_plane()?;
    let mut command = sources::cargo();
    command.args("test --package taintward --test real_server -- --nocapture outages".split(' '));
    sources::run(command.env("TAINTWARD_OUTAGES", OUTAGES).env("CI", "true"))
}

fn fleet() -> Result<()> {
    control_plane()?;
    let mut command = sources::cargo();
    command.args("test --package taintward --test lifecycle".split(' '));
    sources::run(command.env("TAINTWARD_LIFECYCLE_NODES", FLEET_NODES).env("CI", "true"))
}

/// Those tests of the engines whose names contain this, at this size.
fn engines(names: &str, (variable, size): (&str, &str)) -> Result<()> {
    let mut command = sources::cargo();
    command
        .args("test --release --package taintward-core --test engines -- --nocapture".split(' '))
        .arg(names);
    sources::run(command.env(variable, size))
}

fn mutants() -> Result<()> {
    let days = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs() / 86_400;
    for (scope, parts) in MUTANT_PARTS {
        let part = usize::try_from(days)? % parts + 1;
        mutants::run_scope(scope, (part, parts))?;
    }
    Ok(())
}

fn simulation() -> Result<()> {
    let mut command = sources::cargo();
    command.args("test --release --package taintward-sandbox --test simulation".split(' '));
    sources::run(command.env("TAINTWARD_SEEDS", SEEDS))
}

fn control_plane() -> Result<()> {
    binaries::KWOK.find_or_build()?;
    Binaries::find_or_build().map(drop)
}
