//! Tests the eviction of unauthorized pods that run on a pool's nodes already.

use super::harness::{POOLS, PoolHarness, condition};
use crate::real::program::Taintward;
use serde_json::{Value, json};
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::{NAMESPACE, pod, set_phase};

const EXEMPT: &str = "monitoring";
const BUDGET: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

fn stranger(name: &str) -> taintward_envtest::fixtures::PodFixture {
    pod(name, "e1").tolerating(json!({"operator": "Exists"})).grace(30)
}

/// Without kubelets an evicted pod keeps terminating, with its deletion timestamp.
async fn is_leaving(harness: &PoolHarness<'_>, namespace: &str, name: &str) -> bool {
    let pod = harness.admin.get(&format!("/api/v1/namespaces/{namespace}/pods/{name}")).await.unwrap();
    !pod["metadata"]["deletionTimestamp"].is_null()
}

async fn budget(harness: &PoolHarness<'_>, allowed: u64) {
    let status = json!({"status": {
        "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": allowed, "desiredHealthy": 1,
        "expectedPods": 1,
    }});
    let path = format!("{BUDGET}/guarded/status");
    harness.admin.patch(&path, PatchType::Merge, &status.to_string()).await.unwrap();
}

/// `e` starts with `Deny`, which evicts no pod.
pub(crate) async fn pods_that_run_there_already_are_evicted(
    harness: &PoolHarness<'_>,
    taintward: &Taintward,
) {
    for (name, labels) in [(EXEMPT, json!({})), ("team-e", json!({"team": "e"}))] {
        let namespace = json!({"metadata": {"name": name, "labels": labels}});
        harness.admin.create("/api/v1/namespaces", &namespace).await.unwrap();
    }
    harness.create_node("e1", json!({}), json!([])).await;
    stranger("stranger").create(&harness.admin).await.unwrap();
    stranger("guarded")
        .with("/metadata", "labels", json!({"app": "guarded"}))
        .create(&harness.admin)
        .await
        .unwrap();
    set_phase(&harness.admin, "guarded", "Running").await.unwrap();
    stranger("trusted").namespace(EXEMPT).create(&harness.admin).await.unwrap();
    stranger("own").namespace("team-e").create(&harness.admin).await.unwrap();
    let selector = json!({"matchLabels": {"app": "guarded"}});
    let object = json!({"metadata": {"name": "guarded"}, "spec": {"minAvailable": 1, "selector": selector}});
    harness.admin.create(BUDGET, &object).await.unwrap();
    budget(harness, 0).await;

    harness.pool("e", json!({"names": ["e1"]})).await;
    let pool = harness.counts("e", "offenderCount", 2).await;
    assert_eq!((&pool["status"]["pods"], &pool["status"]["exempt"]), (&json!(1), &json!(1)));
    let exempt = &pool["status"]["exemptPods"][0];
    assert_eq!(
        (&exempt["namespace"], &exempt["name"], &exempt["message"]),
        (&json!(EXEMPT), &json!("trusted"), &json!("its namespace is exempt"))
    );
    assert_eq!(condition(&pool, "Offended")["status"], "True");
    assert!(!is_leaving(harness, NAMESPACE, "stranger").await, "Deny evicts no pod");

    harness.change_pool("e", json!({"spec": {"enforcement": "Evict"}})).await;
    harness
        .until("the stranger to be evicted", async || {
            is_leaving(harness, NAMESPACE, "stranger").await.then_some(())
        })
        .await;
    harness
        .until("the refusal by the budget", async || {
            let rejected = taintward.message(
                "request about a dedicated pool failed, retrying until it succeeds or is no longer needed",
            );
            rejected.iter().any(|line| line["err"].to_string().contains("disruption budget")).then_some(())
        })
        .await;
    assert!(!is_leaving(harness, NAMESPACE, "guarded").await, "its budget allows no disruption");
    budget(harness, 1).await;
    harness
        .until("the guarded pod to be evicted", async || {
            is_leaving(harness, NAMESPACE, "guarded").await.then_some(())
        })
        .await;
    for (namespace, name) in [(EXEMPT, "trusted"), ("team-e", "own")] {
        assert!(!is_leaving(harness, namespace, name).await, "{name}");
    }
    let event = harness.until("an event about the pod", async || event(harness).await).await;
    let note = event["note"].as_str().unwrap();
    assert!(note.contains("it does not belong to pool e, which reserves node e1"), "{note}");

    harness.kubectl(&["delete", "dedicatedpool", "e", "--wait=true", "--timeout=30s"]);
    assert!(harness.admin.find(&format!("{POOLS}/e")).await.unwrap().is_none());
    let at_once = json!({"gracePeriodSeconds": 0});
    for (namespace, name) in
        [(NAMESPACE, "stranger"), (NAMESPACE, "guarded"), (EXEMPT, "trusted"), ("team-e", "own")]
    {
        harness.admin.delete(&format!("/api/v1/namespaces/{namespace}/pods/{name}"), &at_once).await.unwrap();
    }
    harness.admin.delete("/api/v1/nodes/e1", &json!({})).await.unwrap();
}

async fn event(harness: &PoolHarness<'_>) -> Option<Value> {
    let events = harness.admin.get("/apis/events.k8s.io/v1/namespaces/default/events").await.ok()?;
    let is =
        |one: &&Value| one["reason"] == "DedicatedPoolEviction" && one["regarding"]["name"] == "stranger";
    events["items"].as_array()?.iter().find(is).cloned()
}
