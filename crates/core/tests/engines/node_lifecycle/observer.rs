//! Tests an observer: it reports once what would be done and when, and writes nothing.

use crate::node_lifecycle::harness::{NodeLifecycleHarness, SECOND};
use taintward_core::node_lifecycle::{
    ConditionStatus, ManagedTaint, ManagedTaints, NodeLifecycleInput, NodeLifecycleNotice, TaintCause,
};
use taintward_core::testkit::taint;

fn observer(zones: &[(&str, usize)]) -> NodeLifecycleHarness {
    let mut harness = NodeLifecycleHarness::new(zones);
    (harness.leading, harness.observing) = (false, true);
    harness.notices.clear();
    harness
}

/// Which taints would be added and removed, on which node and why.
fn would(harness: &NodeLifecycleHarness) -> Vec<(String, ManagedTaints, ManagedTaints, TaintCause)> {
    let reported = harness.notices.iter().filter_map(|(_, notice)| match notice {
        NodeLifecycleNotice::WouldTaint { node, add, remove, why, .. } => {
            Some((node.name.as_str().to_owned(), *add, *remove, *why))
        }
        _ => None,
    });
    reported.collect()
}

/// When nodes would be tainted NoExecute.
fn away(harness: &NodeLifecycleHarness) -> Vec<(String, f64)> {
    let reported = harness.notices.iter().filter_map(|(at, notice)| match notice {
        NodeLifecycleNotice::WouldTaint { node, add, .. } if !add.no_execute().is_empty() => {
            Some((node.name.as_str().to_owned(), *at as f64 / SECOND as f64))
        }
        _ => None,
    });
    reported.collect()
}

fn declared(harness: &NodeLifecycleHarness) -> usize {
    harness
        .notices
        .iter()
        .filter(|(_, notice)| matches!(notice, NodeLifecycleNotice::WouldDeclare { .. }))
        .count()
}

const ONE: ManagedTaints = ManagedTaints::NONE;

/// S6, NL-22: nodes would be tainted when a leader would taint them: each once, one in ten seconds.
#[test]
fn each_node_is_reported_once_and_at_the_moment_it_would_be_tainted() {
    let dead = ["a1", "a2", "a3"];
    let mut harness = observer(&[("a", 8), ("b", 2)]);
    let mut acting = harness.clone();
    (acting.leading, acting.observing) = (true, false);
    for harness in [&mut harness, &mut acting] {
        harness.kill(&dead);
        harness.set_ready("b0", false);
        harness.pass(300);
    }
    let reported = away(&harness);
    assert_eq!(reported.len(), 4, "{reported:?}");
    for (name, at) in &reported {
        let done = [ManagedTaint::UnreachableNoExecute, ManagedTaint::NotReadyNoExecute];
        let done = done.into_iter().find_map(|taint| acting.when(name, taint));
        assert_eq!(done, Some(*at), "{name}");
    }
    assert_eq!((declared(&harness), harness.commits.len(), harness.reads), (3, 0, 0));
    let silent = would(&harness).into_iter().find(|(name, ..)| name == "a1").expect("it was reported");
    assert_eq!((silent.1, silent.2), (ONE.with(ManagedTaint::Unreachable), ONE));
    let whys: Vec<_> =
        would(&harness).into_iter().filter(|reported| !reported.1.no_execute().is_empty()).collect();
    assert!(whys.iter().all(|(name, .., why)| (name == "b0") == (*why == TaintCause::NotReady)), "{whys:?}");
}

/// A node that recovers is reported again when there is a reason again; simulated writes do not have to be reverted.
#[test]
fn a_reason_that_disappears_and_returns_is_reported_again() {
    let mut harness = observer(&[("a", 8)]);
    harness.kill(&["a1"]);
    harness.pass(70);
    assert_eq!((declared(&harness), away(&harness).len(), would(&harness).len()), (1, 1, 2));
    harness.revive(&["a1"]);
    harness.pass(100);
    assert_eq!((declared(&harness), would(&harness).len()), (1, 2), "there was nothing to remove");
    harness.kill(&["a1"]);
    harness.pass(70);
    assert_eq!((declared(&harness), away(&harness).len(), would(&harness).len()), (2, 2, 4));
}

/// NL-9: conditions and cordons are reported immediately and once each time; a label that would be written delays
/// nothing, and neither does a pod.
#[test]
fn changes_without_a_wait_are_reported_immediately() {
    let mut harness = observer(&[("a", 4)]);
    harness.bind("p", "a1");
    for round in 1..4 {
        harness.edit("a1", |node| {
            node.unschedulable = true;
            node.platform.os = Some("linux".into());
        });
        harness.pass(20);
        let cordoned = ("a1".to_string(), ONE.with(ManagedTaint::Unschedulable), ONE, TaintCause::Conditions);
        assert_eq!(would(&harness), vec![cordoned; round]);
        harness.edit("a1", |node| node.unschedulable = false);
        harness.pass(20);
    }
    harness.notices.clear();
    harness.set_ready("a1", false);
    harness.pass(30);
    let reported = would(&harness);
    assert_eq!(reported.len(), 2, "{reported:?}");
    assert_eq!(reported[0].1, ONE.with(ManagedTaint::NotReady));
    assert_eq!(reported[1].1, ONE.with(ManagedTaint::NotReadyNoExecute));
}

/// Alongside an active controller, it reports what that one did not do.
#[test]
fn writes_of_other_clients_take_precedence_over_simulated_ones() {
    let mut harness = observer(&[("a", 8)]);
    let write = |harness: &mut NodeLifecycleHarness, taints: &[ManagedTaint]| {
        harness.edit("a1", |node| {
            node.taints = taints.iter().map(|own| taint(&own.to_string())).collect();
            node.conditions[0].status = ConditionStatus::False;
        });
    };
    harness.kubelets.get_mut("a1").expect("it exists").ready = false;
    write(&mut harness, &[ManagedTaint::NotReady, ManagedTaint::NotReadyNoExecute]);
    harness.pass(60);
    assert_eq!(would(&harness), [], "the other controller was faster");
    // The other controller removes a taint that should be there, and adds one that should not.
    write(&mut harness, &[ManagedTaint::NotReady, ManagedTaint::Unschedulable]);
    harness.pass(60);
    let reported: Vec<_> = would(&harness).into_iter().map(|(_, add, remove, _)| (add, remove)).collect();
    let put_on = (ONE.with(ManagedTaint::NotReadyNoExecute), ONE);
    assert_eq!(reported, [(ONE, ONE.with(ManagedTaint::Unschedulable)), put_on]);
    // The node is as it should be; and then again not.
    write(&mut harness, &[ManagedTaint::NotReady, ManagedTaint::NotReadyNoExecute]);
    harness.pass(60);
    write(&mut harness, &[ManagedTaint::NotReady]);
    harness.pass(60);
    assert_eq!(away(&harness).len(), 2);
    // The other taint is added and removed repeatedly: each time the wrong one is reported, and nothing else.
    for round in 2..5 {
        write(&mut harness, &[ManagedTaint::NotReady, ManagedTaint::Unschedulable]);
        harness.pass(60);
        write(&mut harness, &[ManagedTaint::NotReady]);
        harness.pass(60);
        let off =
            would(&harness).iter().filter(|reported| reported.2.has(ManagedTaint::Unschedulable)).count();
        assert_eq!((off, away(&harness).len()), (round, 2));
    }
}

/// NL-26: a fully disrupted zone: for an observer, nodes that would be declared silent count as declared.
#[test]
fn a_whole_zone_is_reported_at_the_moment_it_would_be_tainted() {
    let mut harness = observer(&[("a", 5), ("b", 2)]);
    let mut acting = harness.clone();
    (acting.leading, acting.observing) = (true, false);
    for harness in [&mut harness, &mut acting] {
        harness.kill(&["a0", "a1", "a2", "a3", "a4"]);
        harness.pass(120);
    }
    let reported = away(&harness);
    assert_eq!(reported.len(), 5, "{reported:?}");
    for (name, at) in &reported {
        assert_eq!(acting.when(name, ManagedTaint::UnreachableNoExecute), Some(*at), "{name}");
    }
}

/// S7, NL-27, NL-47: a node that would not be tainted is not reported.
#[test]
fn a_node_that_would_not_be_tainted_is_not_reported() {
    let mut harness = observer(&[("a", 4)]);
    harness.kill(&["a0", "a1", "a2", "a3"]);
    harness.pass(300);
    assert_eq!(away(&harness), [], "all nodes are down");
    let mut harness = observer(&[("a", 8)]);
    harness.kill(&["a1"]);
    harness.api = false;
    harness.pass(300);
    assert_eq!((declared(&harness), would(&harness).len()), (0, 0), "this process is disconnected");
    let mut harness = observer(&[("a", 8)]);
    harness.kill(&["a1", "a2", "a3", "a4", "a5"]);
    harness.pass(300);
    assert!(declared(&harness) == 5 && away(&harness).len() <= 2, "NL-26: the zone stops");
}

/// An observer that becomes the leader does what it reported.
#[test]
fn reported_changes_are_not_taken_for_done() {
    let mut harness = observer(&[("a", 8)]);
    harness.kill(&["a1"]);
    harness.edit("a2", |node| node.unschedulable = true);
    harness.pass(70);
    assert_eq!(away(&harness).len(), 1);
    (harness.leading, harness.observing) = (true, false);
    harness.submit(NodeLifecycleInput::BecameLeader);
    harness.pass(1);
    assert!(
        harness.own("a2").has(ManagedTaint::Unschedulable)
            && harness.own("a1").has(ManagedTaint::Unreachable)
    );
    assert_eq!(harness.tainted(), Vec::<&str>::new(), "S6: the bucket is empty");
    harness.pass(10);
    assert_eq!(harness.tainted(), ["a1"]);
}

/// Also if something else is left to do for it.
#[test]
fn a_silence_that_returns_is_reported_again_on_a_node_that_is_cordoned() {
    let mut harness = observer(&[("a", 8)]);
    harness.edit("a1", |node| node.unschedulable = true);
    for round in 1..=2 {
        harness.kill(&["a1"]);
        harness.pass(70);
        assert_eq!(declared(&harness), round);
        harness.revive(&["a1"]);
        harness.pass(100);
    }
}

/// A node that would have one NoExecute taint would get another one in exchange.
#[test]
fn an_exchange_of_taints_is_reported_as_one() {
    let mut harness = observer(&[("a", 8)]);
    harness.set_ready("a1", false);
    harness.pass(30);
    harness.notices.clear();
    harness.kill(&["a1"]);
    harness.pass(70);
    let whys: Vec<TaintCause> = would(&harness).iter().map(|(.., why)| *why).collect();
    assert!(whys.contains(&TaintCause::Swap), "{:?}", would(&harness));
}
