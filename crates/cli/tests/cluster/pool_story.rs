//! Tests the commands of docs/dedicated-nodes.md on a real API server with an installation, kube-scheduler,
//! kube-controller-manager and KWOK.
//!
//! - See `documents/pages.rs` for the same in a sandbox, and for writing the page.

use crate::cli::document::{examples, files, here, lasting};
use crate::cli::running::text;
use crate::parts::installed::InstalledParts;
use crate::parts::place::Place;
use crate::parts::programs::PartPrograms;
use crate::turn;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use taintward_envtest::{Binaries, binaries};

/// The command whose output differs from a sandbox's, because of additional pods and nodes.
const COUNTS: &str = "kubectl get dedicatedpool";
/// The command that a sandbox rejects with the webhook's message, and an API server with its policy's.
const REJECTED: &str = "kubectl apply -f smuggler.yaml";

#[test]
fn dedicated_nodes_as_the_page_tells_it() {
    let test = "dedicated_nodes_as_the_page_tells_it";
    let Some(tools) = turn::for_test(test) else { return };
    if binaries::KWOK.for_test(test).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let place = runtime.block_on(Place::real(&tools));
    let mut programs = PartPrograms::start(&place, &tools);
    let mut harness = PoolStoryHarness::set(&place, &tools);
    let page = std::fs::read_to_string(here("../../docs/dedicated-nodes.md")).unwrap();
    for (name, text) in files(&page) {
        std::fs::write(place.folder.join(name), text).unwrap();
    }
    for typed in examples(&page) {
        let words = typed.words();
        assert_eq!(words[0], "kubectl", "{}", typed.command);
        let (done, message) = harness.kubectl(&words[1..]);
        if typed.command.starts_with(COUNTS) {
            assert!(done && message.contains("True    Applied"), "{}: {message}", typed.command);
            continue;
        }
        if typed.command == REJECTED {
            // Which one rejects depends on whether the controller has copied the pool into the guard yet.
            let policies = ["taintward-dedicated-pools", "taintward-new-pools"];
            let is_rejected =
                policies.iter().any(|name| message.contains(&format!("ValidatingAdmissionPolicy '{name}'")));
            assert!(!done && is_rejected && message.contains("pool ml are not for this pod"), "{message}");
            continue;
        }
        let shown: Vec<String> = message.lines().map(lasting).collect();
        let kept: Vec<String> = typed.shown.iter().map(|line| lasting(line)).collect();
        assert_eq!(shown, kept, "$ {}", typed.command);
    }
    programs.expect_running();
    harness.installed.expect_running();
}

/// A kubectl and the installation.
struct PoolStoryHarness<'p> {
    place: &'p Place,
    kubectl: PathBuf,
    installed: InstalledParts,
}

impl<'p> PoolStoryHarness<'p> {
    fn set(place: &'p Place, tools: &Binaries) -> Self {
        let kubectl = tools.path("kubectl").unwrap();
        let mut install = Command::new(env!("CARGO_BIN_EXE_taintward"));
        install.args(["install", "--apply", "--image=none"]).env("KUBECONFIG", &place.kubeconfig);
        let done = install.output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        let installed = InstalledParts::at_work(place, &kubectl);
        Self { place, kubectl, installed }
    }

    /// Returns whether it succeeded, and everything it printed.
    fn kubectl(&self, words: &[impl AsRef<std::ffi::OsStr>]) -> (bool, String) {
        let done = Command::new(&self.kubectl)
            .args(words)
            .env("KUBECONFIG", &self.place.kubeconfig)
            .env("HOME", &self.place.folder)
            .current_dir(&self.place.folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        (done.status.success(), text(&[done.stderr, done.stdout].concat()))
    }
}
