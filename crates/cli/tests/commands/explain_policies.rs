//! Tests what `taintward explain` says about pods that eviction policies delay, in a sandbox.

use crate::cli::reluctant::{There, serve};
use crate::cli::running::{RunningSandbox, TestFolder, text};
use crate::cli::timeout::eventually;
use jiff::Timestamp;
use serde_json::json;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A pod with a budget that never allows a disruption, and one without a budget, both on n1; each has a policy.
const OBJECTS: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "kept", "namespace": "default", "labels": {"app": "kept"}},
     "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "main"}]}},
    {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "kept", "namespace": "default"},
     "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "kept"}}}},
    {"apiVersion": "taintward.io/v1alpha1", "kind": "EvictionPolicy", "metadata": {"name": "gentle"},
     "spec": {"taints": [{"key": "maintenance"}], "respectBudgets": {"deadlineSeconds": 3600}, "maxPodsPerMinute": 30,
      "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}}
]}"#;

struct PolicyHarness {
    folder: TestFolder,
    _sandbox: RunningSandbox,
    kubectl: PathBuf,
}

impl PolicyHarness {
    /// A sandbox in which the objects are, and the pod runs; `None`: there is no kubectl.
    fn with_objects(objects: &str) -> Option<Self> {
        let tools = taintward_envtest::binaries::for_test("explain_policies")?;
        let folder = TestFolder::named("explain-policies");
        let kubeconfig = folder.file("kubeconfig");
        let mut sandbox = RunningSandbox::start(&["--plain", "--empty", "--kubeconfig-out", &kubeconfig]);
        sandbox.until("KUBECONFIG");
        let kubectl = tools.path("kubectl").unwrap();
        let harness = Self { folder, _sandbox: sandbox, kubectl };
        harness.create(objects);
        harness.kubectl(&["wait", "pod/kept", "--for=condition=Ready", "--timeout=60s"]);
        Some(harness)
    }

    fn create(&self, objects: &str) {
        self.kubectl(&["create", "-f", &self.folder.write("objects.json", objects)]);
    }

    fn kubectl(&self, words: &[&str]) {
        let mut kubectl = Command::new(&self.kubectl);
        kubectl.args(words).env("KUBECONFIG", self.folder.file("kubeconfig"));
        let done = kubectl.env("HOME", self.folder.path()).output().unwrap();
        assert!(done.status.success(), "{}", text(&done.stderr));
    }

    /// The exit code, and what is printed, with single spaces.
    fn run(&self, typed: &str) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(typed.split(' ')).stdin(Stdio::null()).env("TZ", "UTC");
        let done = command.env("KUBECONFIG", self.folder.file("kubeconfig")).output().unwrap();
        let printed = text(&[done.stdout, done.stderr].concat());
        (done.status.code().unwrap(), printed.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

#[test]
fn a_due_pod_names_its_policy_its_budget_and_its_deadline() {
    let Some(harness) = PolicyHarness::with_objects(OBJECTS) else { return };
    let explain = || harness.run("explain pod/kept -n default");
    let (_, before) = explain();
    assert!(before.contains("It stays") && !before.contains("eviction policy"), "{before}");
    let (code, tainted) = harness.run("taint node n1 maintenance:NoExecute --no-preview");
    assert_eq!(code, 0, "{tainted}");
    let explained = eventually("the policy to have a status", || {
        let (code, explained) = explain();
        assert_eq!(code, 0, "{explained}");
        (!explained.contains("no controller has reported")).then_some(explained)
    });
    for words in [
        "It has been due for eviction since",
        "eviction policy gentle governs it: its disruption budgets count until",
        "then it is deleted in spite of them; at most 30 pods are evicted per minute",
        "it waits for budget default/kept, which never allows a disruption; deleted at",
    ] {
        assert!(explained.contains(words), "{words}: {explained}");
    }
}

#[test]
fn a_hold_of_a_pod_names_the_policies_that_may_make_it_void() {
    let Some(harness) = PolicyHarness::with_objects(OBJECTS) else { return };
    let hold = || harness.run("hold pod/kept -n default");
    let (code, printed) = hold();
    assert!(code == 0 && printed.contains("1 pod: no eviction before"), "{printed}");
    assert!(!printed.contains("note:"), "{printed}");
    harness.create(
        r#"{"apiVersion": "taintward.io/v1alpha1", "kind": "EvictionPolicy", "metadata": {"name": "strict"},
            "spec": {"taints": [{"key": "maintenance"}], "allowHolds": false}}"#,
    );
    let (code, printed) = hold();
    assert!(
        code == 0 && printed.contains("if the pod is evicted under eviction policy strict;"),
        "{printed}"
    );
    assert!(!harness.run("release pod/kept -n default").1.contains("note:"));
}

/// There is no policy: the annotation of the node alone says that budgets count.
#[test]
fn a_pod_that_waits_because_of_its_nodes_annotation_names_its_budget() {
    let objects = OBJECTS.split(",\n    {\"apiVersion\": \"taintward.io").next().unwrap().to_owned() + "]}";
    let Some(harness) = PolicyHarness::with_objects(&objects) else { return };
    // The preview needs a terminal.
    let taint =
        format!("{} taint node n1 maintenance:NoExecute --respect-budgets", env!("CARGO_BIN_EXE_taintward"));
    let mut script = Command::new("script");
    script.args(["-qec", &format!("{taint} --deadline 10m --yes"), "/dev/null"]).stdin(Stdio::null());
    let done = script.env("KUBECONFIG", harness.folder.file("kubeconfig")).output().unwrap();
    let preview = text(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        done.status.success() && preview.contains("1 pod is then deleted in spite of its disruption budgets"),
        "{preview}"
    );
    assert!(preview.contains("default/kept is due now"), "{preview}");
    let waits = "waits for budget default/kept, which never allows a disruption; deleted at";
    let policy = "(policy of node n1 (taintward.io/respect-budgets))";
    let explained = eventually("the pod to be due", || {
        let (_, explained) = harness.run("explain pod/kept -n default");
        explained.contains("due for eviction").then_some(explained)
    });
    assert!(!explained.contains("no controller"), "{explained}");
    let (_, pending) = harness.run("pending -A");
    let (_, status) = harness.run("status");
    assert!(status.contains("1 pod is due: 1 waits for a budget"), "{status}");
    for printed in [explained, pending, status] {
        assert!(printed.contains(waits) && printed.contains(policy), "{printed}");
    }
}

/// Pods on a node with a taint that one of them tolerates for ten minutes. Each has a hold of its own; a policy selects two
/// of them.
const HELD: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "n1"},
     "spec": {"taints": [{"key": "maintenance", "effect": "NoExecute", "timeAdded": "2026-11-21T13:59:00Z"}]}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "urgent", "namespace": "shop", "uid": "a", "labels": {"app": "urgent"},
      "annotations": {"taintward.io/hold": "{\"action\":\"hold\",\"since\":\"2026-11-21T13:58:00Z\",\"until\":\"2026-11-21T15:00:00Z\"}"}},
     "status": {"startTime": "2026-11-21T12:00:00Z"},
     "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "main"}]}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "counting", "namespace": "shop", "uid": "e", "labels": {"app": "urgent"},
      "annotations": {"taintward.io/hold": "{\"action\":\"hold\",\"since\":\"2026-11-21T13:58:00Z\",\"until\":\"2026-11-21T15:00:00Z\"}"}},
     "status": {"startTime": "2026-11-21T12:00:00Z"},
     "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "main"}],
      "tolerations": [{"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 600}]}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other", "namespace": "shop", "uid": "b", "labels": {"app": "other"},
      "annotations": {"taintward.io/hold": "{\"action\":\"hold\",\"since\":\"2026-11-21T13:58:00Z\",\"until\":\"2026-11-21T15:00:00Z\"}"}},
     "status": {"startTime": "2026-11-21T12:00:00Z"},
     "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "main"}]}},
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "c", "labels": {"team": "shop"}}},
    {"apiVersion": "taintward.io/v1alpha1", "kind": "EvictionPolicy", "metadata": {"name": "urgent", "uid": "d"},
     "spec": {"taints": [{"key": "maintenance"}], "allowHolds": ALLOW,
      "namespaceSelector": {"matchLabels": {"team": "shop"}}, "podSelector": {"matchLabels": {"app": "urgent"}}}}
]}"#;

const TAINT: &str = r#"[{"key": "maintenance", "effect": "NoExecute", "timeAdded": "2026-11-21T13:59:00Z"}]"#;

#[test]
fn a_hold_that_a_policy_forbids_does_not_count() {
    let folder = TestFolder::named("explain-forbidden-holds");
    let run = |command: &str, file: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_taintward"));
        program
            .args(command.split(' '))
            .args(["-f", file, "--as-of", "2026-11-21T14:00:00Z"])
            .env("TZ", "UTC");
        text(&program.output().unwrap().stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let held = "holds it until";
    let forbidden =
        "its annotation taintward.io/hold delays nothing: eviction policy urgent forbids holds of pods";
    for (allow, urgent, due, ends) in
        [("true", held, "15:00:00", "15:10:00"), ("false", forbidden, "13:59:00", "14:09:00")]
    {
        let file = folder.write("cluster.json", &HELD.replace("ALLOW", allow));
        let explained = run("explain pod/urgent", &file);
        assert!(explained.contains(urgent), "{explained}");
        assert_eq!(explained.contains(held), allow == "true", "{explained}");
        let counting = run("explain pod/counting", &file);
        assert_eq!(counting.contains(forbidden), allow == "false", "{counting}");
        let other = run("explain pod/other", &file);
        assert!(other.contains(held) && !other.contains("delays nothing"), "{other}");
        let times = |listed: &str, hour: [&str; 3]| {
            let listed: serde_json::Value = serde_json::from_str(listed).unwrap();
            let rows = listed["items"].as_array().unwrap();
            let evicted_at =
                |pod: &str| rows.iter().find(|row| row["pod"] == pod).unwrap()["evictedAt"].clone();
            let expected = hour.map(|time| format!("2026-11-21T{time}Z"));
            assert_eq!(["urgent", "counting", "other"].map(evicted_at), expected);
        };
        times(&run("pending -A -o json", &file), [due, ends, "15:00:00"]);
        let untainted = HELD.replace("ALLOW", allow).replace(TAINT, "[]");
        let file = folder.write("untainted.json", &untainted);
        let planned = if allow == "true" { ["15:00:00", "15:10:00"] } else { ["14:00:00", "14:10:00"] };
        times(
            &run("plan --taint n1 maintenance:NoExecute -o json", &file),
            [planned[0], planned[1], "15:00:00"],
        );
    }
}

/// Two nodes with the same taint, each with a pod; the Deployment of the controller limits evictions to one node.
const BRAKED: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "n1"}, "spec": {"taints": [TAINT]}},
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n2", "uid": "n2"}, "spec": {"taints": [TAINT]}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "shop", "uid": "a"},
     "status": {"startTime": "2026-11-21T12:00:00Z"}, "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "main"}]}},
    {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b", "namespace": "shop", "uid": "b"},
     "status": {"startTime": "2026-11-21T12:00:00Z"}, "spec": {"nodeName": "n2", "containers": [{"name": "main", "image": "main"}]}},
    {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "taintward", "namespace": "kube-system", "uid": "d"},
     "spec": {"template": {"spec": {"containers": [
        {"name": "taintward", "image": "registry.example/taintward:1", "args": ["run", "--brake-limit=LIMIT"]}]}}}}
]}"#;

#[test]
fn a_pod_that_the_brake_delays_names_the_count_the_limit_and_the_release() {
    let folder = TestFolder::named("explain-brake");
    let taint = r#"{"key": "maintenance", "effect": "NoExecute", "timeAdded": "2026-11-21T13:59:00Z"}"#;
    for (limit, is_braked) in [("1", true), ("2", false)] {
        let file = folder.write("cluster.json", &BRAKED.replace("TAINT", taint).replace("LIMIT", limit));
        for command in ["explain pod/a -n shop", "pending -A"] {
            let mut program = Command::new(env!("CARGO_BIN_EXE_taintward"));
            program.args(command.split(' ')).args(["-f", &file, "--as-of", "2026-11-21T14:00:00Z"]);
            let done = program.env("TZ", "UTC").output().unwrap();
            let printed = text(&done.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
            let words = "evicts pods of 2 nodes, and --brake-limit allows 1; to evict: taintward release --taint maintenance";
            assert_eq!(printed.contains(words), is_braked, "{printed}");
        }
    }
}

/// Only Taintward has a brake: what a user may not read of it matters where Taintward runs, and only there.
#[test]
fn an_unreadable_deployment_is_reported_where_taintward_runs() {
    const POD: &str = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop", "uid": "u"},
        "spec": {"nodeName": "n1"}, "status": {"phase": "Running"}}"#;
    const NODE: &str = r#"{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n1", "uid": "n"},
        "spec": {"taints": [{"key": "a", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}]}}"#;

    let folder = TestFolder::named("explain-unread-brake");
    let spec =
        json!({"holderIdentity": "taintward-0", "leaseDurationSeconds": 15, "renewTime": Timestamp::now()});
    let lease: &str = json!({"metadata": {"name": "taintward"}, "spec": spec}).to_string().leak();
    for (lease, is_reported) in [(None, false), (Some(lease), true)] {
        let kubeconfig = serve(&folder, move |path| match path {
            "/api/v1/namespaces/shop/pods/web" => There::Object(POD),
            "/api/v1/nodes/n1" => There::Object(NODE),
            "/apis/coordination.k8s.io/v1/namespaces/taintward-system/leases/taintward" => {
                lease.map_or(There::Nothing, There::Object)
            }
            _ if path.ends_with("/deployments") => There::Hidden,
            _ => There::Nothing,
        });
        let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
        command.args(["explain", "pod/web", "-n", "shop"]).env("KUBECONFIG", &kubeconfig);
        let done = command.stdin(Stdio::null()).output().unwrap();
        let shown = text(&done.stdout) + &text(&done.stderr);
        assert!(shown.contains("has been due for eviction"), "{shown}");
        assert_eq!(shown.contains("it is unknown whether the brake delays due pods"), is_reported, "{shown}");
    }
}
