//! Tests the commands of pages in a sandbox, with kubectl, or on files, and that each command of each page has such a test.
//!
//! - `EXAMPLES=overwrite` writes the pages. See `pages/untyped.rs` for the commands whose output no page shows.

pub(crate) mod page_commands;
pub(crate) mod untyped;

use crate::cli::document::{TypedCommand, files, here, play};
use crate::cli::running::{RunningSandbox, TestFolder, text};
use crate::cli::timeout::Output;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use taintward_envtest::binaries;
use testkit::wait::within_blocking;

/// A sandbox with default settings, and a folder with the files of the page.
struct PagesHarness {
    folder: TestFolder,
    kubectl: PathBuf,
    _sandbox: RunningSandbox,
}

impl PagesHarness {
    /// `None` after a message, if there is no kubectl.
    fn set(page: &str, document: &str) -> Option<Self> {
        let kubectl = binaries::for_test("pages")?.path("kubectl").unwrap();
        let folder = TestFolder::named(&page.replace('/', "-"));
        for (name, text) in files(document) {
            std::fs::write(folder.file(name), text).unwrap();
        }
        let kubeconfig = folder.file("kubeconfig");
        let mut sandbox = RunningSandbox::start(&["--plain", "--kubeconfig-out", &kubeconfig]);
        sandbox.until("KUBECONFIG");
        Some(Self { folder, kubectl, _sandbox: sandbox })
    }

    /// Types a command. Returns what it printed on both channels.
    fn type_in(&self, typed: &TypedCommand<'_>) -> Vec<String> {
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
            (Output::of(child.stdout.take().unwrap()), Output::of(child.stderr.take().unwrap()));
        let mut message = whole(&complaint);
        message.extend(whole(&out));
        child.wait().unwrap();
        text(&message).lines().map(str::to_owned).collect()
    }

    /// Types a command. A read is typed again, as a reader does, until it prints what the page shows, for 20 s at most:
    /// the objects change while controllers and kubelets work.
    fn type_until_shown(&self, typed: &TypedCommand<'_>) -> Vec<String> {
        let mut output = Vec::new();
        within_blocking(Duration::from_secs(20), || {
            output = self.type_in(typed);
            (!typed.is_read() || typed.shows(&output)).then_some(())
        });
        output
    }

    /// Runs a block of commands as a shell does that gives up at the first one that fails.
    fn run(&self, script: &str) {
        let programs = self.folder.path().join("bin");
        if !programs.exists() {
            std::fs::create_dir(&programs).unwrap();
            symlink(&self.kubectl, programs.join("kubectl")).unwrap();
            symlink(env!("CARGO_BIN_EXE_taintward"), programs.join("taintward")).unwrap();
        }
        let own = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", script]).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("PATH", format!("{}:{own}", programs.display())).env("HOME", self.folder.path());
        let done = command.env("KUBECONFIG", "kubeconfig").output().unwrap();
        assert!(done.status.success(), "{script}{}", text(&[done.stdout, done.stderr].concat()));
    }
}

fn whole(message: &Output) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(more) = message.more(&all) {
        all.extend(more);
    }
    all
}

fn follow(page: &str) {
    let path = here("../../docs").join(page);
    let document = std::fs::read_to_string(&path).unwrap();
    if let Some(harness) = PagesHarness::set(page, &document) {
        play(&path, |typed| harness.type_until_shown(typed));
    }
}

/// Runs every `sh` block of a page, in its order.
fn run_scripts(page: &str) {
    let document = std::fs::read_to_string(here("../../docs").join(page)).unwrap();
    let scripts: Vec<&str> =
        document.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(!scripts.is_empty(), "{page} has no scripts");
    if let Some(harness) = PagesHarness::set(page, &document) {
        scripts.iter().for_each(|script| harness.run(script));
    }
}

/// Types the commands of a page that read files, in a folder of `tests/cmd`.
fn read_files(page: &str, folder: &str) {
    let folder = here("tests/cmd").join(folder);
    play(&here("../../docs").join(page), |typed| {
        let words = typed.words();
        assert_eq!(words[0], "taintward");
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(&words[1..]).current_dir(&folder).stdin(Stdio::null());
        let done = command.env("NO_COLOR", "").env("KUBECONFIG", "").env("TZ", "UTC").output().unwrap();
        text(&[done.stdout, done.stderr].concat()).lines().map(str::to_owned).collect()
    });
}

#[test]
fn admission() {
    follow("admission.md");
}

#[test]
fn dedicated_nodes() {
    follow("dedicated-nodes.md");
}

#[test]
fn eviction_policy() {
    follow("eviction-policy.md");
}

#[test]
fn quick_start() {
    follow("start/quick-start.md");
}

#[test]
fn failover() {
    follow("tasks/failover.md");
}

#[test]
fn replace() {
    run_scripts("start/replace.md");
}

#[test]
fn upgrade() {
    run_scripts("operations/upgrade.md");
}

#[test]
fn troubleshooting() {
    run_scripts("operations/troubleshooting.md");
}

#[test]
fn metrics() {
    run_scripts("metrics.md");
}

#[test]
fn distributions() {
    read_files("start/distributions.md", "doctor.in");
}

#[test]
fn why_evicted() {
    read_files("tasks/why-evicted.md", "explain.in");
}

#[test]
fn lint_in_ci() {
    read_files("tasks/lint-in-ci.md", "lint.in");
}

#[test]
fn maintenance() {
    read_files("tasks/maintenance.md", "plan.in");
}

/// Pages whose fenced commands have a test of the page, and the file of `crates/cli/tests` with that test.
const TYPED: [(&str, &str); 17] = [
    ("admission.md", "documents/pages.rs"),
    ("dedicated-nodes.md", "documents/pages.rs"),
    ("eviction-policy.md", "documents/pages.rs"),
    ("install.md", "cluster/install_story.rs"),
    ("managed-clusters.md", "managed_real/page.rs"),
    ("metrics.md", "documents/pages.rs"),
    ("monitoring.md", "documents/monitoring_page.rs"),
    ("operations/troubleshooting.md", "documents/pages.rs"),
    ("operations/upgrade.md", "documents/pages.rs"),
    ("start/distributions.md", "documents/pages.rs"),
    ("start/quick-start.md", "documents/pages.rs"),
    ("start/replace.md", "documents/pages.rs"),
    ("taint.md", "documents/examples.rs"),
    ("tasks/failover.md", "documents/pages.rs"),
    ("tasks/lint-in-ci.md", "documents/pages.rs"),
    ("tasks/maintenance.md", "documents/pages.rs"),
    ("tasks/why-evicted.md", "documents/pages.rs"),
];

#[test]
fn tests_name_the_pages_that_they_type() {
    for (page, test) in TYPED {
        let source = std::fs::read_to_string(here("tests").join(test)).unwrap();
        assert!(source.contains(page), "tests/{test} does not type {page}");
        let document = std::fs::read_to_string(here("../../docs").join(page)).unwrap();
        let fences = ["```console\n", "```sh"].map(|fence| document.contains(fence));
        // The tests of this file type one kind of blocks, those of other files all.
        let is_right =
            if test == "documents/pages.rs" { fences[0] != fences[1] } else { fences[0] || fences[1] };
        assert!(is_right, "{page} has fenced commands that tests/{test} does not type, or none");
    }
}
