//! Tests `taintward explain` and `taintward pending` against a sandbox, a terminal, and an API server that permits
//! little.
//!
//! - See `golden.rs` for files, `src/explain/tests.rs` for exact times.

use crate::cli::reluctant::{There, serve};
use crate::cli::running::{RunningSandbox, TestFolder, text};
use crate::cli::terminal::TestTerminal;
use crate::cli::timeout::{Lines, eventually};
use serde_json::{Value, json};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const OBJECTS: &str = include_str!("../cli/explained.yaml");

struct ExplainHarness {
    folder: TestFolder,
    _sandbox: RunningSandbox,
}

impl ExplainHarness {
    fn set(test: &str) -> Self {
        let folder = TestFolder::named(test);
        let objects = folder.write("objects.yaml", OBJECTS);
        let kubeconfig = folder.file("kubeconfig");
        let mut sandbox =
            RunningSandbox::start(&["--plain", "--load", &objects, "--kubeconfig-out", &kubeconfig]);
        sandbox.until("KUBECONFIG");
        Self { folder, _sandbox: sandbox }
    }

    fn command(&self, typed: &str) -> Command {
        command(&self.folder.file("kubeconfig"), typed)
    }

    fn run(&self, typed: &str) -> (i32, String, String) {
        ended(self.command(typed))
    }

    /// The result as JSON.
    fn object(&self, typed: &str) -> Value {
        let (code, out, stderr) = self.run(&format!("{typed} -o json"));
        assert_eq!(code, 0, "{typed}: {stderr}");
        serde_json::from_str(&out).unwrap()
    }
}

fn command(kubeconfig: &str, typed: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.args(typed.split(' ')).stdin(Stdio::null());
    command.env("KUBECONFIG", kubeconfig).env("TZ", "UTC").env("TERM", "xterm");
    command
}

fn ended(mut command: Command) -> (i32, String, String) {
    let done = command.output().unwrap();
    (done.status.code().unwrap(), text(&done.stdout), text(&done.stderr))
}

/// Events of a running `pending -w -o json`; it ends with the test.
struct PendingEvents {
    child: Child,
    lines: Lines,
}

impl PendingEvents {
    fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = Lines::of(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap()).unwrap()
    }
}

impl Drop for PendingEvents {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn seconds(moment: &str) -> i64 {
    moment.parse::<jiff::Timestamp>().unwrap().as_second()
}

#[test]
fn a_pod_is_explained_while_it_counts_and_after_it_has_gone() {
    let harness = ExplainHarness::set("explain");
    // The command does not wait for the holder of the loaded cluster's lease.
    let began = Instant::now();
    eventually("pending shows which controller evicts", || {
        let (code, out, stderr) = harness.run("pending -A");
        assert_eq!((code, out.as_str()), (0, ""));
        assert!(stderr.ends_with("No pods are counting down.\n"), "{stderr}");
        (stderr == "No pods are counting down.\n").then_some(())
    });
    assert!(began.elapsed() < Duration::from_secs(10));
    let mut events = PendingEvents::of(harness.command("pending -w -A -o json"));
    assert_eq!(harness.run("taint node n1 maintenance:NoExecute --reason disks").0, 0);
    let (_, _, stderr) = harness.run("explain pod/patient");
    assert!(stderr.contains("; a pod of this name exists or existed in shop"), "its events remain: {stderr}");
    let (_, _, stderr) = harness.run("explain pod/lastign -n shop");
    assert!(stderr.contains("; similar names: lasting"), "{stderr}");
    let (code, _, stderr) = harness.run("pending");
    let expected = "No pods are counting down in namespace default; other namespaces have countdowns: 2 in shop. Use -n or -A.\n";
    assert!(code == 0 && stderr.ends_with(expected), "{stderr}");
    let reported = harness.object("explain pod/patient -n shop");
    assert_eq!(
        (&reported["outcome"], &reported["taint"]),
        (&"CountingDown".into(), &"maintenance:NoExecute".into())
    );
    assert_eq!(
        (&reported["taints"][0]["source"], &reported["taints"][0]["note"]["reason"]),
        (&"ManagedFields".into(), &"disks".into())
    );
    let leaves = seconds(reported["evictedAt"].as_str().unwrap());
    let list = harness.object("pending -n shop");
    let listed: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|row| row["pod"].as_str().unwrap()).collect();
    assert_eq!(listed, ["patient", "lasting"], "the pod that is due next is first");
    assert_eq!(seconds(list["items"][0]["evictedAt"].as_str().unwrap()), leaves);
    assert_eq!(
        list["leases"],
        json!({"taintward": "Held", "kubeControllerManager": "NotFound", "message": null})
    );
    let node = harness.object("explain node/n1");
    assert_eq!(node["pods"]["countingDown"], 2, "{node}");
    // The stream has the same pods, each once, and then reports that the first has gone.
    let mut seen = Vec::new();
    let gone = loop {
        let event = events.next();
        let (kind, pod) =
            (event["event"].as_str().unwrap().to_owned(), event["pod"].as_str().unwrap().to_owned());
        if kind == "Deleted" {
            break pod;
        }
        assert_eq!(kind, "CountingDown", "{event}");
        let at = seconds(event["evictedAt"].as_str().unwrap());
        assert!(pod != "patient" || (leaves..=leaves + 1).contains(&at), "{at} {leaves}");
        seen.push((kind, pod));
    };
    assert_eq!(gone, "patient");
    let counting = |pod: &str| ("CountingDown".to_owned(), pod.to_owned());
    assert_eq!(seen, [counting("lasting"), counting("patient")]);
    // Its event comes after the deletion.
    let reported = eventually("the pod is gone, and its events are there", || {
        let reported = harness.object("explain pod/patient -n shop");
        let events = reported["events"].as_array().is_some_and(|events| !events.is_empty());
        (reported["outcome"] == "Deleted" && events).then_some(reported)
    });
    let summary = reported["summary"].as_str().unwrap();
    assert!(summary.starts_with("It was deleted. Taintward evicted it at "), "{summary}");
    let eviction = &reported["eviction"];
    assert_eq!((&eviction["node"], &eviction["taints"]), (&"n1".into(), &json!(["maintenance:NoExecute"])));
    // The pod that was evicted is in the list, and that of its node; the other one counts down.
    let past = harness.object("pending --past -n shop");
    let pods: Vec<&Value> = past["items"].as_array().unwrap().iter().map(|item| &item["pod"]).collect();
    assert_eq!((pods, &past["items"][0]), (vec![&json!("patient")], eviction));
    assert_eq!(harness.object("explain node/n1")["pastEvictions"], past["items"]);
    let message = reported["events"][0]["message"].as_str().unwrap();
    let until = seconds(message.rsplit_once(" until ").unwrap().1);
    assert!((leaves..=leaves + 1).contains(&until), "explained: {leaves}; {message}");
    // The taint is removed: the other pod stays.
    assert_eq!(harness.run("taint node n1 maintenance-").0, 0);
    let event = events.next();
    assert_eq!((&event["event"], &event["pod"]), (&"Cancelled".into(), &"lasting".into()));
}

#[test]
fn names_that_do_not_exist_are_answered_with_those_that_do() {
    let harness = ExplainHarness::set("explain-absent");
    let (code, _, stderr) = harness.run("explain pod/absent -n shop");
    let expected = "error: pod absent does not exist in namespace shop, and has no events, so it is unknown whether it existed";
    assert!(code == 1 && stderr.starts_with(expected), "{stderr}");
    let (code, out, stderr) = harness.run("explain pod/lasting");
    assert_eq!((code, out.as_str()), (1, ""), "the namespace is missing");
    assert!(
        stderr.contains("; a pod of this name exists or existed in shop: choose the namespace with -n"),
        "{stderr}"
    );
    let (code, _, stderr) = harness.run("pending");
    assert!(code == 0 && stderr.ends_with("No pods are counting down in namespace default.\n"), "{stderr}");
    let (code, _, stderr) = harness.run("pending -n shpo");
    assert!(code == 1 && stderr == "error: namespace shpo does not exist; check -n\n", "{stderr}");
    let (code, out, stderr) = harness.run("plan -n shpo");
    assert_eq!(
        (code, out.as_str(), stderr.as_str()),
        (1, "", "error: namespace shpo does not exist; check -n\n")
    );
    let (code, out, stderr) = harness.run("explain node/n9");
    assert_eq!((code, out.as_str()), (1, ""));
    let near = "similar names: n1, n2";
    assert_eq!(stderr, format!("error: node n9 does not exist; kubectl get nodes lists all nodes; {near}\n"));
}

#[test]
fn lines_follow_where_there_is_no_terminal() {
    let harness = ExplainHarness::set("pending-lines");
    assert_eq!(harness.run("taint node n1 maintenance:NoExecute").0, 0);
    let (code, out, stderr) = harness.run("pending -w -n shop -l app=(");
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(stderr.starts_with("error: list pods in shop: 400"), "{stderr}");
    let mut events = PendingEvents::of(harness.command("pending -w -n shop -l app=ward -o json"));
    assert_eq!(events.next()["pod"], "patient", "the other one has other labels");
    let mut child =
        harness.command("pending -w -n shop").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = Lines::of(child.stdout.take().unwrap());
    let head = lines.next().unwrap();
    assert_eq!(
        head.split_whitespace().collect::<Vec<_>>(),
        ["EVENT", "POD", "NODE", "EVICTED", "(UTC)", "NOEXECUTE", "TAINT"]
    );
    let first = lines.next().unwrap();
    assert!(first.starts_with("CountingDown ") && first.ends_with("maintenance"), "{first}");
    let column = |title: &str| head.find(title).unwrap();
    assert_eq!(first.find("n1"), Some(column("NODE")), "{head}\n{first}");
    // Later events are below it.
    let gone = std::iter::from_fn(|| lines.next()).find(|line| line.starts_with("Deleted ")).unwrap();
    assert_eq!(gone.find("n1"), Some(column("NODE")), "{head}\n{gone}");
    assert_eq!(gone.find("maintenance"), Some(column("NOEXECUTE")), "{head}\n{gone}");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(events.next()["event"], "Deleted", "and there was no output about it");
}

#[test]
fn a_terminal_shows_the_list_and_is_restored() {
    let harness = ExplainHarness::set("pending-terminal");
    let mut terminal = TestTerminal::whole(harness.command("pending -w -A"));
    terminal.until("No pods are counting down.");
    assert_eq!(harness.run("taint node n1 maintenance:NoExecute").0, 0);
    let shown = terminal.until("lasting");
    assert!(!shown.contains("\x1b[?25h"), "the cursor is hidden: {shown:?}");
    terminal.until("maintenance");
    assert_eq!(harness.run("taint node n1 maintenance-").0, 0);
    terminal.until("No pods are counting down.");
    terminal.types("q");
    let (code, shown, _) = terminal.ends();
    assert!(code == 0 && shown.ends_with("\x1b[?25h\x1b[?1049l"), "{code} {shown:?}");
    let mut terminal = TestTerminal::whole(harness.command("pending -w -A"));
    terminal.until("Press q to quit.");
    terminal.interrupt();
    let (code, shown, _) = terminal.ends();
    assert!(code == 0 && shown.ends_with("\x1b[?25h\x1b[?1049l"), "{code} {shown:?}");
}

#[test]
fn the_cluster_above_a_list_is_wrapped_for_a_narrow_terminal() {
    let harness = ExplainHarness::set("pending-narrow");
    for command in ["pending -A", "pending --past -A"] {
        let (code, shown, _) = TestTerminal::sized(harness.command(command), 40, 24).ends();
        let above = |line: &&str| !line.starts_with("No") && !line.starts_with("note");
        let first: Vec<&str> = shown.lines().take_while(above).collect();
        let fits = first.iter().all(|line| line.trim_end().len() <= 40);
        assert!(code == 0 && first.len() > 1 && fits, "{command}: {shown}");
    }
}

/// Two pods of a Deployment, one of another kind of the same name, one of another Deployment.
const PODS: &str = r#"{"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [
    {"metadata": {"name": "web-5c-a", "namespace": "shop", "uid": "1", "labels": {"pod-template-hash": "5c"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5c", "uid": "u", "controller": true}]},
     "spec": {"nodeName": "n1", "tolerations": [{"key": "a", "operator": "Exists"}]}, "status": {"phase": "Running"}},
    {"metadata": {"name": "web-5c-b", "namespace": "shop", "uid": "2", "labels": {"pod-template-hash": "5c"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5c", "uid": "u", "controller": true}]},
     "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}},
    {"metadata": {"name": "web-x", "namespace": "shop", "uid": "3", "labels": {"pod-template-hash": "5c"},
        "ownerReferences": [{"apiVersion": "sets.example.com/v1", "kind": "ReplicaSet", "name": "web-5c", "uid": "v", "controller": true}]},
     "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}},
    {"metadata": {"name": "web-api-5c-c", "namespace": "shop", "uid": "4", "labels": {"pod-template-hash": "5c"},
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-api-5c", "uid": "w", "controller": true}]},
     "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}]}"#;

#[test]
fn all_pods_of_a_workload_are_explained_a_line_each() {
    let folder = TestFolder::named("explain-workload");
    let node = r#"{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "uid": "n"},
        "spec": {"taints": [{"key": "a", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]}}"#;
    let kubeconfig = serve(&folder, move |path| match path {
        "/apis/apps/v1/namespaces/shop/deployments/web"
        | "/apis/apps/v1/namespaces/shop/replicasets/web-5c"
        | "/apis/apps/v1/namespaces/shop/statefulsets/idle" => There::Object("{}"),
        "/apis/apps/v1/namespaces/shop/deployments/wep" => There::Nothing,
        "/api/v1/namespaces/shop/pods" => There::Object(PODS),
        "/api/v1/nodes/n1" => There::Object(node),
        _ => There::Hidden,
    });
    let run = |typed: &str| ended(command(&kubeconfig, typed));
    let (code, out, _) = run("explain deploy/web -o json");
    let reported: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &reported["outcome"]), (0, &"Workload".into()));
    let pods = json!({
        "total": 2, "due": 1, "countingDown": 0, "staying": 1, "held": 0, "beingDeleted": 0, "unknown": 0,
    });
    assert_eq!(reported["pods"], pods);
    assert_eq!(
        (&reported["evictions"][0]["pod"], &reported["evictions"][0]["taint"]),
        (&"web-5c-b".into(), &"a:NoExecute".into())
    );
    assert_eq!(reported["staying"][0]["pod"], "web-5c-a");

    let (code, out, _) = run("explain rs web-5c");
    assert!(
        code == 0 && out.contains("ReplicaSet shop/web-5c\n2 pods: 1 due now, 0 counting down, 1 staying."),
        "{out}"
    );
    let (code, out, _) = run("explain sts/idle");
    assert!(code == 0 && out.ends_with("StatefulSet shop/idle\nIt has no pods.\n"), "{out}");
    let (code, out, stderr) = run("explain deploy/wep");
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(
        stderr,
        "error: deployment wep does not exist in namespace shop; kubectl get deployments -n shop lists all of them\n"
    );
    // The user may not read the Deployment; its pods are still found, or it is unknown whether it exists.
    let (code, out, stderr) = run("explain deploy/web-api");
    assert!(
        code == 1 && out.contains("1 pod: 1 due now") && stderr.contains("grant the verb get on deployments"),
        "{out}{stderr}"
    );
    let (code, out, stderr) = run("explain job/web");
    assert!(
        code == 1
            && out.is_empty()
            && stderr.contains("cannot explain job web, because none of its pods could be read"),
        "{out}{stderr}"
    );
}

/// One request for all nodes replaces one for each.
#[test]
fn pods_on_many_nodes_need_no_request_for_each() {
    let folder = TestFolder::named("explain-many-nodes");
    let owner = json!([{ "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "u", "controller": true }]);
    let pod = |at: usize| {
        let (name, uid) = (format!("agent-{at}"), format!("p{at}"));
        let metadata = json!({ "name": name, "namespace": "shop", "uid": uid, "ownerReferences": owner });
        json!({ "metadata": metadata, "spec": { "nodeName": format!("n{at}") }, "status": { "phase": "Running" } })
    };
    let node = |at: usize| json!({ "metadata": { "name": format!("n{at}"), "uid": format!("n{at}") } });
    let list =
        |items: Vec<Value>| -> &'static str { json!({ "metadata": {}, "items": items }).to_string().leak() };
    let (pods, nodes) = (list((0..30).map(pod).collect()), list((0..30).map(node).collect()));
    let kubeconfig = serve(&folder, move |path| match path {
        "/apis/apps/v1/namespaces/shop/daemonsets/agent" => There::Object("{}"),
        "/api/v1/namespaces/shop/pods" => There::Object(pods),
        "/api/v1/nodes" => There::Object(nodes),
        _ => There::Hidden,
    });
    let (code, out, stderr) = ended(command(&kubeconfig, "explain ds/agent -o json"));
    assert!(
        code == 0 && stderr.starts_with("note: past evictions are unknown: list events in shop: 403"),
        "{stderr}"
    );
    let reported: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&reported["pods"]["total"], &reported["pods"]["staying"]), (&30.into(), &30.into()), "{out}");
}

const POD: &str = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop", "uid": "u"},
    "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}"#;
const NO_PODS: &str = r#"{"kind": "PodList", "metadata": {}, "items": []}"#;

#[test]
fn what_may_not_be_read_makes_the_answer_partial() {
    let folder = TestFolder::named("explain-rbac");
    let kubeconfig = serve(&folder, |path| match path {
        "/api/v1/namespaces/shop/pods/web" => There::Object(POD),
        "/api/v1/namespaces/shop/pods/gone" => There::Nothing,
        "/api/v1/namespaces/shop/pods" => There::Object(NO_PODS),
        _ => There::Hidden,
    });
    let (code, out, stderr) = ended(command(&kubeconfig, "explain pod/web"));
    assert_eq!(code, 1);
    assert!(
        stderr.contains("grant the verb get on nodes")
            && stderr.contains("the taints of node n1 are unknown"),
        "{stderr}"
    );
    assert!(out.contains("Its node n1 could not be read") && out.contains("This answer is partial"), "{out}");
    let (code, out, _) = ended(command(&kubeconfig, "explain pod/web -o json"));
    let reported: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &reported["complete"], &reported["outcome"]), (1, &false.into(), &"Unknown".into()));
    let (code, out, stderr) = ended(command(&kubeconfig, "explain pod/gone"));
    assert!(code == 1 && out.is_empty() && stderr.contains("its events could not be read"), "{out} {stderr}");
    let (code, out, stderr) = ended(command(&kubeconfig, "pending"));
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(stderr.contains("grant the verb list on nodes") && !stderr.contains("leases"), "{stderr}");
    let unknown = "It is unknown which pods are counting down, because no node could be read.\n";
    assert!(stderr.ends_with(unknown) && !stderr.contains("No pods are counting down"), "{stderr}");
    let (code, out, stderr) = ended(command(&kubeconfig, "pending -w"));
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(stderr.contains("cannot watch nodes, as -w requires; grant the verb watch on nodes"), "{stderr}");
}
