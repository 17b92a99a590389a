//! Tests rejections, outages, lost history and malformed responses: each heals at a bounded rate and shows in health.

use super::behaviour::words;
use super::fake::{PodWatchHarness, WatchReply, without_lists_again};
use super::objects::{BOTH, WireFormat, bookmark, error, event, page, rejection, stream, streamed};
use std::time::Duration;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::Mono;
use taintward_kube::watch::{ListMode, MissingAccess, StreamPhase, WatchSettings};
use tokio::time::Instant;

/// A moment in seconds since the start.
fn whole_seconds(moment: Mono) -> i64 {
    moment.since(Mono::from_micros(0)).as_micros() / 1_000_000
}

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn lost_history_is_listed_again_after_an_event_or_a_status() {
    for wire in BOTH {
        for by_event in [true, false] {
            let mut rig = PodWatchHarness::start(move |_, nth| match (nth, by_event) {
                (0, _) => streamed(wire, 2, 10).pause(Duration::from_secs(50)),
                (1, true) => stream(wire).bytes(error(wire, 410, "Expired", "too old resource version")),
                (1, false) => rejection(wire, 410, "Expired", None),
                _ => streamed(wire, 1, 100).hang(),
            });
            let received = rig.run_for(Duration::from_secs(60)).await;
            let list = ["begin", "+p0 listed", "+p1 listed", "end"];
            assert_eq!(words(&received), [&list[..], &["begin", "+p0 listed", "end"]].concat());
            let ObjectEvent::ListStarted { silent_since: Some(since) } = received[4] else {
                panic!("{received:?}")
            };
            assert_eq!(whole_seconds(since), 50, "a watch that ended cleanly has sent everything");
            assert_eq!(rig.health().counters.relists_410, 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn history_that_is_always_lost_causes_no_hot_loop() {
    for mode in [true, false] {
        let settings = WatchSettings { watch_list: mode, seed: 1, ..without_lists_again() };
        let mut rig = PodWatchHarness::with(settings, 16, |requested, _| {
            match (requested.is_watch_list(), requested.is_watch()) {
                (true, _) => {
                    streamed(WireFormat::Json, 1, 10).bytes(error(WireFormat::Json, 410, "Expired", "old"))
                }
                (false, true) => rejection(WireFormat::Json, 410, "Expired", None),
                (false, false) => page(WireFormat::Json, 0..1, 10, ""),
            }
        });
        rig.run_for(HOUR).await;
        assert!((100..400).contains(&rig.requested().len()), "{}", rig.requested().len());
    }
}

#[tokio::test(start_paused = true)]
async fn a_gap_is_measured_from_the_last_complete_knowledge() {
    let mut rig = PodWatchHarness::start(|_, nth| match nth {
        0 => streamed(WireFormat::Json, 1, 10).pause(Duration::from_secs(50)).bytes(error(
            WireFormat::Json,
            410,
            "",
            "",
        )),
        // Half a list is not complete knowledge: the gap continues.
        1 => stream(WireFormat::Json)
            .bytes(event(WireFormat::Json, "ADDED", 0, 1))
            .pause(Duration::from_secs(20))
            .reset(),
        _ => streamed(WireFormat::Json, 1, 100).hang(),
    });
    let received = rig.run_for(Duration::from_secs(75)).await;
    let gaps: Vec<_> = received
        .iter()
        .filter_map(|received| match received {
            ObjectEvent::ListStarted { silent_since } => Some(silent_since.map(whole_seconds)),
            _ => None,
        })
        .collect();
    assert_eq!(gaps, [None, Some(0), Some(0)], "the lists start after 50 and 70 seconds");
}

#[tokio::test(start_paused = true)]
async fn a_restored_store_is_listed_again() {
    for wire in BOTH {
        let mut rig = PodWatchHarness::start(move |_, nth| match nth {
            0 => streamed(wire, 2, 1000)
                .pause(Duration::from_secs(10))
                .bytes(bookmark(wire, 500, false))
                .hang(),
            1 => streamed(wire, 1, 501).pause(Duration::from_secs(10)),
            2 => WatchReply::new(504, "application/json").bytes(
                r#"{"kind":"Status","status":"Failure","code":504,"reason":"Timeout",
                    "message":"Too large resource version: 501, current: 300"}"#,
            ),
            _ => streamed(wire, 1, 301).hang(),
        });
        let received = words(&rig.run_for(Duration::from_secs(60)).await);
        assert_eq!(received.iter().filter(|word| *word == "end").count(), 3, "{received:?}");
        assert!(rig.requested()[3].is_watch_list());
        assert_eq!(rig.health().counters.relists_410, 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_after_of_a_year_is_capped_and_a_short_one_is_respected() {
    const YEAR: &str = "31536000";
    for (header, details, at_least, at_most) in [
        (Some(YEAR), None, 30, 38),
        (Some("99999999999999999999"), None, 30, 38),
        (Some("12"), None, 12, 16),
        (None, Some(31_536_000), 30, 38),
        (None, Some(12), 12, 16),
        (None, None, 1, 2),
        (Some("Wed, 21 Oct 2026 07:28:00 GMT"), Some(12), 12, 16),
    ] {
        for code in [429, 503] {
            let mut rig = PodWatchHarness::start(move |_, nth| {
                if nth > 0 {
                    return streamed(WireFormat::Json, 1, 10).hang();
                }
                let reply = rejection(WireFormat::Protobuf, code, "TooManyRequests", details);
                match header {
                    Some(value) => reply.header("retry-after", value),
                    None => reply,
                }
            });
            assert_eq!(words(&rig.run_for(Duration::from_secs(40)).await), ["begin", "+p0 listed", "end"]);
            let waited = rig.requested()[1].at.duration_since(rig.requested()[0].at);
            let requests_nothing = details.is_none() && code == 503;
            let least = if requests_nothing && header.is_none() { 0 } else { at_least };
            assert!(waited >= Duration::from_secs(least), "{code} {header:?} {details:?}: {waited:?}");
            assert!(
                waited <= Duration::from_secs(at_most.max(2)),
                "{code} {header:?} {details:?}: {waited:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_hour_without_a_server_heals_without_a_list() {
    let start = Instant::now();
    let mut rig = PodWatchHarness::start(move |requested, nth| match nth {
        0 => streamed(WireFormat::Json, 1, 10).pause(Duration::from_secs(60)).reset(),
        _ if start.elapsed() < HOUR => match nth % 3 {
            0 => rejection(WireFormat::Json, 503, "ServiceUnavailable", None),
            1 => WatchReply::new(502, "text/html").bytes("<h1>Bad Gateway</h1>"),
            _ => WatchReply::new(500, "text/plain"),
        },
        _ => {
            assert_eq!(requested.parameter("resourceVersion"), Some("10"));
            stream(WireFormat::Json).bytes(event(WireFormat::Json, "MODIFIED", 0, 11)).hang()
        }
    });
    let received = rig.run_for(HOUR + Duration::from_secs(60)).await;
    assert_eq!(words(&received), ["begin", "+p0 listed", "end", "+p0"]);
    assert!(rig.requested().len() < 1_800, "{}", rig.requested().len());
    assert_eq!(rig.health().phase, StreamPhase::Watching);
    assert!(rig.health().last_error.unwrap().contains("cannot serve the request"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_responds_is_given_up_and_requested_again() {
    let mut rig = PodWatchHarness::start(|_, nth| match nth {
        0 => WatchReply::new(200, "application/json").delay(HOUR),
        _ => streamed(WireFormat::Json, 0, 10).hang(),
    });
    assert_eq!(words(&rig.run_for(Duration::from_secs(80)).await), ["begin", "end"]);
    assert_eq!(rig.health().counters.stalls, 1);
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_is_reported_and_waited_for() {
    for (wire, code) in [(WireFormat::Json, 403), (WireFormat::Protobuf, 403), (WireFormat::Json, 401)] {
        let start = Instant::now();
        let mut rig = PodWatchHarness::start(move |requested, _| match start.elapsed() < HOUR {
            true => rejection(wire, code, "Forbidden", None),
            false if requested.is_watch_list() => streamed(wire, 1, 10).hang(),
            false => stream(wire).hang(),
        });
        rig.run_for(HOUR / 2).await;
        let health = rig.health();
        assert_eq!(health.missing, Some(MissingAccess { verb: "watch", group: "", resource: "pods" }));
        assert!(
            matches!(&health.phase, StreamPhase::Waiting { why, .. } if why.contains("watch pods")),
            "{health:?}"
        );
        assert!(
            rig.requested().iter().all(|requested| requested.is_watch_list()),
            "no fallback: pages need permission too"
        );
        // Credentials may be renewed at any moment; an administrator grants permissions.
        assert!(rig.requested().len() < if code == 401 { 900 } else { 100 });
        let received = rig.run_for(HOUR).await;
        assert_eq!(words(&received), ["begin", "+p0 listed", "end"]);
        assert_eq!((rig.health().missing, rig.health().mode), (None, ListMode::WatchList));
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_permission_to_list_names_the_verb() {
    let settings = WatchSettings { watch_list: false, seed: 1, ..without_lists_again() };
    let mut rig =
        PodWatchHarness::with(settings, 16, |_, _| rejection(WireFormat::Json, 403, "Forbidden", None));
    rig.run_for(Duration::from_secs(60)).await;
    assert_eq!(rig.health().missing, Some(MissingAccess { verb: "list", group: "", resource: "pods" }));
    assert!(rig.health().last_error.unwrap().contains("ClusterRole"));
}

#[tokio::test(start_paused = true)]
async fn a_compressed_or_unknown_response_is_an_error_with_a_reason() {
    for (content_type, compression, reason) in [
        ("application/json", "gzip", "compressed (gzip)"),
        ("text/html", "identity", "text/html"),
        ("", "identity", "content type"),
    ] {
        let mut rig = PodWatchHarness::start(move |_, nth| match nth {
            0 => WatchReply::new(200, content_type).header("content-encoding", compression).bytes("<html>"),
            _ => streamed(WireFormat::Json, 1, 10).hang(),
        });
        assert_eq!(words(&rig.run_for(Duration::from_secs(5)).await), ["begin", "+p0 listed", "end"]);
        assert!(rig.health().last_error.unwrap().contains(reason));
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_beyond_the_limit_ends_the_stream_and_is_not_stored() {
    for wire in BOTH {
        let mut rig = PodWatchHarness::start(move |_, nth| {
            let reply = match nth {
                0 => streamed(wire, 1, 10),
                1..3 => stream(wire),
                _ => return streamed(wire, 2, 20).hang(),
            };
            match wire {
                WireFormat::Protobuf => reply.bytes(u32::MAX.to_be_bytes()).hang(),
                WireFormat::Json => (0..17).fold(reply, |reply, _| reply.bytes(vec![b'x'; 1 << 20])).hang(),
            }
        });
        let received = words(&rig.run_for(Duration::from_secs(30)).await);
        // Three times in a row at the same position: everything is listed again.
        assert_eq!(received[3..], ["begin", "+p0 listed", "+p1 listed", "end"], "{received:?}");
        assert_eq!(rig.requested()[1].parameter("resourceVersion"), Some("10"));
        assert!(rig.health().last_error.unwrap().contains("longer than 16777216 bytes"));
        assert_eq!(rig.health().counters.stalls, 0, "the rest is not awaited");
    }
}

#[tokio::test(start_paused = true)]
async fn after_invalid_data_in_a_watch_the_earlier_events_count() {
    for wire in BOTH {
        let mut rig = PodWatchHarness::start(move |_, nth| match nth {
            0 => {
                let good = event(wire, "MODIFIED", 0, 11);
                let bad = match wire {
                    WireFormat::Protobuf => b"\0\0\0\x02\xff\xff".to_vec(),
                    WireFormat::Json => b"{\"type\":\"ADDED\",\"object\":{]}\n".to_vec(),
                };
                streamed(wire, 1, 10).bytes([good, bad].concat()).hang()
            }
            _ => stream(wire).hang(),
        });
        let received = rig.run_for(Duration::from_secs(5)).await;
        assert_eq!(words(&received), ["begin", "+p0 listed", "end", "+p0"]);
        assert_eq!(rig.requested()[1].parameter("resourceVersion"), Some("11"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_reset_in_mid_event_loses_nothing() {
    for wire in BOTH {
        let mut rig = PodWatchHarness::start(move |requested, nth| match nth {
            0 => {
                let half = event(wire, "MODIFIED", 0, 11);
                streamed(wire, 1, 10).bytes(&half[..half.len() / 2]).pause(Duration::from_secs(10)).reset()
            }
            _ => {
                assert_eq!(requested.parameter("resourceVersion"), Some("10"));
                stream(wire).bytes(event(wire, "MODIFIED", 0, 11)).hang()
            }
        });
        let received = rig.run_for(Duration::from_secs(30)).await;
        assert_eq!(words(&received), ["begin", "+p0 listed", "end", "+p0"]);
        assert!(rig.health().last_error.unwrap().contains("connection reset by peer"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_position_that_the_server_refuses_is_given_up() {
    let mut rig = PodWatchHarness::start(|_, nth| match nth {
        0 => streamed(WireFormat::Json, 1, 10).pause(Duration::from_secs(10)),
        1 => rejection(WireFormat::Json, 400, "BadRequest", None),
        _ => streamed(WireFormat::Json, 1, 20).hang(),
    });
    let received = rig.run_for(Duration::from_secs(30)).await;
    assert_eq!(words(&received), ["begin", "+p0 listed", "end", "begin", "+p0 listed", "end"]);
    assert_eq!(rig.health().mode, ListMode::WatchList, "the streamed list was not the refused request");
}
