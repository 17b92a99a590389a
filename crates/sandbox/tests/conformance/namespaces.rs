//! Compares creation and deletion of namespaces.

use super::cases;
use super::play::{MERGE, Play, pod_with};
use serde_json::json;

cases![
    a_namespace_is_made,
    a_namespace_ends,
    a_namespace_that_is_ending_takes_nothing,
    a_namespace_is_finalized,
    namespaces_that_stay,
    names_of_namespaces,
    the_first_namespaces,
];

fn a_namespace_is_made(play: &mut Play) {
    let name = play.named("n");
    let made = play.post("/api/v1/namespaces", &json!({"metadata": {"name": name}})).is(201);
    made.has("/status/phase", "Active")
        .has("/spec/finalizers", json!(["kubernetes"]))
        .has("/metadata/labels/kubernetes.io~1metadata.name", name.as_str());
    play.post("/api/v1/namespaces", &json!({"metadata": {"name": name}})).rejected(409, "AlreadyExists");
    let path = format!("/api/v1/namespaces/{name}");
    play.patch(&path, MERGE, &json!({"metadata": {"labels": {"kubernetes.io/metadata.name": "x"}}})).is(200);
}

/// Creates an object that keeps the namespace from being removed.
fn hold(play: &mut Play) -> String {
    let mut web = pod_with("web", &json!({}));
    web["metadata"]["finalizers"] = json!(["example.com/hold"]);
    play.given(&play.core("pods"), &web);
    format!("/api/v1/namespaces/{}", play.own)
}

/// The fields that are the same whether or not a controller is emptying the namespace.
const STEADY: [&str; 3] = ["/kind", "/spec", "/status/phase"];

fn a_namespace_ends(play: &mut Play) {
    let path = hold(play);
    play.keeping(&STEADY)
        .delete(&path)
        .is(200)
        .has("/status/phase", "Terminating")
        .some("/metadata/deletionTimestamp");
    play.check(&STEADY, &path).is(200).has("/status/phase", "Terminating");
    play.keeping(&STEADY).delete(&path);
}

fn a_namespace_that_is_ending_takes_nothing(play: &mut Play) {
    let path = hold(play);
    play.keeping(&STEADY).delete(&path).is(200);
    let rejected = play.post(play.core("configmaps"), &json!({"metadata": {"name": "c"}}));
    let rejected = rejected.rejected(403, "Forbidden").contains("because it is being terminated");
    rejected.has("/details/causes/0/reason", "NamespaceTerminating");
    play.patch(play.core("pods/web"), MERGE, &json!({"metadata": {"labels": {"x": "y"}}})).is(200);
}

fn a_namespace_is_finalized(play: &mut Play) {
    let name = play.named("n");
    play.given("/api/v1/namespaces", &json!({"metadata": {"name": name}}));
    let path = format!("/api/v1/namespaces/{name}");
    let other =
        json!({"metadata": {"name": name}, "spec": {"finalizers": ["kubernetes", "example.com/hold"]}});
    play.put(&path, &other).is(200).has("/spec/finalizers", json!(["kubernetes"]));
    play.put(format!("{path}/finalize"), &other).is(200).some("/spec/finalizers/1");
    play.keeping(&STEADY).delete(&path).is(200);
    let free = json!({"metadata": {"name": name}, "spec": {"finalizers": []}});
    play.keeping(&STEADY).put(format!("{path}/finalize"), &free).is(200);
    play.get(&path);
}

fn namespaces_that_stay(play: &mut Play) {
    for name in ["default", "kube-system", "kube-public"] {
        play.delete(format!("/api/v1/namespaces/{name}")).rejected(403, "Forbidden");
    }
}

fn names_of_namespaces(play: &mut Play) {
    for name in ["a.b", "Upper", "a_b", "-"] {
        play.post("/api/v1/namespaces", &json!({"metadata": {"name": name}})).rejected(422, "Invalid");
    }
    let long = "x".repeat(64);
    play.post("/api/v1/namespaces", &json!({"metadata": {"name": long}})).rejected(422, "Invalid");
    let name = play.named("n");
    let inside = json!({"metadata": {"name": name, "namespace": "m"}});
    play.post("/api/v1/namespaces", &inside).is(201).lacks("/metadata/namespace");
}

fn the_first_namespaces(play: &mut Play) {
    for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
        play.check(&["/kind", "/metadata/name", "/spec", "/status"], format!("/api/v1/namespaces/{name}"))
            .is(200)
            .has("/status/phase", "Active");
    }
}
