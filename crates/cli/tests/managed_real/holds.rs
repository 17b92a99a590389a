//! Tests holds: pods of silent nodes stay while they are held, whatever is killed meanwhile, and leave when they are
//! released.

use crate::harness::{HELD, ManagedHarness, NOT_READY, UNREACHABLE, due, is_held, name, record, seconds};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use taintward_envtest::api::PatchType;
use taintward_envtest::binaries;
use taintward_envtest::fixtures::{create_node, pod, set_taints};
use testkit::wait::let_time_pass;

const CONTROLLER: &str = "toleration-hold-controller";
/// Each pod's own seconds.
const OWN: i64 = 12;

#[tokio::test(flavor = "current_thread")]
async fn no_pod_leaves_while_it_is_held_and_each_leaves_once_it_is_released() {
    let Some(tools) = binaries::for_test("no_pod_leaves_while_it_is_held") else { return };
    let mut harness = ManagedHarness::set(&tools, CONTROLLER, &["--hold-limit=1"]).await;
    let test = "no_pod_leaves_while_it_is_held_and_each_leaves_once_it_is_released";
    let why = "older ones evict only together with node-lifecycle-controller, which removes taints when it restarts";
    if harness.cluster.is_before(33, test, why) {
        return;
    }
    for node in ["a", "b", "c", "calm"] {
        create_node(&harness.admin, node, &[]).await.unwrap();
        for at in 0..10 {
            let fixture = pod(&format!("{node}-{at}"), node).bearing(UNREACHABLE, Some(OWN));
            // Half of them without any annotation, as an API server has them.
            let annotations = if at % 2 == 0 { json!({}) } else { json!({"example.com/mine": "1"}) };
            fixture.with("/metadata", "annotations", annotations).create(&harness.admin).await.unwrap();
        }
        let forever =
            pod(&format!("{node}-forever"), node).bearing(UNREACHABLE, None).bearing(NOT_READY, None);
        forever.create(&harness.admin).await.unwrap();
    }

    // One silent node is within the limit: nothing is held. With three, all of them are.
    let before = harness.on("calm").await;
    harness.silence("a").await;
    let_time_pass(Duration::from_secs(2), "no pod may be held yet").await;
    assert_eq!(harness.pods().await.iter().filter(|pod| is_held(pod)).count(), 0);
    let began = Instant::now();
    harness.silence("b").await;
    harness.silence("c").await;
    harness
        .until("30 pods to be held", async |harness| {
            harness.pods().await.iter().filter(|pod| is_held(pod)).count() == 30
        })
        .await;
    assert!(began.elapsed() < Duration::from_secs(OWN as u64 - 4), "{:?}", began.elapsed());

    // Longer than any countdown, and both restart in between.
    let no_pod_leaves = "no held pod may leave";
    let_time_pass(Duration::from_secs(5), no_pod_leaves).await;
    harness.kill_both();
    let_time_pass(Duration::from_secs(2), no_pod_leaves).await;
    harness.start_both().await;
    let_time_pass(Duration::from_secs(OWN as u64), no_pod_leaves).await;
    let pods = harness.pods().await;
    assert_eq!(pods.len(), 44, "kube-controller-manager has evicted held pods");
    assert!(pods.iter().all(|pod| pod["metadata"]["deletionTimestamp"].is_null()));
    assert_eq!(harness.on("calm").await, before, "a pod of a healthy node was changed");
    let forever = pods.iter().filter(|pod| name(pod).ends_with("-forever"));
    assert!(forever.clone().count() == 4 && forever.clone().all(|pod| record(pod).is_none()));

    // Two nodes are back: their pods have their own seconds again, and no trace of the hold is left. The third is
    // within the limit again: each of its pods leaves when its seconds are over.
    set_taints(&harness.admin, "a", &[]).await.unwrap();
    set_taints(&harness.admin, "b", &[]).await.unwrap();
    harness
        .until("the pods of c to have seconds again", async |harness| {
            harness.on("c").await.iter().all(|pod| name(pod) == "c-forever" || seconds(pod) == Some(OWN))
        })
        .await;
    let second = Duration::from_secs(1);
    let due: Vec<(String, Timestamp)> =
        harness.on("c").await.iter().filter_map(|pod| Some((name(pod), due(pod)?))).collect();
    assert_eq!(due.len(), 10);
    harness
        .until("the pods of a and b to be as they were", async |harness| {
            let pods = [harness.on("a").await, harness.on("b").await].concat();
            pods.len() == 22
                && pods.iter().all(|pod| record(pod).is_none())
                && pods.iter().filter(|pod| seconds(pod) == Some(OWN)).count() == 20
        })
        .await;
    // The server's clock and this machine's differ by less than a second.
    loop {
        let before = Timestamp::now();
        let left: Vec<String> = harness.on("c").await.iter().map(name).collect();
        let after = Timestamp::now();
        for (pod, due) in &due {
            let is_left = left.contains(pod);
            assert!(is_left || after > *due - second, "{pod} left before {due}, at {after}");
            assert!(!is_left || before < *due + second * 3, "{pod} is there after {due}, at {before}");
        }
        if left == ["c-forever"] {
            break;
        }
        let_time_pass(Duration::from_millis(200), "the next look at which pods are left").await;
    }
    assert_eq!(
        [harness.on("a").await.len(), harness.on("b").await.len(), harness.on("calm").await.len()],
        [11; 3]
    );
}

#[tokio::test(flavor = "current_thread")]
async fn a_person_holds_a_node_and_releases_it_and_a_forged_record_gives_nothing_away() {
    let Some(tools) = binaries::for_test("a_person_holds_a_node_and_releases_it") else { return };
    let harness = ManagedHarness::set(&tools, CONTROLLER, &["--hold-limit=off"]).await;
    create_node(&harness.admin, "a", &[]).await.unwrap();
    for at in 0..3 {
        pod(&format!("a-{at}"), "a").bearing(UNREACHABLE, Some(OWN)).create(&harness.admin).await.unwrap();
    }
    let odd = pod("odd", "a").bearing(UNREACHABLE, Some(OWN));
    odd.with("/metadata", "annotations", json!({HELD: "odd"})).create(&harness.admin).await.unwrap();
    let (code, message) = harness.command(&["hold", "a", "--for", "1h", "--reason", "switch replaced"]).await;
    assert!(code == Some(0) && message.contains("1 node: 3 of 3 pods held\n"), "{code:?}: {message}");
    harness.silence("a").await;
    harness
        .until("three pods to be held", async |harness| {
            harness.on("a").await.iter().filter(|pod| is_held(pod)).count() == 3
        })
        .await;
    harness.until("the skipped one to leave", async |harness| harness.on("a").await.len() == 3).await;
    let message = harness.ours.as_ref().unwrap().output();
    assert!(
        message.contains("cannot decode an annotation of a held or guarded pod, skipping the pod")
            && message.contains("default/odd"),
        "{message}"
    );

    // A toleration that another writer set meanwhile stays.
    let change =
        json!([{"op": "add", "path": "/spec/tolerations/0/tolerationSeconds", "value": 3600}]).to_string();
    harness.admin.patch("/api/v1/namespaces/default/pods/a-0", PatchType::Json, &change).await.unwrap();
    let (code, message) = harness.command(&["release", "--all", "--full"]).await;
    assert_eq!(code, Some(0), "{message}");
    let is_left = async |harness: &ManagedHarness| {
        harness.on("a").await.iter().map(name).collect::<Vec<_>>() == ["a-0"]
    };
    harness.until("two pods to leave", is_left).await;
    let [left] = &harness.on("a").await[..] else { panic!("more than one is left") };
    let record = record(left).unwrap();
    let [ours] = &record["held"].as_array().unwrap()[..] else { panic!("{record}") };
    assert_eq!((seconds(left), ours["key"].as_str()), (Some(3600), Some(NOT_READY)));
}

#[tokio::test(flavor = "current_thread")]
async fn a_hold_without_a_controller_is_reported_and_undone() {
    let Some(tools) = binaries::for_test("a_hold_that_no_controller_follows_is_told") else { return };
    let mut harness = ManagedHarness::set(&tools, CONTROLLER, &["--hold-limit=off"]).await;
    create_node(&harness.admin, "a", &[]).await.unwrap();
    pod("mine", "a").bearing(UNREACHABLE, Some(OWN)).create(&harness.admin).await.unwrap();
    harness.kill_both();
    let (code, message) = harness.command(&["hold", "--all", "--timeout", "2s"]).await;
    assert!(code == Some(1) && message.contains("0 of 1 pod held after 2s"), "{code:?}: {message}");
    let (code, message) = harness.command(&["hold", "--zone", "nowhere"]).await;
    assert!(code == Some(1) && message.contains("no node matches these labels"), "{code:?}: {message}");
    let (code, message) = harness.command(&["hold", "missing"]).await;
    assert!(
        code == Some(1) && message.contains("node missing does not exist; nothing was changed"),
        "{code:?}: {message}"
    );
    // Nothing was held, so there is nothing to wait for; the release is not applied later.
    let (code, message) = harness.command(&["release", "--all", "-o", "json"]).await;
    let report: Value = serde_json::from_str(&message).unwrap();
    assert_eq!((code, &report["held"], &report["notHeld"]), (Some(0), &json!(0), &json!(1)), "{message}");
    harness.start_both().await;
    harness.silence("a").await;
    harness.until("the pod to leave", async |harness| harness.on("a").await.is_empty()).await;
    assert!(!harness.ours.as_ref().unwrap().output().contains("pod held"));
}
