//! Tests completion in bash, zsh and fish, if installed, and through kubectl's plugin protocol.
//!
//! - See `src/completion_kind/object_names.rs` for the names.

use crate::cli::reluctant::kubeconfig;
use crate::cli::running::{RunningSandbox, TestFolder, text};
use crate::cli::timeout::Output;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};
use taintward_envtest::binaries;

const OBJECTS: &str = "\
apiVersion: v1
kind: Node
metadata: {name: db-node-1}
---
apiVersion: v1
kind: Node
metadata: {name: web-node-1}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
";

const PROGRAM: &str = env!("CARGO_BIN_EXE_taintward");

/// A sandbox, and a folder with the program under all its names.
struct CompletionHarness {
    folder: TestFolder,
    kubeconfig: String,
    _sandbox: RunningSandbox,
}

impl CompletionHarness {
    fn set(name: &str) -> Self {
        let folder = TestFolder::named(name);
        for link in ["taintward", "kubectl-taintward", "kubectl_complete-taintward"] {
            let _ = std::fs::remove_file(folder.file(link));
            symlink(PROGRAM, folder.file(link)).unwrap();
        }
        let (objects, kubeconfig) = (folder.write("objects.yaml", OBJECTS), folder.file("kubeconfig"));
        let mut sandbox =
            RunningSandbox::start(&["--plain", "--load", &objects, "--kubeconfig-out", &kubeconfig]);
        sandbox.until("KUBECONFIG");
        Self { folder, kubeconfig, _sandbox: sandbox }
    }

    fn command(&self, program: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", format!("{}:{path}", self.folder.path().display()))
            .env("HOME", self.folder.path())
            .env("KUBECONFIG", &self.kubeconfig)
            .env("TERM", "dumb")
            .env("LC_ALL", "C.UTF-8")
            .current_dir(self.folder.path());
        command
    }

    /// The program's completions, and the directive after them.
    fn offered(&self, words: &[&str]) -> Vec<String> {
        let done = self.command(PROGRAM).arg("__complete").args(words).output().unwrap();
        assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
        text(&done.stdout).lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect()
    }
}

fn is_there(program: &str) -> bool {
    let requested =
        Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    requested.is_ok()
}

/// A shell on a terminal of its own.
struct TypedWords {
    shell: Child,
    keys: ChildStdin,
    shown: Output,
    seen: String,
}

impl TypedWords {
    fn start(mut command: Command) -> Self {
        let mut shell =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (keys, shown) = (shell.stdin.take().unwrap(), Output::of(shell.stdout.take().unwrap()));
        Self { shell, keys, shown, seen: String::new() }
    }

    /// Reads until this is on the screen. Returns what was before it.
    fn until(&mut self, what: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(what) {
                let before = self.seen[..at].to_owned();
                self.seen.drain(..at + what.len());
                return before;
            }
            let more = self.shown.more(&self.seen);
            let more = more.unwrap_or_else(|| panic!("timed out: {what:?} in {:?}", self.seen));
            self.seen += &String::from_utf8_lossy(&more);
        }
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Types this, presses Tab, and lets the shell print the words of the line.
    fn completed(&mut self, typed: &str) -> String {
        // Control-A moves to the beginning of the line.
        self.press(&format!("{typed}\t\u{1}printf '<%s>' begin \u{5} end\n"));
        self.until("<begin>");
        self.until("<end>")
    }
}

impl Drop for TypedWords {
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

/// Typed lines, and their words after Tab, in any shell.
const LINES: [(&str, &str); 8] = [
    ("taintward li", "<taintward><lint>"),
    ("taintward lint --namesp", "<taintward><lint><--namespace>"),
    ("taintward lint -n sho", "<taintward><lint><-n><shop>"),
    ("taintward lint --namespace=sho", "<taintward><lint><--namespace=shop>"),
    ("taintward lint --context tai", "<taintward><lint><--context><taintward-sandbox>"),
    ("taintward sandbox node silence db-n", "<taintward><sandbox><node><silence><db-node-1>"),
    (
        "taintward sandbox node recover web-node-1 db",
        "<taintward><sandbox><node><recover><web-node-1><db-node-1>",
    ),
    ("taintward lint -n nothing-begins-like-this", "<taintward><lint><-n><nothing-begins-like-this>"),
];

fn on_a_terminal(harness: &CompletionHarness, shell: &str, load: &str) {
    let mut command = harness.command("script");
    command.env("PS1", "READY> ").args(["-qec", shell, "/dev/null"]);
    let mut typed = TypedWords::start(command);
    typed.until("READY> ");
    typed.press(&format!("{load}; printf '<%s>' loaded\n"));
    typed.until("<loaded>");
    for (line, expected) in LINES {
        let words = typed.completed(line);
        assert_eq!(words, expected, "{shell}: {line}");
    }
}

#[test]
fn bash_completes_what_is_in_the_cluster() {
    if !is_there("script") || !is_there("bash") {
        return binaries::skipped(
            "bash_completes_what_is_in_the_cluster",
            "it needs bash, and script for a terminal",
        );
    }
    let harness = CompletionHarness::set("complete-bash");
    on_a_terminal(&harness, "bash --norc --noprofile -i", "source <(taintward completion bash)");
}

#[test]
fn zsh_completes_what_is_in_the_cluster() {
    if !is_there("script") || !is_there("zsh") {
        return binaries::skipped(
            "zsh_completes_what_is_in_the_cluster",
            "it needs zsh, and script for a terminal",
        );
    }
    let harness = CompletionHarness::set("complete-zsh");
    let load = "autoload -U compinit && compinit -u && source <(taintward completion zsh)";
    on_a_terminal(&harness, "zsh -f -i", load);
}

#[test]
fn fish_completes_what_is_in_the_cluster() {
    if !is_there("fish") {
        return binaries::skipped("fish_completes_what_is_in_the_cluster", "it needs fish");
    }
    let harness = CompletionHarness::set("complete-fish");
    for (line, expected) in LINES {
        let script = "taintward completion fish | source; complete --do-complete $argv[1]";
        let done = harness.command("fish").args(["--no-config", "-c", script, line]).output().unwrap();
        let shown = text(&done.stdout);
        let words: Vec<&str> = shown.lines().map(|line| line.split('\t').next().unwrap()).collect();
        let last = expected.trim_end_matches('>').rsplit('<').next().unwrap();
        let wanted = if line.ends_with(last) { Vec::new() } else { vec![last] };
        assert_eq!(words, wanted, "{line}: {done:?}");
    }
}

#[test]
fn the_program_offers_words_and_how_they_continue() {
    let harness = CompletionHarness::set("complete-words");
    assert_eq!(harness.offered(&["lint", "-n", "sho"]), ["shop", ":4"]);
    assert_eq!(harness.offered(&["sandbox", "node", "silence", ""]), ["db-node-1", "web-node-1", ":4"]);
    assert_eq!(harness.offered(&["completion", ""]), ["bash", "zsh", "fish", ":4"]);
    // Flags are offered once one has been started.
    assert_eq!(harness.offered(&["version", ""]), [":4"]);
    assert!(harness.offered(&["version", "-"]).iter().any(|word| word == "--client"));
    let verbs = harness.offered(&[""]);
    for verb in ["run", "sandbox", "lint", "version", "completion", "docs", ":4"] {
        assert!(verbs.iter().any(|offered| offered == verb), "{verb}: {verbs:?}");
    }
    assert!(!verbs.iter().any(|verb| verb == "__complete"), "{verbs:?}");
    // Folders are completed with a slash.
    std::fs::create_dir(harness.folder.file("manifests")).unwrap();
    assert_eq!(harness.offered(&["lint", "-f", "mani"]), ["manifests/", ":6"]);
    // An invalid line, and a cluster that does not exist.
    assert_eq!(harness.offered(&["walk", "--far", ""]).last().map(String::as_str), Some(":4"));
    assert_eq!(harness.offered(&["lint", "--kubeconfig", "nowhere", "-n", ""]), [":4"]);
}

#[test]
fn completion_does_not_wait_for_an_unresponsive_server() {
    let harness = CompletionHarness::set("complete-mute");
    // It listens, and never responds.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", mute.local_addr().unwrap());
    let file = harness.folder.write("mute", &kubeconfig(&server));
    let began = Instant::now();
    assert_eq!(harness.offered(&["lint", "--kubeconfig", &file, "-n", ""]), [":4"]);
    let waited = began.elapsed();
    assert!(waited > Duration::from_secs(1), "it sent no request: {waited:?}");
    // Two seconds, plus the time to start a program on a busy machine.
    assert!(waited < Duration::from_secs(6), "{waited:?}");
    assert_eq!(harness.offered(&["lint", "--kubeconfig", &file, "--context", ""]), ["x", ":4"]);
}

#[test]
fn kubectl_finds_its_plugin_and_completes_it() {
    let Some(tools) = binaries::for_test("kubectl_finds_its_plugin_and_completes_it") else { return };
    let harness = CompletionHarness::set("plugin");
    let kubectl = tools.path("kubectl").unwrap();
    let run = |words: &[&str]| {
        let done = harness.command(kubectl.to_str().unwrap()).args(words).output().unwrap();
        (done.status.code().unwrap(), text(&done.stdout), text(&done.stderr))
    };
    let ours = format!("Client Version: v{}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["taintward", "version", "--client"]), (0, ours.clone(), String::new()));
    let (code, both, _) = run(&["taintward", "version"]);
    assert!(code == 0 && both.starts_with(&ours) && both.contains("\nServer Version: v1."), "{both}");
    let (code, help, _) = run(&["taintward", "--help"]);
    assert!(code == 0 && help.contains("Usage: kubectl taintward [COMMAND]"), "{help}");
    assert!(help.contains("\n      kubectl taintward lint -f FILE\n"), "{help}");
    let (_, help, _) = run(&["taintward", "lint", "--help"]);
    assert!(help.contains("Usage: kubectl taintward lint [OPTIONS]"), "{help}");
    let (code, _, message) = run(&["taintward", "lint", "--wrong"]);
    assert!(code == 1 && message.contains("Usage: kubectl taintward lint"), "{message}");
    let (_, listed, message) = run(&["plugin", "list"]);
    assert!(listed.contains("kubectl-taintward") && !message.contains("warning"), "{listed}{message}");
    // The protocol of kubectl's own completion scripts.
    let offered = |words: &[&str]| {
        let (_, offered, _) = run(&[&["__complete", "taintward"], words].concat());
        offered.lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(offered(&["lint", "-n", "sho"]), ["shop", ":4"]);
    assert_eq!(offered(&["lint", "--all-n"]), ["--all-namespaces", ":4"]);
}
