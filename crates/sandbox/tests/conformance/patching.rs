//! Compares JSON patches, merge patches and strategic merge patches.

use super::cases;
use super::harness::{ConformanceHarness, JSON_PATCH, MERGE, RecordedRequest, STRATEGIC};
use serde_json::{Value, json};

cases![
    a_json_patch,
    a_json_patch_that_tests,
    a_json_patch_that_does_not_fit,
    a_json_patch_that_is_none,
    a_json_patch_moves_and_copies,
    a_merge_patch,
    a_merge_patch_that_is_none,
    a_patch_of_a_missing_object,
    a_patch_of_nothing,
    a_patch_for_a_version,
    a_patch_for_a_uid,
    a_patch_of_the_name,
    an_unsupported_patch_type,
    a_patch_that_makes_it_invalid,
    unknown_fields_in_a_patch,
    a_dry_patch,
    taints_strategically,
    tolerations_strategically,
    containers_strategically,
    finalizers_strategically,
    strategic_directives,
    conditions_strategically,
    strategic_that_is_none,
    a_status_patch_leaves_the_spec_alone,
    a_pod_is_marked,
    force_is_for_apply,
    managers_of_patches,
];

fn map(harness: &mut ConformanceHarness) -> String {
    let path = harness.core("configmaps");
    harness.given(
        &path,
        &json!({"metadata": {"name": "c", "labels": {"x": "y"}}, "data": {"a": "b", "c": "d"}}),
    );
    format!("{path}/c")
}

fn a_json_patch(harness: &mut ConformanceHarness) {
    let map = map(harness);
    let patch = json!([{"op": "replace", "path": "/data/a", "value": "z"}, {"op": "remove", "path": "/data/c"},
        {"op": "add", "path": "/metadata/labels/example.com~1a", "value": "w"}]);
    let patched = harness.patch(map, JSON_PATCH, &patch).is(200);
    patched.has("/data", json!({"a": "z"})).has("/metadata/labels/example.com~1a", "w");
}

fn a_json_patch_that_tests(harness: &mut ConformanceHarness) {
    let map = map(harness);
    let test = |value| {
        json!([{"op": "test", "path": "/data/a", "value": value},
        {"op": "add", "path": "/data/t", "value": "u"}])
    };
    harness.patch(&map, JSON_PATCH, &test("no")).rejected(422, "Invalid");
    harness.patch(&map, JSON_PATCH, &test("b")).is(200).has("/data/t", "u");
    let absent = |path| {
        json!([{"op": "test", "path": path, "value": null},
        {"op": "add", "path": "/data/v", "value": "w"}])
    };
    harness.patch(&map, JSON_PATCH, &absent("/absent/a")).rejected(422, "Invalid");
    harness.patch(&map, JSON_PATCH, &absent("/data/absent")).is(200).has("/data/v", "w");
}

fn a_json_patch_that_does_not_fit(harness: &mut ConformanceHarness) {
    let map = map(harness);
    for operation in [
        json!({"op": "remove", "path": "/data/none"}),
        json!({"op": "add", "path": "/none/such", "value": "a"}),
        json!({"op": "add", "path": "/metadata/finalizers/-", "value": "a"}),
        json!({"op": "move", "path": "/data/b", "from": "/data/none"}),
    ] {
        harness.patch(&map, JSON_PATCH, &json!([operation])).rejected(422, "Invalid");
    }
}

fn a_json_patch_that_is_none(harness: &mut ConformanceHarness) {
    let map = map(harness);
    for patch in [json!({}), json!("a"), json!([1])] {
        harness.patch(&map, JSON_PATCH, &patch).rejected(400, "BadRequest");
    }
    harness.patch(&map, JSON_PATCH, &json!([])).is(200);
    let many = vec![json!({"op": "test", "path": "/data/a", "value": "b"}); 10_001];
    harness.patch(&map, JSON_PATCH, &Value::Array(many)).rejected(413, "RequestEntityTooLarge");
}

fn a_json_patch_moves_and_copies(harness: &mut ConformanceHarness) {
    let map = map(harness);
    let patch = json!([{"op": "move", "from": "/data/a", "path": "/data/b"},
        {"op": "copy", "from": "/data/c", "path": "/data/e"}]);
    harness.patch(map, JSON_PATCH, &patch).is(200).has("/data", json!({"b": "b", "c": "d", "e": "d"}));
}

fn a_merge_patch(harness: &mut ConformanceHarness) {
    let map = map(harness);
    let patch = json!({"data": {"a": null, "e": "f"}, "metadata": {"labels": {"x": null}}});
    let patched = harness.patch(map, MERGE, &patch).is(200);
    patched.has("/data", json!({"c": "d", "e": "f"})).lacks("/metadata/labels");
}

fn a_merge_patch_that_is_none(harness: &mut ConformanceHarness) {
    let map = map(harness);
    for body in ["[]", "1", "\"a\"", "{", "", "null"] {
        harness.send(RecordedRequest::new("PATCH", &map).body(MERGE, body));
    }
    harness.send(RecordedRequest::new("PATCH", &map).body(MERGE, "{\"data\":")).rejected(400, "BadRequest");
    harness.patch(&map, MERGE, &json!({"data": "text"})).rejected(422, "Invalid");
}

fn a_patch_of_a_missing_object(harness: &mut ConformanceHarness) {
    for (kind, patch) in [(MERGE, json!({})), (STRATEGIC, json!({})), (JSON_PATCH, json!([]))] {
        harness.patch(harness.core("configmaps/none"), kind, &patch).rejected(404, "NotFound");
    }
}

fn a_patch_of_nothing(harness: &mut ConformanceHarness) {
    let map = map(harness);
    let version = harness.get(&map).is(200).version();
    for (kind, patch) in
        [(MERGE, json!({})), (STRATEGIC, json!({"data": {"a": "b"}})), (JSON_PATCH, json!([]))]
    {
        assert_eq!(harness.patch(&map, kind, &patch).is(200).version(), version);
    }
}

fn a_patch_for_a_version(harness: &mut ConformanceHarness) {
    let map = map(harness);
    let version = harness.get(&map).is(200).version();
    let patch = json!({"metadata": {"resourceVersion": version}, "data": {"a": "1"}});
    harness.patch(&map, MERGE, &patch).is(200);
    harness.patch(&map, MERGE, &patch).rejected(409, "Conflict").contains("the object has been modified");
    harness.patch(&map, STRATEGIC, &patch).rejected(409, "Conflict");
    let replace = json!([{"op": "replace", "path": "/metadata/resourceVersion", "value": version}]);
    harness.patch(&map, JSON_PATCH, &replace).is(409);
    harness.patch(&map, MERGE, &json!({"metadata": {"resourceVersion": "nonsense"}}));
    harness.patch(&map, MERGE, &json!({"metadata": {"resourceVersion": ""}, "data": {"a": "3"}}));
}

fn a_patch_for_a_uid(harness: &mut ConformanceHarness) {
    let map = map(harness);
    let patch = json!({"metadata": {"uid": "0c2b1e9c-9a58-4b59-a7d4-0f5f2e4d6a01"}});
    harness.patch(&map, MERGE, &patch).rejected(422, "Invalid");
    harness.create_pod("web", &json!({}));
    harness.patch(harness.core("pods/web"), STRATEGIC, &patch).rejected(422, "Invalid");
    harness.patch(harness.core("pods/web/status"), STRATEGIC, &patch);
}

fn a_patch_of_the_name(harness: &mut ConformanceHarness) {
    let map = map(harness);
    harness.patch(&map, MERGE, &json!({"metadata": {"name": "d"}})).is(400);
    harness.patch(&map, MERGE, &json!({"metadata": {"namespace": "elsewhere"}})).is(400);
    harness.patch(&map, MERGE, &json!({"kind": "Secret"}));
    harness.patch(&map, MERGE, &json!({"apiVersion": "v2"}));
    harness.patch(&map, MERGE, &json!({"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}}));
    harness.patch(
        &map,
        MERGE,
        &json!({"metadata": {"generation": 7, "deletionTimestamp": "2001-01-01T00:00:00Z"}}),
    );
}

fn an_unsupported_patch_type(harness: &mut ConformanceHarness) {
    let map = map(harness);
    for kind in ["application/json", "text/plain", "application/patch", "application/yaml"] {
        harness
            .send(RecordedRequest::new("PATCH", &map).body(kind, "{}"))
            .rejected(415, "UnsupportedMediaType");
    }
    harness.send(RecordedRequest::new("PATCH", &map).body("", "{}")).rejected(415, "UnsupportedMediaType");
}

fn a_patch_that_makes_it_invalid(harness: &mut ConformanceHarness) {
    let map = map(harness);
    harness.patch(&map, MERGE, &json!({"metadata": {"labels": {"a b": "c"}}})).rejected(422, "Invalid");
    harness.patch(&map, MERGE, &json!({"data": {"a": 1}})).rejected(422, "Invalid");
}

fn unknown_fields_in_a_patch(harness: &mut ConformanceHarness) {
    let map = map(harness);
    for (kind, patch) in [
        (MERGE, json!({"colour": "red"})),
        (STRATEGIC, json!({"colour": "red"})),
        (JSON_PATCH, json!([{"op": "add", "path": "/colour", "value": "red"}])),
    ] {
        let strict = harness.patch(format!("{map}?fieldValidation=Strict"), kind, &patch);
        assert!(matches!(strict.code, 400 | 422), "{}", strict.body);
        harness.patch(&map, kind, &patch).is(200).lacks("/colour");
    }
}

fn a_dry_patch(harness: &mut ConformanceHarness) {
    let map = map(harness);
    let patch = json!({"data": {"a": "z"}});
    harness.patch(format!("{map}?dryRun=All"), MERGE, &patch).is(200).has("/data/a", "z");
    harness.get(&map).is(200).has("/data/a", "b");
}

fn taints_strategically(harness: &mut ConformanceHarness) {
    let taint = |key: &str| json!({"key": key, "effect": "NoExecute"});
    let node = harness.create_node("n", &json!({"taints": [taint("a"), taint("b")]}));
    let path = format!("/api/v1/nodes/{node}?fieldManager=kubectl-taint&fieldValidation=Strict");
    let patched = harness.patch(&path, STRATEGIC, &json!({"spec": {"taints": [taint("c")]}})).is(200);
    patched.has("/spec/taints", json!([taint("c")]));
    harness.patch(&path, STRATEGIC, &json!({"spec": {"taints": null}})).is(200).lacks("/spec/taints");
    harness.patch(&path, STRATEGIC, &json!({"spec": {"taints": [taint("d")]}})).is(200);
    harness.patch(&path, STRATEGIC, &json!({"spec": {"taints": []}})).is(200);
}

fn tolerations_strategically(harness: &mut ConformanceHarness) {
    let old = json!([{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]);
    let web = harness.create_pod("web", &json!({"tolerations": old}));
    let mut all = web["spec"]["tolerations"].as_array().unwrap().clone();
    all.push(json!({"key": "b", "operator": "Exists"}));
    let patch = json!({"spec": {"tolerations": all}});
    harness.patch(harness.core("pods/web"), STRATEGIC, &patch).is(200).has("/spec/tolerations", json!(all));
    let only = json!({"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}});
    harness.patch(harness.core("pods/web"), STRATEGIC, &only).rejected(422, "Invalid");
}

fn containers_strategically(harness: &mut ConformanceHarness) {
    let two = json!([{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]);
    harness.create_pod("web", &json!({"containers": two}));
    let path = harness.core("pods/web");
    let by_name = |image: &str| json!({"spec": {"containers": [{"name": "b", "image": image}]}});
    let patched = harness.patch(&path, STRATEGIC, &by_name("k")).is(200);
    patched.has("/spec/containers/0/image", "i").has("/spec/containers/1/image", "k");
    harness.patch(&path, MERGE, &by_name("l")).rejected(422, "Invalid");
    let unknown = json!({"spec": {"containers": [{"name": "z", "image": "k"}]}});
    harness.patch(&path, STRATEGIC, &unknown).rejected(422, "Invalid");
    let nameless = json!({"spec": {"containers": [{"image": "k"}]}});
    harness.patch(&path, STRATEGIC, &nameless);
    let order = json!({"spec": {"$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
        "containers": [{"name": "a", "image": "m"}]}});
    harness.patch(&path, STRATEGIC, &order).is(200).has("/spec/containers/0/image", "m");
}

fn finalizers_strategically(harness: &mut ConformanceHarness) {
    let map = map(harness);
    let finalizers = |names: &[&str]| json!({"metadata": {"finalizers": names}});
    harness.patch(&map, STRATEGIC, &finalizers(&["example.com/a"])).is(200);
    let both = harness.patch(&map, STRATEGIC, &finalizers(&["example.com/b", "example.com/a"])).is(200);
    both.some("/metadata/finalizers/1");
    let remove = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}});
    harness.patch(&map, STRATEGIC, &remove).is(200).has("/metadata/finalizers", json!(["example.com/b"]));
    harness
        .patch(&map, MERGE, &finalizers(&["example.com/c"]))
        .is(200)
        .has("/metadata/finalizers", json!(["example.com/c"]));
    harness
        .patch(&map, STRATEGIC, &json!({"metadata": {"finalizers": null}}))
        .is(200)
        .lacks("/metadata/finalizers");
}

fn strategic_directives(harness: &mut ConformanceHarness) {
    let map = map(harness);
    let replace = json!({"data": {"$patch": "replace", "z": "z"}});
    harness.patch(&map, STRATEGIC, &replace).is(200).has("/data", json!({"z": "z"}));
    harness.patch(&map, STRATEGIC, &json!({"data": {"$patch": "dance"}})).is(500);
    harness.patch(&map, STRATEGIC, &json!({"data": {"$patch": "delete"}})).is(200);
    let owner = |uid: &str| json!({"apiVersion": "v1", "kind": "Node", "name": uid, "uid": uid});
    let owners = |owners: Value| json!({"metadata": {"ownerReferences": owners}});
    harness.patch(&map, STRATEGIC, &owners(json!([owner("u1"), owner("u2")]))).is(200);
    let fewer = owners(json!([{"$patch": "delete", "uid": "u1"}, owner("u3")]));
    harness.patch(&map, STRATEGIC, &fewer).is(200).some("/metadata/ownerReferences/1");
}

fn conditions_strategically(harness: &mut ConformanceHarness) {
    let node = harness.create_node("n", &json!({}));
    let path = format!("/api/v1/nodes/{node}/status");
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "R"});
    let patch = |conditions: Value| json!({"status": {"conditions": conditions}});
    harness
        .patch(&path, STRATEGIC, &patch(json!([condition("Ready", "True"), condition("Disk", "True")])))
        .is(200);
    let patched =
        harness.patch(&path, STRATEGIC, &patch(json!([{"type": "Ready", "status": "False"}]))).is(200);
    patched.some("/status/conditions/1");
}

fn strategic_that_is_none(harness: &mut ConformanceHarness) {
    let map = map(harness);
    for body in ["[]", "{", "", "1"] {
        harness.send(RecordedRequest::new("PATCH", &map).body(STRATEGIC, body)).is(400);
    }
    harness.patch(&map, STRATEGIC, &json!({"data": []}));
    harness.patch(&map, STRATEGIC, &json!({"metadata": "text"}));
}

fn a_status_patch_leaves_the_spec_alone(harness: &mut ConformanceHarness) {
    harness.create_pod("web", &json!({"nodeName": "n1"}));
    let patch = json!({"spec": {"nodeName": "n2"}, "status": {"phase": "Running"}});
    let patched = harness.patch(harness.core("pods/web/status"), MERGE, &patch).is(200);
    patched.has("/spec/nodeName", "n1").has("/status/phase", "Running");
    let other =
        harness.patch(harness.core("pods/web"), MERGE, &json!({"status": {"phase": "Failed"}})).is(200);
    other.has("/status/phase", "Running");
}

fn a_pod_is_marked(harness: &mut ConformanceHarness) {
    let web = harness.create_pod("web", &json!({"nodeName": "n1"}));
    let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint", "lastTransitionTime": "2001-01-01T00:00:00Z"});
    let patch = json!({"metadata": {"uid": web["metadata"]["uid"]}, "status": {"conditions": [condition]}});
    harness.patch(harness.core("pods/web/status"), STRATEGIC, &patch).is(200).some("/status/conditions/0");
    let other = json!({"metadata": {"uid": "0c2b1e9c-9a58-4b59-a7d4-0f5f2e4d6a01"}});
    let rejected = harness.patch(harness.core("pods/web/status"), STRATEGIC, &other);
    assert!(matches!(rejected.code, 409 | 422), "{}", rejected.body);
}

fn force_is_for_apply(harness: &mut ConformanceHarness) {
    let map = map(harness);
    harness.patch(format!("{map}?force=true"), MERGE, &json!({})).rejected(422, "Invalid");
}

fn managers_of_patches(harness: &mut ConformanceHarness) {
    let map = map(harness);
    for (manager, key) in [("one", "a"), ("two", "b"), ("one", "b")] {
        let patch = json!({"data": {key: format!("{manager}{key}")}});
        harness.patch(format!("{map}?fieldManager={manager}"), MERGE, &patch).is(200);
    }
}
