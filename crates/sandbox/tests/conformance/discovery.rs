//! Compares discovery.

use super::cases;
use super::harness::{ConformanceHarness, RecordedResponse};
use serde_json::{Value, json};

cases![
    the_paths,
    the_older_openapi,
    the_core_versions,
    our_groups,
    one_group,
    the_core_resources,
    the_resources_of_known_groups,
    all_in_one_response,
    all_of_the_core_in_one_response,
    forms_of_discovery,
    the_version,
    the_version_is_recent,
];

/// The resources the sandbox offers in the core group.
const CORE: [&str; 15] = [
    "bindings",
    "configmaps",
    "events",
    "namespaces",
    "namespaces/finalize",
    "namespaces/status",
    "nodes",
    "nodes/status",
    "pods",
    "pods/binding",
    "pods/eviction",
    "pods/log",
    "pods/status",
    "secrets",
    "serviceaccounts",
];

/// The groups with kinds the sandbox offers, and those resources.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "apps/v1",
        &[
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale",
            "deployments/status",
            "replicasets",
            "replicasets/scale",
            "replicasets/status",
            "statefulsets",
            "statefulsets/scale",
            "statefulsets/status",
        ],
    ),
    ("batch/v1", &["jobs", "jobs/status"]),
    ("coordination.k8s.io/v1", &["leases"]),
    ("events.k8s.io/v1", &["events"]),
    ("policy/v1", &["poddisruptionbudgets", "poddisruptionbudgets/status"]),
];

/// Keeps only the named elements of a list in the last response; the others exist only in the real server.
pub(super) fn only(harness: &mut ConformanceHarness, list: &str, key: &str, names: &[&str]) {
    let step = harness.steps.last_mut().unwrap();
    let list = step.body.pointer_mut(list).and_then(Value::as_array_mut).unwrap();
    list.retain(|element| {
        element.pointer(key).and_then(Value::as_str).is_some_and(|name| names.contains(&name))
    });
    list.sort_by_key(|element| element.pointer(key).map(Value::to_string));
    // Clients can compare this hash only with others from the same server.
    list.iter_mut().filter_map(Value::as_object_mut).for_each(|element| {
        element.remove("storageVersionHash");
    });
    assert_eq!(list.len(), names.len(), "some of {names:?} are missing: {list:?}");
}

fn the_paths(harness: &mut ConformanceHarness) {
    harness.get("/").is(200).lacks("/kind");
    let known =
        ["/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/healthz", "/openapi/v2", "/version"];
    only(harness, "/paths", "", &known);
}

fn the_older_openapi(harness: &mut ConformanceHarness) {
    harness.check(&["/swagger", "/info/title"], "/openapi/v2").is(200);
    let packed = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let response = harness.get_as("/openapi/v2", packed).is(200);
    assert!(response.bytes.starts_with(b"\x0a\x032.0\x12"), "{:?}", response.bytes.get(..8));
    // It also contains types that only the real server has.
    harness.steps.last_mut().unwrap().body = "document".into();
}

fn the_core_versions(harness: &mut ConformanceHarness) {
    harness.get("/api").is(200).has("/kind", "APIVersions").has("/versions", json!(["v1"]));
}

fn our_groups(harness: &mut ConformanceHarness) {
    harness.get("/apis").is(200).has("/kind", "APIGroupList").has("/apiVersion", "v1");
    let groups = GROUPS.map(|(group, _)| group.split('/').next().unwrap());
    only(harness, "/groups", "/name", &groups);
    // The group's other versions exist only in the real server.
    harness.steps.last_mut().unwrap().keep = vec!["/kind", "/groups/*/name", "/groups/*/preferredVersion"];
}

fn one_group(harness: &mut ConformanceHarness) {
    harness
        .get("/apis/apps")
        .is(200)
        .has("/kind", "APIGroup")
        .has("/preferredVersion/groupVersion", "apps/v1");
    harness.get("/apis/policy").is(200);
    harness.get("/apis/none.example").is(404);
}

fn the_core_resources(harness: &mut ConformanceHarness) {
    let all = harness.get("/api/v1").is(200);
    all.has("/kind", "APIResourceList").has("/groupVersion", "v1");
    only(harness, "/resources", "/name", &CORE);
}

fn the_resources_of_known_groups(harness: &mut ConformanceHarness) {
    for (group, resources) in GROUPS {
        harness.get(format!("/apis/{group}")).is(200).has("/groupVersion", group);
        only(harness, "/resources", "/name", resources);
    }
}

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

fn aggregated(harness: &mut ConformanceHarness, path: &str) -> RecordedResponse {
    let all = harness.get_as(path, AGGREGATED).is(200);
    assert_eq!(all.kind(), "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    all.has("/kind", "APIGroupDiscoveryList").has("/apiVersion", "apidiscovery.k8s.io/v2")
}

fn all_in_one_response(harness: &mut ConformanceHarness) {
    aggregated(harness, "/apis");
    let groups = GROUPS.map(|(group, _)| group.split('/').next().unwrap());
    only(harness, "/items", "/metadata/name", &groups);
    for (index, (group, resources)) in GROUPS.iter().enumerate() {
        let versions = format!("/items/{index}/versions");
        only(harness, &versions, "/version", &[group.split('/').nth(1).unwrap()]);
        let parents: Vec<&str> = resources.iter().filter(|name| !name.contains('/')).copied().collect();
        only(harness, &format!("{versions}/0/resources"), "/resource", &parents);
    }
}

fn all_of_the_core_in_one_response(harness: &mut ConformanceHarness) {
    aggregated(harness, "/api");
    let parents: Vec<&str> = CORE.iter().filter(|name| !name.contains('/')).copied().collect();
    only(harness, "/items/0/versions/0/resources", "/resource", &parents);
    for index in 0..parents.len() {
        let inner = format!("/items/0/versions/0/resources/{index}");
        let resource =
            harness.steps.last().unwrap().body.pointer(&format!("{inner}/resource")).cloned().unwrap();
        let resource = resource.as_str().unwrap();
        let prefix = format!("{resource}/");
        let subresources: Vec<&str> = CORE.iter().filter_map(|name| name.strip_prefix(&prefix)).collect();
        if !subresources.is_empty() {
            only(harness, &format!("{inner}/subresources"), "/subresource", &subresources);
        }
    }
}

fn forms_of_discovery(harness: &mut ConformanceHarness) {
    harness
        .keeping(&["/kind"])
        .get_as("/apis", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList");
    harness
        .keeping(&["/kind"])
        .get_as("/apis", "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList");
    harness.keeping(&["/kind"]).get_as("/api", "*/*").is(200).has("/kind", "APIVersions");
    harness.keeping(&["/kind"]).get_as("/api/v1", "text/html");
    harness.keeping(&["/kind"]).get_as("/api/v1", AGGREGATED).is(200).has("/kind", "APIResourceList");
}

fn the_version(harness: &mut ConformanceHarness) {
    let version = harness.check(&["/major", "/minor"], "/version").is(200);
    version.some("/gitVersion").some("/platform").some("/goVersion");
    harness.check(&["/major"], "/version/");
}

fn the_version_is_recent(harness: &mut ConformanceHarness) {
    let version = harness.check(&["/major"], "/version").is(200);
    let minor: u32 = version.text("/minor").trim_end_matches('+').parse().unwrap();
    assert!(version.text("/major") == "1" && minor >= 30, "{minor}");
    assert!(version.text("/gitVersion").starts_with(&format!("v1.{minor}.")));
}
