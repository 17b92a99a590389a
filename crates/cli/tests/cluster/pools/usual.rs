//! Tests the life of a pool: nodes, pods, deletion.

use super::harness::{PoolHarness, condition};
use serde_json::{Value, json};
use taintward_envtest::fixtures::{NAMESPACE, pod};

/// Creates nodes of every kind in these tests. Returns their state before any pool.
pub(crate) async fn a_pool_dedicates_its_nodes(harness: &PoolHarness<'_>) {
    harness.create_node("a1", json!({"mine": "1"}), json!([{"key": "mine", "effect": "NoSchedule"}])).await;
    harness.create_node("a2", json!({"for": "a"}), json!([])).await;
    harness.create_node("open", json!({}), json!([])).await;
    let open = harness.read("open").await;
    harness.pool("a", json!({"names": ["a1"], "selector": {"matchLabels": {"for": "a"}}})).await;
    let pool = harness.ready("a", "Applied").await;
    assert_eq!(pool["status"]["nodes"], 2);
    assert_eq!(pool["metadata"]["finalizers"], json!(["taintward.io/pool"]));
    let marks: Vec<&Value> = pool["status"]["past"].as_array().unwrap().iter().collect();
    assert_eq!(marks.len(), 2, "taint and label: {marks:?}");
    for node in ["a1", "a2"] {
        harness.dedicated(node, "a", true).await;
    }
    let taints = &harness.read("a1").await["spec"]["taints"];
    let own = json!({"key": "example.com/pool", "value": "a", "effect": "NoSchedule"});
    assert_eq!(*taints, json!([{"key": "mine", "effect": "NoSchedule"}, own]));
    let now = harness.read("open").await;
    assert_eq!(
        now["metadata"]["resourceVersion"], open["metadata"]["resourceVersion"],
        "a node outside the pool"
    );
    let text = harness.kubectl(&["get", "dedicatedpool", "a", "--no-headers"]);
    let row: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(row[..7], ["a", "example.com/pool", "a", "2", "0", "0", "True"]);
}

pub(crate) async fn nodes_join_and_leave(harness: &PoolHarness<'_>) {
    harness.create_node("guest", json!({"x": "y"}), json!([{"key": "theirs", "effect": "NoExecute"}])).await;
    let before = harness.mine("guest").await;
    for _ in 0..2 {
        harness.change_node("guest", json!({"metadata": {"labels": {"for": "a"}}})).await;
        harness.dedicated("guest", "a", true).await;
        harness.counts("a", "nodes", 3).await;
        harness.change_node("guest", json!({"metadata": {"labels": {"for": null}}})).await;
        harness.dedicated("guest", "a", false).await;
        harness.counts("a", "nodes", 2).await;
        assert_eq!(harness.mine("guest").await, before);
    }
    // A new node belongs to it from the start.
    harness.create_node("late", json!({"for": "a"}), json!([])).await;
    harness.dedicated("late", "a", true).await;
    harness.admin.delete("/api/v1/nodes/late", &json!({})).await.unwrap();
    harness.counts("a", "nodes", 2).await;
    // A removed taint is added again.
    harness.kubectl(&["taint", "node", "a2", "example.com/pool-", "--overwrite"]);
    let has_taint = async || {
        let taints = harness.read("a2").await["spec"]["taints"].as_array().cloned().unwrap_or_default();
        taints.iter().any(|one| one["key"] == "example.com/pool").then_some(())
    };
    harness.until("the taint to be back", has_taint).await;
}

pub(crate) async fn pods_are_counted(harness: &PoolHarness<'_>) {
    let namespace = json!({"metadata": {"name": "team-a", "labels": {"team": "a"}}});
    harness.admin.create("/api/v1/namespaces", &namespace).await.unwrap();
    pod("own", "a1").namespace("team-a").create(&harness.admin).await.unwrap();
    pod("astray", "open").namespace("team-a").create(&harness.admin).await.unwrap();
    pod("other", "a1").tolerating(json!({"operator": "Exists"})).create(&harness.admin).await.unwrap();
    pod("elsewhere", "open").create(&harness.admin).await.unwrap();
    let pool = harness.counts("a", "offenderCount", 1).await;
    let violating = &pool["status"]["offenders"][0];
    assert_eq!((&violating["name"], &violating["node"]), (&json!("other"), &json!("a1")), "{violating}");
    assert_eq!(violating["namespace"], NAMESPACE);
    assert_eq!(condition(&pool, "Offended")["status"], "True");
    harness.counts("a", "pods", 1).await;
    harness.counts("a", "elsewhere", 1).await;
    let ready = condition(&harness.ready("a", "PodsElsewhere").await, "Ready");
    assert_eq!(ready["status"], "False", "{ready}");
    // A pod that has ended no longer counts.
    taintward_envtest::fixtures::set_phase(&harness.admin, "other", "Succeeded").await.unwrap();
    let pool = harness.counts("a", "offenderCount", 0).await;
    assert_eq!(condition(&pool, "Offended")["status"], "False");
    let pods = harness.admin.get("/api/v1/pods").await.unwrap();
    assert_eq!(pods["items"].as_array().unwrap().len(), 4, "no pod was evicted");
    let at_once = json!({"gracePeriodSeconds": 0});
    harness.admin.delete("/api/v1/namespaces/team-a/pods/astray", &at_once).await.unwrap();
    harness.counts("a", "elsewhere", 0).await;
    harness.ready("a", "Applied").await;
}

pub(crate) async fn deleting_leaves_no_trace(harness: &PoolHarness<'_>) {
    assert_eq!(harness.read_pool("a").await.unwrap()["status"]["nodes"], 2);
    harness.kubectl(&["delete", "dedicatedpool", "a", "--wait=true", "--timeout=30s"]);
    let labels = |own: Value| {
        let mut labels = json!({"kubernetes.io/os": "linux"});
        labels.as_object_mut().unwrap().extend(own.as_object().cloned().unwrap());
        labels
    };
    for (node, own, taints) in [
        ("a1", json!({"mine": "1"}), json!([{"key": "mine", "effect": "NoSchedule"}])),
        ("a2", json!({"for": "a"}), Value::Null),
    ] {
        let now = harness.read(node).await;
        assert_eq!(now["metadata"]["labels"], labels(own), "{node}");
        let annotations = now["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        assert!(annotations.is_empty(), "{node}: {annotations:?}");
        let left = now["spec"]["taints"].clone();
        assert!(left == taints || (taints.is_null() && left == json!([])), "{node}: {left}");
    }
    assert!(harness.read_pool("a").await.is_none());
}
