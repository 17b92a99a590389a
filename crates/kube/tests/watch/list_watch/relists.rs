//! Tests that events lost by the server are found within the relist interval.

use super::behaviour::words;
use super::fake::{PodWatchHarness, WatchReply, WatchRequest, without_lists_again};
use super::objects::{BOTH, WireFormat, bookmark, event, page, rejection, stream, streamed};
use std::time::Duration;
use taintward_core::fact::PodFact;
use taintward_core::identity::ResourceVersion;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Span};
use taintward_kube::watch::{ListMode, RelistTrigger, WatchSettings};
use tokio::time::Instant;

const BOUND: Duration = Duration::from_secs(300);
const HOUR: Duration = Duration::from_secs(3600);

fn settings(watch_list: bool, seed: u64) -> WatchSettings {
    WatchSettings { watch_list, seed, ..WatchSettings::default() }
}

/// Bookmarks for this many seconds: the watch shows no sign of the events that it loses.
fn beats_for(seconds: u64, mut reply: WatchReply, wire: WireFormat, from: u64) -> WatchReply {
    for beat in 0..seconds / 50 {
        reply = reply.pause(Duration::from_secs(50)).bytes(bookmark(wire, from + beat, false));
    }
    reply.pause(Duration::from_secs(seconds % 50))
}

/// The position where a watch continues, or where its initial list ends.
fn position(requested: &WatchRequest) -> u64 {
    requested.parameter("resourceVersion").map_or(100, |version| version.parse().unwrap())
}

fn beats(reply: WatchReply, wire: WireFormat, requested: &WatchRequest) -> WatchReply {
    // Servers send no version that is not later than the start of the watch.
    beats_for(3 * 3600, reply, wire, position(requested) + 1)
}

fn lists(requested: &[WatchRequest]) -> Vec<&WatchRequest> {
    requested.iter().filter(|requested| requested.is_watch_list() || !requested.is_watch()).collect()
}

/// All objects: pod 0 in this version, and pods 1 up to `count`.
fn everything(wire: WireFormat, requested: &WatchRequest, count: u64, changed: Option<u64>) -> WatchReply {
    match (requested.is_watch_list(), requested.is_watch(), changed) {
        (true, _, None) => beats(streamed(wire, count, 90), wire, requested),
        (true, _, Some(version)) => {
            let list = [event(wire, "ADDED", 0, version), bookmark(wire, 90, true)].concat();
            beats(stream(wire).bytes(list), wire, requested)
        }
        (false, true, _) => beats(stream(wire), wire, requested),
        (false, false, None) => page(wire, 0..count, 90, ""),
        (false, false, Some(version)) => {
            // A page has pod n in version n + 1.
            assert_eq!((wire, count), (WireFormat::Json, 1));
            let body = String::from_utf8(super::objects::page_body(wire, 0..1, 90, "")).unwrap();
            let body =
                body.replace("\"resourceVersion\":\"1\"", &format!("\"resourceVersion\":\"{version}\""));
            WatchReply::new(200, "application/json").bytes(body)
        }
    }
}

#[tokio::test(start_paused = true)]
async fn l4_a_lost_event_is_found_within_five_minutes_and_not_before_the_list() {
    for (watch_list, seed) in [(true, 1), (false, 2), (true, 3), (false, 4)] {
        for wire in BOTH {
            for (before, after, changed, found) in [
                (1, 2, None, &["begin", "+p0 listed", "+p1 listed", "end"][..]), // ADDED
                (2, 1, None, &["begin", "+p0 listed", "end"]),                   // DELETED: p1 is swept
                (1, 1, Some(50), &["begin", "+p0 listed", "end"]),               // MODIFIED
            ] {
                if changed.is_some() && !watch_list && wire == WireFormat::Protobuf {
                    continue;
                }
                let start = Instant::now();
                let lost = Duration::from_secs(10);
                let mut rig = PodWatchHarness::with(settings(watch_list, seed), 16, move |requested, _| {
                    match start.elapsed() < lost {
                        true => everything(wire, requested, before, None),
                        false => everything(wire, requested, after, changed),
                    }
                });
                let first = rig.run_for(Duration::from_secs(5)).await;
                assert_eq!(words(&first).len() as u64, before + 2);
                let silence = rig.run_for(Duration::from_secs(234)).await;
                assert_eq!(words(&silence), [""; 0], "no event shows it");
                let last_active = rig.health().last_active.expect("it was active");
                assert!(last_active.elapsed() < Duration::from_secs(60), "and the watch looks healthy");
                let received = rig.run_for(lost + BOUND - start.elapsed()).await;
                assert_eq!(words(&received), found, "{watch_list} {wire:?}");
                let versions = received.iter().filter_map(|received| match received {
                    ObjectEvent::Applied { fact, .. } => Some(fact.version),
                    _ => None,
                });
                let version = changed.map_or(ResourceVersion(1), ResourceVersion);
                assert_eq!(versions.take(1).collect::<Vec<_>>(), [Some(version)]);
                // The gap in the engine's input starts at the last activity, not at the last list.
                let Some(ObjectEvent::ListStarted { silent_since: Some(silent_since) }) =
                    received.iter().find(|received| matches!(received, ObjectEvent::ListStarted { .. }))
                else {
                    panic!("{received:?}")
                };
                let health = rig.health();
                assert_eq!((health.counters.relists_due, health.counters.failures), (1, 0));
                assert_eq!(health.counters.watches_closed, 0);
                let requested = rig.requested();
                assert_eq!(requested.len(), if watch_list { 2 } else { 4 }, "no request too many");
                let listed_at = requested[requested.len() / 2].at.duration_since(start).as_secs();
                let silent_for = Mono::from_secs(listed_at.cast_signed()).since(*silent_since);
                assert!(silent_for < Span::from_secs(50), "{silent_for:?}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn l4_lists_keep_their_interval_for_hours_however_the_server_ends_watches() {
    // Open without end; closed after a minute; closed just before a list is due.
    for (closes_after, requests) in [(None, 47), (Some(60), 260), (Some(239), 100)] {
        let mut rig = PodWatchHarness::with(settings(true, 5), 16, move |requested, _| {
            let reply = if requested.is_watch_list() {
                streamed(WireFormat::Json, 1, 10)
            } else {
                stream(WireFormat::Json)
            };
            match closes_after {
                Some(seconds) => beats_for(seconds, reply, WireFormat::Json, position(requested) + 1),
                None => beats(reply, WireFormat::Json, requested),
            }
        });
        rig.run_for(3 * HOUR).await;
        let requested = rig.requested();
        let distances: Vec<_> = lists(&requested).windows(2).map(|pair| pair[1].at - pair[0].at).collect();
        assert!(distances.len() >= 37, "{}", distances.len());
        for distance in &distances {
            let bounds = Duration::from_secs(240)..=Duration::from_secs(285);
            assert!(bounds.contains(distance), "{closes_after:?}: {distance:?}");
        }
        assert!(requested.len() <= requests, "{closes_after:?}: {}", requested.len());
    }
}

#[tokio::test(start_paused = true)]
async fn never_means_no_list() {
    for every in [None, Some(Duration::ZERO)] {
        let start = Instant::now();
        let settings = WatchSettings { relist_every: every, seed: 1, ..without_lists_again() };
        let mut rig = PodWatchHarness::with(settings, 16, move |requested, _| {
            everything(WireFormat::Json, requested, 1 + u64::from(start.elapsed().as_secs() > 10), None)
        });
        let received = rig.run_for(2 * HOUR).await;
        assert_eq!(words(&received), ["begin", "+p0 listed", "end"]);
        assert_eq!(rig.requested().len(), 1);
    }
}

/// A list that fails.
type Rejected = (&'static str, fn(WireFormat) -> WatchReply, u64);

/// Each with the time until the failure is known.
const REJECTED: [Rejected; 7] = [
    ("429", |wire| rejection(wire, 429, "TooManyRequests", Some(3)), 0),
    ("429 for a year", |wire| rejection(wire, 429, "TooManyRequests", Some(31_536_000)), 0),
    ("503", |wire| rejection(wire, 503, "ServiceUnavailable", None), 0),
    ("403", |wire| rejection(wire, 403, "Forbidden", None), 0),
    ("no answer", |wire| stream(wire).delay(HOUR), 20),
    ("half an answer", |wire| stream(wire).bytes(event(wire, "ADDED", 0, 1)).reset(), 0),
    ("a slow answer", |wire| stream(wire).bytes(event(wire, "ADDED", 0, 1)).hang(), 75),
];

#[tokio::test(start_paused = true)]
async fn a_refused_list_loses_no_event_of_the_watch() {
    for wire in BOTH {
        for (what, rejected, known_after) in REJECTED {
            let mut rig = PodWatchHarness::with(settings(true, 6), 16, move |_, nth| match nth {
                // One event every ten seconds.
                0 => (0..60).fold(streamed(wire, 1, 90), |reply, word| {
                    let changes = event(wire, "MODIFIED", 0, 200 + word);
                    reply.pause(Duration::from_secs(10)).bytes(changes)
                }),
                1 | 2 => rejected(wire),
                _ => streamed(wire, 2, 500).hang(),
            });
            let start = Instant::now();
            let mut changes: Vec<ObjectEvent<PodFact>> = Vec::new();
            while rig.requested().len() < 4 || start.elapsed().as_secs() % 10 != 5 {
                let now = start.elapsed();
                let received = rig.run_for(Duration::from_millis(500)).await;
                for received in &received {
                    if let ObjectEvent::Applied { fact, listed: false } = received {
                        let happened = 10 * (fact.version.unwrap().0 - 199);
                        assert!(now.as_secs().abs_diff(happened) <= 1, "{what}: {happened}, told {now:?}");
                    }
                }
                let health = rig.health();
                assert!(health.is_in_step(Duration::ZERO), "{what}: {health:?}");
                changes.extend(received);
            }
            let words = words(&changes);
            let reported = words.iter().filter(|word| *word == "+p0").count() as u64;
            let requested = rig.requested();
            let lasted = (requested[3].at - start).as_secs();
            assert_eq!(reported, lasted / 10, "{what}: each word, once");
            let count = |wanted: &str| words.iter().filter(|word| *word == wanted).count();
            assert_eq!(count("begin"), count("aborted") + 2, "{what}: {words:?}");
            assert_eq!(words[words.len() - 2..], ["+p1 listed", "end"], "{what}: {words:?}");

            assert_eq!(requested.len(), 4, "{what}: the watch is not asked for again");
            for at in [1, 2] {
                let again = requested[at + 1].at - requested[at].at;
                let least = if what == "429 for a year" { 30 } else { 10 * at as u64 };
                let least = Duration::from_secs(least);
                let pause = again.saturating_sub(Duration::from_secs(known_after));
                assert!(pause >= least && pause <= least * 2, "{what}: {again:?}");
            }
            let health = rig.health();
            assert_eq!((health.missing, health.counters.relists_due), (None, 3), "{what}");
            assert_eq!((health.counters.failures, health.counters.failures_beside), (2, 2), "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_streamed_list_is_replaced_by_pages_immediately() {
    let mut rig = PodWatchHarness::with(settings(true, 7), 16, |requested, nth| {
        match (nth, requested.is_watch_list()) {
            (0, _) => beats(streamed(WireFormat::Json, 1, 90), WireFormat::Json, requested),
            (_, true) => rejection(WireFormat::Json, 422, "Invalid", None),
            (_, false) => everything(WireFormat::Json, requested, 2, None),
        }
    });
    rig.run_for(Duration::from_secs(239)).await;
    let received = rig.run_for(Duration::from_secs(50)).await;
    assert_eq!(words(&received), ["begin", "+p0 listed", "+p1 listed", "end"]);
    let requested = rig.requested();
    assert_eq!(requested.len(), 4, "streamed list, streamed list, page, watch");
    assert_eq!((requested[3].at - requested[1].at, rig.health().mode), (Duration::ZERO, ListMode::PagedList));
}

#[tokio::test(start_paused = true)]
async fn a_failing_page_does_not_affect_the_watch_and_the_list_restarts() {
    for code in [503, 410] {
        let mut rig = PodWatchHarness::with(settings(false, 8), 16, move |requested, nth| match nth {
            0 => page(WireFormat::Json, 0..3, 100, ""),
            1 => stream(WireFormat::Json)
                .pause(Duration::from_secs(287))
                .bytes(event(WireFormat::Json, "DELETED", 0, 110))
                .hang(),
            2 => page(WireFormat::Json, 0..1, 105, "more"),
            3 => rejection(WireFormat::Json, code, "No", None).delay(Duration::from_secs(50)),
            4 => page(WireFormat::Json, 1..3, 300, ""),
            5 => stream(WireFormat::Json).hang(),
            _ => panic!("{requested:?}"),
        });
        rig.run_for(Duration::from_secs(239)).await;
        let received = rig.run_for(Duration::from_secs(120)).await;
        let expected = ["begin", "+p0 listed", "-p0", "aborted", "begin", "+p1 listed", "+p2 listed", "end"];
        assert_eq!(words(&received), expected, "{code}");
        let requested = rig.requested();
        assert_eq!(requested[4].parameter("continue"), None);
        assert_eq!(requested[4].parameter("limit"), if code == 410 { None } else { Some("500") });
        assert_eq!(requested[5].parameter("resourceVersion"), Some("300"));
        assert_eq!(requested.len(), 6);
    }
}

#[tokio::test(start_paused = true)]
async fn lists_that_are_always_refused_cause_no_storm() {
    for watches_work in [true, false] {
        for code in [429, 500, 503, 410, 403, 400] {
            let mut rig = PodWatchHarness::with(settings(true, 9), 16, move |requested, nth| {
                let is_list = requested.is_watch_list() || !requested.is_watch();
                match nth {
                    0 => beats(streamed(WireFormat::Json, 1, 90), WireFormat::Json, requested),
                    _ if is_list || !watches_work => rejection(WireFormat::Json, code, "No", None),
                    _ => beats(stream(WireFormat::Json), WireFormat::Json, requested),
                }
            });
            let received = rig.run_for(2 * HOUR).await;
            assert_eq!(words(&received), ["begin", "+p0 listed", "end"], "{code}");
            let requests = rig.requested().len();
            // A working watch is interrupted for a list about every five minutes; a broken one is requested at the
            // usual intervals besides, or at those for unavailable servers.
            let most = match (watches_work, code) {
                (true, _) => 90,
                (false, 500 | 503) => 3_700,
                (false, _) => 420,
            };
            assert!((25..most).contains(&requests), "{code} {watches_work}: {requests}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_longer_than_the_interval_is_neither_interrupted_nor_repeated_immediately() {
    let slow = |wire| {
        let mut reply = stream(wire);
        for number in 0..20 {
            reply = reply.bytes(event(wire, "ADDED", number, number + 1)).pause(Duration::from_secs(18));
        }
        beats_for(600, reply.bytes(bookmark(wire, 90, true)), wire, 100)
    };
    let mut rig = PodWatchHarness::with(settings(true, 10), 16, move |_, _| slow(WireFormat::Json));
    let received = words(&rig.run_for(Duration::from_secs(1000)).await);
    assert_eq!(received.iter().filter(|word| *word == "end").count(), 2, "{received:?}");
    let requested = rig.requested();
    let distance = requested[1].at - requested[0].at;
    assert!(
        distance >= Duration::from_secs(360 + 120) && distance < Duration::from_secs(360 + 150),
        "{distance:?}"
    );
    assert_eq!(rig.health().counters.failures, 0);
}

#[tokio::test(start_paused = true)]
async fn a_requested_list_starts_immediately_and_not_in_a_hot_loop() {
    let relist_now = RelistTrigger::default();
    let settings = WatchSettings { relist_now: relist_now.clone(), seed: 1, ..without_lists_again() };
    // A watch from a version that the server's store, now an older one, has yet to reach: it stays silent.
    let mut rig = PodWatchHarness::with(settings, 16, |_, nth| {
        streamed(WireFormat::Json, 2 - (nth as u64).min(1), 100).hang()
    });
    rig.run_for(Duration::from_secs(30)).await;
    assert_eq!(rig.requested().len(), 1);
    relist_now.request();
    let received = rig.run_for(Duration::from_millis(10)).await;
    assert_eq!(words(&received), ["begin", "+p0 listed", "end"], "p1 is swept");
    for _ in 0..100 {
        relist_now.request();
        rig.run_for(Duration::from_millis(50)).await;
    }
    assert!((5..=7).contains(&(rig.requested().len() - 2)), "one a second: {}", rig.requested().len());
    assert_eq!(rig.health().counters.failures, 0);
}

#[tokio::test(start_paused = true)]
async fn a_list_requested_during_an_outage_follows_it() {
    let relist_now = RelistTrigger::default();
    let settings = WatchSettings { relist_now: relist_now.clone(), seed: 1, ..without_lists_again() };
    let mut rig = PodWatchHarness::with(settings, 16, |_, nth| match nth {
        0 => streamed(WireFormat::Json, 1, 100).pause(Duration::from_secs(10)).reset(),
        1 => rejection(WireFormat::Json, 429, "TooManyRequests", Some(5)),
        _ => streamed(WireFormat::Json, 2, 100).hang(),
    });
    rig.run_for(Duration::from_secs(12)).await;
    relist_now.request();
    let received = rig.run_for(Duration::from_secs(10)).await;
    assert_eq!(words(&received), ["begin", "+p0 listed", "+p1 listed", "end"]);
    assert_eq!(rig.requested().len(), 3, "the list is the next request, once");
}
