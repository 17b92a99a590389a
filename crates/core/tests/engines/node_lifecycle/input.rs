//! Tests malformed input (odd leases, undecodable objects, nodes without fields): it is counted, and taints no node.

use crate::node_lifecycle::harness::NodeLifecycleHarness;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane};
use taintward_core::identity::NodeName;
use taintward_core::node_lifecycle::{
    ConditionKind, ConditionStatus, LeaseFact, ManagedTaint, ManagedTaints, NodeCondition,
    NodeLifecycleInput, NodeLifecycleNotice,
};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::testkit::taint;
use taintward_core::time::Wall;

/// NL-10: renew times are compared, not trusted: times in the past, in the future, and steps back are still
/// heartbeats.
#[test]
fn nl_10_times_in_leases_are_not_trusted() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    let year_1 = -62_135_596_800;
    harness.kill(&["a1"]);
    for round in 0..20 {
        harness.pass(30);
        let seconds = [253_402_300_799 - round, year_1 + round, 0][round as usize % 3];
        let mut fact = harness.stored["a1"].lease.clone().expect("it has a lease");
        fact.version = None;
        fact.renewed = Some(Wall::from_secs(seconds));
        harness.stored.get_mut("a1").expect("it exists").lease = Some(fact.clone());
        harness.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, listed: false }));
    }
    assert_eq!(harness.commits, []);
    // The same time again and again is not a renewal, whatever it is: year 9999 does not keep a node alive.
    harness.pass(60);
    assert!(harness.own("a1").has(ManagedTaint::UnreachableNoExecute));
}

/// NL-10: a renewal that is older than the observed one is not a heartbeat, from the watch or in a list: the node is
/// tainted as without it.
#[test]
fn nl_10_an_older_lease_delivered_late_is_not_a_heartbeat() {
    for listed in [false, true] {
        let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
        harness.pass(20);
        let old = harness.stored["a1"].lease.clone().expect("it has a lease");
        harness.pass(20);
        let last = harness.stored["a1"].lease.clone().expect("it has a lease");
        assert!(old.version < last.version && old.renewed < last.renewed);
        harness.kill(&["a1"]);
        harness.pass(30);
        if listed {
            // The store was replaced by an older one: a live read shows the same.
            harness.stored.get_mut("a1").expect("it exists").lease = Some(old.clone());
        }
        harness.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact: old, listed }));
        harness.pass(23);
        assert_eq!(harness.tainted(), ["a1"], "listed: {listed}");
    }
}

/// A lease without a time proves nothing; the node's own heartbeat does.
#[test]
fn a_lease_without_a_time_does_not_count() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    harness.kill(&["a1"]);
    for _ in 0..8 {
        harness.pass(10);
        let fact = LeaseFact { node: NodeName::new("a1"), version: None, renewed: None };
        harness.stored.get_mut("a1").expect("it exists").lease = Some(fact.clone());
        harness.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, listed: false }));
    }
    assert_eq!(harness.tainted(), ["a1"]);
}

/// D11: an undecodable object causes no taint and no removal; it is counted, and reported once.
#[test]
fn d11_undecodable_objects_change_nothing() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 5)]);
    harness.kill(&["a1", "a2", "a3"]);
    harness.submit(NodeLifecycleInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(
        &NodeName::new("a1"),
        None,
    ))));
    harness.submit(NodeLifecycleInput::Leases(ObjectEvent::Undecodable(ObjectRef::node(
        &NodeName::new("a2"),
        None,
    ))));
    harness.submit(NodeLifecycleInput::Leases(ObjectEvent::Undecodable(ObjectRef::node(
        &NodeName::new("a2"),
        None,
    ))));
    harness.pass(200);
    assert_eq!(harness.tainted(), ["a3"]);
    let engine = harness.engine.as_ref().expect("it runs");
    assert_eq!(engine.stats().not_understood, 2);
    let reported =
        harness.notices.iter().filter(|(_, it)| matches!(it, NodeLifecycleNotice::NotUnderstood(_))).count();
    assert_eq!(reported, 2);
    // A tainted node that cannot be decoded any more keeps its taint; when it can be, everything continues.
    harness.submit(NodeLifecycleInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(
        &NodeName::new("a3"),
        None,
    ))));
    harness.pass(10);
    assert_eq!(harness.tainted(), ["a3"]);
    harness.revive(&["a1", "a2", "a3"]);
    harness.pass(15);
    assert_eq!(harness.tainted(), Vec::<&str>::new());
    assert_eq!(harness.engine.as_ref().expect("it runs").stats().not_understood, 0);
}

/// Two `Ready` conditions that contradict each other: nothing changes.
#[test]
fn d11_two_ready_conditions() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    harness.edit("a1", |node| {
        let ready = node.conditions[0];
        node.conditions.push(NodeCondition { status: ConditionStatus::False, ..ready });
    });
    harness.kill(&["a1"]);
    harness.pass(200);
    assert_eq!(harness.commits, []);
    assert_eq!(harness.engine.as_ref().expect("it runs").stats().not_understood, 1);
}

/// A node without conditions that renews its lease is healthy (NL-10).
#[test]
fn a_node_without_conditions_that_renews_is_healthy() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    harness.add_node("a9", "a");
    for _ in 0..60 {
        harness.edit("a9", |node| node.conditions.clear());
        harness.pass(7);
    }
    assert!(!harness.commits.iter().any(|commit| commit.node == "a9"), "{:?}", harness.commits);
}

/// NL-12: the other conditions of a silent node become Unknown too, and their taints are removed.
#[test]
fn pressure_of_a_silent_node_is_unknown() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    for kind in [ConditionKind::DiskPressure, ConditionKind::NetworkUnavailable] {
        harness.edit("a1", |node| {
            node.conditions.push(NodeCondition { kind, status: ConditionStatus::True, heartbeat: None })
        });
    }
    harness.pass(1);
    assert!(harness.own("a1").has(ManagedTaint::DiskPressure));
    harness.kill(&["a1"]);
    harness.pass(70);
    assert!(
        !harness.own("a1").has(ManagedTaint::DiskPressure)
            && harness.own("a1").has(ManagedTaint::NetworkUnavailable)
    );
}

/// A node recreated under its old name is another node: decisions for the old one are not applied to it.
#[test]
fn another_node_of_the_same_name() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    harness.kill(&["a1"]);
    harness.pass(35);
    harness.remove_node("a1");
    harness.add_node("a1", "a");
    harness.pass(100);
    assert_eq!(harness.commits, []);
    let reported =
        |which: fn(&NodeLifecycleNotice) -> bool| harness.notices.iter().filter(|(_, it)| which(it)).count();
    assert_eq!(reported(|it| matches!(it, NodeLifecycleNotice::Removed(_))), 1, "NL-19");
    assert_eq!(reported(|it| matches!(it, NodeLifecycleNotice::Registered(_))), 5);
}

/// S6: a write that certainly did not happen returns its token; one whose response is lost does not.
#[test]
fn s6_only_certain_failures_return_the_token() {
    for (failure, within, later) in [(ApiFailure::Rejected, 5, true), (ApiFailure::Unavailable, 5, false)] {
        let mut harness = NodeLifecycleHarness::new(&[("a", 8)]);
        harness.kill(&["a1"]);
        // The read, the conditions, then the write of the taints.
        harness.faults = [None, None, Some(failure)].into();
        while !harness.faults.is_empty() {
            harness.pass(1);
        }
        harness.pass(within);
        assert_eq!(harness.tainted().contains(&"a1"), later, "{failure:?}");
        harness.pass(10);
        assert_eq!(harness.tainted(), ["a1"]);
    }
}

/// A late event is not a heartbeat, however often it arrives: the dead node is tainted in time.
#[test]
fn late_and_repeated_leases_keep_no_node_alive() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    harness.kill(&["a1"]);
    let lease = harness.stored["a1"].lease.clone().expect("it has a lease");
    for round in 0..60 {
        harness.pass(1);
        let old = Some(taintward_core::identity::ResourceVersion(2));
        let fact = LeaseFact { version: old, renewed: Some(Wall::from_secs(round)), ..lease.clone() };
        harness.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, listed: false }));
        harness
            .submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact: lease.clone(), listed: false }));
    }
    assert_eq!(harness.tainted(), ["a1"]);
}

/// NL-7: an event is lost, so that a write's preconditions no longer hold: a live read detects it.
#[test]
fn a_conflict_is_followed_by_a_live_read() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 3)]);
    harness.leading = false;
    let pressed =
        NodeCondition { kind: ConditionKind::DiskPressure, status: ConditionStatus::True, heartbeat: None };
    harness.edit("a0", |node| node.conditions.push(pressed));
    harness.pass(1);
    let stored = harness.stored.get_mut("a0").expect("it exists");
    stored.node.version = Some(taintward_core::identity::ResourceVersion(1_000_000));
    harness.leading = true;
    harness.pass(5);
    assert!(harness.own("a0").has(ManagedTaint::DiskPressure));
}

/// D11: a plan for a node that cannot be decoded any more is not carried out.
#[test]
fn d11_nothing_is_written_to_an_undecodable_node() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 3)]);
    harness.leading = false;
    harness.edit("a0", |node| node.unschedulable = true);
    harness.pass(1);
    harness.submit(NodeLifecycleInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(
        &NodeName::new("a0"),
        None,
    ))));
    harness.leading = true;
    harness.pass(5);
    assert_eq!(harness.commits, []);
}

/// NL-22: only one node of a zone is read at a time for one token.
#[test]
fn nl_22_one_candidate_at_a_time() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 8)]);
    harness.leading = false;
    for name in ["a1", "a2", "a3"] {
        harness.set_ready(name, false);
        harness.edit(name, |node| {
            node.taints.push(taint("node.kubernetes.io/not-ready:NoSchedule"));
        });
    }
    harness.pass(1);
    let now = harness.clock();
    let engine = harness.engine.as_mut().expect("it runs");
    let pulled: Vec<_> = std::iter::from_fn(|| engine.next_effect(Lane::All, now)).collect();
    assert_eq!(
        pulled,
        [taintward_core::node_lifecycle::NodeLifecycleEffect::ReadNode { node: NodeName::new("a1") }]
    );
}

/// AD-6, NL-5: the taint that a node is created with stays until the node reports that it is ready, or is declared
/// silent: no pod is scheduled to a node that has not reported anything.
#[test]
fn ad_6_a_node_that_has_not_reported_is_not_ready() {
    for speaks in [true, false] {
        let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
        harness.add_node("a9", "a");
        harness.kill(&["a9"]);
        let own = ManagedTaint::NotReady;
        let taint = taint(&own.to_string());
        harness.stored.get_mut("a9").expect("it exists").lease = None;
        harness.submit(NodeLifecycleInput::Leases(ObjectEvent::Deleted(ObjectRef::node(
            &NodeName::new("a9"),
            None,
        ))));
        harness.edit("a9", |node| (node.conditions, node.taints) = (Vec::new(), vec![taint]));
        harness.pass(40);
        assert_eq!(harness.own("a9"), ManagedTaints::NONE.with(own), "nothing was written");
        if speaks {
            harness.revive(&["a9"]);
            harness.pass(1);
            assert_eq!(harness.own("a9"), ManagedTaints::NONE);
        } else {
            harness.pass(100);
            assert_eq!(harness.own("a9").no_schedule(), ManagedTaints::NONE.with(ManagedTaint::Unreachable));
        }
    }
}

/// NL-24: nodes without a zone form a zone of their own; a label is a text like any other, and may change.
#[test]
fn nl_24_no_zone_odd_zones_and_zones_that_change() {
    let mut harness = NodeLifecycleHarness::new(&[("", 4), ("\u{e9}:\0:\n", 4)]);
    let zones = |harness: &NodeLifecycleHarness| harness.engine.as_ref().expect("it runs").zones().count();
    assert_eq!(zones(&harness), 2);
    harness.kill(&["1", "\u{e9}:\0:\n1"]);
    harness.pass(40);
    harness.edit("1", |node| node.zone = crate::node_lifecycle::harness::zone(&"z".repeat(10_000)));
    harness.pass(60);
    assert_eq!(zones(&harness), 3);
    assert_eq!(harness.tainted(), ["1", "\u{e9}:\0:\n1"]);
    harness.edit("1", |node| node.zone = crate::node_lifecycle::harness::zone(""));
    harness.pass(60);
    assert_eq!((zones(&harness), harness.tainted().len()), (2, 2));
    let evictions = harness.engine.as_ref().expect("it runs").zones().map(|zone| zone.evictions);
    assert_eq!(evictions.sum::<u64>(), 1, "nodes of a removed zone no longer count");
}
