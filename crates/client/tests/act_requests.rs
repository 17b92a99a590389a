//! What is sent for each request, and what becomes of each answer.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "act_fake/fake.rs"]
mod fake;

use fake::{Reply, Seen, server, status};
use serde_json::{Value, json};
use std::time::Duration;
use taintward_client::act::{Actor, Pace, Patience, Stamped};
use taintward_client::clock::Clock;
use taintward_client::event::{About, EventNote};
use taintward_core::effect::Failure;
use taintward_core::fact::{NodeFact, Standing};
use taintward_core::names::{NodeName, PodName, Uid, Version};
use taintward_core::taint::{Effect, Taint};
use taintward_core::time::{Span, Wall};
use tokio::time::Instant;

const UID: &str = "0d4a1c5e-7b1f-4f0e-9c3d-1234567890ab";
const NOW: Wall = Wall::from_micros(1_800_000_000_123_456);
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

fn web() -> PodName {
    PodName::new("shop", "web-0")
}

fn uid() -> Uid {
    Uid::new(UID)
}

fn pod(version: &str, conditions: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "namespace": "shop", "name": "web-0", "uid": UID, "resourceVersion": version },
        "spec": { "nodeName": "n1" },
        "status": { "phase": "Running", "conditions": conditions },
    })
}

fn ours() -> Value {
    json!([{ "type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager" }])
}

fn written() -> Reply {
    Reply::json(200, &json!({ "kind": "PartialObjectMetadata", "metadata": { "resourceVersion": "43" } }))
}

fn node() -> NodeFact {
    let taint = |key: &str, value: &str, effect| Taint {
        key: key.into(),
        value: value.into(),
        effect,
        time_added: None,
    };
    NodeFact {
        name: NodeName::new("n1"),
        uid: uid(),
        version: Some(Version(7)),
        created: None,
        taints: vec![taint("a", "b", Effect::NoSchedule), taint("k", "", Effect::NoExecute)],
        taints_changed: None,
    }
}

fn note() -> EventNote {
    EventNote {
        about: About::Pod(web(), uid()),
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
    let act = Actor::new(client, "host-1");
    assert_eq!(act.mark(&web(), &uid(), 3, None, NOW).await, Ok(Some(Version(43))));
    let kept = Wall::from_secs(1_799_999_000);
    act.mark(&web(), &uid(), 0, Some(kept), NOW).await.unwrap();
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
    let patch =
        |condition: &Value| json!({ "metadata": { "uid": UID }, "status": { "conditions": [condition] } });
    assert_eq!(seen[0].body, patch(&condition));
    condition["lastTransitionTime"] = json!("2027-01-15T07:43:20Z");
    condition.as_object_mut().unwrap().remove("observedGeneration");
    assert_eq!(seen[1].body, patch(&condition));
}

#[tokio::test(start_paused = true)]
async fn the_delete_carries_its_preconditions_and_no_grace_period() {
    let (client, log) = server(|_| Reply::json(200, &pod("44", &json!([]))));
    let act = Actor::new(client, "host-1");
    act.delete(&web(), &uid(), Some(Version(43))).await.unwrap();
    act.delete(&web(), &uid(), None).await.unwrap();
    let seen = log.lock().unwrap();
    assert_eq!(seen[0].line(), "DELETE /api/v1/namespaces/shop/pods/web-0");
    assert_eq!(seen[0].query, "timeout=2s");
    let options = |preconditions: Value| json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions });
    assert_eq!(seen[0].body, options(json!({ "uid": UID, "resourceVersion": "43" })));
    assert_eq!(seen[1].body, options(json!({ "uid": UID })));
}

#[tokio::test(start_paused = true)]
async fn a_name_that_is_no_name_sends_nothing() {
    let (client, log) = server(|_| written());
    let act = Actor::new(client, "host-1");
    for name in ["", "..", "a/b"] {
        let refusal = act.delete(&PodName::new("shop", name), &uid(), None).await.unwrap_err();
        assert_eq!(refusal.failure, Failure::Rejected);
        assert!(act.read_node(&NodeName::new(name)).await.is_err());
    }
    assert_eq!(log.lock().unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn reads_are_live_and_become_facts() {
    let (client, log) = server(|seen| match seen.path.as_str() {
        "/api/v1/nodes/n1" => Reply::json(
            200,
            &json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": { "name": "n1", "uid": UID, "resourceVersion": "7" },
                "spec": { "taints": [{ "key": "k", "effect": "NoExecute", "timeAdded": "2027-01-15T08:00:00Z" }] },
            }),
        ),
        "/api/v1/namespaces/shop/pods/web-0" => Reply::json(200, &pod("42", &ours())),
        "/api/v1/namespaces/shop/pods/new" => {
            let mut unbound = pod("42", &json!([]));
            unbound["spec"] = json!({});
            Reply::json(200, &unbound)
        }
        "/api/v1/namespaces/shop/pods/odd" => {
            let mut odd = pod("42", &json!([]));
            odd["spec"]["tolerations"] = json!("none");
            Reply::json(200, &odd)
        }
        _ => Reply::Answer(200, vec![("content-type", "text/html".into())], "<html>".into()),
    });
    let act = Actor::new(client, "host-1");
    let node = act.read_node(&NodeName::new("n1")).await.unwrap();
    assert_eq!((node.version, node.taints.len()), (Some(Version(7)), 1));
    let read = act.read_pod(&web()).await.unwrap().unwrap();
    assert_eq!((read.version, read.marked, read.standing), (Some(Version(42)), true, Standing::Live));
    assert_eq!(act.read_pod(&PodName::new("shop", "new")).await, Ok(None));
    for name in ["odd", "other"] {
        let refusal = act.read_pod(&PodName::new("shop", name)).await.unwrap_err();
        assert_eq!(refusal.failure, Failure::Unavailable, "{refusal}");
        assert!(refusal.message.contains("cannot be read"), "{refusal}");
    }
    for seen in log.lock().unwrap().iter() {
        assert_eq!(seen.query, "timeout=2s", "no resourceVersion: never from the server's cache");
        assert_eq!(seen.body, Value::Null);
    }
}

#[tokio::test(start_paused = true)]
async fn the_stamp_tests_the_node_and_the_whole_taint() {
    let (client, log) = server(|_| written());
    let act = Actor::new(client, "host-1");
    assert_eq!(act.stamp(&node(), 1, NOW).await, Ok(Stamped::Done(Some(Version(43)))));
    assert_eq!(act.stamp(&node(), 0, NOW).await, Ok(Stamped::Done(Some(Version(43)))));
    let mut stamped = node();
    stamped.taints[1].time_added = Some(NOW);
    assert_eq!(act.stamp(&stamped, 1, NOW).await, Ok(Stamped::NotNeeded));
    assert_eq!(act.stamp(&node(), 2, NOW).await, Ok(Stamped::NotNeeded));
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

fn unmarking(conditions: Value, conflicts: usize) -> impl FnMut(&Seen) -> Reply {
    let mut conflicts_left = conflicts;
    let mut version = 41;
    move |seen| {
        if seen.method == http::Method::GET {
            version += 1;
            return Reply::json(200, &pod(&version.to_string(), &conditions));
        }
        if conflicts_left > 0 {
            conflicts_left -= 1;
            return Reply::status(409, "Conflict", "modified");
        }
        written()
    }
}

#[tokio::test(start_paused = true)]
async fn the_mark_is_taken_away_in_the_state_in_which_it_was_ours() {
    let (client, log) = server(unmarking(ours(), 1));
    Actor::new(client, "host-1").unmark(&web(), &uid()).await.unwrap();
    let seen = log.lock().unwrap();
    let lines: Vec<_> = seen.iter().map(|seen| seen.method.as_str()).collect();
    assert_eq!(lines, ["GET", "PATCH", "GET", "PATCH"], "a conflict means: look again");
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
async fn nothing_is_taken_away_that_is_not_ours() {
    let others = [
        json!([]),
        json!([{ "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI" }]),
        json!([{ "type": "DisruptionTarget", "status": "False", "reason": "DeletionByTaintManager" }]),
        json!([{ "type": "Ready", "status": "True", "reason": "DeletionByTaintManager" }]),
    ];
    for conditions in others {
        let (client, log) = server(unmarking(conditions, 0));
        Actor::new(client, "host-1").unmark(&web(), &uid()).await.unwrap();
        assert_eq!(log.lock().unwrap().len(), 1, "a read and no write");
    }
    let (client, log) = server(|_| {
        let mut leaving = pod("42", &ours());
        leaving["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
        Reply::json(200, &leaving)
    });
    Actor::new(client, "host-1").unmark(&web(), &uid()).await.unwrap();
    assert_eq!(log.lock().unwrap().len(), 1);
    let (client, log) = server(unmarking(ours(), 0));
    let refusal = Actor::new(client, "host-1").unmark(&web(), &Uid::new("other")).await.unwrap_err();
    assert_eq!((refusal.failure, log.lock().unwrap().len()), (Failure::Conflict, 1), "another incarnation");
    let (client, log) = server(unmarking(ours(), usize::MAX));
    let refusal = Actor::new(client, "host-1").unmark(&web(), &uid()).await.unwrap_err();
    assert_eq!((refusal.failure, log.lock().unwrap().len()), (Failure::Conflict, 6), "bounded");
}

#[tokio::test(start_paused = true)]
async fn events_fall_back_to_core_and_remember() {
    for code in [404, 403] {
        let (client, log) = server(move |seen| {
            if seen.path.starts_with("/apis/") {
                Reply::status(code, "No", "no such group")
            } else {
                written()
            }
        });
        let act = Actor::new(client, "host-1");
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
async fn an_event_refused_in_both_places_teaches_nothing() {
    let (client, log) = server(|_| Reply::status(404, "NotFound", "namespaces \"shop\" not found"));
    let act = Actor::new(client, "host-1");
    for _ in 0..2 {
        assert_eq!(act.post_event(&note()).await.unwrap_err().failure, Failure::NotFound);
    }
    assert_eq!(log.lock().unwrap()[2].path, "/apis/events.k8s.io/v1/namespaces/shop/events");
    let (client, log) = server(|_| Reply::status(500, "InternalError", "etcd"));
    assert_eq!(Actor::new(client, "x").post_event(&note()).await.unwrap_err().failure, Failure::Unavailable);
    assert_eq!(log.lock().unwrap().len(), 1, "an outage is no reason for the other API");
}

#[tokio::test(start_paused = true)]
async fn every_answer_has_its_meaning() {
    let text =
        |code| Reply::Answer(code, vec![("content-type", "text/plain".into())], "404 page not found".into());
    let rows: Vec<(u16, Failure)> = vec![
        (400, Failure::Rejected),
        (401, Failure::Forbidden),
        (403, Failure::Forbidden),
        (404, Failure::NotFound),
        (405, Failure::Rejected),
        (409, Failure::Conflict),
        (410, Failure::Rejected),
        (413, Failure::Rejected),
        (415, Failure::Rejected),
        (422, Failure::Rejected),
        (429, Failure::Throttled(None)),
        (301, Failure::Unavailable),
        (500, Failure::Unavailable),
        (502, Failure::Unavailable),
        (503, Failure::Unavailable),
        (504, Failure::Unavailable),
    ];
    for (code, meaning) in rows {
        for with_status in [true, false] {
            let (client, log) =
                server(move |_| if with_status { Reply::status(code, "Any", "because") } else { text(code) });
            let refusal = Actor::new(client, "x").delete(&web(), &uid(), None).await.unwrap_err();
            assert_eq!(refusal.failure, meaning, "{code} {refusal}");
            assert!(refusal.message.starts_with(&format!("delete pods shop/web-0: {code} ")), "{refusal}");
            assert_eq!(refusal.message.contains("because"), with_status, "{refusal}");
            assert_eq!(log.lock().unwrap().len(), 1, "sent once, whatever comes back (P20)");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_422_is_a_conflict_only_where_a_precondition_failed() {
    let invalid = |field: &str| {
        let mut body = status(422, "Invalid", "Pod \"web-0\" is invalid");
        body["details"] = json!({ "causes": [{ "reason": "FieldValueInvalid", "field": field }] });
        body
    };
    let uid_body = invalid("metadata.uid");
    let (client, _) = server(move |_| Reply::json(422, &uid_body));
    let refusal = Actor::new(client, "x").mark(&web(), &uid(), 1, None, NOW).await.unwrap_err();
    assert_eq!(refusal.failure, Failure::Conflict, "another incarnation");
    let (client, _) = server(|_| Reply::status(422, "Invalid", "the server rejected our request"));
    let act = Actor::new(client, "x");
    assert_eq!(act.stamp(&node(), 1, NOW).await.unwrap_err().failure, Failure::Conflict, "a test failed");
    assert_eq!(act.mark(&web(), &uid(), 1, None, NOW).await.unwrap_err().failure, Failure::Rejected);
    let taint_body = invalid("spec.taints");
    let (client, _) = server(move |_| Reply::json(422, &taint_body));
    assert_eq!(Actor::new(client, "x").stamp(&node(), 1, NOW).await.unwrap_err().failure, Failure::Rejected);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_honoured_and_capped() {
    let rows = [
        (Some("1"), None, Some(1)),
        (Some("31536000"), None, Some(30)),
        (Some("99999999999999999999999"), None, Some(30)),
        (None, Some(3), Some(3)),
        (Some("2"), Some(3), Some(2)),
        (Some("Wed, 21 Oct 2015 07:28:00 GMT"), None, None),
        (Some("-1"), None, None),
        (None, None, None),
    ];
    for (header, detail, seconds) in rows {
        let (client, _) = server(move |_| {
            let mut body = status(429, "TooManyRequests", "later");
            if let Some(detail) = detail {
                body["details"] = json!({ "retryAfterSeconds": detail });
            }
            let headers = header.map(|value| ("retry-after", value.to_owned())).into_iter().collect();
            Reply::Answer(429, headers, body.to_string())
        });
        let refusal = Actor::new(client, "x").delete(&web(), &uid(), None).await.unwrap_err();
        assert_eq!(
            refusal.failure,
            Failure::Throttled(seconds.map(Span::from_secs)),
            "{header:?} {detail:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn silence_and_broken_connections_leave_it_open() {
    let (client, _) = server(|_| Reply::Silence(Duration::from_secs(3600)));
    let (act, start) = (Actor::new(client, "x"), Instant::now());
    let refusal = act.delete(&web(), &uid(), None).await.unwrap_err();
    assert_eq!((refusal.failure, start.elapsed().as_secs()), (Failure::Unavailable, 3));
    assert!(refusal.message.contains("within 3s"), "{refusal}");
    assert_eq!(act.longest_request(), Span::from_secs(5));
    let patience = Patience { server: Duration::from_secs(7), client: Duration::from_secs(8) };
    let start = Instant::now();
    act.with_patience(patience).read_node(&NodeName::new("n1")).await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 8);
    let (client, log) = server(|_| Reply::Reset);
    let refusal = Actor::new(client, "x").delete(&web(), &uid(), None).await.unwrap_err();
    assert_eq!((refusal.failure, log.lock().unwrap().len()), (Failure::Unavailable, 1));
    assert!(refusal.message.contains("reset"), "{refusal}");
}

#[tokio::test(start_paused = true)]
async fn the_pace_delays_what_fits_and_refuses_what_does_not() {
    let (client, log) = server(|_| written());
    let act = Actor::new(client, "x").with_pace(Pace::new(Clock::of_runtime(NOW), 1.0, 1));
    let start = Instant::now();
    for _ in 0..3 {
        act.delete(&web(), &uid(), None).await.unwrap();
    }
    assert_eq!(start.elapsed().as_secs(), 2);
    let (pod, uid) = (web(), uid());
    let all = futures::future::join_all((0..10).map(|_| act.delete(&pod, &uid, None))).await;
    let refused: Vec<_> = all.iter().filter_map(|sent| sent.as_ref().err()).collect();
    // Turns come after 1, 2 and 3 s; the one after 3 s leaves no time for the request itself.
    assert!((7..=8).contains(&refused.len()), "{refused:?}");
    for refusal in refused {
        assert!(matches!(refusal.failure, Failure::Throttled(Some(_)) | Failure::Unavailable), "{refusal}");
    }
    assert_eq!(log.lock().unwrap().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn messages_are_harmless_and_bounded_and_show_the_way_out() {
    let loud = "a\n\u{1b}[31mb".to_owned() + &"x".repeat(200_000);
    let (client, _) = server(move |_| Reply::status(400, "BadRequest", &loud));
    let refusal =
        Actor::new(client, "x").delete(&PodName::new("shop", "w\u{202e}"), &uid(), None).await.unwrap_err();
    assert!(refusal.message.len() < 2000, "{}", refusal.message.len());
    assert!(!refusal.message.contains(['\n', '\u{1b}', '\u{202e}']), "{refusal}");
    let (client, _) = server(|_| {
        Reply::status(
            403,
            "Forbidden",
            "pods \"web-0\" is forbidden: User \"t\" cannot delete resource \"pods\"",
        )
    });
    let refusal = Actor::new(client, "x").delete(&web(), &uid(), None).await.unwrap_err();
    assert!(refusal.message.ends_with("; grant the verb delete on pods in API group \"\""), "{refusal}");
    let (client, _) =
        server(|_| Reply::status(403, "Forbidden", "admission webhook \"w\" denied the request"));
    let refusal = Actor::new(client, "x").delete(&web(), &uid(), None).await.unwrap_err();
    assert!(!refusal.message.contains("grant"), "no grant helps against admission: {refusal}");
}
