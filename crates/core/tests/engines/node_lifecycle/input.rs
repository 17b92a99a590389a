//! Tests malformed input (odd leases, undecodable objects, nodes without fields): it is counted, and taints no node.

use crate::node_lifecycle::world::World;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane};
use taintward_core::identity::NodeName;
use taintward_core::node_lifecycle::{
    ConditionKind, ConditionStatus, LeaseFact, ManagedTaint, ManagedTaints, NodeCondition,
    NodeLifecycleInput, NodeLifecycleNotice,
};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::time::Wall;

/// NL-10: renew times are compared, not trusted: times in the past, in the future, and steps back are still
/// heartbeats.
#[test]
fn nl_10_times_in_leases_are_not_trusted() {
    let mut world = World::new(&[("a", 4)]);
    let year_1 = -62_135_596_800;
    world.kill(&["a1"]);
    for round in 0..20 {
        world.pass(30);
        let seconds = [253_402_300_799 - round, year_1 + round, 0][round as usize % 3];
        let mut fact = world.stored["a1"].lease.clone().expect("it has a lease");
        fact.version = None;
        fact.renewed = Some(Wall::from_secs(seconds));
        world.stored.get_mut("a1").expect("it exists").lease = Some(fact.clone());
        world.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, listed: false }));
    }
    assert_eq!(world.commits, []);
    // The same time again and again is not a renewal, whatever it is: year 9999 does not keep a node alive.
    world.pass(60);
    assert!(world.own("a1").has(ManagedTaint::UnreachableNoExecute));
}

/// NL-10: a renewal that is older than the observed one is not a heartbeat, from the watch or in a list: the node is
/// tainted as without it.
#[test]
fn nl_10_an_older_lease_delivered_late_is_not_a_heartbeat() {
    for listed in [false, true] {
        let mut world = World::new(&[("a", 4)]);
        world.pass(20);
        let old = world.stored["a1"].lease.clone().expect("it has a lease");
        world.pass(20);
        let last = world.stored["a1"].lease.clone().expect("it has a lease");
        assert!(old.version < last.version && old.renewed < last.renewed);
        world.kill(&["a1"]);
        world.pass(30);
        if listed {
            // The store was replaced by an older one: a live read shows the same.
            world.stored.get_mut("a1").expect("it exists").lease = Some(old.clone());
        }
        world.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact: old, listed }));
        world.pass(23);
        assert_eq!(world.tainted(), ["a1"], "listed: {listed}");
    }
}

/// A lease without a time proves nothing; the node's own heartbeat does.
#[test]
fn a_lease_without_a_time_does_not_count() {
    let mut world = World::new(&[("a", 4)]);
    world.kill(&["a1"]);
    for _ in 0..8 {
        world.pass(10);
        let fact = LeaseFact { node: NodeName::new("a1"), version: None, renewed: None };
        world.stored.get_mut("a1").expect("it exists").lease = Some(fact.clone());
        world.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, listed: false }));
    }
    assert_eq!(world.tainted(), ["a1"]);
}

/// D11: an undecodable object causes no taint and no removal; it is counted, and reported once.
#[test]
fn d11_undecodable_objects_change_nothing() {
    let mut world = World::new(&[("a", 5)]);
    world.kill(&["a1", "a2", "a3"]);
    world.submit(NodeLifecycleInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(
        &NodeName::new("a1"),
        None,
    ))));
    world.submit(NodeLifecycleInput::Leases(ObjectEvent::Undecodable(ObjectRef::node(
        &NodeName::new("a2"),
        None,
    ))));
    world.submit(NodeLifecycleInput::Leases(ObjectEvent::Undecodable(ObjectRef::node(
        &NodeName::new("a2"),
        None,
    ))));
    world.pass(200);
    assert_eq!(world.tainted(), ["a3"]);
    let engine = world.engine.as_ref().expect("it runs");
    assert_eq!(engine.stats().not_understood, 2);
    let reported =
        world.notices.iter().filter(|(_, it)| matches!(it, NodeLifecycleNotice::NotUnderstood(_))).count();
    assert_eq!(reported, 2);
    // A tainted node that cannot be decoded any more keeps its taint; when it can be, everything continues.
    world.submit(NodeLifecycleInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(
        &NodeName::new("a3"),
        None,
    ))));
    world.pass(10);
    assert_eq!(world.tainted(), ["a3"]);
    world.revive(&["a1", "a2", "a3"]);
    world.pass(15);
    assert_eq!(world.tainted(), Vec::<&str>::new());
    assert_eq!(world.engine.as_ref().expect("it runs").stats().not_understood, 0);
}

/// Two `Ready` conditions that contradict each other: nothing changes.
#[test]
fn d11_two_ready_conditions() {
    let mut world = World::new(&[("a", 4)]);
    world.edit("a1", |node| {
        let ready = node.conditions[0];
        node.conditions.push(NodeCondition { status: ConditionStatus::False, ..ready });
    });
    world.kill(&["a1"]);
    world.pass(200);
    assert_eq!(world.commits, []);
    assert_eq!(world.engine.as_ref().expect("it runs").stats().not_understood, 1);
}

/// A node without conditions that renews its lease is healthy (NL-10).
#[test]
fn a_node_without_conditions_that_renews_is_healthy() {
    let mut world = World::new(&[("a", 4)]);
    world.add_node("a9", "a");
    for _ in 0..60 {
        world.edit("a9", |node| node.conditions.clear());
        world.pass(7);
    }
    assert!(!world.commits.iter().any(|commit| commit.node == "a9"), "{:?}", world.commits);
}

/// NL-12: the other conditions of a silent node become Unknown too, and their taints are removed.
#[test]
fn pressure_of_a_silent_node_is_unknown() {
    let mut world = World::new(&[("a", 4)]);
    for kind in [ConditionKind::DiskPressure, ConditionKind::NetworkUnavailable] {
        world.edit("a1", |node| {
            node.conditions.push(NodeCondition { kind, status: ConditionStatus::True, heartbeat: None })
        });
    }
    world.pass(1);
    assert!(world.own("a1").has(ManagedTaint::DiskPressure));
    world.kill(&["a1"]);
    world.pass(70);
    assert!(
        !world.own("a1").has(ManagedTaint::DiskPressure)
            && world.own("a1").has(ManagedTaint::NetworkUnavailable)
    );
}

/// A node recreated under its old name is another node: decisions for the old one are not applied to it.
#[test]
fn another_node_of_the_same_name() {
    let mut world = World::new(&[("a", 4)]);
    world.kill(&["a1"]);
    world.pass(35);
    world.remove_node("a1");
    world.add_node("a1", "a");
    world.pass(100);
    assert_eq!(world.commits, []);
    let reported =
        |which: fn(&NodeLifecycleNotice) -> bool| world.notices.iter().filter(|(_, it)| which(it)).count();
    assert_eq!(reported(|it| matches!(it, NodeLifecycleNotice::Removed(_))), 1, "NL-19");
    assert_eq!(reported(|it| matches!(it, NodeLifecycleNotice::Registered(_))), 5);
}

/// S6: a write that certainly did not happen returns its token; one whose response is lost does not.
#[test]
fn s6_only_certain_failures_return_the_token() {
    for (failure, within, later) in [(ApiFailure::Rejected, 5, true), (ApiFailure::Unavailable, 5, false)] {
        let mut world = World::new(&[("a", 8)]);
        world.kill(&["a1"]);
        // The read, the conditions, then the write of the taints.
        world.faults = [None, None, Some(failure)].into();
        while !world.faults.is_empty() {
            world.pass(1);
        }
        world.pass(within);
        assert_eq!(world.tainted().contains(&"a1"), later, "{failure:?}");
        world.pass(10);
        assert_eq!(world.tainted(), ["a1"]);
    }
}

/// A late event is not a heartbeat, however often it arrives: the dead node is tainted in time.
#[test]
fn late_and_repeated_leases_keep_no_node_alive() {
    let mut world = World::new(&[("a", 4)]);
    world.kill(&["a1"]);
    let lease = world.stored["a1"].lease.clone().expect("it has a lease");
    for round in 0..60 {
        world.pass(1);
        let old = Some(taintward_core::identity::ResourceVersion(2));
        let fact = LeaseFact { version: old, renewed: Some(Wall::from_secs(round)), ..lease.clone() };
        world.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, listed: false }));
        world.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact: lease.clone(), listed: false }));
    }
    assert_eq!(world.tainted(), ["a1"]);
}

/// NL-7: an event is lost, so that a write's preconditions no longer hold: a live read detects it.
#[test]
fn a_conflict_is_followed_by_a_live_read() {
    let mut world = World::new(&[("a", 3)]);
    world.leading = false;
    let pressed =
        NodeCondition { kind: ConditionKind::DiskPressure, status: ConditionStatus::True, heartbeat: None };
    world.edit("a0", |node| node.conditions.push(pressed));
    world.pass(1);
    let stored = world.stored.get_mut("a0").expect("it exists");
    stored.node.version = Some(taintward_core::identity::ResourceVersion(1_000_000));
    world.leading = true;
    world.pass(5);
    assert!(world.own("a0").has(ManagedTaint::DiskPressure));
}

/// D11: a plan for a node that cannot be decoded any more is not carried out.
#[test]
fn d11_nothing_is_written_to_an_undecodable_node() {
    let mut world = World::new(&[("a", 3)]);
    world.leading = false;
    world.edit("a0", |node| node.unschedulable = true);
    world.pass(1);
    world.submit(NodeLifecycleInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(
        &NodeName::new("a0"),
        None,
    ))));
    world.leading = true;
    world.pass(5);
    assert_eq!(world.commits, []);
}

/// NL-22: only one node of a zone is read at a time for one token.
#[test]
fn nl_22_one_candidate_at_a_time() {
    let mut world = World::new(&[("a", 8)]);
    world.leading = false;
    for name in ["a1", "a2", "a3"] {
        world.set_ready(name, false);
        world.edit(name, |node| {
            let own = ManagedTaint::NotReady;
            let (key, effect) = (own.key().into(), own.effect());
            node.taints.push(taintward_core::taint::Taint {
                key,
                value: "".into(),
                effect,
                time_added: None,
            });
        });
    }
    world.pass(1);
    let now = world.clock();
    let engine = world.engine.as_mut().expect("it runs");
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
        let mut world = World::new(&[("a", 4)]);
        world.add_node("a9", "a");
        world.kill(&["a9"]);
        let own = ManagedTaint::NotReady;
        let (key, value, effect) = (own.key().into(), "".into(), own.effect());
        let taint = taintward_core::taint::Taint { key, value, effect, time_added: None };
        world.stored.get_mut("a9").expect("it exists").lease = None;
        world.submit(NodeLifecycleInput::Leases(ObjectEvent::Deleted(ObjectRef::node(
            &NodeName::new("a9"),
            None,
        ))));
        world.edit("a9", |node| (node.conditions, node.taints) = (Vec::new(), vec![taint]));
        world.pass(40);
        assert_eq!(world.own("a9"), ManagedTaints::NONE.with(own), "nothing was written");
        if speaks {
            world.revive(&["a9"]);
            world.pass(1);
            assert_eq!(world.own("a9"), ManagedTaints::NONE);
        } else {
            world.pass(100);
            assert_eq!(world.own("a9").no_schedule(), ManagedTaints::NONE.with(ManagedTaint::Unreachable));
        }
    }
}

/// NL-24: nodes without a zone form a zone of their own; a label is a text like any other, and may change.
#[test]
fn nl_24_no_zone_odd_zones_and_zones_that_change() {
    let mut world = World::new(&[("", 4), ("\u{e9}:\0:\n", 4)]);
    let zones = |world: &World| world.engine.as_ref().expect("it runs").zones().count();
    assert_eq!(zones(&world), 2);
    world.kill(&["1", "\u{e9}:\0:\n1"]);
    world.pass(40);
    world.edit("1", |node| node.zone = crate::node_lifecycle::world::zone(&"z".repeat(10_000)));
    world.pass(60);
    assert_eq!(zones(&world), 3);
    assert_eq!(world.tainted(), ["1", "\u{e9}:\0:\n1"]);
    world.edit("1", |node| node.zone = crate::node_lifecycle::world::zone(""));
    world.pass(60);
    assert_eq!((zones(&world), world.tainted().len()), (2, 2));
    let evictions = world.engine.as_ref().expect("it runs").zones().map(|zone| zone.evictions);
    assert_eq!(evictions.sum::<u64>(), 1, "nodes of a removed zone no longer count");
}
