//! Tests the commands of docs/admission.md and docs/dedicated-nodes.md in a sandbox, with kubectl.
//!
//! - `EXAMPLES=overwrite` writes the pages.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod cli {
    pub(crate) mod document;
    pub(crate) mod patience;
    pub(crate) mod running;
}
use cli::document::{Typed, files, here, play};
use cli::patience::Said;
use cli::running::{Folder, Running, text};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use taintward_envtest::binaries;

/// A sandbox with default settings, and a folder with the files of the page.
struct Stage {
    folder: Folder,
    kubectl: PathBuf,
    _sandbox: Running,
}

impl Stage {
    /// `None` after a message, if there is no kubectl.
    fn set(page: &str, document: &str) -> Option<Self> {
        let kubectl = binaries::for_test("doc_pages")?.path("kubectl").unwrap();
        let folder = Folder::named(page);
        for (name, text) in files(document) {
            std::fs::write(folder.file(name), text).unwrap();
        }
        let kubeconfig = folder.file("kubeconfig");
        let mut sandbox = Running::start(&["--plain", "--kubeconfig-out", &kubeconfig]);
        sandbox.until("KUBECONFIG");
        Some(Self { folder, kubectl, _sandbox: sandbox })
    }

    /// Types a command. Returns what it printed on both channels.
    fn type_in(&self, typed: &Typed<'_>) -> Vec<String> {
        let words = typed.words();
        let mut command = match &*words[0] {
            "kubectl" => Command::new(&self.kubectl),
            "taintward" => Command::new(env!("CARGO_BIN_EXE_taintward")),
            other => panic!("{other} is not a command of these pages"),
        };
        command.args(&words[1..]).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("KUBECONFIG", "kubeconfig").env("HOME", self.folder.path()).env("TZ", "UTC");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, complaint) =
            (Said::of(child.stdout.take().unwrap()), Said::of(child.stderr.take().unwrap()));
        let mut said = whole(&complaint);
        said.extend(whole(&out));
        child.wait().unwrap();
        text(&said).lines().map(str::to_owned).collect()
    }
}

fn whole(said: &Said) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(more) = said.more(&all) {
        all.extend(more);
    }
    all
}

fn follow(page: &str) {
    let path = here("../../docs").join(page);
    let document = std::fs::read_to_string(&path).unwrap();
    if let Some(stage) = Stage::set(page, &document) {
        play(&path, |typed| stage.type_in(typed));
    }
}

#[test]
fn admission() {
    follow("admission.md");
}

#[test]
fn dedicated_nodes() {
    follow("dedicated-nodes.md");
}
