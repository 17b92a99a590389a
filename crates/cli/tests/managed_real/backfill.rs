//! Tests backfill: running pods get the seconds of new ones, and kube-controller-manager evicts by them.

use crate::harness::{ManagedHarness, NOT_READY, UNREACHABLE, name, seconds};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use taintward_envtest::fixtures::{create_node, pod, set_taints};
use taintward_envtest::{TestApi, binaries};
use testkit::wait::let_time_pass;

const CONTROLLER: &str = "toleration-backfill-controller";
const POLICIES: &str = "/apis/taintward.io/v1alpha1/tolerationpolicies";
const FLAGS: &[&str] = &["--backfill-from=5", "--backfill-qps=400"];
/// The pods' seconds, as added by the API server's admission.
const OLD: i64 = 5;
/// The policy's seconds.
const NEW: i64 = 40;
const NODES: usize = 20;
const PODS: usize = 1_000;

fn node_name(at: usize) -> String {
    format!("n{}", at % NODES)
}

async fn create_policy(admin: &TestApi, seconds: i64) {
    let policy = json!({
        "apiVersion": "taintward.io/v1alpha1", "kind": "TolerationPolicy", "metadata": {"name": "longer"},
        "spec": {"namespaceSelector": {}, "notReadySeconds": seconds, "unreachableSeconds": seconds},
    });
    admin.create(POLICIES, &policy).await.unwrap();
}

async fn progress(harness: &ManagedHarness) -> Value {
    harness.admin.get(&format!("{POLICIES}/longer")).await.unwrap()["status"]["backfill"].clone()
}

#[tokio::test(flavor = "current_thread")]
async fn a_thousand_running_pods_get_the_policys_seconds_and_leave_by_them() {
    let Some(tools) = binaries::for_test("a_thousand_running_pods_get_the_policys_seconds") else { return };
    let harness = ManagedHarness::set(&tools, CONTROLLER, FLAGS).await;
    for at in 0..NODES {
        create_node(&harness.admin, &node_name(at), &[]).await.unwrap();
    }
    for at in 0..PODS {
        let fixture = pod(&format!("p{at}"), &node_name(at))
            .bearing(NOT_READY, Some(OLD))
            .bearing(UNREACHABLE, Some(OLD));
        fixture.create(&harness.admin).await.unwrap();
    }
    // A pod with its author's seconds, and one that asks for its own.
    let own = pod("own", &node_name(0)).bearing(NOT_READY, Some(7)).bearing(UNREACHABLE, Some(7));
    own.create(&harness.admin).await.unwrap();
    let requests = pod("asks", &node_name(0)).bearing(NOT_READY, Some(OLD)).bearing(UNREACHABLE, Some(OLD));
    let annotations = json!({"taintward.io/unreachable-seconds": "25"});
    requests.with("/metadata", "annotations", annotations).create(&harness.admin).await.unwrap();

    // The preview shows what will happen.
    create_policy(&harness.admin, NEW).await;
    harness
        .until("the preview to know the policy, and the pod of its author", async |harness| {
            let (code, message) = harness.command(&["backfill", "--backfill-from=5", "-o", "json"]).await;
            let preview: Value = serde_json::from_str(&message).unwrap();
            let row = &preview["items"][0];
            code == Some(0) && row["policy"] == "longer" && row["own"] == 1
        })
        .await;
    harness
        .until("all pods to be patched", async |harness| {
            let pods = harness.pods().await;
            pods.iter().filter(|pod| seconds(pod) == Some(NEW)).count() == PODS
        })
        .await;
    harness
        .until("the policy's status to say so", async |harness| {
            progress(harness).await == json!({"current": PODS + 1, "pending": 0, "own": 1})
        })
        .await;
    let by_name: BTreeMap<String, Option<i64>> =
        harness.pods().await.iter().map(|pod| (name(pod), seconds(pod))).collect();
    assert_eq!((by_name["own"], by_name["asks"]), (Some(7), Some(25)));

    // All nodes fall silent; kube-controller-manager evicts each pod when its new seconds are over, and none before.
    let silent = Timestamp::now();
    for at in 0..NODES {
        harness.silence(&node_name(at)).await;
    }
    let all_silent = Timestamp::now();
    let second = Duration::from_secs(1);
    let mut left = PODS + 2;
    while left > 0 {
        let before = Timestamp::now();
        let pods = harness.pods().await;
        let after = Timestamp::now();
        let there = |of: &str| pods.iter().any(|pod| name(pod) == of);
        let longest = pods.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()).count();
        assert!(there("own") || after > silent + second * 6);
        assert!(there("asks") || after > silent + second * 24);
        let gone = PODS.saturating_sub(pods.iter().filter(|pod| seconds(pod) == Some(NEW)).count());
        assert!(gone == 0 || after > silent + second * (NEW as u32 - 1), "{gone} left early");
        assert!(
            before < all_silent + second * (NEW as u32 + 60),
            "{longest} are there after {NEW} s and a minute"
        );
        left = pods.len();
        let_time_pass(Duration::from_millis(500), "listing a thousand pods burdens the API server").await;
    }
}

#[tokio::test(flavor = "current_thread")]
async fn pods_of_silent_nodes_wait_and_a_policy_that_is_changed_is_followed() {
    let Some(tools) = binaries::for_test("pods_of_silent_nodes_wait") else { return };
    let harness = ManagedHarness::set(&tools, CONTROLLER, &["--backfill-from=500"]).await;
    for at in ["silent", "well"] {
        create_node(&harness.admin, at, &[]).await.unwrap();
        let fixture = pod(at, at).bearing(NOT_READY, Some(500)).bearing(UNREACHABLE, Some(500));
        fixture.create(&harness.admin).await.unwrap();
    }
    harness.silence("silent").await;
    create_policy(&harness.admin, 600).await;
    let seconds_of = async |harness: &ManagedHarness, of: &str| {
        let pods = harness.on(of).await;
        pods.first().and_then(seconds)
    };
    harness
        .until("the pod of the healthy node to be patched", async |harness| {
            seconds_of(harness, "well").await == Some(600)
        })
        .await;
    harness
        .until("the policy's status to say that one waits", async |harness| {
            progress(harness).await == json!({"current": 1, "pending": 1, "own": 0})
        })
        .await;
    assert_eq!(seconds_of(&harness, "silent").await, Some(500));
    set_taints(&harness.admin, "silent", &[]).await.unwrap();
    harness
        .until("the node to recover, and its pod to be patched", async |harness| {
            seconds_of(harness, "silent").await == Some(600)
        })
        .await;
    // 600 is not one of the seconds that may be replaced.
    let spec = json!({"spec": {"notReadySeconds": 700, "unreachableSeconds": 700}}).to_string();
    let policy = format!("{POLICIES}/longer");
    harness.admin.patch(&policy, taintward_envtest::api::PatchType::Merge, &spec).await.unwrap();
    harness
        .until("both to count as their own", async |harness| {
            progress(harness).await == json!({"current": 0, "pending": 0, "own": 2})
        })
        .await;
    let (code, message) = harness.command(&["backfill", "--backfill-from=500,600"]).await;
    assert!(code == Some(0) && message.contains("would patch 2 pods"), "{message}");
    assert_eq!(seconds_of(&harness, "well").await, Some(600));
}
