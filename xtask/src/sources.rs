//! Locates the workspace, and runs cargo and other programs in it.

use anyhow::{Context as _, Result, bail};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The folder of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The `cargo` that started this program, in the workspace. It does not get this program's own `CARGO_PKG_` variables: build
/// scripts that read them (ring's) would run again, and cargo would build their dependents again, whenever this program is
/// started in a different way.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    let is_own = |name: &str| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.starts_with(start));
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_own)) {
        command.env_remove(name);
    }
    command
}

/// A child process, ended when dropped.
pub(crate) struct ChildGuard(pub(crate) Child);

impl Drop for ChildGuard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command to its end; fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {}", command.get_program().display()))?;
    if !status.success() {
        let arguments: Vec<_> = command.get_args().map(|argument| argument.to_string_lossy()).collect();
        bail!("{} {} failed ({status})", command.get_program().display(), arguments.join(" "));
    }
    Ok(())
}

/// The platform that rustc builds for.
pub(crate) fn host() -> Result<String> {
    let output = Command::new("rustc").args(["--print", "host-tuple"]).current_dir(root()).output()?;
    match output.status.success() {
        true => Ok(String::from_utf8(output.stdout)?.trim().to_owned()),
        false => bail!("rustc --print host-tuple failed"),
    }
}

/// Builds `taintward` and returns the path of the binary.
pub(crate) fn build_taintward(release: bool) -> Result<PathBuf> {
    let mut command = cargo();
    command.args(["build", "--package", "taintward", "--bin", "taintward"]);
    command.arg("--message-format=json-render-diagnostics");
    if release {
        command.arg("--release");
    }
    let output = command.stderr(Stdio::inherit()).output().context("starting cargo build")?;
    if !output.status.success() {
        bail!("building taintward failed");
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = messages.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    });
    executable.context("cargo build named no executable")
}
