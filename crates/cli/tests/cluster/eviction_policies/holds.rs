//! Tests `taintward hold` and `release` where Taintward evicts: of a node and of a pod, also if the leader is killed.

use super::harness::{PolicyHarness, count};
use super::on_a_cluster;
use std::time::Duration;
use testkit::wait;

/// The pods that Taintward deleted, or tried to.
fn requested(harness: &PolicyHarness<'_>) -> Vec<String> {
    let mut names: Vec<String> = harness.deletions().into_iter().map(|entry| entry.name.clone()).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn held_nodes_and_pods_lose_no_pod_until_they_are_released() {
    on_a_cluster("held_nodes_and_pods_lose_no_pod_until_they_are_released", async |harness| {
        for (name, node) in [("on-held-node", "n1"), ("held", "n2"), ("free", "n2")] {
            harness.pod(name, node).await;
        }
        let mut replicas = [harness.start().await, harness.start().await];
        let leader = harness.leader(&replicas).await;
        let shown = harness.run(&["hold", "n1", "--for", "1h", "--reason", "repair"]);
        assert!(shown.starts_with("1 node: no eviction before "), "{shown}");
        let shown = harness.run(&["hold", "pod/held", "-n", "default"]);
        assert!(shown.starts_with("1 pod: no eviction before "), "{shown}");
        harness.taint(&["n1", "n2"], "maintenance:NoExecute");
        harness
            .until("the other pod to be evicted", async || (count(&harness.deletions()) == 1).then_some(()))
            .await;
        let explained = harness.run(&["explain", "pod/held", "-n", "default"]);
        assert!(explained.contains("an annotation (taintward.io/hold) holds it until "), "{explained}");
        replicas[leader].kill();
        harness
            .until("the other process to lead", async || replicas[1 - leader].is_leading().then_some(()))
            .await;
        wait::let_time_pass(Duration::from_secs(3), "no further pod may be evicted").await;
        assert_eq!(requested(harness), ["free"]);
        let held = harness.run(&["hold", "status"]);
        assert!(held.contains("n1") && held.contains("repair"), "{held}");

        let shown = harness.run(&["release", "n1"]);
        assert_eq!(shown, "1 node: not held; countdowns continue\n");
        harness.until("its pod to be evicted", async || (requested(harness).len() == 2).then_some(())).await;
        assert_eq!(requested(harness), ["free", "on-held-node"]);
        harness.run(&["release", "pod/held", "-n", "default"]);
        harness
            .until("the last pod to be evicted", async || (requested(harness).len() == 3).then_some(()))
            .await;
    });
}
