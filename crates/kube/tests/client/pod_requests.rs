//! Tests the body and the preconditions of each request.

use crate::fake::{ClientReply, SeenRequest, server};
use serde_json::{Value, json};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::LiveRead;
use taintward_core::fact::{NodeFact, PodLifePhase};
use taintward_core::identity::{NodeName, PodName, ResourceVersion, Uid};
use taintward_core::testkit::{node, taints};
use taintward_core::time::Wall;
use taintward_kube::api::{ApiClient, BudgetRejection, TimeAddedResult};
use taintward_kube::events::{Event, EventReporter, Regarding};
use testkit::{ObjectExt as _, pod};

const UID: &str = "0d4a1c5e-7b1f-4f0e-9c3d-1234567890ab";
const NOW: Wall = Wall::from_micros(1_800_000_000_123_456);
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

fn web() -> PodName {
    PodName::new("shop", "web-0")
}

fn uid() -> Uid {
    Uid::new(UID)
}

fn stored_pod(version: &str, conditions: Value) -> Value {
    let pod = pod("web-0").namespace("shop").uid(UID).version(version).on("n1");
    pod.with("status.phase", "Running").with("status.conditions", conditions)
}

fn ours() -> Value {
    json!([{ "type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager" }])
}

fn written() -> ClientReply {
    ClientReply::json(
        200,
        &json!({ "kind": "PartialObjectMetadata", "metadata": { "resourceVersion": "43" } }),
    )
}

fn tainted_node() -> NodeFact {
    NodeFact { uid: uid(), ..node("n1").at_version(7).tainted(taints("a=b:NoSchedule k:NoExecute")) }
}

fn note() -> Event {
    Event {
        reporter: EventReporter::EVICTION,
        regarding: Regarding::Pod(web(), uid()),
        action: "Evicting".into(),
        note: "Marking for deletion Pod shop/web-0".into(),
        warning: false,
        related: None,
        at: NOW,
        count: 1,
    }
}

#[tokio::test(start_paused = true)]
async fn the_mark_is_a_strategic_patch_of_the_status_with_the_uid() {
    let (client, log) = server(|_| written());
    let act = ApiClient::new(client, "host-1");
    assert_eq!(act.set_disruption_target(&web(), &uid(), None, 3, NOW).await, Ok(Some(ResourceVersion(43))));
    act.set_disruption_target(&web(), &uid(), Some(ResourceVersion(41)), 0, NOW).await.unwrap();
    let seen = log.lock().unwrap();
    assert_eq!(seen[0].line(), "PATCH /api/v1/namespaces/shop/pods/web-0/status");
    assert_eq!(seen[0].query, "timeout=2s&fieldManager=taintward");
    assert_eq!(seen[0].content_type, "application/strategic-merge-patch+json");
    assert_eq!(seen[0].accept, METADATA);
    let mut condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
        "lastTransitionTime": "2027-01-15T08:00:00Z", "observedGeneration": 3,
    });
    let patch = |metadata: Value, condition: &Value| json!({ "metadata": metadata, "status": { "conditions": [condition] } });
    assert_eq!(seen[0].body, patch(json!({ "uid": UID }), &condition));
    condition.as_object_mut().unwrap().remove("observedGeneration");
    assert_eq!(seen[1].body, patch(json!({ "uid": UID, "resourceVersion": "41" }), &condition));
}

#[tokio::test(start_paused = true)]
async fn the_delete_has_its_preconditions_and_no_grace_period() {
    let (client, log) = server(|_| ClientReply::json(200, &stored_pod("44", json!([]))));
    let act = ApiClient::new(client, "host-1");
    act.delete(&web(), &uid(), Some(ResourceVersion(43)), None).await.unwrap();
    act.delete(&web(), &uid(), None, None).await.unwrap();
    let seen = log.lock().unwrap();
    assert_eq!(seen[0].line(), "DELETE /api/v1/namespaces/shop/pods/web-0");
    assert_eq!(seen[0].query, "timeout=2s");
    let options = |preconditions: Value| json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions });
    assert_eq!(seen[0].body, options(json!({ "uid": UID, "resourceVersion": "43" })));
    assert_eq!(seen[1].body, options(json!({ "uid": UID })));
}

#[tokio::test(start_paused = true)]
async fn another_grace_period_is_written_into_the_options() {
    let (client, log) = server(|_| ClientReply::json(200, &stored_pod("44", json!([]))));
    let act = ApiClient::new(client, "host-1");
    act.delete(&web(), &uid(), None, Some(0)).await.unwrap();
    act.evict(&web(), &uid(), None, Some(30)).await.unwrap();
    act.evict(&web(), &uid(), Some(ResourceVersion(43)), None).await.unwrap();
    let seen = log.lock().unwrap();
    assert_eq!(seen[0].body["gracePeriodSeconds"], 0);
    assert_eq!(seen[1].line(), "POST /api/v1/namespaces/shop/pods/web-0/eviction");
    let eviction = |options: Value| {
        let metadata = json!({ "namespace": "shop", "name": "web-0" });
        json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options })
    };
    let unversioned = json!({ "preconditions": { "uid": UID }, "gracePeriodSeconds": 30 });
    assert_eq!(seen[1].body, eviction(unversioned));
    assert_eq!(seen[2].body, eviction(json!({ "preconditions": { "uid": UID, "resourceVersion": "43" } })));
}

#[tokio::test(start_paused = true)]
async fn the_refusal_of_a_budget_is_neither_throttling_nor_overload() {
    let several =
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    let cause = |reason: &str| json!({ "causes": [{ "reason": reason, "message": "needs 3" }] });
    for (code, message, details, budget, overload) in [
        (
            429,
            "Cannot evict pod",
            cause("DisruptionBudget"),
            Some(BudgetRejection::NoDisruptionAllowed),
            false,
        ),
        (429, "Cannot evict pod", cause("Other"), None, true),
        (429, "too many requests", json!(null), None, true),
        (500, several, json!(null), Some(BudgetRejection::SeveralBudgets), false),
        (500, "etcdserver: timeout", json!(null), None, true),
        (409, several, cause("DisruptionBudget"), None, false),
    ] {
        let mut status = crate::fake::status(code, "", message);
        status["details"] = details;
        let (client, _) = server(move |_| ClientReply::json(code, &status));
        let rejected = ApiClient::new(client, "x").evict(&web(), &uid(), None, None).await.unwrap_err();
        assert_eq!((rejected.budget, rejected.overload), (budget, overload), "{rejected:?}");
        match code {
            429 => assert_eq!(rejected.failure, ApiFailure::Throttled(None)),
            500 => assert_eq!(rejected.failure, ApiFailure::Unavailable),
            _ => assert_eq!(rejected.failure, ApiFailure::Conflict),
        }
        assert!(rejected.message.starts_with("create pods/eviction shop/web-0: "), "{}", rejected.message);
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_name_sends_nothing() {
    let (client, log) = server(|_| written());
    let act = ApiClient::new(client, "host-1");
    for name in ["", "..", "a/b"] {
        let rejection = act.delete(&PodName::new("shop", name), &uid(), None, None).await.unwrap_err();
        assert_eq!(rejection.failure, ApiFailure::Rejected);
        assert!(act.read_node(&NodeName::new(name)).await.is_err());
    }
    assert_eq!(log.lock().unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn reads_are_live_and_are_decoded() {
    let (client, log) = server(|seen| match seen.path.as_str() {
        "/api/v1/nodes/n1" => ClientReply::json(
            200,
            &json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": { "name": "n1", "uid": UID, "resourceVersion": "7" },
                "spec": { "taints": [{ "key": "k", "effect": "NoExecute", "timeAdded": "2027-01-15T08:00:00Z" }] },
            }),
        ),
        "/api/v1/namespaces/shop/pods/web-0" => ClientReply::json(200, &stored_pod("42", ours())),
        "/api/v1/namespaces/shop/pods/new" => {
            let mut unbound = stored_pod("42", json!([]));
            unbound["spec"] = json!({});
            ClientReply::json(200, &unbound)
        }
        "/api/v1/namespaces/shop/pods/odd" => {
            let mut odd = stored_pod("42", json!([]));
            odd["spec"]["tolerations"] = json!("none");
            ClientReply::json(200, &odd)
        }
        _ => ClientReply::Response(200, vec![("content-type", "text/html".into())], "<html>".into()),
    });
    let act = ApiClient::new(client, "host-1");
    let Ok(LiveRead::Found(node)) = act.read_node(&NodeName::new("n1")).await else {
        panic!("the node can be decoded")
    };
    assert_eq!((node.version, node.taints.len()), (Some(ResourceVersion(7)), 1));
    let Ok((LiveRead::Found(read), false)) = act.read_pod(&web()).await else {
        panic!("the pod can be decoded")
    };
    assert_eq!(
        (read.pod.version, read.pod.marked, read.pod.life_phase),
        (Some(ResourceVersion(42)), true, PodLifePhase::Live)
    );
    assert_eq!(act.read_pod(&PodName::new("shop", "new")).await, Ok((LiveRead::NotFound, false)));
    assert_eq!(act.read_pod(&PodName::new("shop", "odd")).await, Ok((LiveRead::Undecodable, false)));
    let rejection = act.read_pod(&PodName::new("shop", "other")).await.unwrap_err();
    assert_eq!(rejection.failure, ApiFailure::Unavailable, "{rejection}");
    assert!(rejection.message.contains("something other than an API server"), "{rejection}");
    for seen in log.lock().unwrap().iter() {
        assert_eq!(seen.query, "timeout=2s", "no resourceVersion: never from the server's cache");
        assert_eq!(seen.body, Value::Null);
    }
}

/// The state after a DELETE that was interrupted between its two writes.
#[tokio::test(start_paused = true)]
async fn an_interrupted_deletion_is_detected() {
    for (grace, finalizers, half) in [
        (json!(0), json!(null), true),
        (json!(null), json!([]), true),
        (json!(30), json!(null), false),
        (json!("0"), json!(null), false),
        (json!(0), json!(["example.com/keep"]), false),
        (json!(0), json!("example.com/keep"), false),
    ] {
        for deleted in [true, false] {
            let mut object = stored_pod("42", json!([]));
            let meta = &mut object["metadata"];
            (meta["deletionGracePeriodSeconds"], meta["finalizers"]) = (grace.clone(), finalizers.clone());
            if deleted {
                meta["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
            }
            let (client, _) = server(move |_| ClientReply::json(200, &object));
            let (reading, half_deleted) = ApiClient::new(client, "x").read_pod(&web()).await.unwrap();
            assert!(matches!(reading, LiveRead::Found(_)));
            assert_eq!(half_deleted, half && deleted, "{grace} {finalizers} {deleted}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_stamp_tests_the_node_and_the_whole_taint() {
    let (client, log) = server(|_| written());
    let act = ApiClient::new(client, "host-1");
    assert_eq!(
        act.add_time_added(&tainted_node(), 1, NOW).await,
        Ok(TimeAddedResult::Done(Some(ResourceVersion(43))))
    );
    assert_eq!(
        act.add_time_added(&tainted_node(), 0, NOW).await,
        Ok(TimeAddedResult::Done(Some(ResourceVersion(43))))
    );
    let mut stamped = tainted_node();
    stamped.taints[1].time_added = Some(NOW);
    assert_eq!(act.add_time_added(&stamped, 1, NOW).await, Ok(TimeAddedResult::NotNeeded));
    assert_eq!(act.add_time_added(&tainted_node(), 2, NOW).await, Ok(TimeAddedResult::NotNeeded));
    let seen = log.lock().unwrap();
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[0].line(), "PATCH /api/v1/nodes/n1");
    assert_eq!(seen[0].content_type, "application/json-patch+json");
    assert_eq!(
        seen[0].body,
        json!([
            { "op": "test", "path": "/metadata/uid", "value": UID },
            { "op": "test", "path": "/spec/taints/1", "value": { "key": "k", "effect": "NoExecute" } },
            { "op": "add", "path": "/spec/taints/1/timeAdded", "value": "2027-01-15T08:00:00Z" },
        ])
    );
    assert_eq!(seen[1].body[1]["value"], json!({ "key": "a", "value": "b", "effect": "NoSchedule" }));
}

fn unmarking(conditions: Value, conflicts: usize) -> impl FnMut(&SeenRequest) -> ClientReply {
    let mut conflicts_left = conflicts;
    let mut version = 41;
    move |seen| {
        if seen.method == http::Method::GET {
            version += 1;
            return ClientReply::json(200, &stored_pod(&version.to_string(), conditions.clone()));
        }
        if conflicts_left > 0 {
            conflicts_left -= 1;
            return ClientReply::status(409, "Conflict", "modified");
        }
        written()
    }
}

#[tokio::test(start_paused = true)]
async fn the_mark_is_removed_only_in_the_state_that_was_read() {
    let (client, log) = server(unmarking(ours(), 1));
    ApiClient::new(client, "host-1").clear_disruption_target(&web(), &uid()).await.unwrap();
    let seen = log.lock().unwrap();
    let lines: Vec<_> = seen.iter().map(|seen| seen.method.as_str()).collect();
    assert_eq!(lines, ["GET", "PATCH", "GET", "PATCH"], "a conflict means: read again");
    assert_eq!(seen[3].path, "/api/v1/namespaces/shop/pods/web-0/status");
    assert_eq!(
        seen[3].body,
        json!({
            "metadata": { "uid": UID, "resourceVersion": "43" },
            "status": { "conditions": [{ "$patch": "delete", "type": "DisruptionTarget" }] },
        })
    );
}

#[tokio::test(start_paused = true)]
async fn a_condition_of_another_client_is_not_removed() {
    let others = [
        json!([]),
        json!([{ "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI" }]),
        json!([{ "type": "DisruptionTarget", "status": "False", "reason": "DeletionByTaintManager" }]),
        json!([{ "type": "Ready", "status": "True", "reason": "DeletionByTaintManager" }]),
    ];
    for conditions in others {
        let (client, log) = server(unmarking(conditions, 0));
        ApiClient::new(client, "host-1").clear_disruption_target(&web(), &uid()).await.unwrap();
        assert_eq!(log.lock().unwrap().len(), 1, "a read and no write");
    }
    let (client, log) = server(|_| {
        let mut leaving = stored_pod("42", ours());
        leaving["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
        ClientReply::json(200, &leaving)
    });
    ApiClient::new(client, "host-1").clear_disruption_target(&web(), &uid()).await.unwrap();
    assert_eq!(log.lock().unwrap().len(), 1);
    let (client, log) = server(unmarking(ours(), 0));
    let rejection = ApiClient::new(client, "host-1")
        .clear_disruption_target(&web(), &Uid::new("other"))
        .await
        .unwrap_err();
    assert_eq!(
        (rejection.failure, log.lock().unwrap().len()),
        (ApiFailure::Conflict, 1),
        "another incarnation"
    );
    let (client, log) = server(unmarking(ours(), usize::MAX));
    let rejection =
        ApiClient::new(client, "host-1").clear_disruption_target(&web(), &uid()).await.unwrap_err();
    assert_eq!((rejection.failure, log.lock().unwrap().len()), (ApiFailure::Conflict, 6), "bounded");
}

#[tokio::test(start_paused = true)]
async fn events_fall_back_to_core_permanently() {
    for code in [404, 403] {
        let (client, log) = server(move |seen| {
            if seen.path.starts_with("/apis/") {
                ClientReply::status(code, "No", "no such group")
            } else {
                written()
            }
        });
        let act = ApiClient::new(client, "host-1");
        act.post_event(&note()).await.unwrap();
        act.clone().post_event(&note()).await.unwrap();
        let seen = log.lock().unwrap();
        let paths: Vec<_> = seen.iter().map(|seen| seen.path.as_str()).collect();
        let core = "/api/v1/namespaces/shop/events";
        assert_eq!(paths, ["/apis/events.k8s.io/v1/namespaces/shop/events", core, core]);
        assert_eq!(seen[0].body["regarding"]["uid"], UID);
        assert_eq!(seen[1].body["involvedObject"]["uid"], UID);
        assert_ne!(
            seen[1].body["metadata"]["name"], seen[2].body["metadata"]["name"],
            "one microsecond, two events"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_refused_by_both_apis_changes_nothing() {
    let (client, log) = server(|_| ClientReply::status(404, "NotFound", "namespaces \"shop\" not found"));
    let act = ApiClient::new(client, "host-1");
    for _ in 0..2 {
        assert_eq!(act.post_event(&note()).await.unwrap_err().failure, ApiFailure::NotFound);
    }
    assert_eq!(log.lock().unwrap()[2].path, "/apis/events.k8s.io/v1/namespaces/shop/events");
    let (client, log) = server(|_| ClientReply::status(500, "InternalError", "etcd"));
    assert_eq!(
        ApiClient::new(client, "x").post_event(&note()).await.unwrap_err().failure,
        ApiFailure::Unavailable
    );
    assert_eq!(log.lock().unwrap().len(), 1, "an outage is not a reason for the other API");
}
