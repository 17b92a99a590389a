//! Tests controllers that start, stop, crash and take over.

use super::harness::{PoolHarness, STARTUP_TIMEOUT, belongs};
use crate::real::program::Taintward;
use serde_json::json;
use taintward_envtest::wait;

/// Short timings, for a quick takeover.
const QUICK: [&str; 3] = [
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=500ms",
];

/// The definitions are not installed yet, which is logged once and blocks nothing.
pub(crate) async fn it_waits_for_the_definition_of_pools(harness: &PoolHarness<'_>) -> Taintward {
    let mut taintward = harness.start(&QUICK);
    taintward.ready().await;
    taintward.leads().await;
    let tried = async || {
        let again = taintward.metric_with("taintward_watch_restarts_total", "resource=\"dedicatedpools\"");
        Ok((again >= 4.0).then_some(()))
    };
    wait::until("it to look again", STARTUP_TIMEOUT, tried).await.unwrap();
    let message = taintward.message("the API server has no such resource");
    assert_eq!(message.len(), 1, "{message:?}");
    assert_eq!(message[0]["resource"], "dedicatedpools");
    assert!(taintward.message("watch interrupted").is_empty());
    taintward.ready().await;
    // At the start it is not known yet whether there is a pool.
    let open = async || {
        let open = ["nodes", "pods", "namespaces"].map(|resource| harness.streams(resource));
        Ok((open == [1, 1, 0]).then_some(()))
    };
    wait::until("one stream to serve all, and none of namespaces", STARTUP_TIMEOUT, open).await.unwrap();
    harness.define().await;
    taintward.contains("dedicated pools synced").await;
    assert_eq!(harness.streams("namespaces"), 0, "there is no pool yet");
    taintward
}

/// S14: it logs what it would do, and writes nothing.
pub(crate) async fn observing_writes_nothing(harness: &PoolHarness<'_>) {
    harness.pool("seen", json!({"names": ["a1"]})).await;
    let (pool, node) = (harness.read_pool("seen").await.unwrap(), harness.read("a1").await);
    let mut taintward = harness.start(&["--mode=observe"]);
    taintward.ready().await;
    let contains = async || Ok((taintward.metric("taintward_pools") == 1.0).then_some(()));
    wait::until("the pool to be counted", STARTUP_TIMEOUT, contains).await.unwrap();
    assert_eq!(taintward.metric_with("taintward_pools", "applied"), 1.0);
    assert_eq!(taintward.stop().code(), Some(0));
    let version = |object: &serde_json::Value| object["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&harness.read_pool("seen").await.unwrap()), version(&pool));
    assert_eq!(version(&harness.read("a1").await), version(&node));
    // The pool has no finalizer.
    harness.delete_pool("seen").await;
    harness.pool_is_gone("seen").await;
}

pub(crate) async fn a_pool_is_deleted_while_no_controller_runs(harness: &PoolHarness<'_>) {
    let before = harness.mine("a1").await;
    harness.pool("left", json!({"names": ["a1", "a2"]})).await;
    let mut taintward = harness.start(&QUICK);
    harness.ready("left", "Applied").await;
    assert_eq!(taintward.stop().code(), Some(0));
    harness.delete_pool("left").await;
    let pool = harness.read_pool("left").await.expect("the finalizer keeps it");
    assert!(pool["metadata"]["deletionTimestamp"].is_string());
    harness.dedicated("a1", "left", true).await;
    let mut taintward = harness.start(&QUICK);
    harness.pool_is_gone("left").await;
    assert_eq!(harness.mine("a1").await, before);
    harness.dedicated("a2", "left", false).await;
    assert_eq!(taintward.stop().code(), Some(0));
}

/// The first run is slowed down, so that it dies in between. All its completed writes are consistent, and the next run
/// finds them.
pub(crate) async fn killed_half_way_another_run_completes_it(harness: &PoolHarness<'_>) {
    const MANY: usize = 60;
    let names: Vec<String> = (0..MANY).map(|number| format!("m{number:02}")).collect();
    for name in &names {
        harness
            .create_node(name, json!({"for": "many"}), json!([{"key": "mine", "effect": "NoSchedule"}]))
            .await;
    }
    let before = harness.mine(&names[0]).await;
    harness.pool("many", json!({"selector": {"matchLabels": {"for": "many"}}})).await;
    let dedicated = async || {
        let list = harness.admin.get("/api/v1/nodes").await.unwrap();
        list["items"].as_array().unwrap().iter().filter(|node| belongs(node, "many")).count()
    };
    let slow = ["--leader-elect=false", "--kube-api-qps=30", "--kube-api-burst=1"];
    let mut first = harness.start(&slow);
    harness.until("some to be dedicated", async || (dedicated().await >= 3).then_some(())).await;
    first.kill();
    let done = dedicated().await;
    assert!((3..MANY).contains(&done), "{done} of {MANY}");
    let mut second = harness.start(&["--leader-elect=false"]);
    assert_eq!(harness.ready("many", "Applied").await["status"]["nodes"], MANY);
    assert_eq!(dedicated().await, MANY);
    // The same for the removal.
    second.kill();
    harness.delete_pool("many").await;
    let mut third = harness.start(&slow);
    harness.until("some nodes to be released", async || (dedicated().await <= MANY - 3).then_some(())).await;
    third.kill();
    assert!(harness.read_pool("many").await.is_some(), "it stays until all nodes are released");
    let mut fourth = harness.start(&["--leader-elect=false"]);
    harness.pool_is_gone("many").await;
    for name in &names {
        assert_eq!(harness.mine(name).await, before, "{name}");
    }
    assert_eq!(fourth.stop().code(), Some(0));
}

/// Two replicas: the lease decides which one acts.
pub(crate) async fn a_follower_takes_over(harness: &PoolHarness<'_>) {
    let mut leader = harness.start(&QUICK);
    leader.leads().await;
    let mut follower = harness.start(&QUICK);
    follower.ready().await;
    harness.pool("turn", json!({"names": ["a1", "a2"]})).await;
    harness.ready("turn", "Applied").await;
    assert!(follower.message("node dedicated").is_empty(), "it only follows");
    leader.kill();
    harness.change_pool("turn", json!({"spec": {"nodes": {"names": ["a2"]}}})).await;
    harness.dedicated("a1", "turn", false).await;
    follower.contains("node is no longer dedicated").await;
    harness.delete_pool("turn").await;
    harness.pool_is_gone("turn").await;
    assert_eq!(follower.stop().code(), Some(0));
}
