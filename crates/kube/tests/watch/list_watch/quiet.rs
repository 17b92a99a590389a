//! Tests kinds without any change for an hour: silence is not a failure.

use super::fake::{Asked, Reply, Rig};
use super::objects::{BOTH, Wire, page, refusal, stream, streamed};
use std::time::Duration;
use taintward_core::fact::PodFact;
use taintward_kube::watch::WatchSettings;

type Pods = Rig<PodFact>;

const HOUR: u64 = 3600;

/// This many pods without changes. A watch is ended when its time is over.
fn quiet(wire: Wire, streams_lists: bool, pods: u64, asked: &Asked) -> Reply {
    let end = |reply: Reply| reply.pause(Duration::from_secs(290));
    match (asked.is_watch_list(), asked.is_watch()) {
        (true, _) if streams_lists => end(streamed(wire, pods, 10)),
        (true, _) => refusal(wire, 422, "Invalid", None),
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
            let mut rig = Pods::with(settings, 16, move |asked, _| quiet(wire, streams_lists, pods, asked));
            rig.run_for(Duration::from_secs(1)).await;
            for second in 0..HOUR {
                rig.run_for(Duration::from_secs(1)).await;
                let health = rig.health();
                assert!(health.is_in_step(Duration::from_secs(1)), "{what}, {second} s: {health:?}");
                let heard = health.last_heard.unwrap().elapsed();
                assert!(heard <= Duration::from_secs(291), "{what}, {second} s: {heard:?}");
            }
            let counters = rig.health().counters;
            assert_eq!(counters.stalls, 0, "{what}");
            assert_eq!(counters.failures, counters.watch_lists_refused, "{what}");
            assert!(rig.asked().len() < 40, "{what}: {}", rig.asked().len());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_kind_is_listed_and_shows_activity() {
    for streams_lists in [true, false] {
        let mut rig =
            Pods::with(WatchSettings { seed: 1, ..WatchSettings::default() }, 16, move |asked, _| {
                quiet(Wire::Json, streams_lists, 0, asked)
            });
        rig.run_for(Duration::from_secs(1)).await;
        let health = rig.health();
        assert!(health.synced_once && health.last_heard.is_some() && health.is_in_step(Duration::ZERO));
    }
}
