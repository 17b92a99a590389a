//! Tests lists: streamed, paged, rejected, aborted.

use super::behaviour::words;
use super::fake::{PodWatchHarness, WatchHarness, WatchReply, WatchRequest, without_lists_again};
use super::objects::{
    BOTH, WireFormat, bookmark, error, event, page, page_body, rejection, stream, streamed,
};
use std::time::Duration;
use taintward_core::dedicated_pools::PoolFact;
use taintward_core::fact::NodeFact;
use taintward_core::object_event::ObjectEvent;
use taintward_kube::watch::{ListMode, StreamPhase, WatchSettings};
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_streamed_list_becomes_a_watch() {
    for wire in BOTH {
        let mut rig = PodWatchHarness::start(move |_, _| {
            streamed(wire, 2, 10)
                .bytes([event(wire, "MODIFIED", 1, 11), event(wire, "DELETED", 0, 12)].concat())
                .bytes(bookmark(wire, 13, false))
                .hang()
        });
        let received = rig.until_quiet().await;
        assert_eq!(words(&received), ["begin", "+p0 listed", "+p1 listed", "end", "+p1", "-p0"], "{wire:?}");
        assert!(matches!(&received[0], ObjectEvent::ListStarted { silent_since: None }));
        let ObjectEvent::Deleted(object) = &received[5] else { panic!("{received:?}") };
        assert_eq!(object.uid.as_ref().unwrap().to_string(), super::objects::uid(0));
        assert_eq!(object.node.as_ref().unwrap().as_str(), "n1");
        let health = rig.health();
        assert_eq!(
            (health.phase, health.mode, health.synced_once),
            (StreamPhase::Watching, ListMode::WatchList, true)
        );
        assert_eq!((health.counters.items, health.counters.failures), (6, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn requests_are_consistent_and_uncompressed() {
    let rig = PodWatchHarness::start(|_, _| streamed(WireFormat::Json, 0, 10).hang());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let requested = &rig.requested()[0];
    assert_eq!(
        requested.path,
        "/api/v1/pods?fieldSelector=spec.nodeName%21%3D&watch=true&allowWatchBookmarks=true&timeoutSeconds=290\
         &sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    );
    assert!(
        requested.accept.starts_with("application/vnd.kubernetes.protobuf;stream=watch,"),
        "{}",
        requested.accept
    );
    assert!(requested.accept.contains("application/json"));
    assert_eq!(requested.accept_encoding, "identity");

    let rig = WatchHarness::<NodeFact>::start(|_, _| WatchReply::new(200, "application/json").hang());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(rig.requested()[0].path.starts_with("/api/v1/nodes?watch=true&"), "{}", rig.requested()[0].path);
}

/// Serves pages of `limit` out of `total` pods at version 5000; watches stay open.
fn pages(wire: WireFormat, requested: &WatchRequest, total: u64) -> WatchReply {
    if requested.is_watch() {
        return stream(wire).hang();
    }
    let start: u64 = requested.parameter("continue").map_or(0, |token| token.parse().unwrap());
    let limit = requested.parameter("limit").map_or(total, |limit| limit.parse().unwrap());
    let end = (start + limit).min(total);
    let onward = if end < total { end.to_string() } else { String::new() };
    page(wire, start..end, 5000, &onward)
}

#[tokio::test(start_paused = true)]
async fn a_refusal_by_status_leads_to_pages() {
    for wire in BOTH {
        for code in [400, 405, 415, 422] {
            let mut rig = PodWatchHarness::start(move |requested, _| match requested.is_watch_list() {
                true => rejection(wire, code, "Invalid", None),
                false => pages(wire, requested, 2),
            });
            let received = rig.until_quiet().await;
            assert_eq!(words(&received), ["begin", "+p0 listed", "+p1 listed", "end"], "{code}");
            assert_eq!(rig.health().mode, ListMode::PagedList);
            assert_eq!(rig.requested()[2].parameter("resourceVersion"), Some("5000"));
            assert_eq!(rig.requested().len(), 3);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_kind_is_requested_again() {
    let start = Instant::now();
    let mut rig = WatchHarness::<PoolFact>::start(move |requested, _| match requested.path.as_str() {
        "/apis" => {
            WatchReply::new(200, "application/json").bytes(r#"{"kind": "APIGroupList", "groups": []}"#)
        }
        _ if start.elapsed().as_secs() < 60 => WatchReply::new(404, "text/plain").bytes("404 page not found"),
        _ if requested.is_watch_list() => rejection(WireFormat::Json, 422, "Invalid", None),
        _ if requested.is_watch() => stream(WireFormat::Json).hang(),
        _ => WatchReply::new(200, "application/json")
            .bytes(r#"{"kind": "DedicatedPoolList", "metadata": {"resourceVersion": "7"}, "items": []}"#),
    });
    rig.run_for(Duration::from_secs(20)).await;
    let health = rig.health();
    assert!(health.absent && !health.synced_once && health.missing.is_none());
    assert!((4..12).contains(&rig.requested().len()), "at growing intervals: {}", rig.requested().len());
    rig.run_for(Duration::from_secs(100)).await;
    let health = rig.health();
    assert!(!health.absent && health.synced_once);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_inside_the_stream_leads_to_pages() {
    for wire in BOTH {
        let mut rig = PodWatchHarness::start(move |requested, _| match requested.is_watch_list() {
            true => stream(wire).bytes(error(wire, 500, "InternalError", "RequestWatchProgress is disabled")),
            false => pages(wire, requested, 1),
        });
        assert_eq!(words(&rig.until_quiet().await), ["begin", "+p0 listed", "end"]);
        assert_eq!(rig.health().counters.watch_lists_rejected, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_streamed_list_is_retried_an_hour_later() {
    let mut rig = PodWatchHarness::start(move |requested, nth| match (requested.is_watch_list(), nth) {
        (true, 0) => rejection(WireFormat::Json, 422, "Invalid", None),
        (true, _) => streamed(WireFormat::Json, 1, 9000).hang(),
        (false, _) if requested.is_watch() => stream(WireFormat::Json)
            .pause(Duration::from_secs(60))
            .bytes(error(WireFormat::Json, 410, "Expired", "old")),
        (false, _) => pages(WireFormat::Json, requested, 1),
    });
    rig.run_for(Duration::from_secs(3500)).await;
    assert_eq!(rig.requested().iter().filter(|requested| requested.is_watch_list()).count(), 1);
    rig.run_for(Duration::from_secs(300)).await;
    assert!(rig.requested().iter().filter(|requested| requested.is_watch_list()).count() >= 2);
    assert_eq!(rig.health().mode, ListMode::WatchList);
}

#[tokio::test(start_paused = true)]
async fn a_streamed_list_that_never_finishes_is_replaced_by_pages() {
    let mut rig = PodWatchHarness::start(|requested, _| match requested.is_watch_list() {
        true => stream(WireFormat::Protobuf).bytes(event(WireFormat::Protobuf, "ADDED", 0, 1)).reset(),
        false => pages(WireFormat::Protobuf, requested, 1),
    });
    let received = rig.during(Duration::from_secs(40)).await;
    assert_eq!(words(&received)[6..], ["begin", "+p0 listed", "end"], "{received:?}");
    assert_eq!(rig.requested().iter().filter(|requested| requested.is_watch_list()).count(), 3);
}

#[tokio::test(start_paused = true)]
async fn pages_follow_their_tokens_to_the_last_object() {
    for wire in BOTH {
        for (total, requests) in [(0, 1), (499, 1), (500, 1), (501, 2), (1001, 3), (10_000, 20)] {
            let settings = WatchSettings { watch_list: false, seed: 1, ..without_lists_again() };
            let mut rig =
                PodWatchHarness::with(settings, 16, move |requested, _| pages(wire, requested, total));
            let received = words(&rig.until_quiet().await);
            let listed: Vec<_> = (0..total).map(|number| format!("+p{number} listed")).collect();
            assert_eq!(received[1..received.len() - 1], listed);
            assert_eq!((received[0].as_str(), received[received.len() - 1].as_str()), ("begin", "end"));
            let lists: Vec<_> =
                rig.requested().into_iter().filter(|requested| !requested.is_watch()).collect();
            assert_eq!(lists.len(), requests, "{total}");
            for list in &lists {
                assert_eq!(list.parameter("limit"), Some("500"));
                assert_eq!(list.parameter("resourceVersion"), None, "lists are consistent reads");
                assert_eq!(list.parameter("fieldSelector"), Some("spec.nodeName%21%3D"));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn items_are_sent_before_the_page_has_ended() {
    for wire in BOTH {
        let settings = WatchSettings { watch_list: false, seed: 1, ..without_lists_again() };
        let mut rig = PodWatchHarness::with(settings, 16, move |_, _| {
            let body = page_body(wire, 0..10, 5000, "");
            let half = body.len() / 2;
            let mut reply =
                WatchReply::new(200, if wire == WireFormat::Json { "application/json" } else { PROTOBUF });
            reply = reply.bytes(&body[..half]).pause(Duration::from_secs(10)).crumbs(&body[half..]);
            reply.hang()
        });
        let first = words(&rig.until_quiet().await);
        assert!(first.len() >= 4 && first.len() < 8, "{first:?}");
        let rest = words(&rig.during(Duration::from_secs(20)).await);
        assert_eq!(first.len() + rest.len(), 11, "the list has not ended: the body has not");
    }
}

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

#[tokio::test(start_paused = true)]
async fn events_cut_into_single_bytes_are_joined_again() {
    for wire in BOTH {
        let mut rig = PodWatchHarness::start(move |_, _| {
            let list = [event(wire, "ADDED", 0, 1), bookmark(wire, 10, true), event(wire, "DELETED", 0, 11)];
            stream(wire).crumbs(list.concat()).hang()
        });
        assert_eq!(words(&rig.until_quiet().await), ["begin", "+p0 listed", "end", "-p0"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failing_page_is_requested_again_not_the_list() {
    for wire in BOTH {
        let settings = WatchSettings { watch_list: false, seed: 1, ..without_lists_again() };
        let mut rig = PodWatchHarness::with(settings, 16, move |requested, nth| match nth {
            2 => rejection(wire, 503, "ServiceUnavailable", None),
            3 => rejection(wire, 429, "TooManyRequests", Some(3)),
            4 => {
                let body = page_body(wire, 1000..1500, 5000, "1500");
                WatchReply::new(200, if wire == WireFormat::Json { "application/json" } else { PROTOBUF })
                    .bytes(&body[..body.len() / 2])
                    .reset()
            }
            _ => pages(wire, requested, 1600),
        });
        let received = words(&rig.during(Duration::from_secs(60)).await);
        assert_eq!(received.iter().filter(|word| *word == "begin").count(), 1);
        assert_eq!(received.last().unwrap(), "end");
        let tokens: Vec<_> = rig
            .requested()
            .iter()
            .map(|requested| requested.parameter("continue").map(str::to_owned))
            .collect();
        let tokens: Vec<_> = tokens.iter().map(Option::as_deref).collect();
        let third = Some("1000");
        assert_eq!(tokens, [None, Some("500"), third, third, third, third, Some("1500"), None]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_expired_token_restarts_the_list_as_a_whole() {
    for wire in BOTH {
        let settings = WatchSettings { watch_list: false, seed: 1, ..without_lists_again() };
        let mut rig = PodWatchHarness::with(settings, 16, move |requested, nth| match nth {
            1 => rejection(wire, 410, "Expired", None),
            _ => pages(wire, requested, 1200),
        });
        let received = words(&rig.during(Duration::from_secs(5)).await);
        let begins: Vec<_> =
            received.iter().enumerate().filter(|(_, word)| *word == "begin").map(|(at, _)| at).collect();
        assert_eq!(begins, [0, 501], "nothing ends before the second start");
        assert_eq!((received.len(), received.last().unwrap().as_str()), (501 + 1202, "end"));
        assert_eq!(rig.requested()[2].parameter("limit"), None);
        assert_eq!(rig.requested()[2].parameter("continue"), None);
        assert_eq!(rig.requested().len(), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_in_a_loop_is_not_followed_without_end() {
    let settings = WatchSettings { watch_list: false, seed: 1, ..without_lists_again() };
    let mut rig = PodWatchHarness::with(settings, 16, |_, _| page(WireFormat::Json, 0..1, 5000, "again"));
    let received = rig.run_for(Duration::from_secs(3600)).await;
    assert!(!words(&received).contains(&"end".to_owned()));
    assert!(rig.requested().len() < 200, "{}", rig.requested().len());
}

#[tokio::test(start_paused = true)]
async fn a_list_without_version_or_of_another_kind_is_invalid() {
    for body in [
        r#"{"kind":"PodList","metadata":{},"items":[]}"#,
        r#"{"kind":"NodeList","metadata":{"resourceVersion":"7"},"items":[]}"#,
        r#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":{}}"#,
        r#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[]"#,
        r#"[]"#,
        "",
    ] {
        let settings = WatchSettings { watch_list: false, seed: 1, ..without_lists_again() };
        let mut rig = PodWatchHarness::with(settings, 16, move |_, _| {
            WatchReply::new(200, "application/json").bytes(body)
        });
        let received = words(&rig.run_for(Duration::from_secs(60)).await);
        assert!(!received.contains(&"end".to_owned()), "{body}");
        assert!(rig.health().last_error.is_some(), "{body}");
        assert!(rig.requested().len() < 20);
    }
}

#[tokio::test(start_paused = true)]
async fn batches_are_bounded_and_a_slow_consumer_loses_nothing() {
    let settings = WatchSettings { batch_limit: 10, seed: 1, ..without_lists_again() };
    let mut rig =
        PodWatchHarness::with(settings, 1, |_, _| streamed(WireFormat::Protobuf, 1000, 5000).hang());
    let mut seen = 0;
    while let Ok(Some(batch)) = tokio::time::timeout(Duration::from_secs(60), rig.received.recv()).await {
        assert!(batch.len() <= 10);
        seen += batch.len();
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    assert_eq!(seen, 1002);
    // The consumer took 200 s, longer than the watchdog's timeout: that is not the server's silence.
    assert_eq!(rig.requested().iter().filter(|requested| requested.is_watch_list()).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn pages_in_a_circle_are_an_error_and_no_endless_list() {
    for wire in BOTH {
        let mut rig = PodWatchHarness::start(move |requested, _| match requested.is_watch_list() {
            true => rejection(wire, 422, "Invalid", None),
            false => {
                let token: u64 = requested.parameter("continue").map_or(0, |token| token.parse().unwrap());
                page(wire, token..token + 1, 5000, &(token % 3 + 1).to_string())
            }
        });
        let received = rig.run_for(Duration::from_secs(600)).await;
        assert!(!words(&received).contains(&"end".to_owned()) && !rig.health().synced_once);
        assert!((5..60).contains(&rig.requested().len()), "at growing intervals: {}", rig.requested().len());
        let StreamPhase::Waiting { why, .. } = rig.health().phase else { panic!("{:?}", rig.health()) };
        assert!(why.contains("a token that it has already sent"), "{why}");
    }
}
