//! Tests `taintward plan` against clusters, and that carrying out a plan does what it said.
//!
//! - See `golden.rs` for files, `crates/sandbox/tests/controllers/countdowns/foreseen.rs` for random clusters.

use crate::cli::reluctant::{There, serve, serve_at};
use crate::cli::running::{RunningSandbox, TestFolder, text};
use crate::cli::timeout::eventually;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// `taintward ...` with a clean environment: exit code, standard output, standard error.
fn taintward(kubeconfig: &str, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.args(arguments).args(["--kubeconfig", kubeconfig]);
    command.env_remove("KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST");
    let done = command.output().unwrap();
    (done.status.code().unwrap(), text(&done.stdout), text(&done.stderr))
}

fn plan(kubeconfig: &str, arguments: &[&str]) -> (i32, Value) {
    let all = [&["plan", "-o", "json"], arguments].concat();
    let (code, out, message) = taintward(kubeconfig, &all);
    (code, serde_json::from_str(&out).unwrap_or_else(|why| panic!("{why}: {out}{message}")))
}

fn uids(items: &Value) -> BTreeSet<String> {
    items.as_array().unwrap().iter().map(|item| item["uid"].as_str().unwrap().to_owned()).collect()
}

/// Nodes, a pod that leaves, one that tolerates the taint indefinitely, one that does for ten minutes, and one
/// elsewhere.
const OBJECTS: &str = "\
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
---
apiVersion: v1
kind: Pod
metadata: {name: goes, namespace: default}
spec: {nodeName: n1, containers: [{name: a, image: a}]}
---
apiVersion: v1
kind: Pod
metadata: {name: stays, namespace: default}
spec: {nodeName: n1, tolerations: [{key: x, operator: Exists}], containers: [{name: a, image: a}]}
---
apiVersion: v1
kind: Pod
metadata: {name: waits, namespace: default}
spec:
  nodeName: n1
  tolerations: [{key: x, operator: Exists, effect: NoExecute, tolerationSeconds: 600}]
  containers: [{name: a, image: a}]
---
apiVersion: v1
kind: Pod
metadata: {name: elsewhere, namespace: default}
spec: {nodeName: n2, containers: [{name: a, image: a}]}
";

#[test]
fn a_plan_and_then_doing_it() {
    let folder = TestFolder::named("plan");
    let objects = folder.write("objects.yaml", OBJECTS);
    let kubeconfig = folder.file("kubeconfig");
    let mut sandbox =
        RunningSandbox::start(&["--plain", "--load", &objects, "--kubeconfig-out", &kubeconfig]);
    sandbox.until("KUBECONFIG");
    assert_eq!(plan(&kubeconfig, &[]).0, 0, "no pod leaves anyway");
    let (code, reported) = plan(&kubeconfig, &["--taint", "n1", "x=y:NoExecute"]);
    assert_eq!((code, &reported["complete"]), (2, &true.into()));
    let named = |at: usize| {
        (reported["items"][at]["pod"].as_str().unwrap(), reported["items"][at]["remainingSeconds"].as_u64())
    };
    assert_eq!((named(0), named(1)), (("goes", Some(0)), ("waits", Some(600))));
    assert_eq!(reported["items"].as_array().unwrap().len(), 2);
    let now: BTreeSet<String> = uids(&reported["items"]).into_iter().take(1).collect();
    assert_eq!(now.len(), 1);

    let (code, out, message) = taintward(&kubeconfig, &["taint", "node", "n1", "x=y:NoExecute"]);
    assert_eq!(
        (code, out.as_str(), message.as_str()),
        (0, "node/n1 tainted\n", ""),
        "no terminal, no prompt"
    );
    // The pod takes its grace period to terminate; after that, no pod of the plan for now is left.
    let left = eventually("no pod is left to evict", || {
        let (_, left) = plan(&kubeconfig, &[]);
        let counts = &left["summary"];
        (counts["evictedNow"] == 0 && counts["skipped"] == 0).then_some(left)
    });
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    let waits = &left["items"][0];
    assert_eq!((&waits["pod"], &waits["uid"]), (&"waits".into(), &reported["items"][1]["uid"]));
    assert!(waits["remainingSeconds"].as_u64().unwrap() <= 600);
    assert_eq!(left["summary"]["staying"], 1, "the pod that tolerates it indefinitely is there");
    // At a time after its deletion, it is gone.
    let later = plan(&kubeconfig, &["--at", "+20m"]).1;
    assert_eq!((&later["summary"]["evictedNow"], &later["summary"]["evictedLater"]), (&1.into(), &0.into()));
    // The change that saves it.
    let (code, saved) = plan(&kubeconfig, &["--untaint", "n1", "x"]);
    assert_eq!((code, &saved["summary"]["noLongerEvicted"]), (0, &1.into()));
}

/// A Job, and its pod.
const JOB: &str = "\
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: Node
metadata: {name: n2}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: default, uid: 00000000-0000-4000-8000-000000000001}
spec:
  backoffLimit: 0
  template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}
---
apiVersion: v1
kind: Pod
metadata:
  name: once-a
  namespace: default
  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: once, uid: 00000000-0000-4000-8000-000000000001, controller: true}]
spec: {nodeName: n1, restartPolicy: Never, containers: [{name: a, image: a}]}
";

/// NB-3
#[test]
fn the_jobs_of_a_cluster_are_read() {
    let folder = TestFolder::named("plan-jobs");
    let objects = folder.write("objects.yaml", JOB);
    let kubeconfig = folder.file("kubeconfig");
    let mut sandbox =
        RunningSandbox::start(&["--plain", "--load", &objects, "--kubeconfig-out", &kubeconfig]);
    sandbox.until("KUBECONFIG");
    let fail_on = ["--fail-on", "not-recreated"];
    let (code, reported) = plan(&kubeconfig, &[&["--taint", "n1", "x:NoExecute"][..], &fail_on].concat());
    let [job] = &reported["workloads"].as_array().unwrap()[..] else { panic!("{reported}") };
    assert_eq!((code, &job["notRecreated"]), (2, &true.into()), "{reported}");
    assert_eq!(job["recreation"], "the Job fails: more failures than its backoffLimit of 0");
    let (code, _) = plan(&kubeconfig, &[&["--taint", "n2", "x:NoExecute"][..], &fail_on].concat());
    assert_eq!(code, 0);
}

#[test]
fn a_large_cluster_answers_in_pages() {
    let folder = TestFolder::named("plan-pages");
    let kubeconfig = folder.file("kubeconfig");
    let mut sandbox =
        RunningSandbox::start(&["--plain", "--empty", "--nodes", "5000", "--kubeconfig-out", &kubeconfig]);
    sandbox.until("KUBECONFIG");
    let (code, reported) = plan(&kubeconfig, &["--taint", "*", "x:NoExecute", "--request-timeout", "10m"]);
    assert_eq!((code, reported["nodes"].as_array().unwrap().len()), (0, 5_000));
}

#[test]
fn what_may_not_be_read_makes_the_plan_partial() {
    let folder = TestFolder::named("plan-rbac");
    let kubeconfig = serve(&folder, |path| match path.rsplit('/').next() {
        Some("nodes") => {
            There::Object(r#"{"kind": "NodeList", "items": [{"metadata": {"name": "n1", "uid": "u"}}]}"#)
        }
        _ => There::Hidden,
    });
    let (code, reported) = plan(&kubeconfig, &["--taint", "n1", "x:NoExecute"]);
    assert_eq!((code, &reported["complete"]), (1, &false.into()));
    let gaps: Vec<&str> =
        reported["readErrors"].as_array().unwrap().iter().map(|gap| gap.as_str().unwrap()).collect();
    assert!(gaps[0].contains("grant the verb list on poddisruptionbudgets"), "{gaps:?}");
    assert!(
        gaps[1].contains("grant the verb list on pods") && gaps[1].ends_with("missing or incomplete"),
        "{gaps:?}"
    );
    let (code, out, message) = taintward(&kubeconfig, &["plan", "--taint", "n1", "x:NoExecute"]);
    assert!(code == 1 && out.contains("This answer is partial"), "{out}");
    assert!(message.contains(gaps[1]), "{message}");
}

const NODES: &str = r#"{"kind": "NodeList", "items": [{"metadata": {"name": "n1", "uid": "u"}}]}"#;
const PODS: &str = r#"{"kind": "PodList", "items": [
    {"metadata": {"name": "here", "namespace": "shop", "uid": "a"}, "spec": {"nodeName": "n1"}},
    {"metadata": {"name": "young", "namespace": "shop", "uid": "b"}, "spec": {"nodeName": "new"}},
    {"metadata": {"name": "stray", "namespace": "shop", "uid": "c"}, "spec": {"nodeName": "old"}}]}"#;

/// The minute after a cluster was scaled down, when the pods of removed nodes still exist; and a node that was created
/// while the lists were read.
#[test]
fn pods_of_nodes_that_are_gone_are_named_and_the_others_are_planned() {
    let folder = TestFolder::named("plan-scaled-down");
    let kubeconfig = serve(&folder, |path| match path {
        "/api/v1/nodes" => There::Object(NODES),
        "/api/v1/nodes/new" => There::Object(r#"{"metadata": {"name": "new", "uid": "n"}, "spec": {}}"#),
        "/api/v1/pods" => There::Object(PODS),
        "/apis/policy/v1/poddisruptionbudgets" => There::Object(r#"{"kind": "List", "items": []}"#),
        _ => There::Nothing,
    });
    let (code, reported) = plan(&kubeconfig, &["--taint", "*", "x:NoExecute"]);
    assert_eq!(
        (code, &reported["complete"], &reported["readErrors"]),
        (2, &true.into(), &Value::Array(Vec::new()))
    );
    assert_eq!(reported["items"].as_array().unwrap().len(), 2);
    let note = "1 pod is not judged, because its node old does not exist: shop/stray";
    assert_eq!(reported["notes"], serde_json::json!([note]));
    let (code, _, message) = taintward(&kubeconfig, &["plan", "--taint", "n1", "x:NoExecute"]);
    assert_eq!((code, message), (2, format!("note: {note}\n")));
    let (code, _, message) = taintward(&kubeconfig, &["plan", "--taint", "n1", "x:NoExecute", "-n", "shpo"]);
    assert!(code == 1 && message.contains("error: namespace shpo does not exist; check -n\n"), "{message}");
}

/// A user with access to one namespace is informed of that, and that placements may be wrong.
#[test]
fn a_plan_for_one_namespace_asks_for_all_pods_and_makes_do_with_less() {
    let folder = TestFolder::named("plan-namespace");
    let kubeconfig = serve(&folder, |path| match path {
        "/api/v1/nodes" => There::Object(NODES),
        "/api/v1/namespaces/shop/pods" => There::Object(PODS),
        "/apis/policy/v1/poddisruptionbudgets" => There::Object(r#"{"kind": "List", "items": []}"#),
        _ => There::Hidden,
    });
    let (code, reported) = plan(&kubeconfig, &["--taint", "n1", "x:NoExecute", "-n", "shop"]);
    assert_eq!((code, &reported["items"][0]["pod"]), (1, &"here".into()));
    let gap = reported["readErrors"][0].as_str().unwrap();
    assert!(gap.contains("grant the verb list on pods") && gap.ends_with("next nodes may be wrong"), "{gap}");
}

/// Times in objects come from the cluster's clocks and are evaluated by them.
#[test]
fn the_servers_clock_counts_and_an_invalid_date_does_not() {
    let there = |path: &str| match path {
        "/api/v1/nodes" => There::Object(NODES),
        "/api/v1/pods" | "/apis/policy/v1/poddisruptionbudgets" => {
            There::Object(r#"{"kind": "List", "items": []}"#)
        }
        _ => There::Nothing,
    };
    let folder = TestFolder::named("plan-clock");
    let kubeconfig = serve_at(&folder, "date: Sun, 01 Jan 2040 10:00:00 GMT\r\n", there);
    let (_, reported) = plan(&kubeconfig, &["--taint", "n1", "x:NoExecute"]);
    assert!(reported["asOf"].as_str().unwrap().starts_with("2040-01-01T10:00:"), "{reported}");
    let note = reported["notes"][0].as_str().unwrap();
    assert!(note.contains("behind the API server's; the output uses"), "{note}");
    let late = TestFolder::named("plan-late");
    let behind = serve_at(&late, "date: Sun, 01 Mar 2026 10:00:00 GMT\r\n", there);
    let (_, reported) = plan(&behind, &[]);
    assert!(reported["asOf"].as_str().unwrap().starts_with("2026-03-01T10:00:"), "{reported}");
    let (_, reported) = plan(&kubeconfig, &["--as-of", "2030-01-01T00:00:00Z"]);
    assert_eq!(
        (&reported["asOf"], &reported["notes"]),
        (&"2030-01-01T00:00:00Z".into(), &Value::Array(Vec::new()))
    );
    for odd in ["", "date: soon\r\n", "date: 99999999999999\r\n"] {
        let folder = TestFolder::named("plan-no-clock");
        let (_, reported) = plan(&serve_at(&folder, odd, there), &[]);
        assert_eq!(reported["notes"], Value::Array(Vec::new()), "{odd}");
    }
}
