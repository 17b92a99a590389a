//! Writes deploy/install.yaml, deploy/bounds.yaml and the chart's definitions with `taintward install`; a test compares them.

use crate::sources;
use anyhow::{Result, bail};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

pub(crate) fn run() -> Result<()> {
    let program = sources::build_taintward(false)?;
    let deploy = sources::root().join("deploy");
    sources::run(Command::new(&program).args(["install", "--chart"]).arg(deploy.join("chart")))?;
    let installed = printed(&program, &[])?;
    let bounds = printed(&program, &BOUNDS)?;
    for (name, text) in [("install.yaml", installed), ("bounds.yaml", by_hand(&bounds))] {
        let file = deploy.join(name);
        fs::write(&file, text)?;
        println!("the manifests: {}", file.display());
    }
    Ok(())
}

/// The policies that restrict the account, named as the roles of deploy/rbac*.yaml are, so that they are separate from those of an
/// installation. With labels, they would be a part of it.
fn by_hand(manifests: &str) -> String {
    let bounds = |one: &&str| {
        one.contains("kind: ValidatingAdmissionPolicy") && one.contains("  name: taintward-controller-")
    };
    let policies = manifests.split("---\n").filter(bounds);
    let is_label = |line: &str| line == "  labels:" || line.starts_with("    app.kubernetes.io/");
    let lines = |one: &str| -> String {
        one.lines().filter(|line| !is_label(line)).map(|line| format!("{line}\n")).collect()
    };
    let all: Vec<String> = policies.map(lines).collect();
    all.join("---\n").replace("taintward-controller-", "taintward-")
}

/// The flags for the restrictions of the account of deploy/rbac*.yaml, whichever of these files are applied.
const BOUNDS: [&str; 4] = [
    "--namespace=kube-system",
    "--parts=controller",
    "--controllers=*,node-lifecycle-controller,dedicated-pool-controller",
    "--stamp-taints",
];

fn printed(program: &Path, flags: &[&str]) -> Result<String> {
    let output = Command::new(program).arg("install").args(flags).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!("{} install failed ({})", program.display(), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}
