//! Runs `cargo xtask nightly`: ignored tests, optimised, outages of up to a minute on a real API server, and what needs
//! one on each pinned version of Kubernetes.

use crate::matrix::{self, MatrixArgs};
use crate::{runner_timeout, sources};
use anyhow::Result;

#[derive(clap::Args)]
pub(crate) struct NightlyArgs {
    /// Run only ignored tests whose names contain one of these
    names: Vec<String>,
}

/// The crates that have such tests. Programs of tests that choose their scenarios by themselves know no `--ignored`.
const CRATES: [&str; 3] = ["taintward-core", "taintward-kube", "taintward-admission"];

/// Seconds for which the API server, its etcd or the network is away.
const OUTAGES: &str = "10,30,60";

pub(crate) async fn run(arguments: &NightlyArgs) -> Result<()> {
    let mut command = sources::cargo();
    command.args(["test", "--release", "--no-fail-fast", "--config", &runner_timeout::runner()?]);
    command.args(CRATES.iter().flat_map(|name| ["--package", name]));
    command.args(["--", "--ignored"]).args(&arguments.names);
    sources::run(&mut command)?;
    if !arguments.names.is_empty() {
        return Ok(());
    }
    let mut command = sources::cargo();
    command.args(["test", "--package", "taintward", "--test", "real_server", "--", "--nocapture", "outages"]);
    // A machine without a control plane is a failure, not a reason to skip.
    sources::run(command.env("TAINTWARD_OUTAGES", OUTAGES).env("CI", "true"))?;
    matrix::run(&MatrixArgs::default()).await
}
