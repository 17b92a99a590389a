//! Installs the official Kubernetes clients of Python and Node.js, in pinned versions, into the user's cache.

use crate::binaries::had_for_test;
use crate::pinned_tool::{cache_folder, fingerprint};
use anyhow::{Context as _, Result, bail};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PYTHON: &str = include_str!("../clients/requirements.txt");
const NODE: &str = include_str!("../clients/package.json");
const NODE_LOCK: &str = include_str!("../clients/package-lock.json");

/// A Python interpreter that has the client, for a test; `None` if there is none: then the test is reported as skipped,
/// unless `CI=true`, which fails it.
pub fn python_for_test(test: &str) -> Option<PathBuf> {
    had_for_test(test, "the Python client of Kubernetes", python())
}

/// A folder whose scripts find the client for Node.js; `None` as for Python.
pub fn node_for_test(test: &str) -> Option<PathBuf> {
    had_for_test(test, "the Node.js client of Kubernetes", node_client())
}

fn python() -> Result<PathBuf> {
    installed("python-client", PYTHON, |folder| {
        let venv = folder.join("venv");
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
        let wanted = folder.join("requirements.txt");
        fs::write(&wanted, PYTHON)?;
        run(Command::new(venv.join("bin/pip")).args(["install", "--quiet", "--no-deps", "-r"]).arg(wanted))
    })
    .map(|folder| folder.join("venv/bin/python"))
}

fn node_client() -> Result<PathBuf> {
    installed("node-client", NODE_LOCK, |folder| {
        fs::write(folder.join("package.json"), NODE)?;
        fs::write(folder.join("package-lock.json"), NODE_LOCK)?;
        let flags = ["ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts"];
        run(Command::new("npm").args(flags).current_dir(folder))
    })
}

/// The folder of a client in exactly these versions; installs it if it is missing.
fn installed(name: &str, versions: &str, install: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let folder = cache_folder()?.join(name).join(fingerprint(versions.bytes()));
    let complete = folder.join("complete");
    fs::create_dir_all(&folder)?;
    let lock = File::create(folder.join("lock"))?;
    lock.lock()?;
    if !complete.exists() {
        eprintln!("installing {name}, once, into {} (less than a minute)", folder.display());
        install(&folder)?;
        File::create(complete)?;
    }
    Ok(folder)
}

fn run(command: &mut Command) -> Result<()> {
    let done = command.stdin(Stdio::null()).output();
    let done = done.with_context(|| format!("cannot start {}", command.get_program().display()))?;
    if !done.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&done.stderr).trim_end());
    }
    Ok(())
}
