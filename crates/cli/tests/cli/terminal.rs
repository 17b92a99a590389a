//! Runs a command on a pseudo-terminal.

#![allow(dead_code, reason = "each test binary uses some of it")]

use super::timeout::Output;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

/// Both ends of a terminal: the user's and the program's.
fn pair() -> (File, File) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap().into_string().unwrap();
    let end = OpenOptions::new().read(true).write(true).open(name).unwrap();
    (File::from(screen), end)
}

pub(crate) struct TestTerminal {
    keys: File,
    screen: Output,
    child: Child,
    shown: String,
}

impl TestTerminal {
    pub(crate) fn with(command: Command) -> Self {
        Self::start(command, true)
    }

    /// Connects input and output of the command to the terminal.
    pub(crate) fn whole(command: Command) -> Self {
        let (screen, end) = pair();
        Self::connected(command, screen, end)
    }

    fn connected(mut command: Command, screen: File, end: File) -> Self {
        command.stdin(Stdio::from(end.try_clone().unwrap())).stderr(Stdio::from(end.try_clone().unwrap()));
        let child = command.stdout(Stdio::from(end)).spawn().unwrap();
        Self::at(screen, child)
    }

    /// The same, on a terminal of this size.
    pub(crate) fn sized(command: Command, columns: u16, rows: u16) -> Self {
        let (screen, end) = pair();
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&screen, size).unwrap();
        Self::connected(command, screen, end)
    }

    /// Connects only the input to the terminal.
    pub(crate) fn with_input(command: Command) -> Self {
        Self::start(command, false)
    }

    fn start(mut command: Command, contains: bool) -> Self {
        let (screen, end) = pair();
        if contains {
            command.stderr(Stdio::from(end.try_clone().unwrap()));
        }
        let child = command.stdin(Stdio::from(end)).stdout(Stdio::piped()).spawn().unwrap();
        Self::at(screen, child)
    }

    fn at(screen: File, child: Child) -> Self {
        let keys = screen.try_clone().unwrap();
        Self { keys, screen: Output::of(screen), child, shown: String::new() }
    }

    /// Waits until this is shown. Returns everything shown up to then.
    pub(crate) fn until(&mut self, what: &str) -> String {
        while !self.shown.contains(what) {
            assert!(self.more(), "it ended without saying {what:?}: {}", self.shown);
        }
        std::mem::take(&mut self.shown)
    }

    pub(crate) fn interrupt(&self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Returns the exit code, the output since the last call, and all of standard output.
    pub(crate) fn ends(mut self) -> (i32, String, String) {
        let mut out = String::new();
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut out).unwrap();
        }
        let code = self.child.wait().unwrap().code().unwrap();
        while self.more() {}
        (code, std::mem::take(&mut self.shown), out)
    }

    /// Reads more output. Returns `false` at the end, when no process has the terminal open.
    fn more(&mut self) -> bool {
        let more = self.screen.more(&self.shown);
        self.shown += &more.as_ref().map(|bytes| String::from_utf8_lossy(bytes)).unwrap_or_default();
        more.is_some()
    }
}

impl Drop for TestTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
