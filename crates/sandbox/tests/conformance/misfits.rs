//! Compares rejections of invalid pools and policies.

use super::cases;
use super::harness::{ConformanceHarness, MERGE, RecordedRequest, RecordedResponse};
use super::pools::{POLICIES, POOLS, one, policy, spec, whole};
use serde_json::{Value, json};

cases![
    rejected_by_type,
    rejected_by_schema,
    rejected_by_rules,
    policies_rejected,
    unknown_fields_of_pools,
    metadata_rejected,
    bodies_that_are_something_else,
];

/// A pool whose spec has this value at one place.
fn with(harness: &mut ConformanceHarness, at: &str, value: Value) -> RecordedResponse {
    let mut object = whole(&harness.named("p"), &spec());
    let (parent, field) = at.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[field] = value;
    harness.post(POOLS, &object)
}

fn rejected_by_type(harness: &mut ConformanceHarness) {
    for (at, value) in [
        ("/spec", json!("text")),
        ("/spec", Value::Null),
        ("/spec/taint", json!([])),
        ("/spec/taint/key", json!(7)),
        ("/spec/taint/value", json!(true)),
        ("/spec/taint/value", Value::Null),
        ("/spec/taint/key", Value::Null),
        ("/spec/taint/effects", json!("NoSchedule")),
        ("/spec/taint/effects", json!([1])),
        ("/spec/nodes/names", json!({})),
        ("/spec/nodes/selector", json!({"matchLabels": {"a": 1}})),
        ("/spec/nodes/selector", json!({"matchLabels": []})),
        ("/spec/users/serviceAccounts", json!(["x/y"])),
        ("/spec/placement", json!(1)),
        ("/spec/placement", Value::Null),
    ] {
        with(harness, at, value);
    }
}

fn rejected_by_schema(harness: &mut ConformanceHarness) {
    for (at, value) in [
        ("/spec", json!({})),
        ("/spec/taint", json!({})),
        ("/spec/taint/key", json!("k".repeat(318))),
        ("/spec/taint/effects", json!(["NoRun"])),
        ("/spec/taint/effects", json!([])),
        ("/spec/taint/effects", json!(["NoExecute", "NoExecute"])),
        ("/spec/taint/effects", json!(["NoExecute", "NoSchedule", "PreferNoSchedule", "NoExecute"])),
        ("/spec/nodes/names", json!(["a", "a", ""])),
        ("/spec/nodes/names", json!(["a".repeat(254)])),
        ("/spec/users/serviceAccounts", json!([{"name": "x"}])),
        ("/spec/users/serviceAccounts", json!([{"name": "x", "namespace": ""}])),
        (
            "/spec/users/serviceAccounts",
            json!([{"name": "x", "namespace": "y"}, {"name": "x", "namespace": "y"}]),
        ),
        ("/spec/users/users", json!([""])),
        ("/spec/placement", json!("Sometimes")),
        ("/spec/enforcement", json!("off")),
        ("/spec/nodes/selector", json!({"matchExpressions": [{"key": "a", "operator": "Gt"}]})),
        ("/spec/nodes/selector", json!({"matchExpressions": [{}]})),
    ] {
        with(harness, at, value).rejected(422, "Invalid");
    }
}

fn rejected_by_rules(harness: &mut ConformanceHarness) {
    let expressions = |one: Value| json!({"matchExpressions": [one]});
    for (at, value) in [
        ("/spec/taint/key", json!("")),
        ("/spec/taint/key", json!("a b")),
        ("/spec/taint/key", json!("kubernetes.io/x")),
        ("/spec/taint/value", json!("-")),
        ("/spec/label", json!({"key": "Example.com/x"})),
        // One fault at a time, because a real server reports those of sibling fields in no fixed order.
        ("/spec/label", json!({"key": "kubernetes.io/hostname"})),
        ("/spec/label", json!({"key": "example.com/x", "value": "/"})),
        ("/spec/nodes", json!({})),
        ("/spec/nodes", json!({"names": []})),
        ("/spec/users", json!({})),
        ("/spec/users", json!({"users": [], "groups": [], "serviceAccounts": []})),
        ("/spec/nodes/selector", json!({"matchLabels": {"a b": "c d"}})),
        ("/spec/nodes/selector", expressions(json!({"key": "a", "operator": "In"}))),
        ("/spec/nodes/selector", expressions(json!({"key": "a", "operator": "In", "values": []}))),
        ("/spec/nodes/selector", expressions(json!({"key": "a", "operator": "Exists", "values": ["b"]}))),
        ("/spec/nodes/selector", expressions(json!({"key": "!", "operator": "Exists"}))),
        (
            "/spec/users/namespaceSelector",
            expressions(json!({"key": "a", "operator": "In", "values": ["-", "b"]})),
        ),
    ] {
        with(harness, at, value).rejected(422, "Invalid");
    }
    // These are all valid.
    for key in ["node-role.kubernetes.io/gpu", "a.node-restriction.kubernetes.io/x", "notkubernetes.io/x"] {
        let mut spec = spec();
        spec["label"] = json!({"key": key});
        harness.post(format!("{POOLS}?dryRun=All"), &whole(&harness.named("q"), &spec)).is(201);
    }
}

fn policies_rejected(harness: &mut ConformanceHarness) {
    for spec in [
        json!({}),
        json!({"namespaceSelector": {}, "notReadySeconds": "30"}),
        json!({"namespaceSelector": {}, "notReadySeconds": 1.5}),
        json!({"namespaceSelector": {}, "notReadySeconds": true}),
        json!({"namespaceSelector": {}, "unreachableSeconds": "a value of more than 32 characters"}),
        json!({"namespaceSelector": {}, "bounds": {"least": 3, "most": 2}}),
        json!({"namespaceSelector": {}, "bounds": {"least": "3"}}),
        json!({"namespaceSelector": {}, "bounds": {"least": 1.5}}),
        json!({"namespaceSelector": {}, "priority": 3_000_000_000_u32}),
        json!({"namespaceSelector": {}, "priority": "first"}),
        json!({"namespaceSelector": {"matchLabels": {"a": "b c"}}}),
    ] {
        let name = harness.named("p");
        harness.post(POLICIES, &policy(&name, &spec)).rejected(422, "Invalid");
    }
}

fn unknown_fields_of_pools(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    let mut object = whole(&name, &spec());
    object["spec"]["effects"] = json!([]);
    object["spec"]["taint"]["kye"] = json!("x");
    object["extra"] = json!(1);
    object["metadata"]["lables"] = json!({});
    harness.post(format!("{POOLS}?fieldValidation=Strict"), &object).rejected(400, "BadRequest");
    harness.post(format!("{POOLS}?fieldValidation=Warn&dryRun=All"), &object).is(201).lacks("/spec/effects");
    harness.post(format!("{POOLS}?fieldValidation=Ignore&dryRun=All"), &object).is(201);
    harness.post(POOLS, &object).is(201).lacks("/spec/taint/kye");
    let patch = json!({"spec": {"colour": "red"}});
    harness.patch(format!("{}?fieldValidation=Strict", one(&name)), MERGE, &patch).rejected(422, "Invalid");
    harness.patch(one(&name), MERGE, &patch).is(200).has("/metadata/generation", 1);
}

fn metadata_rejected(harness: &mut ConformanceHarness) {
    for (field, value) in [
        ("name", json!("Not_A_Name")),
        ("name", json!(null)),
        ("labels", json!({"a b": "c"})),
        ("labels", json!({"a": 1})),
        ("labels", json!("text")),
        ("annotations", json!({"a b": "c"})),
        ("finalizers", json!(["nobody"])),
        ("namespace", json!("default")),
        ("resourceVersion", json!("7")),
    ] {
        let mut object = whole(&harness.named("p"), &spec());
        object["metadata"][field] = value;
        harness.post(POOLS, &object);
    }
}

fn bodies_that_are_something_else(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    for (field, value) in [("apiVersion", json!("")), ("kind", json!(""))] {
        let mut object = whole(&name, &spec());
        object[field] = value;
        harness.post(POOLS, &object);
    }
    harness.post(POOLS, &json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}}));
    harness.send(RecordedRequest::new("POST", POOLS).body("application/json", "[]"));
}
