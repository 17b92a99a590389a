//! Tests holds on nodes that have another NoExecute taint, which their pods tolerate for a while: what the real
//! kube-controller-manager does with the deadlines of several taints (TE-18).

use crate::harness::{ManagedHarness, UNREACHABLE, is_held, name};
use serde_json::json;
use std::time::{Duration, Instant};
use taintward_envtest::binaries;
use taintward_envtest::fixtures::{create_node, pod, set_taints};
use testkit::wait::let_time_pass;

/// Each pod's own seconds for a silent node.
const OWN: u64 = 12;
const MAINTENANCE: &str = "example.com/maintenance";

async fn names_on(harness: &ManagedHarness, node: &str) -> Vec<String> {
    harness.on(node).await.iter().map(name).collect()
}

#[tokio::test(flavor = "current_thread")]
async fn a_hold_during_another_countdown_comes_too_late_and_says_so() {
    let Some(tools) = binaries::for_test("a_hold_during_another_countdown_comes_too_late") else { return };
    let harness = ManagedHarness::set(&tools, "toleration-hold-controller", &["--hold-limit=off"]).await;
    let maintenance = json!({"key": MAINTENANCE, "effect": "NoExecute"});
    let silent = json!({"key": UNREACHABLE, "effect": "NoExecute"});
    for node in ["a", "b"] {
        create_node(&harness.admin, node, &[]).await.unwrap();
        for (pod_name, seconds) in [("counts", Some(3600)), ("stays", None)] {
            let fixture = pod(&format!("{node}-{pod_name}"), node).bearing(UNREACHABLE, Some(OWN as i64));
            fixture.bearing(MAINTENANCE, seconds).create(&harness.admin).await.unwrap();
        }
    }
    // Node b is held before it becomes silent: only the countdown of maintenance begins.
    let (code, message) = harness.command(&["hold", "b", "--for", "1h"]).await;
    assert!(code == Some(0) && message.contains("1 node: 2 of 2 pods held\n"), "{code:?}: {message}");
    assert!(!message.contains("cannot be held"), "{message}");
    let_time_pass(Duration::from_secs(3), "the countdown must not begin before the taints").await;
    // Both at the same time: the first deadline of a pod is the earlier one.
    for node in ["a", "b"] {
        set_taints(&harness.admin, node, &[maintenance.clone(), silent.clone()]).await.unwrap();
    }
    let began = Instant::now();
    let_time_pass(Duration::from_secs(3), "the hold comes in the middle of the countdown").await;
    let (code, message) = harness.command(&["hold", "a", "--for", "1h"]).await;
    assert!(code == Some(0) && message.contains("1 node: 2 of 2 pods held\n"), "{code:?}: {message}");
    let reported = "1 pod cannot be held:\n  default/a-counts: its node has another NoExecute taint";
    assert!(message.contains(reported), "{message}");
    assert!(began.elapsed() < Duration::from_secs(OWN - 2), "the hold came too late: {:?}", began.elapsed());
    assert!(harness.on("a").await.iter().all(is_held));
    // kube-controller-manager keeps the deadline of the pod with two countdowns, and cancels that of the other one.
    harness
        .until("the pod with two countdowns to leave", async |harness| {
            names_on(harness, "a").await == ["a-stays"]
        })
        .await;
    assert!(began.elapsed() >= Duration::from_secs(OWN - 1), "{:?}", began.elapsed());
    let_time_pass(Duration::from_secs(6), "no other pod may leave").await;
    assert_eq!(names_on(&harness, "a").await, ["a-stays"]);
    assert_eq!(names_on(&harness, "b").await, ["b-counts", "b-stays"]);
}
