//! Completes shell input with kubectl's protocol for plugins (the hidden command `__complete`).
//!
//! - Invariant: a response comes within two seconds or not at all, and errors print nothing.
//! - See `completion_kind.rs` for the names of objects.

use crate::cli;
use crate::output;
use clap_complete::engine;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

/// How long a user waits after pressing Tab.
const TIMEOUT: Duration = Duration::from_millis(1_800);

/// The command that completion scripts call.
const VERB: &str = "__complete";

/// The name by which kubectl calls the completion of a plugin.
const OF_KUBECTL: &str = "kubectl_complete-taintward";

/// The directive that ends the output for kubectl: no file names, no space after the completion.
const NO_FILES: u8 = 4;
const NO_BLANK: u8 = 2;

/// Endings of words that are incomplete.
const OPEN: [char; 3] = ['/', '=', ':'];

/// The words to complete, if the program was called for completion.
pub(crate) fn words() -> Option<Vec<OsString>> {
    let mut words = std::env::args_os();
    let program = words.next()?;
    let is_kubectl = Path::new(&program).file_name().is_some_and(|name| name == OF_KUBECTL);
    let is_completion = is_kubectl || words.next()? == VERB;
    is_completion.then(|| words.collect())
}

pub(crate) fn run(words: Vec<OsString>) -> ExitCode {
    quieten();
    let (sender, receiver) = mpsc::channel();
    // It may wait for a server, or for a credential plugin; it ends with the process.
    std::thread::spawn(move || sender.send(completions(words)));
    match receiver.recv_timeout(TIMEOUT) {
        Ok(text) => drop(output::print(&text)),
        Err(_) => drop(output::print(&format!(":{NO_FILES}\n"))),
    }
    ExitCode::SUCCESS
}

/// Completion must neither print errors nor prompt.
fn quieten() {
    if let Ok(nothing) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&nothing);
        let _ = rustix::stdio::dup2_stderr(&nothing);
    }
}

fn completions(words: Vec<OsString>) -> String {
    let words: Vec<OsString> = std::iter::once("taintward".into()).chain(words).collect();
    let last = words.len() - 1;
    let wants_flags = words[last].to_string_lossy().starts_with('-');
    let here = std::env::current_dir().ok();
    let found = engine::complete(&mut cli::description(), words, last, here.as_deref()).unwrap_or_default();
    let (mut text, mut open) = (String::new(), true);
    for candidate in found.iter().filter(|candidate| !candidate.is_hide_set()) {
        // Text that is not UTF-8 cannot be typed, and text with line breaks is not a word.
        let Some(value) = candidate.get_value().to_str().filter(|value| !value.contains(['\n', '\t'])) else {
            continue;
        };
        // As in kubectl, flags are offered only once one has been started.
        if value.starts_with('-') && !wants_flags {
            continue;
        }
        open &= value.ends_with(OPEN);
        let remark = candidate.get_help().map(ToString::to_string).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = match remark.lines().next() {
            Some(remark) => writeln!(text, "{value}\t{remark}"),
            None => writeln!(text, "{value}"),
        };
    }
    let end = NO_FILES | if open && !text.is_empty() { NO_BLANK } else { 0 };
    let _ = writeln!(text, ":{end}");
    text
}
