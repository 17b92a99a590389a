//! # CLI examples: what the documents show is what the program prints
//! Room:     every `console` block of docs/taint.md and of `examples/commands.md`, played at a terminal, in a sandbox.
//! Comes in: the built program; `examples/cluster.yaml`.
//! Goes out: the same text, but for times and ports; with `EXAMPLES=overwrite` the documents are written anew.
//! Not here: examples on files, which are golden tests.
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod cli {
    pub(crate) mod patience;
    pub(crate) mod running;
    pub(crate) mod terminal;
}
use cli::patience::eventually;
use cli::running::{Folder, Running, text};
use cli::terminal::Terminal;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A cluster, a folder to be in, and nodes that pods do not leave: a document is a story in which time stands still.
struct Stage {
    folder: Folder,
    _sandbox: Running,
}

impl Stage {
    fn set(name: &str) -> Self {
        let folder = Folder::named(name);
        let cluster = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/examples/cluster.yaml");
        let kubeconfig = folder.file("kubeconfig");
        let flags = ["--plain", "--without", "taintward", "--load", cluster, "--kubeconfig-out", &kubeconfig];
        let mut sandbox = Running::start(&flags);
        sandbox.until("KUBECONFIG");
        eventually("everybody is well", || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
            command.args(["plan", "--taint", "*", "x:NoExecute", "--kubeconfig", &kubeconfig]);
            text(&command.output().unwrap().stdout).contains("2 are, and 2 of them leave").then_some(())
        });
        Self { folder, _sandbox: sandbox }
    }

    /// Types a command; what a person sees until the prompt is back.
    fn type_in(&self, typed: &Typed) -> Vec<String> {
        let words = typed.words();
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(&words).current_dir(self.folder.path());
        command.env("KUBECONFIG", "kubeconfig").env("TZ", "UTC").env("TERM", "xterm").env("NO_COLOR", "1");
        let mut terminal = Terminal::whole(command);
        let mut shown = String::new();
        if typed.is_log() {
            // It says so when it has looked at everything.
            shown += &terminal.until("synced");
            terminal.interrupt();
        } else if let Some(answer) = typed.answer() {
            shown += &terminal.until("[y/N] ");
            terminal.types(&format!("{answer}\n"));
        }
        shown += &terminal.ends().1;
        let lines = shown.lines().map(str::to_owned);
        match typed.is_log() {
            true => lines.filter(|line| !line.contains(" stop")).chain(["^C".to_owned()]).collect(),
            false => lines.collect(),
        }
    }
}

/// What is typed, and what is shown below it.
struct Typed<'d> {
    command: &'d str,
    shown: Vec<&'d str>,
}

impl Typed<'_> {
    /// What the program is given, as a shell would.
    fn words(&self) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for letter in self.command.strip_prefix("taintward ").unwrap().chars() {
            match letter {
                '"' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                other => words.last_mut().unwrap().push(other),
            }
        }
        words
    }

    /// Whether it goes on until it is interrupted.
    fn is_log(&self) -> bool {
        self.shown.last() == Some(&"^C")
    }

    /// What is typed at the question.
    fn answer(&self) -> Option<&str> {
        self.shown.iter().find_map(|line| Some(line.split_once("[y/N] ")?.1))
    }
}

fn examples(document: &str) -> Vec<Typed<'_>> {
    let mut all = Vec::new();
    for block in document.split("```console\n").skip(1) {
        for line in block.split("```").next().unwrap().lines() {
            match line.strip_prefix("$ ") {
                Some(command) => all.push(Typed { command, shown: Vec::new() }),
                None => all.last_mut().map(|typed: &mut Typed<'_>| typed.shown.push(line)).unwrap(),
            }
        }
    }
    all
}

/// A line without what differs from run to run: times, lengths, ports, identities.
fn lasting(line: &str) -> String {
    let words = line.split_whitespace().filter(|word| !is_of(word, "0123456789-") || word.len() != 10);
    words.map(|word| if passes(word) { "#" } else { word }).collect::<Vec<_>>().join(" ")
}

fn passes(word: &str) -> bool {
    let value = word.split_once('=').map_or(word, |(_, value)| value).trim_matches(['"', ',', ':']);
    let digits = value.bytes().any(|byte| byte.is_ascii_digit());
    let moment = is_of(value, "0123456789:.TZ-") && value.contains(':');
    let length = is_of(value, "0123456789hms") && value.ends_with(['h', 'm', 's']);
    let log = value.starts_with('I') && value.len() == 5;
    digits && (moment || length || log || value.contains("127.0.0.1:") || word.starts_with("uid="))
}

fn is_of(word: &str, letters: &str) -> bool {
    word.chars().all(|letter| letters.contains(letter))
}

fn play(name: &str, path: &Path) {
    let stage = Stage::set(name);
    let document = std::fs::read_to_string(path).unwrap();
    let mut anew = document.clone();
    let mut differs = Vec::new();
    for typed in examples(&document) {
        let shown = stage.type_in(&typed);
        let compared = |lines: &mut dyn Iterator<Item = &str>| {
            let mut lines: Vec<String> = lines.map(lasting).collect();
            if typed.is_log() {
                // What happens at once has no order.
                lines.sort();
            }
            lines
        };
        if compared(&mut shown.iter().map(String::as_str)) != compared(&mut typed.shown.iter().copied()) {
            differs.push(format!("$ {}\n{}", typed.command, shown.join("\n")));
        }
        let block = |lines: &str| format!("$ {}\n{lines}", typed.command);
        let of = |lines: Vec<&str>| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let now = of(shown.iter().map(|line| line.trim_end()).collect());
        anew = anew.replace(&block(&of(typed.shown.clone())), &block(&now));
    }
    if std::env::var("EXAMPLES").as_deref() == Ok("overwrite") {
        std::fs::write(path, anew).unwrap();
    } else {
        let all = differs.join("\n");
        let anew = "EXAMPLES=overwrite cargo test -p taintward --test cli_examples writes it anew";
        assert!(differs.is_empty(), "{} shows something else than:\n{all}\n{anew}", path.display());
    }
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

#[test]
fn the_document_of_taint_shows_what_is_printed() {
    play("examples-taint", &here("../../docs/taint.md"));
}

#[test]
fn examples_of_commands_are_what_is_printed() {
    play("examples-commands", &here("tests/examples/commands.md"));
}

#[test]
fn only_what_passes_is_passed_over() {
    assert_eq!(lasting("n1   a:NoExecute   22:29:52, 2s ago"), "n1 a:NoExecute # # ago");
    assert_eq!(lasting("until 2026-11-22 00:29:52, in 1h59m: x"), lasting("until 23:29:52, in 2h: x"));
    assert_eq!(lasting("10 pods on n1 in shop, k=v1"), "10 pods on n1 in shop, k=v1");
}
