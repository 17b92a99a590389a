//! Tests requests that fail, take long or lose their responses: no pod is forgotten, left marked or deleted twice.

use crate::common::cluster::{SECOND, node_name};
use crate::common::storm::{Storm, WINDOW};
use crate::storms::{
    AT_ONCE, COMMITTED_LATE, CONFLICT, REJECTED, RESPONDED_LATE, UNDER_WAY, UNHEARD, deleted_at, fates,
    storm, taint_node, with_pod,
};
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionConfig, EvictionEngine, EvictionInput, EvictionNotice};
use taintward_core::fact::PodLifePhase;
use taintward_core::identity::PodName;
use taintward_core::identity::PodRef;
use taintward_core::object_event::ObjectEvent;
use taintward_core::taint::TaintEffect;
use taintward_core::testkit::toleration;
use taintward_core::time::{Mono, Now, Wall};

#[test]
fn l2_a_node_replaced_while_it_is_read_strands_no_pod() {
    for is_replaced in [true, false] {
        let mut storm = with_pod(vec![]);
        fates(&mut storm, &[RESPONDED_LATE]);
        taint_node(&mut storm, true);
        assert_eq!(storm.in_flight(), 1);
        match is_replaced {
            true => storm.cluster.put_node(0),
            false => storm.cluster.remove_node(0),
        }
        storm.settle();
        storm.pass(60 * SECOND);
        assert_eq!(deleted_at(&storm), []);
        assert_eq!(storm.engine.stats().in_hand, 0);
        if !is_replaced {
            storm.cluster.put_node(0);
        }
        let at = taint_node(&mut storm, true);
        assert_eq!(deleted_at(&storm), [at]);
    }
}

#[test]
fn d5_a_late_response_about_the_old_node_proves_nothing_about_the_new_one() {
    let mut storm = with_pod(vec![]);
    // The read returns the old node; its response arrives when the new one is known and tainted.
    fates(&mut storm, &[RESPONDED_LATE]);
    taint_node(&mut storm, true);
    storm.pass(SECOND);
    storm.cluster.remove_node(0);
    storm.settle();
    storm.cluster.put_node(0);
    let at = taint_node(&mut storm, true);
    storm.pass(60 * SECOND);
    assert_eq!(deleted_at(&storm).len(), 1);
    assert!(deleted_at(&storm)[0] >= at);
    assert_eq!(storm.engine.stats().nodes, 1);
    assert_eq!(storm.engine.stats().tainted_nodes, 1);
}

#[test]
fn d5_only_the_node_is_stored_when_all_pods_are_gone() {
    let mut storm = with_pod(vec![]);
    fates(&mut storm, &[RESPONDED_LATE]);
    taint_node(&mut storm, true);
    storm.cluster.remove_pod(0);
    storm.cluster.remove_node(0);
    storm.pass(60 * SECOND);
    let mut empty = Storm::new(EvictionConfig::default(), WINDOW);
    empty.pass(60 * SECOND);
    assert_eq!(storm.engine, empty.engine);
}

#[test]
fn s1_after_many_conflicts_a_pod_is_read_before_it_is_deleted_by_its_uid_alone() {
    let mut storm = with_pod(vec![]);
    // Read and mark succeed; five times a DELETE conflicts and a read succeeds; then the node cannot be read for a
    // while.
    let mut tape = vec![AT_ONCE, AT_ONCE];
    tape.extend((0..5).flat_map(|_| [CONFLICT, AT_ONCE]));
    tape.extend([REJECTED; 6]);
    fates(&mut storm, &tape);
    taint_node(&mut storm, true);
    for _ in 0..1_000 {
        if storm.tape.len() > 2 * 5 {
            storm.pass(SECOND / 100);
        }
    }
    storm.deaf = true;
    storm.cluster.edit_pod(0, |pod| pod.fact.tolerations = vec![toleration("k", None)]);
    storm.pass(600 * SECOND);
    assert_eq!(deleted_at(&storm), []);
    assert!(storm.tape.is_empty());
}

#[test]
fn s9_a_mark_that_appears_on_a_counting_pod_is_removed_within_a_minute() {
    let mut storm = with_pod(vec![toleration("k", Some(600))]);
    let due = taint_node(&mut storm, true) + 600 * SECOND;
    storm.cluster.edit_pod(0, |pod| pod.fact.marked = true);
    storm.pass(10 * SECOND);
    assert!(storm.cluster.pods[&0].fact.marked, "a request of the previous process may still be in flight");
    storm.pass(50 * SECOND);
    assert!(!storm.cluster.pods[&0].fact.marked);
    storm.pass(600 * SECOND);
    assert_eq!(deleted_at(&storm), [due]);
}

#[test]
fn s9_a_mark_is_removed_although_its_node_is_undecodable() {
    let mut storm = with_pod(vec![]);
    fates(&mut storm, &[AT_ONCE, AT_ONCE, REJECTED, REJECTED, REJECTED]);
    taint_node(&mut storm, true);
    assert!(storm.cluster.pods[&0].fact.marked);
    storm.cluster.edit_node(0, |node, _| node.unreadable = true);
    storm.pass(60 * SECOND);
    assert!(!storm.cluster.pods[&0].fact.marked);
    assert_eq!(deleted_at(&storm), []);
}

#[test]
fn l1_a_deadline_is_kept_while_a_withdrawal_or_a_retry_waits() {
    // A mark to be removed in 30 s, and a deadline that moves before that.
    let mut storm = with_pod(vec![toleration("k", Some(300))]);
    let start = taint_node(&mut storm, true);
    storm.pass(10 * SECOND);
    storm.cluster.edit_pod(0, |pod| pod.fact.marked = true);
    storm.pass(SECOND);
    storm.cluster.edit_pod(0, |pod| pod.fact.tolerations = vec![toleration("k", Some(20))]);
    storm.pass(100 * SECOND);
    assert_eq!(deleted_at(&storm), [start + 20 * SECOND]);

    // A rejected eviction that waits long for its retry, and then has a deadline again.
    let mut storm = with_pod(vec![]);
    let mut tape = vec![AT_ONCE];
    tape.extend([REJECTED; 60]);
    fates(&mut storm, &tape);
    let start = taint_node(&mut storm, true);
    storm.pass(30 * SECOND);
    assert_eq!(deleted_at(&storm), []);
    storm.cluster.edit_pod(0, |pod| pod.fact.tolerations = vec![toleration("k", Some(33))]);
    storm.settle();
    assert_eq!(storm.engine.stats().counting, 1);
    storm.tape.clear();
    storm.pass(100 * SECOND);
    let at = deleted_at(&storm);
    assert!(at.len() == 1 && at[0] >= start + 33 * SECOND, "{at:?}");
}

#[test]
fn s10_a_delete_whose_response_was_lost_is_not_sent_again() {
    let mut storm = storm();
    storm.cluster.put_pod(0, 0, vec![], true);
    storm.settle();
    storm.pods.lag = 500 * SECOND;
    fates(&mut storm, &[AT_ONCE, AT_ONCE, UNHEARD]);
    taint_node(&mut storm, true);
    storm.pass(1_000 * SECOND);
    assert_eq!(deleted_at(&storm).len(), 1);
    assert_eq!(storm.cluster.pods[&0].fact.life_phase, PodLifePhase::Terminating);
}

#[test]
fn s10_a_rejected_read_of_a_pod_is_no_read_of_it() {
    let mut storm = storm();
    storm.cluster.put_pod(0, 0, vec![], true);
    storm.settle();
    storm.pods.lag = 500 * SECOND;
    // After five conflicts the node is read again, and the DELETE has no version as precondition. Its response is lost, then a read is rejected.
    let mut tape = vec![AT_ONCE, AT_ONCE];
    tape.extend((0..5).flat_map(|_| [CONFLICT, AT_ONCE]));
    tape.extend([AT_ONCE, UNHEARD, REJECTED]);
    fates(&mut storm, &tape);
    taint_node(&mut storm, true);
    storm.pass(1_000 * SECOND);
    assert!(storm.tape.is_empty());
    assert_eq!(deleted_at(&storm).len(), 1);
    assert_eq!(storm.cluster.pods[&0].fact.life_phase, PodLifePhase::Terminating);
}

#[test]
fn s10_each_delete_by_uid_alone_has_a_read_of_its_own() {
    let mut storm = storm();
    storm.cluster.put_pod(0, 0, vec![], false);
    storm.settle();
    storm.pods.lag = 500 * SECOND;
    let mut tape = vec![AT_ONCE, AT_ONCE];
    tape.extend((0..5).flat_map(|_| [CONFLICT, AT_ONCE]));
    // The storm demands a read before each DELETE without a version, also after one that was rejected.
    tape.extend([AT_ONCE, REJECTED]);
    fates(&mut storm, &tape);
    taint_node(&mut storm, true);
    storm.pass(1_000 * SECOND);
    assert!(storm.tape.is_empty());
    assert_eq!(deleted_at(&storm).len(), 1);
}

#[test]
fn p39_an_own_mark_whose_response_was_lost_is_not_mistaken_for_anothers() {
    let mut engine = EvictionEngine::new(EvictionConfig::default());
    let now = |seconds| Now::exact(Mono::from_secs(seconds), Wall::from_secs(1_800_000_000 + seconds));
    let mut storm = with_pod(vec![]);
    storm.cluster.add_taint(0, "k", TaintEffect::NoExecute, true);
    for input in [
        EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }),
        EvictionInput::Nodes(ObjectEvent::ListCompleted),
    ] {
        engine.handle(input, now(0));
    }
    for input in [
        EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }),
        EvictionInput::Pods(ObjectEvent::ListCompleted),
    ] {
        engine.handle(input, now(0));
    }
    let fact = storm.cluster.pods[&0].fact.clone();
    let pod = PodRef { node: fact.node.clone(), uid: fact.id.uid().clone() };
    engine.handle(storm.cluster.node_sent(0, false), now(1));
    engine.handle(storm.cluster.pod_sent(0, false), now(1));
    let lane = taintward_core::engine::Lane::All;
    assert!(engine.next_effect(lane, now(1)).is_some());
    let result = Ok(storm.cluster.read_node(&node_name(0)));
    engine.handle(EvictionInput::NodeConfirmed { node: node_name(0), sent: now(1).mono, result }, now(1));
    assert!(matches!(
        engine.next_effect(lane, now(1)),
        Some(taintward_core::eviction::EvictionEffect::SetDisruptionTarget { .. })
    ));
    let lost = Err(taintward_core::api_error::ApiFailure::Unavailable);
    engine.handle(EvictionInput::Marked { pod: pod.clone(), result: lost }, now(1));
    storm.cluster.set_mark(&pod, &PodName::new("default", "p0"), None, true).expect("the pod exists");
    engine.handle(storm.cluster.pod_sent(0, false), now(1));
    assert!(
        !engine
            .take_notices()
            .iter()
            .any(|notice| matches!(notice, EvictionNotice::OtherControllerDetected { .. }))
    );
}

#[test]
fn nothing_wakes_before_the_first_lists_are_complete() {
    let mut engine = EvictionEngine::new(EvictionConfig::default());
    let mut storm = with_pod(vec![]);
    storm.cluster.edit_pod(0, |pod| pod.fact.marked = true);
    let at = |seconds| Now::exact(Mono::from_secs(seconds), Wall::from_secs(1_800_000_000 + seconds));
    engine.handle(EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }), at(0));
    engine.handle(storm.cluster.pod_sent(0, true), at(0));
    assert_eq!(engine.next_wakeup(), None);
    for input in [
        EvictionInput::Pods(ObjectEvent::ListCompleted),
        EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }),
        EvictionInput::Nodes(ObjectEvent::ListCompleted),
    ] {
        engine.handle(input, at(1));
    }
    assert_eq!(engine.next_wakeup(), Some(Mono::from_secs(30)), "the mark has to be removed");
}

#[test]
fn a_queue_key_from_before_a_pod_was_gone_and_appeared_again_sends_nothing_twice() {
    let mut storm = with_pod(vec![]);
    fates(&mut storm, &[COMMITTED_LATE]);
    taint_node(&mut storm, true);
    // It is parked behind the read of its node; a stale event returns it with another order.
    let reported = storm.cluster.pod_sent(0, false);
    let fact = storm.cluster.pods[&0].fact.clone();
    let clock = storm.cluster.clock();
    let pod = PodRef { node: fact.node.clone(), uid: fact.id.uid().clone() };
    storm.engine.handle(EvictionInput::Pods(ObjectEvent::Deleted(pod.into())), clock);
    let EvictionInput::Pods(ObjectEvent::Applied { mut fact, listed }) = reported else {
        panic!("it is decodable")
    };
    fact.priority = 1_000;
    storm.engine.handle(EvictionInput::Pods(ObjectEvent::Applied { fact, listed }), clock);
    // The storm panics on two concurrent requests for one pod.
    fates(&mut storm, &[COMMITTED_LATE; 4]);
    storm.settle();
    storm.pass(60 * SECOND);
    assert_eq!(deleted_at(&storm).len(), 1);
}

#[test]
fn d3_a_mark_that_cannot_be_removed_is_retried_only_after_pauses() {
    let mut storm = with_pod(vec![]);
    // The DELETE is in flight when the pod is replaced unobserved by one that cannot be decoded: patches of it
    // conflict.
    fates(&mut storm, &[AT_ONCE, AT_ONCE, UNDER_WAY]);
    taint_node(&mut storm, false);
    storm.deaf = true;
    storm.cluster.put_node(1);
    storm.cluster.put_pod(0, 1, vec![], false);
    storm.cluster.edit_pod(0, |pod| pod.unreadable = true);
    // The storm panics on effects without a pause between them.
    storm.pass(120 * SECOND);
    assert_eq!(deleted_at(&storm), []);
}
