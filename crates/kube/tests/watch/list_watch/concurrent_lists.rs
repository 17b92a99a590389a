//! Tests lists alongside a running watch: changes meanwhile are sent immediately, in order, and not lost.
//!
//! - See `relists.rs` for when lists are due, `interleaved.rs` for random orders.

use super::behaviour::words;
use super::fake::{PodWatchHarness, WatchReply, WatchRequest, without_lists_again};
use super::objects::{
    WireFormat, bookmark, event, line, page, page_body, pod_json, rejection, stream, streamed,
};
use std::time::Duration;
use taintward_core::fact::PodFact;
use taintward_core::object_event::ObjectEvent;
use taintward_kube::watch::{RelistTrigger, StreamPhase, WatchSettings};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);
const WIRE: WireFormat = WireFormat::Json;

/// A watcher that has listed once and is requested to list again.
async fn listing_again(
    watch_list: bool,
    script: impl FnMut(&WatchRequest, usize) -> WatchReply + Send + 'static,
) -> (PodWatchHarness, Vec<ObjectEvent<PodFact>>) {
    let relist_now = RelistTrigger::default();
    let settings =
        WatchSettings { relist_now: relist_now.clone(), watch_list, seed: 1, ..without_lists_again() };
    let mut rig = PodWatchHarness::with(settings, 16, script);
    let first = rig.run_for(5 * SECOND).await;
    relist_now.request();
    (rig, first)
}

/// A page on which every pod has this version.
fn page_of(pods: &[(u64, u64)], version: u64, onward: &str) -> WatchReply {
    let items: Vec<_> = pods.iter().map(|(number, version)| pod_json(*number, *version)).collect();
    let metadata = serde_json::json!({"resourceVersion": version.to_string(), "continue": onward});
    let list =
        serde_json::json!({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items});
    WatchReply::new(200, "application/json").bytes(list.to_string())
}

/// A streamed list of pods in these versions, which starts late and takes long.
fn slow_stream(pods: &[(u64, u64)], version: u64) -> WatchReply {
    let mut reply = stream(WIRE).delay(2 * SECOND);
    for (number, version) in pods {
        reply = reply.pause(2 * SECOND).bytes(event(WIRE, "ADDED", *number, *version));
    }
    reply.pause(2 * SECOND).bytes(bookmark(WIRE, version, true))
}

#[tokio::test(start_paused = true)]
async fn l1_events_during_a_list_of_thirty_pages_are_sent_immediately() {
    let start = Instant::now();
    let (mut rig, _) = listing_again(false, |requested, nth| match (nth, requested.is_watch()) {
        (0, _) => page(WIRE, 0..30, 100, ""),
        (1, _) => {
            let beat = |reply: WatchReply, second| {
                reply.pause(SECOND).bytes(event(WIRE, "MODIFIED", second % 30, 200 + second))
            };
            (0..60_u64).fold(stream(WIRE), beat).hang()
        }
        (_, true) => stream(WIRE).hang(),
        (..) => {
            let number = requested.parameter("continue").map_or(0, |token| token[1..].parse().unwrap());
            let onward = if number == 29 { String::new() } else { format!("t{}", number + 1) };
            page(WIRE, number..number + 1, 205, &onward).delay(SECOND)
        }
    })
    .await;
    let (mut changes, mut began, mut ended) = (0, None, None);
    while start.elapsed() < 60 * SECOND {
        let received = rig.run_for(Duration::from_millis(100)).await;
        for received in received {
            match received {
                ObjectEvent::Applied { fact, listed: false } => {
                    let reported = start.elapsed().as_millis() as u64;
                    let happened = (fact.version.unwrap().0 - 199) * 1000;
                    assert!(reported.abs_diff(happened) <= 200, "{happened} ms: told at {reported} ms");
                    changes += 1;
                }
                ObjectEvent::ListStarted { .. } => began = Some(start.elapsed()),
                ObjectEvent::ListCompleted => ended = Some(start.elapsed()),
                _ => {}
            }
        }
        let health = rig.health();
        assert!(health.is_in_step(Duration::ZERO) && health.phase == StreamPhase::Watching, "{health:?}");
        if ended.is_some() {
            break;
        }
    }
    assert!(changes >= 25, "{changes}");
    assert!(ended.unwrap() - began.unwrap() >= 28 * SECOND, "{began:?} {ended:?}");
    assert_eq!(rig.requested().len(), 2 + 30 + 1, "page, watch; 30 pages, watch");
    assert_eq!(rig.health().counters.failures, 0);
}

/// The list shows the state of its request, at 5 s: pods 0 to 3.
#[tokio::test(start_paused = true)]
async fn no_change_between_the_request_and_the_end_of_a_list_is_undone_by_it() {
    for watch_list in [true, false] {
        let listed = [(0, 1), (1, 2), (2, 3), (3, 4)];
        let (mut rig, _) = listing_again(watch_list, move |requested, nth| {
            let live = |reply: WatchReply| {
                reply
                    .pause(6 * SECOND)
                    .bytes(event(WIRE, "DELETED", 0, 201)) // before the list's first byte
                    .bytes(event(WIRE, "ADDED", 9, 202))
                    .pause(2 * SECOND)
                    .bytes(event(WIRE, "MODIFIED", 2, 203)) // between its items
                    .bytes(event(WIRE, "DELETED", 3, 204))
                    .bytes(event(WIRE, "ADDED", 8, 205))
                    .hang()
            };
            // Events since the list's version arrive again.
            let again = |reply: WatchReply| {
                let replayed = [
                    event(WIRE, "DELETED", 0, 201),
                    event(WIRE, "ADDED", 9, 202),
                    event(WIRE, "MODIFIED", 2, 203),
                    event(WIRE, "DELETED", 3, 204),
                    event(WIRE, "ADDED", 8, 205),
                    event(WIRE, "MODIFIED", 8, 206),
                ];
                reply.bytes(replayed.concat()).hang()
            };
            match (nth, requested.is_watch_list(), requested.is_watch()) {
                (0, true, _) => live(streamed(WIRE, 5, 200)),
                (0, ..) => page(WIRE, 0..5, 200, ""),
                (_, true, _) => again(slow_stream(&listed, 200)),
                (1, _, true) => live(stream(WIRE)),
                (_, _, true) => again(stream(WIRE)),
                (..) if requested.parameter("continue").is_none() => {
                    page_of(&listed[..2], 200, "more").delay(2 * SECOND)
                }
                (..) => page_of(&listed[2..], 200, "").delay(4 * SECOND),
            }
        })
        .await;
        let received = words(&rig.run_for(60 * SECOND).await);
        let end = received.iter().position(|word| word == "end").unwrap();
        let of = |name: &str| -> Vec<&str> {
            let about = |word: &&String| word.contains(name);
            received.iter().filter(about).map(|word| word.split('p').next().unwrap()).collect()
        };
        assert_eq!(received[0], "begin", "{watch_list}: {received:?}");
        assert_eq!(of("p0")[0], "-", "{watch_list}: {received:?}");
        assert!(
            !received.contains(&"+p0 listed".to_owned()),
            "{watch_list}: gone before it came: {received:?}"
        );
        for name in ["p8", "p9"] {
            let added = received.iter().position(|word| *word == format!("+{name}")).unwrap();
            assert!(added < end, "{watch_list}: came before the end, so it is not swept: {received:?}");
        }
        assert!(!received.contains(&"+p2 listed".to_owned()), "{watch_list}: {received:?}");
        assert!(!received.contains(&"+p3 listed".to_owned()), "{watch_list}: {received:?}");
        assert_eq!(received.iter().filter(|word| *word == "+p1 listed").count(), 1, "{received:?}");
        assert!(
            !received.iter().any(|word| word.contains("p4")),
            "{watch_list}: lost, so swept: {received:?}"
        );
        assert_eq!(received.last().map(String::as_str), Some("+p8"), "{watch_list}: and watching continues");
        assert_eq!(rig.health().counters.failures, 0, "{watch_list}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_behind_the_list_does_not_revert_its_items() {
    let (mut rig, _) = listing_again(false, |requested, nth| match (nth, requested.is_watch()) {
        (0, _) => page(WIRE, 0..2, 100, ""),
        (1, _) => {
            let late = [event(WIRE, "MODIFIED", 0, 101), event(WIRE, "MODIFIED", 0, 102)].concat();
            stream(WIRE).pause(7 * SECOND).bytes(late).hang()
        }
        (_, true) => stream(WIRE).bytes(event(WIRE, "MODIFIED", 1, 104)).hang(),
        (..) if requested.parameter("continue").is_none() => page_of(&[(0, 103)], 103, "more"),
        (..) => page_of(&[(1, 2)], 103, "").delay(9 * SECOND),
    })
    .await;
    let received = rig.run_for(60 * SECOND).await;
    assert_eq!(words(&received), ["begin", "+p0 listed", "+p1 listed", "end", "+p1"]);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_replaced_by_an_older_one_counts() {
    for watch_list in [true, false] {
        let (mut rig, _) = listing_again(watch_list, |requested, nth| match (nth, requested.is_watch()) {
            (0, true) => streamed(WIRE, 3, 900).hang(),
            (0, false) => page(WIRE, 0..3, 900, ""),
            (1, true) if !requested.is_watch_list() => stream(WIRE).hang(),
            (_, true) if requested.is_watch_list() => {
                streamed(WIRE, 2, 50).bytes(event(WIRE, "MODIFIED", 0, 51)).hang()
            }
            (_, true) => {
                assert_eq!(requested.parameter("resourceVersion"), Some("50"));
                stream(WIRE).bytes(event(WIRE, "MODIFIED", 0, 51)).hang()
            }
            (_, false) => page(WIRE, 0..2, 50, ""),
        })
        .await;
        let received = words(&rig.run_for(10 * SECOND).await);
        assert_eq!(received, ["begin", "+p0 listed", "+p1 listed", "end", "+p0"], "{watch_list}");
        assert_eq!(rig.health().counters.failures, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_breaks_during_a_list_leads_to_a_list_without_it() {
    let (mut rig, _) = listing_again(false, |requested, nth| match (nth, requested.is_watch()) {
        (0, _) => page(WIRE, 0..2, 100, ""),
        (1, _) => stream(WIRE).pause(8 * SECOND).bytes(event(WIRE, "MODIFIED", 0, 101)).reset(),
        (2, _) => page(WIRE, 0..1, 100, "more"),
        (3, _) => page(WIRE, 1..2, 100, "").delay(20 * SECOND),
        (4, false) => page_of(&[(0, 101)], 102, ""),
        (5, true) => stream(WIRE).hang(),
        _ => panic!("{requested:?}"),
    })
    .await;
    let received = rig.run_for(60 * SECOND).await;
    assert_eq!(words(&received), ["begin", "+p0 listed", "+p0", "begin", "+p0 listed", "end"]);
    assert_eq!(rig.requested().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn items_of_failed_lists_are_not_reverted_by_the_continuing_watch() {
    let (mut rig, _) = listing_again(false, |requested, nth| match (nth, requested.is_watch()) {
        (0, _) => page(WIRE, 0..2, 100, ""),
        (1, _) => stream(WIRE).pause(8 * SECOND).reset(),
        (2, _) => page_of(&[(0, 103)], 103, "more"),
        (3, _) => page(WIRE, 1..2, 103, "").delay(20 * SECOND),
        (4, false) => page_of(&[(1, 104)], 105, "more"),
        (5, false) => rejection(WIRE, 503, "No", None),
        (6, true) => {
            assert_eq!(requested.parameter("resourceVersion"), Some("100"));
            let reported = [(0, 101), (0, 102), (0, 103), (1, 104), (0, 106)];
            let reported = reported.map(|(number, version)| event(WIRE, "MODIFIED", number, version));
            stream(WIRE).bytes(reported.concat()).hang()
        }
        (7, false) => page_of(&[(0, 106), (1, 104)], 106, ""),
        (8, true) => stream(WIRE).hang(),
        _ => panic!("{requested:?}"),
    })
    .await;
    let received = rig.run_for(60 * SECOND).await;
    let live = received.iter().filter_map(|received| match received {
        ObjectEvent::Applied { fact, listed: false } => {
            Some((fact.id.name().name().to_owned(), fact.version.unwrap().0))
        }
        _ => None,
    });
    let expected = [("p0", 103), ("p1", 104), ("p0", 106)].map(|(name, version)| (name.to_owned(), version));
    assert_eq!(live.collect::<Vec<_>>(), expected, "{:?}", words(&received));
    assert_eq!(words(&received).last().map(String::as_str), Some("end"));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_closed_during_a_list_continues_and_so_does_the_list() {
    let (mut rig, _) = listing_again(false, |requested, nth| match (nth, requested.is_watch()) {
        (0, _) => page(WIRE, 0..2, 100, ""),
        (1, _) => stream(WIRE).pause(8 * SECOND).bytes(event(WIRE, "MODIFIED", 0, 101)),
        (2, _) => page(WIRE, 0..1, 100, "more"),
        (3, _) => page(WIRE, 1..2, 100, "").delay(20 * SECOND),
        (4, true) => {
            assert_eq!(requested.parameter("resourceVersion"), Some("101"));
            stream(WIRE).pause(2 * SECOND).bytes(event(WIRE, "DELETED", 1, 102)).hang()
        }
        (5, true) => stream(WIRE).bytes(event(WIRE, "DELETED", 1, 102)).hang(),
        _ => panic!("{requested:?}"),
    })
    .await;
    let received = words(&rig.run_for(60 * SECOND).await);
    assert_eq!(received[..4], ["begin", "+p0 listed", "+p0", "-p1"]);
    assert!(
        !received.contains(&"+p1 listed".to_owned()) && received.contains(&"end".to_owned()),
        "{received:?}"
    );
    assert_eq!((rig.requested().len(), rig.health().counters.failures), (6, 0));
}

#[tokio::test(start_paused = true)]
async fn too_many_changes_to_track_lead_to_a_list_without_the_watch() {
    let mut storm = Vec::new();
    for number in 0..50_001 {
        storm.extend(event(WireFormat::Protobuf, "ADDED", number, 200 + number));
    }
    let (mut rig, _) = listing_again(false, move |requested, nth| match (nth, requested.is_watch()) {
        (0, _) => page(WIRE, 0..1, 100, ""),
        (1, _) => stream(WireFormat::Protobuf).pause(6 * SECOND).bytes(std::mem::take(&mut storm)).hang(),
        (2, _) => {
            WatchReply::new(200, "application/json").bytes(&page_body(WIRE, 0..1, 150, "")[..20]).hang()
        }
        (3, false) => page(WIRE, 0..1, 60_000, ""),
        (4, true) => stream(WIRE).hang(),
        _ => panic!("{requested:?}"),
    })
    .await;
    let received = rig.run_for(60 * SECOND).await;
    let changes = received
        .iter()
        .filter(|received| matches!(received, ObjectEvent::Applied { listed: false, .. }))
        .count();
    assert!((50_000..=50_001).contains(&changes), "the changes were sent: {changes}");
    let lists = received.iter().filter(|received| matches!(received, ObjectEvent::ListStarted { .. }));
    assert_eq!(lists.count(), 2, "the second one runs alone");
    assert_eq!(words(&received[received.len() - 2..]), ["+p0 listed", "end"]);
    assert_eq!(rig.health().counters.failures, 0);
}

#[tokio::test(start_paused = true)]
async fn for_objects_with_non_numeric_versions_the_watch_counts() {
    let odd = |number| {
        let mut pod = pod_json(number, 1);
        pod["metadata"]["resourceVersion"] = "odd".into();
        pod
    };
    let (mut rig, _) = listing_again(false, move |requested, nth| match (nth, requested.is_watch()) {
        (0, _) => page(WIRE, 0..2, 100, ""),
        (1, _) => stream(WIRE).pause(7 * SECOND).bytes(line("MODIFIED", &odd(0))).hang(),
        (_, true) => stream(WIRE).hang(),
        (..) => page(WIRE, 0..2, 100, "").delay(4 * SECOND),
    })
    .await;
    let received = words(&rig.run_for(60 * SECOND).await);
    assert_eq!(received, ["begin", "+p0", "+p1 listed", "end"]);
}
