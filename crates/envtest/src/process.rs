//! Runs one child process with its output in a file, and pauses, stops or kills it.
//!
//! - Invariant: the process ends with its owner, even when that is killed (`watchdog.rs`).

use crate::watchdog::Watchdog;
use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A running child process, ended when dropped.
#[derive(Debug)]
pub struct ChildProcess {
    name: String,
    child: Child,
    log: PathBuf,
    watchdog: Arc<Watchdog>,
}

impl ChildProcess {
    /// Starts `command`; standard output and error are appended to `log`.
    pub(crate) fn start(
        name: &str,
        mut command: Command,
        log: &Path,
        watchdog: &Arc<Watchdog>,
    ) -> Result<Self> {
        let out = File::options().create(true).append(true).open(log)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(0)
            .spawn()
            .with_context(|| format!("starting {name} ({})", command.get_program().display()))?;
        watchdog.guard(child.id());
        Ok(Self { name: name.into(), child, log: log.into(), watchdog: Arc::clone(watchdog) })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything it has printed so far.
    pub fn output(&self) -> String {
        std::fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// The file its output goes to.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// How it ended; `None` while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Fails with the last lines of its output if it has ended.
    pub fn expect_running(&mut self) -> Result<()> {
        let Some(status) = self.ended() else { return Ok(()) };
        bail!("{} ended by itself ({status}). Its last words:\n{}", self.name, self.last_words())
    }

    /// The end of its output.
    pub fn last_words(&self) -> String {
        let output = self.output();
        let lines: Vec<&str> = output.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }

    /// Pauses it (SIGSTOP): connections stay open, but get no response. Returns once all threads have stopped: until
    /// then, which may be after the signal, a request may still get its response.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)?;
        // The state stays waitable, so that pausing a paused process does not wait indefinitely.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let found = waitid(WaitId::Pid(self.id()?), options)
            .with_context(|| format!("waiting until {} stands still", self.name))?;
        if !found.is_some_and(|status| status.stopped()) {
            bail!("{} ended instead of standing still", self.name);
        }
        Ok(())
    }

    /// Resumes a paused process (SIGCONT).
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    /// Kills it immediately (SIGKILL) and waits until it is gone.
    pub fn kill(&mut self) -> Result<ExitStatus> {
        self.child.kill()?;
        Ok(self.child.wait()?)
    }

    /// Requests its end (SIGTERM) and waits; fails, and kills it, if it has not ended within `timeout`.
    pub fn stop(&mut self, timeout: Duration) -> Result<ExitStatus> {
        self.signal(Signal::TERM)?;
        let start = Instant::now();
        while start.elapsed() < timeout {
            if let Some(status) = self.ended() {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill()?;
        bail!("{} did not end within {timeout:?} after SIGTERM", self.name)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        kill_process(self.id()?, signal).with_context(|| format!("sending {signal:?} to {}", self.name))
    }

    fn id(&self) -> Result<Pid> {
        i32::try_from(self.pid()).ok().and_then(Pid::from_raw).context("process id out of range")
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if self.ended().is_none() {
            let _ = self.kill();
        }
        self.watchdog.release(self.pid());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// States of all threads, as in the third column of `/proc/PID/task/TID/stat`; `T` is stopped.
    fn states(pid: u32) -> Vec<String> {
        std::fs::read_dir(format!("/proc/{pid}/task"))
            .unwrap()
            .map(|thread| std::fs::read_to_string(thread.unwrap().path().join("stat")).unwrap())
            .map(|stat| stat.rsplit_once(") ").unwrap().1[..1].to_owned())
            .collect()
    }

    #[test]
    fn a_paused_program_stands_still() {
        const ROLE: &str = "TAINTWARD_TEST_BUSY";
        if std::env::var_os(ROLE).is_some() {
            for _ in 0..32 {
                std::thread::spawn(|| {
                    loop {
                        std::hint::spin_loop();
                    }
                });
            }
            std::thread::sleep(Duration::from_secs(60));
            return;
        }
        let folder = std::env::temp_dir().join(format!("taintward-pause-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let watchdog = Arc::new(Watchdog::over(&folder).unwrap());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "process::tests::a_paused_program_stands_still"]).env(ROLE, "yes");
        let mut busy = ChildProcess::start("busy", command, &folder.join("log"), &watchdog).unwrap();
        while states(busy.pid()).len() < 32 {
            busy.expect_running().unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
        for _ in 0..20 {
            busy.pause().unwrap();
            assert!(states(busy.pid()).iter().all(|state| state == "T"), "{:?}", states(busy.pid()));
            busy.pause().unwrap();
            busy.resume().unwrap();
        }
    }
}
