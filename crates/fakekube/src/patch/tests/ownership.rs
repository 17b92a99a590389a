//! Tests field ownership over several writes.

use super::{at, of};
use crate::patch::{FieldWriter, apply, keep_times, track};
use serde_json::{Value, json};
use testkit::{ObjectExt as _, node};

fn owners(object: &Value) -> Vec<(&str, &str, &Value)> {
    let lines = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    lines
        .into_iter()
        .flatten()
        .map(|line| {
            (line["manager"].as_str().unwrap(), line["time"].as_str().unwrap_or_default(), &line["fieldsV1"])
        })
        .collect()
}

fn tracked(old: Option<&Value>, mut new: Value, kind: &str, writer: &FieldWriter<'_>) -> Value {
    let managed = track(old, &new, of(writer.version, kind), writer);
    new["metadata"]["managedFields"] = managed;
    new
}

fn stored_node(taints: Value) -> Value {
    node("n").uid("u").with("spec.taints", taints).with("status", json!({}))
}

#[test]
fn ownership_moves_to_the_manager_that_changes_a_field() {
    let taint = json!([{"key": "k", "effect": "NoExecute"}]);
    let first = tracked(None, stored_node(taint.clone()), "Node", &at("a", "1"));
    assert_eq!(owners(&first), [("a", "1", &json!({"f:spec": {"f:taints": {}}}))]);
    // The same value written by another manager adds no owner.
    let same = tracked(Some(&first), first.clone(), "Node", &at("b", "2"));
    assert_eq!(same, first);
    let mut changed = first.clone();
    changed["spec"]["taints"][0]["value"] = "v".into();
    changed["spec"]["unschedulable"] = true.into();
    let changed = tracked(Some(&first), changed, "Node", &at("b", "2"));
    assert_eq!(owners(&changed), [("b", "2", &json!({"f:spec": {"f:taints": {}, "f:unschedulable": {}}}))]);
    // Another field of the same manager updates the time of its entry, which has only one time.
    let mut labelled = changed.clone();
    labelled["metadata"]["labels"] = json!({"x": "y"});
    let labelled = tracked(Some(&changed), labelled, "Node", &at("a", "3"));
    assert_eq!(
        owners(&labelled).iter().map(|(who, when, _)| (*who, *when)).collect::<Vec<_>>(),
        [("b", "2"), ("a", "3")]
    );
    // Removing fields updates no time.
    let mut cleared = labelled.clone();
    cleared["spec"].as_object_mut().unwrap().remove("taints");
    let cleared = tracked(Some(&labelled), cleared, "Node", &at("c", "4"));
    assert_eq!(owners(&cleared)[0], ("b", "2", &json!({"f:spec": {"f:unschedulable": {}}})));
    assert!(owners(&cleared).iter().all(|(who, _, _)| *who != "c"));
}

#[test]
fn status_and_spec_are_owned_by_the_subresource_that_writes_them() {
    let before = tracked(None, stored_node(json!([{"key": "k"}])), "Node", &at("a", "1"));
    let mut after = before.clone();
    after["spec"]["unschedulable"] = true.into();
    after["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    let writer = FieldWriter { subresource: "status", ..at("k", "2") };
    let status = tracked(Some(&before), after.clone(), "Node", &writer);
    let key = "k:{\"type\":\"Ready\"}";
    let conditions = json!({".": {}, key: {".": {}, "f:status": {}, "f:type": {}}});
    assert_eq!(owners(&status)[1], ("k", "2", &json!({"f:status": {"f:conditions": conditions}})));
    assert_eq!(status["metadata"]["managedFields"][1]["subresource"], "status");
    let whole = tracked(Some(&before), after, "Node", &at("k", "2"));
    assert_eq!(owners(&whole)[1], ("k", "2", &json!({"f:spec": {"f:unschedulable": {}}})));
}

#[test]
fn many_writers_become_few_lines() {
    let mut node =
        tracked(None, stored_node(json!([{"key": "k", "effect": "NoExecute"}])), "Node", &at("maker", "00"));
    for number in 1..=15 {
        let mut next = node.clone();
        next["metadata"]["labels"][format!("l{number}")] = "x".into();
        node = tracked(Some(&node), next, "Node", &at(&format!("m{number:02}"), &format!("{number:02}")));
    }
    let lines = owners(&node);
    assert_eq!(lines.len(), 10);
    assert_eq!((lines[0].0, lines[0].1), ("ancient-changes", "06"));
    assert_eq!(lines[0].2["f:spec"], json!({"f:taints": {}}));
    assert_eq!(lines[9].0, "m15");
}

#[test]
fn metadata_of_the_server_is_never_owned() {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "c", "namespace": "d", "uid": "u", "resourceVersion": "1", "generation": 1, "creationTimestamp": "t",
        "selfLink": "s", "managedFields": [], "annotations": {"a": "b"}}});
    let managed = track(None, &object, of("v1", "ConfigMap"), &at("", "1"));
    assert_eq!(managed[0]["fieldsV1"], json!({"f:metadata": {"f:annotations": {".": {}, "f:a": {}}}}));
    assert_eq!(managed[0]["manager"], "unknown");
}

#[test]
fn a_write_that_changes_nothing_keeps_its_times() {
    let old = tracked(None, stored_node(json!([{"key": "k"}])), "Node", &at("a", "1"));
    let mut new = old.clone();
    new["metadata"]["managedFields"][0]["time"] = "2".into();
    let later = new.clone();
    keep_times(&old, &mut new);
    assert_eq!(new, old);
    let mut changed = later;
    changed["spec"]["unschedulable"] = true.into();
    let kept = changed.clone();
    keep_times(&old, &mut changed);
    assert_eq!(changed, kept);
}

fn config(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
}

#[test]
fn conflicts_name_the_other_manager() {
    let kind = of("v1", "ConfigMap");
    let live = apply(None, &config(json!({"a": "1", "b": "1"})), kind, &at("one", "1"), false).unwrap();
    let mut edited = live.clone();
    edited["data"]["b"] = "2".into();
    let live = tracked(Some(&live), edited, "ConfigMap", &at("kubectl-edit", "2"));
    let error = apply(Some(&live), &config(json!({"b": "3"})), kind, &at("two", "3"), false).unwrap_err();
    assert_eq!(
        error.message,
        "Apply failed with 1 conflict: conflict with \"kubectl-edit\" using v1: .data.b"
    );
    let error =
        apply(Some(&live), &config(json!({"a": "3", "b": "3"})), kind, &at("two", "3"), false).unwrap_err();
    assert_eq!(
        error.message,
        "Apply failed with 2 conflicts: conflicts with \"kubectl-edit\" using v1:\n- .data.b\nconflicts with \
         \"one\":\n- .data.a"
    );
    let status = error.status();
    assert_eq!((&status["code"], &status["reason"]), (&json!(409), &json!("Conflict")));
    let cause =
        json!({"reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".data.a"});
    assert_eq!(status["details"]["causes"][1], cause);
    let forced =
        apply(Some(&live), &config(json!({"a": "3", "b": "3"})), kind, &at("two", "3"), true).unwrap();
    assert_eq!(owners(&forced), [("two", "3", &json!({"f:data": {"f:a": {}, "f:b": {}}}))]);
}

#[test]
fn fields_that_are_no_longer_applied_are_removed_unless_another_manager_owns_them() {
    let kind = of("v1", "ConfigMap");
    let live =
        apply(None, &config(json!({"a": "1", "b": "1", "c": "1"})), kind, &at("one", "1"), false).unwrap();
    let live = apply(Some(&live), &config(json!({"b": "1"})), kind, &at("two", "2"), false).unwrap();
    let mut edited = live.clone();
    edited["data"]["d"] = "1".into();
    let live = tracked(Some(&live), edited, "ConfigMap", &at("editor", "3"));
    let live = apply(Some(&live), &config(json!({"c": "1"})), kind, &at("one", "4"), false).unwrap();
    assert_eq!(live["data"], json!({"b": "1", "c": "1", "d": "1"}));
    let again = apply(Some(&live), &config(json!({"c": "1"})), kind, &at("one", "5"), false).unwrap();
    assert_eq!(again, live, "nothing changed, including the time");
}
