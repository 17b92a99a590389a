//! Compares the subresource `scale`.

use super::cases;
use super::harness::{APPLY, ConformanceHarness, JSON_PATCH, MERGE, pod_with};
use serde_json::{Value, json};

cases![
    a_scale_is_read,
    a_scale_is_written,
    a_scale_is_patched,
    a_scale_of_an_old_version,
    a_scale_below_zero,
    a_scale_of_a_missing_object,
    what_has_no_scale,
    a_scale_is_applied,
];

fn deployment(harness: &mut ConformanceHarness) -> String {
    let path = harness.group("apps/v1", "deployments");
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": pod_with("", &json!({}))["spec"]});
    let selector = json!({"matchLabels": {"a": "b"}});
    let spec = json!({"replicas": 2, "selector": selector, "template": template});
    harness.given(&path, &json!({"metadata": {"name": "d"}, "spec": spec}));
    format!("{path}/d/scale")
}

fn scale(spec: &Value) -> Value {
    json!({"metadata": {"name": "d"}, "spec": spec})
}

fn a_scale_is_read(harness: &mut ConformanceHarness) {
    let path = deployment(harness);
    let read = harness.get(&path).is(200).has("/kind", "Scale").has("/apiVersion", "autoscaling/v1");
    read.has("/spec/replicas", 2).has("/status/selector", "a=b");
}

fn a_scale_is_written(harness: &mut ConformanceHarness) {
    let path = deployment(harness);
    harness.put(&path, &scale(&json!({"replicas": 5}))).is(200).has("/spec/replicas", 5);
    let whole = path.trim_end_matches("/scale").to_owned();
    harness.get(whole).is(200).has("/spec/replicas", 5).has("/metadata/generation", 2);
    harness.put(&path, &scale(&json!({}))).is(200).has("/spec", json!({}));
}

fn a_scale_is_patched(harness: &mut ConformanceHarness) {
    let path = deployment(harness);
    harness.patch(&path, MERGE, &json!({"spec": {"replicas": 3}})).is(200).has("/spec/replicas", 3);
    let patch = json!([{"op": "replace", "path": "/spec/replicas", "value": 4}]);
    harness.patch(&path, JSON_PATCH, &patch).is(200).has("/spec/replicas", 4);
}

fn a_scale_of_an_old_version(harness: &mut ConformanceHarness) {
    let path = deployment(harness);
    let mut read = harness.get(&path).is(200).body;
    read["spec"]["replicas"] = 3.into();
    harness.put(&path, &read).is(200);
    read["spec"]["replicas"] = 4.into();
    harness.put(&path, &read).rejected(409, "Conflict");
}

fn a_scale_below_zero(harness: &mut ConformanceHarness) {
    let path = deployment(harness);
    harness.put(&path, &scale(&json!({"replicas": -1}))).rejected(422, "Invalid");
    harness.put(&path, &json!({"metadata": {"name": "e"}, "spec": {"replicas": 1}})).is(400);
    harness.put(&path, &scale(&json!({"replicas": "1"}))).is(400);
}

fn a_scale_of_a_missing_object(harness: &mut ConformanceHarness) {
    let path = harness.group("apps/v1", "deployments/none/scale");
    harness.get(&path).rejected(404, "NotFound");
    harness
        .put(&path, &json!({"metadata": {"name": "none"}, "spec": {"replicas": 1}}))
        .rejected(404, "NotFound");
}

fn what_has_no_scale(harness: &mut ConformanceHarness) {
    harness.get(harness.group("apps/v1", "daemonsets/d/scale")).rejected(404, "NotFound");
    harness.get(harness.core("pods/p/scale")).rejected(404, "NotFound");
}

fn a_scale_is_applied(harness: &mut ConformanceHarness) {
    let path = deployment(harness);
    let object = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"},
        "spec": {"replicas": 7}});
    harness
        .patch(format!("{path}?fieldManager=one&force=true"), APPLY, &object)
        .is(200)
        .has("/spec/replicas", 7);
    let whole = path.trim_end_matches("/scale").to_owned();
    harness.check(&["/spec/replicas", "/metadata/managedFields/*/manager"], whole).is(200);
}
