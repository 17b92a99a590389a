//! Tests gaps in the observation of this process (pauses, lost and late watches): no live node is tainted, every dead
//! one is in time.

use crate::common::monitored::MonitoredEngine;
use crate::node_lifecycle::harness::{NodeLifecycleHarness, What};
use crate::node_lifecycle::{list_aborted, list_started};
use taintward_core::engine::{Engine, Lane};
use taintward_core::node_lifecycle::{
    ManagedTaint, ManagedTaints, NodeLifecycleConfig, NodeLifecycleEngine, NodeLifecycleFlags,
    NodeLifecycleInput, NodeLifecycleNotice, ObservationDoubt, WatchedKind,
};
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::Mono;

/// A lag after which no event arrives while a test runs.
const NEVER: i64 = 1 << 50;

fn is_declared(harness: &NodeLifecycleHarness, name: &str) -> bool {
    harness.commits.iter().any(|commit| commit.node == name && matches!(commit.what, What::Declare(_)))
}

/// S7(b), P37: the process stands still for ten minutes. The heartbeats it missed do not count as silence, whether it
/// knows about the pause or only detects it by its own calls.
#[test]
fn a_pause_of_ten_minutes() {
    for reported in [false, true] {
        let mut harness = NodeLifecycleHarness::new(&[("a", 5)]);
        harness.kill(&["a4"]);
        harness.pass(5);
        let since = harness.clock().mono;
        harness.paused = true;
        harness.pass(600);
        harness.paused = false;
        if reported {
            harness.submit(NodeLifecycleInput::ProcessPaused { since });
        }
        // Events buffered in the stream arrive late, as if they were new.
        harness.pass(48);
        assert_eq!(harness.commits, [], "no commits yet");
        harness.pass(15);
        assert_eq!(harness.tainted(), ["a4"], "told: {reported}");
        assert!(["a0", "a1", "a2", "a3"].iter().all(|name| !is_declared(&harness, name)));
        assert!(harness.notices.iter().any(|(_, it)| *it == NodeLifecycleNotice::ObservedAfresh));
    }
}

/// A node that was silent for too long before the pause, and not declared so, has a whole grace period as well; also if
/// another task of this process kept renewing its lease while the loop was starved.
#[test]
fn a_pause_with_a_silent_node_before_it() {
    for renewed in [false, true] {
        let mut harness = NodeLifecycleHarness::new(&[("a", 5)]);
        harness.leading = false;
        harness.kill(&["a4"]);
        harness.pass(65);
        harness.paused = true;
        harness.pass(600);
        harness.paused = false;
        for ago in (0..62).rev().filter(|_| renewed) {
            let sent = harness.clock().mono.minus(taintward_core::time::Span::from_secs(10 * ago));
            harness.submit(NodeLifecycleInput::OwnRequestSucceeded { sent });
        }
        harness.leading = true;
        harness.pass(48);
        assert_eq!(harness.commits, [], "no commits yet");
        harness.pass(15);
        assert_eq!(harness.tainted(), ["a4"], "renewed: {renewed}");
    }
}

/// A pause shorter than the tolerance does not count.
#[test]
fn a_short_pause_changes_nothing() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 5)]);
    harness.kill(&["a4"]);
    harness.pass(20);
    harness.paused = true;
    harness.pass(10);
    harness.paused = false;
    harness.pass(35);
    assert_eq!(harness.tainted(), ["a4"]);
}

/// The API server is disconnected for ten minutes, also from kubelets: detected by the streams, or not at all.
/// Afterwards the dead node is tainted, and no other.
#[test]
fn the_api_server_is_disconnected_for_ten_minutes() {
    for noticed in [false, true] {
        for kubelets_first in [false, true] {
            let mut harness = NodeLifecycleHarness::new(&[("a", 5)]);
            harness.kill(&["a4"]);
            harness.pass(3);
            harness.api = false;
            if noticed {
                let since = harness.clock().mono;
                harness.submit(NodeLifecycleInput::StreamLost { stream: WatchedKind::Nodes, since });
                harness.submit(NodeLifecycleInput::StreamLost { stream: WatchedKind::Leases, since });
            }
            harness.pass(600);
            let engine = harness.engine.as_ref().expect("it runs");
            let doubt = if noticed { ObservationDoubt::WatchLost } else { ObservationDoubt::NoResponse };
            assert_eq!(engine.doubt(harness.clock().mono), Some(doubt));
            assert!(engine.holds_countdowns(), "NL-48: no node sends heartbeats");
            assert_eq!(harness.reads, 0, "no node is even read");
            harness.api = true;
            if kubelets_first {
                harness.pass_micros(1);
            }
            harness.list(false);
            harness.pass(48);
            assert_eq!(harness.commits, [], "{noticed} {kubelets_first}");
            harness.pass(15);
            assert_eq!(harness.tainted(), ["a4"]);
            assert!(["a0", "a1", "a2", "a3"].iter().all(|name| !is_declared(&harness, name)));
        }
    }
}

/// S7(c): only the requests of this process fail: this process may be the one that is disconnected.
#[test]
fn without_successful_requests_no_node_is_declared_silent() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 5)]);
    harness.kill(&["a4"]);
    let mut engine = harness.engine.take().expect("it runs");
    let mut now = harness.clock();
    for _ in 0..40 {
        now.mono = now.mono.plus(taintward_core::time::Span::from_secs(5));
        engine.tick(now.mono);
        for (at, name) in ["a0", "a1", "a2", "a3"].iter().enumerate() {
            let mut fact = harness.stored[*name].lease.clone().expect("it has a lease");
            fact.version = None;
            fact.renewed = Some(taintward_core::time::Wall::from_micros(now.mono.as_micros() + at as i64));
            engine.handle(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, listed: false }), now);
        }
        assert_eq!(engine.next_effect(Lane::All, now), None);
    }
    assert_eq!(engine.doubt(now.mono), Some(ObservationDoubt::NoResponse));
}

/// S7(a), P16: renewals arrive minutes late on the watch. The live read shows the current one each time.
#[test]
fn a_late_stream_of_leases_taints_no_node() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 5)]);
    harness.lease_lag = 180_000_000;
    harness.pass(1_200);
    assert!(harness.reads > 0, "they were read");
    assert_eq!(harness.commits, []);
}

/// The stream of leases stalls undetected: there are no heartbeats. No node is tainted.
#[test]
fn a_stalled_stream_of_leases_taints_no_node() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 5)]);
    harness.lease_lag = 100_000_000_000;
    harness.pass(1_200);
    assert_eq!(harness.commits, []);
}

/// A list that confirms the watch is not a gap: dead nodes are tainted as soon as without it.
#[test]
fn a_relist_delays_no_taint() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 5)]);
    harness.kill(&["a4"]);
    for _ in 0..6 {
        harness.pass(10);
        harness.list(false);
    }
    assert_eq!(harness.tainted(), ["a4"]);
}

/// A list that takes long is a gap: no node is declared silent for missing heartbeats during it.
#[test]
fn a_list_that_stalls_is_a_gap() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 5)]);
    harness.kill(&["a4"]);
    harness.pass(30);
    let silent_since = Some(harness.clock().mono);
    // Without a watch alongside it.
    harness.lease_lag = NEVER;
    harness.submit(NodeLifecycleInput::Leases(ObjectEvent::ListStarted { silent_since }));
    harness.pass(30);
    harness.lease_lag = 0;
    assert_eq!(harness.commits, []);
    assert_eq!(
        harness.engine.as_ref().expect("it runs").doubt(harness.clock().mono),
        Some(ObservationDoubt::WatchLost)
    );
    for name in ["a0", "a1", "a2", "a3", "a4"] {
        let fact = harness.stored[name].lease.clone().expect("it has a lease");
        harness.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, listed: true }));
    }
    harness.submit(NodeLifecycleInput::Leases(ObjectEvent::ListCompleted));
    harness.pass(49);
    assert_eq!(harness.commits, []);
    harness.pass(2);
    assert_eq!(harness.tainted(), ["a4"]);
}

/// A list alongside a continuing watch is not a gap, however long it takes: a node that dies is tainted in time. If the
/// watch stalls meanwhile it is one: items that the list has shown prove nothing about those that it has not.
#[test]
fn a_list_alongside_the_watch_is_a_gap_only_if_the_watch_stalls() {
    for watch_goes_on in [true, false] {
        let mut harness = NodeLifecycleHarness::new(&[("a", 5)]);
        harness.kill(&["a4"]);
        harness.pass(5);
        let silent_since = Some(harness.clock().mono);
        harness.lease_lag = if watch_goes_on { 0 } else { NEVER };
        harness.submit(NodeLifecycleInput::Leases(ObjectEvent::ListStarted { silent_since }));
        for second in 0..75 {
            harness.pass(1);
            if second == 20 {
                let fact = harness.stored["a0"].lease.clone().expect("it has a lease");
                harness.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, listed: true }));
            }
        }
        let doubt = harness.engine.as_ref().expect("it runs").doubt(harness.clock().mono);
        match watch_goes_on {
            true => assert_eq!((doubt, &*harness.tainted()), (None, &["a4"][..])),
            false => assert_eq!((doubt, &*harness.tainted()), (Some(ObservationDoubt::WatchLost), &[][..])),
        }
    }
}

/// A relist is aborted half-way, sooner or later, and the watch continues where it was: its events count again. A node
/// that died meanwhile is tainted: in time if the list was not a gap, else a whole grace period after it. No node that
/// the aborted list did not show counts as gone.
#[test]
fn after_an_aborted_list_the_watch_counts_again() {
    for stream in [WatchedKind::Leases, WatchedKind::Nodes] {
        for (length, lost_first) in [(0, true), (0, false), (10, true), (30, true), (30, false)] {
            let mut harness = NodeLifecycleHarness::new(&[("a", 5)]);
            harness.kill(&["a4"]);
            let since = harness.clock().mono;
            harness.submit(list_started(stream, Some(since)));
            let lease = harness.stored["a0"].lease.clone().expect("it has a lease");
            let node = harness.stored["a0"].node.clone();
            harness.submit(match stream {
                WatchedKind::Leases => {
                    NodeLifecycleInput::Leases(ObjectEvent::Applied { fact: lease, listed: true })
                }
                _ => NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact: node, listed: true }),
            });
            harness.pass(length);
            // The streams' health and their events arrive on different paths.
            let mut reported = [
                NodeLifecycleInput::StreamLost { stream, since },
                NodeLifecycleInput::StreamRecovered { stream },
                list_aborted(stream),
            ];
            reported.rotate_right(usize::from(!lost_first));
            reported.into_iter().for_each(|input| harness.submit(input));
            let about = (stream, length, lost_first);
            assert_eq!(
                harness.engine.as_ref().expect("it runs").doubt(harness.clock().mono),
                None,
                "{about:?}"
            );
            if length > 12 && stream == WatchedKind::Leases {
                harness.pass(49);
                assert_eq!(harness.commits, [], "{about:?}");
                harness.pass(13);
            } else {
                harness.pass(62 - length);
            }
            assert_eq!(harness.tainted(), ["a4"], "{about:?}");
            assert_eq!(harness.engine.as_ref().expect("it runs").stats().nodes, 5, "{about:?}");
        }
    }
}

/// The first list is aborted: nothing is known about the remaining nodes, and no node is judged by it.
#[test]
fn an_aborted_first_list_does_not_count() {
    let mut harness = NodeLifecycleHarness::unsettled(&[("a", 3)], NodeLifecycleFlags::default());
    harness.engine = Some(MonitoredEngine::new(NodeLifecycleEngine::new(NodeLifecycleConfig::default())));
    harness.submit(NodeLifecycleInput::Nodes(ObjectEvent::ListStarted { silent_since: None }));
    harness.submit(NodeLifecycleInput::Nodes(ObjectEvent::ListCompleted));
    harness.submit(NodeLifecycleInput::Leases(ObjectEvent::ListStarted { silent_since: None }));
    harness.submit(NodeLifecycleInput::Leases(ObjectEvent::ListAborted));
    harness.submit(NodeLifecycleInput::Leases(ObjectEvent::ListCompleted));
    assert!(!harness.engine.as_ref().expect("it runs").is_synced());
    assert_eq!(
        harness.engine.as_ref().expect("it runs").doubt(harness.clock().mono),
        Some(ObservationDoubt::NotSynced)
    );
}

/// A stream that was lost for longer than the tolerance starts a whole grace period.
#[test]
fn a_lost_stream_restarts_grace_periods() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 5)]);
    harness.kill(&["a4"]);
    harness.pass(30);
    let since = harness.clock().mono;
    harness.submit(NodeLifecycleInput::StreamLost { stream: WatchedKind::Leases, since });
    harness.pass(30);
    assert_eq!(harness.commits, [], "not while it is lost");
    harness.submit(NodeLifecycleInput::StreamRecovered { stream: WatchedKind::Leases });
    harness.pass(49);
    assert_eq!(harness.commits, []);
    harness.pass(2);
    assert_eq!(harness.tainted(), ["a4"]);
}

/// An old successful request does not count.
#[test]
fn a_successful_request_from_the_future_or_the_past_proves_nothing_more() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 3)]);
    let past = Mono::from_micros(0);
    harness.submit(NodeLifecycleInput::OwnRequestSucceeded { sent: past });
    harness.submit(NodeLifecycleInput::OwnRequestSucceeded { sent: Mono::NEVER });
    harness.kill(&["a2"]);
    harness.pass(62);
    assert_eq!(
        harness.own("a2"),
        ManagedTaints::NONE.with(ManagedTaint::Unreachable).with(ManagedTaint::UnreachableNoExecute)
    );
}

/// The stream of leases is lost, and the list that follows shows only half of them: nodes that renew theirs are
/// healthy, and any dead node has a whole grace period from the list on, with a lease or without.
#[test]
fn a_lost_stream_and_a_list_without_half_of_the_leases() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 10)]);
    harness.kill(&["a4", "a5"]);
    harness.pass(30);
    let since = harness.clock().mono;
    harness.submit(NodeLifecycleInput::StreamLost { stream: WatchedKind::Leases, since });
    harness.pass(40);
    assert_eq!(harness.commits, [], "not while it is lost");
    for name in ["a0", "a1", "a2", "a3", "a4"] {
        harness.stored.get_mut(name).expect("it exists").lease = None;
    }
    harness.list(false);
    harness.pass(49);
    assert_eq!(harness.commits, []);
    harness.pass(15);
    assert_eq!(harness.tainted(), ["a4", "a5"]);
    assert!(["a0", "a1", "a2", "a3", "a9"].iter().all(|name| !is_declared(&harness, name)));
}

/// Nothing is pulled for an hour, with dead nodes, failed writes, without successful requests: there are no wakeups
/// without work.
#[test]
fn without_pulls_there_are_a_few_wakeups_in_each_period() {
    for (observing, api, failing) in [
        (false, true, false),
        (true, true, false),
        (false, false, false),
        (false, true, true),
        (true, false, true),
    ] {
        let mut harness = NodeLifecycleHarness::new(&[("a", 6), ("b", 3)]);
        harness.kill(&["a1", "a2", "b0", "b1", "b2"]);
        if failing {
            harness.faults = vec![Some(taintward_core::api_error::ApiFailure::Rejected); 1_000].into();
            harness.pass(60);
        }
        (harness.leading, harness.observing, harness.api) = (false, observing, api);
        harness.wakes = 0;
        harness.pass(3_600);
        let periods = 3_600 / 5;
        let about = (observing, api, failing);
        assert!(harness.wakes >= periods - 20 && harness.wakes < periods * 3, "{about:?}: {}", harness.wakes);
    }
}
