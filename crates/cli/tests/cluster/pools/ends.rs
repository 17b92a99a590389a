//! Tests controllers that start, stop, crash and take over.

use super::plot::{Plot, STARTUP_TIMEOUT, belongs};
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
pub(crate) async fn it_waits_for_the_definition_of_pools(plot: &Plot<'_>) -> Taintward {
    let mut taintward = plot.start(&QUICK);
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
        let open = ["nodes", "pods", "namespaces"].map(|resource| plot.streams(resource));
        Ok((open == [1, 1, 0]).then_some(()))
    };
    wait::until("one stream to serve all, and none of namespaces", STARTUP_TIMEOUT, open).await.unwrap();
    plot.define().await;
    taintward.contains("dedicated pools synced").await;
    assert_eq!(plot.streams("namespaces"), 0, "there is no pool yet");
    taintward
}

/// S14: it logs what it would do, and writes nothing.
pub(crate) async fn observing_writes_nothing(plot: &Plot<'_>) {
    plot.pool("seen", json!({"names": ["a1"]})).await;
    let (pool, node) = (plot.read_pool("seen").await.unwrap(), plot.read("a1").await);
    let mut taintward = plot.start(&["--mode=observe"]);
    taintward.ready().await;
    let contains = async || Ok((taintward.metric("taintward_pools") == 1.0).then_some(()));
    wait::until("the pool to be counted", STARTUP_TIMEOUT, contains).await.unwrap();
    assert_eq!(taintward.metric_with("taintward_pools", "applied"), 1.0);
    assert_eq!(taintward.stop().code(), Some(0));
    let version = |object: &serde_json::Value| object["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&plot.read_pool("seen").await.unwrap()), version(&pool));
    assert_eq!(version(&plot.read("a1").await), version(&node));
    // The pool has no finalizer.
    plot.delete_pool("seen").await;
    plot.pool_is_gone("seen").await;
}

pub(crate) async fn a_pool_is_deleted_while_no_controller_runs(plot: &Plot<'_>) {
    let before = plot.mine("a1").await;
    plot.pool("left", json!({"names": ["a1", "a2"]})).await;
    let mut taintward = plot.start(&QUICK);
    plot.ready("left", "Applied").await;
    assert_eq!(taintward.stop().code(), Some(0));
    plot.delete_pool("left").await;
    let pool = plot.read_pool("left").await.expect("the finalizer keeps it");
    assert!(pool["metadata"]["deletionTimestamp"].is_string());
    plot.dedicated("a1", "left", true).await;
    let mut taintward = plot.start(&QUICK);
    plot.pool_is_gone("left").await;
    assert_eq!(plot.mine("a1").await, before);
    plot.dedicated("a2", "left", false).await;
    assert_eq!(taintward.stop().code(), Some(0));
}

/// The first run is slowed down, so that it dies in between. All its completed writes are consistent, and the next run
/// finds them.
pub(crate) async fn killed_half_way_another_run_completes_it(plot: &Plot<'_>) {
    const MANY: usize = 60;
    let names: Vec<String> = (0..MANY).map(|number| format!("m{number:02}")).collect();
    for name in &names {
        plot.create_node(name, json!({"for": "many"}), json!([{"key": "mine", "effect": "NoSchedule"}]))
            .await;
    }
    let before = plot.mine(&names[0]).await;
    plot.pool("many", json!({"selector": {"matchLabels": {"for": "many"}}})).await;
    let dedicated = async || {
        let list = plot.admin.get("/api/v1/nodes").await.unwrap();
        list["items"].as_array().unwrap().iter().filter(|node| belongs(node, "many")).count()
    };
    let slow = ["--leader-elect=false", "--kube-api-qps=30", "--kube-api-burst=1"];
    let mut first = plot.start(&slow);
    plot.until("some to be dedicated", async || (dedicated().await >= 3).then_some(())).await;
    first.kill();
    let done = dedicated().await;
    assert!((3..MANY).contains(&done), "{done} of {MANY}");
    let mut second = plot.start(&["--leader-elect=false"]);
    assert_eq!(plot.ready("many", "Applied").await["status"]["nodes"], MANY);
    assert_eq!(dedicated().await, MANY);
    // The same for the removal.
    second.kill();
    plot.delete_pool("many").await;
    let mut third = plot.start(&slow);
    plot.until("some nodes to be released", async || (dedicated().await <= MANY - 3).then_some(())).await;
    third.kill();
    assert!(plot.read_pool("many").await.is_some(), "it stays until all nodes are released");
    let mut fourth = plot.start(&["--leader-elect=false"]);
    plot.pool_is_gone("many").await;
    for name in &names {
        assert_eq!(plot.mine(name).await, before, "{name}");
    }
    assert_eq!(fourth.stop().code(), Some(0));
}

/// Two replicas: the lease decides which one acts.
pub(crate) async fn a_follower_takes_over(plot: &Plot<'_>) {
    let mut leader = plot.start(&QUICK);
    leader.leads().await;
    let mut follower = plot.start(&QUICK);
    follower.ready().await;
    plot.pool("turn", json!({"names": ["a1", "a2"]})).await;
    plot.ready("turn", "Applied").await;
    assert!(follower.message("node dedicated").is_empty(), "it only follows");
    leader.kill();
    plot.change_pool("turn", json!({"spec": {"nodes": {"names": ["a2"]}}})).await;
    plot.dedicated("a1", "turn", false).await;
    follower.contains("node is no longer dedicated").await;
    plot.delete_pool("turn").await;
    plot.pool_is_gone("turn").await;
    assert_eq!(follower.stop().code(), Some(0));
}
