//! Compares creation: names, unknown fields, malformed bodies, defaults.

use super::cases;
use super::harness::{ConformanceHarness, RecordedRequest, pod_with};
use super::wire;
use serde_json::{Value, json};

cases![
    a_pod_gets_its_defaults,
    a_node_gets_its_defaults,
    a_config_map_is_kept_as_it_is,
    a_name_is_generated,
    a_long_generated_name_is_cut,
    a_name_is_needed,
    a_name_must_be_one,
    creating_an_existing_object,
    a_dry_run_leaves_nothing,
    a_dry_run_of_something_else,
    another_namespace_than_the_path_says,
    a_namespace_that_is_not_there,
    unknown_fields_strictly,
    unknown_fields_with_a_warning,
    unknown_fields_by_default,
    unknown_fields_ignored,
    an_unknown_way_to_validate_fields,
    a_field_of_another_type,
    an_unsupported_content_type,
    no_content_type,
    malformed_json,
    no_body,
    another_kind,
    another_version,
    too_large,
    yaml,
    protobuf,
    what_the_server_sets_is_not_given,
    a_version_is_not_given,
    a_status_on_creation,
    a_manager_is_named,
    labels_and_annotations_are_checked,
    owners_and_finalizers_are_checked,
    a_pod_that_can_not_be,
    generated_names_dry,
];

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}})
}

fn a_pod_gets_its_defaults(harness: &mut ConformanceHarness) {
    let pods = harness.core("pods");
    let spec = json!({"containers": [{"name": "main", "image": "registry.invalid/main:1",
        "ports": [{"containerPort": 80}], "resources": {"limits": {"cpu": "0.1", "memory": "1024Ki"}}}]});
    let made = harness.post(&pods, &json!({"metadata": {"name": "web"}, "spec": spec})).is(201);
    made.has("/status/phase", "Pending").has("/spec/restartPolicy", "Always").has("/spec/priority", 0);
    harness.get(format!("{pods}/web")).is(200).has("/metadata/generation", 1);
}

fn a_node_gets_its_defaults(harness: &mut ConformanceHarness) {
    let name = harness.named("n");
    let node = json!({"metadata": {"name": name, "labels": {"a": "b"}}, "spec": {"unschedulable": true}});
    let made = harness.post("/api/v1/nodes", &node).is(201);
    made.has("/spec/unschedulable", true).has("/kind", "Node").some("/metadata/uid").some("/status");
}

fn a_config_map_is_kept_as_it_is(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    let mut map = config_map("c");
    map["data"] = json!({"text": "\u{e4}\u{1f600}\n<&>", "empty": ""});
    map["binaryData"] = json!({"raw": "AAEC"});
    map["immutable"] = false.into();
    harness.post(&path, &map).is(201).has("/data/text", "\u{e4}\u{1f600}\n<&>").has("/immutable", false);
    harness.get(format!("{path}/c")).is(200).has("/data/empty", "").has("/binaryData/raw", "AAEC");
}

fn a_name_is_generated(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    let made = harness.post(&path, &json!({"metadata": {"generateName": "few-"}})).is(201);
    let name = made.text("/metadata/name");
    assert!(name.starts_with("few-") && name.len() == 9, "{name}");
    harness.get(format!("{path}/{name}")).is(200).has("/metadata/generateName", "few-");
}

fn a_long_generated_name_is_cut(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    let made = harness.post(&path, &json!({"metadata": {"generateName": "x".repeat(80)}})).is(201);
    assert_eq!(made.text("/metadata/name").len(), 63);
    // Its name does not contain the whole prefix and would not be replaced in the record.
    harness.steps.clear();
}

fn generated_names_dry(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps?dryRun=All");
    harness
        .post(&path, &json!({"metadata": {"generateName": "few-"}}))
        .is(201)
        .lacks("/metadata/resourceVersion");
}

fn a_name_is_needed(harness: &mut ConformanceHarness) {
    harness.post(harness.core("configmaps"), &json!({"metadata": {}})).rejected(422, "Invalid");
    harness.post(harness.core("pods"), &pod_with("", &json!({}))).rejected(422, "Invalid");
}

fn a_name_must_be_one(harness: &mut ConformanceHarness) {
    for name in ["Upper", "dot.ted", "under_score", "-dash", "sl/ash", ".."] {
        harness.post(harness.core("configmaps?dryRun=All"), &config_map(name));
        harness.post(harness.core("pods?dryRun=All"), &pod_with(name, &json!({})));
    }
    harness
        .post(harness.core("configmaps"), &config_map("Upper"))
        .rejected(422, "Invalid")
        .contains("RFC 1123");
    let long = "x".repeat(254);
    harness.post(harness.core("configmaps"), &config_map(&long)).rejected(422, "Invalid").contains("253");
}

fn creating_an_existing_object(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    harness.post(&path, &config_map("c")).is(201);
    harness.post(&path, &config_map("c")).rejected(409, "AlreadyExists").has("/details/name", "c");
    harness.post(format!("{path}?dryRun=All"), &config_map("c")).rejected(409, "AlreadyExists");
}

fn a_dry_run_leaves_nothing(harness: &mut ConformanceHarness) {
    let pods = harness.core("pods");
    let made = harness.post(format!("{pods}?dryRun=All"), &pod_with("web", &json!({}))).is(201);
    made.some("/metadata/uid").lacks("/metadata/resourceVersion");
    harness.get(format!("{pods}/web")).rejected(404, "NotFound");
}

fn a_dry_run_of_something_else(harness: &mut ConformanceHarness) {
    for value in ["Some", "", "all", "All&dryRun=All"] {
        harness.post(harness.core(&format!("configmaps?dryRun={value}")), &config_map("c"));
    }
    harness.post(harness.core("configmaps?dryRun=Some"), &config_map("d")).rejected(422, "Invalid");
}

fn another_namespace_than_the_path_says(harness: &mut ConformanceHarness) {
    let mut map = config_map("c");
    map["metadata"]["namespace"] = "elsewhere".into();
    harness
        .post(harness.core("configmaps"), &map)
        .rejected(400, "BadRequest")
        .contains("does not match the namespace");
    map["metadata"]["namespace"] = harness.own.clone().into();
    harness.post(harness.core("configmaps"), &map).is(201);
    harness.post("/api/v1/configmaps", &map).rejected(405, "MethodNotAllowed");
}

fn a_namespace_that_is_not_there(harness: &mut ConformanceHarness) {
    let path = format!("/api/v1/namespaces/{}/configmaps", harness.named("none"));
    harness.post(path, &config_map("c")).rejected(404, "NotFound").has("/details/kind", "namespaces");
}

fn strange(name: &str) -> Value {
    let mut whole = pod_with(name, &json!({"color": "red"}));
    whole["spec"]["containers"][0]["size"] = 1.into();
    whole["extra"] = json!({});
    whole
}

fn unknown_fields_strictly(harness: &mut ConformanceHarness) {
    let path = harness.core("pods?fieldValidation=Strict");
    harness.post(path, &strange("web")).rejected(400, "BadRequest").contains("unknown field \"spec.color\"");
}

fn unknown_fields_with_a_warning(harness: &mut ConformanceHarness) {
    let made = harness.post(harness.core("pods?fieldValidation=Warn"), &strange("web")).is(201);
    let words = made.header("warning").unwrap_or_default();
    assert!(words.starts_with("299 - \"unknown field"), "{words}");
    made.lacks("/spec/color");
}

fn unknown_fields_by_default(harness: &mut ConformanceHarness) {
    let made = harness.post(harness.core("pods"), &strange("web")).is(201);
    assert!(made.header("warning").is_some(), "the default is to warn");
}

fn unknown_fields_ignored(harness: &mut ConformanceHarness) {
    let made = harness.post(harness.core("pods?fieldValidation=Ignore"), &strange("web")).is(201);
    assert_eq!(made.header("warning"), None);
    made.lacks("/extra");
}

fn an_unknown_way_to_validate_fields(harness: &mut ConformanceHarness) {
    harness.post(harness.core("pods?fieldValidation=Maybe"), &strange("web")).rejected(422, "Invalid");
}

fn a_field_of_another_type(harness: &mut ConformanceHarness) {
    for map in [
        json!({"metadata": {"name": "c"}, "data": {"a": 1}}),
        json!({"metadata": {"name": "c"}, "data": []}),
        json!({"metadata": {"name": 1}}),
        json!({"metadata": {"name": "c"}, "binaryData": {"a": "%"}}),
        json!({"metadata": {"name": "c", "creationTimestamp": "yesterday"}}),
    ] {
        harness.post(harness.core("configmaps"), &map).rejected(400, "BadRequest");
    }
    let seconds = json!({"terminationGracePeriodSeconds": 1.5});
    harness.post(harness.core("pods"), &pod_with("web", &seconds)).rejected(400, "BadRequest");
}

fn an_unsupported_content_type(harness: &mut ConformanceHarness) {
    let request = RecordedRequest::new("POST", harness.core("configmaps"))
        .body("text/plain", config_map("c").to_string());
    harness.send(request).rejected(415, "UnsupportedMediaType");
}

fn no_content_type(harness: &mut ConformanceHarness) {
    // A real server takes it for JSON; this is a known difference of the sandbox.
    let request =
        RecordedRequest::new("POST", harness.core("configmaps")).body("", config_map("c").to_string());
    harness.send(request);
}

fn malformed_json(harness: &mut ConformanceHarness) {
    for body in ["{", "[]", "null", "{\"metadata\": {\"name\": \"c\"}} {}", "nonsense"] {
        let request = RecordedRequest::new("POST", harness.core("configmaps?dryRun=All"))
            .body("application/json", body);
        harness.send(request);
    }
    let request =
        RecordedRequest::new("POST", harness.core("configmaps")).body("application/json", "{\"metadata\": ");
    harness.send(request).rejected(400, "BadRequest");
}

fn no_body(harness: &mut ConformanceHarness) {
    harness.send(RecordedRequest::new("POST", harness.core("configmaps")).body("application/json", ""));
    harness.send(RecordedRequest::new("POST", harness.core("pods"))).is(400);
}

fn another_kind(harness: &mut ConformanceHarness) {
    let mut map = config_map("c");
    map["kind"] = "Secret".into();
    harness.post(harness.core("configmaps"), &map).rejected(400, "BadRequest");
    map["kind"] = "Nonsense".into();
    harness.post(harness.core("configmaps"), &map).rejected(400, "BadRequest");
}

fn another_version(harness: &mut ConformanceHarness) {
    let mut map = config_map("c");
    map["apiVersion"] = "v2".into();
    harness.post(harness.core("configmaps"), &map).rejected(400, "BadRequest");
    map["apiVersion"] = "apps/v1".into();
    harness.post(harness.core("configmaps"), &map).rejected(400, "BadRequest");
}

fn too_large(harness: &mut ConformanceHarness) {
    let mut map = config_map("c");
    map["data"]["a"] = "x".repeat(3 * 1024 * 1024).into();
    harness.post(harness.core("configmaps"), &map).rejected(413, "RequestEntityTooLarge");
}

fn yaml(harness: &mut ConformanceHarness) {
    let body =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  a: \"1\"\n  b: |\n    x\n    y\n";
    let path = harness.core("configmaps");
    harness
        .send(RecordedRequest::new("POST", &path).body("application/yaml", body))
        .is(201)
        .has("/data/b", "x\ny\n");
    harness
        .send(RecordedRequest::new("POST", &path).body("application/yaml", "a: ["))
        .rejected(400, "BadRequest");
}

/// A field of bytes in protobuf.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

fn protobuf(harness: &mut ConformanceHarness) {
    let entry = [field(1, b"a"), field(2, b"b")].concat();
    let map = [field(1, &field(1, b"c")), field(2, &entry)].concat();
    let meta = [field(1, b"v1"), field(2, b"ConfigMap")].concat();
    let body = [wire::MAGIC, &field(1, &meta), &field(2, &map)].concat();
    let (kind, path) = ("application/vnd.kubernetes.protobuf", harness.core("configmaps"));
    harness.send(RecordedRequest::new("POST", &path).body(kind, body.clone())).is(201).has("/data/a", "b");
    let again = RecordedRequest::new("POST", &path).body(kind, body).accept(kind);
    harness.send(again).rejected(409, "AlreadyExists");
    harness.send(RecordedRequest::new("POST", &path).body(kind, "k8s")).rejected(400, "BadRequest");
}

fn what_the_server_sets_is_not_given(harness: &mut ConformanceHarness) {
    let mut map = config_map("c");
    for (field, value) in [
        ("uid", json!("0c2b1e9c-9a58-4b59-a7d4-0f5f2e4d6a01")),
        ("creationTimestamp", json!("2001-01-01T00:00:00Z")),
        ("deletionTimestamp", json!("2001-01-01T00:00:00Z")),
        ("deletionGracePeriodSeconds", json!(5)),
        ("generation", json!(7)),
        ("selfLink", json!("/nowhere")),
    ] {
        map["metadata"][field] = value;
    }
    let made = harness.post(harness.core("configmaps"), &map).is(201);
    assert_ne!(made.uid(), "0c2b1e9c-9a58-4b59-a7d4-0f5f2e4d6a01");
    made.lacks("/metadata/deletionTimestamp");
}

fn a_version_is_not_given(harness: &mut ConformanceHarness) {
    let mut map = config_map("c");
    map["metadata"]["resourceVersion"] = "12".into();
    harness.post(harness.core("configmaps"), &map).is(500);
    map["metadata"]["resourceVersion"] = "nonsense".into();
    harness.post(harness.core("configmaps?dryRun=All"), &map);
}

fn a_status_on_creation(harness: &mut ConformanceHarness) {
    let mut web = pod_with("web", &json!({}));
    web["status"] = json!({"phase": "Running", "podIP": "10.0.0.1"});
    harness.post(harness.core("pods"), &web).is(201).has("/status/phase", "Pending").lacks("/status/podIP");
    let name = harness.named("n");
    let status = json!({"conditions": [{"type": "Ready", "status": "True"}], "capacity": {"pods": "110"}});
    let node = json!({"metadata": {"name": name}, "status": status});
    harness.post("/api/v1/nodes", &node).is(201).has("/status/capacity/pods", "110");
}

fn a_manager_is_named(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    let manager = "/metadata/managedFields/0/manager";
    harness.post(format!("{path}?fieldManager=me"), &config_map("a")).is(201).has(manager, "me");
    let request = |name| {
        RecordedRequest::new("POST", &path).header("user-agent", "tool/v1 (linux)").json(&config_map(name))
    };
    harness.send(request("b")).is(201).has(manager, "tool");
    let long = "m".repeat(129);
    harness.post(format!("{path}?fieldManager={long}"), &config_map("c")).rejected(422, "Invalid");
    harness.post(format!("{path}?fieldManager=a%0Ab"), &config_map("d")).rejected(422, "Invalid");
}

fn labels_and_annotations_are_checked(harness: &mut ConformanceHarness) {
    // One at a time, because a real server checks them in no fixed order.
    for (field, key, value) in [
        ("labels", "a b", "c"),
        ("labels", "ok", "-"),
        ("labels", "x/y/z", "v"),
        ("labels", "l", "x".repeat(64).as_str()),
        ("labels", "", "v"),
        ("annotations", "A/b c", ""),
        ("annotations", "_", "c"),
    ] {
        let mut map = config_map("c");
        map["metadata"][field] = json!({key: value});
        harness.post(harness.core("configmaps"), &map).rejected(422, "Invalid");
    }
}

fn owners_and_finalizers_are_checked(harness: &mut ConformanceHarness) {
    let mut map = config_map("c");
    map["metadata"]["ownerReferences"] = json!([
        {"apiVersion": "v1", "kind": "Pod", "name": "", "uid": ""},
        {"apiVersion": "", "kind": "", "name": "a", "uid": "u", "controller": true},
        {"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "u", "controller": true},
    ]);
    map["metadata"]["finalizers"] = json!(["example.com/hold", "no domain", "short"]);
    harness.post(harness.core("configmaps"), &map).rejected(422, "Invalid");
}

fn a_pod_that_can_not_be(harness: &mut ConformanceHarness) {
    for spec in [
        json!({"containers": []}),
        json!({"containers": [{"name": "A", "image": ""}, {"name": "A", "image": "a"}]}),
        json!({"restartPolicy": "Sometimes"}),
        json!({"terminationGracePeriodSeconds": -1, "activeDeadlineSeconds": 0}),
        json!({"nodeName": "Not_a_node"}),
        json!({"priorityClassName": "none-such"}),
        json!({"priority": 7}),
        json!({"nodeSelector": {"a b": "c"}}),
    ] {
        let made = harness.post(harness.core("pods"), &pod_with("web", &spec));
        assert!(matches!(made.code, 403 | 422), "{}", made.body);
    }
}
