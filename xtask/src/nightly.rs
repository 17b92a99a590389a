//! Runs `cargo xtask nightly`: ignored tests, optimised, outages of up to a minute on a real API server, all alerts on
//! a real Prometheus, and what needs an API server on each pinned version of Kubernetes.

use crate::matrix::{self, MatrixArgs};
use crate::{observability_test, runner_timeout, sources};
use anyhow::Result;

#[derive(clap::Args)]
pub(crate) struct NightlyArgs {
    /// Run only ignored tests whose names contain one of these
    names: Vec<String>,
}

/// Programs that have such tests. Those that choose their scenarios by themselves know no `--ignored`.
const PROGRAMS: [&[&str]; 2] = [
    &["--package", "taintward-core", "--package", "taintward-kube", "--package", "taintward-admission"],
    &["--package", "taintward", "--test", "managed_real"],
];

/// Seconds for which the API server, its etcd or the network is away.
const OUTAGES: &str = "10,30,60";

pub(crate) async fn run(arguments: &NightlyArgs) -> Result<()> {
    for programs in PROGRAMS {
        let mut command = sources::cargo();
        command.args(["test", "--release", "--no-fail-fast", "--config", &runner_timeout::runner()?]);
        command.args(programs).args(["--", "--show-output", "--ignored"]).args(&arguments.names);
        // A machine without a control plane is a failure, not a reason to skip.
        sources::run(command.env("CI", "true"))?;
    }
    if !arguments.names.is_empty() {
        return Ok(());
    }
    let mut command = sources::cargo();
    command.args(["test", "--package", "taintward", "--test", "real_server", "--", "--nocapture", "outages"]);
    sources::run(command.env("TAINTWARD_OUTAGES", OUTAGES).env("CI", "true"))?;
    observability_test::test(&[]).await?;
    matrix::run(&MatrixArgs::default()).await
}
