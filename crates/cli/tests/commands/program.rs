//! Tests the built program: exit codes, environment variables, log lines, signals.

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use testkit::wait::{let_time_pass_blocking, until_blocking, within_blocking};

/// The program with a clean environment.
fn taintward() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.env_clear();
    command
}

/// The exit code, standard output and standard error of a program that should end soon.
fn output(command: &mut Command) -> (Option<i32>, String, String) {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    if within_blocking(Duration::from_secs(20), || child.try_wait().unwrap()).is_none() {
        child.kill().unwrap();
    }
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port()
}

#[test]
fn help_and_version_go_to_standard_output() {
    for arguments in
        [&[][..], &["--help"], &["run", "--help"], &["version", "--client"], &["--version"], &["-V"]]
    {
        let (code, out, err) = output(taintward().args(arguments));
        assert_eq!((code, err.as_str()), (Some(0), ""), "{arguments:?}");
        let words = match arguments.concat() {
            help if help.contains("elp") => "Usage: taintward",
            version if version.contains("client") => {
                concat!("Client Version: v", env!("CARGO_PKG_VERSION"), "\n")
            }
            _ => "taintward",
        };
        assert!(out.contains(words), "{out}");
    }
}

#[test]
fn a_wrong_flag_ends_with_2_before_anything_begins() {
    for arguments in [
        &["run", "--walk"][..],
        &["run", "--mode=watch"],
        &["run", "--leader-elect-retry-period=0s"],
        &["--mode"],
    ] {
        let (code, out, err) = output(taintward().args(arguments));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(err.starts_with("error: "), "{err}");
    }
}

/// 2 means that something was found: no command ends with it because of its command line.
#[test]
fn a_wrong_command_line_ends_with_1_for_every_command() {
    let (_, help, _) = output(taintward().arg("--help"));
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let verbs: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert!(verbs.len() >= 18 && verbs.contains(&"plan") && verbs.contains(&"webhook"), "{verbs:?}");
    for verb in verbs {
        let (code, out, err) = output(taintward().args([verb, "--no-such-flag"]));
        assert_eq!((code, out.as_str()), (Some(1), ""), "{verb}: {err}");
        assert!(err.starts_with("error: unexpected argument"), "{verb}: {err}");
    }
}

#[test]
fn a_command_that_does_not_exist_ends_with_1() {
    let (code, out, err) = output(taintward().arg("pln"));
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.contains("unrecognized subcommand 'pln'"), "{err}");
}

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    for arguments in [&["--help"][..], &["plan", "--help"], &["help", "plan"], &["--version"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let done = taintward().args(arguments).stdout(full).output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(1), "{arguments:?}: {err}");
        assert!(err.starts_with("error: cannot write to standard output: "), "{err}");
    }
}

/// Local times, with their zone given once, also in summer; for programs times in UTC.
#[test]
fn times_are_those_of_the_zone_that_the_environment_names() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cmd/plan.in/cluster.yaml");
    let plan = ["plan", "-f", file, "--as-of", "2026-07-21T14:00:00Z", "--node-dead", "n2"];
    for (zone, now, leaves) in [
        ("Europe/Berlin", "2026-07-21 16:00:00 CEST", "16:05:50, in 5m50s"),
        ("UTC", "2026-07-21 14:00:00 UTC", "14:05:50, in 5m50s"),
    ] {
        let (code, out, err) = output(taintward().args(plan).env("TZ", zone));
        assert_eq!((code, err.as_str()), (Some(2), ""));
        assert!(out.starts_with(&format!("{file}, {now}:\n")) && out.contains(leaves), "{out}");
        let (_, out, _) = output(taintward().args(plan).args(["-o", "json"]).env("TZ", zone));
        assert!(out.contains("\"evictedAt\": \"2026-07-21T14:05:50Z\""), "{out}");
    }
}

#[test]
fn a_wrong_variable_is_reported_like_a_wrong_flag() {
    let (code, _, err) = output(taintward().arg("run").env("TAINTWARD_LEADER_ELECT_LEASE_DURATION", "15"));
    assert_eq!(code, Some(1));
    assert!(
        err.contains("'15' for '--leader-elect-lease-duration <DURATION>'") && err.contains("15s, 1m30s"),
        "{err}"
    );
}

#[test]
fn a_flag_wins_over_its_variable_and_the_variable_over_the_default() {
    // The error about the renew deadline shows which lease duration is in effect.
    let complaint = |flag: Option<&str>, variable: Option<&str>| {
        let mut command = taintward();
        command.args(["run", "--leader-elect-renew-deadline=1h"]);
        command.args(flag.map(|value| format!("--leader-elect-lease-duration={value}")));
        command.envs(variable.map(|value| ("TAINTWARD_LEADER_ELECT_LEASE_DURATION", value)));
        let (code, _, err) = output(&mut command);
        assert_eq!(code, Some(1));
        err
    };
    assert!(complaint(None, None).contains("--leader-elect-lease-duration (15s)"));
    assert!(complaint(None, Some("20s")).contains("--leader-elect-lease-duration (20s)"));
    assert!(complaint(Some("25s"), Some("20s")).contains("--leader-elect-lease-duration (25s)"));
}

#[test]
fn a_choice_by_variable_is_a_choice() {
    let (code, _, err) =
        output(taintward().args(["run", "--enable-taint-manager=false"]).env("TAINTWARD_MODE", "enforce"));
    assert_eq!(code, Some(1));
    assert!(err.contains("contradict each other"), "{err}");
    let (code, _, err) = output(taintward().arg("run").env("TAINTWARD_LEADER_ELECT", "perhaps"));
    assert_eq!(code, Some(1));
    assert!(err.contains("expected true or false"), "{err}");
}

#[test]
fn a_port_in_use_ends_with_1_and_one_line_that_names_the_flag() {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let (code, out, err) = output(taintward().args(["run", "--log-format=json", "--metrics-port", &port]));
    assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
    let record: serde_json::Value = serde_json::from_str(err.lines().last().unwrap()).unwrap();
    let expected = format!(
        "cannot listen on 127.0.0.1:{port}: the port is in use; choose another with --metrics-port, or 0 to switch it off"
    );
    assert_eq!((&record["level"], &record["err"]), (&"error".into(), &expected.into()));
}

/// The program, running against an unreachable API server; ended with the test.
struct RunningController {
    child: Child,
    port: u16,
    kubeconfig: PathBuf,
}

/// A kubeconfig for a server on a closed port.
const UNREACHABLE: &str = "apiVersion: v1
kind: Config
clusters: [{name: x, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: x, user: {}}]
contexts: [{name: x, context: {cluster: x, user: x}}]
current-context: x
";

impl RunningController {
    fn start(arguments: &[&str]) -> Self {
        let port = free_port();
        let kubeconfig =
            std::env::temp_dir().join(format!("taintward-unreachable-{}-{port}", std::process::id()));
        std::fs::write(&kubeconfig, UNREACHABLE).unwrap();
        let mut command = taintward();
        command
            .arg("run")
            .args(arguments)
            .arg(format!("--metrics-port={port}"))
            .arg("--kubeconfig")
            .arg(&kubeconfig);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        let running = Self { child, port, kubeconfig };
        let connects = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok();
        until_blocking("a process to listen", Duration::from_secs(20), connects);
        running
    }

    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for the end. Returns the exit code and the log.
    fn end(mut self) -> (Option<i32>, Vec<String>) {
        let log = BufReader::new(self.child.stderr.take().unwrap()).lines().map(Result::unwrap).collect();
        (self.child.wait().unwrap().code(), log)
    }
}

impl Drop for RunningController {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

#[test]
fn a_signal_ends_it_in_good_order() {
    for signal in [Signal::TERM, Signal::INT] {
        let running = RunningController::start(&["--mode=observe"]);
        assert!(running.get("/metrics").contains("taintward_build_info{version=\""));
        let began = Instant::now();
        running.signal(signal);
        let (code, log) = running.end();
        assert_eq!(code, Some(0), "{log:?}");
        assert!(began.elapsed() < Duration::from_secs(5));
        assert!(log.iter().any(|line| line.starts_with('I') && line.contains("stopping, ")), "{log:?}");
    }
}

/// A read from a silent file, in its own thread, blocks as a name lookup may.
#[test]
fn what_is_stuck_in_another_thread_holds_up_no_end() {
    let folder = std::env::temp_dir().join(format!("taintward-stuck-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (token, kubeconfig) = (folder.join("token"), folder.join("config"));
    assert!(Command::new("mkfifo").arg(&token).status().unwrap().success());
    let text = format!(
        "{{clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:1'}}}}], \
         users: [{{name: u, user: {{tokenFile: {}}}}}], \
         contexts: [{{name: x, context: {{cluster: c, user: u}}}}], current-context: x}}",
        token.display()
    );
    std::fs::write(&kubeconfig, text).unwrap();
    for command in ["run", "webhook"] {
        let more = [format!("--secure-port={}", free_port()), "--self-signed".to_owned()];
        let mut child = taintward()
            .args([command, "--kubeconfig", kubeconfig.to_str().unwrap()])
            .arg(format!("--metrics-port={}", free_port()))
            .args(if command == "webhook" { &more[..] } else { &[] })
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let_time_pass_blocking(Duration::from_millis(800), "it may not end while it waits for the server");
        assert!(child.try_wait().unwrap().is_none(), "{command} waits");
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let ended = within_blocking(Duration::from_secs(5), || child.try_wait().unwrap());
        child.kill().unwrap();
        let mut log = String::new();
        child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert_eq!(ended.and_then(|status| status.code()), Some(0), "{command}: {log}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_old_switch_is_answered_in_the_log() {
    let running = RunningController::start(&["--enable-taint-manager=false", "--log-format=json"]);
    assert!(running.get("/metrics").contains("mode=\"observe\""));
    running.signal(Signal::TERM);
    let (code, log) = running.end();
    assert_eq!(code, Some(0));
    let records: Vec<serde_json::Value> =
        log.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let warning = records.iter().find(|record| record["level"] == "warning").unwrap();
    assert_eq!(warning["flag"], "--enable-taint-manager");
    assert!(warning["reason"].as_str().unwrap().contains("--mode=observe"));
}
