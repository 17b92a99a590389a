//! Compares the validation of tolerations (VAL-1 to VAL-6).

use super::cases;
use super::harness::{ConformanceHarness, JSON_PATCH, MERGE, pod_with};
use serde_json::{Value, json};

cases![
    val_1_a_key_is_a_label_name,
    val_1_no_key_wants_exists,
    val_2_seconds_want_no_execute,
    val_2_any_seconds_will_do,
    val_3_values_and_operators,
    val_4_numbers_are_compared_behind_a_gate,
    val_5_effects,
    val_5_twice_is_allowed,
    val_6_tolerations_may_be_added,
    val_6_tolerations_stay,
    val_6_seconds_may_change,
    val_6_what_is_added_is_checked,
    not_ready_and_unreachable_are_added,
    not_ready_and_unreachable_stay_unchanged,
    templates_are_checked_too,
];

/// Creates a pod with this one toleration.
fn tolerating(harness: &mut ConformanceHarness, toleration: Value) -> super::harness::RecordedResponse {
    let path = harness.core("pods?dryRun=All");
    harness
        .keeping(&["/spec/tolerations"])
        .post(path, &pod_with("web", &json!({"tolerations": [toleration]})))
}

fn val_1_a_key_is_a_label_name(harness: &mut ConformanceHarness) {
    for key in ["a b", "/a", "a/", "A_b/c", "x/y/z", "-", "é"] {
        tolerating(harness, json!({"key": key, "operator": "Exists"})).rejected(422, "Invalid");
    }
    let long = "k".repeat(64);
    tolerating(harness, json!({"key": long, "operator": "Exists"})).rejected(422, "Invalid");
    for key in ["a", "a.b/c_D", "9"] {
        tolerating(harness, json!({"key": key, "operator": "Exists"})).is(201);
    }
}

fn val_1_no_key_wants_exists(harness: &mut ConformanceHarness) {
    tolerating(harness, json!({"operator": "Exists"})).is(201);
    tolerating(harness, json!({"operator": "Equal"}))
        .rejected(422, "Invalid")
        .contains("operator must be Exists when");
    tolerating(harness, json!({})).rejected(422, "Invalid");
    tolerating(harness, json!({"value": "v"})).rejected(422, "Invalid");
    tolerating(harness, json!({"operator": "Exists", "effect": "NoExecute"})).is(201);
}

fn val_2_seconds_want_no_execute(harness: &mut ConformanceHarness) {
    for effect in ["NoSchedule", "PreferNoSchedule", ""] {
        let toleration = json!({"key": "k", "operator": "Exists", "effect": effect, "tolerationSeconds": 5});
        tolerating(harness, toleration).rejected(422, "Invalid").contains("effect must be 'NoExecute' when");
    }
}

fn val_2_any_seconds_will_do(harness: &mut ConformanceHarness) {
    for seconds in [0, -1, i64::MAX, i64::MIN] {
        let toleration =
            json!({"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
        tolerating(harness, toleration).is(201).has("/spec/tolerations/0/tolerationSeconds", seconds);
    }
}

fn val_3_values_and_operators(harness: &mut ConformanceHarness) {
    for toleration in [
        json!({"key": "k", "value": "a b"}),
        json!({"key": "k", "operator": "Equal", "value": "-"}),
        json!({"key": "k", "value": "v".repeat(64)}),
        json!({"key": "k", "operator": "Exists", "value": "v"}),
        json!({"key": "k", "operator": "exists"}),
        json!({"key": "k", "operator": "In", "value": "v"}),
    ] {
        tolerating(harness, toleration).rejected(422, "Invalid");
    }
    tolerating(harness, json!({"key": "k", "operator": "Equal"})).is(201);
    tolerating(harness, json!({"key": "k", "value": "v"})).is(201).lacks("/spec/tolerations/0/operator");
}

fn val_4_numbers_are_compared_behind_a_gate(harness: &mut ConformanceHarness) {
    for (operator, value) in [("Lt", "5"), ("Gt", "5"), ("Lt", "x"), ("Gt", "")] {
        let rejected = tolerating(harness, json!({"key": "k", "operator": operator, "value": value}));
        rejected.rejected(422, "Invalid");
    }
}

fn val_5_effects(harness: &mut ConformanceHarness) {
    for effect in ["Evict", "noexecute", "NoExecute "] {
        let toleration = json!({"key": "k", "operator": "Exists", "effect": effect});
        tolerating(harness, toleration)
            .rejected(422, "Invalid")
            .has("/details/causes/0/reason", "FieldValueNotSupported");
    }
}

fn val_5_twice_is_allowed(harness: &mut ConformanceHarness) {
    let one = json!({"key": "k", "operator": "Exists"});
    let spec = json!({"tolerations": [one, one]});
    let path = harness.core("pods");
    harness.post(path, &pod_with("web", &spec)).is(201).has("/spec/tolerations/1", one);
}

fn bearing(harness: &mut ConformanceHarness) -> Vec<Value> {
    let one = json!({"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60});
    let web = harness.create_pod("web", &json!({"nodeName": "n1", "tolerations": [one]}));
    web["spec"]["tolerations"].as_array().unwrap().clone()
}

fn change(harness: &mut ConformanceHarness, tolerations: &[Value]) -> super::harness::RecordedResponse {
    let path = harness.core("pods/web");
    harness.patch(path, MERGE, &json!({"spec": {"tolerations": tolerations}}))
}

fn val_6_tolerations_may_be_added(harness: &mut ConformanceHarness) {
    let mut all = bearing(harness);
    all.insert(0, json!({"key": "new"}));
    all.reverse();
    change(harness, &all).is(200).has("/spec/tolerations", json!(all)).has("/metadata/generation", 2);
}

fn val_6_tolerations_stay(harness: &mut ConformanceHarness) {
    let all = bearing(harness);
    change(harness, &all[1..]).rejected(422, "Invalid").contains("existing toleration can not be modified");
    let mut other = all.clone();
    other[0]["effect"] = "NoSchedule".into();
    change(harness, &other).rejected(422, "Invalid");
    change(harness, &[]).rejected(422, "Invalid");
}

fn val_6_seconds_may_change(harness: &mut ConformanceHarness) {
    let mut all = bearing(harness);
    all[0]["tolerationSeconds"] = 5.into();
    change(harness, &all).is(200).has("/spec/tolerations/0/tolerationSeconds", 5);
    all[0].as_object_mut().unwrap().remove("tolerationSeconds");
    change(harness, &all).is(200).lacks("/spec/tolerations/0/tolerationSeconds");
}

fn val_6_what_is_added_is_checked(harness: &mut ConformanceHarness) {
    bearing(harness);
    let add = |value: Value| json!([{"op": "add", "path": "/spec/tolerations/-", "value": value}]);
    let path = harness.core("pods/web");
    harness.patch(&path, JSON_PATCH, &add(json!({"key": "a b"}))).rejected(422, "Invalid");
    harness.patch(&path, JSON_PATCH, &add(json!({"operator": "Exists"}))).is(200);
}

const SECONDS: [&str; 2] = ["/spec/tolerations/*/key", "/spec/tolerations/*/tolerationSeconds"];

fn not_ready_and_unreachable_are_added(harness: &mut ConformanceHarness) {
    let path = harness.core("pods");
    let made = harness.keeping(&SECONDS).post(path, &pod_with("web", &json!({}))).is(201);
    made.has("/spec/tolerations/0/key", "node.kubernetes.io/not-ready")
        .has("/spec/tolerations/1/key", "node.kubernetes.io/unreachable")
        .has("/spec/tolerations/1/tolerationSeconds", 300);
}

fn not_ready_and_unreachable_stay_unchanged(harness: &mut ConformanceHarness) {
    let path = harness.core("pods");
    let own = json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
        "tolerationSeconds": 5});
    let made = harness.keeping(&SECONDS).post(&path, &pod_with("a", &json!({"tolerations": [own]}))).is(201);
    made.has("/spec/tolerations/0/tolerationSeconds", 5)
        .some("/spec/tolerations/1")
        .lacks("/spec/tolerations/2");
    let all = json!({"operator": "Exists"});
    let made = harness.keeping(&SECONDS).post(&path, &pod_with("b", &json!({"tolerations": [all]}))).is(201);
    made.lacks("/spec/tolerations/1");
    let other = json!({"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"});
    harness.keeping(&SECONDS).post(&path, &pod_with("c", &json!({"tolerations": [other]}))).is(201);
}

fn templates_are_checked_too(harness: &mut ConformanceHarness) {
    let spec = pod_with("", &json!({"tolerations": [{"key": "a b", "effect": "Evict"}]}))["spec"].clone();
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": spec});
    let deployment = json!({"metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}});
    harness.post(harness.group("apps/v1", "deployments"), &deployment).rejected(422, "Invalid");
    harness.post(harness.group("apps/v1", "daemonsets"), &deployment).rejected(422, "Invalid");
}
