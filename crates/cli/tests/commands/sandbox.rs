//! Tests `taintward sandbox` as a child process: the tour, plain lines, interruption, wrong flags, the listener.
//!
//! - See `commands/sandbox_files.rs` for files, `commands/sandbox_node.rs` for node faults, `clients/kubectl.rs` for kubectl.

use std::fs::Permissions;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cli::running::{RunningSandbox, TestFile, output, request, taintward, text, until_pods_run};
use crate::cli::timeout::eventually;

#[test]
fn the_tour_passes_without_a_terminal() {
    let began = Instant::now();
    let smaller = std::thread::spawn(|| output(&["--tour", "--nodes", "4"]));
    let done = output(&["--tour"]);
    let message = text(&done.stdout);
    assert!(done.status.success(), "{message}{}", text(&done.stderr));
    for step in [
        "\n1.",
        "\n2. kubectl taint",
        "\n3.",
        "\n4.",
        "\n5. kubectl drain",
        "\n6. taintward sandbox node silence",
        "no pod was evicted.",
        "That was the tour.",
    ] {
        assert!(message.contains(step), "{step:?} is missing in:\n{message}");
    }
    // The grace period is 8 s, and counts from the last heartbeat.
    let (before, _) = message.split_once(" s after its last heartbeat").unwrap();
    let took: f64 = before.rsplit(' ').next().unwrap().parse().unwrap();
    assert!((8.0..30.0).contains(&took), "{took}");
    assert!(!message.contains('\x1b'), "no colors without a terminal");
    let smaller = smaller.join().unwrap();
    let message = text(&smaller.stdout);
    assert!(smaller.status.success(), "{message}{}", text(&smaller.stderr));
    assert!(message.contains("1. 4 nodes run") && message.contains("16 pods run."), "{message}");
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
}

#[test]
fn plain_lines_tell_what_happens_and_ctrl_c_ends_it_immediately() {
    let mut sandbox = RunningSandbox::start(&["--plain"]);
    let address = sandbox.address();
    let kubeconfig = sandbox.kubeconfig();
    let line = sandbox.until("is scheduled to n");
    assert!(line.contains("pod shop/"), "{line}");
    assert!(std::fs::read_to_string(&kubeconfig).unwrap().contains(&address));
    until_pods_run(&kubeconfig);
    let taint = r#"{"spec":{"taints":[{"key":"k","value":"v","effect":"NoExecute"}]}}"#;
    request(&kubeconfig, "PATCH", "/api/v1/nodes/n1", taint);
    sandbox.until("Tainted       node n1 got the taint k=v:NoExecute");
    let line = sandbox.until("is evicted:");
    assert!(line.contains("k=v:NoExecute"), "{line}");
    sandbox.signal(rustix::process::Signal::INT);
    assert_eq!(sandbox.ends_within(Duration::from_secs(2)), 0);
    assert!(!PathBuf::from(kubeconfig).exists(), "its kubeconfig is removed with it");
}

#[test]
fn what_is_saved_can_be_loaded() {
    let (file, kubeconfig) = (TestFile::named("state.json"), TestFile::named("kubeconfig"));
    // Files that other users could read before are closed to them.
    for open in [&file, &kubeconfig] {
        std::fs::write(&open.0, "x").unwrap();
        std::fs::set_permissions(&open.0, Permissions::from_mode(0o644)).unwrap();
    }
    let flags = ["--plain", "--nodes", "2", "--save", file.path(), "--kubeconfig-out", kubeconfig.path()];
    let mut sandbox = RunningSandbox::start(&flags);
    sandbox.until("is scheduled to n");
    sandbox.signal(rustix::process::Signal::TERM);
    assert_eq!(sandbox.ends_within(Duration::from_secs(2)), 0);
    for (private, whose) in [(&kubeconfig, "a kubeconfig that was asked for"), (&file, "what was saved")] {
        let mode = std::fs::metadata(&private.0).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{whose} stays, for its owner only");
    }
    let mut again = RunningSandbox::start(&["--plain", "--load", file.path()]);
    let nodes = request(&again.kubeconfig(), "GET", "/api/v1/nodes", "");
    assert!(nodes.contains("\"n2\"") && !nodes.contains("\"n3\""), "{nodes}");
}

#[test]
fn invalid_flags_are_explained_in_a_sentence() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let broken = TestFile::named("broken.yaml");
    std::fs::write(&broken.0, "a: [").unwrap();
    for (flags, code, words) in [
        (vec!["--listen", &address], 1, "cannot listen on"),
        (vec!["--load", "/nowhere/at/all"], 1, "cannot read /nowhere/at/all"),
        (vec!["--load", broken.path()], 1, "neither JSON nor YAML"),
        (vec!["--kubeconfig-out", "/nowhere/at/all"], 1, "cannot write the kubeconfig"),
        (vec!["--speed", "0"], 1, "--speed"),
        (vec!["--speed", "NaN"], 1, "--speed"),
        (vec!["--nodes", "-1"], 1, "--nodes"),
        (vec!["--nodes", "100000"], 1, "at most"),
        (vec!["--nodes", "many"], 1, "neither a number nor a file"),
        (vec!["--nodes", "./many"], 1, "cannot read ./many"),
        (vec!["--tour", "--open"], 1, "cannot be used with"),
        (vec!["--without", "cloud"], 1, "expected one of"),
        (vec!["--tour", "--empty"], 1, "--tour needs"),
        (vec!["--tour", "--nodes", "2"], 1, "--tour needs"),
        (vec!["--listen", "here"], 1, "as in 21100"),
        (vec!["--seed", "abc"], 1, "expected a whole number"),
        (vec!["--zones", "0"], 1, "--zones is 0"),
        (vec!["--zones", "10", "--nodes", "3"], 1, "--zones is 10 for 3 nodes"),
        (vec!["--nodes", "3", "--load", broken.path()], 1, "--load brings nodes"),
        (vec!["--zones", "3", "--load", broken.path()], 1, "--load brings nodes"),
    ] {
        let done = output(&flags);
        let message = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{flags:?}: {message}");
        assert!(message.contains(words), "{flags:?}: {message}");
        assert!(!message.contains("panicked"), "{flags:?}: {message}");
    }
}

#[test]
fn zero_nodes_mean_an_empty_cluster() {
    for (flags, first, pods) in [
        (
            &["--plain", "--nodes", "0"][..],
            "Taintward sandbox: no nodes and no workloads, at https://",
            false,
        ),
        (&["--plain", "--nodes", "1"], "Taintward sandbox: 1 node in 1 zone, at https://", true),
    ] {
        let mut sandbox = RunningSandbox::start(flags);
        let message = sandbox.until("");
        assert!(message.starts_with(first), "{message}");
        let listed = request(&sandbox.kubeconfig(), "GET", "/apis/apps/v1/deployments", "");
        assert_eq!(listed.contains("\"web\""), pods, "{listed}");
    }
}

#[test]
fn lines_that_cannot_be_written_end_it_with_a_failure() {
    for flags in [&["--plain", "--listen", "127.0.0.1:0"][..], &["--tour"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let done = taintward(flags).stdout(full).output().unwrap();
        let message = text(&done.stderr);
        assert_eq!(done.status.code(), Some(1), "{flags:?}: {message}");
        assert!(message.contains("cannot write to standard output: "), "{flags:?}: {message}");
    }
}

#[test]
fn an_installation_is_kept_and_found_as_it_was_left() {
    let mut sandbox = RunningSandbox::start(&["--plain", "--nodes", "1", "--empty"]);
    let kubeconfig = sandbox.kubeconfig();
    let install = |how: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(["install", "--image", "registry.example/taintward:1"]).args(how);
        let done = command.env("KUBECONFIG", &kubeconfig).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
        text(&done.stdout)
    };
    let first = install(&["--apply"]);
    // The kinds exist from the beginning; only the field manager of their definitions is new.
    assert!(first.contains("deployment.apps/taintward created"), "{first}");
    assert!(
        first.contains("validatingwebhookconfiguration.admissionregistration.k8s.io/taintward created"),
        "{first}"
    );
    let again = install(&["--apply"]);
    assert!(again.lines().all(|line| line.ends_with(" unchanged")), "{again}");
    let pods = "/api/v1/namespaces/taintward-system/pods";
    eventually("its pods run", || {
        request(&kubeconfig, "GET", pods, "").contains("\"phase\":\"Running\"").then_some(())
    });
}

#[test]
fn it_listens_on_loopback_by_default_and_warns_otherwise() {
    let mut sandbox = RunningSandbox::start(&["--plain"]);
    let address = sandbox.address();
    let port = address.strip_prefix("127.0.0.1:").unwrap();
    assert!(!sandbox.until("KUBECONFIG").contains("WARNING"));
    assert!(TcpStream::connect(&address).is_ok());
    assert!(
        TcpStream::connect(format!("127.0.0.2:{port}")).is_err(),
        "it listens on an address that no flag names"
    );
    let mut open = RunningSandbox::start(&["--plain", "--listen", "0.0.0.0:0"]);
    let first = open.until("");
    assert!(first.starts_with("Taintward sandbox: 6 nodes in 3 zones, at https://"), "{first}");
    let warning = open.until("");
    assert!(warning.contains("WARNING: 0.0.0.0:0 is not a loopback address"), "{warning}");
}
