//! Tests the commands that no test of a page types: each runs in a sandbox, or is exempt for a reason.
//!
//! - Of a code span, only the subcommands and flags are checked, because it may be a part of a command.

use super::page_commands::{PageCommand, PageForm, page_commands};
use crate::cli::document::here;
use crate::cli::running::{RunningSandbox, TestFolder, text};
use crate::pages::TYPED;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use taintward_envtest::binaries;

const TEST: &str = "every_command_of_every_page_is_typed_or_exempt";

/// The beginnings of commands that this test does not run, and the reasons.
const EXEMPT: [(&str, &str); 19] = [
    (".ci/run", "it runs this test"),
    ("CARGO_PROFILE_RELEASE_STRIP=", "it builds with optimization, and measures for minutes"),
    ("amtool ", "it needs an Alertmanager; the generator writes the name of the alert"),
    ("cargo build ", "it builds with optimization for minutes"),
    ("cargo install ", "it builds with optimization for minutes"),
    ("cargo xtask ", "a test of xtask parses it"),
    ("docker ", "it needs a container engine; a test of xtask checks the Containerfile"),
    ("heaptrack", "it needs heaptrack and a program that takes minutes to build"),
    ("helm install ", "install_story.rs types it on docs/install.md"),
    ("kops ", "it needs a cluster of kOps"),
    ("kube-controller-manager ", "sandbox_parts.rs starts it"),
    ("kube-scheduler ", "sandbox_parts.rs starts it"),
    ("kubeadm ", "it needs a control-plane node of kubeadm"),
    ("kubectl taintward ", "commands/k9s_plugin.rs and clients/completion.rs run the plugin of kubectl"),
    ("perf ", "it needs perf and the permission to record"),
    ("readelf ", "it needs a program that takes minutes to build"),
    ("source <(taintward completion zsh)", "clients/completion.rs types it in zsh"),
    ("systemctl ", "it needs a server of k3s or RKE2"),
    ("taintward completion fish | source", "clients/completion.rs types it in fish"),
];

/// What readers replace, and names of objects in `cluster.yaml`.
const PLACEHOLDERS: [(&str, &str); 2] = [("pod/NAME", "pod/web-1"), ("-n NAMESPACE", "-n shop")];

/// Commands that a page needs before its own.
const BEFORE: [(&str, &str); 6] = [
    // `pending -w` prints changes, so a pod has to count down.
    ("docs/explain.md", "kubectl taint node n1 power:NoExecute"),
    ("docs/explain.md", "kubectl get nodes,pods,events -A -o json --show-managed-fields > cluster.json"),
    // The pods that the page holds stay: one tolerates the taint, the other runs on n2.
    ("docs/hold.md", "kubectl taint node n1 maintenance:NoExecute"),
    ("docs/hold.md", "kubectl label node n1 topology.kubernetes.io/zone=eu-1a --overwrite"),
    ("docs/plan.md", "kubectl taint node n1 dedicated:PreferNoSchedule"),
    ("docs/taint.md", "kubectl taint node n1 n2 dedicated:PreferNoSchedule b:NoSchedule c:NoSchedule"),
];

/// Commands that take ports which another program of this machine may have: only their flags are checked.
const SERVICES: [&str; 2] = ["taintward run ", "taintward webhook "];

/// What `helm template` prints.
const HELM: &str = "#!/bin/sh\nexec cat deploy/web.yaml\n";

/// A flag that neither program has. They read flags in order, so they name the first wrong one.
const NO_FLAG: &str = "--no-such-flag";

fn root() -> PathBuf {
    here("../..")
}

/// The pages of the repository, except those with a test of their own for their commands.
fn pages() -> Vec<String> {
    // Generated with the program's output; equal to English pages; past versions; the input of another test.
    const OTHERS: [&str; 5] =
        ["docs/cli/", "docs/zh-CN/", "README.zh-CN.md", "CHANGELOG.md", "crates/cli/tests/"];
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && (!name.starts_with('.') || name == ".github") {
                walk(&path, found);
            } else if path.extension().is_some_and(|end| end == "md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), &mut found);
    let names = found.iter().map(|page| page.strip_prefix(root()).unwrap().to_str().unwrap().to_owned());
    let mut names: Vec<String> =
        names.filter(|page| !OTHERS.iter().any(|other| page.starts_with(other))).collect();
    names.sort();
    names
}

/// A sandbox, a folder with the files that pages name, and the programs.
struct UntypedHarness {
    folder: TestFolder,
    kubectl: PathBuf,
    _sandbox: RunningSandbox,
}

impl UntypedHarness {
    fn set(page: &str, kubectl: &Path) -> Self {
        let folder = TestFolder::named(&format!("untyped-{}", page.replace('/', "-")));
        let cluster = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/documents/pages/cluster.yaml");
        let kubeconfig = folder.file("kubeconfig");
        let mut sandbox =
            RunningSandbox::start(&["--plain", "--load", cluster, "--kubeconfig-out", &kubeconfig]);
        sandbox.until("KUBECONFIG");
        let (programs, shop) = (folder.path().join("bin"), folder.path().join("deploy"));
        for folder in [&programs, &shop] {
            fs::create_dir(folder).unwrap();
        }
        symlink(kubectl, programs.join("kubectl")).unwrap();
        symlink(env!("CARGO_BIN_EXE_taintward"), programs.join("taintward")).unwrap();
        fs::write(programs.join("helm"), HELM).unwrap();
        fs::set_permissions(programs.join("helm"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::copy(here("tests/cmd/lint.in/shop/web.yaml"), shop.join("web.yaml")).unwrap();
        let nodes = folder.path().join("nodes-as-i-want-them.yaml");
        fs::copy(here("tests/cmd/plan.in/nodes.yaml"), nodes).unwrap();
        let harness = Self { folder, kubectl: kubectl.to_owned(), _sandbox: sandbox };
        for (_, before) in BEFORE.iter().filter(|(of, _)| *of == page) {
            assert_eq!(harness.run(before), None);
        }
        harness
    }

    fn bash(&self, script: &str) -> Command {
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", script]).current_dir(self.folder.path());
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}/bin:{path}", self.folder.path().display()));
        command.env("HOME", self.folder.path()).env("KUBECONFIG", self.folder.file("kubeconfig"));
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command. Returns what is wrong with it.
    fn run(&self, typed: &str) -> Option<String> {
        let typed = PLACEHOLDERS.iter().fold(typed.to_owned(), |text, (from, to)| text.replace(from, to));
        if SERVICES.iter().any(|service| typed.starts_with(service)) {
            return wrong_flag(&typed, Some(&self.kubectl));
        }
        let is_lasting = typed.starts_with("taintward board") || typed.starts_with("taintward sandbox");
        if is_lasting || typed.ends_with(" -w") {
            // It has started when it prints its first line. This panics if it ends before.
            println!("{typed}");
            let line = RunningSandbox::of(self.bash(&format!("exec {typed} 2>&1"))).until("");
            return line.starts_with("error: ").then_some(line);
        }
        let done = self.bash(&typed).output().unwrap();
        let errors = text(&done.stderr);
        // Commands of Taintward that find something fail without an error.
        let is_verdict = typed.contains("taintward ") && !errors.contains("error: ");
        (!done.status.success() && !is_verdict).then(|| format!("{} with {errors}", done.status))
    }
}

/// What is wrong with the subcommands and flags of a command, which does not run.
fn wrong_flag(typed: &str, kubectl: Option<&Path>) -> Option<String> {
    let typed = typed.split(['>', '|']).next().unwrap();
    let words: Vec<&str> = typed.split_whitespace().filter(|word| *word != "--help").collect();
    let program = match words[0] {
        "taintward" => Path::new(env!("CARGO_BIN_EXE_taintward")),
        _ => kubectl?,
    };
    let done = Command::new(program).args(&words[1..]).arg(NO_FLAG).stdin(Stdio::null()).output().unwrap();
    let message = text(&[done.stdout, done.stderr].concat());
    (!message.contains(NO_FLAG)).then(|| message.lines().next().unwrap_or_default().to_owned())
}

/// Whether cargo has the package and the test or example that a command names.
fn wrong_target(typed: &str) -> Option<String> {
    let words: Vec<&str> = typed.split_whitespace().collect();
    let after = |flag: &str| words.windows(2).find(|pair| pair[0] == flag).map(|pair| pair[1]);
    let package = after("-p").or(after("--package"))?;
    let folder = match package {
        "taintward" => "crates/cli".to_owned(),
        "taintward-examples" => "examples".to_owned(),
        "xtask" => "xtask".to_owned(),
        other => format!("crates/{}", other.trim_start_matches("taintward-")),
    };
    let Ok(manifest) = fs::read_to_string(root().join(&folder).join("Cargo.toml")) else {
        return Some(format!("there is no package {package}"));
    };
    let is_there = |kind: &str, name: &str| {
        let file = root().join(&folder).join(kind).join(name);
        let is_file = file.with_extension("rs").exists() || file.join("main.rs").exists();
        is_file || manifest.contains(&format!("\nname = \"{name}\""))
    };
    let targets = [("tests", after("--test")), ("examples", after("--example"))];
    let missing = targets.iter().find(|(kind, name)| name.is_some_and(|name| !is_there(kind, name)));
    missing.map(|(kind, name)| format!("{folder} has no {} in {kind}", name.unwrap_or_default()))
}

/// The exemption of a command.
fn exemption(typed: &str) -> Option<&'static str> {
    EXEMPT.iter().map(|(start, _)| *start).find(|start| typed.starts_with(start))
}

#[test]
fn every_command_of_every_page_is_typed_or_exempt() {
    let kubectl = binaries::for_test(TEST).map(|tools| tools.path("kubectl").unwrap());
    let (mut wrong, mut used, mut spans) = (String::new(), BTreeSet::new(), BTreeMap::new());
    let mut ran = 0;
    for page in pages() {
        let is_typed = TYPED.iter().any(|(typed, _)| page == format!("docs/{typed}"));
        let document = fs::read_to_string(root().join(&page)).unwrap();
        let mut harness = None;
        for PageCommand { line, form, text: typed } in page_commands(&document) {
            let fault = if let Some(start) = exemption(&typed) {
                used.insert(start);
                continue;
            } else if form == PageForm::Fenced && is_typed {
                continue;
            } else if typed.starts_with("cargo ") {
                wrong_target(&typed)
            } else if form == PageForm::Span {
                spans.entry(typed.clone()).or_insert_with(|| wrong_flag(&typed, kubectl.as_deref())).clone()
            } else if let Some(kubectl) = &kubectl {
                ran += 1;
                harness.get_or_insert_with(|| UntypedHarness::set(&page, kubectl)).run(&typed)
            } else {
                continue;
            };
            if let Some(fault) = fault {
                wrong += &format!("{page}:{line}: `{typed}`: {}\n", fault.trim_end());
            }
        }
    }
    assert!(wrong.is_empty(), "no test types these commands, or they fail:\n{wrong}");
    let unused: Vec<_> = EXEMPT.iter().filter(|(start, _)| !used.contains(start)).collect();
    assert!(unused.is_empty(), "exemptions that no command needs: {unused:?}");
    assert!(spans.len() > 70 && (kubectl.is_none() || ran > 40), "{} spans, {ran} runs", spans.len());
}

#[test]
fn wrong_commands_are_found() {
    for right in ["taintward plan --drain", "taintward plan --taint n1 x:NoExecute > a", "taintward hold"] {
        assert_eq!(wrong_flag(right, None), None, "{right}");
    }
    for wrong in ["taintward plan --unknown", "taintward unknown", "taintward guard unknown on --of"] {
        assert!(wrong_flag(wrong, None).is_some(), "{wrong}");
    }
    assert_eq!(wrong_target("cargo test -p taintward --test documents -- x"), None);
    for wrong in
        ["cargo test -p taintward --test unknown", "cargo run -p unknown", "cargo run -p xtask --example x"]
    {
        assert!(wrong_target(wrong).is_some(), "{wrong}");
    }
}
