//! Compares server-side apply: ownership, removal, conflicts.

use super::cases;
use super::harness::{APPLY, ConformanceHarness, MERGE, RecordedRequest, RecordedResponse};
use serde_json::{Value, json};

cases![
    an_apply_creates,
    an_apply_without_manager,
    an_apply_again,
    fields_that_are_no_longer_applied_are_removed,
    a_conflict,
    a_conflict_is_forced,
    two_apply_the_same,
    an_apply_in_yaml,
    an_apply_that_names_another,
    an_apply_of_the_unknown,
    an_apply_with_managed_fields,
    an_apply_for_a_uid,
    a_dry_apply,
    taints_are_applied,
    containers_are_applied,
    a_status_is_applied,
    an_update_takes_over,
];

fn apply(harness: &mut ConformanceHarness, path: &str, manager: &str, object: &Value) -> RecordedResponse {
    harness.patch(format!("{path}?fieldManager={manager}"), APPLY, object)
}

fn map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
}

fn an_apply_creates(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    let made = apply(harness, &path, "one", &map(&json!({"a": "b"}))).is(201);
    made.has("/metadata/managedFields/0/operation", "Apply").has("/metadata/managedFields/0/manager", "one");
}

fn an_apply_without_manager(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    harness.patch(&path, APPLY, &map(&json!({}))).rejected(422, "Invalid").contains("fieldManager");
}

fn an_apply_again(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    let first = apply(harness, &path, "one", &map(&json!({"a": "b"}))).is(201);
    let again = apply(harness, &path, "one", &map(&json!({"a": "b"}))).is(200);
    assert_eq!(first.version(), again.version(), "nothing changed, nothing is written");
}

fn fields_that_are_no_longer_applied_are_removed(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    apply(harness, &path, "one", &map(&json!({"a": "b", "c": "d"}))).is(201);
    let fewer = apply(harness, &path, "one", &map(&json!({"a": "b"}))).is(200);
    fewer.has("/data", json!({"a": "b"}));
}

fn a_conflict(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    apply(harness, &path, "one", &map(&json!({"a": "b", "c": "d"}))).is(201);
    let conflict = apply(harness, &path, "two", &map(&json!({"a": "z", "c": "y"})));
    let conflict = conflict.rejected(409, "Conflict").has("/details/causes/0/reason", "FieldManagerConflict");
    conflict.has("/details/causes/0/field", ".data.a").some("/details/causes/1");
    harness.arranged(&format!("{path}?fieldManager=three"), MERGE, &json!({"data": {"m": "n"}}));
    apply(harness, &path, "one", &map(&json!({"a": "b", "m": "o"})))
        .rejected(409, "Conflict")
        .contains("three");
}

fn a_conflict_is_forced(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    apply(harness, &path, "one", &map(&json!({"a": "b", "c": "d"}))).is(201);
    let forced = apply(harness, &path, "two&force=true", &map(&json!({"a": "z"}))).is(200);
    forced.has("/data", json!({"a": "z", "c": "d"}));
}

fn two_apply_the_same(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    apply(harness, &path, "one", &map(&json!({"a": "b"}))).is(201);
    apply(harness, &path, "two", &map(&json!({"a": "b"}))).is(200).some("/metadata/managedFields/1");
    // One manager gives the field up; the other still applies it.
    apply(harness, &path, "one", &map(&json!({}))).is(200).has("/data", json!({"a": "b"}));
    apply(harness, &path, "two", &map(&json!({}))).is(200);
}

fn an_apply_in_yaml(harness: &mut ConformanceHarness) {
    let path = format!("{}?fieldManager=one", harness.core("configmaps/c"));
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: b\n";
    harness.send(RecordedRequest::new("PATCH", &path).body(APPLY, body)).is(201).has("/data/a", "b");
    harness.send(RecordedRequest::new("PATCH", &path).body(APPLY, "a: [")).is(400);
    harness.send(RecordedRequest::new("PATCH", &path).body(APPLY, "")).is(400);
}

fn an_apply_that_names_another(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    let mut other = map(&json!({}));
    other["metadata"]["name"] = "d".into();
    apply(harness, &path, "one", &other).is(400);
    other["metadata"] = json!({"name": "c", "namespace": "elsewhere"});
    apply(harness, &path, "one", &other).is(400);
    other["metadata"] = json!({});
    apply(harness, &path, "one", &other);
    other["kind"] = "Secret".into();
    apply(harness, &path, "one", &other).is(400);
    apply(harness, &path, "one", &json!({"metadata": {"name": "c"}})).is(400);
}

fn an_apply_of_the_unknown(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    let mut strange = map(&json!({"a": "b"}));
    strange["colour"] = "red".into();
    apply(harness, &path, "one", &strange);
    apply(harness, &path, "one&fieldValidation=Strict", &strange);
    apply(harness, &path, "one", &map(&json!({"a": 1})));
}

fn an_apply_with_managed_fields(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    let mut object = map(&json!({}));
    object["metadata"]["managedFields"] = json!([{"manager": "m"}]);
    apply(harness, &path, "one", &object).is(400);
}

fn an_apply_for_a_uid(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    let mut object = map(&json!({}));
    object["metadata"]["uid"] = "0c2b1e9c-9a58-4b59-a7d4-0f5f2e4d6a01".into();
    apply(harness, &path, "one", &object).is(409);
    object["metadata"]["uid"].take();
    object["metadata"]["resourceVersion"] = "12".into();
    apply(harness, &path, "one", &object);
}

fn a_dry_apply(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    apply(harness, &path, "one&dryRun=All", &map(&json!({"a": "b"}))).is(201);
    harness.get(&path).rejected(404, "NotFound");
}

fn taints_are_applied(harness: &mut ConformanceHarness) {
    let node = harness.create_node("n", &json!({"taints": [{"key": "a", "effect": "NoExecute"}]}));
    let path = format!("/api/v1/nodes/{node}");
    let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node},
        "spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}});
    apply(harness, &path, "one", &object).rejected(409, "Conflict").contains(".spec.taints");
    let forced = apply(harness, &path, "one&force=true", &object).is(200);
    forced.has("/spec/taints", json!([{"key": "b", "effect": "NoSchedule"}]));
}

fn containers_are_applied(harness: &mut ConformanceHarness) {
    let path = harness.core("pods/web");
    let containers =
        |image: &str| json!([{"name": "a", "image": image, "env": [{"name": "E", "value": "1"}]}]);
    let object = |image: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
        "spec": {"containers": containers(image)}})
    };
    apply(harness, &path, "one", &object("i")).is(201);
    apply(harness, &path, "one", &object("j")).is(200).has("/spec/containers/0/image", "j");
    apply(harness, &path, "two", &object("k"))
        .rejected(409, "Conflict")
        .contains("containers[name=\"a\"].image");
}

fn a_status_is_applied(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({}));
    let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
        "status": {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "R"}]}});
    let path = harness.core("pods/web/status");
    let applied = apply(harness, &path, "one", &object).is(200);
    applied.has("/status/conditions/0/type", "DisruptionTarget");
}

fn an_update_takes_over(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    let mut object = apply(harness, &path, "one", &map(&json!({"a": "b"}))).is(201).body;
    object["data"]["a"] = "z".into();
    harness.put(format!("{path}?fieldManager=two"), &object).is(200);
    apply(harness, &path, "one", &map(&json!({"a": "b"}))).rejected(409, "Conflict").contains("\"two\"");
    apply(harness, &path, "one", &map(&json!({}))).is(200).has("/data/a", "z");
}
