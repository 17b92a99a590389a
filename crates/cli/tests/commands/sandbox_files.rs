//! Tests `--nodes FILE`, `--load` with hostile files, and `--save` to impossible places.

use crate::cli::running::{RunningSandbox, TestFolder, output, request, text};
use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::process::Command;
use std::time::{Duration, Instant};

const STARTUP_TIMEOUT: Duration = Duration::from_secs(10);

/// Expects this exit code and these words.
fn rejected(flags: &[&str], code: i32, words: &[&str]) {
    let began = Instant::now();
    let done = output(flags);
    let message = text(&done.stderr);
    assert_eq!(done.status.code(), Some(code), "{flags:?}: {message}");
    for words in words {
        assert!(message.contains(words), "{flags:?}: {words:?} is missing in {message}");
    }
    assert!(!message.contains("panicked"), "{flags:?}: {message}");
    assert!(began.elapsed() < STARTUP_TIMEOUT, "{flags:?} took {:?}", began.elapsed());
}

const NODES: &str = "apiVersion: v1\nkind: Node\nmetadata:\n  name: east-1\n  labels: {topology.kubernetes.io/zone: east}\n\
    spec:\n  taints: [{key: gpu, effect: NoSchedule}]\nstatus:\n  capacity: {cpu: '2'}\n---\n\
    {apiVersion: v1, kind: Node, metadata: {name: west-1, labels: {topology.kubernetes.io/zone: west}}}\n";

#[test]
fn nodes_come_from_a_file() {
    let folder = TestFolder::named("nodes");
    let file = folder.write("nodes.yaml", NODES);
    let mut sandbox = RunningSandbox::start(&["--plain", "--nodes", &file]);
    let first = sandbox.until("Taintward sandbox:");
    assert!(first.contains("2 nodes in 2 zones"), "{first}");
    let kubeconfig = sandbox.kubeconfig();
    assert!(sandbox.until("kubectl taint").contains("nodes east-1"));
    // Pods are scheduled to these nodes, as in a sandbox with a number of nodes.
    sandbox.until("is scheduled to west-1");
    let nodes = request(&kubeconfig, "GET", "/api/v1/nodes", "");
    for words in ["\"east-1\"", "\"west-1\"", "\"key\":\"gpu\"", "\"cpu\":\"2\""] {
        assert!(nodes.contains(words), "{words}");
    }
    assert!(!nodes.contains("\"n1\""));
    rejected(&["--nodes", &file, "--zones", "2"], 1, &["omit --zones"]);
    rejected(&["--nodes", &file, "--load", &file], 1, &["omit --nodes and --zones"]);
    rejected(&["--nodes", &file, "--tour"], 1, &["--tour needs"]);
}

#[test]
fn a_file_of_nodes_that_is_wrong_is_named_with_the_place() {
    let folder = TestFolder::named("wrong-nodes");
    let pod = folder.write("pod.yaml", &format!("{NODES}---\napiVersion: v1\nkind: Pod\n"));
    let typo =
        folder.write("typo.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: a}\nspec: {tains: []}\n");
    let broken = folder.write("broken.yaml", &format!("{NODES}---\na: [\n"));
    let nothing = folder.write("nothing.yaml", "");
    rejected(&["--nodes", &pod], 1, &["pod.yaml", "document 3 (line 13)", "kind Pod", "--load"]);
    rejected(
        &["--nodes", &typo],
        1,
        &["typo.yaml", "document 1 (line 1)", "unknown field \"spec.tains\"", "correct it"],
    );
    rejected(&["--nodes", &broken], 1, &["broken.yaml", "begins in line 13", "neither JSON nor YAML"]);
    rejected(&["--nodes", &nothing], 1, &["nothing.yaml", "no Kubernetes objects"]);
    rejected(&["--nodes", "/nowhere/nodes.yaml"], 1, &["cannot read /nowhere/nodes.yaml"]);
    rejected(&["--nodes", folder.path().to_str().unwrap()], 1, &["is a directory"]);
    for number in ["-1", "10001", "99999999999999999999", ""] {
        rejected(&[&format!("--nodes={number}")], 1, &["--nodes", "or a file"]);
    }
}

#[test]
fn unsuitable_files_are_rejected_immediately() {
    let folder = TestFolder::named("load");
    // Sparse: longer than the limit, without using disk space.
    fs::File::create(folder.file("huge")).unwrap().set_len(600 << 20).unwrap();
    let bomb = format!(
        "kind: List\nitems:\n- a: &a {}\n  b: [{}]\n",
        "x".repeat(1 << 20),
        vec!["*a"; 100_000].join(",")
    );
    for (name, bytes, words) in [
        ("bomb", bomb.into_bytes(), "larger than any API server takes"),
        ("deep", "[".repeat(1 << 20).into_bytes(), "neither JSON nor YAML"),
        ("zip", vec![0x1f, 0x8b, 8, 0], "gunzip"),
        ("noise", (0..=255).rev().collect(), "not text"),
        ("cut", b"{\"kind\":\"List\",\"items\":[{\"kind\":\"No".to_vec(), "neither JSON nor YAML"),
        (
            "odd",
            b"kind: List\nitems: [{apiVersion: x/v1, kind: Odd, metadata: {name: a}}]".to_vec(),
            "none of its 1",
        ),
    ] {
        fs::write(folder.file(name), bytes).unwrap();
        rejected(&["--load", &folder.file(name)], 1, &["cannot load", name, words]);
    }
    rejected(&["--load", &folder.file("huge")], 1, &["larger than 512 MB"]);
    rejected(&["--load", "/dev/zero"], 1, &["larger than 512 MB"]);
    rejected(&["--load", folder.path().to_str().unwrap()], 1, &["is a directory"]);
}

/// Stops a sandbox. Returns its last output.
fn ended(mut sandbox: RunningSandbox) -> (i32, String) {
    sandbox.until("KUBECONFIG");
    sandbox.signal(rustix::process::Signal::TERM);
    (sandbox.ends_within(STARTUP_TIMEOUT), sandbox.complaint())
}

#[test]
fn a_failure_to_save_is_reported_before_anything_could_be_lost() {
    let folder = TestFolder::named("unsaved");
    rejected(&["--plain", "--save", "/nowhere/state"], 1, &["cannot save to /nowhere/state", "--save"]);
    rejected(&["--plain", "--save", folder.path().to_str().unwrap()], 1, &["is a directory"]);
    let long = folder.file(&"x".repeat(300));
    rejected(&["--plain", "--save", &long], 1, &["cannot save to", "too long"]);
    assert_eq!(folder.names(), Vec::<String>::new());
}

#[test]
fn a_full_disk_leaves_what_was_saved_before() {
    let folder = TestFolder::named("full");
    let file = folder.write("state", "what was saved before");
    // No file may grow beyond a few blocks, which must be an error instead of a crash.
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 4; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_taintward")]);
    limited.args(["sandbox", "--plain", "--save", &file]);
    let (code, message) = ended(RunningSandbox::of(limited));
    assert_eq!(code, 1, "{message}");
    assert!(message.contains(&format!("cannot save to {file}")), "{message}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "what was saved before");
    assert_eq!(folder.names(), ["state"], "no partial file is left behind");
    let (code, message) = ended(RunningSandbox::start(&["--plain", "--save", "/dev/full"]));
    assert_eq!(code, 1, "{message}");
    assert!(message.contains("No space left"), "{message}");
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device(), "it was replaced");
}

#[test]
fn what_is_saved_replaces_the_file_that_a_link_leads_to() {
    let folder = TestFolder::named("link");
    let file = folder.write("state", "before");
    std::os::unix::fs::symlink(&file, folder.file("link")).unwrap();
    let (code, message) = ended(RunningSandbox::start(&["--plain", "--save", &folder.file("link")]));
    assert_eq!(code, 0, "{message}");
    assert!(fs::symlink_metadata(folder.file("link")).unwrap().is_symlink());
    let state = fs::read_to_string(&file).unwrap();
    assert!(state.starts_with("{\"apiVersion\"") && state.ends_with("]}\n"));
    assert_eq!(folder.names(), ["link", "state"]);
}
