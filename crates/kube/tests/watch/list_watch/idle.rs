//! Tests kinds without any change for an hour: silence is not a failure.

use super::fake::{PodWatchHarness, WatchReply, WatchRequest};
use super::objects::{BOTH, WireFormat, page, rejection, stream, streamed};
use std::time::Duration;
use taintward_kube::watch::WatchSettings;

const HOUR: u64 = 3600;

/// This many pods without changes. A watch is ended when its time is over.
fn sanitized(wire: WireFormat, streams_lists: bool, pods: u64, requested: &WatchRequest) -> WatchReply {
    let end = |reply: WatchReply| reply.pause(Duration::from_secs(290));
    match (requested.is_watch_list(), requested.is_watch()) {
        (true, _) if streams_lists => end(streamed(wire, pods, 10)),
        (true, _) => rejection(wire, 422, "Invalid", None),
        (false, true) => end(stream(wire)),
        (false, false) => page(wire, 0..pods, 10, ""),
    }
}

#[tokio::test(start_paused = true)]
async fn an_hour_of_silence_is_an_hour_in_sync() {
    for (streams_lists, pods, relist_every) in [
        (true, 2, Some(300)),
        (true, 0, Some(300)),
        (false, 2, Some(300)),
        (false, 0, Some(300)),
        (true, 2, None),
        (false, 0, None),
    ] {
        for wire in BOTH {
            let relist_every = relist_every.map(Duration::from_secs);
            let settings = WatchSettings { seed: 1, relist_every, ..WatchSettings::default() };
            let what = format!("{streams_lists} {pods} {relist_every:?} {wire:?}");
            let mut rig = PodWatchHarness::with(settings, 16, move |requested, _| {
                sanitized(wire, streams_lists, pods, requested)
            });
            rig.run_for(Duration::from_secs(1)).await;
            for second in 0..HOUR {
                rig.run_for(Duration::from_secs(1)).await;
                let health = rig.health();
                assert!(health.is_in_step(Duration::from_secs(1)), "{what}, {second} s: {health:?}");
                let received = health.last_active.unwrap().elapsed();
                assert!(received <= Duration::from_secs(291), "{what}, {second} s: {received:?}");
            }
            let counters = rig.health().counters;
            assert_eq!(counters.stalls, 0, "{what}");
            assert_eq!(counters.failures, counters.watch_lists_rejected, "{what}");
            assert!(rig.requested().len() < 40, "{what}: {}", rig.requested().len());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_kind_is_listed_and_shows_activity() {
    for streams_lists in [true, false] {
        let mut rig = PodWatchHarness::with(
            WatchSettings { seed: 1, ..WatchSettings::default() },
            16,
            move |requested, _| sanitized(WireFormat::Json, streams_lists, 0, requested),
        );
        rig.run_for(Duration::from_secs(1)).await;
        let health = rig.health();
        assert!(health.synced_once && health.last_active.is_some() && health.is_in_step(Duration::ZERO));
    }
}
