//! Tests the eviction of unauthorized pods that run on a pool's nodes already.

use super::plot::{POOLS, Plot, condition};
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
async fn is_leaving(plot: &Plot<'_>, namespace: &str, name: &str) -> bool {
    let pod = plot.admin.get(&format!("/api/v1/namespaces/{namespace}/pods/{name}")).await.unwrap();
    !pod["metadata"]["deletionTimestamp"].is_null()
}

async fn budget(plot: &Plot<'_>, allowed: u64) {
    let status = json!({"status": {
        "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": allowed, "desiredHealthy": 1,
        "expectedPods": 1,
    }});
    let path = format!("{BUDGET}/guarded/status");
    plot.admin.patch(&path, PatchType::Merge, &status.to_string()).await.unwrap();
}

/// `e` starts with `Deny`, which evicts no pod.
pub(crate) async fn pods_that_run_there_already_are_evicted(plot: &Plot<'_>, taintward: &Taintward) {
    for (name, labels) in [(EXEMPT, json!({})), ("team-e", json!({"team": "e"}))] {
        let namespace = json!({"metadata": {"name": name, "labels": labels}});
        plot.admin.create("/api/v1/namespaces", &namespace).await.unwrap();
    }
    plot.create_node("e1", json!({}), json!([])).await;
    stranger("stranger").create(&plot.admin).await.unwrap();
    stranger("guarded")
        .with("/metadata", "labels", json!({"app": "guarded"}))
        .create(&plot.admin)
        .await
        .unwrap();
    set_phase(&plot.admin, "guarded", "Running").await.unwrap();
    stranger("trusted").namespace(EXEMPT).create(&plot.admin).await.unwrap();
    stranger("own").namespace("team-e").create(&plot.admin).await.unwrap();
    let selector = json!({"matchLabels": {"app": "guarded"}});
    let object = json!({"metadata": {"name": "guarded"}, "spec": {"minAvailable": 1, "selector": selector}});
    plot.admin.create(BUDGET, &object).await.unwrap();
    budget(plot, 0).await;

    plot.pool("e", json!({"names": ["e1"]})).await;
    let pool = plot.counts("e", "offenderCount", 2).await;
    assert_eq!((&pool["status"]["pods"], &pool["status"]["exempt"]), (&json!(1), &json!(1)));
    let exempt = &pool["status"]["exemptPods"][0];
    assert_eq!(
        (&exempt["namespace"], &exempt["name"], &exempt["message"]),
        (&json!(EXEMPT), &json!("trusted"), &json!("its namespace is exempt"))
    );
    assert_eq!(condition(&pool, "Offended")["status"], "True");
    assert!(!is_leaving(plot, NAMESPACE, "stranger").await, "Deny evicts no pod");

    plot.change_pool("e", json!({"spec": {"enforcement": "Evict"}})).await;
    plot.until("the stranger to be evicted", async || {
        is_leaving(plot, NAMESPACE, "stranger").await.then_some(())
    })
    .await;
    plot.until("the refusal by the budget", async || {
        let rejected = taintward.message(
            "request about a dedicated pool failed, retrying until it succeeds or is no longer needed",
        );
        rejected.iter().any(|line| line["err"].to_string().contains("disruption budget")).then_some(())
    })
    .await;
    assert!(!is_leaving(plot, NAMESPACE, "guarded").await, "its budget allows no disruption");
    budget(plot, 1).await;
    plot.until("the guarded pod to be evicted", async || {
        is_leaving(plot, NAMESPACE, "guarded").await.then_some(())
    })
    .await;
    for (namespace, name) in [(EXEMPT, "trusted"), ("team-e", "own")] {
        assert!(!is_leaving(plot, namespace, name).await, "{name}");
    }
    let event = plot.until("an event about the pod", async || event(plot).await).await;
    let note = event["note"].as_str().unwrap();
    assert!(note.contains("it does not belong to pool e, which reserves node e1"), "{note}");

    plot.kubectl(&["delete", "dedicatedpool", "e", "--wait=true", "--timeout=30s"]);
    assert!(plot.admin.find(&format!("{POOLS}/e")).await.unwrap().is_none());
    let at_once = json!({"gracePeriodSeconds": 0});
    for (namespace, name) in
        [(NAMESPACE, "stranger"), (NAMESPACE, "guarded"), (EXEMPT, "trusted"), ("team-e", "own")]
    {
        plot.admin.delete(&format!("/api/v1/namespaces/{namespace}/pods/{name}"), &at_once).await.unwrap();
    }
    plot.admin.delete("/api/v1/nodes/e1", &json!({})).await.unwrap();
}

async fn event(plot: &Plot<'_>) -> Option<Value> {
    let events = plot.admin.get("/apis/events.k8s.io/v1/namespaces/default/events").await.ok()?;
    let is =
        |one: &&Value| one["reason"] == "DedicatedPoolEviction" && one["regarding"]["name"] == "stranger";
    events["items"].as_array()?.iter().find(is).cloned()
}
