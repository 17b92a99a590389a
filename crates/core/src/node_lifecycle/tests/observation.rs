//! Tests from which length on a pause is a gap, in which silence proves nothing (S7).

use crate::node_lifecycle::NodeLifecycleConfig;
use crate::node_lifecycle::observation_gaps::{Observation, ObservationDoubt, StreamUpdate, WatchedKind};
use crate::time::{Mono, Span};

const STREAMS: [WatchedKind; 2] = [WatchedKind::Nodes, WatchedKind::Leases];

fn at(second: i64) -> Mono {
    Mono::from_secs(second)
}

fn config() -> NodeLifecycleConfig {
    NodeLifecycleConfig::default()
}

/// Both lists are complete at 100 s, and a request has succeeded then.
fn watching() -> Observation {
    let mut observation = Observation::default();
    for stream in STREAMS {
        observation.start_list(stream, None);
        assert!(observation.is_listing(stream));
        assert!(observation.update(stream, StreamUpdate::ListCompleted, at(100), &config()));
        assert!(!observation.is_listing(stream));
    }
    observation.request_succeeded(at(100), at(100), &config());
    assert_eq!(observation.since(true), Some(at(100)));
    observation
}

/// The longest pause that is no gap, and the shortest that is one.
fn pauses(longest: Span) -> [(Span, bool); 2] {
    [(longest, false), (longest.saturating_add(Span::from_micros(1)), true)]
}

#[test]
fn a_process_that_stood_still_for_too_long_observes_afresh() {
    for (pause, is_gap) in pauses(config().gap_max()) {
        let mut observation = watching();
        let now = at(200).plus(pause);
        assert_eq!(observation.pause(at(200), now, &config()), is_gap);
        assert_eq!(observation.since(true), Some(if is_gap { now } else { at(100) }));
    }
    for (pause, is_gap) in pauses(config().monitor_period().saturating_add(config().gap_max())) {
        let mut observation = watching();
        assert!(!observation.call(at(200), &config()), "the first call");
        let now = at(200).plus(pause);
        assert_eq!(observation.call(now, &config()), is_gap);
        assert_eq!(
            (observation.called(), observation.since(true).map(|since| since == now)),
            (Some(now), Some(is_gap))
        );
    }
}

#[test]
fn a_stream_that_was_lost_for_too_long_is_observed_afresh() {
    for (pause, is_gap) in pauses(config().gap_max()) {
        for stream in STREAMS {
            let mut observation = watching();
            let now = at(101).plus(pause);
            // Requests succeed all the while.
            let successes = (101..).map(at).take_while(|success| *success < now).chain([now]);
            successes.for_each(|success| _ = observation.request_succeeded(success, success, &config()));
            observation.update(stream, StreamUpdate::Lost { since: at(101) }, at(101), &config());
            assert_eq!(observation.doubt(now, &config()), Some(ObservationDoubt::WatchLost));
            observation.update(stream, StreamUpdate::Recovered, now, &config());
            let expected = if is_gap { now } else { at(100) };
            assert_eq!(observation.since(false), Some(expected), "{stream:?} {pause:?}");
        }
    }
}

/// A list beside which the watch delivers nothing: without events for too long, it hides what nodes do.
#[test]
fn a_list_that_runs_for_too_long_is_blind() {
    for (pause, is_gap) in pauses(config().gap_max()) {
        for stream in STREAMS {
            let mut observation = watching();
            observation.start_list(stream, Some(at(200)));
            let now = at(200).plus(pause);
            observation.request_succeeded(now, now, &config());
            let doubt = observation.doubt(now, &config());
            assert_eq!(doubt == Some(ObservationDoubt::WatchLost), is_gap, "{doubt:?}");
            observation.update(stream, StreamUpdate::Event, now, &config());
            assert_eq!(observation.doubt(now, &config()), None, "the watch shows that it works");
        }
    }
}
