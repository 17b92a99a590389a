//! Tests what `taintward install --uninstall --apply` rejects and asks.
//!
//! - See `install_real.rs` and docs/install.md for what it deletes, and names as kept.

use crate::cli::running::{RunningSandbox, TestFolder, request, text};
use crate::cli::terminal::TestTerminal;
use serde_json::json;
use std::process::{Command, Stdio};
use testkit::{ObjectExt as _, pod};

const QUESTION: &str = "Continue? [y/N] ";

struct UninstallHarness {
    folder: TestFolder,
    _sandbox: RunningSandbox,
}

impl UninstallHarness {
    fn set(test: &str) -> Self {
        let folder = TestFolder::named(test);
        let kubeconfig = folder.file("kubeconfig");
        let mut sandbox =
            RunningSandbox::start(&["--plain", "--empty", "--nodes", "1", "--kubeconfig-out", &kubeconfig]);
        sandbox.until("KUBECONFIG");
        Self { folder, _sandbox: sandbox }
    }

    fn uninstall(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(["install", "--uninstall", "--apply"]).args(flags);
        command.env("KUBECONFIG", self.folder.file("kubeconfig")).stdin(Stdio::null());
        command
    }

    /// Exit code and both outputs.
    fn contains(&self, flags: &[&str]) -> (i32, String) {
        let done = self.uninstall(flags).output().unwrap();
        (done.status.code().unwrap(), text(&done.stdout) + &text(&done.stderr))
    }

    /// Creates a pod with an annotation.
    fn create_pod(&self, name: &str, annotation: &str) {
        let pod = pod(name).on("n1").with("metadata.annotations", json!({annotation: "{}"}));
        let path = "/api/v1/namespaces/default/pods";
        let message = request(&self.folder.file("kubeconfig"), "POST", path, &pod.to_string());
        assert!(message.contains("\"uid\""), "{message}");
    }

    fn remove_pod(&self, name: &str) {
        let path = format!("/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0");
        request(&self.folder.file("kubeconfig"), "DELETE", &path, "");
    }
}

#[test]
fn it_refuses_while_pods_are_held_or_guarded_by_any_process() {
    let harness = UninstallHarness::set("uninstall-held");
    let (code, message) = harness.contains(&[]);
    assert_eq!(code, 0, "{message}");
    for annotation in ["taintward.io/guard", "taintward.io/held"] {
        harness.create_pod("db-0", annotation);
        let (code, message) = harness.contains(&[]);
        assert_eq!(code, 1, "{message}");
        assert!(message.starts_with("error: nothing was changed: "), "{message}");
        for words in ["1 pod (default/db-0)", "`taintward guard off --all`", "`taintward release --all`"] {
            assert!(message.contains(words), "{message}");
        }
        // The other ways out, and a part that does not restore seconds.
        for flags in [&["--keep-seconds"][..], &["--parts=webhook"]] {
            let (code, message) = harness.contains(flags);
            assert_eq!(code, 0, "{flags:?}: {message}");
        }
        harness.remove_pod("db-0");
    }
    harness.create_pod("other", "example.com/held");
    let (code, message) = harness.contains(&[]);
    assert_eq!(code, 0, "{message}");
}

#[test]
fn on_a_terminal_it_asks_before_it_deletes() {
    let harness = UninstallHarness::set("uninstall-question");
    for (response, code) in [("n\n", 1), ("y\n", 0)] {
        let mut terminal = TestTerminal::with(harness.uninstall(&[]));
        let shown = terminal.until(QUESTION);
        let requested = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            requested.starts_with(
                "This deletes the installation of Taintward in namespace taintward-system of context"
            ),
            "{requested}"
        );
        terminal.types(response);
        let (ended, shown, _) = terminal.ends();
        assert_eq!(ended, code, "{shown}");
        assert_eq!(shown.contains("error: aborted: nothing was deleted"), code == 1, "{shown}");
    }
    for flags in [&["--yes"][..], &["--dry-run=client"]] {
        let (code, shown, _) = TestTerminal::with(harness.uninstall(flags)).ends();
        assert!(code == 0 && !shown.contains(QUESTION), "{flags:?}: {shown}");
    }
}
