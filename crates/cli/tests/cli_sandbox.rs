//! # CLI sandbox: the program as a newcomer starts it
//! Room:     the tour, plain lines, files, interruption, bad flags; nothing here needs more than the program itself.
//! Comes in: the built program.
//! Goes out: exit codes and words.
//! Not here: kubectl (`sandbox_kubectl.rs`), the API (`crates/sandbox`).
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn taintward(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.arg("sandbox").args(arguments);
    command
}

fn output(arguments: &[&str]) -> Output {
    taintward(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A running sandbox, stopped when the test ends however it ends.
struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut child = taintward(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Reads on until a line has this in it.
    fn until(&mut self, what: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "it ended without saying {what:?}");
            if line.contains(what) {
                return line;
            }
        }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    fn ends_within(&mut self, limit: Duration) -> i32 {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(began.elapsed() < limit, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct File(PathBuf);

impl File {
    fn named(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("taintward-cli-sandbox-{}-{name}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// One request, by hand.
fn ask(address: &str, method: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/merge-patch+json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_tour_passes_where_nobody_watches() {
    let began = Instant::now();
    let done = output(&["--tour"]);
    let said = text(&done.stdout);
    assert!(done.status.success(), "{said}{}", text(&done.stderr));
    for step in ["\n1.", "\n2. kubectl taint", "\n3.", "\n4.", "\n5. kubectl drain", "That was the tour."] {
        assert!(said.contains(step), "{step:?} is missing in:\n{said}");
    }
    assert!(!said.contains('\x1b'), "no colours where nobody watches");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn plain_lines_tell_what_happens_and_ctrl_c_ends_it_at_once() {
    let mut sandbox = Running::start(&["--plain"]);
    let url = sandbox.until("Taintward sandbox:");
    let address = url.trim().rsplit("//").next().unwrap().to_owned();
    let kubeconfig = sandbox.until("export KUBECONFIG=").trim().rsplit('=').next().unwrap().to_owned();
    sandbox.until("goes to n");
    assert!(std::fs::read_to_string(&kubeconfig).unwrap().contains(&address));
    std::thread::sleep(Duration::from_secs(2));
    let taint = r#"{"spec":{"taints":[{"key":"k","value":"v","effect":"NoExecute"}]}}"#;
    let answer = ask(&address, "PATCH", "/api/v1/nodes/n1", taint);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    sandbox.until("node n1: taint k=v:NoExecute");
    let line = sandbox.until("leaves:");
    assert!(line.contains("k=v:NoExecute"), "{line}");
    sandbox.signal(rustix::process::Signal::INT);
    assert_eq!(sandbox.ends_within(Duration::from_secs(2)), 0);
    assert!(!PathBuf::from(kubeconfig).exists(), "its kubeconfig goes with it");
}

#[test]
fn what_is_saved_can_be_loaded() {
    let (file, kubeconfig) = (File::named("state.json"), File::named("kubeconfig"));
    let flags = ["--plain", "--nodes", "2", "--save", file.path(), "--kubeconfig-out", kubeconfig.path()];
    let mut sandbox = Running::start(&flags);
    sandbox.until("goes to n");
    sandbox.signal(rustix::process::Signal::TERM);
    assert_eq!(sandbox.ends_within(Duration::from_secs(2)), 0);
    assert!(kubeconfig.0.exists(), "a kubeconfig that was asked for stays");
    let mut again = Running::start(&["--plain", "--load", file.path()]);
    let address = again.until("Taintward sandbox:").trim().rsplit("//").next().unwrap().to_owned();
    let nodes = ask(&address, "GET", "/api/v1/nodes", "");
    assert!(nodes.contains("\"n2\"") && !nodes.contains("\"n3\""), "{nodes}");
}

#[test]
fn what_makes_no_sense_is_said_in_a_sentence() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let broken = File::named("broken.yaml");
    std::fs::write(&broken.0, "a: [").unwrap();
    for (flags, code, words) in [
        (vec!["--listen", &address], 1, "cannot listen on"),
        (vec!["--load", "/nowhere/at/all"], 1, "cannot load /nowhere/at/all"),
        (vec!["--load", broken.path()], 1, "neither JSON nor YAML"),
        (vec!["--kubeconfig-out", "/nowhere/at/all"], 1, "cannot write the kubeconfig"),
        (vec!["--speed", "0"], 2, "--speed"),
        (vec!["--speed", "NaN"], 2, "--speed"),
        (vec!["--nodes", "-1"], 2, "--nodes"),
        (vec!["--nodes", "100000"], 2, "at most"),
        (vec!["--without", "cloud"], 2, "expected one of"),
        (vec!["--tour", "--empty"], 2, "--tour needs"),
        (vec!["--listen", "here"], 2, "--listen"),
    ] {
        let done = output(&flags);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{flags:?}: {said}");
        assert!(said.contains(words), "{flags:?}: {said}");
        assert!(!said.contains("panicked"), "{flags:?}: {said}");
    }
}
