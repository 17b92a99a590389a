//! Compares watch events, their formats, and rejections.

use super::cases;
use super::play::{MERGE, Play};
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
fn now(play: &mut Play, rest: &str) -> String {
    let version = play.check(&["/kind"], play.core("configmaps")).is(200).version();
    play.core(&format!("configmaps?watch=true&resourceVersion={version}&timeoutSeconds=20{rest}"))
}

fn map(play: &mut Play, name: &str, labels: Value) {
    let path = play.core("configmaps");
    play.given(&path, &json!({"metadata": {"name": name, "labels": labels}}));
}

fn label(play: &mut Play, name: &str, labels: Value) {
    play.arranged(&play.core(&format!("configmaps/{name}")), MERGE, &json!({"metadata": {"labels": labels}}));
}

fn remove(play: &mut Play, path: &str) {
    let response = play.request(&super::play::Request::new("DELETE", play.core(path)));
    assert_eq!(response.code, 200, "{}", response.body);
}

fn from_a_version(play: &mut Play) {
    map(play, "before", json!({}));
    let path = now(play, "");
    map(play, "a", json!({}));
    let mut watch = play.watch(&path);
    watch.reports(play, "ADDED", "a");
    label(play, "a", json!({"x": "1"}));
    watch.reports(play, "MODIFIED", "a");
    remove(play, "configmaps/a");
    let gone = watch.reports(play, "DELETED", "a");
    assert_eq!(gone.object["metadata"]["labels"]["x"], "1", "its last state");
}

fn from_zero(play: &mut Play) {
    map(play, "a", json!({}));
    map(play, "b", json!({}));
    play.settle(&play.core("configmaps"));
    let mut watch = play.watch(&play.core("configmaps?watch=1&resourceVersion=0&timeoutSeconds=20"));
    let (one, two) = (watch.next(play), watch.next(play));
    assert_eq!((one.kind.as_str(), two.kind.as_str()), ("ADDED", "ADDED"));
}

fn from_now(play: &mut Play) {
    map(play, "a", json!({}));
    let mut watch = play.watch(&play.core("configmaps?watch=true&timeoutSeconds=20"));
    watch.reports(play, "ADDED", "a");
    map(play, "b", json!({}));
    watch.reports(play, "ADDED", "b");
}

fn the_whole_life_of_a_pod(play: &mut Play) {
    let version = play.get(play.core("pods")).is(200).version();
    play.create_pod("web", &json!({"terminationGracePeriodSeconds": 30}));
    let path = play.core(&format!("pods?watch=true&resourceVersion={version}&timeoutSeconds=20"));
    let mut watch = play.watch(&path);
    watch.reports(play, "ADDED", "web");
    let binding = json!({"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "n1"}});
    play.given(&play.core("pods/web/binding"), &binding);
    watch.reports(play, "MODIFIED", "web");
    play.arranged(&play.core("pods/web/status"), MERGE, &json!({"status": {"phase": "Running"}}));
    watch.reports(play, "MODIFIED", "web");
    remove(play, "pods/web");
    watch.reports(play, "MODIFIED", "web");
    remove(play, "pods/web?gracePeriodSeconds=0");
    // The last change of a terminating pod is an event of its own.
    while watch.next(play).kind != "DELETED" {}
}

fn into_the_selection_and_out(play: &mut Play) {
    map(play, "a", json!({}));
    let path = now(play, "&labelSelector=x%3D1");
    let mut watch = play.watch(&path);
    label(play, "a", json!({"y": "2"}));
    label(play, "a", json!({"x": "1"}));
    watch.reports(play, "ADDED", "a");
    label(play, "a", json!({"y": "3"}));
    watch.reports(play, "MODIFIED", "a");
    label(play, "a", json!({"x": "2"}));
    let out = watch.reports(play, "DELETED", "a");
    assert_eq!(out.object["metadata"]["labels"]["x"], "1", "its last selected state");
    remove(play, "configmaps/a");
    map(play, "b", json!({"x": "1"}));
    watch.reports(play, "ADDED", "b");
}

fn into_the_field_and_out(play: &mut Play) {
    let version = play.get(play.core("pods")).is(200).version();
    let path = "pods?watch=true&fieldSelector=spec.nodeName%3Dn1,status.phase!%3DFailed&timeoutSeconds=20";
    let mut watch = play.watch(&play.core(&format!("{path}&resourceVersion={version}")));
    play.create_pod("web", &json!({}));
    let binding = json!({"metadata": {"name": "web"}, "target": {"kind": "Node", "name": "n1"}});
    play.given(&play.core("pods/web/binding"), &binding);
    watch.reports(play, "ADDED", "web");
    play.arranged(&play.core("pods/web/status"), MERGE, &json!({"status": {"phase": "Failed"}}));
    watch.reports(play, "DELETED", "web");
}

fn only_one_name(play: &mut Play) {
    let path = now(play, "&fieldSelector=metadata.name%3Db");
    let mut watch = play.watch(&path);
    map(play, "a", json!({}));
    map(play, "b", json!({}));
    watch.reports(play, "ADDED", "b");
}

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

fn a_table(play: &mut Play) {
    let version = play.get(play.core("pods")).is(200).version();
    let path = play.core(&format!("pods?watch=true&resourceVersion={version}&timeoutSeconds=20"));
    let mut watch = play.watch_as(&path, TABLE);
    play.create_pod("a", &json!({}));
    let first = watch.next(play);
    assert_eq!((first.kind.as_str(), &first.object["kind"]), ("ADDED", &json!("Table")));
    assert!(first.object["columnDefinitions"].is_array(), "the first names its columns");
    play.create_pod("b", &json!({}));
    let second = watch.next(play);
    assert_eq!(second.object["rows"][0]["cells"][0], "b");
    remove(play, "pods/b");
    while watch.next(play).kind != "DELETED" {}
}

fn a_table_with_whole_objects(play: &mut Play) {
    play.create_pod("a", &json!({}));
    let path = play.core("pods?watch=true&includeObject=Object&timeoutSeconds=20");
    let mut watch = play.watch_as(&path, TABLE);
    assert_eq!(watch.next(play).object["rows"][0]["object"]["kind"], "Pod");
}

fn only_metadata(play: &mut Play) {
    map(play, "a", json!({"x": "1"}));
    let form = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let mut watch = play.watch_as(&play.core("configmaps?watch=true&timeoutSeconds=20"), form);
    let event = watch.reports(play, "ADDED", "a");
    assert_eq!(event.object["kind"], "PartialObjectMetadata");
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch";

fn frames_of_protobuf(play: &mut Play) {
    play.create_pod("a", &json!({"nodeName": "n1"}));
    let mut watch = play.watch_as(&play.core("pods?watch=true&timeoutSeconds=20"), PROTOBUF);
    watch.reports(play, "ADDED", "a");
    remove(play, "pods/a");
    let mut last = watch.next(play);
    while last.kind != "DELETED" {
        last = watch.next(play);
    }
    assert_eq!(last.object["metadata"]["name"], "a");
}

fn frames_end_with_the_watch(play: &mut Play) {
    play.create_node("n", &json!({"taints": [{"key": "k", "effect": "NoExecute"}]}));
    let path = format!("/api/v1/nodes?watch=true&labelSelector=case%3D{}&timeoutSeconds=1", play.own);
    let plain = "application/vnd.kubernetes.protobuf,application/json";
    let ended = play.get_as(path, plain).is(200);
    assert_eq!(ended.kind(), "application/vnd.kubernetes.protobuf;stream=watch");
    ended.has("/0/type", "ADDED").lacks("/1");
}

fn nodes(play: &mut Play) {
    let version = play.check(&["/kind"], "/api/v1/nodes?limit=1").is(200).version();
    let select = format!("watch=true&labelSelector=case%3D{}&timeoutSeconds=20", play.own);
    let node = play.create_node("n", &json!({}));
    let mut watch = play.watch(&format!("/api/v1/nodes?{select}&resourceVersion={version}"));
    watch.reports(play, "ADDED", &node);
    let taints = json!({"spec": {"taints": [{"key": "k", "effect": "NoExecute"}]}});
    play.arranged(&format!("/api/v1/nodes/{node}"), MERGE, &taints);
    assert_eq!(watch.reports(play, "MODIFIED", &node).object["spec"]["taints"][0]["key"], "k");
}

fn leases(play: &mut Play) {
    let path = play.group("coordination.k8s.io/v1", "leases");
    let mut watch = play.watch(&format!("{path}?watch=true&timeoutSeconds=20"));
    play.given(&path, &json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}));
    watch.reports(play, "ADDED", "l");
}

fn everywhere(play: &mut Play) {
    let own = play.own.clone();
    let select = format!("watch=true&labelSelector=case%3D{own}&timeoutSeconds=20");
    let mut watch = play.watch(&format!("/api/v1/configmaps?{select}"));
    map(play, "a", json!({"case": own}));
    let event = watch.reports(play, "ADDED", "a");
    assert_eq!(event.object["metadata"]["namespace"], own.as_str());
}

fn an_unchanged_update_tells_nothing(play: &mut Play) {
    map(play, "a", json!({"x": "1"}));
    let path = now(play, "");
    let mut watch = play.watch(&path);
    label(play, "a", json!({"x": "1"}));
    map(play, "b", json!({}));
    watch.reports(play, "ADDED", "b");
}

fn a_dry_run_tells_nothing(play: &mut Play) {
    let path = now(play, "");
    let mut watch = play.watch(&path);
    play.given(&play.core("configmaps?dryRun=All"), &json!({"metadata": {"name": "a"}}));
    map(play, "b", json!({}));
    watch.reports(play, "ADDED", "b");
}

fn an_unsupported_response_format(play: &mut Play) {
    play.get_as(play.core("configmaps?watch=true&timeoutSeconds=1"), "application/xml").is(406);
}

fn a_selector_that_is_none(play: &mut Play) {
    play.get(play.core("configmaps?watch=true&labelSelector=a+b")).rejected(400, "BadRequest");
    play.get(play.core("configmaps?watch=true&fieldSelector=data%3Da")).rejected(400, "BadRequest");
}

fn a_watch_of_nowhere(play: &mut Play) {
    play.get("/api/v1/namespaces/none-such/configmaps?watch=true&timeoutSeconds=1").is(200);
    play.get("/api/v1/things?watch=true").rejected(404, "NotFound");
}
