//! Tests that a node's patch has exactly the edits, and applies only to the state that was read.

use serde_json::{Value, json};
use taintward_core::admission::pool::{
    DedicatedPool, NodeEdits, PoolLabel, PoolMembers, PoolTaint, PoolValidity, RecordEdit, RecordTrust,
    reconcile,
};
use taintward_core::testkit::{taint, taints};
use taintward_kube::pools::PoolNodeBody;
use testkit::{ObjectExt as _, node};

const RECORD: &str = "/metadata/annotations/taintward.io~1pool";

fn pool() -> DedicatedPool {
    DedicatedPool {
        name: "team-a".into(),
        taint: PoolTaint { key: "example.com/pool".into(), value: "a".into(), effects: Vec::new() },
        members: PoolMembers { names: vec!["n1".into()], selector: None },
        ..DedicatedPool::default()
    }
}

fn stored_node(metadata: Value, spec: Value) -> Value {
    node("n1").uid("u").version("9").with("spec", spec).with_all("metadata", &metadata)
}

fn read(node: &Value) -> PoolNodeBody {
    PoolNodeBody::read(node.to_string().as_bytes()).unwrap()
}

fn steps(node: &Value, edits: &NodeEdits) -> Value {
    serde_json::from_slice(&read(node).patch(edits).unwrap().unwrap()).unwrap()
}

fn edits(node: &Value, pools: &[DedicatedPool]) -> NodeEdits {
    reconcile(pools, &[PoolValidity::Applied], &read(node).seen().node, RecordTrust::Pools).edits
}

fn test(path: &str, value: impl Into<Value>) -> Value {
    json!({"op": "test", "path": path, "value": value.into()})
}

fn add(path: &str, value: impl Into<Value>) -> Value {
    json!({"op": "add", "path": path, "value": value.into()})
}

fn remove(path: &str) -> Value {
    json!({"op": "remove", "path": path})
}

fn own() -> Value {
    json!({"key": "example.com/pool", "effect": "NoSchedule", "value": "a"})
}

const REPORTED: &str =
    "team-a taint:example.com/pool=a:NoSchedule label:node-restriction.kubernetes.io/pool.team-a=true";

#[test]
fn a_node_that_joins_gets_everything_in_one_write() {
    let foreign = json!({"key": "x", "effect": "NoExecute", "timeAdded": "2027-01-15T08:00:00Z"});
    let joining =
        stored_node(json!({"labels": {"a": "b"}, "annotations": {"c": "d"}}), json!({"taints": [foreign]}));
    let expected = json!([
        test("/metadata/uid", "u"),
        test("/metadata/resourceVersion", "9"),
        add("/spec/taints/-", own()),
        add("/metadata/labels/node-restriction.kubernetes.io~1pool.team-a", "true"),
        add(RECORD, REPORTED),
    ]);
    assert_eq!(steps(&joining, &edits(&joining, &[pool()])), expected);
    let bare = stored_node(json!({}), json!({}));
    let expected = json!([
        test("/metadata/uid", "u"),
        test("/metadata/resourceVersion", "9"),
        add("/spec/taints", json!([own()])),
        add("/metadata/labels", json!({})),
        add("/metadata/labels/node-restriction.kubernetes.io~1pool.team-a", "true"),
        add("/metadata/annotations", json!({})),
        add(RECORD, REPORTED),
    ]);
    assert_eq!(steps(&bare, &edits(&bare, &[pool()])), expected);
    let empty = stored_node(json!({}), Value::Null);
    assert_eq!(steps(&empty, &edits(&empty, &[pool()]))[2], add("/spec", json!({"taints": [own()]})));
}

#[test]
fn a_node_that_leaves_loses_the_pools_marks_and_nothing_else() {
    let foreign = json!({"key": "x", "effect": "NoExecute", "timeAdded": "2027-01-15T08:00:00Z", "newer": 1});
    let labels = json!({"node-restriction.kubernetes.io/pool.team-a": "true", "a": "b"});
    let annotations = json!({"taintward.io/pool": REPORTED, "c": "d"});
    let leaving = stored_node(
        json!({"labels": labels, "annotations": annotations}),
        json!({"taints": [foreign, own()]}),
    );
    let gone = DedicatedPool { members: PoolMembers::default(), ..pool() };
    let expected = json!([
        test("/metadata/uid", "u"),
        test("/metadata/labels", labels),
        test("/spec/taints", json!([foreign, own()])),
        test(RECORD, REPORTED),
        test("/spec/taints/1", own()),
        remove("/spec/taints/1"),
        test("/metadata/labels/node-restriction.kubernetes.io~1pool.team-a", "true"),
        remove("/metadata/labels/node-restriction.kubernetes.io~1pool.team-a"),
        remove(RECORD),
    ]);
    assert_eq!(steps(&leaving, &edits(&leaving, &[gone])), expected);
    assert_eq!(read(&leaving).patch(&edits(&leaving, &[pool()])), Ok(None), "it does not have to leave");
}

#[test]
fn a_changed_value_is_removed_and_added() {
    let label = |value: &str| PoolLabel { key: "k".into(), value: value.into() };
    let changing = stored_node(
        json!({"labels": {"k": "1"}}),
        json!({"taints": [{"key": "k", "value": "1", "effect": "NoSchedule"}, {"key": "z", "effect": "NoSchedule"}]}),
    );
    let edits = NodeEdits {
        remove_taints: taints("k=1:NoSchedule z:NoSchedule"),
        add_taints: taints("k=2:NoSchedule"),
        remove_labels: vec![label("1")],
        add_labels: vec![label("2")],
        record: Some(RecordEdit::Write("p".into())),
    };
    let expected = json!([
        test("/metadata/uid", "u"),
        test("/metadata/resourceVersion", "9"),
        test("/spec/taints/1", json!({"key": "z", "effect": "NoSchedule"})),
        remove("/spec/taints/1"),
        test("/spec/taints/0", json!({"key": "k", "value": "1", "effect": "NoSchedule"})),
        remove("/spec/taints/0"),
        add("/spec/taints/-", json!({"key": "k", "value": "2", "effect": "NoSchedule"})),
        test("/metadata/labels/k", "1"),
        remove("/metadata/labels/k"),
        add("/metadata/labels/k", "2"),
        add("/metadata/annotations", json!({})),
        add(RECORD, "p"),
    ]);
    assert_eq!(steps(&changing, &edits), expected);
}

#[test]
fn edits_of_another_state_are_not_written() {
    let other = taint("k=2:NoSchedule");
    let label = PoolLabel { key: "k".into(), value: "2".into() };
    let there = stored_node(
        json!({"labels": {"k": "1"}}),
        json!({"taints": [{"key": "k", "value": "1", "effect": "NoSchedule"}]}),
    );
    for edits in [
        NodeEdits { remove_taints: vec![other.clone()], ..NodeEdits::default() },
        NodeEdits { add_taints: vec![other], ..NodeEdits::default() },
        NodeEdits { remove_labels: vec![label.clone()], ..NodeEdits::default() },
        NodeEdits { add_labels: vec![label], ..NodeEdits::default() },
        NodeEdits { record: Some(RecordEdit::Remove), ..NodeEdits::default() },
    ] {
        assert!(read(&there).patch(&edits).is_err(), "{edits:?}");
    }
    assert_eq!(read(&there).patch(&NodeEdits::default()), Ok(None));
}

#[test]
fn an_invalid_node_is_refused_in_a_sentence() {
    for body in ["", "[]", r#"{"kind":"Pod"}"#, r#"{"kind":"Node","metadata":{"name":"n"}}"#] {
        assert!(PoolNodeBody::read(body.as_bytes()).is_err(), "{body}");
    }
    let status = r#"{"kind":"Status","message":"nodes \"n\" not found","code":404}"#;
    let why = PoolNodeBody::read(status.as_bytes()).unwrap_err();
    assert_eq!(why.to_string(), "nodes \"n\" not found");
}
