//! Scenarios with messages that lag and requests that take time, one danger each, both ways.

mod common;

use common::bears;
use common::cluster::{Deleted, SECOND, node_name};
use common::storm::{Storm, WINDOW};
use taintward_core::engine::{Config, Engine, Input, Notice, PodRef};
use taintward_core::fact::Standing;
use taintward_core::names::{PodName, Uid};
use taintward_core::taint::Effect;
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration::Toleration;

/// Fates of requests, as a storm's tape has them: what comes of it, and how long it takes.
const AT_ONCE: [u8; 2] = [0, 0];
const ANSWERED_LATE: [u8; 2] = [0, 240];
const COMMITTED_LATE: [u8; 2] = [0, 210];
const UNHEARD: [u8; 2] = [144, 0];
const REFUSED: [u8; 2] = [205, 0];
const CONFLICT: [u8; 2] = [180, 0];

fn storm() -> Storm {
    let mut storm = Storm::new(Config::default(), WINDOW);
    storm.cluster.put_node(0);
    storm.pass(SECOND);
    storm
}

/// A storm with one pod that has these tolerations.
fn with_pod(tolerations: Vec<Toleration>) -> Storm {
    let mut storm = storm();
    storm.cluster.put_pod(0, 0, tolerations, false);
    storm.pass(SECOND);
    storm
}

fn fates(storm: &mut Storm, fates: &[[u8; 2]]) {
    storm.tape = fates.iter().flatten().copied().collect();
}

fn taint(storm: &mut Storm, stamped: bool) -> i64 {
    storm.cluster.taint(0, "k", Effect::NoExecute, stamped);
    storm.settle();
    storm.cluster.now
}

fn untaint(storm: &mut Storm) {
    storm.cluster.untaint(0, "k");
    storm.settle();
}

fn deleted_at(storm: &Storm) -> Vec<i64> {
    storm.cluster.deleted.iter().map(|Deleted { at, .. }| *at).collect()
}

#[test]
fn l2_a_node_replaced_while_it_was_asked_about_strands_nobody() {
    for is_replaced in [true, false] {
        let mut storm = with_pod(vec![]);
        fates(&mut storm, &[ANSWERED_LATE]);
        taint(&mut storm, true);
        assert_eq!(storm.in_flight(), 1);
        match is_replaced {
            true => storm.cluster.put_node(0),
            false => storm.cluster.remove_node(0),
        }
        storm.settle();
        storm.pass(60 * SECOND);
        assert_eq!(deleted_at(&storm), []);
        assert_eq!(storm.engine.census().in_hand, 0);
        if !is_replaced {
            storm.cluster.put_node(0);
        }
        let at = taint(&mut storm, true);
        assert_eq!(deleted_at(&storm), [at]);
    }
}

#[test]
fn d5_a_late_answer_about_the_old_node_says_nothing_of_the_new_one() {
    let mut storm = with_pod(vec![]);
    // The read sees the old node; its answer arrives when the new one is known and tainted.
    fates(&mut storm, &[ANSWERED_LATE]);
    taint(&mut storm, true);
    storm.pass(SECOND);
    storm.cluster.remove_node(0);
    storm.settle();
    storm.cluster.put_node(0);
    let at = taint(&mut storm, true);
    storm.pass(60 * SECOND);
    assert_eq!(deleted_at(&storm).len(), 1);
    assert!(deleted_at(&storm)[0] >= at);
    assert_eq!(storm.engine.census().nodes, 1);
    assert_eq!(storm.engine.census().tainted_nodes, 1);
}

#[test]
fn d5_no_more_than_the_node_is_remembered_when_all_is_gone() {
    let mut storm = with_pod(vec![]);
    fates(&mut storm, &[ANSWERED_LATE]);
    taint(&mut storm, true);
    storm.cluster.remove_pod(0);
    storm.cluster.remove_node(0);
    storm.pass(60 * SECOND);
    let mut empty = Storm::new(Config::default(), WINDOW);
    empty.pass(60 * SECOND);
    assert_eq!(storm.engine, empty.engine);
}

#[test]
fn s3_a_taint_that_went_and_came_back_unheard_counts_from_its_return() {
    for stamped in [true, false] {
        for away in [SECOND / 10, 20 * SECOND] {
            let mut storm = with_pod(vec![bears("k", Some(60))]);
            taint(&mut storm, stamped);
            storm.pass(SECOND / 5);
            storm.nodes.lag = 300 * SECOND;
            untaint(&mut storm);
            storm.pass(away);
            let back = taint(&mut storm, stamped);
            // The cluster refuses whoever comes early; all of it is heard in the end.
            storm.pass(1_000 * SECOND);
            assert_eq!(deleted_at(&storm).len(), 1, "{stamped} {away}");
            assert!(deleted_at(&storm)[0] >= back + 60 * SECOND);
        }
    }
}

#[test]
fn s3_a_taint_that_went_and_came_back_in_a_gap_counts_from_its_return() {
    for stamped in [true, false] {
        for away in [SECOND / 10, 20 * SECOND] {
            let mut storm = with_pod(vec![bears("k", Some(60))]);
            taint(&mut storm, stamped);
            storm.pass(SECOND / 5);
            storm.stall();
            untaint(&mut storm);
            storm.pass(away);
            let back = taint(&mut storm, stamped);
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
fn s3_a_taint_that_went_and_came_back_while_its_node_was_unreadable_counts_from_its_return() {
    let mut storm = with_pod(vec![bears("k", Some(60))]);
    taint(&mut storm, true);
    let readable = |storm: &mut Storm, readable: bool| {
        storm.cluster.edit_node(0, |node, _| node.unreadable = !readable);
        storm.settle();
    };
    readable(&mut storm, false);
    untaint(&mut storm);
    storm.pass(20 * SECOND);
    let back = taint(&mut storm, true);
    readable(&mut storm, true);
    storm.pass(1_000 * SECOND);
    let due = back + 60 * SECOND;
    assert!(deleted_at(&storm).iter().all(|at| due <= *at && *at <= due + SECOND));
    assert_eq!(deleted_at(&storm).len(), 1);
}

#[test]
fn s4_a_list_without_a_change_moves_nothing() {
    for stamped in [true, false] {
        let mut storm = with_pod(vec![bears("k", Some(60))]);
        let start = taint(&mut storm, stamped);
        for _ in 0..5 {
            storm.pass(10 * SECOND);
            storm.list();
        }
        storm.pass(100 * SECOND);
        assert_eq!(deleted_at(&storm), [start + 60 * SECOND]);
    }
}

#[test]
fn p46_a_refresh_that_is_watched_moves_nothing_and_a_stamp_in_the_future_delays_once() {
    let mut storm = with_pod(vec![bears("k", Some(60))]);
    let start = taint(&mut storm, true);
    for _ in 0..5 {
        storm.pass(10 * SECOND);
        storm.cluster.refresh(0, "k");
        storm.settle();
        storm.pass(SECOND);
        storm.list();
    }
    storm.pass(100 * SECOND);
    assert_eq!(deleted_at(&storm), [start + 60 * SECOND]);

    let mut storm = with_pod(vec![bears("k", Some(60))]);
    storm.cluster.edit_node(0, |node, now| {
        let (key, value) = ("k".into(), "".into());
        let time_added = Some(Wall::from_secs(253_402_300_799));
        let taint = taintward_core::taint::Taint { key, value, effect: Effect::NoExecute, time_added };
        node.taints.push(common::cluster::Held { taint, since: now });
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
fn s2_who_arrives_after_the_read_is_not_deleted_by_it() {
    let mut storm = with_pod(vec![]);
    taint(&mut storm, true);
    assert_eq!(deleted_at(&storm).len(), 1);
    // Because the taint is gone, a pod comes; its event is faster than the node's (#139992).
    storm.nodes.lag = SECOND;
    storm.pass(SECOND / 10);
    untaint(&mut storm);
    storm.pass(SECOND / 10);
    storm.cluster.put_pod(1, 0, vec![], false);
    storm.settle();
    storm.pass(100 * SECOND);
    assert_eq!(deleted_at(&storm).len(), 1);
}

#[test]
fn s2_who_stopped_tolerating_after_the_read_is_not_deleted_by_it() {
    let mut storm = with_pod(vec![]);
    storm.cluster.put_pod(1, 0, vec![bears("k", None)], false);
    taint(&mut storm, true);
    assert_eq!(deleted_at(&storm).len(), 1);
    storm.nodes.lag = SECOND;
    storm.pass(SECOND / 10);
    untaint(&mut storm);
    storm.pass(SECOND / 10);
    storm.cluster.edit_pod(1, |pod| pod.fact.tolerations.clear());
    storm.settle();
    storm.pass(100 * SECOND);
    assert_eq!(deleted_at(&storm).len(), 1);
}

#[test]
fn s1_after_many_conflicts_a_pod_is_read_before_it_is_deleted_by_its_uid_alone() {
    let mut storm = with_pod(vec![]);
    // Read and mark succeed; five times a DELETE conflicts and a look succeeds; then the node cannot be read for a
    // while.
    let mut tape = vec![AT_ONCE, AT_ONCE];
    tape.extend((0..5).flat_map(|_| [CONFLICT, AT_ONCE]));
    tape.extend([REFUSED; 6]);
    fates(&mut storm, &tape);
    taint(&mut storm, true);
    while storm.tape.len() > 2 * 5 {
        storm.pass(SECOND / 100);
    }
    storm.deaf = true;
    storm.cluster.edit_pod(0, |pod| pod.fact.tolerations = vec![bears("k", None)]);
    storm.pass(600 * SECOND);
    assert_eq!(deleted_at(&storm), []);
    assert!(storm.tape.is_empty());
}

#[test]
fn s9_a_mark_that_appears_on_a_counting_pod_is_withdrawn_within_a_minute() {
    let mut storm = with_pod(vec![bears("k", Some(600))]);
    let due = taint(&mut storm, true) + 600 * SECOND;
    storm.cluster.edit_pod(0, |pod| pod.fact.marked = true);
    storm.pass(10 * SECOND);
    assert!(storm.cluster.pods[&0].fact.marked, "a request of a predecessor may still be under way");
    storm.pass(50 * SECOND);
    assert!(!storm.cluster.pods[&0].fact.marked);
    storm.pass(600 * SECOND);
    assert_eq!(deleted_at(&storm), [due]);
}

#[test]
fn s9_a_mark_is_withdrawn_although_its_node_is_unreadable() {
    let mut storm = with_pod(vec![]);
    fates(&mut storm, &[AT_ONCE, AT_ONCE, REFUSED, REFUSED, REFUSED]);
    taint(&mut storm, true);
    assert!(storm.cluster.pods[&0].fact.marked);
    storm.cluster.edit_node(0, |node, _| node.unreadable = true);
    storm.pass(60 * SECOND);
    assert!(!storm.cluster.pods[&0].fact.marked);
    assert_eq!(deleted_at(&storm), []);
}

#[test]
fn l1_a_deadline_is_kept_while_a_withdrawal_or_a_retry_waits() {
    // A mark to be withdrawn in 30 s, and a deadline that comes to lie before that.
    let mut storm = with_pod(vec![bears("k", Some(300))]);
    let start = taint(&mut storm, true);
    storm.pass(10 * SECOND);
    storm.cluster.edit_pod(0, |pod| pod.fact.marked = true);
    storm.pass(SECOND);
    storm.cluster.edit_pod(0, |pod| pod.fact.tolerations = vec![bears("k", Some(20))]);
    storm.pass(100 * SECOND);
    assert_eq!(deleted_at(&storm), [start + 20 * SECOND]);

    // A refused eviction that waits long for its next try, and then has a deadline again.
    let mut storm = with_pod(vec![]);
    let mut tape = vec![AT_ONCE];
    tape.extend([REFUSED; 60]);
    fates(&mut storm, &tape);
    let start = taint(&mut storm, true);
    storm.pass(30 * SECOND);
    assert_eq!(deleted_at(&storm), []);
    storm.cluster.edit_pod(0, |pod| pod.fact.tolerations = vec![bears("k", Some(33))]);
    storm.settle();
    assert_eq!(storm.engine.census().counting, 1);
    storm.tape.clear();
    storm.pass(100 * SECOND);
    let at = deleted_at(&storm);
    assert!(at.len() == 1 && at[0] >= start + 33 * SECOND, "{at:?}");
}

#[test]
fn s10_a_delete_whose_answer_was_lost_is_not_sent_again() {
    let mut storm = storm();
    storm.cluster.put_pod(0, 0, vec![], true);
    storm.settle();
    storm.pods.lag = 500 * SECOND;
    fates(&mut storm, &[AT_ONCE, AT_ONCE, UNHEARD]);
    taint(&mut storm, true);
    storm.pass(1_000 * SECOND);
    assert_eq!(deleted_at(&storm).len(), 1);
    assert_eq!(storm.cluster.pods[&0].fact.standing, Standing::Terminating);
}

#[test]
fn p39_our_own_mark_whose_answer_was_lost_is_not_taken_for_somebody_elses() {
    let mut engine = Engine::new(Config::default());
    let now =
        |seconds| Now { mono: Mono::from_secs(seconds), wall: Wall::from_secs(1_800_000_000 + seconds) };
    let mut storm = with_pod(vec![]);
    storm.cluster.taint(0, "k", Effect::NoExecute, true);
    for input in [Input::NodesBegin { silent_since: None }, Input::NodesEnd] {
        engine.handle(input, now(0));
    }
    for input in [Input::PodsBegin { silent_since: None }, Input::PodsEnd] {
        engine.handle(input, now(0));
    }
    let fact = storm.cluster.pods[&0].fact.clone();
    let pod = PodRef { node: fact.node.clone(), uid: fact.uid.clone() };
    engine.handle(storm.cluster.node_told(0, false), now(1));
    engine.handle(storm.cluster.pod_told(0, false), now(1));
    let lane = taintward_core::engine::Lane::All;
    assert!(engine.next(lane, now(1)).is_some());
    let result = Ok(storm.cluster.read_node(&node_name(0)));
    engine.handle(Input::Confirmed { node: node_name(0), sent: now(1).mono, result }, now(1));
    assert!(matches!(engine.next(lane, now(1)), Some(taintward_core::engine::Effect::Mark { .. })));
    let lost = Err(taintward_core::effect::Failure::Unavailable);
    engine.handle(Input::Marked { pod: pod.clone(), result: lost }, now(1));
    storm.cluster.set_mark(&pod, &PodName::new("default", "p0"), None, true).expect("it is there");
    engine.handle(storm.cluster.pod_told(0, false), now(1));
    assert!(!engine.notices().iter().any(|notice| matches!(notice, Notice::ForeignMark { .. })));
}

#[test]
fn nothing_wakes_before_the_first_lists_are_complete() {
    let mut engine = Engine::new(Config::default());
    let mut storm = with_pod(vec![]);
    storm.cluster.edit_pod(0, |pod| pod.fact.marked = true);
    let at = |seconds| Now { mono: Mono::from_secs(seconds), wall: Wall::from_secs(1_800_000_000 + seconds) };
    engine.handle(Input::PodsBegin { silent_since: None }, at(0));
    engine.handle(storm.cluster.pod_told(0, true), at(0));
    assert_eq!(engine.wake_at(), None);
    for input in [Input::PodsEnd, Input::NodesBegin { silent_since: None }, Input::NodesEnd] {
        engine.handle(input, at(1));
    }
    assert_eq!(engine.wake_at(), Some(Mono::from_secs(30)), "the mark is to be withdrawn");
}

#[test]
fn late_events_of_a_node_replaced_since_change_nothing() {
    let mut storm = with_pod(vec![]);
    let old = storm.cluster.node_told(0, false);
    storm.cluster.put_node(0);
    storm.settle();
    let before = storm.engine.clone();
    let clock = storm.cluster.clock();
    storm.engine.handle(old, clock);
    assert_eq!(storm.engine, before);
    let uid = Some(Uid::new("another"));
    storm.engine.handle(Input::NodeGone { name: node_name(0), uid }, clock);
    assert_eq!(storm.engine, before);
}

#[test]
fn a_list_older_than_a_live_read_takes_its_confirmation_away() {
    let mut storm = storm();
    for id in 0..2 {
        storm.cluster.put_pod(id, 0, vec![bears("k", Some(60 + i64::from(id)))], false);
    }
    let start = taint(&mut storm, true);
    // A list is read with the taint on, and takes long; the taint goes.
    storm.pass(50 * SECOND);
    storm.nodes.lag = 11 * SECOND;
    storm.list();
    storm.pass(SECOND);
    untaint(&mut storm);
    // At 60 s the live read knows it; at 61 s the list says otherwise.
    storm.pass(start + 200 * SECOND - storm.cluster.now);
    assert_eq!(deleted_at(&storm), []);
}

#[test]
fn a_ticket_from_before_a_pod_was_gone_and_told_of_again_sends_nothing_twice() {
    let mut storm = with_pod(vec![]);
    fates(&mut storm, &[COMMITTED_LATE]);
    taint(&mut storm, true);
    // It is parked behind the read of its node; a stale message brings it back with another rank.
    let told = storm.cluster.pod_told(0, false);
    let fact = storm.cluster.pods[&0].fact.clone();
    let clock = storm.cluster.clock();
    let pod = PodRef { node: fact.node.clone(), uid: fact.uid.clone() };
    storm.engine.handle(Input::PodGone { pod }, clock);
    let Input::Pod { mut fact, listed } = told else { panic!("it is readable") };
    fact.priority = 1_000;
    storm.engine.handle(Input::Pod { fact, listed }, clock);
    // The storm refuses two requests for one pod at a time.
    fates(&mut storm, &[COMMITTED_LATE; 4]);
    storm.settle();
    storm.pass(60 * SECOND);
    assert_eq!(deleted_at(&storm).len(), 1);
}
