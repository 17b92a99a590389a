//! Compares creation and deletion of namespaces.

use super::cases;
use super::harness::{ConformanceHarness, MERGE, pod_with};
use serde_json::json;

cases![
    a_namespace_is_made,
    a_namespace_ends,
    a_namespace_that_is_ending_takes_nothing,
    a_namespace_is_finalized,
    namespaces_that_stay,
    names_of_namespaces,
    the_first_namespaces,
];

fn a_namespace_is_made(harness: &mut ConformanceHarness) {
    let name = harness.named("n");
    let made = harness.post("/api/v1/namespaces", &json!({"metadata": {"name": name}})).is(201);
    made.has("/status/phase", "Active")
        .has("/spec/finalizers", json!(["kubernetes"]))
        .has("/metadata/labels/kubernetes.io~1metadata.name", name.as_str());
    harness.post("/api/v1/namespaces", &json!({"metadata": {"name": name}})).rejected(409, "AlreadyExists");
    let path = format!("/api/v1/namespaces/{name}");
    harness
        .patch(&path, MERGE, &json!({"metadata": {"labels": {"kubernetes.io/metadata.name": "x"}}}))
        .is(200);
}

/// Creates an object that keeps the namespace from being removed.
fn hold(harness: &mut ConformanceHarness) -> String {
    let mut web = pod_with("web", &json!({}));
    web["metadata"]["finalizers"] = json!(["example.com/hold"]);
    harness.given(&harness.core("pods"), &web);
    format!("/api/v1/namespaces/{}", harness.own)
}

/// The fields that are the same whether or not a controller is emptying the namespace.
const STEADY: [&str; 3] = ["/kind", "/spec", "/status/phase"];

fn a_namespace_ends(harness: &mut ConformanceHarness) {
    let path = hold(harness);
    harness
        .keeping(&STEADY)
        .delete(&path)
        .is(200)
        .has("/status/phase", "Terminating")
        .some("/metadata/deletionTimestamp");
    harness.check(&STEADY, &path).is(200).has("/status/phase", "Terminating");
    harness.keeping(&STEADY).delete(&path);
}

fn a_namespace_that_is_ending_takes_nothing(harness: &mut ConformanceHarness) {
    let path = hold(harness);
    harness.keeping(&STEADY).delete(&path).is(200);
    let rejected = harness.post(harness.core("configmaps"), &json!({"metadata": {"name": "c"}}));
    let rejected = rejected.rejected(403, "Forbidden").contains("because it is being terminated");
    rejected.has("/details/causes/0/reason", "NamespaceTerminating");
    harness.patch(harness.core("pods/web"), MERGE, &json!({"metadata": {"labels": {"x": "y"}}})).is(200);
}

fn a_namespace_is_finalized(harness: &mut ConformanceHarness) {
    let name = harness.named("n");
    harness.given("/api/v1/namespaces", &json!({"metadata": {"name": name}}));
    let path = format!("/api/v1/namespaces/{name}");
    let other =
        json!({"metadata": {"name": name}, "spec": {"finalizers": ["kubernetes", "example.com/hold"]}});
    harness.put(&path, &other).is(200).has("/spec/finalizers", json!(["kubernetes"]));
    harness.put(format!("{path}/finalize"), &other).is(200).some("/spec/finalizers/1");
    harness.keeping(&STEADY).delete(&path).is(200);
    let free = json!({"metadata": {"name": name}, "spec": {"finalizers": []}});
    harness.keeping(&STEADY).put(format!("{path}/finalize"), &free).is(200);
    harness.get(&path);
}

fn namespaces_that_stay(harness: &mut ConformanceHarness) {
    for name in ["default", "kube-system", "kube-public"] {
        harness.delete(format!("/api/v1/namespaces/{name}")).rejected(403, "Forbidden");
    }
}

fn names_of_namespaces(harness: &mut ConformanceHarness) {
    for name in ["a.b", "Upper", "a_b", "-"] {
        harness.post("/api/v1/namespaces", &json!({"metadata": {"name": name}})).rejected(422, "Invalid");
    }
    let long = "x".repeat(64);
    harness.post("/api/v1/namespaces", &json!({"metadata": {"name": long}})).rejected(422, "Invalid");
    let name = harness.named("n");
    let inside = json!({"metadata": {"name": name, "namespace": "m"}});
    harness.post("/api/v1/namespaces", &inside).is(201).lacks("/metadata/namespace");
}

fn the_first_namespaces(harness: &mut ConformanceHarness) {
    for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
        harness
            .check(&["/kind", "/metadata/name", "/spec", "/status"], format!("/api/v1/namespaces/{name}"))
            .is(200)
            .has("/status/phase", "Active");
    }
}
