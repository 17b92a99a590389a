//! Tests concurrent writers, conflicts, and pools that may not do everything in their spec.

use super::harness::{PoolHarness, condition, label};
use serde_json::{Value, json};
use taintward_envtest::api::PatchType;

/// The pool's taint changes while another client edits the same nodes: both changes are applied, and nothing is lost.
pub(crate) async fn what_others_do_meanwhile_stays(harness: &PoolHarness<'_>) {
    let theirs = async {
        for round in 0..20 {
            let label = json!({"metadata": {"labels": {"theirs": round.to_string()}}});
            harness.change_node("a1", label.clone()).await;
            harness.change_node("a2", label).await;
        }
        // As kubectl does: reads the list, changes it, and writes it for that version.
        for node in ["a1", "a2"] {
            let taint = || async {
                let object = harness.read(node).await;
                let mut taints = object["spec"]["taints"].as_array().cloned().unwrap_or_default();
                taints.insert(0, json!({"key": "theirs", "effect": "NoSchedule"}));
                let version = &object["metadata"]["resourceVersion"];
                let patch =
                    json!({"metadata": {"resourceVersion": version}, "spec": {"taints": taints}}).to_string();
                harness.admin.patch(&format!("/api/v1/nodes/{node}"), PatchType::Merge, &patch).await.ok()
            };
            harness.until("their taint to be taken", async || taint().await).await;
        }
    };
    let ours = async {
        for value in ["b", "c", "b"] {
            harness.change_pool("a", json!({"spec": {"taint": {"value": value}}})).await;
            harness.ready("a", "Applied").await;
        }
    };
    tokio::join!(theirs, ours);
    let values = |node: &Value| -> Vec<String> {
        let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        let text =
            |one: &Value| format!("{}={}", one["key"].as_str().unwrap(), one["value"].as_str().unwrap_or(""));
        taints.iter().map(text).collect()
    };
    for node in ["a1", "a2"] {
        let now = harness.read(node).await;
        let taints = values(&now);
        assert!(taints.contains(&"theirs=".to_owned()), "{taints:?}");
        let pool: Vec<_> = taints.iter().filter(|one| one.starts_with("example.com/pool=")).collect();
        assert_eq!(pool, ["example.com/pool=b"]);
        assert_eq!(now["metadata"]["labels"][label("a")], "true");
        assert_eq!(now["metadata"]["labels"]["theirs"], "19");
    }
    // Records of taints that are on no node any more are removed.
    harness
        .until("the status to remember the last taint only", async || {
            let past = harness.read_pool("a").await?["status"]["past"].clone();
            (past.as_array()?.len() == 2 && past.to_string().contains("\"b\"")).then_some(())
        })
        .await;
    harness.change_pool("a", json!({"spec": {"taint": {"value": "a"}}})).await;
    for node in ["a1", "a2"] {
        harness.dedicated_again(node).await;
        let own: Vec<Value> = harness.read(node).await["spec"]["taints"].as_array().cloned().unwrap();
        let rest: Vec<Value> = own.into_iter().filter(|one| one["key"] != "theirs").collect();
        let change = json!({"spec": {"taints": rest}, "metadata": {"labels": {"theirs": null}}});
        harness.change_node(node, change).await;
    }
    harness.ready("a", "Applied").await;
}

impl PoolHarness<'_> {
    async fn dedicated_again(&self, node: &str) {
        self.until("the taint to have its old value again", async || {
            let now = self.read(node).await;
            let taints = now["spec"]["taints"].as_array().cloned().unwrap_or_default();
            taints.iter().any(|one| one["key"] == "example.com/pool" && one["value"] == "a").then_some(())
        })
        .await;
    }
}

pub(crate) async fn obstacles_are_reported(harness: &PoolHarness<'_>) {
    let taint = json!([{"key": "example.com/pool", "value": "theirs", "effect": "NoSchedule"}]);
    harness.create_node("taken", json!({"for": "a"}), taint).await;
    let pool = harness.ready("a", "NodeConflict").await;
    let ready = condition(&pool, "Ready");
    let message = ready["message"].as_str().unwrap();
    assert!(
        ready["status"] == "False" && message.contains("taken") && message.contains("=theirs"),
        "{ready}"
    );
    assert_eq!((&pool["status"]["conflicts"], &pool["status"]["nodes"]), (&json!(1), &json!(2)));
    let node = harness.read("taken").await;
    assert!(node["metadata"]["annotations"].is_null() && node["metadata"]["labels"][label("a")].is_null());
    harness
        .until("an event about the pool", async || {
            let events = harness.admin.get("/apis/events.k8s.io/v1/namespaces/default/events").await.ok()?;
            let is = |one: &&Value| one["regarding"]["name"] == "a" && one["reason"] == "NodeConflict";
            let event = events["items"].as_array()?.iter().find(is)?.clone();
            assert_eq!(
                (&event["type"], &event["regarding"]["kind"]),
                (&json!("Warning"), &json!("DedicatedPool"))
            );
            Some(())
        })
        .await;
    // Its owner removes it.
    harness.change_node("taken", json!({"spec": {"taints": []}})).await;
    harness.dedicated("taken", "a", true).await;
    assert_eq!(harness.ready("a", "Applied").await["status"]["nodes"], 3);
    harness.admin.delete("/api/v1/nodes/taken", &json!({})).await.unwrap();
    harness.counts("a", "nodes", 2).await;
}

pub(crate) async fn a_second_pool_with_the_same_taint_is_refused(harness: &PoolHarness<'_>) {
    let before = harness.read("guest").await;
    harness.pool("second", json!({"names": ["guest"]})).await;
    harness.ready("second", "Applied").await;
    harness.change_pool("second", json!({"spec": {"taint": {"value": "a"}}})).await;
    let pool = harness.ready("second", "TaintOverlaps").await;
    let message = condition(&pool, "Ready")["message"].as_str().unwrap().to_owned();
    assert!(message.contains("pool a has the same taint"), "{message}");
    // Its nodes stay as they are: a mistake must not open them to other pods.
    harness.dedicated("guest", "second", true).await;
    harness.pool("third", json!({"names": ["open"]})).await;
    harness.change_pool("third", json!({"spec": {"taint": {"value": "x"}}})).await;
    harness.ready("third", "LocksOutSystem").await;
    harness.delete_pool("third").await;
    harness.pool_is_gone("third").await;
    harness.delete_pool("second").await;
    harness.pool_is_gone("second").await;
    assert_eq!(super::harness::outside(&harness.read("guest").await), super::harness::outside(&before));
    harness.ready("a", "Applied").await;
}

/// A pool that selects every node gets none.
pub(crate) async fn the_last_open_node_stays_open(harness: &PoolHarness<'_>) {
    let (open, guest) = (harness.read("open").await, harness.read("guest").await);
    harness.pool("all", json!({"selector": {}})).await;
    let pool = harness.ready("all", "LocksOutSystem").await;
    assert_eq!(pool["status"]["nodes"], 0);
    for before in [open, guest] {
        let now = harness.read(before["metadata"]["name"].as_str().unwrap()).await;
        assert_eq!(now["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    }
    harness.delete_pool("all").await;
    harness.pool_is_gone("all").await;
}
