//! Compares the validation of taints (VAL-8 to VAL-10).

use super::cases;
use super::harness::{ConformanceHarness, JSON_PATCH, MERGE, STRATEGIC};
use serde_json::{Value, json};

cases![
    val_8_keys,
    val_8_values,
    val_8_effects,
    val_8_unique_by_key_and_effect,
    val_8_on_update_too,
    val_9_taints_come_and_go,
    val_9_time_added_may_change,
    val_10_the_list_is_one,
    by_the_status,
    a_thousand_taints,
];

fn tainted(harness: &mut ConformanceHarness, taints: Value) -> super::harness::RecordedResponse {
    let name = harness.named("n");
    let node = json!({"metadata": {"name": name}, "spec": {"taints": taints}});
    harness.keeping(&["/spec"]).post("/api/v1/nodes?dryRun=All", &node)
}

fn val_8_keys(harness: &mut ConformanceHarness) {
    for key in ["", "a b", "/a", "x/y/z", "-"] {
        let rejected =
            tainted(harness, json!([{"key": key, "effect": "NoExecute"}])).rejected(422, "Invalid");
        rejected.some("/details/causes/0");
    }
    tainted(harness, json!([{"key": "k".repeat(64), "effect": "NoExecute"}])).rejected(422, "Invalid");
    tainted(harness, json!([{"key": "a.b/c", "effect": "NoExecute"}])).is(201);
}

fn val_8_values(harness: &mut ConformanceHarness) {
    for value in ["a b", "-", "é"] {
        tainted(harness, json!([{"key": "k", "value": value, "effect": "NoExecute"}]))
            .rejected(422, "Invalid");
    }
    tainted(harness, json!([{"key": "k", "value": "v".repeat(64), "effect": "NoExecute"}]))
        .rejected(422, "Invalid");
    tainted(harness, json!([{"key": "k", "value": "", "effect": "NoExecute"}])).is(201);
}

fn val_8_effects(harness: &mut ConformanceHarness) {
    let required = tainted(harness, json!([{"key": "k"}])).rejected(422, "Invalid");
    required.has("/details/causes/0/reason", "FieldValueRequired");
    let unknown = tainted(harness, json!([{"key": "k", "effect": "Evict"}])).rejected(422, "Invalid");
    unknown.has("/details/causes/0/reason", "FieldValueNotSupported");
    for effect in ["NoSchedule", "PreferNoSchedule", "NoExecute"] {
        tainted(harness, json!([{"key": "k", "effect": effect}])).is(201);
    }
}

fn val_8_unique_by_key_and_effect(harness: &mut ConformanceHarness) {
    let twice = json!([{"key": "k", "value": "a", "effect": "NoExecute"},
        {"key": "k", "value": "b", "effect": "NoExecute"}]);
    tainted(harness, twice).rejected(422, "Invalid").contains("taints must be unique by key and effect pair");
    let differ = json!([{"key": "k", "effect": "NoExecute"}, {"key": "k", "effect": "NoSchedule"}]);
    tainted(harness, differ).is(201);
}

fn val_8_on_update_too(harness: &mut ConformanceHarness) {
    let node = harness.create_node("n", &json!({}));
    let path = format!("/api/v1/nodes/{node}");
    let taints = json!({"spec": {"taints": [{"key": "a b", "effect": "Evict"}]}});
    harness.patch(&path, MERGE, &taints).rejected(422, "Invalid").some("/details/causes/1");
    let mut whole = harness.check(&["/kind"], &path).is(200).body;
    whole["spec"] = taints["spec"].clone();
    harness.put(&path, &whole).rejected(422, "Invalid");
}

fn val_9_taints_come_and_go(harness: &mut ConformanceHarness) {
    let node =
        harness.create_node("n", &json!({"taints": [{"key": "a", "value": "1", "effect": "NoExecute"}]}));
    let path = format!("/api/v1/nodes/{node}");
    let add = json!([{"op": "add", "path": "/spec/taints/-", "value": {"key": "b", "effect": "NoSchedule"}}]);
    harness.patch(&path, JSON_PATCH, &add).is(200).some("/spec/taints/1");
    let change = json!([{"op": "replace", "path": "/spec/taints/0/value", "value": "2"}]);
    harness.patch(&path, JSON_PATCH, &change).is(200).has("/spec/taints/0/value", "2");
    let remove = json!([{"op": "remove", "path": "/spec/taints"}]);
    harness.patch(&path, JSON_PATCH, &remove).is(200).lacks("/spec/taints");
}

fn val_9_time_added_may_change(harness: &mut ConformanceHarness) {
    let then = "2001-01-01T00:00:00Z";
    let taints = json!([{"key": "k", "effect": "NoExecute", "timeAdded": then}]);
    tainted(harness, taints).is(201).has("/spec/taints/0/timeAdded", then);
    let plain = tainted(harness, json!([{"key": "k", "effect": "NoExecute"}])).is(201);
    plain.lacks("/spec/taints/0/timeAdded");
    tainted(harness, json!([{"key": "k", "effect": "NoSchedule", "timeAdded": then}])).is(201);
    tainted(harness, json!([{"key": "k", "effect": "NoExecute", "timeAdded": "soon"}])).is(400);
    let fraction = "2001-01-01T02:00:00.5+02:00";
    let kept = tainted(harness, json!([{"key": "k", "effect": "NoExecute", "timeAdded": fraction}])).is(201);
    kept.has("/spec/taints/0/timeAdded", then);
}

fn val_10_the_list_is_one(harness: &mut ConformanceHarness) {
    let node = harness.create_node("n", &json!({"taints": [{"key": "a", "effect": "NoExecute"}]}));
    let path = format!("/api/v1/nodes/{node}");
    let patch = json!({"spec": {"taints": [{"key": "b", "effect": "NoExecute"}]}});
    let replaced = harness.patch(path, STRATEGIC, &patch).is(200);
    replaced.has("/spec/taints/0/key", "b").lacks("/spec/taints/1");
}

fn by_the_status(harness: &mut ConformanceHarness) {
    let node = harness.create_node("n", &json!({}));
    let patch = json!({"spec": {"taints": [{"key": "b", "effect": "NoExecute"}]}});
    harness.patch(format!("/api/v1/nodes/{node}/status"), STRATEGIC, &patch).is(200).lacks("/spec/taints");
}

fn a_thousand_taints(harness: &mut ConformanceHarness) {
    let many: Vec<Value> =
        (0..1000).map(|at| json!({"key": format!("k{at}"), "effect": "NoExecute"})).collect();
    tainted(harness, many.into()).is(201).some("/spec/taints/999");
}
