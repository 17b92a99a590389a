//! Runs programs that need no control plane in a private folder of their own.

use crate::process::ChildProcess;
use crate::watchdog::Watchdog;
use anyhow::{Context as _, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A private folder. Dropped, or its owner killed, the programs that run in it end and it is removed.
#[derive(Debug)]
pub struct ProcessFolder {
    path: PathBuf,
    watchdog: Arc<Watchdog>,
}

impl ProcessFolder {
    /// Creates one with a name of its own that begins like this.
    pub fn create(prefix: &str) -> Result<Self> {
        let path = private_folder(prefix)?;
        let watchdog = Arc::new(Watchdog::over(&path)?);
        Ok(Self { path, watchdog })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts a program; its output is kept in the folder.
    pub fn run(&self, name: &str, command: Command) -> Result<ChildProcess> {
        run(&self.path, name, command, &self.watchdog)
    }
}

/// Starts a program with its output in a file of its own in `folder`.
pub(crate) fn run(
    folder: &Path,
    name: &str,
    command: Command,
    watchdog: &Arc<Watchdog>,
) -> Result<ChildProcess> {
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    let log = folder.join(format!("{name}-{}.log", RUNS.fetch_add(1, Ordering::Relaxed)));
    ChildProcess::start(name, command, &log, watchdog)
}

/// A new folder that only this process's user can read: it will hold keys.
pub(crate) fn private_folder(prefix: &str) -> Result<PathBuf> {
    static FOLDERS: AtomicUsize = AtomicUsize::new(0);
    let number = FOLDERS.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("{prefix}-{}-{number}", std::process::id()));
    fs::create_dir(&folder).with_context(|| format!("creating {}", folder.display()))?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
    Ok(folder)
}
