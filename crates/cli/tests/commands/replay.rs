//! Tests `taintward run --record-dir`, `replay` and `history`: the same decisions, another decision, and files that are no
//! record; and what a signal writes.

use crate::cli::running::{RunningSandbox, TestFolder, request, text, until_pods_run};
use crate::cli::timeout::eventually;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// A folder with the record of a controller that has evicted pods, and ended.
struct ReplayHarness {
    folder: TestFolder,
}

impl ReplayHarness {
    fn set(test: &str) -> Self {
        let folder = TestFolder::named(test);
        let kubeconfig = folder.file("kubeconfig");
        let flags = ["--plain", "--nodes", "3", "--without", "taintward", "--kubeconfig-out", &kubeconfig];
        let mut sandbox = RunningSandbox::start(&flags);
        sandbox.until("KUBECONFIG");
        until_pods_run(&kubeconfig);
        let mut command = run(&kubeconfig);
        command.arg("--record-dir").arg(folder.file("record"));
        let mut controller = RunningSandbox::of(command);
        controller.until(" synced ");
        let harness = Self { folder };
        // So that the taint comes in another frame.
        eventually("the lists are recorded", || {
            (frames(&fs::read(harness.file()).unwrap()).len() > 2).then_some(())
        });
        let taint = r#"{"spec":{"taints":[{"key":"gpu","effect":"NoExecute"}]}}"#;
        request(&kubeconfig, "PATCH", "/api/v1/nodes/n1", taint);
        controller.until("evicted");
        controller.signal(Signal::TERM);
        assert_eq!(controller.ends_within(Duration::from_secs(20)), 0);
        harness
    }

    /// The only file of the record.
    fn file(&self) -> PathBuf {
        let files: Vec<_> = fs::read_dir(self.folder.file("record")).unwrap().collect();
        let [file] = &files[..] else { panic!("{files:?}") };
        file.as_ref().unwrap().path()
    }

    /// A file with these bytes.
    fn with(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.folder.path().join(name), bytes).unwrap();
        self.folder.file(name)
    }
}

/// `taintward run`, whose log is on standard output, because tests read that.
fn run(kubeconfig: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" 2>&1", env!("CARGO_BIN_EXE_taintward")]);
    command.args([
        "run",
        "--mode=enforce",
        "--metrics-port=0",
        "--leader-elect=false",
        "--eviction-policies",
    ]);
    command.env("KUBECONFIG", kubeconfig);
    command
}

/// Exit code, standard output, standard error.
fn replay(arguments: &[&str]) -> (i32, String, String) {
    outcome(&[&["replay"], arguments].concat())
}

fn outcome(arguments: &[&str]) -> (i32, String, String) {
    let done =
        Command::new(env!("CARGO_BIN_EXE_taintward")).args(arguments).env("TZ", "UTC").output().unwrap();
    (done.status.code().unwrap(), text(&done.stdout), text(&done.stderr))
}

/// Where frames begin, and where the last one ends.
fn frames(record: &[u8]) -> Vec<usize> {
    let header = record.iter().position(|byte| *byte == b'\n');
    let mut at = header.map_or(record.len(), |end| end + 1);
    let mut all = vec![at];
    while at + 14 <= record.len() {
        let packed = u32::from_le_bytes(record[at + 6..at + 10].try_into().unwrap());
        at += 14 + packed as usize;
        all.push(at);
    }
    all
}

#[test]
fn a_record_of_evictions_is_replayed_as_a_folder_and_as_a_file() {
    let harness = ReplayHarness::set("replay-same");
    let folder = harness.folder.file("record");
    let (code, out, message) = replay(&[&folder]);
    assert_eq!((code, &*message), (0, ""), "{out}");
    let lines: Vec<&str> = out.lines().collect();
    assert!(
        lines[0].starts_with("CONTROLLER ") && lines[0].ends_with("INPUTS   REQUESTS   REPORTS"),
        "{out}"
    );
    assert!(lines[1].starts_with("taint-eviction-controller   20"), "{out}");
    assert_eq!(lines.last(), Some(&"This program decides the same."), "{out}");

    let (code, out, message) = replay(&[&folder, "--check"]);
    assert_eq!((code, &*message), (0, ""), "{out}");
    let last = out.lines().last().unwrap();
    assert!(last.ends_with(" checked: no property is violated."), "{out}");

    let (code, out, message) = outcome(&["history", "node/n1", "-f", &folder]);
    assert_eq!((code, &*message), (0, ""), "{out}");
    assert!(out.contains("  node/n1  ") && out.contains("  got taint gpu:NoExecute\n"), "{out}");
    assert!(
        out.contains("  was deleted by Taintward, ") && out.contains("the pod does not tolerate it\n"),
        "{out}"
    );
    let (code, out, message) = outcome(&["history", "pod/none", "-f", &folder]);
    assert_eq!((code, &*message), (1, "error: nothing is recorded about pod/none\n"), "{out}");

    let (code, out, message) = replay(&[harness.file().to_str().unwrap(), "-o", "json"]);
    assert_eq!((code, &*message), (0, ""), "{out}");
    let replayed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&replayed["kind"], &replayed["difference"]), (&"Replay".into(), &Value::Null), "{out}");
    let controller = &replayed["controllers"][0];
    assert_eq!(controller["name"], "taint-eviction-controller");
    assert_eq!(replayed["check"], Value::Null, "it was not asked for");
    // At least one read of the node, one condition and one DELETE.
    assert!(controller["requests"].as_u64().unwrap() >= 3 && controller["segments"] == 1, "{out}");
}

#[test]
fn a_record_is_given_away_without_names_and_replayed_with_another_policy() {
    let harness = ReplayHarness::set("replay-redacted");
    let folder = harness.folder.file("record");
    let redacted = harness.folder.file("redacted.record");
    let (code, out, message) = outcome(&["record", "-f", &folder, "--redact", "--out", &redacted]);
    assert_eq!((code, &*out), (0, ""), "{message}");
    assert!(message.contains(&format!(" bytes from {folder} to {redacted}")), "{message}");
    let (code, out, message) = outcome(&["record", "-f", &folder, "--out", &redacted]);
    assert!(code == 1 && message.contains("name another file with --out"), "{out}{message}");
    let (code, out, message) = replay(&[&redacted, "--check"]);
    assert!(code == 0 && out.contains("This program decides the same."), "{out}{message}");
    let history = |record: &str| {
        let (code, out, message) = outcome(&["history", "-f", record]);
        assert_eq!((code, &*message), (0, ""), "{out}");
        out
    };
    let (whole, redacted) = (history(&folder), history(&redacted));
    assert!(whole.contains("n1") && whole.contains("gpu:NoExecute"), "{whole}");
    assert!(!redacted.contains("n1") && !redacted.contains("gpu"), "{redacted}");
    assert_eq!(whole.lines().count(), redacted.lines().count());

    let policy = |spec: &str| {
        let spec = format!(
            "{{apiVersion: taintward.io/v1alpha1, kind: EvictionPolicy, metadata: {{name: slow}}, spec: {spec}}}"
        );
        harness.with("policy.yaml", spec.as_bytes())
    };
    let (code, out, message) = replay(&[&folder, "--with-policy", &policy("{maxPodsPerMinute: 1}")]);
    assert_eq!((code, &*message), (0, ""), "{out}");
    let rows: Vec<&str> = out.lines().filter(|line| line.contains("  n1  ")).collect();
    assert!(rows.len() > 1, "{out}");
    // The record ends long before the first one may leave: the policy begins with the record.
    let delayed = rows.iter().filter(|row| row.contains("maxPodsPerMinute")).count();
    assert_eq!(delayed, rows.len(), "{out}");
    assert!(out.ends_with(" evicted in the record, 0 with the policy.\n"), "{out}");
    let (_, out, _) = replay(&[&folder, "--with-policy", &policy("{}"), "-o", "json"]);
    let replayed: Value = serde_json::from_str(&out).unwrap();
    let pods = replayed["pods"].as_array().unwrap();
    assert!(pods.iter().all(|pod| pod["withPolicy"]["evictedAt"].is_string()), "{out}");
    assert_eq!((&replayed["kind"], pods.len()), (&"PolicyReplay".into(), rows.len()));
    let invalid = policy("{maxPodsPerMinute: 0}");
    let (code, _, message) = replay(&[&folder, "--with-policy", &invalid]);
    assert!(code == 1 && message.contains("slow") && message.contains("taintward lint -f"), "{message}");
    let none = harness.with("none.yaml", b"{apiVersion: v1, kind: Pod, metadata: {name: p}}");
    let (code, _, message) = replay(&[&folder, "--with-policy", &none]);
    assert!(code == 1 && message.contains("contains no EvictionPolicy"), "{message}");
    let (code, _, message) = replay(&[&folder, "--with-policy", &none, "--check"]);
    assert!(code == 1 && message.contains("--check"), "{message}");
}

#[test]
fn another_decision_and_a_broken_record_are_named() {
    let harness = ReplayHarness::set("replay-differs");
    let whole = fs::read(harness.file()).unwrap();
    let frames = frames(&whole);
    // Without its first calls, the engine knows no pods, and decides otherwise than it did.
    let without = [&whole[..frames[1]], &whole[frames[2]..]].concat();
    let (code, out, message) = replay(&[&harness.with("without", &without)]);
    assert_eq!((code, &*message), (2, ""), "{out}");
    let difference = out.split_once("This program decides differently. The first difference: ").unwrap().1;
    assert!(difference.starts_with("taint-eviction-controller, 20"), "{out}");
    assert!(difference.contains("\nrecorded: ") && difference.contains("\nreplayed: "), "{out}");
    let (code, out, _) = replay(&[&harness.with("without", &without), "-o", "json"]);
    let replayed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &replayed["difference"]["controller"]),
        (2, &"taint-eviction-controller".into()),
        "{out}"
    );

    // A program of another version wrote into the folder.
    let older = b"{\"taintwardRecord\":99,\"program\":\"9.9.9\"}\n";
    fs::write(
        harness.folder.path().join("record/20201121T030000.000000Z-taint-eviction-controller.record"),
        older,
    )
    .unwrap();
    let (code, out, message) = replay(&[&harness.folder.file("record")]);
    assert!(code == 0 && out.contains("This program decides the same."), "{out} {message}");
    assert!(
        message.starts_with("note: ") && message.contains("is left out: taintward 9.9.9 wrote"),
        "{message}"
    );

    let cut_off = harness.with("cut-off", &whole[..whole.len() - 5]);
    let (code, out, message) = replay(&[&cut_off]);
    assert_eq!(code, 0, "{out} {message}");
    assert_eq!(message, format!("note: {cut_off} is cut off within an entry; it was replayed up to there\n"));

    let mut damaged = whole.clone();
    damaged[frames[1] + 20] ^= 1;
    let damaged = harness.with("damaged", &damaged);
    let (code, out, message) = replay(&[&damaged]);
    assert_eq!((code, &*out), (1, ""), "{message}");
    let at = frames[1];
    assert_eq!(
        message,
        format!("error: {damaged}: the record is damaged at byte {at}: the checksum is wrong\n")
    );
}

#[test]
fn what_is_no_record_is_named() {
    let folder = TestFolder::named("replay-none");
    let other = folder.write("pods.yaml", "kind: Pod\n");
    let none = "this is no record of Taintward: its first line is not the header of a record";
    let missing = folder.file("missing");
    let empty = folder.path().to_str().unwrap();
    for (record, error) in [
        (&*other, format!("{other}: {none}")),
        (&missing, format!("{missing}: No such file or directory (os error 2)")),
        (empty, format!("{empty} contains no record; taintward run --record-dir writes one")),
    ] {
        assert_eq!(replay(&[record]), (1, String::new(), format!("error: {error}\n")));
    }
}

#[test]
fn a_folder_that_cannot_be_written_stops_the_start() {
    let folder = TestFolder::named("record-file");
    let file = folder.write("file", "a file");
    let (code, _, message) = outcome(&["run", "--mode=observe", "--metrics-port=0", "--record-dir", &file]);
    assert_eq!(code, 1, "{message}");
    assert!(
        message.contains("cannot write the record to") && message.contains("correct --record-dir"),
        "{message}"
    );
}

#[test]
fn a_signal_writes_what_is_kept_in_memory() {
    let folder = TestFolder::named("record-signal");
    let kubeconfig = folder.file("kubeconfig");
    let flags = ["--plain", "--nodes", "1", "--without", "taintward", "--kubeconfig-out", &kubeconfig];
    let mut sandbox = RunningSandbox::start(&flags);
    sandbox.until("KUBECONFIG");
    let mut command = run(&kubeconfig);
    command.env("TMPDIR", folder.path());
    let mut controller = RunningSandbox::of(command);
    controller.until(" synced ");
    controller.signal(Signal::USR1);
    controller.until("the record is written");
    let name = folder.names().into_iter().find(|name| name.ends_with("-taintward.record")).unwrap();
    let file = folder.file(&name);
    let (code, out, message) = replay(&[&file]);
    assert!(code == 0 && out.contains("This program decides the same."), "{out} {message}");
    let (code, out, message) = outcome(&["history", "-f", &file]);
    assert!(code == 0 && out.contains("Taintward lists all nodes and pods"), "{out} {message}");
    controller.signal(Signal::TERM);
    assert_eq!(controller.ends_within(Duration::from_secs(20)), 0);
}
