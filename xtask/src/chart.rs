//! # Chart: what `taintward install` makes, kept in the checkout
//! Room:     runs the program and keeps what it writes.
//! Comes in: the checkout.
//! Goes out: deploy/chart, deploy/install.yaml. A test fails when they are not what the program makes.
//! Not here: the objects (`crates/cli/src/install`).

use crate::sources;
use anyhow::{Result, bail};
use std::fs;
use std::process::{Command, Stdio};

pub(crate) fn run() -> Result<()> {
    let program = sources::build_taintward(false)?;
    let deploy = sources::root().join("deploy");
    sources::run(Command::new(&program).args(["install", "--chart"]).arg(deploy.join("chart")))?;
    let output = Command::new(&program).arg("install").stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("{} install failed ({})", program.display(), output.status);
    }
    let file = deploy.join("install.yaml");
    fs::write(&file, output.stdout)?;
    println!("the manifests: {}", file.display());
    Ok(())
}
