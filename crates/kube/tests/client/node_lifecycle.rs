//! Tests the requests of node lifecycle.

use crate::fake::{ClientReply, RequestLog, SeenRequest, server};
use serde_json::{Value, json};
use std::time::Duration;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::LiveRead;
use taintward_core::identity::{NodeName, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{
    ConditionExpiry, ConditionKind, ConditionStatus, ManagedTaint, ManagedTaints, NodeRef,
};
use taintward_core::time::Wall;
use taintward_kube::api::ApiClient;
use taintward_kube::events::Event;
use testkit::{ObjectExt as _, node};
use tokio::time::Instant;

const UID: &str = "0d4a1c5e-7b1f-4f0e-9c3d-1234567890ab";
const NOW: Wall = Wall::from_micros(1_800_000_000_123_456);
const SECOND: &str = "2027-01-15T08:00:00Z";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf,application/json";
const NODE: &str = "/api/v1/nodes/n1";
const STATUS: &str = "/api/v1/nodes/n1/status";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

fn n1() -> NodeName {
    NodeName::new("n1")
}

fn node_ref() -> NodeRef {
    NodeRef { name: n1(), uid: Uid::new(UID) }
}

fn web() -> PodName {
    PodName::new("shop", "web-0")
}

fn metadata(version: &str) -> Value {
    json!({ "name": "n1", "uid": UID, "resourceVersion": version, "creationTimestamp": "2026-11-21T10:00:00Z" })
}

fn stored_node(taints: Value) -> Value {
    node("n1").with("metadata", metadata("7")).with("spec.taints", taints)
}

fn written() -> ClientReply {
    ClientReply::json(
        200,
        &json!({ "kind": "PartialObjectMetadata", "metadata": { "resourceVersion": "43" } }),
    )
}

fn set(taints: &[ManagedTaint]) -> ManagedTaints {
    taints.iter().copied().collect()
}

/// An API client for a server that returns `object` for every read, and accepts every write.
fn before(object: Value) -> (ApiClient, RequestLog) {
    let (client, log) = server(move |seen| match seen.method {
        http::Method::GET => ClientReply::json(200, &object),
        _ => written(),
    });
    (ApiClient::new(client, "host-1"), log)
}

fn arrived(log: &RequestLog) -> Vec<SeenRequest> {
    log.lock().unwrap().clone()
}

#[tokio::test(start_paused = true)]
async fn a_node_and_its_lease_are_read_live_and_at_the_same_time() {
    let (client, log) = server(|seen| match seen.path.as_str() {
        NODE => {
            let mut node = stored_node(json!([]));
            node["status"] = json!({ "conditions": [{ "type": "Ready", "status": "Unknown" }] });
            ClientReply::json(200, &node)
        }
        _ => ClientReply::json(
            200,
            &json!({ "kind": "Lease", "metadata": metadata("9"), "spec": { "renewTime": "2027-01-15T08:00:00.5Z" } }),
        ),
    });
    let read = ApiClient::new(client, "host-1").read_health(&n1()).await.unwrap();
    let (LiveRead::Found(node), LiveRead::Found(lease)) = (read.node, read.lease) else {
        panic!("both exist")
    };
    assert_eq!(
        (node.version, node.conditions[0].status),
        (Some(ResourceVersion(7)), ConditionStatus::Unknown)
    );
    assert_eq!(lease.node, n1());
    assert_eq!(lease.renewed, Some(Wall::from_micros(1_800_000_000_500_000)));
    let mut seen = arrived(&log);
    seen.sort_by(|one, other| one.path.cmp(&other.path));
    let lines: Vec<_> = seen.iter().map(SeenRequest::line).collect();
    assert_eq!(lines, [format!("GET {NODE}"), format!("GET {LEASES}/n1")]);
    for seen in seen {
        assert_eq!(
            (seen.query.as_str(), seen.accept.as_str()),
            ("timeout=2s", PROTOBUF),
            "never from a cache"
        );
        assert_eq!(seen.body, Value::Null);
    }
}

#[tokio::test(start_paused = true)]
async fn both_reads_run_together_and_one_failure_is_the_result() {
    let (client, log) = server(|_| ClientReply::Silence(Duration::from_secs(3600)));
    let start = Instant::now();
    let rejection = ApiClient::new(client, "host-1").read_health(&n1()).await.unwrap_err();
    assert_eq!((rejection.failure, start.elapsed().as_secs()), (ApiFailure::Unavailable, 3));
    assert_eq!(arrived(&log).len(), 2, "both were in flight");
    for broken in [NODE, LEASES] {
        let (client, _) = server(move |seen| {
            let kind = if seen.path == NODE { "Node" } else { "Lease" };
            match seen.path.starts_with(broken) {
                true => ClientReply::status(403, "Forbidden", "User \"t\" cannot get resource"),
                false => ClientReply::json(200, &json!({ "kind": kind, "metadata": metadata("7") })),
            }
        });
        let rejection = ApiClient::new(client, "host-1").read_health(&n1()).await.unwrap_err();
        assert_eq!(rejection.failure, ApiFailure::Forbidden, "{rejection}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_an_api_servers_response_makes_a_node_or_lease_absent() {
    let odd = json!({ "kind": "Lease", "metadata": metadata("9"), "spec": { "renewTime": "soon" } });
    let (client, _) = server(move |seen| match seen.path.as_str() {
        NODE => ClientReply::status(404, "NotFound", "nodes \"n1\" not found"),
        _ => ClientReply::json(200, &odd),
    });
    let read = ApiClient::new(client, "host-1").read_health(&n1()).await.unwrap();
    assert_eq!((read.node, read.lease), (LiveRead::NotFound, LiveRead::Undecodable));
    let (client, _) = server(|seen| match seen.path.as_str() {
        NODE => ClientReply::json(200, &json!({ "kind": "Node", "metadata": { "name": "n1", "uid": 7 } })),
        _ => ClientReply::status(404, "NotFound", "leases \"n1\" not found"),
    });
    let read = ApiClient::new(client, "host-1").read_health(&n1()).await.unwrap();
    assert_eq!((read.node, read.lease), (LiveRead::Undecodable, LiveRead::NotFound));
    for silent in [NODE, LEASES] {
        let (client, _) = server(move |seen| match seen.path.starts_with(silent) {
            true => ClientReply::Response(
                404,
                vec![("content-type", "text/plain".into())],
                "404 page not found".into(),
            ),
            false => ClientReply::status(404, "NotFound", "not found"),
        });
        let rejection = ApiClient::new(client, "host-1").read_health(&n1()).await.unwrap_err();
        assert_eq!(
            rejection.failure,
            ApiFailure::Unavailable,
            "a proxy's 404 makes no node silent: {rejection}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_node_name_sends_no_request() {
    let (act, log) = before(json!({}));
    for name in ["", "..", "a/b"] {
        let node = NodeRef { name: NodeName::new(name), uid: Uid::new(UID) };
        let never = [(ConditionKind::Ready, ConditionExpiry::NeverPosted)];
        assert_eq!(act.read_health(&node.name).await.unwrap_err().failure, ApiFailure::Rejected);
        let (add, none) = (set(&[ManagedTaint::NotReady]), ManagedTaints::NONE);
        assert!(act.write_taints(&node, None, add, none, NOW).await.is_err());
        assert!(act.declare(&node, None, &never, NOW).await.is_err());
        assert!(act.label(&node, None, Some("linux"), None).await.is_err());
        assert!(act.unready(&PodName::new("shop", name), &node.uid, NOW).await.is_err());
    }
    assert_eq!(arrived(&log).len(), 0);
}

#[tokio::test(start_paused = true)]
async fn taints_are_swapped_in_one_patch_that_tests_the_read_state() {
    let (key, effect) = ("node.kubernetes.io/not-ready", "NoExecute");
    let foreign = json!({ "key": "dedicated", "value": "gpu", "effect": "NoSchedule" });
    let old = json!({ "key": key, "value": "x", "effect": effect, "timeAdded": SECOND, "owner": { "new": "field" } });
    let (act, log) = before(stored_node(json!([old, foreign, { "key": key, "effect": effect }])));
    let (add, remove) = (set(&[ManagedTaint::UnreachableNoExecute]), set(&[ManagedTaint::NotReadyNoExecute]));
    let done = act.write_taints(&node_ref(), Some(ResourceVersion(7)), add, remove, NOW).await;
    assert_eq!(done, Ok(Some(ResourceVersion(43))));
    let seen = arrived(&log);
    let lines: Vec<_> = seen.iter().map(SeenRequest::line).collect();
    assert_eq!(lines, [format!("GET {NODE}"), format!("PATCH {NODE}")]);
    assert_eq!((seen[0].query.as_str(), seen[0].accept.as_str()), ("timeout=2s", "application/json"));
    assert_eq!(seen[1].query, "timeout=2s&fieldManager=taintward");
    assert_eq!(
        (seen[1].content_type.as_str(), seen[1].accept.as_str()),
        ("application/json-patch+json", METADATA)
    );
    assert_eq!(
        seen[1].body,
        json!([
            { "op": "test", "path": "/metadata/uid", "value": UID },
            { "op": "test", "path": "/metadata/resourceVersion", "value": "7" },
            { "op": "test", "path": "/spec/taints/2", "value": { "key": key, "effect": effect } },
            { "op": "remove", "path": "/spec/taints/2" },
            { "op": "test", "path": "/spec/taints/0", "value": old },
            { "op": "remove", "path": "/spec/taints/0" },
            { "op": "add", "path": "/spec/taints/-", "value": {
                "key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": SECOND,
            } },
        ])
    );
}

#[tokio::test(start_paused = true)]
async fn the_first_taints_are_added_as_a_list() {
    let taint = json!({ "key": "node.kubernetes.io/not-ready", "effect": "NoSchedule", "timeAdded": SECOND });
    for (spec, path, value) in [
        (json!({}), "/spec/taints", json!([taint])),
        (json!({ "taints": null }), "/spec/taints", json!([taint])),
        (json!({ "taints": [] }), "/spec/taints/-", taint.clone()),
        (Value::Null, "/spec", json!({ "taints": [taint] })),
    ] {
        let mut object = stored_node(json!([]));
        object["spec"] = spec;
        let (act, log) = before(object);
        let add = set(&[ManagedTaint::NotReady]);
        act.write_taints(&node_ref(), None, add, ManagedTaints::NONE, NOW).await.unwrap();
        let body = arrived(&log)[1].body.clone();
        assert_eq!(body.as_array().unwrap().len(), 3);
        assert_eq!(body[2], json!({ "op": "add", "path": path, "value": value }));
    }
}

#[tokio::test(start_paused = true)]
async fn without_edits_nothing_is_written() {
    let there = json!([{ "key": "node.kubernetes.io/unschedulable", "value": "x", "effect": "NoSchedule" }]);
    let (act, log) = before(stored_node(there));
    let (add, remove) =
        (set(&[ManagedTaint::Unschedulable]), set(&[ManagedTaint::NotReady, ManagedTaint::Unschedulable]));
    let done = act.write_taints(&node_ref(), None, add, remove, NOW).await;
    assert_eq!(
        (done, arrived(&log).len()),
        (Ok(Some(ResourceVersion(7))), 1),
        "it exists with another value; it is not removed either"
    );
    assert_eq!(
        act.declare(&node_ref(), Some(ResourceVersion(7)), &[], NOW).await,
        Ok(Some(ResourceVersion(7)))
    );
    assert_eq!(act.label(&node_ref(), None, None, None).await, Ok(None));
    assert_eq!(arrived(&log).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn existing_conditions_are_set_to_unknown_without_a_read() {
    let (act, log) = before(json!({}));
    let stopped = [
        (ConditionKind::Ready, ConditionExpiry::Stopped),
        (ConditionKind::PidPressure, ConditionExpiry::Stopped),
    ];
    let done = act.declare(&node_ref(), Some(ResourceVersion(7)), &stopped, NOW).await;
    assert_eq!(done, Ok(Some(ResourceVersion(43))));
    let [patch] = &arrived(&log)[..] else { panic!("no read is needed") };
    assert_eq!(patch.line(), format!("PATCH {STATUS}"));
    assert_eq!(patch.query, "timeout=2s&fieldManager=taintward");
    assert_eq!(patch.content_type, "application/strategic-merge-patch+json");
    assert_eq!(patch.accept, METADATA);
    let condition = |kind: &str| {
        json!({
            "type": kind, "status": "Unknown", "reason": "NodeStatusUnknown",
            "message": "Kubelet stopped posting node status.", "lastTransitionTime": SECOND,
        })
    };
    assert_eq!(
        patch.body,
        json!({
            "metadata": { "uid": UID, "resourceVersion": "7" },
            "status": { "conditions": [condition("Ready"), condition("PIDPressure")] },
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_missing_condition_gets_the_nodes_creation_as_heartbeat() {
    let (act, log) = before(stored_node(Value::Null));
    let both = [
        (ConditionKind::Ready, ConditionExpiry::Stopped),
        (ConditionKind::DiskPressure, ConditionExpiry::NeverPosted),
    ];
    act.declare(&node_ref(), Some(ResourceVersion(7)), &both, NOW).await.unwrap();
    act.declare(&node_ref(), None, &both[..1], NOW).await.unwrap();
    let seen = arrived(&log);
    let lines: Vec<_> = seen.iter().map(SeenRequest::line).collect();
    let round = [format!("GET {NODE}"), format!("PATCH {STATUS}")];
    assert_eq!(lines, [round.clone(), round].concat(), "without a version the node is read too");
    assert_eq!((seen[0].query.as_str(), seen[0].accept.as_str()), ("timeout=2s", METADATA));
    let conditions = &seen[1].body["status"]["conditions"];
    assert_eq!(conditions[0].get("lastHeartbeatTime"), None, "the heartbeat of a posted condition stays");
    assert_eq!(
        conditions[1],
        json!({
            "type": "DiskPressure", "status": "Unknown", "reason": "NodeStatusNeverUpdated",
            "message": "Kubelet never posted node status.", "lastTransitionTime": SECOND,
            "lastHeartbeatTime": "2026-11-21T10:00:00Z",
        })
    );
    for patch in [&seen[1], &seen[3]] {
        assert_eq!(patch.body["metadata"], json!({ "uid": UID, "resourceVersion": "7" }));
    }
}

#[tokio::test(start_paused = true)]
async fn deprecated_labels_are_merged_into_the_node() {
    let (act, log) = before(json!({}));
    assert_eq!(
        act.label(&node_ref(), Some(ResourceVersion(7)), Some("linux"), Some("arm64")).await,
        Ok(Some(ResourceVersion(43)))
    );
    act.label(&node_ref(), None, None, Some("arm64")).await.unwrap();
    let seen = arrived(&log);
    assert_eq!(
        (seen[0].line(), seen[0].query.as_str()),
        (format!("PATCH {NODE}"), "timeout=2s&fieldManager=taintward")
    );
    assert_eq!(
        (seen[0].content_type.as_str(), seen[0].accept.as_str()),
        ("application/merge-patch+json", METADATA)
    );
    let labels = json!({ "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm64" });
    assert_eq!(seen[0].body, json!({ "metadata": { "uid": UID, "resourceVersion": "7", "labels": labels } }));
    let labels = json!({ "beta.kubernetes.io/arch": "arm64" });
    assert_eq!(seen[1].body, json!({ "metadata": { "uid": UID, "labels": labels } }));
}

#[tokio::test(start_paused = true)]
async fn a_ready_pod_becomes_not_ready() {
    let pod = |conditions: Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": metadata("41"), "spec": {},
            "status": { "conditions": conditions },
        })
    };
    let ready = |status: &str| json!({ "type": "Ready", "status": status, "reason": "r", "message": "m" });
    let other = json!({ "type": "ContainersReady", "status": "True" });
    for status in ["True", "Unknown", ""] {
        let (act, log) = before(pod(json!([other, ready(status)])));
        assert_eq!(act.unready(&web(), &Uid::new(UID), NOW).await, Ok(true));
        let [read, patch] = &arrived(&log)[..] else { panic!("a read and a write") };
        assert_eq!(
            (read.line(), read.query.as_str()),
            ("GET /api/v1/namespaces/shop/pods/web-0".into(), "timeout=2s")
        );
        assert_eq!(patch.line(), "PATCH /api/v1/namespaces/shop/pods/web-0/status");
        assert_eq!(patch.query, "timeout=2s&fieldManager=taintward");
        assert_eq!(patch.content_type, "application/strategic-merge-patch+json");
        assert_eq!(patch.accept, METADATA);
        let condition = json!({ "type": "Ready", "status": "False", "lastTransitionTime": SECOND });
        assert_eq!(
            patch.body,
            json!({ "metadata": { "uid": UID, "resourceVersion": "41" }, "status": { "conditions": [condition] } }),
            "reason and message are not in the patch, so they stay"
        );
    }
    for conditions in [json!(null), json!([]), json!([other]), json!([ready("False")])] {
        let (act, log) = before(pod(conditions));
        assert_eq!(act.unready(&web(), &Uid::new(UID), NOW).await, Ok(false));
        assert_eq!(arrived(&log).len(), 1, "a read and no write");
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_is_a_consistent_read_of_one_lease() {
    let (act, log) = before(json!({ "kind": "LeaseList", "metadata": {}, "items": [] }));
    act.check_server().await.unwrap();
    let [seen] = &arrived(&log)[..] else { panic!("one request") };
    assert_eq!((seen.line(), seen.query.as_str()), (format!("GET {LEASES}"), "timeout=2s&limit=1"));
    assert_eq!((seen.accept.as_str(), &seen.body), (PROTOBUF, &Value::Null));
}

/// NL-1, NL-17, NL-19.
#[tokio::test(start_paused = true)]
async fn nl_1_events_of_node_health_name_the_reporter() {
    let (client, log) = server(|_| written());
    let act = ApiClient::new(client, "host-1");
    for note in
        [Event::registered(&node_ref(), NOW), Event::pod_not_ready(&web(), &Uid::new(UID), &n1(), NOW)]
    {
        act.post_event(&note).await.unwrap();
    }
    let seen = arrived(&log);
    assert_eq!(seen[0].path, "/apis/events.k8s.io/v1/namespaces/default/events");
    assert_eq!(
        (&seen[0].body["reason"], &seen[0].body["regarding"]["uid"]),
        (&json!("RegisteredNode"), &json!(UID))
    );
    assert_eq!(seen[0].body["reportingController"], "node-controller");
    assert_eq!(seen[1].path, "/apis/events.k8s.io/v1/namespaces/shop/events");
    assert_eq!((&seen[1].body["reason"], &seen[1].body["type"]), (&json!("NodeNotReady"), &json!("Warning")));
}
