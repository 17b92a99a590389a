//! Compares watch events, their formats, and rejections.

use super::cases;
use super::harness::{ConformanceHarness, MERGE};
use serde_json::{Value, json};

cases![
    from_a_version,
    from_zero,
    from_now,
    the_whole_life_of_a_pod,
    into_the_selection_and_out,
    into_the_field_and_out,
    only_one_name,
    a_table,
    a_table_with_whole_objects,
    only_metadata,
    frames_of_protobuf,
    frames_end_with_the_watch,
    nodes,
    leases,
    everywhere,
    an_unchanged_update_tells_nothing,
    a_dry_run_tells_nothing,
    an_unsupported_response_format,
    a_selector_that_is_none,
    a_watch_of_nowhere,
];

/// The path of a watch of this case's ConfigMaps, from now.
fn now(harness: &mut ConformanceHarness, rest: &str) -> String {
    let version = harness.check(&["/kind"], harness.core("configmaps")).is(200).version();
    harness.core(&format!("configmaps?watch=true&resourceVersion={version}&timeoutSeconds=20{rest}"))
}

fn map(harness: &mut ConformanceHarness, name: &str, labels: Value) {
    let path = harness.core("configmaps");
    harness.given(&path, &json!({"metadata": {"name": name, "labels": labels}}));
}

fn label(harness: &mut ConformanceHarness, name: &str, labels: Value) {
    harness.arranged(
        &harness.core(&format!("configmaps/{name}")),
        MERGE,
        &json!({"metadata": {"labels": labels}}),
    );
}

fn remove(harness: &mut ConformanceHarness, path: &str) {
    let response = harness.request(&super::harness::RecordedRequest::new("DELETE", harness.core(path)));
    assert_eq!(response.code, 200, "{}", response.body);
}

fn from_a_version(harness: &mut ConformanceHarness) {
    map(harness, "before", json!({}));
    let path = now(harness, "");
    map(harness, "a", json!({}));
    let mut watch = harness.watch(&path);
    watch.reports(harness, "ADDED", "a");
    label(harness, "a", json!({"x": "1"}));
    watch.reports(harness, "MODIFIED", "a");
    remove(harness, "configmaps/a");
    let gone = watch.reports(harness, "DELETED", "a");
    assert_eq!(gone.object["metadata"]["labels"]["x"], "1", "its last state");
}

fn from_zero(harness: &mut ConformanceHarness) {
    map(harness, "a", json!({}));
    map(harness, "b", json!({}));
    harness.settle(&harness.core("configmaps"));
    let mut watch = harness.watch(&harness.core("configmaps?watch=1&resourceVersion=0&timeoutSeconds=20"));
    let (one, two) = (watch.next(harness), watch.next(harness));
    assert_eq!((one.kind.as_str(), two.kind.as_str()), ("ADDED", "ADDED"));
}

fn from_now(harness: &mut ConformanceHarness) {
    map(harness, "a", json!({}));
    let mut watch = harness.watch(&harness.core("configmaps?watch=true&timeoutSeconds=20"));
    watch.reports(harness, "ADDED", "a");
    map(harness, "b", json!({}));
    watch.reports(harness, "ADDED", "b");
}

fn the_whole_life_of_a_pod(harness: &mut ConformanceHarness) {
    let version = harness.get(harness.core("pods")).is(200).version();
    harness.create_pod("web", &json!({"terminationGracePeriodSeconds": 30}));
    let path = harness.core(&format!("pods?watch=true&resourceVersion={version}&timeoutSeconds=20"));
    let mut watch = harness.watch(&path);
    watch.reports(harness, "ADDED", "web");
    let binding = json!({"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "n1"}});
    harness.given(&harness.core("pods/web/binding"), &binding);
    watch.reports(harness, "MODIFIED", "web");
    harness.arranged(&harness.core("pods/web/status"), MERGE, &json!({"status": {"phase": "Running"}}));
    watch.reports(harness, "MODIFIED", "web");
    remove(harness, "pods/web");
    watch.reports(harness, "MODIFIED", "web");
    remove(harness, "pods/web?gracePeriodSeconds=0");
    // The last change of a terminating pod is an event of its own.
    while watch.next(harness).kind != "DELETED" {}
}

fn into_the_selection_and_out(harness: &mut ConformanceHarness) {
    map(harness, "a", json!({}));
    let path = now(harness, "&labelSelector=x%3D1");
    let mut watch = harness.watch(&path);
    label(harness, "a", json!({"y": "2"}));
    label(harness, "a", json!({"x": "1"}));
    watch.reports(harness, "ADDED", "a");
    label(harness, "a", json!({"y": "3"}));
    watch.reports(harness, "MODIFIED", "a");
    label(harness, "a", json!({"x": "2"}));
    let out = watch.reports(harness, "DELETED", "a");
    assert_eq!(out.object["metadata"]["labels"]["x"], "1", "its last selected state");
    remove(harness, "configmaps/a");
    map(harness, "b", json!({"x": "1"}));
    watch.reports(harness, "ADDED", "b");
}

fn into_the_field_and_out(harness: &mut ConformanceHarness) {
    let version = harness.get(harness.core("pods")).is(200).version();
    let path = "pods?watch=true&fieldSelector=spec.nodeName%3Dn1,status.phase!%3DFailed&timeoutSeconds=20";
    let mut watch = harness.watch(&harness.core(&format!("{path}&resourceVersion={version}")));
    harness.create_pod("web", &json!({}));
    let binding = json!({"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "n1"}});
    harness.given(&harness.core("pods/web/binding"), &binding);
    watch.reports(harness, "ADDED", "web");
    harness.arranged(&harness.core("pods/web/status"), MERGE, &json!({"status": {"phase": "Failed"}}));
    watch.reports(harness, "DELETED", "web");
}

fn only_one_name(harness: &mut ConformanceHarness) {
    let path = now(harness, "&fieldSelector=metadata.name%3Db");
    let mut watch = harness.watch(&path);
    map(harness, "a", json!({}));
    map(harness, "b", json!({}));
    watch.reports(harness, "ADDED", "b");
}

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

fn a_table(harness: &mut ConformanceHarness) {
    let version = harness.get(harness.core("pods")).is(200).version();
    let path = harness.core(&format!("pods?watch=true&resourceVersion={version}&timeoutSeconds=20"));
    let mut watch = harness.watch_as(&path, TABLE);
    harness.create_pod("a", &json!({}));
    let first = watch.next(harness);
    assert_eq!((first.kind.as_str(), &first.object["kind"]), ("ADDED", &json!("Table")));
    assert!(first.object["columnDefinitions"].is_array(), "the first names its columns");
    harness.create_pod("b", &json!({}));
    let second = watch.next(harness);
    assert_eq!(second.object["rows"][0]["cells"][0], "b");
    remove(harness, "pods/b");
    while watch.next(harness).kind != "DELETED" {}
}

fn a_table_with_whole_objects(harness: &mut ConformanceHarness) {
    harness.create_pod("a", &json!({}));
    let path = harness.core("pods?watch=true&includeObject=Object&timeoutSeconds=20");
    let mut watch = harness.watch_as(&path, TABLE);
    assert_eq!(watch.next(harness).object["rows"][0]["object"]["kind"], "Pod");
}

fn only_metadata(harness: &mut ConformanceHarness) {
    map(harness, "a", json!({"x": "1"}));
    let form = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let mut watch = harness.watch_as(&harness.core("configmaps?watch=true&timeoutSeconds=20"), form);
    let event = watch.reports(harness, "ADDED", "a");
    assert_eq!(event.object["kind"], "PartialObjectMetadata");
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch";

fn frames_of_protobuf(harness: &mut ConformanceHarness) {
    harness.create_pod("a", &json!({"nodeName": "n1"}));
    let mut watch = harness.watch_as(&harness.core("pods?watch=true&timeoutSeconds=20"), PROTOBUF);
    watch.reports(harness, "ADDED", "a");
    remove(harness, "pods/a");
    let mut last = watch.next(harness);
    while last.kind != "DELETED" {
        last = watch.next(harness);
    }
    assert_eq!(last.object["metadata"]["name"], "a");
}

fn frames_end_with_the_watch(harness: &mut ConformanceHarness) {
    harness.create_node("n", &json!({"taints": [{"key": "k", "effect": "NoExecute"}]}));
    let path = format!("/api/v1/nodes?watch=true&labelSelector=case%3D{}&timeoutSeconds=1", harness.own);
    let plain = "application/vnd.kubernetes.protobuf,application/json";
    let ended = harness.get_as(path, plain).is(200);
    assert_eq!(ended.kind(), "application/vnd.kubernetes.protobuf;stream=watch");
    ended.has("/0/type", "ADDED").lacks("/1");
}

fn nodes(harness: &mut ConformanceHarness) {
    let version = harness.check(&["/kind"], "/api/v1/nodes?limit=1").is(200).version();
    let select = format!("watch=true&labelSelector=case%3D{}&timeoutSeconds=20", harness.own);
    let node = harness.create_node("n", &json!({}));
    let mut watch = harness.watch(&format!("/api/v1/nodes?{select}&resourceVersion={version}"));
    watch.reports(harness, "ADDED", &node);
    let taints = json!({"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}});
    harness.arranged(&format!("/api/v1/nodes/{node}"), MERGE, &taints);
    assert_eq!(watch.reports(harness, "MODIFIED", &node).object["spec"]["taints"][0]["key"], "k");
}

fn leases(harness: &mut ConformanceHarness) {
    let path = harness.group("coordination.k8s.io/v1", "leases");
    let mut watch = harness.watch(&format!("{path}?watch=true&timeoutSeconds=20"));
    harness.given(&path, &json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}));
    watch.reports(harness, "ADDED", "l");
}

fn everywhere(harness: &mut ConformanceHarness) {
    let own = harness.own.clone();
    let select = format!("watch=true&labelSelector=case%3D{own}&timeoutSeconds=20");
    let mut watch = harness.watch(&format!("/api/v1/configmaps?{select}"));
    map(harness, "a", json!({"case": own}));
    let event = watch.reports(harness, "ADDED", "a");
    assert_eq!(event.object["metadata"]["namespace"], own.as_str());
}

fn an_unchanged_update_tells_nothing(harness: &mut ConformanceHarness) {
    map(harness, "a", json!({"x": "1"}));
    let path = now(harness, "");
    let mut watch = harness.watch(&path);
    label(harness, "a", json!({"x": "1"}));
    map(harness, "b", json!({}));
    watch.reports(harness, "ADDED", "b");
}

fn a_dry_run_tells_nothing(harness: &mut ConformanceHarness) {
    let path = now(harness, "");
    let mut watch = harness.watch(&path);
    harness.given(&harness.core("configmaps?dryRun=All"), &json!({"metadata": {"name": "a"}}));
    map(harness, "b", json!({}));
    watch.reports(harness, "ADDED", "b");
}

fn an_unsupported_response_format(harness: &mut ConformanceHarness) {
    harness.get_as(harness.core("configmaps?watch=true&timeoutSeconds=1"), "application/xml").is(406);
}

fn a_selector_that_is_none(harness: &mut ConformanceHarness) {
    harness.get(harness.core("configmaps?watch=true&labelSelector=a+b")).rejected(400, "BadRequest");
    harness.get(harness.core("configmaps?watch=true&fieldSelector=data%3Da")).rejected(400, "BadRequest");
}

fn a_watch_of_nowhere(harness: &mut ConformanceHarness) {
    harness.get("/api/v1/namespaces/none-such/configmaps?watch=true&timeoutSeconds=1").is(200);
    harness.get("/api/v1/things?watch=true").rejected(404, "NotFound");
}
