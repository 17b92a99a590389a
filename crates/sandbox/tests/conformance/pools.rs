//! Compares DedicatedPools and TolerationPolicies: create, change, list, watch, delete.

use super::cases;
use super::discovery::only;
use super::harness::{APPLY, ConformanceHarness, JSON_PATCH, MERGE, RecordedRequest, STRATEGIC};
use serde_json::{Value, json};

pub(super) const POOLS: &str = "/apis/taintward.io/v1alpha1/dedicatedpools";
pub(super) const POLICIES: &str = "/apis/taintward.io/v1alpha1/tolerationpolicies";

cases![
    created,
    created_with_everything,
    policies,
    updated,
    status_apart,
    patched,
    applied,
    applied_and_taken,
    shown_in_columns,
    forms,
    selected,
    held_back,
    deleted,
    discovery_lists_pools,
    found,
];

pub(super) fn spec() -> Value {
    json!({
        "taint": {"key": "example.com/pool", "value": "a"},
        "nodes": {"names": ["nobody"]},
        "users": {"groups": ["team-a"]},
    })
}

pub(super) fn whole(name: &str, spec: &Value) -> Value {
    let labels = json!({"conformance": name});
    json!({
        "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool",
        "metadata": {"name": name, "labels": labels}, "spec": spec,
    })
}

pub(super) fn policy(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "taintward.io/v1alpha1", "kind": "TolerationPolicy", "metadata": {"name": name}, "spec": spec,
    })
}

pub(super) fn one(name: &str) -> String {
    format!("{POOLS}/{name}")
}

fn created(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    harness.post(POOLS, &whole(&name, &spec())).is(201).has("/spec/placement", "Exclusive");
    harness.get(one(&name)).is(200).has("/spec/taint/effects/0", "NoSchedule").has("/metadata/generation", 1);
    harness.post(POOLS, &whole(&name, &spec())).rejected(409, "AlreadyExists");
    harness.get(one("nobody")).rejected(404, "NotFound");
    let generated = json!({
        "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool",
        "metadata": {"generateName": "conformance-"}, "spec": spec(),
    });
    harness.post(POOLS, &generated).is(201);
    harness.post(format!("{POOLS}?dryRun=All"), &whole(&harness.named("dry"), &spec())).is(201);
    let dry = harness.named("dry");
    harness.get(one(&dry)).is(404);
}

fn created_with_everything(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    let selector = json!({
        "matchLabels": {"a": "b"},
        "matchExpressions": [{"key": "c", "operator": "In", "values": ["d"]}, {"key": "e", "operator": "Exists"}],
    });
    let spec = json!({
        "taint": {"key": "example.com/pool", "effects": ["NoExecute", "NoSchedule"]},
        "label": {"key": "example.com/label"},
        "nodes": {"names": ["n1", "n2"], "selector": selector},
        "users": {
            "namespaceSelector": {}, "serviceAccounts": [{"namespace": "x", "name": "y"}], "users": ["jane"],
            "groups": ["a", "b"],
        },
        "placement": "Allowed", "enforcement": "Off",
    });
    let mut object = whole(&name, &spec);
    object["status"] = json!({"nodes": 7});
    object["metadata"]["generation"] = json!(7);
    harness.post(POOLS, &object).is(201).lacks("/status").has("/metadata/generation", 1);
}

fn policies(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    let spec = json!({
        "namespaceSelector": {"matchLabels": {"tier": "web"}}, "notReadySeconds": 30, "unreachableSeconds": "forever",
        "bounds": {"least": 5, "most": 600},
    });
    harness.post(POLICIES, &policy(&name, &spec)).is(201).has("/spec/priority", 0);
    let path = format!("{POLICIES}/{name}");
    harness.patch(&path, MERGE, &json!({"spec": {"priority": 3}})).is(200).has("/metadata/generation", 2);
    harness.patch(&path, MERGE, &json!({"spec": {"priority": null}})).is(200).has("/spec/priority", 0);
    harness.patch(&path, MERGE, &json!({"status": {"x": 1}})).is(200).lacks("/status");
    let progress = json!({"status": {"x": 1, "backfill": {"current": 3}}, "spec": {"priority": 9}});
    harness
        .patch(format!("{path}/status"), MERGE, &progress)
        .is(200)
        .has("/status/backfill/current", 3)
        .has("/spec/priority", 0)
        .lacks("/status/x");
    harness
        .patch(&path, MERGE, &json!({"metadata": {"labels": {"x": "y"}}}))
        .is(200)
        .has("/metadata/generation", 3);
    harness.get_as(&path, "application/json;as=Table;v=v1;g=meta.k8s.io").is(200);
    harness.delete(&path).is(200);
}

fn updated(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    let mut object = harness.post(POOLS, &whole(&name, &spec())).is(201).body;
    let bare = whole(&name, &spec());
    harness.put(one(&name), &bare).rejected(422, "Invalid");
    object["spec"]["placement"] = json!("Allowed");
    object["status"] = json!({"nodes": 3});
    let second = harness.put(one(&name), &object).is(200).has("/metadata/generation", 2).lacks("/status");
    harness.put(one(&name), &object).rejected(409, "Conflict");
    let same = second.body;
    harness.put(one(&name), &same).is(200).has("/metadata/generation", 2);
    let mut wrong = same.clone();
    wrong["spec"]["placement"] = json!("Never");
    harness.put(one(&name), &wrong).rejected(422, "Invalid");
    let mut less = same.clone();
    less["spec"].as_object_mut().unwrap().remove("placement");
    harness.put(one(&name), &less).is(200).has("/spec/placement", "Exclusive");
    harness.put(one("nobody"), &whole("nobody", &spec())).rejected(404, "NotFound");
}

fn status_apart(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    harness.post(POOLS, &whole(&name, &spec())).is(201);
    let status = format!("{}/status", one(&name));
    let ready = json!({
        "type": "Ready", "status": "True", "reason": "Applied", "message": "m",
        "lastTransitionTime": "2024-01-01T00:00:00Z", "observedGeneration": 1,
    });
    let patch = json!({
        "metadata": {"labels": {"x": "y"}}, "spec": {"placement": "Allowed"},
        "status": {"nodes": 3, "pods": 4, "conditions": [ready], "other": 1,
            "past": [{"kind": "Label", "key": "a", "value": "b"}]},
    });
    let after =
        harness.patch(&status, MERGE, &patch).is(200).has("/status/nodes", 3).has("/metadata/generation", 1);
    let after = after.has("/spec/placement", "Exclusive").lacks("/metadata/labels/x");
    let mut object = after.body;
    object["status"]["nodes"] = json!(5);
    harness.put(&status, &object).is(200).has("/status/nodes", 5);
    harness.get(&status).is(200).has("/status/pods", 4);
    harness
        .patch(one(&name), MERGE, &json!({"spec": {"placement": "Allowed"}, "status": null}))
        .is(200)
        .has("/status/nodes", 5);
    for wrong in [
        json!({"nodes": -1}),
        json!({"nodes": "many"}),
        json!({"conditions": [{"type": "Ready"}]}),
        json!({"conditions": [ready, ready]}),
        json!({"past": [{"kind": "Taint", "key": "a"}]}),
        json!({"offenders": [{"namespace": "a"}]}),
    ] {
        harness.patch(&status, MERGE, &json!({"status": wrong})).rejected(422, "Invalid");
    }
    let mut untimed = ready.clone();
    untimed["lastTransitionTime"] = json!("yesterday");
    harness.patch(&status, MERGE, &json!({"status": {"conditions": [untimed]}})).rejected(422, "Invalid");
}

fn patched(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    harness.post(POOLS, &whole(&name, &spec())).is(201);
    let path = one(&name);
    harness.patch(&path, MERGE, &json!({"spec": {"users": {"groups": null, "users": ["jane"]}}})).is(200);
    harness
        .patch(&path, JSON_PATCH, &json!([{"op": "add", "path": "/spec/users/users/-", "value": "john"}]))
        .is(200);
    harness.patch(&path, JSON_PATCH, &json!([{"op": "test", "path": "/spec/placement", "value": "Allowed"}]));
    harness
        .patch(&path, JSON_PATCH, &json!([{"op": "remove", "path": "/spec/taint"}]))
        .rejected(422, "Invalid");
    harness
        .patch(&path, STRATEGIC, &json!({"spec": {"placement": "Allowed"}}))
        .rejected(415, "UnsupportedMediaType");
    harness
        .send(RecordedRequest::new("PATCH", path.clone()).body("application/json", "{}"))
        .rejected(415, "UnsupportedMediaType");
    harness.patch(&path, MERGE, &json!({"spec": {"placement": 7}})).rejected(422, "Invalid");
    harness.patch(&path, MERGE, &json!({"spec": null}));
    harness
        .patch(&path, MERGE, &json!({"metadata": {"annotations": {"a": "b"}}}))
        .is(200)
        .has("/metadata/generation", 3);
    harness.patch(one("nobody"), MERGE, &json!({})).rejected(404, "NotFound");
}

fn applied(harness: &mut ConformanceHarness) {
    let path = |harness: &ConformanceHarness, manager: &str| {
        format!("{}?fieldManager={manager}", one(&harness.named("p")))
    };
    let name = harness.named("p");
    harness.patch(path(harness, "one"), APPLY, &whole(&name, &spec())).is(201);
    let other = json!({
        "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": name},
        "spec": {"users": {"groups": ["team-b"], "serviceAccounts": [{"namespace": "x", "name": "y"}]}, "placement": "Allowed"},
    });
    harness.patch(path(harness, "two"), APPLY, &other).is(200);
    let both = harness.get(one(&name)).is(200);
    assert_eq!(
        both.body["spec"]["users"]["groups"],
        json!(["team-a", "team-b"]),
        "each item of a set has its own manager"
    );
    let against = json!({
        "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": name},
        "spec": {"taint": {"key": "other"}, "nodes": {"selector": {"matchLabels": {"a": "b"}}}},
    });
    harness.patch(path(harness, "two"), APPLY, &against).rejected(409, "Conflict");
    harness.patch(path(harness, "two") + "&force=true", APPLY, &against).is(200);
    let mut unknown = whole(&name, &spec());
    unknown["spec"]["colour"] = json!("red");
    harness.patch(path(harness, "one") + "&force=true", APPLY, &unknown);
    let mut wrong = whole(&name, &spec());
    wrong["spec"]["users"]["groups"] = json!(["a", "a"]);
    harness.patch(path(harness, "one") + "&force=true", APPLY, &wrong);
    wrong["spec"]["users"]["groups"] = json!("a");
    harness.patch(path(harness, "one") + "&force=true", APPLY, &wrong);
}

fn applied_and_taken(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    let path = format!("{}?fieldManager=one", one(&name));
    let mut full = whole(&name, &spec());
    full["spec"]["users"] = json!({
        "groups": ["a", "b"], "serviceAccounts": [{"namespace": "n", "name": "x"}, {"namespace": "n", "name": "y"}],
    });
    harness.patch(&path, APPLY, &full).is(201);
    full["spec"]["users"] = json!({"groups": ["b"], "serviceAccounts": [{"namespace": "n", "name": "y"}]});
    harness.patch(&path, APPLY, &full).is(200);
    let status = json!({
        "apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": name},
        "status": {"nodes": 2, "conditions": [{"type": "Ready", "status": "True", "reason": "A", "message": "",
            "lastTransitionTime": "2024-01-01T00:00:00Z"}]},
    });
    harness
        .patch(format!("{}/status?fieldManager=two", one(&name)), APPLY, &status)
        .is(200)
        .has("/status/nodes", 2);
    harness.patch(&path, APPLY, &full).is(200).has("/status/nodes", 2);
}

fn shown_in_columns(harness: &mut ConformanceHarness) {
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let name = harness.named("p");
    let selected = format!("{POOLS}?labelSelector=conformance%3D{name}");
    harness.get_as(&selected, table).is(200);
    harness.post(POOLS, &whole(&name, &spec())).is(201);
    harness.get_as(&selected, table).is(200);
    harness.get_as(one(&name), table).is(200);
    let status = json!({"status": {"nodes": 3, "offenderCount": 0, "conditions": [
        {"type": "Advised", "status": "True", "reason": "B", "message": "", "lastTransitionTime": "2024-01-01T00:00:00Z"},
        {"type": "Ready", "status": "False", "reason": "A", "message": "", "lastTransitionTime": "2024-01-01T00:00:00Z"},
    ]}});
    harness.patch(format!("{}/status", one(&name)), MERGE, &status).is(200);
    harness.get_as(one(&name), table).is(200);
    harness.get_as(format!("{selected}&includeObject=None"), table).is(200);
}

fn forms(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    harness.post(POOLS, &whole(&name, &spec())).is(201);
    harness.get_as(one(&name), "application/vnd.kubernetes.protobuf,application/json").is(200);
    harness.get_as(one(&name), "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io").is(200);
    harness.get_as(
        one(&name),
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json",
    )
    .is(200);
    harness.get_as(one(&name), "text/html");
}

fn selected(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    harness.post(POOLS, &whole(&name, &spec())).is(201);
    harness.get(format!("{POOLS}?labelSelector=conformance%3D{name}")).is(200).lists(&[&name]);
    harness.get(format!("{POOLS}?fieldSelector=metadata.name%3D{name}")).is(200).lists(&[&name]);
    harness.get(format!("{POOLS}?fieldSelector=spec.placement%3DAllowed")).rejected(400, "BadRequest");
}

fn held_back(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    let mut object = whole(&name, &spec());
    object["metadata"]["finalizers"] = json!(["taintward.io/pool"]);
    harness.post(POOLS, &object).is(201);
    harness.delete(one(&name)).is(200).some("/metadata/deletionTimestamp");
    harness.get(one(&name)).is(200).has("/metadata/generation", 2);
    harness.patch(one(&name), MERGE, &json!({"metadata": {"finalizers": ["taintward.io/pool", "x.y/z"]}}));
    harness.patch(one(&name), MERGE, &json!({"metadata": {"finalizers": null}})).is(200);
    harness.get(one(&name)).rejected(404, "NotFound");
}

fn deleted(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    harness.post(POOLS, &whole(&name, &spec())).is(201);
    harness
        .delete_with(one(&name), &json!({"preconditions": {"uid": "00000000-0000-4000-8000-000000000000"}}))
        .rejected(409, "Conflict");
    harness.delete(one(&name)).is(200);
    harness.delete(one(&name)).rejected(404, "NotFound");
    harness.post(POOLS, &whole(&name, &spec())).is(201);
    harness.delete(format!("{POOLS}?labelSelector=conformance%3D{name}")).is(200);
    harness.get(one(&name)).is(404);
}

fn discovery_lists_pools(harness: &mut ConformanceHarness) {
    let name = harness.named("p");
    let version = harness.request(&RecordedRequest::new("GET", POOLS)).version();
    let selected = format!("fieldSelector=metadata.name%3D{name}");
    let mut watch =
        harness.watch(&format!("{POOLS}?watch=true&resourceVersion={version}&{selected}&timeoutSeconds=20"));
    harness.post(POOLS, &whole(&name, &spec())).is(201);
    watch.reports(harness, "ADDED", &name);
    harness.patch(one(&name), MERGE, &json!({"spec": {"placement": "Allowed"}})).is(200);
    watch.reports(harness, "MODIFIED", &name);
    let path =
        format!("{POOLS}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&{selected}");
    let mut table = harness.watch_as(
        &format!("{path}&allowWatchBookmarks=true&timeoutSeconds=20"),
        "application/json;as=Table;v=v1;g=meta.k8s.io",
    );
    table.next(harness);
    table.next(harness);
    let mut plain = harness.watch(&format!("{path}&allowWatchBookmarks=true&timeoutSeconds=20"));
    plain.next(harness);
    plain.next(harness);
    harness.delete(one(&name)).is(200);
    watch.reports(harness, "DELETED", &name);
}

fn found(harness: &mut ConformanceHarness) {
    harness.get("/apis/taintward.io").is(200);
    harness.get("/apis/taintward.io/v1alpha1").is(200);
    // A real server lists them in no fixed order.
    only(harness, "/resources", "/name", &["dedicatedpools", "dedicatedpools/status", "tolerationpolicies"]);
    harness.get("/apis/taintward.io/v1").is(404);
    harness.get("/apis/taintward.io/v1alpha1/nothing").is(404);
    harness.get("/apis/taintward.io/v1alpha1/namespaces/default/dedicatedpools").is(404);
}
