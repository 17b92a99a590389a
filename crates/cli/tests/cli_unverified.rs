//! Tests that every command warns about a server whose certificate is not verified.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod cli {
    pub(crate) mod patience;
    pub(crate) mod running;
}
use cli::patience::Lines;
use cli::running::{Folder, Running, text};
use std::process::Command;

#[test]
fn every_command_that_connects_names_an_unverified_cluster() {
    let folder = Folder::named("unverified");
    let kubeconfig = folder.file("kubeconfig");
    let mut sandbox =
        Running::start(&["--plain", "--nodes", "1", "--empty", "--kubeconfig-out", &kubeconfig]);
    sandbox.until("KUBECONFIG");
    let written = std::fs::read_to_string(&kubeconfig).unwrap();
    let trust = written.lines().find(|line| line.contains("certificate-authority-data")).unwrap();
    let careless = folder.write("careless", &written.replace(trust, "    insecure-skip-tls-verify: true"));
    let warning =
        format!("insecure-skip-tls-verify of cluster \"taintward-sandbox\" in kubeconfig {careless}");
    let program = |typed: &[&str], kubeconfig: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(typed).args(["--kubeconfig", kubeconfig]).env_remove("KUBERNETES_SERVICE_HOST");
        command
    };
    for typed in [
        &["lint"][..],
        &["pending"],
        &["explain", "node", "n1"],
        &["taint", "nodes", "--list"],
        &["version"],
        &["sandbox", "node", "silence", "n1"],
    ] {
        let said = |kubeconfig: &str| {
            let done = program(typed, kubeconfig).output().unwrap();
            assert!(done.status.success(), "{typed:?}: {}", text(&done.stderr));
            text(&done.stderr)
        };
        let warned = said(&careless);
        assert_eq!(warned.matches(&warning).count(), 1, "{typed:?}: {warned}");
        assert!(!said(&kubeconfig).contains("insecure"), "{typed:?}: there is nothing to warn of");
    }
    let mut run = Running::of(program(&["run", "--mode=observe", "--metrics-port=0"], &careless));
    let mut said = Lines::of(run.child.stderr.take().unwrap());
    let warned = std::iter::from_fn(|| said.next()).find(|line| line.contains("insecure-skip-tls-verify"));
    assert!(warned.is_some_and(|line| line.starts_with('W') && line.contains("taintward-sandbox")));
}
