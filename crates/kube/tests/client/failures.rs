//! Tests how responses, timeouts and the client's rate limit are classified.

use crate::fake::{ClientReply, server, status};
use serde_json::json;
use std::time::Duration;
use taintward_core::api_error::ApiFailure;
use taintward_core::fact::NodeFact;
use taintward_core::identity::{NodeName, PodName, Uid};
use taintward_core::testkit::{node, taint};
use taintward_core::time::{Span, Wall};
use taintward_kube::api::{ApiClient, RateLimiter, RequestTimeouts};
use taintward_kube::clock::Clock;
use tokio::time::Instant;

const NOW: Wall = Wall::from_secs(1_800_000_000);

fn web() -> PodName {
    PodName::new("shop", "web-0")
}

fn uid() -> Uid {
    Uid::new("0d4a1c5e-7b1f-4f0e-9c3d-1234567890ab")
}

fn tainted_node() -> NodeFact {
    NodeFact { uid: uid(), ..node("n1").tainted([taint("k")]) }
}

fn written() -> ClientReply {
    ClientReply::json(200, &json!({ "metadata": { "resourceVersion": "43" } }))
}

#[tokio::test(start_paused = true)]
async fn every_response_is_classified() {
    let text = |code| {
        ClientReply::Response(code, vec![("content-type", "text/plain".into())], "404 page not found".into())
    };
    let rows: Vec<(u16, ApiFailure)> = vec![
        (400, ApiFailure::Rejected),
        (401, ApiFailure::Forbidden),
        (403, ApiFailure::Forbidden),
        (404, ApiFailure::NotFound),
        (405, ApiFailure::Rejected),
        (409, ApiFailure::Conflict),
        (410, ApiFailure::Rejected),
        (413, ApiFailure::Rejected),
        (415, ApiFailure::Rejected),
        (422, ApiFailure::Rejected),
        (429, ApiFailure::Throttled(None)),
        (301, ApiFailure::Unavailable),
        (500, ApiFailure::Unavailable),
        (502, ApiFailure::Unavailable),
        (503, ApiFailure::Unavailable),
        (504, ApiFailure::Unavailable),
    ];
    for (code, meaning) in rows {
        for with_status in [true, false] {
            let (client, log) =
                server(
                    move |_| {
                        if with_status { ClientReply::status(code, "Any", "because") } else { text(code) }
                    },
                );
            let rejection = ApiClient::new(client, "x").delete(&web(), &uid(), None, None).await.unwrap_err();
            // Only the API server's own 404 means that an object is absent, and only its Status that it has decided.
            let decides = !matches!(code, 401 | 403 | 429);
            let is_unknown = code == 404 || !with_status && decides && (400..500).contains(&code);
            let meaning = if is_unknown { ApiFailure::Unavailable } else { meaning };
            assert_eq!(rejection.failure, meaning, "{code} {rejection}");
            assert!(
                rejection.message.starts_with(&format!("delete pods shop/web-0: {code} ")),
                "{rejection}"
            );
            assert_eq!(rejection.message.contains("because"), with_status, "{rejection}");
            assert_eq!(log.lock().unwrap().len(), 1, "sent once, whatever the response (P20)");
        }
    }
}

/// A proxy responds instead of the API server: no object counts as gone, and nothing as done.
#[tokio::test(start_paused = true)]
async fn a_proxys_response_does_not_count_as_the_api_servers() {
    type Fixed = fn(u16) -> ClientReply;
    let html =
        |code: u16| ClientReply::Response(code, vec![("content-type", "text/html".into())], "<html>".into());
    let text =
        |code: u16| ClientReply::Response(code, vec![("content-type", "text/plain".into())], "no".into());
    let own = |_: u16| ClientReply::status(404, "NotFound", "pods \"web-0\" not found");
    let replies: [(u16, Fixed, ApiFailure); 4] = [
        (404, text, ApiFailure::Unavailable),
        (404, html, ApiFailure::Unavailable),
        (200, html, ApiFailure::Unavailable),
        (404, own, ApiFailure::NotFound),
    ];
    for (code, reply, meaning) in replies {
        let (client, _) = server(move |_| reply(code));
        let act = ApiClient::new(client, "x");
        let failures = [
            act.read_node(&NodeName::new("n1")).await.unwrap_err(),
            act.read_pod(&web()).await.unwrap_err(),
            act.set_disruption_target(&web(), &uid(), None, 1, NOW).await.unwrap_err(),
            act.delete(&web(), &uid(), None, None).await.unwrap_err(),
        ];
        for rejection in failures {
            assert_eq!(rejection.failure, meaning, "{code}: {rejection}");
        }
    }
}

/// The failure or rejection of one webhook says nothing about the server.
#[tokio::test(start_paused = true)]
async fn only_the_servers_own_errors_are_an_overload() {
    const WEBHOOK: &str = "admission webhook \"w.example.com\" denied the request: busy";
    let calling =
        "Internal error occurred: failed calling webhook \"w.example.com\": context deadline exceeded";
    let rows = [
        (429, "too many requests", true),
        (502, "", true),
        (503, "apiserver is shutting down", true),
        (500, "etcdserver: request timed out", true),
        (500, calling, false),
        (500, "because", false),
        (429, WEBHOOK, false),
        (503, WEBHOOK, false),
        (504, WEBHOOK, false),
        (403, WEBHOOK, false),
        (409, "changed", false),
        (404, "gone", false),
    ];
    for (code, message, overload) in rows {
        let (client, _) = server(move |_| ClientReply::status(code, "Any", message));
        let rejection = ApiClient::new(client, "x").delete(&web(), &uid(), None, None).await.unwrap_err();
        assert_eq!(rejection.overload, overload, "{rejection}");
    }
    // A deletion may have waited for a webhook; a read waits for none.
    let late =
        |_: &_| ClientReply::status(504, "Timeout", "request did not complete within the allotted timeout");
    let (client, _) = server(late);
    let act = ApiClient::new(client, "x");
    assert!(!act.delete(&web(), &uid(), None, None).await.unwrap_err().overload);
    assert!(act.read_node(&tainted_node().name).await.unwrap_err().overload);
    let (client, _) = server(|_| ClientReply::Silence(Duration::from_secs(60)));
    assert!(ApiClient::new(client, "x").delete(&web(), &uid(), None, None).await.unwrap_err().overload);
    let (client, _) = server(|_| ClientReply::Reset);
    assert!(ApiClient::new(client, "x").delete(&web(), &uid(), None, None).await.unwrap_err().overload);
}

#[tokio::test(start_paused = true)]
async fn a_422_is_a_conflict_only_if_a_precondition_failed() {
    let invalid = |field: &str| {
        let mut body = status(422, "Invalid", "Pod \"web-0\" is invalid");
        body["details"] = json!({ "causes": [{ "reason": "FieldValueInvalid", "field": field }] });
        body
    };
    let uid_body = invalid("metadata.uid");
    let (client, _) = server(move |_| ClientReply::json(422, &uid_body));
    let rejection =
        ApiClient::new(client, "x").set_disruption_target(&web(), &uid(), None, 1, NOW).await.unwrap_err();
    assert_eq!(rejection.failure, ApiFailure::Conflict, "another incarnation");
    let (client, _) = server(|_| ClientReply::status(422, "Invalid", "the server rejected our request"));
    let act = ApiClient::new(client, "x");
    assert_eq!(
        act.add_time_added(&tainted_node(), 0, NOW).await.unwrap_err().failure,
        ApiFailure::Conflict,
        "a test failed"
    );
    assert_eq!(
        act.set_disruption_target(&web(), &uid(), None, 1, NOW).await.unwrap_err().failure,
        ApiFailure::Rejected
    );
    let taint_body = invalid("spec.taints");
    let (client, _) = server(move |_| ClientReply::json(422, &taint_body));
    assert_eq!(
        ApiClient::new(client, "x").add_time_added(&tainted_node(), 0, NOW).await.unwrap_err().failure,
        ApiFailure::Rejected
    );
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
            ClientReply::Response(429, headers, body.to_string())
        });
        let rejection = ApiClient::new(client, "x").delete(&web(), &uid(), None, None).await.unwrap_err();
        assert_eq!(
            rejection.failure,
            ApiFailure::Throttled(seconds.map(Span::from_secs)),
            "{header:?} {detail:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn silence_and_broken_connections_leave_the_result_unknown() {
    let (client, _) = server(|_| ClientReply::Silence(Duration::from_secs(3600)));
    let (act, start) = (ApiClient::new(client, "x"), Instant::now());
    let rejection = act.delete(&web(), &uid(), None, None).await.unwrap_err();
    assert_eq!((rejection.failure, start.elapsed().as_secs()), (ApiFailure::Unavailable, 3));
    assert!(rejection.message.contains("within 3s"), "{rejection}");
    assert_eq!(act.longest_request(), Span::from_secs(5));
    let timeout = RequestTimeouts { server: Duration::from_secs(7), client: Duration::from_secs(8) };
    let start = Instant::now();
    act.with_timeouts(timeout).read_node(&NodeName::new("n1")).await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 8);
    let (client, log) = server(|_| ClientReply::Reset);
    let rejection = ApiClient::new(client, "x").delete(&web(), &uid(), None, None).await.unwrap_err();
    assert_eq!((rejection.failure, log.lock().unwrap().len()), (ApiFailure::Unavailable, 1));
    assert!(rejection.message.contains("reset"), "{rejection}");
}

#[tokio::test(start_paused = true)]
async fn the_rate_limit_delays_or_refuses_requests() {
    let (client, log) = server(|_| written());
    let act = ApiClient::new(client, "x").with_rate_limiter(RateLimiter::new(Clock::of_runtime(NOW), 1.0, 1));
    let start = Instant::now();
    for _ in 0..3 {
        act.delete(&web(), &uid(), None, None).await.unwrap();
    }
    assert_eq!(start.elapsed().as_secs(), 2);
    let (pod, uid) = (web(), uid());
    let all = futures::future::join_all((0..10).map(|_| act.delete(&pod, &uid, None, None))).await;
    let rejected: Vec<_> = all.iter().filter_map(|sent| sent.as_ref().err()).collect();
    // Turns come after 1, 2 and 3 s; the one after 3 s leaves no time for the request itself.
    assert!((7..=8).contains(&rejected.len()), "{rejected:?}");
    for rejection in rejected {
        assert!(
            matches!(rejection.failure, ApiFailure::Throttled(Some(_)) | ApiFailure::Unavailable),
            "{rejection}"
        );
    }
    assert_eq!(log.lock().unwrap().len(), 5);
}

/// The time that a read waits for the rate limit does not make its response older (S2).
#[tokio::test(start_paused = true)]
async fn a_confirming_read_is_as_old_as_its_request() {
    let clock = Clock::of_runtime(NOW);
    let (client, _) = server(|_| ClientReply::status(404, "NotFound", "nodes \"n1\" not found"));
    let act = ApiClient::new(client, "x").with_rate_limiter(RateLimiter::new(clock.clone(), 0.5, 1));
    let start = clock.now().mono;
    for turn in 0..2 {
        let (sent, read) = act.confirm_node(&NodeName::new("n1"), &clock).await;
        assert_eq!(read.unwrap_err().failure, ApiFailure::NotFound);
        assert_eq!(sent.since(start), Span::from_secs(2 * turn));
    }
}

#[tokio::test(start_paused = true)]
async fn messages_are_harmless_and_bounded_and_name_the_remedy() {
    let loud = "a\n\u{1b}[31mb".to_owned() + &"x".repeat(200_000);
    let (client, _) = server(move |_| ClientReply::status(400, "BadRequest", &loud));
    let rejection = ApiClient::new(client, "x")
        .delete(&PodName::new("shop", "w\u{202e}"), &uid(), None, None)
        .await
        .unwrap_err();
    assert!(rejection.message.len() < 2000, "{}", rejection.message.len());
    assert!(!rejection.message.contains(['\n', '\u{1b}', '\u{202e}']), "{rejection}");
    let (client, _) = server(|_| {
        ClientReply::status(
            403,
            "Forbidden",
            "pods \"web-0\" is forbidden: User \"t\" cannot delete resource \"pods\"",
        )
    });
    let rejection = ApiClient::new(client, "x").delete(&web(), &uid(), None, None).await.unwrap_err();
    assert!(rejection.message.ends_with("; grant the verb delete on pods in API group \"\""), "{rejection}");
    let (client, _) =
        server(|_| ClientReply::status(403, "Forbidden", "admission webhook \"w\" denied the request"));
    let rejection = ApiClient::new(client, "x").delete(&web(), &uid(), None, None).await.unwrap_err();
    assert!(!rejection.message.contains("grant"), "no grant helps against admission: {rejection}");
}
