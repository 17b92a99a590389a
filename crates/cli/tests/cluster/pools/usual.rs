//! Tests the life of a pool: nodes, pods, deletion.

use super::plot::{Plot, condition};
use serde_json::{Value, json};
use taintward_envtest::fixtures::{NAMESPACE, pod};

/// Creates nodes of every kind in these tests. Returns their state before any pool.
pub(crate) async fn a_pool_dedicates_its_nodes(plot: &Plot<'_>) {
    plot.create_node("a1", json!({"mine": "1"}), json!([{"key": "mine", "effect": "NoSchedule"}])).await;
    plot.create_node("a2", json!({"for": "a"}), json!([])).await;
    plot.create_node("open", json!({}), json!([])).await;
    let open = plot.read("open").await;
    plot.pool("a", json!({"names": ["a1"], "selector": {"matchLabels": {"for": "a"}}})).await;
    let pool = plot.ready("a", "Applied").await;
    assert_eq!(pool["status"]["nodes"], 2);
    assert_eq!(pool["metadata"]["finalizers"], json!(["taintward.io/pool"]));
    let marks: Vec<&Value> = pool["status"]["past"].as_array().unwrap().iter().collect();
    assert_eq!(marks.len(), 2, "taint and label: {marks:?}");
    for node in ["a1", "a2"] {
        plot.dedicated(node, "a", true).await;
    }
    let taints = &plot.read("a1").await["spec"]["taints"];
    let own = json!({"key": "example.com/pool", "value": "a", "effect": "NoSchedule"});
    assert_eq!(*taints, json!([{"key": "mine", "effect": "NoSchedule"}, own]));
    let now = plot.read("open").await;
    assert_eq!(
        now["metadata"]["resourceVersion"], open["metadata"]["resourceVersion"],
        "a node outside the pool"
    );
    let text = plot.kubectl(&["get", "dedicatedpool", "a", "--no-headers"]);
    let row: Vec<&str> = text.split_whitespace().collect();
    assert_eq!(row[..7], ["a", "example.com/pool", "a", "2", "0", "0", "True"]);
}

pub(crate) async fn nodes_join_and_leave(plot: &Plot<'_>) {
    plot.create_node("guest", json!({"x": "y"}), json!([{"key": "theirs", "effect": "NoExecute"}])).await;
    let before = plot.mine("guest").await;
    for _ in 0..2 {
        plot.change_node("guest", json!({"metadata": {"labels": {"for": "a"}}})).await;
        plot.dedicated("guest", "a", true).await;
        plot.counts("a", "nodes", 3).await;
        plot.change_node("guest", json!({"metadata": {"labels": {"for": null}}})).await;
        plot.dedicated("guest", "a", false).await;
        plot.counts("a", "nodes", 2).await;
        assert_eq!(plot.mine("guest").await, before);
    }
    // A new node belongs to it from the start.
    plot.create_node("late", json!({"for": "a"}), json!([])).await;
    plot.dedicated("late", "a", true).await;
    plot.admin.delete("/api/v1/nodes/late", &json!({})).await.unwrap();
    plot.counts("a", "nodes", 2).await;
    // A removed taint is added again.
    plot.kubectl(&["taint", "node", "a2", "example.com/pool-", "--overwrite"]);
    let has_taint = async || {
        let taints = plot.read("a2").await["spec"]["taints"].as_array().cloned().unwrap_or_default();
        taints.iter().any(|one| one["key"] == "example.com/pool").then_some(())
    };
    plot.until("the taint to be back", has_taint).await;
}

pub(crate) async fn pods_are_counted(plot: &Plot<'_>) {
    let namespace = json!({"metadata": {"name": "team-a", "labels": {"team": "a"}}});
    plot.admin.create("/api/v1/namespaces", &namespace).await.unwrap();
    pod("own", "a1").namespace("team-a").create(&plot.admin).await.unwrap();
    pod("astray", "open").namespace("team-a").create(&plot.admin).await.unwrap();
    pod("other", "a1").tolerating(json!({"operator": "Exists"})).create(&plot.admin).await.unwrap();
    pod("elsewhere", "open").create(&plot.admin).await.unwrap();
    let pool = plot.counts("a", "offenderCount", 1).await;
    let violating = &pool["status"]["offenders"][0];
    assert_eq!((&violating["name"], &violating["node"]), (&json!("other"), &json!("a1")), "{violating}");
    assert_eq!(violating["namespace"], NAMESPACE);
    assert_eq!(condition(&pool, "Offended")["status"], "True");
    plot.counts("a", "pods", 1).await;
    plot.counts("a", "elsewhere", 1).await;
    let ready = condition(&plot.ready("a", "PodsElsewhere").await, "Ready");
    assert_eq!(ready["status"], "False", "{ready}");
    // A pod that has ended no longer counts.
    taintward_envtest::fixtures::set_phase(&plot.admin, "other", "Succeeded").await.unwrap();
    let pool = plot.counts("a", "offenderCount", 0).await;
    assert_eq!(condition(&pool, "Offended")["status"], "False");
    let pods = plot.admin.get("/api/v1/pods").await.unwrap();
    assert_eq!(pods["items"].as_array().unwrap().len(), 4, "no pod was evicted");
    let at_once = json!({"gracePeriodSeconds": 0});
    plot.admin.delete("/api/v1/namespaces/team-a/pods/astray", &at_once).await.unwrap();
    plot.counts("a", "elsewhere", 0).await;
    plot.ready("a", "Applied").await;
}

pub(crate) async fn deleting_leaves_no_trace(plot: &Plot<'_>) {
    assert_eq!(plot.read_pool("a").await.unwrap()["status"]["nodes"], 2);
    plot.kubectl(&["delete", "dedicatedpool", "a", "--wait=true", "--timeout=30s"]);
    let labels = |own: Value| {
        let mut labels = json!({"kubernetes.io/os": "linux"});
        labels.as_object_mut().unwrap().extend(own.as_object().cloned().unwrap());
        labels
    };
    for (node, own, taints) in [
        ("a1", json!({"mine": "1"}), json!([{"key": "mine", "effect": "NoSchedule"}])),
        ("a2", json!({"for": "a"}), Value::Null),
    ] {
        let now = plot.read(node).await;
        assert_eq!(now["metadata"]["labels"], labels(own), "{node}");
        let annotations = now["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
        assert!(annotations.is_empty(), "{node}: {annotations:?}");
        let left = now["spec"]["taints"].clone();
        assert!(left == taints || (taints.is_null() && left == json!([])), "{node}: {left}");
    }
    assert!(plot.read_pool("a").await.is_none());
}
