//! Tests what `taintward taint` adds to kubectl: notes, the list, confirmation, concurrent edits.
//!
//! - See `cluster/taint.rs` for the comparison with kubectl.

use crate::cli::running::{RunningSandbox, TestFolder, text};
use crate::cli::terminal::TestTerminal;
use serde_json::Value;
use std::process::{Command, Stdio};

/// A sandbox with a few nodes without workloads.
struct TaintHarness {
    folder: TestFolder,
    _sandbox: RunningSandbox,
}

impl TaintHarness {
    fn set(test: &str) -> Self {
        Self::with(TestFolder::named(test), &["--empty", "--nodes", "3"])
    }

    fn with(folder: TestFolder, nodes: &[&str]) -> Self {
        let kubeconfig = folder.file("kubeconfig");
        let mut sandbox =
            RunningSandbox::start(&[&["--plain", "--kubeconfig-out", &kubeconfig], nodes].concat());
        sandbox.until("KUBECONFIG");
        Self { folder, _sandbox: sandbox }
    }

    fn command(&self, typed: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.arg("taint").args(typed.split(' ').map(|word| word.replace('_', " ")));
        command.env("KUBECONFIG", self.folder.file("kubeconfig")).env("TZ", "UTC").stdin(Stdio::null());
        command
    }

    /// Exit code, standard output, standard error.
    fn run_taint(&self, typed: &str) -> (i32, String, String) {
        let done = self.command(typed).output().unwrap();
        (done.status.code().unwrap(), text(&done.stdout), text(&done.stderr))
    }

    fn ok(&self, typed: &str) -> String {
        let (code, out, message) = self.run_taint(typed);
        assert_eq!((code, message.as_str()), (0, ""), "{typed}");
        out
    }

    /// A node, as shown by a dry run.
    fn get_node(&self, name: &str) -> Value {
        let shown = self.ok(&format!("node {name} --dry-run=client -o json probe:PreferNoSchedule"));
        serde_json::from_str(&shown).unwrap()
    }

    /// The notes of a node.
    fn notes(&self, name: &str) -> Vec<Value> {
        let node = self.get_node(name);
        let annotations = node["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        let notes = annotations.iter().filter(|(key, _)| key.starts_with("taintward.io/taint-note."));
        notes.map(|(_, value)| serde_json::from_str(value.as_str().unwrap()).unwrap()).collect()
    }
}

/// A server's time that is hours ahead, as in a sandbox with another speed.
#[test]
fn the_age_of_a_taint_is_by_the_clock_of_the_server() {
    let harness =
        TaintHarness::with(TestFolder::named("taint-clock"), &["--empty", "--nodes", "1", "--speed", "3600"]);
    harness.ok("node n1 disk=old:NoSchedule");
    let listed = harness.ok("node n1 --list");
    let row = listed.lines().nth(1).unwrap();
    assert!(row.starts_with("n1 ") && row.contains(" ago") && !row.contains(", in "), "{listed}");
}

/// A second of the server is much less than one of this machine.
#[test]
fn a_note_expires_by_the_clock_of_the_server() {
    let harness = TaintHarness::with(
        TestFolder::named("taint-expiry"),
        &["--empty", "--nodes", "1", "--speed", "3600"],
    );
    harness.ok("node n1 disk=old:NoSchedule --for 1s");
    harness.ok("node n1 power:NoSchedule --for 90d");
    assert_eq!(harness.ok("node n1 --expired"), "node/n1 untainted\n");
    let listed = harness.ok("node n1 --list");
    assert!(!listed.contains("disk=old") && listed.contains("power:NoSchedule"), "{listed}");
}

#[test]
fn a_note_goes_with_its_taint() {
    let harness = TaintHarness::set("taint-notes");
    assert_eq!(harness.ok("node n1 disk=old:NoSchedule --reason new_disks --for 2h"), "node/n1 tainted\n");
    let notes = harness.notes("n1");
    assert_eq!(notes.len(), 1);
    assert_eq!(
        (&notes[0]["taint"], &notes[0]["reason"]),
        (&"disk=old:NoSchedule".into(), &"new disks".into())
    );
    let listed = harness.ok("node n1 --list");
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].starts_with("NODE") && lines[1].starts_with("n1 "), "{listed}");
    assert!(lines[2].trim_start().starts_with("until ") && lines[2].ends_with(": new disks"), "{listed}");
    assert!(lines[2].contains(", in 1h59m") || lines[2].contains(", in 2h"), "{listed}");
    // The note of another taint stays; an overwritten taint's note is replaced or removed.
    harness.ok("node n1 power:NoSchedule --reason fuse");
    assert_eq!(harness.notes("n1").len(), 2);
    harness.ok("node n1 --overwrite disk=new:NoSchedule --reason more");
    let mut reasons: Vec<String> =
        harness.notes("n1").iter().map(|note| note["reason"].as_str().unwrap().to_owned()).collect();
    reasons.sort();
    assert_eq!(reasons, ["fuse", "more"]);
    harness.ok("node n1 --overwrite disk=newer:NoSchedule");
    assert_eq!(harness.notes("n1").len(), 1);
    assert_eq!(harness.ok("node n1 power- disk-"), "node/n1 untainted\n");
    assert_eq!(harness.notes("n1"), Vec::<Value>::new());
    assert_eq!(harness.ok("node n1 --list"), "NODE   TAINT    SINCE (UTC)\nn1     <none>\n");
}

/// Three taints: one that has expired, one that has not, and one without a note; and a note about a removed taint.
const EXPIRED: &str = r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "annotations": {
    "taintward.io/taint-note.NoSchedule.ca44a367578f8a84":
        "{\"taint\":\"disk=old:NoSchedule\",\"reason\":\"new disks\",\"until\":\"2026-01-01T00:00:00Z\"}",
    "taintward.io/taint-note.NoSchedule.2138d2192571b218":
        "{\"taint\":\"net:NoSchedule\",\"until\":\"2999-01-01T00:00:00Z\"}",
    "taintward.io/taint-note.NoSchedule.af63dc4c8601ec8c":
        "{\"taint\":\"a=other:NoSchedule\",\"until\":\"2026-01-01T00:00:00Z\"}"}},
  "spec": {"taints": [{"key": "disk", "value": "old", "effect": "NoSchedule"}, {"key": "net", "effect": "NoSchedule"},
    {"key": "a", "effect": "NoSchedule"}]}}"#;

#[test]
fn expired_taints_are_shown_and_removed_on_request() {
    let folder = TestFolder::named("taint-expired");
    let objects = folder.write("objects.json", EXPIRED);
    let harness = TaintHarness::with(folder, &["--load", &objects]);
    let listed = harness.ok("node n1 --list");
    assert!(
        listed.contains("expired at 2026-01-01 00:00:00, ") && listed.contains("until 2999-"),
        "{listed}"
    );
    assert_eq!(harness.ok("node --all --expired --dry-run=client"), "node/n1 untainted (dry run)\n");
    assert_eq!(harness.ok("node n1 --list"), listed.clone(), "that was a dry run");
    assert_eq!(harness.ok("node --all --expired"), "node/n1 untainted\n");
    let left = harness.ok("node n1 --list");
    assert!(
        !left.contains("disk") && left.contains("net:NoSchedule") && left.contains("a:NoSchedule"),
        "{left}"
    );
    assert!(harness.notes("n1").iter().all(|note| note["taint"] != "disk=old:NoSchedule"));
    let (code, out, message) = harness.run_taint("node --all --expired");
    let expected = "note: no taint of these nodes has outlived its --for\n";
    assert_eq!((code, out.as_str(), message.as_str()), (0, "", expected));
    for (typed, words) in [
        ("node n1 --expired a-", "omit a-"),
        ("node --expired", "at least one resource name"),
        ("--expired", ""),
    ] {
        let (code, out, message) = harness.run_taint(typed);
        assert!(code == 1 && out.is_empty() && message.contains(words), "{typed}: {message}");
    }
}

#[test]
fn nothing_is_noted_by_a_trial_or_about_nothing() {
    let harness = TaintHarness::set("taint-trial");
    for trial in ["client", "server"] {
        let message = harness.ok(&format!("node n1 a:NoExecute --reason x --dry-run={trial}"));
        assert!(message.contains("tainted (") && message.contains("dry run)"), "{message}");
    }
    assert_eq!(harness.notes("n1"), Vec::<Value>::new());
    let (code, out, message) = harness.run_taint("node n1 a- --for 2h");
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(message.contains("--for and --reason") && message.contains("adds none"), "{message}");
}

#[test]
fn nodes_are_listed_and_missing_ones_are_reported() {
    let harness = TaintHarness::set("taint-list");
    harness.ok("node n2 a=b:NoExecute c:NoSchedule");
    let (code, out, message) = harness.run_taint("node --all --list");
    assert_eq!((code, message.as_str()), (0, ""));
    let first: Vec<&str> = out.lines().map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(first, ["TAINT", "<none>", "a=b:NoExecute", "c:NoSchedule", "<none>"]);
    let (code, out, message) = harness.run_taint("node n3 n9 --list");
    assert_eq!((code, message.as_str()), (1, "Error from server (NotFound): nodes \"n9\" not found\n"));
    assert!(out.contains("n3"), "{out}");
}

#[test]
fn many_at_the_same_time_lose_nothing() {
    const EACH: usize = 40;
    let harness = TaintHarness::set("taint-many");
    std::thread::scope(|scope| {
        for lane in 0..4 {
            let harness = &harness;
            scope.spawn(move || {
                for number in (lane..EACH).step_by(4) {
                    harness.ok(&format!("node n1 k{number}:NoSchedule --reason r{number}"));
                }
            });
        }
    });
    assert_eq!(harness.get_node("n1")["spec"]["taints"].as_array().unwrap().len(), EACH + 1, "and the probe");
    assert_eq!(harness.notes("n1").len(), EACH);
}

const QUESTION: &str = "Continue? [y/N] ";

#[test]
fn there_is_a_prompt_at_a_terminal() {
    let harness = TaintHarness::set("taint-asks");
    let tainted = || harness.get_node("n1")["spec"]["taints"].as_array().map_or(0, Vec::len) > 1;
    for (response, code, message) in [
        ("n\r", 1, "no node was changed"),
        ("\r", 1, "no node was changed"),
        ("\u{4}", 1, "no node was changed"),
    ] {
        let mut terminal = TestTerminal::with(harness.command("node n1 a=b:NoExecute"));
        let shown = terminal.until(QUESTION);
        assert!(shown.contains("1 node gets a=b:NoExecute"), "{shown}");
        assert!(!tainted(), "nothing is changed before the confirmation");
        terminal.types(response);
        let (ended, rest, out) = terminal.ends();
        assert_eq!((ended, out.as_str()), (code, ""), "{response:?}");
        assert!(rest.contains(message), "{rest}");
        assert!(!tainted(), "{response:?} does not confirm");
    }
    let mut terminal = TestTerminal::with(harness.command("node --all a=b:NoExecute"));
    assert!(terminal.until(QUESTION).contains("3 nodes get a=b:NoExecute"));
    terminal.types("y\r");
    // If the user confirms anyway, the sandbox's NoExecute guard stops the change before half of the nodes are
    // emptied.
    let (code, shown, out) = terminal.ends();
    assert_eq!((code, out.as_str()), (1, "node/n1 tainted\n"));
    assert!(shown.contains("kubectl annotate node n2 taintward.io/allow-no-execute=\"a\""), "{shown}");
    assert!(tainted());
}

#[test]
fn there_is_no_prompt_where_none_is_needed() {
    let harness = TaintHarness::set("taint-asks-not");
    let sanitized = [
        "node n1 a:NoSchedule",
        "node n1 a-",
        "node n1 a:NoExecute --no-preview",
        "node n1 b:NoExecute --dry-run=server",
    ];
    for typed in sanitized {
        let (code, shown, out) = TestTerminal::with(harness.command(typed)).ends();
        assert_eq!((code, shown.as_str()), (0, ""), "{typed}");
        assert!(out.starts_with("node/n1 "), "{out}");
    }
    let (code, shown, _) = TestTerminal::with(harness.command("node n1 c:NoExecute --yes")).ends();
    assert!(code == 0 && shown.contains("1 node gets c:NoExecute") && !shown.contains("Continue"), "{shown}");
    // Without a terminal at both ends there is no prompt, and no more output than kubectl's.
    assert_eq!(harness.run_taint("node n1 d:NoExecute"), (0, "node/n1 tainted\n".to_owned(), String::new()));
    let mut half = harness.command("node n1 e:NoExecute");
    half.stderr(Stdio::piped());
    let (code, shown, _) = TestTerminal::with_input(half).ends();
    assert_eq!((code, shown.as_str()), (0, ""));
}

/// The error names the server and its context, and what to do.
#[test]
fn a_server_that_does_not_answer_is_named() {
    let folder = TestFolder::named("taint-dead");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = format!("http://127.0.0.1:{port}");
    let kubeconfig = folder.write(
        "kubeconfig",
        &format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: x, cluster: {{server: '{server}'}}}}]\nusers: [{{name: x, user: \
             {{}}}}]\ncontexts: [{{name: x, context: {{cluster: x, user: x}}}}]\ncurrent-context: x\n"
        ),
    );
    for typed in [&["n1", "a:NoSchedule"][..], &["-l", "a=b", "a:NoSchedule"], &["--list"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(["taint", "node"]).args(typed).args(["--kubeconfig", &kubeconfig]).stdin(Stdio::null());
        let done = command.output().unwrap();
        let message = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{message}");
        assert!(message.starts_with("error: context \"x\"") && message.contains(&server), "{message}");
        assert!(
            message.contains("the API server cannot be reached") && !message.contains("ServiceError"),
            "{message}"
        );
    }
}
