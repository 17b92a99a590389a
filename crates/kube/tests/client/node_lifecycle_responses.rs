//! Tests how the responses to node lifecycle are classified.

use crate::fake::{ClientReply, RequestLog, SeenRequest, server, status};
use futures::future::BoxFuture;
use serde_json::{Value, json};
use std::time::Duration;
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::{NodeName, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{ConditionExpiry, ConditionKind, ManagedTaint, ManagedTaints, NodeRef};
use taintward_core::time::{Span, Wall};
use taintward_kube::api::{ApiClient, RateLimiter, RequestError};
use taintward_kube::clock::Clock;
use testkit::{ObjectExt as _, node};
use tokio::time::Instant;

const UID: &str = "0d4a1c5e-7b1f-4f0e-9c3d-1234567890ab";
const NOW: Wall = Wall::from_secs(1_800_000_000);

type Call = fn(ApiClient) -> BoxFuture<'static, Result<(), RequestError>>;

/// Every call, each with changes to make.
const CALLS: [(&str, Call); 7] = [
    ("read_health", |act| Box::pin(async move { act.read_health(&node_ref().name).await.map(drop) })),
    ("write_taints", |act| {
        Box::pin(async move {
            act.write_taints(&node_ref(), Some(ResourceVersion(7)), add(), ManagedTaints::NONE, NOW)
                .await
                .map(drop)
        })
    }),
    ("declare", |act| {
        Box::pin(async move {
            act.declare(
                &node_ref(),
                Some(ResourceVersion(7)),
                &[(ConditionKind::Ready, ConditionExpiry::Stopped)],
                NOW,
            )
            .await
            .map(drop)
        })
    }),
    ("declare after a read", |act| {
        Box::pin(async move {
            act.declare(&node_ref(), None, &[(ConditionKind::Ready, ConditionExpiry::NeverPosted)], NOW)
                .await
                .map(drop)
        })
    }),
    ("label", |act| {
        Box::pin(async move {
            act.label(&node_ref(), Some(ResourceVersion(7)), Some("linux"), None).await.map(drop)
        })
    }),
    ("unready", |act| {
        Box::pin(
            async move { act.unready(&PodName::new("shop", "web-0"), &node_ref().uid, NOW).await.map(drop) },
        )
    }),
    ("check_server", |act| Box::pin(async move { act.check_server().await })),
];

fn node_ref() -> NodeRef {
    NodeRef { name: NodeName::new("n1"), uid: Uid::new(UID) }
}

fn add() -> ManagedTaints {
    ManagedTaints::NONE.with(ManagedTaint::NotReady)
}

/// A node, a lease and a pod in one.
fn object(uid: &str, version: &str) -> Value {
    let ready = json!([{ "type": "Ready", "status": "True" }]);
    node("n1").uid(uid).version(version).with("status.conditions", ready)
}

fn is_read(seen: &SeenRequest) -> bool {
    seen.method == http::Method::GET
}

/// Reads succeed, writes are refused by `reject`.
fn refusing(reject: impl Fn() -> ClientReply + Send + 'static) -> (ApiClient, RequestLog) {
    let (client, log) =
        server(move |seen| if is_read(seen) { ClientReply::json(200, &object(UID, "7")) } else { reject() });
    (ApiClient::new(client, "x"), log)
}

const WRITES: [usize; 5] = [1, 2, 3, 4, 5];

#[tokio::test(start_paused = true)]
async fn every_refusal_is_classified_in_every_call() {
    for (code, meaning) in [
        (400, ApiFailure::Rejected),
        (401, ApiFailure::Forbidden),
        (403, ApiFailure::Forbidden),
        (413, ApiFailure::Rejected),
        (429, ApiFailure::Throttled(None)),
        (500, ApiFailure::Unavailable),
        (503, ApiFailure::Unavailable),
        (504, ApiFailure::Unavailable),
    ] {
        for (name, call) in CALLS {
            let (client, _) = server(move |_| ClientReply::status(code, "Any", "because"));
            let rejection = call(ApiClient::new(client, "x")).await.unwrap_err();
            assert_eq!(rejection.failure, meaning, "{name} {code}: {rejection}");
            assert!(rejection.message.contains("because"), "{name} {code}: {rejection}");
        }
        for (name, call) in WRITES.map(|at| CALLS[at]) {
            let (act, log) = refusing(move || ClientReply::status(code, "Any", "because"));
            let rejection = call(act).await.unwrap_err();
            assert_eq!(rejection.failure, meaning, "{name} {code}: {rejection}");
            let writes = log.lock().unwrap().iter().filter(|seen| !is_read(seen)).count();
            assert_eq!(writes, 1, "{name}: written once, whatever comes back (P20)");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_object_is_reported_as_absent() {
    for (name, call) in CALLS.iter().skip(1) {
        let (client, _) = server(|_| ClientReply::status(404, "NotFound", "gone"));
        assert_eq!(
            call(ApiClient::new(client, "x")).await.unwrap_err().failure,
            ApiFailure::NotFound,
            "{name}"
        );
    }
    for (name, call) in WRITES.map(|at| CALLS[at]) {
        let (act, _) = refusing(|| ClientReply::status(404, "NotFound", "gone"));
        assert_eq!(call(act).await.unwrap_err().failure, ApiFailure::NotFound, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_precondition_is_a_conflict() {
    let immutable = || {
        let mut body = status(422, "Invalid", "is invalid");
        body["details"] = json!({ "causes": [{ "reason": "FieldValueInvalid", "field": "metadata.uid" }] });
        ClientReply::json(422, &body)
    };
    for (name, call) in WRITES.map(|at| CALLS[at]) {
        for reject in [|| ClientReply::status(409, "Conflict", "modified"), immutable] {
            let (act, log) = refusing(reject);
            assert_eq!(call(act).await.unwrap_err().failure, ApiFailure::Conflict, "{name}");
            let tries = if name == "unready" { 3 } else { 1 };
            let writes = log.lock().unwrap().iter().filter(|seen| !is_read(seen)).count();
            assert_eq!(writes, tries, "{name}");
        }
        let (act, _) = refusing(|| ClientReply::status(422, "Invalid", "the server rejected our request"));
        let meaning = if name == "write_taints" { ApiFailure::Conflict } else { ApiFailure::Rejected };
        assert_eq!(call(act).await.unwrap_err().failure, meaning, "{name}: only a JSON Patch has tests");
    }
}

#[tokio::test(start_paused = true)]
async fn another_node_or_version_is_a_conflict_and_nothing_is_written() {
    let calls: [(&str, Call); 2] = [
        ("taints", |act| {
            Box::pin(async move {
                act.write_taints(&node_ref(), Some(ResourceVersion(7)), add(), add(), NOW).await.map(drop)
            })
        }),
        ("declare", |act| {
            let never = [(ConditionKind::Ready, ConditionExpiry::NeverPosted)];
            Box::pin(async move {
                act.declare(&node_ref(), Some(ResourceVersion(7)), &never, NOW).await.map(drop)
            })
        }),
    ];
    for (uid, version, words) in [
        ("another", "7", "was replaced: its UID is another, not "),
        (UID, "8", "has changed since the decision: its version is 8, not 7"),
        (UID, "6", "its version is 6, not 7"),
        (UID, "odd", "its version is odd, not 7"),
    ] {
        for (name, call) in calls {
            let (client, log) = server(move |_| ClientReply::json(200, &object(uid, version)));
            let rejection = call(ApiClient::new(client, "x")).await.unwrap_err();
            assert_eq!(
                (rejection.failure, log.lock().unwrap().len()),
                (ApiFailure::Conflict, 1),
                "{name} {version}"
            );
            assert!(rejection.message.contains(words), "{rejection}");
        }
    }
    let (client, log) = server(|_| ClientReply::json(200, &object("another", "7")));
    let rejection = CALLS[5].1(ApiClient::new(client, "x")).await.unwrap_err();
    assert_eq!((rejection.failure, log.lock().unwrap().len()), (ApiFailure::Conflict, 1), "another pod");
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_changed_is_read_again() {
    let (mut version, mut conflicts) = (40, 2);
    let (client, log) = server(move |seen| {
        if is_read(seen) {
            version += 1;
            return ClientReply::json(200, &object(UID, &version.to_string()));
        }
        conflicts -= 1;
        if conflicts >= 0 {
            ClientReply::status(409, "Conflict", "modified")
        } else {
            ClientReply::json(200, &json!({}))
        }
    });
    let pod = PodName::new("shop", "web-0");
    assert_eq!(ApiClient::new(client, "x").unready(&pod, &Uid::new(UID), NOW).await, Ok(true));
    let versions: Vec<_> =
        log.lock().unwrap().iter().map(|seen| seen.body["metadata"]["resourceVersion"].clone()).collect();
    assert_eq!(versions, [json!(null), json!("41"), json!(null), json!("42"), json!(null), json!("43")]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_became_unready_meanwhile_is_not_patched() {
    let mut reads = 0;
    let (client, log) = server(move |seen| {
        if !is_read(seen) {
            return ClientReply::status(409, "Conflict", "modified");
        }
        reads += 1;
        let mut pod = object(UID, "7");
        if reads > 1 {
            pod["status"]["conditions"][0]["status"] = json!("False");
        }
        ClientReply::json(200, &pod)
    });
    let pod = PodName::new("shop", "web-0");
    assert_eq!(ApiClient::new(client, "x").unready(&pod, &Uid::new(UID), NOW).await, Ok(false));
    assert_eq!(log.lock().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn silence_and_broken_connections_leave_the_result_unknown() {
    for (name, call) in CALLS {
        let (client, _) = server(|_| ClientReply::Silence(Duration::from_secs(3600)));
        let start = Instant::now();
        assert_eq!(
            call(ApiClient::new(client, "x")).await.unwrap_err().failure,
            ApiFailure::Unavailable,
            "{name}"
        );
        assert_eq!(start.elapsed().as_secs(), 3, "{name}");
        let (client, _) = server(|_| ClientReply::Reset);
        assert_eq!(
            call(ApiClient::new(client, "x")).await.unwrap_err().failure,
            ApiFailure::Unavailable,
            "{name}"
        );
    }
    for (name, call) in WRITES.map(|at| CALLS[at]) {
        let (act, _) = refusing(|| ClientReply::Silence(Duration::from_secs(3600)));
        assert_eq!(call(act).await.unwrap_err().failure, ApiFailure::Unavailable, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_response_counts_as_no_response() {
    let foreign = || ClientReply::Response(200, vec![("content-type", "text/html".into())], "<html>".into());
    for (name, call) in [CALLS[0], CALLS[1], CALLS[3], CALLS[5], CALLS[6]] {
        let (client, log) = server(move |_| foreign());
        let rejection = call(ApiClient::new(client, "x")).await.unwrap_err();
        assert_eq!(rejection.failure, ApiFailure::Unavailable, "{name}: {rejection}");
        assert!(rejection.message.contains("something other than an API server"), "{name}: {rejection}");
        assert!(log.lock().unwrap().iter().all(is_read), "{name}");
    }
    let (act, _) = refusing(foreign);
    let done = act.write_taints(&node_ref(), None, add(), ManagedTaints::NONE, NOW).await;
    assert_eq!(done.unwrap_err().failure, ApiFailure::Unavailable, "it is unknown whether it was written");
}

#[tokio::test(start_paused = true)]
async fn every_request_waits_for_the_rate_limit() {
    for (name, call) in CALLS {
        let (client, log) = server(|_| ClientReply::json(200, &object(UID, "7")));
        let rate = RateLimiter::new(Clock::of_runtime(NOW), 0.1, 1);
        let act = ApiClient::new(client, "x").with_rate_limiter(rate);
        act.check_server().await.unwrap();
        let rejection = call(act).await.unwrap_err();
        assert_eq!(rejection.failure, ApiFailure::Throttled(Some(Span::from_secs(10))), "{name}");
        assert_eq!(log.lock().unwrap().len(), 1, "{name}: nothing was sent");
    }
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_request_names_the_remedy() {
    let words = "is forbidden: User \"t\" cannot do that";
    for (at, rule) in [
        (1, "grant the verb patch on nodes in API group \"\""),
        (2, "grant the verb patch on nodes/status in API group \"\""),
        (4, "grant the verb patch on nodes in API group \"\""),
        (5, "grant the verb patch on pods/status in API group \"\""),
    ] {
        let (act, _) = refusing(move || ClientReply::status(403, "Forbidden", words));
        let rejection = CALLS[at].1(act).await.unwrap_err();
        assert!(rejection.message.ends_with(rule), "{rejection}");
    }
    for (path, at, rule) in [
        ("/api", 0, "grant the verb get on nodes in API group \"\""),
        ("/apis", 0, "grant the verb get on leases in API group \"coordination.k8s.io\""),
        ("/apis", 6, "grant the verb list on leases in API group \"coordination.k8s.io\""),
    ] {
        let (client, _) = server(move |seen| match seen.path.starts_with(&format!("{path}/")) {
            true => ClientReply::status(403, "Forbidden", words),
            false => ClientReply::json(200, &object(UID, "7")),
        });
        let rejection = CALLS[at].1(ApiClient::new(client, "x")).await.unwrap_err();
        assert!(rejection.message.ends_with(rule), "{rejection}");
    }
}

/// `ApiClient::longest_request` holds for all requests of one call together (S5): a read that used up the time leaves
/// none for the write.
#[tokio::test(start_paused = true)]
async fn s5_requests_that_belong_together_share_one_timeout() {
    let slow = node("n1").uid(UID).version("7");
    let (client, log) = server(move |_| ClientReply::Late(Duration::from_secs(2), slow.clone()));
    let (act, began) = (ApiClient::new(client, "host-1"), Instant::now());
    let rejection = act.write_taints(&node_ref(), None, add(), ManagedTaints::NONE, NOW).await.unwrap_err();
    assert_eq!(rejection.failure, ApiFailure::Unavailable, "{rejection}");
    assert_eq!(began.elapsed(), Duration::from_secs(3));
    let seen: Vec<String> = log.lock().unwrap().iter().map(SeenRequest::line).collect();
    assert_eq!(seen, ["GET /api/v1/nodes/n1", "PATCH /api/v1/nodes/n1"]);
}
