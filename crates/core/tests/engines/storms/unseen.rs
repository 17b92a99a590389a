//! Tests changes that were missed or observed late: no pod is evicted early for them or deleted by outdated knowledge.

use crate::common::cluster::{NodeTaint, SECOND, node_name};
use crate::common::storm::Storm;
use crate::storms::{deleted_at, storm, taint_node, untaint_node, with_pod};
use taintward_core::engine::Engine;
use taintward_core::eviction::EvictionInput;
use taintward_core::identity::Uid;
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::taint::TaintEffect;
use taintward_core::testkit::{taint, toleration};
use taintward_core::time::Wall;

#[test]
fn s3_a_taint_removed_and_added_again_unobserved_counts_from_its_return() {
    for stamped in [true, false] {
        for away in [SECOND / 10, 20 * SECOND] {
            let mut storm = with_pod(vec![toleration("k", Some(60))]);
            taint_node(&mut storm, stamped);
            storm.pass(SECOND / 5);
            storm.nodes.lag = 300 * SECOND;
            untaint_node(&mut storm);
            storm.pass(away);
            let back = taint_node(&mut storm, stamped);
            // The cluster panics on an early eviction; all events arrive in the end.
            storm.pass(1_000 * SECOND);
            assert_eq!(deleted_at(&storm).len(), 1, "{stamped} {away}");
            assert!(deleted_at(&storm)[0] >= back + 60 * SECOND);
        }
    }
}

/// A pod that leaves at once makes the engine read the node, within the second of the taint's start.
#[test]
fn s3_a_taint_that_another_pods_read_shows_within_the_second_of_its_start_may_be_new() {
    for stamped in [true, false] {
        let mut storm = with_pod(vec![toleration("k", Some(60))]);
        taint_node(&mut storm, stamped);
        storm.nodes.lag = SECOND;
        storm.pass(SECOND / 10);
        untaint_node(&mut storm);
        let back = taint_node(&mut storm, stamped);
        storm.cluster.put_pod(1, 0, Vec::new(), false);
        storm.settle();
        assert_eq!(deleted_at(&storm), [back], "{stamped}: the other pod leaves");
        storm.pass(1_000 * SECOND);
        assert_eq!(deleted_at(&storm)[1..], [back + 60 * SECOND], "{stamped}");
    }
}

#[test]
fn s3_without_a_known_clock_a_taint_may_be_new_within_the_second_of_its_start() {
    for stamped in [true, false] {
        let mut storm = with_pod(vec![toleration("k", Some(60))]);
        storm.cluster.skew_max = None;
        taint_node(&mut storm, stamped);
        storm.stall();
        storm.pass(SECOND / 10);
        untaint_node(&mut storm);
        let back = taint_node(&mut storm, stamped);
        storm.pass(1_000 * SECOND);
        let at = deleted_at(&storm);
        assert!(at.len() == 1 && at[0] >= back + 60 * SECOND, "{stamped}: {at:?}");
    }
}

/// The watch shows that the list of taints changes, and not yet that the taint returns in the same second.
#[test]
fn s3_a_taint_that_returns_in_the_second_of_another_change_counts_from_its_return() {
    for is_refresh in [false, true] {
        for lag in [SECOND / 10, 30 * SECOND] {
            let mut storm = with_pod(vec![toleration("k", Some(60))]);
            taint_node(&mut storm, is_refresh);
            storm.pass(20 * SECOND);
            match is_refresh {
                true => storm.cluster.refresh(0, "k"),
                false => storm.cluster.add_taint(0, "other", TaintEffect::NoSchedule, false),
            }
            storm.settle();
            storm.nodes.lag = lag;
            storm.pass(SECOND / 10);
            untaint_node(&mut storm);
            let back = taint_node(&mut storm, is_refresh);
            storm.cluster.put_pod(1, 0, Vec::new(), false);
            storm.pass(1_000 * SECOND);
            let at = deleted_at(&storm);
            assert!(
                back <= at[0] && at[0] <= back + 5 * SECOND,
                "the other pod leaves: {is_refresh} {lag}: {at:?}"
            );
            let due = back + 60 * SECOND;
            assert!(
                at.len() == 2 && due <= at[1] && at[1] <= due + SECOND,
                "{is_refresh} {lag}: {at:?} {due}"
            );
        }
    }
}

/// The same without a return: while the watch is only a little behind, nothing moves.
#[test]
fn s4_a_touched_node_that_a_read_shows_before_the_watch_moves_nothing() {
    let mut storm = with_pod(vec![toleration("k", Some(60))]);
    let start = taint_node(&mut storm, false);
    storm.pass(20 * SECOND);
    storm.cluster.add_taint(0, "other", TaintEffect::NoSchedule, false);
    storm.settle();
    storm.nodes.lag = SECOND / 10;
    storm.pass(40 * SECOND - SECOND / 20);
    storm.cluster.edit_node(0, |_, _| {});
    storm.pass(1_000 * SECOND);
    let (due, at) = (start + 60 * SECOND, deleted_at(&storm));
    assert!(at.len() == 1 && due <= at[0] && at[0] <= due + SECOND, "{at:?} {due}");
}

#[test]
fn s3_a_taint_removed_and_added_again_in_a_gap_counts_from_its_return() {
    for stamped in [true, false] {
        for away in [SECOND / 10, 20 * SECOND] {
            let mut storm = with_pod(vec![toleration("k", Some(60))]);
            taint_node(&mut storm, stamped);
            storm.pass(SECOND / 5);
            storm.stall();
            untaint_node(&mut storm);
            storm.pass(away);
            let back = taint_node(&mut storm, stamped);
            storm.pass(SECOND / 10);
            storm.list();
            storm.pass(1_000 * SECOND);
            let due = back + 60 * SECOND;
            let at = deleted_at(&storm);
            assert!(at.len() == 1 && due <= at[0] && at[0] <= due + SECOND, "{stamped} {away}: {at:?} {due}");
        }
    }
}

#[test]
fn s3_a_taint_removed_and_added_again_while_its_node_was_undecodable_counts_from_its_return() {
    let mut storm = with_pod(vec![toleration("k", Some(60))]);
    taint_node(&mut storm, true);
    let readable = |storm: &mut Storm, readable: bool| {
        storm.cluster.edit_node(0, |node, _| node.unreadable = !readable);
        storm.settle();
    };
    readable(&mut storm, false);
    untaint_node(&mut storm);
    storm.pass(20 * SECOND);
    let back = taint_node(&mut storm, true);
    readable(&mut storm, true);
    storm.pass(1_000 * SECOND);
    let due = back + 60 * SECOND;
    assert!(deleted_at(&storm).iter().all(|at| due <= *at && *at <= due + SECOND));
    assert_eq!(deleted_at(&storm).len(), 1);
}

#[test]
fn s4_a_list_without_a_change_moves_nothing() {
    for stamped in [true, false] {
        let mut storm = with_pod(vec![toleration("k", Some(60))]);
        let start = taint_node(&mut storm, stamped);
        for _ in 0..5 {
            storm.pass(10 * SECOND);
            storm.list();
        }
        storm.pass(100 * SECOND);
        assert_eq!(deleted_at(&storm), [start + 60 * SECOND]);
    }
}

#[test]
fn p46_a_watched_refresh_moves_nothing_and_a_time_in_the_future_delays_once() {
    let mut storm = with_pod(vec![toleration("k", Some(60))]);
    let start = taint_node(&mut storm, true);
    for _ in 0..5 {
        storm.pass(10 * SECOND);
        storm.cluster.refresh(0, "k");
        storm.settle();
        storm.pass(SECOND);
        storm.list();
    }
    storm.pass(100 * SECOND);
    assert_eq!(deleted_at(&storm), [start + 60 * SECOND]);

    let mut storm = with_pod(vec![toleration("k", Some(60))]);
    storm.cluster.edit_node(0, |node, now| {
        let taint = taint("k").added(Wall::from_secs(253_402_300_799));
        node.taints.push(NodeTaint { taint, since: now });
    });
    storm.restart();
    let start = storm.cluster.now;
    for _ in 0..5 {
        storm.pass(10 * SECOND);
        storm.list();
    }
    storm.pass(100 * SECOND);
    assert_eq!(deleted_at(&storm), [start + 60 * SECOND]);
}

#[test]
fn s2_a_pod_that_arrives_after_the_read_is_not_deleted_by_it() {
    let mut storm = with_pod(vec![]);
    taint_node(&mut storm, true);
    assert_eq!(deleted_at(&storm).len(), 1);
    // Because the taint is gone, a pod is bound; its event is faster than the node's (#139992).
    storm.nodes.lag = SECOND;
    storm.pass(SECOND / 10);
    untaint_node(&mut storm);
    storm.pass(SECOND / 10);
    storm.cluster.put_pod(1, 0, vec![], false);
    storm.settle();
    storm.pass(100 * SECOND);
    assert_eq!(deleted_at(&storm).len(), 1);
}

#[test]
fn s2_a_pod_that_stopped_tolerating_after_the_read_is_not_deleted_by_it() {
    let mut storm = with_pod(vec![]);
    storm.cluster.put_pod(1, 0, vec![toleration("k", None)], false);
    taint_node(&mut storm, true);
    assert_eq!(deleted_at(&storm).len(), 1);
    storm.nodes.lag = SECOND;
    storm.pass(SECOND / 10);
    untaint_node(&mut storm);
    storm.pass(SECOND / 10);
    storm.cluster.edit_pod(1, |pod| pod.fact.tolerations.clear());
    storm.settle();
    storm.pass(100 * SECOND);
    assert_eq!(deleted_at(&storm).len(), 1);
}

#[test]
fn late_events_of_a_node_replaced_since_change_nothing() {
    let mut storm = with_pod(vec![]);
    let old = storm.cluster.node_sent(0, false);
    storm.cluster.put_node(0);
    storm.settle();
    let before = storm.engine.clone();
    let clock = storm.cluster.clock();
    storm.engine.handle(old, clock);
    assert_eq!(storm.engine, before);
    let uid = Some(Uid::new("another"));
    storm
        .engine
        .handle(EvictionInput::Nodes(ObjectEvent::Deleted(ObjectRef::node(&node_name(0), uid))), clock);
    assert_eq!(storm.engine, before);
}

#[test]
fn a_list_older_than_a_live_read_invalidates_its_confirmation() {
    let mut storm = storm();
    for id in 0..2 {
        storm.cluster.put_pod(id, 0, vec![toleration("k", Some(60 + i64::from(id)))], false);
    }
    let start = taint_node(&mut storm, true);
    // A list is read with the taint on, and takes long; the taint is removed.
    storm.pass(50 * SECOND);
    storm.nodes.lag = 11 * SECOND;
    storm.list();
    storm.pass(SECOND);
    untaint_node(&mut storm);
    // At 60 s the live read shows it; at 61 s the list says otherwise.
    storm.pass(start + 200 * SECOND - storm.cluster.now);
    assert_eq!(deleted_at(&storm), []);
}
