//! Tests what a watch counts and logs.

use super::fake::{PodWatchHarness, WatchReply, WatchRequest, without_lists_again};
use super::objects::{
    BOTH, WireFormat, bookmark, event, line, page, page_body, pod_json, rejection, stream, streamed,
};
use serde_json::json;
use std::time::Duration;
use taintward_kube::watch::{StreamCounters, WatchSettings};
use testkit::log::CapturedLog;
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

fn paged() -> WatchSettings {
    WatchSettings { watch_list: false, seed: 1, ..without_lists_again() }
}

#[tokio::test(start_paused = true)]
async fn requests_bytes_and_items_of_a_streamed_list_are_counted() {
    for wire in BOTH {
        let list =
            [event(wire, "ADDED", 0, 1), event(wire, "ADDED", 1, 2), bookmark(wire, 10, true)].concat();
        let changes = [event(wire, "MODIFIED", 0, 11), bookmark(wire, 12, false)].concat();
        let bytes = (list.len() + changes.len()) as u64;
        let mut rig = PodWatchHarness::start(move |_, nth| match nth {
            0 => stream(wire).bytes(list.clone()).pause(10 * SECOND),
            1 => stream(wire).bytes(changes.clone()).pause(10 * SECOND),
            2 => rejection(wire, 429, "TooManyRequests", Some(1)),
            3 => rejection(wire, 403, "Forbidden", None),
            4 => rejection(wire, 401, "Unauthorized", None),
            _ => stream(wire).hang(),
        });
        rig.run_for(250 * SECOND).await;
        let expected = StreamCounters {
            lists: 1,
            syncs: 1,
            watches_started: 3,
            watches_closed: 2,
            throttled: 1,
            forbidden: 2,
            failures: 3,
            bytes,
            items: 5,
            ..StreamCounters::default()
        };
        assert_eq!(rig.health().counters, expected, "{wire:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn pages_are_counted_with_their_bytes() {
    for wire in BOTH {
        let (first, second) = (page_body(wire, 0..500, 5_000, "500"), page_body(wire, 500..501, 5_000, ""));
        let mut rig = PodWatchHarness::with(paged(), 16, move |requested, _| {
            match (requested.is_watch(), requested.parameter("continue")) {
                (true, _) => stream(wire).hang(),
                (_, None) => page(wire, 0..500, 5_000, "500"),
                _ => page(wire, 500..501, 5_000, ""),
            }
        });
        rig.until_quiet().await;
        let expected = StreamCounters {
            lists: 1,
            syncs: 1,
            pages: 2,
            watches_started: 1,
            bytes: (first.len() + second.len()) as u64,
            items: 501,
            ..StreamCounters::default()
        };
        assert_eq!(rig.health().counters, expected, "{wire:?}");
    }
}

/// Bytes that complete no event are no activity.
#[tokio::test(start_paused = true)]
async fn only_whole_events_are_activity() {
    let half = event(WireFormat::Json, "MODIFIED", 0, 11);
    let mut rig = PodWatchHarness::start(move |_, _| {
        let reply = streamed(WireFormat::Json, 1, 10).pause(10 * SECOND).bytes(&half[..20]);
        reply.pause(10 * SECOND).bytes(&half[20..]).hang()
    });
    let start = Instant::now();
    let mut active_after = Vec::new();
    for _ in 0..3 {
        rig.run_for(10 * SECOND + SECOND / 2).await;
        active_after.push(rig.health().last_active.unwrap().duration_since(start).as_secs());
    }
    assert_eq!(active_after, [0, 20, 20]);
}

fn unreadable(number: usize) -> Vec<u8> {
    let mut pod = pod_json(number as u64, 1);
    pod["metadata"]["name"] = json!(format!("p{number}"));
    pod["spec"]["tolerations"] = json!([{"tolerationSeconds": "soon"}]);
    line("ADDED", &pod)
}

/// Each object once, until there are so many that a log would be of no use.
#[tokio::test(start_paused = true)]
async fn objects_that_cannot_be_decoded_are_logged_once_each_and_at_most_1024() {
    let (log, _guard) = CapturedLog::begin();
    let mut rig = PodWatchHarness::start(|_, _| {
        let all: Vec<u8> = (0..3).chain(0..1_030).flat_map(unreadable).collect();
        stream(WireFormat::Json).bytes(all).bytes(bookmark(WireFormat::Json, 2_000, true)).hang()
    });
    rig.until_quiet().await;
    assert_eq!(rig.health().counters.undecodable, 1_033);
    let lines = log.lines();
    let named: Vec<&String> = lines.iter().filter(|line| line.contains("cannot decode an object")).collect();
    assert_eq!(named.len(), 1_024);
    for (number, line) in named.iter().enumerate() {
        let uid = super::objects::uid(number as u64);
        let object = format!(r#"resource="pods" object="shop/p{number} (uid {uid})""#);
        assert!(line.starts_with("WARN") && line.contains(&object), "{line} {object}");
    }
    let last = lines.iter().filter(|line| line.contains("further undecodable objects are counted"));
    assert_eq!(last.count(), 1);
    assert!(lines[1_024].contains("further undecodable objects"), "after the last one: {}", lines[1_024]);
}

/// The text of a proxy, or of a server that is not one of Kubernetes.
#[tokio::test(start_paused = true)]
async fn an_error_quotes_the_beginning_of_a_foreign_body() {
    let mut rig = PodWatchHarness::start(|_, nth| match nth {
        0 => WatchReply::new(502, "text/html").bytes("x".repeat(150)).bytes("y".repeat(150)),
        _ => streamed(WireFormat::Json, 0, 10).hang(),
    });
    rig.run_for(60 * SECOND).await;
    let text = rig.health().last_error.unwrap();
    assert!(text.contains(&format!("{}{}", "x".repeat(150), "y".repeat(50))), "{text}");
    assert!(!text.contains(&"y".repeat(51)), "{text}");
}

/// How long after the first request the second one comes.
async fn pause_after(first: impl Fn() -> WatchReply + Send + 'static) -> Duration {
    let mut rig = PodWatchHarness::start(move |_, nth| match nth {
        0 => first(),
        _ => streamed(WireFormat::Json, 0, 10).hang(),
    });
    rig.run_for(60 * SECOND).await;
    let requested: Vec<WatchRequest> = rig.requested();
    requested[1].at.duration_since(requested[0].at)
}

#[tokio::test(start_paused = true)]
async fn a_status_in_pieces_is_joined_and_an_endless_body_is_not_read_to_its_end() {
    let status = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":503,"details":{"retryAfterSeconds":12}}"#;
    let waited = pause_after(move || WatchReply::new(503, "application/json").crumbs(status)).await;
    assert!((12 * SECOND..17 * SECOND).contains(&waited), "{waited:?}");
    let endless = || {
        let body = WatchReply::new(503, "text/plain").bytes(vec![b'x'; 40 << 10]).bytes(vec![b'x'; 40 << 10]);
        body.hang()
    };
    let waited = pause_after(endless).await;
    assert!(waited < 4 * SECOND, "64 KiB are enough: {waited:?}");
    let silent = || WatchReply::new(503, "text/plain").bytes("x").hang();
    let waited = pause_after(silent).await;
    assert!((5 * SECOND..10 * SECOND).contains(&waited), "the rest is awaited for five seconds: {waited:?}");
}
