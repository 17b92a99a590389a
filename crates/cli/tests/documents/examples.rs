//! Tests that docs/taint.md and `examples/commands.md` show what the program prints at a terminal in a sandbox.
//!
//! - `EXAMPLES=overwrite` writes them. See `golden.rs` for examples on files.

use crate::cli::document::{TypedCommand, here, lasting, play};
use crate::cli::running::{RunningSandbox, TestFolder, text};
use crate::cli::terminal::TestTerminal;
use crate::cli::timeout::eventually;
use std::process::Command;

/// A cluster in which pods leave no node, so that time does not matter for a document, and a folder.
struct ExamplesHarness {
    folder: TestFolder,
    _sandbox: RunningSandbox,
}

impl ExamplesHarness {
    fn set(name: &str) -> Self {
        let folder = TestFolder::named(name);
        let cluster = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/documents/examples/cluster.yaml");
        let kubeconfig = folder.file("kubeconfig");
        let flags = ["--plain", "--without", "taintward", "--load", cluster, "--kubeconfig-out", &kubeconfig];
        let mut sandbox = RunningSandbox::start(&flags);
        sandbox.until("KUBECONFIG");
        eventually("all pods are ready", || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
            command.args(["plan", "--taint", "*", "x:NoExecute", "--kubeconfig", &kubeconfig]);
            text(&command.output().unwrap().stdout)
                .contains("2 are healthy, and 2 of them are evicted")
                .then_some(())
        });
        Self { folder, _sandbox: sandbox }
    }

    /// Types a command. Returns the output up to the next prompt.
    fn type_in(&self, typed: &TypedCommand<'_>) -> Vec<String> {
        let words = typed.words();
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        assert_eq!(words[0], "taintward");
        command.args(&words[1..]).current_dir(self.folder.path());
        command.env("KUBECONFIG", "kubeconfig").env("TZ", "UTC").env("TERM", "xterm").env("NO_COLOR", "1");
        let mut terminal = TestTerminal::whole(command);
        let mut shown = String::new();
        if typed.is_log() {
            // The line that shows that it has started.
            let last = if words[1] == "webhook" { "serving a new certificate" } else { "synced" };
            shown += &terminal.until(last);
            terminal.interrupt();
        } else if let Some(response) = typed.response() {
            shown += &terminal.until("[y/N] ");
            terminal.types(&format!("{response}\n"));
        }
        shown += &terminal.ends().1;
        let lines = shown.lines().map(str::to_owned);
        match typed.is_log() {
            true => lines.filter(|line| !line.contains(" stop")).chain(["^C".to_owned()]).collect(),
            false => lines.collect(),
        }
    }
}

#[test]
fn the_document_of_taint_shows_what_is_printed() {
    let harness = ExamplesHarness::set("examples-taint");
    play(&here("../../docs/taint.md"), |typed| harness.type_in(typed));
}

#[test]
fn examples_of_commands_are_what_is_printed() {
    let harness = ExamplesHarness::set("examples-commands");
    play(&here("tests/documents/examples/commands.md"), |typed| harness.type_in(typed));
}

#[test]
fn only_what_passes_is_passed_over() {
    assert_eq!(lasting("n1   a:NoExecute   22:29:52, 2s ago"), "n1 a:NoExecute # # ago");
    assert_eq!(lasting("until 2026-11-22 00:29:52, in 1h59m: x"), lasting("until 23:29:52, in 2h: x"));
    assert_eq!(lasting("since 13:16:53, now (or earlier)"), lasting("since 13:16:54, 1s ago (or earlier)"));
    assert_eq!(lasting("10 pods on n1 in shop, k=v1"), "10 pods on n1 in shop, k=v1");
}
