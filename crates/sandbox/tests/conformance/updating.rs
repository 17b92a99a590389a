//! Compares updates of whole objects.

use super::cases;
use super::harness::{ConformanceHarness, MERGE, RecordedRequest, pod_with};
use serde_json::json;

cases![
    an_update,
    an_update_of_nothing,
    an_update_of_an_old_version,
    an_update_without_version,
    an_update_of_a_missing_object,
    an_update_creates_a_lease,
    another_name_than_the_path_says,
    another_uid,
    a_dry_update,
    a_pods_spec_stays,
    a_pods_image_may_change,
    a_deployments_selector_stays,
    a_status_leaves_the_spec_alone,
    a_spec_leaves_the_status_alone,
    a_nodes_status,
    a_status_of_an_old_version,
    metadata_by_the_status,
    unknown_fields_in_an_update,
    generations,
    an_update_that_is_not_read,
    managers_of_updates,
];

fn an_update(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    let mut map = harness.given(&path, &json!({"metadata": {"name": "c"}, "data": {"a": "b"}}));
    map["data"] = json!({"a": "c"});
    map["metadata"]["labels"] = json!({"x": "y"});
    let updated = harness.put(format!("{path}/c"), &map).is(200).has("/data/a", "c");
    assert_ne!(updated.version(), map["metadata"]["resourceVersion"]);
}

fn an_update_of_nothing(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    let map = harness.given(&path, &json!({"metadata": {"name": "c"}, "data": {"a": "b"}}));
    let updated = harness.put(format!("{path}/c"), &map).is(200);
    assert_eq!(updated.version(), map["metadata"]["resourceVersion"], "nothing changed, nothing is written");
}

fn an_update_of_an_old_version(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    let mut map = harness.given(&path, &json!({"metadata": {"name": "c"}}));
    map["data"] = json!({"a": "b"});
    harness.put(format!("{path}/c"), &map).is(200);
    map["data"] = json!({"a": "c"});
    harness.put(format!("{path}/c"), &map).rejected(409, "Conflict").contains("the object has been modified");
    map["metadata"]["resourceVersion"] = "1000000000".into();
    harness.put(format!("{path}/c"), &map).rejected(409, "Conflict");
    map["metadata"]["resourceVersion"] = "nonsense".into();
    harness.put(format!("{path}/c"), &map);
}

fn an_update_without_version(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    harness.given(&path, &json!({"metadata": {"name": "c"}}));
    let map = json!({"metadata": {"name": "c"}, "data": {"a": "b"}});
    harness.put(format!("{path}/c"), &map).is(200).has("/data/a", "b");
    let leases = harness.group("coordination.k8s.io/v1", "leases");
    harness.given(&leases, &json!({"metadata": {"name": "l"}}));
    harness.put(format!("{leases}/l"), &json!({"metadata": {"name": "l"}})).rejected(422, "Invalid");
    let node = harness.create_node("n", &json!({}));
    harness.put(format!("/api/v1/nodes/{node}"), &json!({"metadata": {"name": node}})).is(200);
}

fn an_update_of_a_missing_object(harness: &mut ConformanceHarness) {
    harness.put(harness.core("configmaps/c"), &json!({"metadata": {"name": "c"}})).rejected(404, "NotFound");
    harness.put(harness.core("pods/p"), &pod_with("p", &json!({}))).rejected(404, "NotFound");
    let map = json!({"metadata": {"name": "c", "resourceVersion": "12"}});
    harness.put(harness.core("configmaps/c"), &map).rejected(404, "NotFound");
}

fn an_update_creates_a_lease(harness: &mut ConformanceHarness) {
    let path = harness.group("coordination.k8s.io/v1", "leases/l");
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}});
    harness.put(&path, &lease).is(201).has("/spec/holderIdentity", "me");
    harness.get(&path).is(200);
}

fn another_name_than_the_path_says(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    harness.given(&path, &json!({"metadata": {"name": "c"}}));
    harness.put(format!("{path}/c"), &json!({"metadata": {"name": "d"}})).rejected(400, "BadRequest");
    let elsewhere = json!({"metadata": {"name": "c", "namespace": "elsewhere"}});
    harness.put(format!("{path}/c"), &elsewhere).rejected(400, "BadRequest");
    harness.put(format!("{path}/c"), &json!({"metadata": {}})).rejected(400, "BadRequest");
}

fn another_uid(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    harness.given(&path, &json!({"metadata": {"name": "c"}}));
    let map = json!({"metadata": {"name": "c", "uid": "0c2b1e9c-9a58-4b59-a7d4-0f5f2e4d6a01"}});
    harness.put(format!("{path}/c"), &map).rejected(409, "Conflict").contains("UID");
}

fn a_dry_update(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    let mut map = harness.given(&path, &json!({"metadata": {"name": "c"}}));
    map["data"] = json!({"a": "b"});
    let dry = harness.put(format!("{path}/c?dryRun=All"), &map).is(200).has("/data/a", "b");
    assert_eq!(dry.version(), map["metadata"]["resourceVersion"]);
    harness.get(format!("{path}/c")).is(200).lacks("/data");
}

fn a_pods_spec_stays(harness: &mut ConformanceHarness) {
    let mut web = harness.create_pod("web", &json!({"nodeName": "n1"}));
    web["spec"]["nodeName"] = "n2".into();
    harness
        .put(harness.core("pods/web"), &web)
        .rejected(422, "Invalid")
        .contains("pod updates may not change fields");
}

fn a_pods_image_may_change(harness: &mut ConformanceHarness) {
    let mut web = harness.create_pod("web", &json!({"nodeName": "n1"}));
    web["spec"]["containers"][0]["image"] = "registry.invalid/other".into();
    web["spec"]["terminationGracePeriodSeconds"] = 5.into();
    harness.put(harness.core("pods/web"), &web).rejected(422, "Invalid");
    web["spec"]["terminationGracePeriodSeconds"] = 0.into();
    harness.put(harness.core("pods/web"), &web).is(200).has("/metadata/generation", 2);
}

fn a_deployments_selector_stays(harness: &mut ConformanceHarness) {
    let path = harness.group("apps/v1", "deployments");
    let template =
        json!({"metadata": {"labels": {"a": "b", "c": "d"}}, "spec": pod_with("", &json!({}))["spec"]});
    let mut deployment = json!({"metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}});
    harness.post(&path, &deployment).is(201).has("/spec/replicas", 1).has("/spec/revisionHistoryLimit", 10);
    deployment["spec"]["selector"]["matchLabels"] = json!({"c": "d"});
    harness.put(format!("{path}/d"), &deployment).rejected(422, "Invalid").contains("field is immutable");
    deployment["metadata"]["name"] = "e".into();
    deployment["spec"]["selector"]["matchLabels"] = json!({"e": "f"});
    harness
        .post(&path, &deployment)
        .rejected(422, "Invalid")
        .contains("`selector` does not match template `labels`");
}

fn a_status_leaves_the_spec_alone(harness: &mut ConformanceHarness) {
    let mut web = harness.create_pod("web", &json!({"nodeName": "n1"}));
    web["spec"]["nodeName"] = "n2".into();
    web["status"]["phase"] = "Running".into();
    let updated = harness.put(harness.core("pods/web/status"), &web).is(200);
    updated.has("/spec/nodeName", "n1").has("/status/phase", "Running").has("/metadata/generation", 1);
}

fn a_spec_leaves_the_status_alone(harness: &mut ConformanceHarness) {
    let mut web = harness.create_pod("web", &json!({"nodeName": "n1"}));
    web["metadata"]["labels"]["x"] = "y".into();
    web["status"]["phase"] = "Running".into();
    let updated = harness.put(harness.core("pods/web"), &web).is(200);
    updated.has("/metadata/labels/x", "y").has("/status/phase", "Pending");
}

fn a_nodes_status(harness: &mut ConformanceHarness) {
    let node = harness.create_node("n", &json!({"podCIDR": "10.1.0.0/24"}));
    let path = format!("/api/v1/nodes/{node}");
    let ready = json!([{"type": "Ready", "status": "True", "lastHeartbeatTime": "2001-01-01T00:00:00Z"}]);
    let status = json!({"metadata": {"name": node}, "spec": {"unschedulable": true},
        "status": {"conditions": ready, "allocatable": {"cpu": "4", "memory": "2Gi"}}});
    let updated = harness.put(format!("{path}/status"), &status).is(200);
    updated.has("/status/allocatable/cpu", "4").lacks("/spec/unschedulable");
    let spec = json!({"metadata": {"name": node}, "spec": {"unschedulable": true, "podCIDR": "10.1.0.0/24",
        "podCIDRs": ["10.1.0.0/24"]}, "status": {}});
    let updated = harness.put(&path, &spec);
    updated.is(200).has("/status/allocatable/cpu", "4").has("/spec/unschedulable", true);
    harness
        .put(&path, &json!({"metadata": {"name": node}, "spec": {"podCIDR": "10.2.0.0/24"}}))
        .rejected(422, "Invalid");
}

fn a_status_of_an_old_version(harness: &mut ConformanceHarness) {
    let mut web = harness.create_pod("web", &json!({}));
    harness.arranged(&harness.core("pods/web"), MERGE, &json!({"metadata": {"labels": {"x": "y"}}}));
    web["status"]["phase"] = "Running".into();
    harness.put(harness.core("pods/web/status"), &web).rejected(409, "Conflict");
}

fn metadata_by_the_status(harness: &mut ConformanceHarness) {
    let mut web = harness.create_pod("web", &json!({}));
    web["metadata"]["labels"]["x"] = "y".into();
    web["metadata"]["annotations"] = json!({"a": "b"});
    web["metadata"]["finalizers"] = json!(["example.com/hold"]);
    web["status"]["message"] = "m".into();
    harness.put(harness.core("pods/web/status"), &web).is(200).has("/status/message", "m");
}

fn unknown_fields_in_an_update(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    harness.given(&path, &json!({"metadata": {"name": "c"}}));
    let map = json!({"metadata": {"name": "c"}, "colour": "red", "data": {"a": "b"}});
    harness.put(format!("{path}/c?fieldValidation=Strict"), &map).rejected(400, "BadRequest");
    let warned = harness.put(format!("{path}/c"), &map).is(200);
    assert!(warned.header("warning").is_some());
}

fn generations(harness: &mut ConformanceHarness) {
    let path = harness.group("apps/v1", "deployments");
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": pod_with("", &json!({}))["spec"]});
    let deployment = json!({"metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}});
    let mut deployment = harness.given(&path, &deployment);
    let path = format!("{path}/d");
    deployment["metadata"]["resourceVersion"].take();
    deployment["metadata"]["labels"] = json!({"x": "y"});
    harness.put(&path, &deployment).is(200).has("/metadata/generation", 1);
    deployment["spec"]["replicas"] = 2.into();
    harness.put(&path, &deployment).is(200).has("/metadata/generation", 2);
    deployment["status"] = json!({"observedGeneration": 2, "replicas": 2});
    harness.put(format!("{path}/status"), &deployment).is(200).has("/metadata/generation", 2);
}

fn an_update_that_is_not_read(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    harness.given(&path, &json!({"metadata": {"name": "c"}}));
    let put = |kind: &str, body: &str| RecordedRequest::new("PUT", format!("{path}/c")).body(kind, body);
    harness.send(put("application/merge-patch+json", "{}")).rejected(415, "UnsupportedMediaType");
    harness.send(put("application/json", "{")).rejected(400, "BadRequest");
    harness.send(put("application/json", "")).is(400);
}

fn managers_of_updates(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    let map = json!({"metadata": {"name": "c"}, "data": {"a": "b", "c": "d"}});
    let mut map = harness.given(&format!("{path}?fieldManager=one"), &map);
    map["data"]["c"] = "e".into();
    let mut map = harness.put(format!("{path}/c?fieldManager=two"), &map).is(200).body;
    map["data"] = json!({"a": "b", "f": "g"});
    let mut map = harness.put(format!("{path}/c?fieldManager=one"), &map).is(200).body;
    map["metadata"]["managedFields"] = json!([]);
    harness.put(format!("{path}/c?fieldManager=three"), &map).is(200);
    map["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    map["metadata"]["managedFields"] = json!([{}]);
    harness.put(format!("{path}/c?fieldManager=three"), &map).is(200);
}
