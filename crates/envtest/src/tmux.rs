//! Types into a terminal of a given size as a person does, and captures its screen: tmux with a server of its own.
//!
//! - Invariant: tmux and what runs in it end with their owner, even when that is killed (`watchdog.rs`).

use crate::binaries::had_for_test;
use crate::watchdog::Watchdog;
use anyhow::{Context as _, Result, ensure};
use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The whole screen belongs to the shell, which reads no file of the user's.
const CONFIG: &str = "set -g status off\nset -g default-command sh\n";

/// Root's prompt would be another one.
const SHELL: &str = "PS1='$ '\n";

/// A terminal with a shell whose prompt is `$ `.
#[derive(Debug)]
pub struct Tmux {
    folder: PathBuf,
    path: String,
    watchdog: Watchdog,
    pid: u32,
}

impl Tmux {
    /// A terminal for a test, or `None` where tmux is not installed, as with [`crate::binaries::for_test`]. The shell
    /// starts in `folder`, which is its HOME too, and finds programs in `path`.
    pub fn for_test(test: &str, (columns, rows): (u16, u16), folder: &str, path: &str) -> Option<Self> {
        had_for_test(test, "tmux", Self::start((columns, rows), folder, path))
    }

    fn start((columns, rows): (u16, u16), home: &str, path: &str) -> Result<Self> {
        let folder = env::temp_dir().join(format!("taintward-tmux-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join("config"), CONFIG)?;
        fs::write(folder.join("shell"), SHELL)?;
        let watchdog = Watchdog::over(&folder)?;
        let mut tmux = Self { folder, path: path.to_owned(), watchdog, pid: 0 };
        let mut first = tmux.command(&["new-session", "-d", "-c", home]);
        first.args(["-x", &columns.to_string(), "-y", &rows.to_string()]);
        first.env("HOME", home).env("ENV", tmux.folder.join("shell")).env("TZ", "UTC");
        first.env_remove("KUBECONFIG").env_remove("CI");
        finish(&mut first)?;
        tmux.pid = tmux.run(&["display-message", "-p", "#{pid}"])?.trim().parse()?;
        tmux.watchdog.guard(tmux.pid);
        Ok(tmux)
    }

    /// Opens a second terminal, and shows it.
    pub fn open(&self, home: &str) -> Result<()> {
        self.run(&["new-window", "-c", home]).map(drop)
    }

    /// Shows the terminal of this number; the first is 0.
    pub fn show(&self, window: u8) -> Result<()> {
        self.run(&["select-window", "-t", &format!(":{window}")]).map(drop)
    }

    /// Types these characters.
    pub fn types(&self, keys: &str) -> Result<()> {
        self.run(&["send-keys", "-l", keys]).map(drop)
    }

    /// Types a line and Return.
    pub fn enters(&self, line: &str) -> Result<()> {
        self.types(line)?;
        self.run(&["send-keys", "Enter"]).map(drop)
    }

    /// The lines on the screen, without spaces at their ends; a line that the terminal has wrapped is one line.
    pub fn screen(&self) -> Result<String> {
        let screen = self.run(&["capture-pane", "-p", "-J"])?;
        let lines: Vec<&str> = screen.lines().map(str::trim_end).collect();
        Ok(lines.join("\n").trim_end().to_owned() + "\n")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.folder.join("socket")).arg("-f").arg(self.folder.join("config"));
        // A new terminal has the PATH of the process that asks for it.
        command.args(arguments).env("PATH", &self.path).env_remove("TMUX");
        command
    }

    fn run(&self, arguments: &[&str]) -> Result<String> {
        Ok(String::from_utf8(finish(&mut self.command(arguments))?.stdout)?)
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.run(&["kill-server"]);
        if self.pid > 0 {
            self.watchdog.release(self.pid);
        }
    }
}

fn finish(command: &mut Command) -> Result<Output> {
    let output = command.output().context("starting tmux; on Debian, `apt-get install tmux` brings it")?;
    ensure!(output.status.success(), "tmux fails: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output)
}
