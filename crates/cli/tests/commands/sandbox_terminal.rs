//! Tests `taintward sandbox` on a terminal: whole addresses at any width, the list of `pending -w`, `--open`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::time::Duration;

use crate::cli::running::{RunningSandbox, TestFolder, request, taintward, until_pods_run};
use crate::cli::screen::displayed;
use crate::cli::terminal::TestTerminal;
use crate::cli::timeout::eventually;
use testkit::wait::let_time_pass_blocking;

/// What follows this in the output, to the end of the line.
fn after<'t>(output: &'t str, start: &str) -> &'t str {
    let (_, rest) = output.split_once(start).unwrap_or_else(|| panic!("no {start:?} in {output:?}"));
    rest.lines().next().unwrap().trim_end()
}

/// The status line that the board answers to its address.
fn status(board: &str) -> String {
    let (host, path) = board.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn addresses_stay_whole_above_the_list_of_pending() {
    for (columns, rows) in [(80, 24), (60, 24), (200, 50), (30, 10)] {
        let mut terminal = TestTerminal::sized(taintward(&["--nodes", "3"]), columns, rows);
        let mut output = terminal.until("Press q to quit.");
        if !output.contains("No pods are counting down.") {
            output += &terminal.until("No pods are counting down.");
        }
        let board = format!("http://{}", after(&output, "http://"));
        assert!(status(&board).contains(" 303"), "{}: {output:?}", status(&board));
        assert!(status(&(board.clone() + "x")).contains("401"), "a wrong token");
        let kubeconfig = after(&output, "  export KUBECONFIG=").to_owned();
        until_pods_run(&kubeconfig);
        let taint = r#"{"spec":{"taints":[{"key":"maintenance","effect":"NoExecute"}]}}"#;
        request(&kubeconfig, "PATCH", "/api/v1/nodes/n1", taint);
        while !output.contains("EVICTED") {
            output += &terminal.until("\x1b[J");
        }
        let (columns, rows) = (usize::from(columns), usize::from(rows));
        let screen = displayed(&output, columns, rows);
        let shown = screen.join("\n");
        assert!(
            !shown.contains("No pods are counting down"),
            "the list is drawn over the earlier one:\n{shown}"
        );
        assert_eq!(shown.matches("EVICTED").count(), 1, "{shown}");
        assert!(rows < 24 || screen.concat().contains(&board), "the address is still there:\n{shown}");
        assert!(rows < 24 || screen.concat().contains(&kubeconfig), "{shown}");
        assert_eq!(output.matches(&board).count(), 1, "printed once");
        terminal.types("q");
        let (code, shown, _) = terminal.ends();
        assert!(code == 0 && shown.ends_with("\x1b[?25h"), "{code} {shown:?}");
        assert!(!std::path::Path::new(&kubeconfig).exists(), "its kubeconfig is removed");
    }
}

#[test]
fn ctrl_c_restores_the_terminal() {
    let mut terminal = TestTerminal::sized(taintward(&["--nodes", "1"]), 80, 24);
    terminal.until("Press q to quit.");
    terminal.interrupt();
    let (code, shown, _) = terminal.ends();
    assert!(code == 0 && shown.ends_with("\x1b[?25h"), "{code} {shown:?}");
}

/// A sandbox whose desktop's program is this script, without the `#!`; `None`: the desktop has none.
fn with_opener(folder: &TestFolder, script: Option<&str>, flags: &[&str]) -> Command {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    if let Some(script) = script {
        let file = folder.write(opener, &format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = taintward(&[&["--nodes", "1"], flags].concat());
    command.env("PATH", folder.path());
    command
}

#[test]
fn open_opens_the_board_and_nothing_else_does() {
    let folder = TestFolder::named("open");
    let opened = folder.file("opened");
    let script = format!(
        "for word in \"$@\"; do echo \"$word\" >> {opened}.part; done; /bin/mv {opened}.part {opened}"
    );
    let mut silent = RunningSandbox::of(with_opener(&folder, Some(&script), &["--plain"]));
    silent.until("is scheduled to n1");
    assert!(!std::path::Path::new(&opened).exists(), "only --open opens a browser");
    let mut sandbox = RunningSandbox::of(with_opener(&folder, Some(&script), &["--plain", "--open"]));
    let board = sandbox.until("/?token=").trim().to_owned();
    let words = eventually("the opener was started", || std::fs::read_to_string(&opened).ok());
    assert_eq!(words, board.clone() + "\n");
    assert!(status(&board).contains("303"));
}

#[test]
fn a_board_that_cannot_be_opened_is_one_sentence() {
    for (script, words) in
        [(None, "cannot start "), (Some("exit 3"), "cannot open a browser (exit status: 3); ")]
    {
        let folder = TestFolder::named("unopened");
        let mut sandbox = RunningSandbox::of(with_opener(&folder, script, &["--plain", "--open"]));
        sandbox.until("is scheduled to n1");
        let_time_pass_blocking(Duration::from_millis(300), "the sandbox may not end because of the browser");
        sandbox.signal(rustix::process::Signal::TERM);
        assert_eq!(sandbox.ends_within(Duration::from_secs(2)), 0, "the sandbox runs without a browser");
        let message = sandbox.complaint();
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.contains(words) && message.contains("open the address of the board"), "{message}");
        // On a terminal, the sentence is part of the list.
        let mut terminal = TestTerminal::sized(with_opener(&folder, script, &["--open"]), 80, 24);
        let mut output = terminal.until("note: ");
        if !output.contains("Press q to quit.") {
            output += &terminal.until("Press q to quit.");
        }
        let shown = displayed(&output, 80, 24).join("\n");
        assert!(shown.replace('\n', " ").contains("open the address of the board"), "{shown}");
    }
}

#[test]
fn a_status_is_drawn_again_on_a_terminal_until_the_user_quits() {
    let mut sandbox = RunningSandbox::start(&["--plain", "--nodes", "1"]);
    let kubeconfig = sandbox.kubeconfig();
    let status = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(["status", "-w", "--kubeconfig", &kubeconfig]);
        command
    };
    let mut terminal = TestTerminal::sized(status(), 120, 50);
    for drawing in ["the first", "the next"] {
        let shown = terminal.until("Press q to quit.");
        assert!(shown.contains("Leader:") && shown.contains("Backlog:"), "{drawing}: {shown}");
    }
    terminal.types("q");
    let (code, shown, _) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    let elsewhere = status().output().unwrap();
    assert_eq!((elsewhere.status.code(), elsewhere.stdout.len()), (Some(1), 0), "{elsewhere:?}");
}
