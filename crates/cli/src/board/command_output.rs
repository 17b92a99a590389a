//! Runs another command of this program and returns its output, so that the board and the command show the same text.
//!
//! - Invariant: a command is bounded in time and output, and few run at the same time.

use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Command;
use tokio::sync::Semaphore;

/// The maximum number of commands that run at the same time; others wait.
const AT_ONCE_MAX: usize = 4;

/// How long a command may take.
const TIME_MAX: Duration = Duration::from_secs(60);

/// The maximum number of bytes of its output.
const OUTPUT_MAX: u64 = 1 << 20;

/// Runs commands against one cluster.
pub(crate) struct CommandRunner {
    /// The flags that select the cluster.
    flags: Vec<String>,
    permits: Semaphore,
}

/// Why a command has no output.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error("cannot start taintward {command}: {why}; type it in a terminal")]
    Start { command: String, why: std::io::Error },
    #[error("taintward {command} did not complete within {TIME_MAX:?}; type it in a terminal")]
    TimedOut { command: String },
    #[error("{0}")]
    Failed(String),
}

impl CommandRunner {
    pub(crate) fn new(flags: Vec<String>) -> Self {
        Self { flags, permits: Semaphore::new(AT_ONCE_MAX) }
    }

    /// The output of `taintward WORDS`, or its errors if it prints nothing else.
    pub(crate) async fn run(&self, words: &[&str]) -> Result<String, CommandError> {
        let command = words.join(" ");
        let _permit = self.permits.acquire().await.expect("the semaphore is never closed");
        let start_error = |why| CommandError::Start { command: command.clone(), why };
        let mut child = Command::new(program().map_err(start_error)?)
            .args(words)
            .args(&self.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(start_error)?;
        let (out, complaints) = (child.stdout.take(), child.stderr.take());
        let whole = async { tokio::join!(read(out), read(complaints), child.wait()) };
        let (out, complaints, status) = tokio::time::timeout(TIME_MAX, whole)
            .await
            .map_err(|_| CommandError::TimedOut { command: command.clone() })?;
        match status {
            Ok(status) if ExitStatus::success(&status) || !out.is_empty() => {
                Ok(if complaints.is_empty() { out } else { format!("{complaints}\n{out}") })
            }
            _ => Err(CommandError::Failed(sentences(&complaints))),
        }
    }
}

/// What a command says about its failure, without what concerns its command line only.
fn sentences(complaints: &str) -> String {
    let lines = complaints.lines().map(|line| line.strip_prefix("error: ").unwrap_or(line));
    let message = lines.take_while(|line| !line.is_empty() && !line.starts_with("Usage:"));
    message.collect::<Vec<_>>().join("\n")
}

/// This program, even if its file was replaced after the start.
fn program() -> std::io::Result<PathBuf> {
    let running = PathBuf::from("/proc/self/exe");
    if running.exists() { Ok(running) } else { std::env::current_exe() }
}

async fn read(from: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        let mut limited = from.take(OUTPUT_MAX);
        // Output before a failure is kept.
        let _ = limited.read_to_end(&mut bytes).await;
        // The rest is read, so that the command does not wait for a reader.
        let _ = tokio::io::copy(&mut limited.into_inner(), &mut tokio::io::sink()).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_what_happened_without_usage() {
        let complaints = "error: there is no node n9\n\nUsage: taintward plan [OPTIONS]\n\nFor more information, try '--help'.\n";
        assert_eq!(sentences(complaints), "there is no node n9");
        assert_eq!(sentences("note: a\nerror: b\n"), "note: a\nb");
    }
}
