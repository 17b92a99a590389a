//! Tests which nodes count, and until when.

use super::*;
use crate::taint_start::TaintStart;
use crate::testkit::taint;
use alloc::string::ToString;
use alloc::vec;

const LIVE: TaintStartSource = TaintStartSource::SeenLive;
const FOUND: TaintStartSource = TaintStartSource::TimeAdded;

fn at(seconds: i64) -> Mono {
    Mono::from_secs(seconds)
}

fn numbered(of: usize) -> NodeName {
    NodeName::new(&of.to_string())
}

fn on(of: usize, uid: &str) -> PodRef {
    PodRef { node: numbered(of), uid: Uid::new(uid) }
}

fn tainted(key: &str, since: i64, source: TaintStartSource) -> TaintInstance {
    TaintInstance { taint: taint(key), start: TaintStart { at: at(since), source, clamped: false } }
}

/// A brake that knows ten nodes without taints.
fn brake(nodes: Option<u32>, percent: Option<u8>) -> Brake {
    let mut brake = Brake::new(NodeLimit { nodes, percent });
    (0..10).for_each(|of| brake.follow_node(&numbered(of), false, Some(&[]), at(0)));
    brake
}

fn observe(brake: &mut Brake, of: usize, taints: &[TaintInstance], now: i64) {
    brake.follow_node(&numbered(of), true, Some(taints), at(now));
}

fn count(brake: &Brake, key: &str) -> usize {
    brake.count_of(key).nodes
}

#[test]
fn a_node_counts_while_pods_are_due_and_five_minutes_after_the_last_became_due() {
    let mut brake = brake(Some(1), None);
    observe(&mut brake, 0, &[tainted("k", 10, LIVE)], 10);
    assert_eq!(count(&brake, "k"), 0, "a taint that evicts nothing");
    brake.set_due(&on(0, "a"), &[("k", at(10))], at(10));
    brake.set_due(&on(0, "b"), &[("k", at(100))], at(100));
    assert_eq!((count(&brake, "k"), brake.next_timer()), (1, Some(at(400))));
    brake.set_due(&on(0, "a"), &[], at(110));
    brake.pass_time(at(500));
    assert_eq!((count(&brake, "k"), brake.next_timer()), (1, None), "a pod is due");
    brake.set_due(&on(0, "b"), &[], at(510));
    assert_eq!(count(&brake, "k"), 0);
    brake.set_due(&on(0, "c"), &[("k", at(600))], at(600));
    brake.set_due(&on(0, "c"), &[], at(610));
    brake.pass_time(at(899));
    assert_eq!(count(&brake, "k"), 1);
    brake.pass_time(at(900));
    assert_eq!(count(&brake, "k"), 0);
    assert_eq!(brake.keys_of.len() + brake.keys.len() + brake.timers.len(), 0, "nothing is left");
}

#[test]
fn a_node_counts_until_the_last_of_its_pods_is_not_due_any_more() {
    let mut brake = brake(Some(1), None);
    observe(&mut brake, 0, &[tainted("k", 0, LIVE)], 0);
    brake.set_due(&on(0, "a"), &[("k", at(200))], at(200));
    brake.set_due(&on(0, "b"), &[("k", at(100))], at(210));
    assert_eq!(brake.next_timer(), Some(at(500)), "an earlier moment shortens nothing");
    brake.pass_time(at(500));
    brake.set_due(&on(0, "unknown"), &[], at(501));
    brake.set_due(&on(0, "a"), &[], at(501));
    assert_eq!(count(&brake, "k"), 1, "another pod is due");
    brake.set_due(&on(0, "b"), &[], at(502));
    assert_eq!(count(&brake, "k"), 0);
}

#[test]
fn a_taint_that_was_found_counts_while_it_is_young() {
    let mut brake = brake(Some(1), None);
    observe(&mut brake, 0, &[tainted("k", 10, FOUND), tainted("old", -300, FOUND)], 0);
    observe(&mut brake, 0, &[tainted("k", 10, FOUND), tainted("old", -300, FOUND)], 5);
    assert_eq!((count(&brake, "k"), count(&brake, "old")), (1, 0));
    brake.pass_time(at(309));
    assert_eq!(count(&brake, "k"), 1);
    brake.pass_time(at(310));
    assert_eq!(count(&brake, "k"), 0);
}

#[test]
fn the_keys_of_dead_nodes_never_count() {
    let mut brake = brake(Some(0), None);
    for key in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/out-of-service",
    ] {
        observe(&mut brake, 0, &[tainted(key, 0, FOUND)], 0);
        brake.set_due(&on(0, "a"), &[(key, at(0))], at(0));
        assert!(!brake.is_braked(key) && count(&brake, key) == 0, "{key}");
    }
}

#[test]
fn a_pod_counts_for_each_of_its_keys_and_no_longer_for_those_it_tolerates() {
    let mut brake = brake(Some(1), None);
    observe(&mut brake, 0, &[tainted("k", 0, LIVE), tainted("l", 0, LIVE)], 0);
    brake.set_due(&on(0, "a"), &[("k", at(0)), ("l", at(0))], at(0));
    brake.pass_time(at(300));
    assert_eq!((count(&brake, "k"), count(&brake, "l")), (1, 1));
    brake.set_due(&on(0, "a"), &[("l", at(0))], at(301));
    assert_eq!((count(&brake, "k"), count(&brake, "l")), (0, 1));
    observe(&mut brake, 0, &[tainted("k", 0, LIVE)], 302);
    assert_eq!(count(&brake, "l"), 0, "a node without the taint");
}

#[test]
fn a_key_is_braked_until_few_enough_nodes_count_and_it_has_settled() {
    let mut brake = brake(None, Some(20));
    for of in 0..4 {
        observe(&mut brake, of, &[tainted("k", 0, LIVE)], 0);
        brake.set_due(&on(of, "a"), &[("k", at(0))], at(0));
        assert_eq!(brake.is_braked("k"), of > 1, "{of}");
    }
    assert!(!brake.is_braked("l"));
    brake.engage("k", &numbered(3));
    brake.engage("k", &numbered(2));
    assert_eq!((brake.take_notices().len(), brake.engaged()), (1, 1));
    observe(&mut brake, 3, &[], 100);
    observe(&mut brake, 2, &[], 110);
    brake.pass_time(at(139));
    assert!(brake.is_braked("k") && !brake.has_ended());
    brake.pass_time(at(140));
    assert!(!brake.is_braked("k") && brake.has_ended());
    assert_eq!(brake.take_released(), [numbered(0), numbered(1)].into());
    let ended = EvictionNotice::BrakeEnded { key: "k".into(), node: numbered(3), nodes: 2, limit: 2 };
    assert_eq!((brake.take_notices(), brake.engaged()), (vec![ended], 0));
}

#[test]
fn more_nodes_raise_a_percentage_and_fewer_lower_it() {
    let mut brake = brake(None, Some(20));
    (0..3).for_each(|of| brake.set_due(&on(of, "a"), &[("k", at(0))], at(0)));
    brake.engage("k", &numbered(0));
    (10..14).for_each(|of| brake.follow_node(&numbered(of), false, Some(&[]), at(1)));
    assert!(brake.is_braked("k"), "3 of 14");
    brake.follow_node(&numbered(14), false, Some(&[]), at(1));
    assert!(!brake.is_braked("k") && brake.has_ended(), "3 of 15");
    brake.follow_node(&numbered(14), true, None, at(2));
    assert!(brake.is_braked("k"));
    assert!(brake.take_released().is_empty(), "braked again");
}
