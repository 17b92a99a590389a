//! Tests the guard: Taintward evicts guarded pods by their own seconds, kube-controller-manager at the ceiling; off
//! leaves no trace.

use crate::harness::{ManagedHarness, NOT_READY, UNREACHABLE, name, seconds};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::{create_node, pod, set_taints};
use taintward_envtest::{binaries, wait};
use testkit::wait::let_time_pass;

const CONTROLLER: &str = "toleration-guard-controller";
const GUARD: &str = "taintward.io/guard";
/// Each pod's own seconds.
const OWN: i64 = 8;
const CEILING: i64 = 24;
/// How much earlier or later a pod may leave: clocks are read in whole seconds.
const SLACK: Duration = Duration::from_secs(2);

fn is_guarded(pod: &Value) -> bool {
    seconds(pod) == Some(CEILING) && pod["metadata"]["annotations"][GUARD].is_string()
}

/// The fields that a ceiling may change in a pod.
fn traces(pod: &Value) -> [Value; 2] {
    [pod["spec"]["tolerations"].clone(), pod["metadata"]["annotations"].clone()]
}

async fn create_pods(harness: &ManagedHarness, node: &str, number: usize) {
    create_node(&harness.admin, node, &[]).await.unwrap();
    for at in 0..number {
        let fixture = pod(&format!("{node}-{at}"), node);
        let fixture = fixture.bearing(NOT_READY, Some(OWN)).bearing(UNREACHABLE, Some(OWN));
        // Half of them without any annotation, as an API server has them.
        let annotations = if at % 2 == 0 { json!({}) } else { json!({"example.com/mine": "1"}) };
        fixture.with("/metadata", "annotations", annotations).create(&harness.admin).await.unwrap();
    }
    let forever = pod(&format!("{node}-forever"), node).bearing(UNREACHABLE, None).bearing(NOT_READY, None);
    forever.create(&harness.admin).await.unwrap();
}

/// Waits until all pods of a node have left, except the one that stays indefinitely; each must exist until `seconds`
/// after `began`.
async fn all_leave(harness: &ManagedHarness, node: &str, number: usize, began: Instant, seconds: i64) {
    let due = Duration::from_secs(seconds.unsigned_abs());
    let latest = (due + SLACK * 2).saturating_sub(began.elapsed());
    let gone = wait::until("all but one pod to leave", latest, async || {
        let left = harness.on(node).await.len();
        let after = began.elapsed();
        assert!(left == number + 1 || after + SLACK >= due, "{left} pods of {node} are left after {after:?}");
        Ok((left == 1).then_some(()))
    });
    gone.await.unwrap_or_else(|error| panic!("{node}: {error}: {}", harness.ours()));
}

#[tokio::test(flavor = "current_thread")]
async fn guarded_pods_leave_by_their_own_seconds_and_at_the_ceiling_without_taintward() {
    let Some(tools) = binaries::for_test("guarded_pods_leave_by_their_own_seconds") else { return };
    let mut harness = ManagedHarness::set(&tools, CONTROLLER, &[]).await;
    for node in ["a", "b", "c"] {
        create_pods(&harness, node, 4).await;
    }
    let (code, message) = harness.command(&["guard", "on", "default", "--ceiling", "24s"]).await;
    assert_eq!(code, Some(0), "{message}");
    let guarded = harness.pods().await;
    assert_eq!(guarded.iter().filter(|pod| is_guarded(pod)).count(), 12, "{message}");
    let forever = guarded.iter().filter(|pod| name(pod).ends_with("-forever"));
    assert!(forever.clone().count() == 3 && forever.clone().all(|pod| seconds(pod).is_none()));

    // Taintward evicts them, with its events; kube-controller-manager waits for the ceiling.
    let began = Instant::now();
    harness.silence("a").await;
    all_leave(&harness, "a", 4, began, OWN).await;
    // The last pod is gone before its line is written.
    let lines = || harness.ours().matches("pod evicted").count();
    let logged = wait::until("a line for each pod", SLACK, async || Ok((lines() >= 4).then_some(())));
    logged.await.unwrap_or_else(|error| panic!("{error}: {}", harness.ours()));
    assert_eq!(lines(), 4, "{}", harness.ours());

    // Killed and restarted in between, it continues to count from the node's silence.
    let began = Instant::now();
    harness.silence("b").await;
    let_time_pass(Duration::from_secs(5), "the restart comes in the middle of the countdown").await;
    harness.restart_ours(CONTROLLER);
    all_leave(&harness, "b", 4, began, OWN).await;

    // When Taintward is dead, kube-controller-manager evicts the pods at the ceiling.
    harness.ours.take().unwrap().kill().unwrap();
    let began = Instant::now();
    harness.silence("c").await;
    all_leave(&harness, "c", 4, began, CEILING).await;
}

#[tokio::test(flavor = "current_thread")]
async fn the_guard_leaves_no_trace_and_its_records_cannot_be_forged() {
    let Some(tools) = binaries::for_test("the_guard_leaves_no_trace") else { return };
    let harness = ManagedHarness::set(
        &tools,
        "toleration-guard-controller,toleration-hold-controller",
        &["--hold-limit=off"],
    )
    .await;
    create_pods(&harness, "a", 3).await;
    create_pods(&harness, "b", 3).await;
    let before: Vec<_> = harness.pods().await.iter().map(traces).collect();
    let (code, message) = harness.command(&["guard", "on", "default", "--ceiling", "24s"]).await;
    assert_eq!(code, Some(0), "{message}");

    // No other writer creates a record; a removed one comes back.
    let path = "/api/v1/namespaces/default/pods/a-0";
    let forged = r#"{"guarded":[{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":1,"given":24}]}"#;
    let patch = json!({"metadata": {"annotations": {GUARD: forged}}}).to_string();
    // A policy takes effect a moment after its creation.
    let trial = format!("{path}?dryRun=All");
    harness
        .until("the policy to be in effect", async |harness| {
            harness.admin.patch(&trial, PatchType::Merge, &patch).await.is_err()
        })
        .await;
    let rejected = harness.admin.patch(path, PatchType::Merge, &patch).await.unwrap_err();
    assert!(rejected.to_string().contains("only Taintward writes the annotations"), "{rejected}");
    let patch = json!({"metadata": {"annotations": {GUARD: null}}}).to_string();
    harness.admin.patch(path, PatchType::Merge, &patch).await.unwrap();
    harness
        .until("the record to be back", async |harness| is_guarded(&harness.admin.get(path).await.unwrap()))
        .await;

    // A hold replaces the ceiling as long as it lasts.
    let (code, message) = harness.command(&["hold", "a"]).await;
    assert_eq!(code, Some(0), "{message}");
    harness.silence("a").await;
    let longer = Duration::from_secs(OWN.unsigned_abs() + 3);
    let_time_pass(longer, "no held pod may leave when its own seconds are over").await;
    let held = harness.on("a").await;
    assert_eq!(held.len(), 4, "a held pod has left");
    assert!(held.iter().all(|pod| seconds(pod).is_none() && pod["metadata"]["annotations"][GUARD].is_null()));
    set_taints(&harness.admin, "a", &[]).await.unwrap();
    let (code, message) = harness.command(&["release", "a"]).await;
    assert_eq!(code, Some(0), "{message}");
    harness
        .until("the pods of a to be guarded again", async |harness| {
            harness.on("a").await.iter().filter(|pod| is_guarded(pod)).count() == 3
        })
        .await;

    // The command reports other taints that evict.
    let other = json!({"key": "maintenance", "effect": "NoExecute"});
    create_node(&harness.admin, "d", &[other]).await.unwrap();
    let (code, message) = harness.command(&["guard", "status"]).await;
    assert!(code == Some(0) && message.contains("maintenance:NoExecute (1 node)"), "{code:?}: {message}");
    let row = message.lines().find(|line| line.starts_with("default ")).unwrap();
    assert_eq!(
        row.split_whitespace().collect::<Vec<_>>(),
        ["default", "24s", "6", "0", "0", "0", "0"],
        "{message}"
    );

    // No trace of the guard is left.
    let (code, message) = harness.command(&["guard", "off", "--all"]).await;
    assert!(
        code == Some(0) && message.contains("no pod of these namespaces has a ceiling"),
        "{code:?}: {message}"
    );
    let after: Vec<_> = harness.pods().await.iter().map(traces).collect();
    let plain = |traces: &[[Value; 2]]| -> Vec<String> {
        traces.iter().map(|traces| json!(traces).to_string().replace("null", "{}")).collect()
    };
    assert_eq!(plain(&after), plain(&before));
    let namespace = harness.admin.get("/api/v1/namespaces/default").await.unwrap();
    assert!(namespace["metadata"]["labels"]["taintward.io/guard-ceiling-seconds"].is_null());
    let (code, message) = harness.command(&["guard", "status"]).await;
    assert!(code == Some(0) && message.contains("no namespace is guarded"), "{code:?}: {message}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_guard_without_a_controller_is_reported() {
    let Some(tools) = binaries::for_test("a_guard_without_a_controller_is_reported") else { return };
    let mut harness = ManagedHarness::set(&tools, CONTROLLER, &[]).await;
    create_pods(&harness, "a", 2).await;
    harness.kill_both();
    let (code, message) = harness.command(&["guard", "on", "default", "--timeout", "2s"]).await;
    assert!(code == Some(1) && message.contains("0 of 2 pods guarded after 2s"), "{code:?}: {message}");
    let (code, message) = harness.command(&["guard", "on", "nowhere"]).await;
    assert!(
        code == Some(1) && message.contains("namespace nowhere does not exist; nothing was changed"),
        "{code:?}: {message}"
    );
    let (code, message) = harness.command(&["guard", "off", "-l", "no=such"]).await;
    assert!(code == Some(1) && message.contains("no namespace matches these labels"), "{code:?}: {message}");
    let odd = json!({"metadata": {"labels": {"taintward.io/guard-ceiling-seconds": "often"}}}).to_string();
    harness.admin.patch("/api/v1/namespaces/default", PatchType::Merge, &odd).await.unwrap();
    let (code, message) = harness.command(&["guard", "status"]).await;
    assert!(
        code == Some(0) && message.contains("of default is not a number from 10 to 604800"),
        "{code:?}: {message}"
    );
}
