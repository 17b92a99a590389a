//! Tests how `taintward run` starts: the question on a terminal, and the warning of another Taintward.

use crate::cli::running::{RunningSandbox, TestFolder, text};
use crate::cli::terminal::TestTerminal;
use std::process::{Command, Stdio};

const QUESTION: &str = "Continue? [y/N] ";
const OTHER_LEASE: &str = "another taintward holds another lease, so both act";

/// A sandbox, whose Taintward holds the lease kube-system/taintward.
struct RunHarness {
    folder: TestFolder,
    _sandbox: RunningSandbox,
}

impl RunHarness {
    fn set(test: &str) -> Self {
        let folder = TestFolder::named(test);
        let kubeconfig = folder.file("kubeconfig");
        let mut sandbox =
            RunningSandbox::start(&["--plain", "--empty", "--nodes", "1", "--kubeconfig-out", &kubeconfig]);
        sandbox.until("KUBECONFIG");
        Self { folder, _sandbox: sandbox }
    }

    fn run(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(["run", "--metrics-port=0"]).args(flags);
        command.env("KUBECONFIG", self.folder.file("kubeconfig")).env_remove("KUBERNETES_SERVICE_HOST");
        command
    }
}

#[test]
fn on_a_terminal_it_asks_once_before_it_enforces() {
    let harness = RunHarness::set("run-question");
    let mut terminal = TestTerminal::whole(harness.run(&[]));
    let shown = terminal.until(QUESTION);
    let requested = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        requested.starts_with("This process evicts pods of the cluster of context \"taintward-"),
        "{requested}"
    );
    assert!(requested.contains("server http"), "{requested}");
    terminal.types("n\n");
    let (code, shown, _) = terminal.ends();
    assert!(code == 1 && shown.contains("error: aborted: nothing was started"), "{code} {shown}");
    assert!(!shown.contains("taintward starts"), "{shown}");

    let mut terminal = TestTerminal::whole(harness.run(&[]));
    terminal.until(QUESTION);
    terminal.types("y\n");
    terminal.until("the lease was read");
    terminal.interrupt();
    let (code, shown, _) = terminal.ends();
    assert!(code == 0 && !shown.contains(QUESTION), "{code} {shown}");
}

#[test]
fn it_does_not_ask_if_the_mode_is_given_or_in_a_cluster_or_without_a_terminal() {
    let harness = RunHarness::set("run-no-question");
    let mut in_variable = harness.run(&[]);
    in_variable.env("TAINTWARD_MODE", "enforce");
    let mut in_cluster = harness.run(&[]);
    in_cluster.env("KUBERNETES_SERVICE_HOST", "10.0.0.1");
    for command in
        [harness.run(&["--mode=enforce"]), harness.run(&["--mode=observe"]), in_variable, in_cluster]
    {
        let mut terminal = TestTerminal::whole(command);
        let shown = terminal.until("the API server answers");
        assert!(!shown.contains(QUESTION), "{shown}");
        terminal.interrupt();
        assert_eq!(terminal.ends().0, 0);
    }
    let log = without_terminal(&harness, &[]);
    assert!(log.contains("the API server answers") && !log.contains(QUESTION), "{log}");
}

/// The log of four seconds.
fn without_terminal(harness: &RunHarness, flags: &[&str]) -> String {
    let mut command = Command::new("timeout");
    let run = harness.run(flags);
    command.args(["--signal=INT", "4"]).arg(run.get_program()).args(run.get_args());
    command.env("KUBECONFIG", harness.folder.file("kubeconfig")).env_remove("KUBERNETES_SERVICE_HOST");
    text(&command.stdin(Stdio::null()).output().unwrap().stderr)
}

#[test]
fn it_warns_if_another_taintward_holds_another_lease() {
    let harness = RunHarness::set("run-other-lease");
    let elsewhere = "--leader-elect-resource-namespace=default";
    // The one that holds a lease of its own comes last: it may be killed before it has released it.
    for (flags, warns) in [
        (&["--mode=enforce"][..], false),
        (&["--mode=observe", elsewhere], false),
        (&["--mode=enforce", "--leader-elect=false"], true),
        (&["--mode=enforce", elsewhere], true),
    ] {
        let log = without_terminal(&harness, flags);
        assert_eq!(log.contains(OTHER_LEASE), warns, "{flags:?}: {log}");
        assert_eq!(log.contains("kube-system/taintward") && log.contains(OTHER_LEASE), warns, "{log}");
        assert!(log.contains("the API server answers"), "{log}");
    }
}
