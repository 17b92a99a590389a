//! Locates the workspace, and runs cargo and other programs in it.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::iter;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The `cargo` that started this program, in the workspace. It does not get this program's own `CARGO_PKG_` variables: build
/// scripts that read them (ring's) would run again, and cargo would build their dependents again, whenever this program is
/// started in a different way.
pub(crate) fn cargo() -> Command {
    cargo_through(&[])
}

/// The same, started by the program that `through` names with its arguments.
pub(crate) fn cargo_through(through: &[&str]) -> Command {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = match through {
        [] => Command::new(cargo),
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments).arg(cargo);
            command
        }
    };
    command.current_dir(root());
    let is_own = |name: &str| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| name.starts_with(start));
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_own)) {
        command.env_remove(name);
    }
    command
}

/// A command as a person types it.
pub(crate) fn typed(command: &Command) -> String {
    let words = iter::once(command.get_program()).chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Runs a command to its end; fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("starting {}", command.get_program().display()))?;
    ensure!(status.success(), "{} failed ({status})", typed(command));
    Ok(())
}

/// Runs a command to its end and returns what it prints; fails if it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("starting {}", command.get_program().display()))?;
    let (status, complaint) = (output.status, String::from_utf8_lossy(&output.stderr));
    ensure!(status.success(), "{} failed ({status}): {complaint}", typed(command));
    Ok(String::from_utf8(output.stdout)?)
}

/// The platform that rustc builds for.
pub(crate) fn host() -> Result<String> {
    let host = output(Command::new("rustc").args(["--print", "host-tuple"]).current_dir(root()))?;
    Ok(host.trim().to_owned())
}

/// Runs `cargo build` or `cargo test` with these arguments, and returns its messages about artifacts.
pub(crate) fn build(arguments: &[&str]) -> Result<Vec<Value>> {
    let mut command = cargo();
    command.args(arguments).arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let messages = output(&mut command)?;
    Ok(messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

/// Builds `taintward` and returns the path of the binary.
pub(crate) fn build_taintward(release: bool) -> Result<PathBuf> {
    let profile: &[&str] = if release { &["--release"] } else { &[] };
    let messages = build(&[&["build", "--package", "taintward", "--bin", "taintward"], profile].concat())?;
    let executable = messages.iter().rev().find_map(|message| message["executable"].as_str());
    executable.map(PathBuf::from).context("cargo build named no executable")
}

/// Copies the files that git knows to this folder, which is made.
pub(crate) fn copy_to(copy: &Path) -> Result<()> {
    let files = output(Command::new("git").args(["ls-files"]).current_dir(root()))?;
    for file in files.lines().filter(|file| root().join(file).is_file()) {
        let (from, to) = (root().join(file), copy.join(file));
        fs::create_dir_all(to.parent().unwrap_or(copy))?;
        let is_same = fs::read(&to).is_ok_and(|old| fs::read(&from).is_ok_and(|new| new == old));
        if !is_same {
            fs::copy(&from, &to).with_context(|| format!("copying {file}"))?;
        }
    }
    Ok(())
}
