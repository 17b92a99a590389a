//! Compares JSON patches, merge patches and strategic merge patches.

use super::cases;
use super::play::{JSON_PATCH, MERGE, Play, Request, STRATEGIC};
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

fn map(play: &mut Play) -> String {
    let path = play.core("configmaps");
    play.given(
        &path,
        &json!({"metadata": {"name": "c", "labels": {"x": "y"}}, "data": {"a": "b", "c": "d"}}),
    );
    format!("{path}/c")
}

fn a_json_patch(play: &mut Play) {
    let map = map(play);
    let patch = json!([{"op": "replace", "path": "/data/a", "value": "z"}, {"op": "remove", "path": "/data/c"},
        {"op": "add", "path": "/metadata/labels/example.com~1a", "value": "w"}]);
    let patched = play.patch(map, JSON_PATCH, &patch).is(200);
    patched.has("/data", json!({"a": "z"})).has("/metadata/labels/example.com~1a", "w");
}

fn a_json_patch_that_tests(play: &mut Play) {
    let map = map(play);
    let test = |value| {
        json!([{"op": "test", "path": "/data/a", "value": value},
        {"op": "add", "path": "/data/t", "value": "u"}])
    };
    play.patch(&map, JSON_PATCH, &test("no")).rejected(422, "Invalid");
    play.patch(&map, JSON_PATCH, &test("b")).is(200).has("/data/t", "u");
    let absent = |path| {
        json!([{"op": "test", "path": path, "value": null},
        {"op": "add", "path": "/data/v", "value": "w"}])
    };
    play.patch(&map, JSON_PATCH, &absent("/absent/a")).rejected(422, "Invalid");
    play.patch(&map, JSON_PATCH, &absent("/data/absent")).is(200).has("/data/v", "w");
}

fn a_json_patch_that_does_not_fit(play: &mut Play) {
    let map = map(play);
    for operation in [
        json!({"op": "remove", "path": "/data/none"}),
        json!({"op": "add", "path": "/none/such", "value": "a"}),
        json!({"op": "add", "path": "/metadata/finalizers/-", "value": "a"}),
        json!({"op": "move", "path": "/data/b", "from": "/data/none"}),
    ] {
        play.patch(&map, JSON_PATCH, &json!([operation])).rejected(422, "Invalid");
    }
}

fn a_json_patch_that_is_none(play: &mut Play) {
    let map = map(play);
    for patch in [json!({}), json!("a"), json!([1])] {
        play.patch(&map, JSON_PATCH, &patch).rejected(400, "BadRequest");
    }
    play.patch(&map, JSON_PATCH, &json!([])).is(200);
    let many = vec![json!({"op": "test", "path": "/data/a", "value": "b"}); 10_001];
    play.patch(&map, JSON_PATCH, &Value::Array(many)).rejected(413, "RequestEntityTooLarge");
}

fn a_json_patch_moves_and_copies(play: &mut Play) {
    let map = map(play);
    let patch = json!([{"op": "move", "from": "/data/a", "path": "/data/b"},
        {"op": "copy", "from": "/data/c", "path": "/data/e"}]);
    play.patch(map, JSON_PATCH, &patch).is(200).has("/data", json!({"b": "b", "c": "d", "e": "d"}));
}

fn a_merge_patch(play: &mut Play) {
    let map = map(play);
    let patch = json!({"data": {"a": null, "e": "f"}, "metadata": {"labels": {"x": null}}});
    let patched = play.patch(map, MERGE, &patch).is(200);
    patched.has("/data", json!({"c": "d", "e": "f"})).lacks("/metadata/labels");
}

fn a_merge_patch_that_is_none(play: &mut Play) {
    let map = map(play);
    for body in ["[]", "1", "\"a\"", "{", "", "null"] {
        play.send(Request::new("PATCH", &map).body(MERGE, body));
    }
    play.send(Request::new("PATCH", &map).body(MERGE, "{\"data\":")).rejected(400, "BadRequest");
    play.patch(&map, MERGE, &json!({"data": "text"})).rejected(422, "Invalid");
}

fn a_patch_of_a_missing_object(play: &mut Play) {
    for (kind, patch) in [(MERGE, json!({})), (STRATEGIC, json!({})), (JSON_PATCH, json!([]))] {
        play.patch(play.core("configmaps/none"), kind, &patch).rejected(404, "NotFound");
    }
}

fn a_patch_of_nothing(play: &mut Play) {
    let map = map(play);
    let version = play.get(&map).is(200).version();
    for (kind, patch) in
        [(MERGE, json!({})), (STRATEGIC, json!({"data": {"a": "b"}})), (JSON_PATCH, json!([]))]
    {
        assert_eq!(play.patch(&map, kind, &patch).is(200).version(), version);
    }
}

fn a_patch_for_a_version(play: &mut Play) {
    let map = map(play);
    let version = play.get(&map).is(200).version();
    let patch = json!({"metadata": {"resourceVersion": version}, "data": {"a": "1"}});
    play.patch(&map, MERGE, &patch).is(200);
    play.patch(&map, MERGE, &patch).rejected(409, "Conflict").contains("the object has been modified");
    play.patch(&map, STRATEGIC, &patch).rejected(409, "Conflict");
    let replace = json!([{"op": "replace", "path": "/metadata/resourceVersion", "value": version}]);
    play.patch(&map, JSON_PATCH, &replace).is(409);
    play.patch(&map, MERGE, &json!({"metadata": {"resourceVersion": "nonsense"}}));
    play.patch(&map, MERGE, &json!({"metadata": {"resourceVersion": ""}, "data": {"a": "3"}}));
}

fn a_patch_for_a_uid(play: &mut Play) {
    let map = map(play);
    let patch = json!({"metadata": {"uid": "0c2b1e9c-9a58-4b59-a7d4-0f5f2e4d6a01"}});
    play.patch(&map, MERGE, &patch).rejected(422, "Invalid");
    play.create_pod("web", &json!({}));
    play.patch(play.core("pods/web"), STRATEGIC, &patch).rejected(422, "Invalid");
    play.patch(play.core("pods/web/status"), STRATEGIC, &patch);
}

fn a_patch_of_the_name(play: &mut Play) {
    let map = map(play);
    play.patch(&map, MERGE, &json!({"metadata": {"name": "d"}})).is(400);
    play.patch(&map, MERGE, &json!({"metadata": {"namespace": "elsewhere"}})).is(400);
    play.patch(&map, MERGE, &json!({"kind": "Secret"}));
    play.patch(&map, MERGE, &json!({"apiVersion": "v2"}));
    play.patch(&map, MERGE, &json!({"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}}));
    play.patch(
        &map,
        MERGE,
        &json!({"metadata": {"generation": 7, "deletionTimestamp": "2001-01-01T00:00:00Z"}}),
    );
}

fn an_unsupported_patch_type(play: &mut Play) {
    let map = map(play);
    for kind in ["application/json", "text/plain", "application/patch", "application/yaml"] {
        play.send(Request::new("PATCH", &map).body(kind, "{}")).rejected(415, "UnsupportedMediaType");
    }
    play.send(Request::new("PATCH", &map).body("", "{}")).rejected(415, "UnsupportedMediaType");
}

fn a_patch_that_makes_it_invalid(play: &mut Play) {
    let map = map(play);
    play.patch(&map, MERGE, &json!({"metadata": {"labels": {"a b": "c"}}})).rejected(422, "Invalid");
    play.patch(&map, MERGE, &json!({"data": {"a": 1}})).rejected(422, "Invalid");
}

fn unknown_fields_in_a_patch(play: &mut Play) {
    let map = map(play);
    for (kind, patch) in [
        (MERGE, json!({"colour": "red"})),
        (STRATEGIC, json!({"colour": "red"})),
        (JSON_PATCH, json!([{"op": "add", "path": "/colour", "value": "red"}])),
    ] {
        let strict = play.patch(format!("{map}?fieldValidation=Strict"), kind, &patch);
        assert!(matches!(strict.code, 400 | 422), "{}", strict.body);
        play.patch(&map, kind, &patch).is(200).lacks("/colour");
    }
}

fn a_dry_patch(play: &mut Play) {
    let map = map(play);
    let patch = json!({"data": {"a": "z"}});
    play.patch(format!("{map}?dryRun=All"), MERGE, &patch).is(200).has("/data/a", "z");
    play.get(&map).is(200).has("/data/a", "b");
}

fn taints_strategically(play: &mut Play) {
    let taint = |key: &str| json!({"key": key, "effect": "NoExecute"});
    let node = play.create_node("n", &json!({"taints": [taint("a"), taint("b")]}));
    let path = format!("/api/v1/nodes/{node}?fieldManager=kubectl-taint&fieldValidation=Strict");
    let patched = play.patch(&path, STRATEGIC, &json!({"spec": {"taints": [taint("c")]}})).is(200);
    patched.has("/spec/taints", json!([taint("c")]));
    play.patch(&path, STRATEGIC, &json!({"spec": {"taints": null}})).is(200).lacks("/spec/taints");
    play.patch(&path, STRATEGIC, &json!({"spec": {"taints": [taint("d")]}})).is(200);
    play.patch(&path, STRATEGIC, &json!({"spec": {"taints": []}})).is(200);
}

fn tolerations_strategically(play: &mut Play) {
    let old = json!([{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]);
    let web = play.create_pod("web", &json!({"tolerations": old}));
    let mut all = web["spec"]["tolerations"].as_array().unwrap().clone();
    all.push(json!({"key": "b", "operator": "Exists"}));
    let patch = json!({"spec": {"tolerations": all}});
    play.patch(play.core("pods/web"), STRATEGIC, &patch).is(200).has("/spec/tolerations", json!(all));
    let only = json!({"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}});
    play.patch(play.core("pods/web"), STRATEGIC, &only).rejected(422, "Invalid");
}

fn containers_strategically(play: &mut Play) {
    let two = json!([{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]);
    play.create_pod("web", &json!({"containers": two}));
    let path = play.core("pods/web");
    let by_name = |image: &str| json!({"spec": {"containers": [{"name": "b", "image": image}]}});
    let patched = play.patch(&path, STRATEGIC, &by_name("k")).is(200);
    patched.has("/spec/containers/0/image", "i").has("/spec/containers/1/image", "k");
    play.patch(&path, MERGE, &by_name("l")).rejected(422, "Invalid");
    let unknown = json!({"spec": {"containers": [{"name": "z", "image": "k"}]}});
    play.patch(&path, STRATEGIC, &unknown).rejected(422, "Invalid");
    let nameless = json!({"spec": {"containers": [{"image": "k"}]}});
    play.patch(&path, STRATEGIC, &nameless);
    let order = json!({"spec": {"$setElementOrder/containers": [{"name": "a"}, {"name": "b"}],
        "containers": [{"name": "a", "image": "m"}]}});
    play.patch(&path, STRATEGIC, &order).is(200).has("/spec/containers/0/image", "m");
}

fn finalizers_strategically(play: &mut Play) {
    let map = map(play);
    let finalizers = |names: &[&str]| json!({"metadata": {"finalizers": names}});
    play.patch(&map, STRATEGIC, &finalizers(&["example.com/a"])).is(200);
    let both = play.patch(&map, STRATEGIC, &finalizers(&["example.com/b", "example.com/a"])).is(200);
    both.some("/metadata/finalizers/1");
    let remove = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}});
    play.patch(&map, STRATEGIC, &remove).is(200).has("/metadata/finalizers", json!(["example.com/b"]));
    play.patch(&map, MERGE, &finalizers(&["example.com/c"]))
        .is(200)
        .has("/metadata/finalizers", json!(["example.com/c"]));
    play.patch(&map, STRATEGIC, &json!({"metadata": {"finalizers": null}}))
        .is(200)
        .lacks("/metadata/finalizers");
}

fn strategic_directives(play: &mut Play) {
    let map = map(play);
    let replace = json!({"data": {"$patch": "replace", "z": "z"}});
    play.patch(&map, STRATEGIC, &replace).is(200).has("/data", json!({"z": "z"}));
    play.patch(&map, STRATEGIC, &json!({"data": {"$patch": "dance"}})).is(500);
    play.patch(&map, STRATEGIC, &json!({"data": {"$patch": "delete"}})).is(200);
    let owner = |uid: &str| json!({"apiVersion": "v1", "kind": "Node", "name": uid, "uid": uid});
    let owners = |owners: Value| json!({"metadata": {"ownerReferences": owners}});
    play.patch(&map, STRATEGIC, &owners(json!([owner("u1"), owner("u2")]))).is(200);
    let fewer = owners(json!([{"$patch": "delete", "uid": "u1"}, owner("u3")]));
    play.patch(&map, STRATEGIC, &fewer).is(200).some("/metadata/ownerReferences/1");
}

fn conditions_strategically(play: &mut Play) {
    let node = play.create_node("n", &json!({}));
    let path = format!("/api/v1/nodes/{node}/status");
    let condition = |kind: &str, status: &str| json!({"type": kind, "status": status, "reason": "R"});
    let patch = |conditions: Value| json!({"status": {"conditions": conditions}});
    play.patch(&path, STRATEGIC, &patch(json!([condition("Ready", "True"), condition("Disk", "True")])))
        .is(200);
    let patched = play.patch(&path, STRATEGIC, &patch(json!([{"type": "Ready", "status": "False"}]))).is(200);
    patched.some("/status/conditions/1");
}

fn strategic_that_is_none(play: &mut Play) {
    let map = map(play);
    for body in ["[]", "{", "", "1"] {
        play.send(Request::new("PATCH", &map).body(STRATEGIC, body)).is(400);
    }
    play.patch(&map, STRATEGIC, &json!({"data": []}));
    play.patch(&map, STRATEGIC, &json!({"metadata": "text"}));
}

fn a_status_patch_leaves_the_spec_alone(play: &mut Play) {
    play.create_pod("web", &json!({"nodeName": "n1"}));
    let patch = json!({"spec": {"nodeName": "n2"}, "status": {"phase": "Running"}});
    let patched = play.patch(play.core("pods/web/status"), MERGE, &patch).is(200);
    patched.has("/spec/nodeName", "n1").has("/status/phase", "Running");
    let other = play.patch(play.core("pods/web"), MERGE, &json!({"status": {"phase": "Failed"}})).is(200);
    other.has("/status/phase", "Running");
}

fn a_pod_is_marked(play: &mut Play) {
    let web = play.create_pod("web", &json!({"nodeName": "n1"}));
    let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint", "lastTransitionTime": "2001-01-01T00:00:00Z"});
    let patch = json!({"metadata": {"uid": web["metadata"]["uid"]}, "status": {"conditions": [condition]}});
    play.patch(play.core("pods/web/status"), STRATEGIC, &patch).is(200).some("/status/conditions/0");
    let other = json!({"metadata": {"uid": "0c2b1e9c-9a58-4b59-a7d4-0f5f2e4d6a01"}});
    let rejected = play.patch(play.core("pods/web/status"), STRATEGIC, &other);
    assert!(matches!(rejected.code, 409 | 422), "{}", rejected.body);
}

fn force_is_for_apply(play: &mut Play) {
    let map = map(play);
    play.patch(format!("{map}?force=true"), MERGE, &json!({})).rejected(422, "Invalid");
}

fn managers_of_patches(play: &mut Play) {
    let map = map(play);
    for (manager, key) in [("one", "a"), ("two", "b"), ("one", "b")] {
        let patch = json!({"data": {key: format!("{manager}{key}")}});
        play.patch(format!("{map}?fieldManager={manager}"), MERGE, &patch).is(200);
    }
}
