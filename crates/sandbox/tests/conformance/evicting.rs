//! Compares binding and eviction of pods.

use super::cases;
use super::harness::{ConformanceHarness, MERGE};
use serde_json::{Value, json};

cases![
    a_binding,
    a_binding_of_a_bound_pod,
    a_binding_to_nowhere,
    a_binding_by_another_name,
    a_binding_for_a_uid,
    a_binding_by_the_collection,
    an_eviction,
    an_eviction_of_a_missing_pod,
    an_eviction_dry,
    a_budget_says_no,
    a_budget_allows_one,
    a_budget_that_is_behind,
    two_budgets,
    a_finished_pod_needs_no_budget,
    an_unscheduled_pod_needs_no_budget,
    a_pod_that_is_not_ready,
    an_eviction_for_a_uid,
    an_eviction_by_the_old_version,
    an_eviction_by_another_name,
    a_budget_is_checked,
];

fn binding(name: &str, target: Value) -> Value {
    json!({"metadata": {"name": name}, "target": target})
}

fn a_binding(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({}));
    let bound = harness
        .post(harness.core("pods/web/binding"), &binding("web", json!({"kind": "Node", "name": "n1"})));
    bound.is(201).has("/kind", "Status").has("/status", "Success");
    let web = harness.get(harness.core("pods/web")).is(200).has("/spec/nodeName", "n1");
    web.has("/status/conditions/0/type", "PodScheduled");
}

fn a_binding_of_a_bound_pod(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({"nodeName": "n1"}));
    for node in ["n1", "n2"] {
        let again = binding("web", json!({"kind": "Node", "name": node}));
        harness
            .post(harness.core("pods/web/binding"), &again)
            .rejected(409, "Conflict")
            .contains("already assigned to node");
    }
    harness.delete(harness.core("pods/web")).is(200);
    let gone = binding("web", json!({"name": "n1"}));
    harness.post(harness.core("pods/web/binding"), &gone).rejected(404, "NotFound");
}

fn a_binding_to_nowhere(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({}));
    for target in [json!({"kind": "Node", "name": ""}), json!({"kind": "Pod", "name": "n1"})] {
        harness.post(harness.core("pods/web/binding"), &binding("web", target)).is(500);
    }
    harness.post(harness.core("pods/web/binding"), &binding("web", json!({"name": "n1"}))).is(201);
}

fn a_binding_by_another_name(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({}));
    let other = binding("other", json!({"kind": "Node", "name": "n1"}));
    harness.post(harness.core("pods/web/binding"), &other).rejected(400, "BadRequest");
}

fn a_binding_for_a_uid(harness: &mut ConformanceHarness) {
    let web = harness.create_pod("web", &json!({}));
    let mut other = binding("web", json!({"kind": "Node", "name": "n1"}));
    other["metadata"]["uid"] = "0c2b1e9c-9a58-4b59-a7d4-0f5f2e4d6a01".into();
    harness.post(harness.core("pods/web/binding"), &other).rejected(409, "Conflict");
    other["metadata"]["uid"] = web["metadata"]["uid"].clone();
    other["metadata"]["annotations"] = json!({"a": "b"});
    harness.post(harness.core("pods/web/binding"), &other).is(201);
    harness.get(harness.core("pods/web")).is(200).has("/metadata/annotations/a", "b");
}

fn a_binding_by_the_collection(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({}));
    harness.post(harness.core("bindings"), &binding("web", json!({"kind": "Node", "name": "n1"}))).is(201);
}

/// A pod that runs on a node and is ready.
fn running(harness: &mut ConformanceHarness, name: &str) {
    harness.create_pod(name, &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    let status = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
    harness.arranged(&harness.core(&format!("pods/{name}/status")), MERGE, &json!({"status": status}));
}

/// A budget for all pods of the namespace, as its controller would have left it.
fn budget(harness: &mut ConformanceHarness, name: &str, allowed: i64) {
    let path = harness.group("policy/v1", "poddisruptionbudgets");
    harness.given(&path, &json!({"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": {}}}));
    let status = json!({"status": {"disruptionsAllowed": allowed, "currentHealthy": allowed + 1,
        "desiredHealthy": 1, "expectedPods": allowed + 1, "observedGeneration": 1}});
    harness.arranged(&format!("{path}/{name}/status"), MERGE, &status);
}

fn eviction(name: &str) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}})
}

fn an_eviction(harness: &mut ConformanceHarness) {
    running(harness, "web");
    let evicted = harness.post(harness.core("pods/web/eviction"), &eviction("web")).is(201);
    evicted.has("/kind", "Status").has("/status", "Success");
    let web = harness.get(harness.core("pods/web")).is(200).some("/metadata/deletionTimestamp");
    web.has("/metadata/deletionGracePeriodSeconds", 30);
}

fn an_eviction_of_a_missing_pod(harness: &mut ConformanceHarness) {
    harness.post(harness.core("pods/none/eviction"), &eviction("none")).rejected(404, "NotFound");
}

fn an_eviction_dry(harness: &mut ConformanceHarness) {
    running(harness, "web");
    budget(harness, "b", 1);
    harness.post(harness.core("pods/web/eviction?dryRun=All"), &eviction("web")).is(201);
    let mut body = eviction("web");
    body["deleteOptions"] = json!({"dryRun": ["All"]});
    harness.post(harness.core("pods/web/eviction"), &body).is(201);
    harness.get(harness.core("pods/web")).is(200).lacks("/metadata/deletionTimestamp");
    let left = harness.group("policy/v1", "poddisruptionbudgets/b");
    harness.get(left).is(200).has("/status/disruptionsAllowed", 1);
}

fn a_budget_says_no(harness: &mut ConformanceHarness) {
    running(harness, "web");
    budget(harness, "b", 0);
    let rejected = harness.post(harness.core("pods/web/eviction"), &eviction("web"));
    let rejected = rejected.rejected(429, "TooManyRequests").contains("disruption budget");
    rejected.has("/details/causes/0/reason", "DisruptionBudget");
    harness.get(harness.core("pods/web")).is(200).lacks("/metadata/deletionTimestamp");
}

fn a_budget_allows_one(harness: &mut ConformanceHarness) {
    running(harness, "a");
    running(harness, "b");
    budget(harness, "b", 1);
    harness.post(harness.core("pods/a/eviction"), &eviction("a")).is(201);
    let path = harness.group("policy/v1", "poddisruptionbudgets/b");
    let spent = harness.get(path).is(200).has("/status/disruptionsAllowed", 0);
    spent.some("/status/disruptedPods/a");
    harness.post(harness.core("pods/b/eviction"), &eviction("b")).rejected(429, "TooManyRequests");
    // The eviction of a terminating pod needs no budget.
    harness.post(harness.core("pods/a/eviction"), &eviction("a")).is(201);
}

fn a_budget_that_is_behind(harness: &mut ConformanceHarness) {
    running(harness, "web");
    let path = harness.group("policy/v1", "poddisruptionbudgets");
    harness.given(&path, &json!({"metadata": {"name": "b"}, "spec": {"maxUnavailable": 1, "selector": {}}}));
    let rejected =
        harness.post(harness.core("pods/web/eviction"), &eviction("web")).rejected(429, "TooManyRequests");
    rejected.some("/details/retryAfterSeconds");
}

fn two_budgets(harness: &mut ConformanceHarness) {
    running(harness, "web");
    budget(harness, "a", 1);
    budget(harness, "b", 1);
    harness
        .post(harness.core("pods/web/eviction"), &eviction("web"))
        .is(500)
        .contains("more than one PodDisruptionBudget");
}

fn a_finished_pod_needs_no_budget(harness: &mut ConformanceHarness) {
    running(harness, "web");
    budget(harness, "b", 0);
    harness.arranged(&harness.core("pods/web/status"), MERGE, &json!({"status": {"phase": "Failed"}}));
    harness.post(harness.core("pods/web/eviction"), &eviction("web")).is(201);
    harness.get(harness.core("pods/web")).rejected(404, "NotFound");
}

fn an_unscheduled_pod_needs_no_budget(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({}));
    budget(harness, "b", 0);
    harness.post(harness.core("pods/web/eviction"), &eviction("web")).is(201);
    harness.get(harness.core("pods/web")).rejected(404, "NotFound");
}

fn a_pod_that_is_not_ready(harness: &mut ConformanceHarness) {
    for name in ["a", "b"] {
        running(harness, name);
        let unready = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
        harness.arranged(&harness.core(&format!("pods/{name}/status")), MERGE, &unready);
    }
    budget(harness, "b", 0);
    harness.post(harness.core("pods/a/eviction"), &eviction("a"));
    let path = harness.group("policy/v1", "poddisruptionbudgets/b");
    harness.arranged(&path, MERGE, &json!({"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}));
    harness.post(harness.core("pods/b/eviction"), &eviction("b")).is(201);
}

fn an_eviction_for_a_uid(harness: &mut ConformanceHarness) {
    running(harness, "web");
    let mut body = eviction("web");
    body["deleteOptions"] = json!({"preconditions": {"uid": "0c2b1e9c-9a58-4b59-a7d4-0f5f2e4d6a01"}});
    harness.post(harness.core("pods/web/eviction"), &body).is(409);
    body["deleteOptions"] = json!({"gracePeriodSeconds": 0});
    harness.post(harness.core("pods/web/eviction"), &body).is(201);
    harness.get(harness.core("pods/web")).rejected(404, "NotFound");
}

fn an_eviction_by_the_old_version(harness: &mut ConformanceHarness) {
    running(harness, "web");
    let mut body = eviction("web");
    body["apiVersion"] = "policy/v1beta1".into();
    harness.post(harness.core("pods/web/eviction"), &body);
    harness.post(harness.core("pods/web/eviction"), &json!({"metadata": {"name": "web"}})).is(201);
}

fn an_eviction_by_another_name(harness: &mut ConformanceHarness) {
    running(harness, "web");
    harness.post(harness.core("pods/web/eviction"), &eviction("other")).rejected(400, "BadRequest");
    harness.post(harness.core("pods/web/eviction"), &eviction(""));
}

fn a_budget_is_checked(harness: &mut ConformanceHarness) {
    let path = harness.group("policy/v1", "poddisruptionbudgets");
    let budget = |spec: Value| json!({"metadata": {"name": "b"}, "spec": spec});
    for spec in [
        json!({"minAvailable": 1, "maxUnavailable": 1}),
        json!({"minAvailable": -1}),
        json!({"minAvailable": "110%"}),
        json!({"maxUnavailable": "many"}),
        json!({"unhealthyPodEvictionPolicy": "Perhaps"}),
    ] {
        harness.post(&path, &budget(spec)).rejected(422, "Invalid");
    }
    harness
        .post(&path, &budget(json!({"maxUnavailable": "50%", "selector": {"matchLabels": {"a": "b"}}})))
        .is(201);
    harness.patch(format!("{path}/b"), MERGE, &json!({"spec": {"maxUnavailable": 2}})).is(200);
}
