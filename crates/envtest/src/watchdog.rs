//! Kills all child processes and removes the folder when this process ends in any way, from a small shell process.

use anyhow::{Context as _, Result};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;

/// Reads `+ pid` and `- pid` lines until the end of its input. Killed processes may still be writing for a moment, so
/// removal of the folder is retried until it succeeds.
const SCRIPT: &str = r#"
pids=
while read -r sign pid; do
  case $sign in
    +) pids="$pids $pid" ;;
    -) left=; for p in $pids; do [ "$p" = "$pid" ] || left="$left $p"; done; pids=$left ;;
  esac
done
for p in $pids; do kill -KILL "$p" 2>/dev/null; done
for i in 1 2 3 4 5 6 7 8 9 10; do rm -rf -- "$1" 2>/dev/null && break; sleep 0.1; done
"#;

/// Guards one folder and the processes that use it.
#[derive(Debug)]
pub(crate) struct Watchdog {
    pipe: Mutex<Option<ChildStdin>>,
    shell: Mutex<Child>,
}

impl Watchdog {
    /// Starts guarding `folder`.
    pub(crate) fn over(folder: &Path) -> Result<Self> {
        let mut shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "taintward-watchdog"])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Its own process group: Ctrl-C at the terminal must not end the watchdog with the rest.
            .process_group(0)
            .spawn()
            .context("starting /bin/sh as watchdog")?;
        Ok(Self { pipe: Mutex::new(shell.stdin.take()), shell: Mutex::new(shell) })
    }

    pub(crate) fn guard(&self, pid: u32) {
        self.report(&format!("+ {pid}\n"));
    }

    pub(crate) fn release(&self, pid: u32) {
        self.report(&format!("- {pid}\n"));
    }

    /// If the watchdog is gone, the processes' own `Drop` still ends them.
    fn report(&self, line: &str) {
        if let Ok(mut pipe) = self.pipe.lock()
            && let Some(pipe) = pipe.as_mut()
        {
            let _ = pipe.write_all(line.as_bytes());
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Ok(mut pipe) = self.pipe.lock() {
            pipe.take();
        }
        if let Ok(mut shell) = self.shell.lock() {
            let _ = shell.wait();
        }
    }
}
