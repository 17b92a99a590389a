//! Compares deletion: preconditions, grace periods, finalizers, collections.

use super::cases;
use super::harness::{ConformanceHarness, MERGE, RecordedRequest};
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

fn map(harness: &mut ConformanceHarness, name: &str, metadata: &Value) -> String {
    let path = harness.core("configmaps");
    let mut metadata = metadata.clone();
    metadata["name"] = name.into();
    harness.given(&path, &json!({"metadata": metadata}));
    format!("{path}/{name}")
}

fn a_map_is_gone_immediately(harness: &mut ConformanceHarness) {
    let path = map(harness, "c", &json!({}));
    harness
        .delete(&path)
        .is(200)
        .has("/status", "Success")
        .has("/details/kind", "configmaps")
        .some("/details/uid");
    harness.get(&path).rejected(404, "NotFound");
}

fn a_node_is_gone_immediately(harness: &mut ConformanceHarness) {
    let node = harness.create_node("n", &json!({}));
    harness.delete(format!("/api/v1/nodes/{node}")).is(200).has("/status", "Success");
}

fn deleting_a_missing_object(harness: &mut ConformanceHarness) {
    let path = map(harness, "c", &json!({}));
    harness.delete(&path).is(200);
    harness.delete(&path).rejected(404, "NotFound");
    harness.delete_with(&path, &json!({"preconditions": {"uid": WRONG_UID}})).rejected(404, "NotFound");
}

fn for_this_uid(harness: &mut ConformanceHarness) {
    let path = map(harness, "c", &json!({}));
    let uid = harness.get(&path).is(200).uid();
    let wrong = harness.delete_with(&path, &json!({"preconditions": {"uid": WRONG_UID}}));
    wrong.rejected(409, "Conflict").contains("the UID in the precondition");
    harness.delete_with(&path, &json!({"preconditions": {"uid": uid}})).is(200);
}

fn for_this_version(harness: &mut ConformanceHarness) {
    let web = harness.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    let path = harness.core("pods/web");
    harness.arranged(&path, MERGE, &json!({"metadata": {"labels": {"x": "y"}}}));
    let old = json!({"preconditions": {"resourceVersion": web["metadata"]["resourceVersion"]}});
    harness
        .delete_with(&path, &old)
        .rejected(409, "Conflict")
        .contains("the ResourceVersion in the precondition");
    let now = harness.get(&path).is(200).version();
    harness.delete_with(&path, &json!({"preconditions": {"resourceVersion": now}})).is(200);
    // The deletion has changed it.
    harness.delete_with(&path, &json!({"preconditions": {"resourceVersion": now}})).rejected(409, "Conflict");
}

fn a_bound_pod_without_grace(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({"nodeName": "n1"}));
    harness
        .delete(harness.core("pods/web"))
        .is(200)
        .has("/kind", "Pod")
        .has("/metadata/deletionGracePeriodSeconds", 0);
    harness.get(harness.core("pods/web")).rejected(404, "NotFound");
}

fn a_bound_pod_terminates(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    let path = harness.core("pods/web");
    let first = harness.delete(&path).is(200).has("/metadata/deletionGracePeriodSeconds", 30);
    let version = first.version();
    first.some("/metadata/deletionTimestamp");
    let again = harness.delete(&path).is(200);
    assert_eq!(again.version(), version, "a second deletion changes nothing");
    harness.get(&path).is(200).has("/metadata/generation", 2);
}

fn a_pod_that_is_nowhere_goes_immediately(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({"terminationGracePeriodSeconds": 30}));
    let path = harness.core("pods/web");
    harness.delete(&path).is(200).has("/kind", "Pod").has("/metadata/deletionGracePeriodSeconds", 0);
    harness.get(&path).rejected(404, "NotFound");
}

fn a_finished_pod_goes_immediately(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    harness.arranged(&harness.core("pods/web/status"), MERGE, &json!({"status": {"phase": "Succeeded"}}));
    harness.delete(harness.core("pods/web")).is(200);
    harness.get(harness.core("pods/web")).rejected(404, "NotFound");
}

fn grace_may_become_shorter(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    let path = harness.core("pods/web");
    let seconds = "/metadata/deletionGracePeriodSeconds";
    harness.delete_with(&path, &json!({"gracePeriodSeconds": 20})).is(200).has(seconds, 20);
    harness.delete_with(&path, &json!({"gracePeriodSeconds": 25})).is(200).has(seconds, 20);
    harness.delete_with(&path, &json!({"gracePeriodSeconds": 10})).is(200).has(seconds, 10);
    harness.delete_with(&path, &json!({"gracePeriodSeconds": 0})).is(200).has(seconds, 0);
    harness.get(&path).rejected(404, "NotFound");
}

fn a_pod_of_zero_grace_by_query(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    harness.delete(harness.core("pods/web?gracePeriodSeconds=0")).is(200);
    harness.get(harness.core("pods/web")).rejected(404, "NotFound");
}

fn grace_that_is_none(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    harness.delete(harness.core("pods/web?gracePeriodSeconds=x")).is(400);
    harness.delete_with(harness.core("pods/web"), &json!({"gracePeriodSeconds": "5"})).is(400);
    harness.delete_with(harness.core("pods/web"), &json!({"gracePeriodSeconds": -1})).is(200);
}

fn a_terminating_pod_is_finished(harness: &mut ConformanceHarness) {
    let web = harness.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    let path = harness.core("pods/web");
    harness.delete(&path).is(200);
    let options = json!({"gracePeriodSeconds": 0, "preconditions": {"uid": web["metadata"]["uid"]}});
    harness.delete_with(&path, &options).is(200).has("/kind", "Pod");
    harness.get(&path).rejected(404, "NotFound");
}

fn a_finalizer_holds(harness: &mut ConformanceHarness) {
    let path = map(harness, "c", &json!({"finalizers": ["example.com/hold"]}));
    let held = harness.delete(&path).is(200).has("/kind", "ConfigMap").some("/metadata/deletionTimestamp");
    held.has("/metadata/deletionGracePeriodSeconds", 0);
    harness.delete(&path).is(200);
    let free = json!({"metadata": {"finalizers": null}});
    harness.patch(&path, MERGE, &free).is(200).some("/metadata/deletionTimestamp");
    harness.get(&path).rejected(404, "NotFound");
}

fn a_finalizer_holds_a_pod(harness: &mut ConformanceHarness) {
    let mut web =
        super::harness::pod_with("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    web["metadata"]["finalizers"] = json!(["example.com/hold"]);
    harness.given(&harness.core("pods"), &web);
    let path = harness.core("pods/web");
    harness.delete(&path).is(200).has("/metadata/deletionGracePeriodSeconds", 30);
    harness.delete_with(&path, &json!({"gracePeriodSeconds": 0})).is(200);
    harness.get(&path).is(200).has("/metadata/deletionGracePeriodSeconds", 0);
    harness.patch(&path, MERGE, &json!({"metadata": {"finalizers": []}})).is(200);
    harness.get(&path).rejected(404, "NotFound");
}

fn no_new_finalizers_at_the_end(harness: &mut ConformanceHarness) {
    let path = map(harness, "c", &json!({"finalizers": ["example.com/hold"]}));
    harness.delete(&path).is(200);
    let more = json!({"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}});
    harness.patch(&path, MERGE, &more).rejected(422, "Invalid").contains("no new finalizers can be added");
    harness.patch(&path, MERGE, &json!({"metadata": {"finalizers": []}})).is(200);
}

fn propagate(harness: &mut ConformanceHarness, policy: &str) -> super::harness::RecordedResponse {
    let path = map(harness, "c", &json!({}));
    harness.delete_with(&path, &json!({"propagationPolicy": policy}))
}

fn propagation_foreground(harness: &mut ConformanceHarness) {
    let held = propagate(harness, "Foreground").is(200);
    held.has("/metadata/finalizers", json!(["foregroundDeletion"]));
}

fn propagation_orphan(harness: &mut ConformanceHarness) {
    propagate(harness, "Orphan").is(200).has("/metadata/finalizers", json!(["orphan"]));
    let path = map(harness, "d", &json!({}));
    harness.delete_with(&path, &json!({"orphanDependents": true})).is(200);
}

fn propagation_background(harness: &mut ConformanceHarness) {
    propagate(harness, "Background").is(200).has("/status", "Success");
    let path = map(harness, "d", &json!({"finalizers": ["orphan", "example.com/hold"]}));
    let held = harness.delete(format!("{path}?propagationPolicy=Background")).is(200);
    held.has("/metadata/finalizers", json!(["example.com/hold"]));
}

fn propagation_that_is_none(harness: &mut ConformanceHarness) {
    propagate(harness, "Sideways").rejected(422, "Invalid");
    let both = json!({"propagationPolicy": "Orphan", "orphanDependents": true});
    harness.delete_with(harness.core("configmaps/c"), &both).rejected(422, "Invalid");
}

fn a_dry_deletion(harness: &mut ConformanceHarness) {
    let path = map(harness, "c", &json!({}));
    harness.delete(format!("{path}?dryRun=All")).is(200);
    harness.delete_with(&path, &json!({"dryRun": ["All"]})).is(200);
    harness.delete_with(&path, &json!({"dryRun": ["Some"]})).rejected(422, "Invalid");
    harness.get(&path).is(200).lacks("/metadata/deletionTimestamp");
}

fn a_dry_deletion_of_a_bound_pod(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    harness.delete(harness.core("pods/web?dryRun=All")).is(200).some("/metadata/deletionTimestamp");
    harness.get(harness.core("pods/web")).is(200).lacks("/metadata/deletionTimestamp");
}

fn a_collection(harness: &mut ConformanceHarness) {
    map(harness, "a", &json!({}));
    map(harness, "b", &json!({"finalizers": ["example.com/hold"]}));
    harness.delete(harness.core("configmaps")).is(200).has("/kind", "ConfigMapList");
    harness.get(harness.core("configmaps")).is(200).lists(&["b"]);
    harness.delete(harness.core("secrets")).is(200);
}

fn a_collection_of_some(harness: &mut ConformanceHarness) {
    map(harness, "a", &json!({"labels": {"x": "1"}}));
    map(harness, "b", &json!({"labels": {"x": "2"}}));
    map(harness, "c", &json!({"labels": {"x": "1"}}));
    harness.delete(harness.core("configmaps?labelSelector=x%3D1&fieldSelector=metadata.name!%3Dc")).is(200);
    harness.get(harness.core("configmaps")).is(200).lists(&["b", "c"]);
    harness.delete(harness.core("configmaps?fieldSelector=data%3Da")).is(400);
    for (name, node) in [("p", "n1"), ("q", "n2")] {
        harness.create_pod(name, &json!({"nodeName": node, "terminationGracePeriodSeconds": 30}));
    }
    harness.delete(harness.core("pods?fieldSelector=spec.nodeName%3Dn1")).is(200);
    harness.check(&["/items/*/metadata/deletionGracePeriodSeconds"], harness.core("pods")).is(200);
}

fn a_collection_dry(harness: &mut ConformanceHarness) {
    map(harness, "a", &json!({}));
    harness.delete(harness.core("configmaps?dryRun=All")).is(200);
    harness.get(harness.core("configmaps")).is(200).lists(&["a"]);
}

fn options_that_are_none(harness: &mut ConformanceHarness) {
    let path = map(harness, "c", &json!({}));
    harness.send(RecordedRequest::new("DELETE", &path).body("application/json", "{")).is(400);
    harness.send(RecordedRequest::new("DELETE", &path).body("text/plain", "{}")).is(415);
    harness.delete_with(&path, &json!({"kind": "Nonsense", "apiVersion": "v1"})).is(400);
    harness.delete_with(&path, &json!({"preconditions": "x"})).is(400);
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "colour": "red"});
    harness.delete_with(&path, &options).is(200);
}

fn a_collection_everywhere(harness: &mut ConformanceHarness) {
    harness.delete("/api/v1/configmaps").rejected(405, "MethodNotAllowed");
    harness.delete(harness.core("configmaps/")).is(200);
}

fn what_terminates_may_still_change(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({"nodeName": "n1", "terminationGracePeriodSeconds": 30}));
    let path = harness.core("pods/web");
    harness.delete(&path).is(200);
    harness.patch(&path, MERGE, &json!({"metadata": {"labels": {"x": "y"}}})).is(200);
    harness.patch(harness.core("pods/web/status"), MERGE, &json!({"status": {"phase": "Failed"}})).is(200);
    harness
        .post(harness.core("pods"), &super::harness::pod_with("web", &json!({})))
        .rejected(409, "AlreadyExists");
    harness.patch(&path, MERGE, &json!({"metadata": {"deletionGracePeriodSeconds": 5}}));
    harness.patch(&path, MERGE, &json!({"metadata": {"deletionTimestamp": null}}));
}
