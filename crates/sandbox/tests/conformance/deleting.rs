//! Compares deletion: preconditions, grace periods, finalizers, collections.

use super::cases;
use super::play::{MERGE, Play, Request};
use serde_json::{Value, json};

cases![
    a_map_is_gone_immediately,
    a_node_is_gone_immediately,
    deleting_a_missing_object,
    for_this_uid,
    for_this_version,
    a_bound_pod_without_grace,
    a_bound_pod_terminates,
    a_pod_that_is_nowhere_goes_immediately,
    a_finished_pod_goes_immediately,
    grace_may_become_shorter,
    a_pod_of_zero_grace_by_query,
    grace_that_is_none,
    a_terminating_pod_is_finished,
    a_finalizer_holds,
    a_finalizer_holds_a_pod,
    no_new_finalizers_at_the_end,
    propagation_foreground,
    propagation_orphan,
    propagation_background,
    propagation_that_is_none,
    a_dry_deletion,
    a_dry_deletion_of_a_bound_pod,
    a_collection,
    a_collection_of_some,
    a_collection_dry,
    options_that_are_none,
    a_collection_everywhere,
    what_terminates_may_still_change,
];

const WRONG_UID: &str = "0c2b1e9c-9a58-4b59-a7d4-0f5f2e4d6a01";

fn map(play: &mut Play, name: &str, metadata: &Value) -> String {
    let path = play.core("configmaps");
    let mut metadata = metadata.clone();
    metadata["name"] = name.into();
    play.given(&path, &json!({"metadata": metadata}));
    format!("{path}/{name}")
}

fn a_map_is_gone_immediately(play: &mut Play) {
    let path = map(play, "c", &json!({}));
    play.delete(&path)
        .is(200)
        .has("/status", "Success")
        .has("/details/kind", "configmaps")
        .some("/details/uid");
    play.get(&path).rejected(404, "NotFound");
}

fn a_node_is_gone_immediately(play: &mut Play) {
    let node = play.create_node("n", &json!({}));
    play.delete(format!("/api/v1/nodes/{node}")).is(200).has("/status", "Success");
}

fn deleting_a_missing_object(play: &mut Play) {
    let path = map(play, "c", &json!({}));
    play.delete(&path).is(200);
    play.delete(&path).rejected(404, "NotFound");
    play.delete_with(&path, &json!({"preconditions": {"uid": WRONG_UID}})).rejected(404, "NotFound");
}

fn for_this_uid(play: &mut Play) {
    let path = map(play, "c", &json!({}));
    let uid = play.get(&path).is(200).uid();
    let wrong = play.delete_with(&path, &json!({"preconditions": {"uid": WRONG_UID}}));
    wrong.rejected(409, "Conflict").contains("the UID in the precondition");
    play.delete_with(&path, &json!({"preconditions": {"uid": uid}})).is(200);
}

fn for_this_version(play: &mut Play) {
    let web = play.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    let path = play.core("pods/web");
    play.arranged(&path, MERGE, &json!({"metadata": {"labels": {"x": "y"}}}));
    let old = json!({"preconditions": {"resourceVersion": web["metadata"]["resourceVersion"]}});
    play.delete_with(&path, &old)
        .rejected(409, "Conflict")
        .contains("the ResourceVersion in the precondition");
    let now = play.get(&path).is(200).version();
    play.delete_with(&path, &json!({"preconditions": {"resourceVersion": now}})).is(200);
    // The deletion has changed it.
    play.delete_with(&path, &json!({"preconditions": {"resourceVersion": now}})).rejected(409, "Conflict");
}

fn a_bound_pod_without_grace(play: &mut Play) {
    play.create_pod("web", &json!({"nodeName": "n1"}));
    play.delete(play.core("pods/web"))
        .is(200)
        .has("/kind", "Pod")
        .has("/metadata/deletionGracePeriodSeconds", 0);
    play.get(play.core("pods/web")).rejected(404, "NotFound");
}

fn a_bound_pod_terminates(play: &mut Play) {
    play.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    let path = play.core("pods/web");
    let first = play.delete(&path).is(200).has("/metadata/deletionGracePeriodSeconds", 30);
    let version = first.version();
    first.some("/metadata/deletionTimestamp");
    let again = play.delete(&path).is(200);
    assert_eq!(again.version(), version, "a second deletion changes nothing");
    play.get(&path).is(200).has("/metadata/generation", 2);
}

fn a_pod_that_is_nowhere_goes_immediately(play: &mut Play) {
    play.create_pod("web", &json!({"terminationGracePeriodSeconds": 30}));
    let path = play.core("pods/web");
    play.delete(&path).is(200).has("/kind", "Pod").has("/metadata/deletionGracePeriodSeconds", 0);
    play.get(&path).rejected(404, "NotFound");
}

fn a_finished_pod_goes_immediately(play: &mut Play) {
    play.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    play.arranged(&play.core("pods/web/status"), MERGE, &json!({"status": {"phase": "Succeeded"}}));
    play.delete(play.core("pods/web")).is(200);
    play.get(play.core("pods/web")).rejected(404, "NotFound");
}

fn grace_may_become_shorter(play: &mut Play) {
    play.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    let path = play.core("pods/web");
    let seconds = "/metadata/deletionGracePeriodSeconds";
    play.delete_with(&path, &json!({"gracePeriodSeconds": 20})).is(200).has(seconds, 20);
    play.delete_with(&path, &json!({"gracePeriodSeconds": 25})).is(200).has(seconds, 20);
    play.delete_with(&path, &json!({"gracePeriodSeconds": 10})).is(200).has(seconds, 10);
    play.delete_with(&path, &json!({"gracePeriodSeconds": 0})).is(200).has(seconds, 0);
    play.get(&path).rejected(404, "NotFound");
}

fn a_pod_of_zero_grace_by_query(play: &mut Play) {
    play.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    play.delete(play.core("pods/web?gracePeriodSeconds=0")).is(200);
    play.get(play.core("pods/web")).rejected(404, "NotFound");
}

fn grace_that_is_none(play: &mut Play) {
    play.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    play.delete(play.core("pods/web?gracePeriodSeconds=x")).is(400);
    play.delete_with(play.core("pods/web"), &json!({"gracePeriodSeconds": "5"})).is(400);
    play.delete_with(play.core("pods/web"), &json!({"gracePeriodSeconds": -1})).is(200);
}

fn a_terminating_pod_is_finished(play: &mut Play) {
    let web = play.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    let path = play.core("pods/web");
    play.delete(&path).is(200);
    let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": web["metadata"]["uid"]}});
    play.delete_with(&path, &options).is(200).has("/kind", "Pod");
    play.get(&path).rejected(404, "NotFound");
}

fn a_finalizer_holds(play: &mut Play) {
    let path = map(play, "c", &json!({"finalizers": ["example.com/hold"]}));
    let held = play.delete(&path).is(200).has("/kind", "ConfigMap").some("/metadata/deletionTimestamp");
    held.has("/metadata/deletionGracePeriodSeconds", 0);
    play.delete(&path).is(200);
    let free = json!({"metadata": {"finalizers": null}});
    play.patch(&path, MERGE, &free).is(200).some("/metadata/deletionTimestamp");
    play.get(&path).rejected(404, "NotFound");
}

fn a_finalizer_holds_a_pod(play: &mut Play) {
    let mut web =
        super::play::pod_with("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    web["metadata"]["finalizers"] = json!(["example.com/hold"]);
    play.given(&play.core("pods"), &web);
    let path = play.core("pods/web");
    play.delete(&path).is(200).has("/metadata/deletionGracePeriodSeconds", 30);
    play.delete_with(&path, &json!({"gracePeriodSeconds": 0})).is(200);
    play.get(&path).is(200).has("/metadata/deletionGracePeriodSeconds", 0);
    play.patch(&path, MERGE, &json!({"metadata": {"finalizers": []}})).is(200);
    play.get(&path).rejected(404, "NotFound");
}

fn no_new_finalizers_at_the_end(play: &mut Play) {
    let path = map(play, "c", &json!({"finalizers": ["example.com/hold"]}));
    play.delete(&path).is(200);
    let more = json!({"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}});
    play.patch(&path, MERGE, &more).rejected(422, "Invalid").contains("no new finalizers can be added");
    play.patch(&path, MERGE, &json!({"metadata": {"finalizers": []}})).is(200);
}

fn propagate(play: &mut Play, policy: &str) -> super::play::Response {
    let path = map(play, "c", &json!({}));
    play.delete_with(&path, &json!({"propagationPolicy": policy}))
}

fn propagation_foreground(play: &mut Play) {
    let held = propagate(play, "Foreground").is(200);
    held.has("/metadata/finalizers", json!(["foregroundDeletion"]));
}

fn propagation_orphan(play: &mut Play) {
    propagate(play, "Orphan").is(200).has("/metadata/finalizers", json!(["orphan"]));
    let path = map(play, "d", &json!({}));
    play.delete_with(&path, &json!({"orphanDependents": true})).is(200);
}

fn propagation_background(play: &mut Play) {
    propagate(play, "Background").is(200).has("/status", "Success");
    let path = map(play, "d", &json!({"finalizers": ["orphan", "example.com/hold"]}));
    let held = play.delete(format!("{path}?propagationPolicy=Background")).is(200);
    held.has("/metadata/finalizers", json!(["example.com/hold"]));
}

fn propagation_that_is_none(play: &mut Play) {
    propagate(play, "Sideways").rejected(422, "Invalid");
    let both = json!({"propagationPolicy": "Orphan", "orphanDependents": true});
    play.delete_with(play.core("configmaps/c"), &both).rejected(422, "Invalid");
}

fn a_dry_deletion(play: &mut Play) {
    let path = map(play, "c", &json!({}));
    play.delete(format!("{path}?dryRun=All")).is(200);
    play.delete_with(&path, &json!({"dryRun": ["All"]})).is(200);
    play.delete_with(&path, &json!({"dryRun": ["Some"]})).rejected(422, "Invalid");
    play.get(&path).is(200).lacks("/metadata/deletionTimestamp");
}

fn a_dry_deletion_of_a_bound_pod(play: &mut Play) {
    play.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    play.delete(play.core("pods/web?dryRun=All")).is(200).some("/metadata/deletionTimestamp");
    play.get(play.core("pods/web")).is(200).lacks("/metadata/deletionTimestamp");
}

fn a_collection(play: &mut Play) {
    map(play, "a", &json!({}));
    map(play, "b", &json!({"finalizers": ["example.com/hold"]}));
    play.delete(play.core("configmaps")).is(200).has("/kind", "ConfigMapList");
    play.get(play.core("configmaps")).is(200).lists(&["b"]);
    play.delete(play.core("secrets")).is(200);
}

fn a_collection_of_some(play: &mut Play) {
    map(play, "a", &json!({"labels": {"x": "1"}}));
    map(play, "b", &json!({"labels": {"x": "2"}}));
    map(play, "c", &json!({"labels": {"x": "1"}}));
    play.delete(play.core("configmaps?labelSelector=x%3D1&fieldSelector=metadata.name!%3Dc")).is(200);
    play.get(play.core("configmaps")).is(200).lists(&["b", "c"]);
    play.delete(play.core("configmaps?fieldSelector=data%3Da")).is(400);
    for (name, node) in [("p", "n1"), ("q", "n2")] {
        play.create_pod(name, &json!({"nodeName": node, "terminationGracePeriodSeconds": 30}));
    }
    play.delete(play.core("pods?fieldSelector=spec.nodeName%3Dn1")).is(200);
    play.check(&["/items/*/metadata/deletionGracePeriodSeconds"], play.core("pods")).is(200);
}

fn a_collection_dry(play: &mut Play) {
    map(play, "a", &json!({}));
    play.delete(play.core("configmaps?dryRun=All")).is(200);
    play.get(play.core("configmaps")).is(200).lists(&["a"]);
}

fn options_that_are_none(play: &mut Play) {
    let path = map(play, "c", &json!({}));
    play.send(Request::new("DELETE", &path).body("application/json", "{")).is(400);
    play.send(Request::new("DELETE", &path).body("text/plain", "{}")).is(415);
    play.delete_with(&path, &json!({"kind": "Nonsense", "apiVersion": "v1"})).is(400);
    play.delete_with(&path, &json!({"preconditions": "x"})).is(400);
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "colour": "red"});
    play.delete_with(&path, &options).is(200);
}

fn a_collection_everywhere(play: &mut Play) {
    play.delete("/api/v1/configmaps").rejected(405, "MethodNotAllowed");
    play.delete(play.core("configmaps/")).is(200);
}

fn what_terminates_may_still_change(play: &mut Play) {
    play.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    let path = play.core("pods/web");
    play.delete(&path).is(200);
    play.patch(&path, MERGE, &json!({"metadata": {"labels": {"x": "y"}}})).is(200);
    play.patch(play.core("pods/web/status"), MERGE, &json!({"status": {"phase": "Failed"}})).is(200);
    play.post(play.core("pods"), &super::play::pod_with("web", &json!({}))).rejected(409, "AlreadyExists");
    play.patch(&path, MERGE, &json!({"metadata": {"deletionGracePeriodSeconds": 5}}));
    play.patch(&path, MERGE, &json!({"metadata": {"deletionTimestamp": null}}));
}
