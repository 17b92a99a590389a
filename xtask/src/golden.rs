//! Regenerates what tests and `fakekube` take from Kubernetes, with the Go programs in `xtask/cluster`.

use crate::sources;
use anyhow::{Context as _, Result};
use std::fs;
use std::process::{Command, Stdio};

/// Writes the golden rows of the core.
pub(crate) fn run() -> Result<()> {
    for rows in ["matching", "scheduling"] {
        keep(&["./golden", rows], &format!("crates/core/tests/golden/{rows}.txt"))?;
    }
    Ok(())
}

/// Writes the fields of the API from the Go types, and the roles of every cluster.
pub(crate) fn schema() -> Result<()> {
    keep(&["./schema"], "crates/fakekube/src/schema/kubernetes.txt")?;
    keep(&["./roles"], "crates/fakekube/src/bootstrap/roles.json")
}

/// Writes the rows of tables, as the API server's own printers print the sample objects next to them.
pub(crate) fn columns() -> Result<()> {
    keep(&["./columns"], "crates/fakekube/tests/golden/columns.txt")
}

/// Runs a program of the cluster's module, with its arguments, and writes its output to a file of the project.
fn keep(program: &[&str], file: &str) -> Result<()> {
    eprintln!("building the program (about two minutes the first time)");
    let mut command = Command::new("go");
    command.args(["run", "-mod=readonly"]).args(program).current_dir(sources::root().join("xtask/cluster"));
    // The same as for the control plane, so that common packages are built once.
    command.env("CGO_ENABLED", "0").stderr(Stdio::inherit());
    let output = sources::output(&mut command).context("running Go, which https://go.dev/dl installs")?;
    let file = sources::root().join(file);
    let same = fs::read_to_string(&file).is_ok_and(|old| old == output);
    fs::write(&file, output)?;
    println!("{}: {}", file.display(), if same { "unchanged" } else { "written" });
    Ok(())
}
