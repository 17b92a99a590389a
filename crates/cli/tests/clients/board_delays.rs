//! Tests that what delays due pods reaches `pending -w`, the board and the terminal of a sandbox.

use crate::board::client::BoardAddress;
use crate::cli::running::{RunningSandbox, request};
use crate::cli::timeout::eventually;
use jiff::{Timestamp, ToSpan as _};
use serde_json::{Value, json};
use std::process::Command;

#[test]
fn what_delays_due_pods_reaches_pending_the_board_and_the_terminal() {
    let mut running = RunningSandbox::start(&["--plain", "--empty", "--nodes", "2"]);
    let board = BoardAddress::of(&running.until("/?token="));
    let kubeconfig = running.kubeconfig();
    let create = |path: &str, object: &Value| request(&kubeconfig, "POST", path, &object.to_string());
    create("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}}));
    create(
        "/apis/policy/v1/namespaces/shop/poddisruptionbudgets",
        &json!({"metadata": {"name": "web"}, "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}}}),
    );
    let policies = "/apis/taintward.io/v1alpha1/evictionpolicies";
    create(
        policies,
        &json!({"apiVersion": "taintward.io/v1alpha1", "kind": "EvictionPolicy", "metadata": {"name": "gentle"},
            "spec": {"taints": [{"key": "maintenance"}], "respectBudgets": {}}}),
    );
    for name in ["web-1", "web-2"] {
        let pod = json!({"metadata": {"name": name, "labels": {"app": "web"}},
            "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "registry.example/x:1"}]}});
        create("/api/v1/namespaces/shop/pods", &pod);
    }
    let mut events = board.events("");
    events.until_pods(2);
    // The eviction API asks no budget about a pod that does not run yet.
    eventually("the pods run", || {
        let pods = request(&kubeconfig, "GET", "/api/v1/namespaces/shop/pods", "");
        (pods.matches("\"phase\":\"Running\"").count() == 2).then_some(())
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.args(["pending", "-w", "-A", "-o", "json", "--kubeconfig", &kubeconfig]);
    let mut pending = RunningSandbox::of(command);
    let taint = json!({"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}});
    request(&kubeconfig, "PATCH", "/api/v1/nodes/n1", &taint.to_string());

    let sentence = "waits for budget shop/web, which never allows a disruption";
    let event: Value = serde_json::from_str(&pending.until("\"Delayed\"")).unwrap();
    assert_eq!((&event["pod"], &event["overdue"]), (&json!("web-1"), &json!(true)), "{event}");
    assert_eq!((&event["delay"]["reason"], &event["delay"]["message"]), (&json!("budget"), &json!(sentence)));
    running.until(&format!("  Delayed       pod shop/web-1 {sentence}; without a deadline, so never forced"));
    let delayed = |message: &Value| {
        let limits = message["limits"].as_array().cloned().unwrap_or_default();
        limits.into_iter().find(|limit| limit["kind"] == "delayed")
    };
    let (_, message) = events.until("the delay", |message| delayed(message).is_some());
    let limit = delayed(&message).unwrap();
    assert_eq!(limit["about"], "shop/web-1 and 1 more pod", "{limit}");
    assert!(limit["text"].as_str().unwrap().starts_with(sentence), "{limit}");

    request(&kubeconfig, "DELETE", &format!("{policies}/gentle"), "");
    let event: Value = serde_json::from_str(&pending.until("PendingEvent\"")).unwrap();
    let event = match event["event"] == "Delayed" {
        true => serde_json::from_str(&pending.until("\"Deleted\"")).unwrap(),
        false => event,
    };
    assert_eq!(event["event"], "Deleted", "{event}");
    events.until("no delay", |message| message["limits"].is_array() && delayed(message).is_none());
}

#[test]
fn a_hold_that_a_policy_forbids_changes_no_deadline_that_is_shown() {
    let running = &mut RunningSandbox::start(&["--plain", "--empty", "--nodes", "2"]);
    let kubeconfig = running.kubeconfig();
    let create = |path: &str, object: &Value| request(&kubeconfig, "POST", path, &object.to_string());
    create("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}}));
    create(
        "/apis/taintward.io/v1alpha1/evictionpolicies",
        &json!({"apiVersion": "taintward.io/v1alpha1", "kind": "EvictionPolicy", "metadata": {"name": "urgent"},
            "spec": {"taints": [{"key": "maintenance"}], "allowHolds": false}}),
    );
    let now = Timestamp::now();
    let hold =
        json!({"action": "hold", "since": now.to_string(), "until": (now + 3_600.seconds()).to_string()});
    let pod = json!({"metadata": {"name": "web", "annotations": {"taintward.io/hold": hold.to_string()}},
        "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "registry.example/x:1"}],
            "tolerations": [{"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 600}]}});
    create("/api/v1/namespaces/shop/pods", &pod);
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.args(["pending", "-w", "-A", "-o", "json", "--kubeconfig", &kubeconfig]);
    let mut pending = RunningSandbox::of(command);
    let taint = json!({"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}});
    request(&kubeconfig, "PATCH", "/api/v1/nodes/n1", &taint.to_string());
    // The hold counts until the policies are read.
    let seconds = (0..2).map(|_| {
        let event: Value = serde_json::from_str(&pending.until("PendingEvent\"")).unwrap();
        let time = |field: &str| event[field].as_str().unwrap().parse::<Timestamp>().unwrap().as_second();
        time("evictedAt") - time("countdownStartedAt")
    });
    assert!(seconds.into_iter().any(|seconds| seconds == 600), "the hold counts");
    let mut status = Command::new(env!("CARGO_BIN_EXE_taintward"));
    let status = status.args(["status", "--kubeconfig", &kubeconfig]).output().unwrap();
    let status = String::from_utf8(status.stdout).unwrap();
    let row = status.lines().find(|line| line.contains("shop/web")).unwrap();
    assert!(row.contains("annotation of the pod, which a policy forbids"), "{status}");
}
