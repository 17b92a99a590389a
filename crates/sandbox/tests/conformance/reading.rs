//! Compares reads: single objects, missing ones, response formats.

use super::cases;
use super::harness::ConformanceHarness;
use super::wire;
use serde_json::json;

cases![
    reading_a_missing_object,
    a_resource_that_is_not_there,
    a_group_that_is_not_there,
    a_path_that_is_not_there,
    an_unsupported_response_format,
    forms_that_are_written,
    a_table_of_one,
    a_table_of_pods,
    a_table_of_nodes,
    a_table_with_whole_objects,
    a_table_without_objects,
    a_table_with_invalid_parameters,
    an_empty_table,
    a_table_of_everything_else,
    a_refusal_is_a_status,
    only_metadata,
    a_list_of_only_metadata,
    a_node_in_protobuf,
    a_pod_in_protobuf,
    a_lease_in_protobuf,
    an_event_in_protobuf,
    a_list_in_protobuf,
    a_refusal_in_protobuf,
    a_version_to_read_at,
    a_version_of_the_future,
    a_subresource_is_the_whole_object,
    the_log_of_a_pod_that_has_not_begun,
    a_log_of_what_is_not_there,
];

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf,application/json";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

fn reading_a_missing_object(harness: &mut ConformanceHarness) {
    harness.get("/api/v1/nodes/none-such").rejected(404, "NotFound").has("/details/kind", "nodes");
    harness.get(harness.core("pods/none")).rejected(404, "NotFound").contains("pods \"none\" not found");
    harness
        .get(harness.group("apps/v1", "deployments/none"))
        .rejected(404, "NotFound")
        .has("/details/group", "apps");
    harness
        .get("/api/v1/namespaces/none-such/pods/none")
        .rejected(404, "NotFound")
        .has("/details/kind", "pods");
    harness.get("/api/v1/namespaces/none-such/pods").is(200).has("/items", json!([]));
    harness.get(harness.core("pods/none/status")).rejected(404, "NotFound");
}

fn a_resource_that_is_not_there(harness: &mut ConformanceHarness) {
    harness.get("/api/v1/things").rejected(404, "NotFound").contains("could not find the requested resource");
    harness.get(harness.core("things/a")).rejected(404, "NotFound");
    harness.get(harness.core("pods/a/nonsense")).rejected(404, "NotFound");
    harness.get("/apis/apps/v1/things").rejected(404, "NotFound");
}

fn a_group_that_is_not_there(harness: &mut ConformanceHarness) {
    harness.get("/apis/none.example/v1/things").is(404);
    harness.get("/apis/apps/v9/deployments").is(404);
    harness.get("/apis/none.example").is(404);
    harness.get("/api/v2/pods").is(404);
}

fn a_path_that_is_not_there(harness: &mut ConformanceHarness) {
    for path in ["/nowhere", "/api/", "/apis/", "/healthz/nonsense", "/api/v1/"] {
        harness.check(&["/kind"], path);
    }
    harness.get("/nowhere").is(404);
}

fn an_unsupported_response_format(harness: &mut ConformanceHarness) {
    for form in
        ["text/plain", "application/xml", "application/json;as=Nonsense;v=v1;g=meta.k8s.io", "nonsense"]
    {
        harness.get_as(harness.core("pods"), form).is(406);
    }
    harness.get_as(harness.core("pods/none"), "text/html").is(406);
}

fn forms_that_are_written(harness: &mut ConformanceHarness) {
    let path = harness.core("pods/none");
    for form in [
        "*/*",
        "application/*",
        "text/html,*/*;q=0.8",
        "application/cbor,application/json",
        "application/json;stream=watch",
        "application/json; charset=utf-8",
        "",
    ] {
        harness.get_as(&path, form);
    }
    harness.get_as(&path, "*/*").is(404);
    harness.get_as(&path, "text/html,*/*;q=0.8").is(404);
}

fn a_table_of_one(harness: &mut ConformanceHarness) {
    let node = harness.create_node("n", &json!({"taints": [{"key": "k", "effect": "NoExecute"}]}));
    let table = harness.get_as(format!("/api/v1/nodes/{node}"), TABLE).is(200);
    table
        .has("/kind", "Table")
        .has("/rows/0/cells/0", node.as_str())
        .has("/rows/0/object/kind", "PartialObjectMetadata");
}

fn a_table_of_pods(harness: &mut ConformanceHarness) {
    harness.create_pod("a", &json!({"nodeName": "n1"}));
    harness.create_pod("b", &json!({}));
    let ready = json!({"status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}],
        "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "main", "ready": true, "restartCount": 3, "image": "i", "imageID": "",
            "state": {"running": {"startedAt": "2001-01-01T00:00:00Z"}}}]}});
    harness.arranged(&harness.core("pods/a/status"), super::harness::MERGE, &ready);
    let table = harness.get_as(harness.core("pods"), TABLE).is(200);
    table.has("/rows/0/cells/1", "1/1").has("/rows/0/cells/2", "Running").has("/rows/1/cells/2", "Pending");
}

fn a_table_of_nodes(harness: &mut ConformanceHarness) {
    harness.create_node("a", &json!({}));
    harness.create_node("b", &json!({"unschedulable": true}));
    let list = format!("/api/v1/nodes?labelSelector=case%3D{}", harness.own);
    let table = harness.get_as(list, TABLE).is(200);
    table.has("/rows/0/cells/1", "Unknown").has("/rows/1/cells/1", "Unknown,SchedulingDisabled");
}

fn a_table_with_whole_objects(harness: &mut ConformanceHarness) {
    harness.create_pod("a", &json!({}));
    let table = harness.get_as(harness.core("pods?includeObject=Object"), TABLE).is(200);
    table.has("/rows/0/object/kind", "Pod").some("/rows/0/object/spec/containers");
}

fn a_table_without_objects(harness: &mut ConformanceHarness) {
    harness.create_pod("a", &json!({}));
    harness.get_as(harness.core("pods?includeObject=None"), TABLE).is(200).has("/rows/0/object", json!(null));
}

fn a_table_with_invalid_parameters(harness: &mut ConformanceHarness) {
    harness.create_pod("a", &json!({}));
    harness.get_as(harness.core("pods?includeObject=Nonsense"), TABLE).is(400);
}

fn an_empty_table(harness: &mut ConformanceHarness) {
    harness.get_as(harness.core("pods"), TABLE).is(200).has("/rows", json!([])).some("/columnDefinitions/0");
}

fn a_table_of_everything_else(harness: &mut ConformanceHarness) {
    for path in [
        "/api/v1/namespaces?labelSelector=none%3Dsuch".to_owned(),
        harness.core("events"),
        harness.group("apps/v1", "deployments"),
        harness.group("apps/v1", "daemonsets"),
        harness.group("apps/v1", "replicasets"),
        harness.group("batch/v1", "jobs"),
        harness.group("coordination.k8s.io/v1", "leases"),
        harness.group("policy/v1", "poddisruptionbudgets"),
    ] {
        harness.get_as(path, TABLE).is(200).has("/kind", "Table");
    }
}

fn a_refusal_is_a_status(harness: &mut ConformanceHarness) {
    harness.get_as(harness.core("pods/none"), TABLE).rejected(404, "NotFound");
}

fn only_metadata(harness: &mut ConformanceHarness) {
    harness.create_pod("a", &json!({}));
    let form = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    let read = harness.get_as(harness.core("pods/a"), form).is(200);
    read.has("/kind", "PartialObjectMetadata").has("/metadata/labels/app", "a").lacks("/spec");
}

fn a_list_of_only_metadata(harness: &mut ConformanceHarness) {
    harness.create_pod("a", &json!({}));
    let form = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    let read = harness.get_as(harness.core("pods"), form).is(200);
    read.has("/kind", "PartialObjectMetadataList").lacks("/items/0/spec").some("/items/0/metadata/uid");
}

/// Reads in protobuf, and expects an object of this kind.
fn in_protobuf(harness: &mut ConformanceHarness, path: &str, kind: &str) {
    let read = harness.get_as(path, PROTOBUF).is(200);
    assert_eq!(read.kind(), "application/vnd.kubernetes.protobuf");
    assert!(read.bytes.starts_with(wire::MAGIC));
    read.has("/kind", kind);
}

fn a_node_in_protobuf(harness: &mut ConformanceHarness) {
    let taints =
        json!([{"key": "k", "value": "v", "effect": "NoExecute", "timeAdded": "2001-01-01T00:00:00Z"}]);
    let node = harness.create_node("n", &json!({"taints": taints}));
    in_protobuf(harness, &format!("/api/v1/nodes/{node}"), "Node");
}

fn a_pod_in_protobuf(harness: &mut ConformanceHarness) {
    let tolerations =
        json!([{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": -1}]);
    harness.create_pod("a", &json!({"nodeName": "n1", "tolerations": tolerations}));
    in_protobuf(harness, &harness.core("pods/a"), "Pod");
}

fn a_lease_in_protobuf(harness: &mut ConformanceHarness) {
    let leases = harness.group("coordination.k8s.io/v1", "leases");
    let spec = json!({"holderIdentity": "me", "renewTime": "2001-01-01T00:00:00.123456Z",
        "leaseDurationSeconds": 15, "leaseTransitions": 0});
    harness.given(&leases, &json!({"metadata": {"name": "l"}, "spec": spec}));
    in_protobuf(harness, &format!("{leases}/l"), "Lease");
}

fn an_event_in_protobuf(harness: &mut ConformanceHarness) {
    let (events, own) = (harness.core("events"), harness.own.clone());
    let event = json!({"metadata": {"name": "e"}, "reason": "R", "message": "m", "type": "Normal", "count": 2,
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": own},
        "source": {"component": "c"}, "firstTimestamp": "2001-01-01T00:00:00Z"});
    harness.given(&events, &event);
    in_protobuf(harness, &format!("{events}/e"), "Event");
    in_protobuf(harness, &harness.group("events.k8s.io/v1", "events/e"), "Event");
}

fn a_list_in_protobuf(harness: &mut ConformanceHarness) {
    in_protobuf(harness, &harness.core("pods"), "PodList");
    harness.create_pod("a", &json!({}));
    harness.create_pod("b", &json!({"nodeName": "n1"}));
    in_protobuf(harness, &harness.core("pods?limit=1"), "PodList");
}

fn a_refusal_in_protobuf(harness: &mut ConformanceHarness) {
    let rejection = harness.get_as(harness.core("pods/none"), PROTOBUF).rejected(404, "NotFound");
    assert_eq!(rejection.kind(), "application/vnd.kubernetes.protobuf");
}

fn a_version_to_read_at(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/c");
    harness.given(&harness.core("configmaps"), &json!({"metadata": {"name": "c"}}));
    let version = harness.get(&path).is(200).version();
    harness.get(format!("{path}?resourceVersion={version}")).is(200);
    harness.settle(&harness.core("configmaps"));
    harness.get(format!("{path}?resourceVersion=0")).is(200);
    harness.get(format!("{path}?resourceVersion=1")).is(200);
    harness.get(format!("{path}?resourceVersion=nonsense")).is(500);
}

fn a_version_of_the_future(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps/none?resourceVersion=1000000000");
    harness.get(path).rejected(504, "Timeout").contains("Too large resource version");
}

fn a_subresource_is_the_whole_object(harness: &mut ConformanceHarness) {
    harness.create_pod("a", &json!({}));
    harness.get(harness.core("pods/a/status")).is(200).has("/kind", "Pod").some("/spec/containers");
    let node = harness.create_node("n", &json!({}));
    harness.get(format!("/api/v1/nodes/{node}/status")).is(200).has("/kind", "Node");
}

fn the_log_of_a_pod_that_has_not_begun(harness: &mut ConformanceHarness) {
    harness.create_pod("a", &json!({}));
    for query in ["", "?container=main", "?follow=true", "?previous=true&tailLines=3"] {
        assert_eq!(harness.get(harness.core(&format!("pods/a/log{query}"))).is(204).body, "");
    }
    harness.delete(harness.core("pods/a/log")).rejected(405, "MethodNotAllowed");
}

fn a_log_of_what_is_not_there(harness: &mut ConformanceHarness) {
    let containers = json!([{"name": "x", "image": "i"}, {"name": "y", "image": "i"}]);
    harness.create_pod(
        "a",
        &json!({"containers": containers, "initContainers": [{"name": "before", "image": "i"}]}),
    );
    harness.get(harness.core("pods/none/log")).rejected(404, "NotFound");
    harness
        .get(harness.core("pods/a/log"))
        .rejected(400, "BadRequest")
        .contains("choose one of: [before x y]");
    harness
        .get(harness.core("pods/a/log?container=z"))
        .rejected(400, "BadRequest")
        .contains("z is not valid for pod a");
    harness.get(harness.core("pods/a/log?container=before")).is(204);
}
