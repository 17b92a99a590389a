//! Tests `taintward hold`, `release` and `guard` where no controller runs, with wrong names, and `hold status`.
//!
//! - See `managed_real` for what the controllers do with pods.

use crate::cli::running::{RunningSandbox, TestFolder, text};
use serde_json::{Value, json};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

struct HoldHarness {
    folder: TestFolder,
    sandbox: RunningSandbox,
}

impl HoldHarness {
    /// A sandbox with a node and pods on it, and without any Taintward.
    fn set(test: &str) -> Self {
        Self::with(test, &["--nodes", "1", "--without", "taintward"])
    }

    fn with(test: &str, flags: &[&str]) -> Self {
        let folder = TestFolder::named(test);
        let kubeconfig = folder.file("kubeconfig");
        let usual = ["--plain", "--kubeconfig-out", &kubeconfig];
        let mut sandbox = RunningSandbox::start(&[&usual, flags].concat());
        sandbox.until("is scheduled to n1");
        Self { folder, sandbox }
    }

    /// Exit code, standard output, standard error.
    fn contains(&self, typed: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(typed).env("KUBECONFIG", self.folder.file("kubeconfig")).env("TZ", "UTC");
        let done = command.stdin(Stdio::null()).output().unwrap();
        (done.status.code().unwrap(), text(&done.stdout), text(&done.stderr))
    }
}

const NO_LEASE: &str = "does not run: no process holds a lease named taintward";

#[test]
fn a_command_does_not_wait_for_a_controller_that_is_not_there() {
    let harness = HoldHarness::set("hold-absent");
    for typed in [&["hold", "n1"][..], &["guard", "on", "shop"]] {
        let began = Instant::now();
        let (code, out, message) = harness.contains(typed);
        assert_eq!((code, out.as_str()), (1, ""), "{message}");
        assert!(
            message.contains(NO_LEASE) && message.contains("stay, and the controller applies them"),
            "{message}"
        );
        assert!(began.elapsed() < Duration::from_secs(60), "{typed:?} waits for its --timeout");
        let (code, _, message) = harness.contains(&[typed, &["--no-wait"]].concat());
        assert!(
            code == 0 && message.contains("warning: ") && message.contains(NO_LEASE),
            "{typed:?}: {message}"
        );
    }
    // Nothing is held or guarded, so there is nothing to wait for.
    let (code, out, message) = harness.contains(&["release", "n1"]);
    assert!(code == 0 && out.starts_with("1 node: 0 of ") && !message.contains(NO_LEASE), "{out}{message}");
    let (code, _, message) = harness.contains(&["guard", "off", "shop"]);
    assert!(code == 0 && !message.contains(NO_LEASE), "{message}");
}

#[test]
fn a_hold_in_a_sandbox_pauses_evictions_without_a_wait() {
    let mut harness = HoldHarness::with("hold-sandbox", &["--nodes", "3"]);
    let began = Instant::now();
    let (code, out, message) = harness.contains(&["hold", "n1", "--for", "30m"]);
    assert_eq!((code, message.as_str()), (0, ""), "{out}");
    assert!(
        out.starts_with("1 node: no eviction before ") && began.elapsed() < Duration::from_secs(30),
        "{out}"
    );
    let (code, _, message) = harness.contains(&["taint", "node", "n1", "maintenance:NoExecute"]);
    assert_eq!(code, 0, "{message}");
    harness.sandbox.until("maintenance:NoExecute");
    let (_, out, _) = harness.contains(&["pending", "-A", "-o", "json"]);
    let pending: Value = serde_json::from_str(&out).unwrap();
    let items = pending["items"].as_array().unwrap();
    let left = |item: &Value| item["remainingSeconds"].as_i64().unwrap();
    assert!(!items.is_empty() && items.iter().all(|item| left(item) > 1_700), "{pending}");
    let pod = format!("pod/{}", items[0]["pod"].as_str().unwrap());
    let (code, out, message) = harness.contains(&["hold", "status", &pod, "-n", "shop"]);
    assert_eq!((code, out.as_str()), (0, ""), "{message}");
    assert!(message.starts_with("note: no annotation of these pods holds them; "), "{message}");
    assert_eq!(harness.contains(&["hold", &pod, "-n", "shop", "--for", "1h"]).0, 0);
    let (code, out, message) = harness.contains(&["hold", "status", &pod, "-n", "shop", "-o", "json"]);
    assert_eq!((code, message.as_str()), (0, ""));
    let status: Value = serde_json::from_str(&out).unwrap();
    let rows = status["items"].as_array().unwrap();
    let expected = format!("shop/{}", items[0]["pod"].as_str().unwrap());
    assert_eq!((rows.len(), &rows[0]["pod"]), (1, &json!(expected)), "the hold of its node is not its own");
    let (code, out, _) = harness.contains(&["release", "n1"]);
    assert_eq!((code, out.as_str()), (0, "1 node: not held; countdowns continue\n"));
    harness.sandbox.until(" was evicted because of maintenance:NoExecute");
}

#[test]
fn a_node_that_does_not_exist_is_named_before_anything_changes() {
    let harness = HoldHarness::set("hold-nope");
    for typed in [&["hold", "n1", "nope"][..], &["release", "nope", "n1"], &["hold", "status", "nope"]] {
        let (code, out, message) = harness.contains(typed);
        assert_eq!((code, out.as_str()), (1, ""), "{message}");
        assert_eq!(message, "error: node nope does not exist; nothing was changed; check the name\n");
    }
    let (_, _, message) = harness.contains(&["hold", "no", "nope"]);
    assert!(message.contains("nodes no, nope do not exist"), "{message}");
    let (code, out, message) = harness.contains(&["hold", "status"]);
    assert_eq!((code, out.as_str()), (0, ""));
    assert_eq!(message, "note: no pod of these nodes is held, and no order to hold pods is in effect\n");
}

#[test]
fn hold_status_lists_holds() {
    let harness = HoldHarness::set("hold-status");
    let hold = ["hold", "n1", "--no-wait", "--for", "30m", "--reason", "switch replaced"];
    assert_eq!(harness.contains(&hold).0, 0);
    let (code, out, message) = harness.contains(&["hold", "status"]);
    assert_eq!((code, message.as_str()), (0, ""));
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0], ["NODE", "HELD", "UNTIL", "(UTC)", "BY", "REASON"]);
    assert_eq!(
        (&lines[1][..2], lines[1].last(), lines.len()),
        (&["n1", "0"][..], Some(&"replaced"), 2),
        "{out}"
    );
    assert!(out.contains(" in 29m") || out.contains(" in 30m"), "{out}");
    let (_, out, _) = harness.contains(&["hold", "status", "n1", "-o", "json"]);
    let status: Value = serde_json::from_str(&out).unwrap();
    let row = &status["items"][0];
    assert_eq!(
        (&status["kind"], &row["node"], &row["held"]),
        (&json!("HoldStatus"), &json!("n1"), &json!(0))
    );
    assert_eq!((&row["reason"], &row["origins"]), (&json!("switch replaced"), &json!(["Person"])));
    assert_eq!(harness.contains(&["release", "--all", "--no-wait"]).0, 0);
    let (code, out, _) = harness.contains(&["hold", "status"]);
    assert_eq!((code, out.as_str()), (0, ""), "a release ends the order");
}
