//! Tests an observer: it reports once what would be done and when, and writes nothing.

use crate::node_lifecycle::world::{SECOND, World};
use taintward_core::node_lifecycle::{
    ConditionStatus, ManagedTaint, ManagedTaints, NodeLifecycleInput, NodeLifecycleNotice, TaintCause,
};

fn observer(zones: &[(&str, usize)]) -> World {
    let mut world = World::new(zones);
    (world.leading, world.observing) = (false, true);
    world.notices.clear();
    world
}

/// Which taints would be added and removed, on which node and why.
fn would(world: &World) -> Vec<(String, ManagedTaints, ManagedTaints, TaintCause)> {
    let reported = world.notices.iter().filter_map(|(_, notice)| match notice {
        NodeLifecycleNotice::WouldTaint { node, add, remove, why, .. } => {
            Some((node.name.as_str().to_owned(), *add, *remove, *why))
        }
        _ => None,
    });
    reported.collect()
}

/// When nodes would be tainted NoExecute.
fn away(world: &World) -> Vec<(String, f64)> {
    let reported = world.notices.iter().filter_map(|(at, notice)| match notice {
        NodeLifecycleNotice::WouldTaint { node, add, .. } if !add.no_execute().is_empty() => {
            Some((node.name.as_str().to_owned(), *at as f64 / SECOND as f64))
        }
        _ => None,
    });
    reported.collect()
}

fn declared(world: &World) -> usize {
    world
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
    let mut world = observer(&[("a", 8), ("b", 2)]);
    let mut acting = world.clone();
    (acting.leading, acting.observing) = (true, false);
    for world in [&mut world, &mut acting] {
        world.kill(&dead);
        world.set_ready("b0", false);
        world.pass(300);
    }
    let reported = away(&world);
    assert_eq!(reported.len(), 4, "{reported:?}");
    for (name, at) in &reported {
        let done = [ManagedTaint::UnreachableNoExecute, ManagedTaint::NotReadyNoExecute];
        let done = done.into_iter().find_map(|taint| acting.when(name, taint));
        assert_eq!(done, Some(*at), "{name}");
    }
    assert_eq!((declared(&world), world.commits.len(), world.reads), (3, 0, 0));
    let silent = would(&world).into_iter().find(|(name, ..)| name == "a1").expect("it was reported");
    assert_eq!((silent.1, silent.2), (ONE.with(ManagedTaint::Unreachable), ONE));
    let whys: Vec<_> =
        would(&world).into_iter().filter(|reported| !reported.1.no_execute().is_empty()).collect();
    assert!(whys.iter().all(|(name, .., why)| (name == "b0") == (*why == TaintCause::NotReady)), "{whys:?}");
}

/// A node that recovers is reported again when there is a reason again; simulated writes do not have to be reverted.
#[test]
fn a_reason_that_disappears_and_returns_is_reported_again() {
    let mut world = observer(&[("a", 8)]);
    world.kill(&["a1"]);
    world.pass(70);
    assert_eq!((declared(&world), away(&world).len(), would(&world).len()), (1, 1, 2));
    world.revive(&["a1"]);
    world.pass(100);
    assert_eq!((declared(&world), would(&world).len()), (1, 2), "there was nothing to remove");
    world.kill(&["a1"]);
    world.pass(70);
    assert_eq!((declared(&world), away(&world).len(), would(&world).len()), (2, 2, 4));
}

/// NL-9: conditions and cordons are reported immediately and once each time; a label that would be written delays
/// nothing, and neither does a pod.
#[test]
fn changes_without_a_wait_are_reported_immediately() {
    let mut world = observer(&[("a", 4)]);
    world.bind("p", "a1");
    for round in 1..4 {
        world.edit("a1", |node| {
            node.unschedulable = true;
            node.platform.os = Some("linux".into());
        });
        world.pass(20);
        let cordoned = ("a1".to_string(), ONE.with(ManagedTaint::Unschedulable), ONE, TaintCause::Conditions);
        assert_eq!(would(&world), vec![cordoned; round]);
        world.edit("a1", |node| node.unschedulable = false);
        world.pass(20);
    }
    world.notices.clear();
    world.set_ready("a1", false);
    world.pass(30);
    let reported = would(&world);
    assert_eq!(reported.len(), 2, "{reported:?}");
    assert_eq!(reported[0].1, ONE.with(ManagedTaint::NotReady));
    assert_eq!(reported[1].1, ONE.with(ManagedTaint::NotReadyNoExecute));
}

/// Alongside an active controller, it reports what that one did not do.
#[test]
fn writes_of_other_clients_take_precedence_over_simulated_ones() {
    let mut world = observer(&[("a", 8)]);
    let write = |world: &mut World, taints: &[ManagedTaint]| {
        world.edit("a1", |node| {
            let taint = |own: &ManagedTaint| taintward_core::taint::Taint {
                key: own.key().into(),
                value: "".into(),
                effect: own.effect(),
                time_added: None,
            };
            node.taints = taints.iter().map(taint).collect();
            node.conditions[0].status = ConditionStatus::False;
        });
    };
    world.kubelets.get_mut("a1").expect("it exists").ready = false;
    write(&mut world, &[ManagedTaint::NotReady, ManagedTaint::NotReadyNoExecute]);
    world.pass(60);
    assert_eq!(would(&world), [], "the other controller was faster");
    // The other controller removes a taint that should be there, and adds one that should not.
    write(&mut world, &[ManagedTaint::NotReady, ManagedTaint::Unschedulable]);
    world.pass(60);
    let reported: Vec<_> = would(&world).into_iter().map(|(_, add, remove, _)| (add, remove)).collect();
    let put_on = (ONE.with(ManagedTaint::NotReadyNoExecute), ONE);
    assert_eq!(reported, [(ONE, ONE.with(ManagedTaint::Unschedulable)), put_on]);
    // The node is as it should be; and then again not.
    write(&mut world, &[ManagedTaint::NotReady, ManagedTaint::NotReadyNoExecute]);
    world.pass(60);
    write(&mut world, &[ManagedTaint::NotReady]);
    world.pass(60);
    assert_eq!(away(&world).len(), 2);
    // The other taint is added and removed repeatedly: each time the wrong one is reported, and nothing else.
    for round in 2..5 {
        write(&mut world, &[ManagedTaint::NotReady, ManagedTaint::Unschedulable]);
        world.pass(60);
        write(&mut world, &[ManagedTaint::NotReady]);
        world.pass(60);
        let off = would(&world).iter().filter(|reported| reported.2.has(ManagedTaint::Unschedulable)).count();
        assert_eq!((off, away(&world).len()), (round, 2));
    }
}

/// NL-26: a fully disrupted zone: for an observer, nodes that would be declared silent count as declared.
#[test]
fn a_whole_zone_is_reported_at_the_moment_it_would_be_tainted() {
    let mut world = observer(&[("a", 5), ("b", 2)]);
    let mut acting = world.clone();
    (acting.leading, acting.observing) = (true, false);
    for world in [&mut world, &mut acting] {
        world.kill(&["a0", "a1", "a2", "a3", "a4"]);
        world.pass(120);
    }
    let reported = away(&world);
    assert_eq!(reported.len(), 5, "{reported:?}");
    for (name, at) in &reported {
        assert_eq!(acting.when(name, ManagedTaint::UnreachableNoExecute), Some(*at), "{name}");
    }
}

/// S7, NL-27, NL-47: a node that would not be tainted is not reported.
#[test]
fn a_node_that_would_not_be_tainted_is_not_reported() {
    let mut world = observer(&[("a", 4)]);
    world.kill(&["a0", "a1", "a2", "a3"]);
    world.pass(300);
    assert_eq!(away(&world), [], "all nodes are down");
    let mut world = observer(&[("a", 8)]);
    world.kill(&["a1"]);
    world.api = false;
    world.pass(300);
    assert_eq!((declared(&world), would(&world).len()), (0, 0), "this process is disconnected");
    let mut world = observer(&[("a", 8)]);
    world.kill(&["a1", "a2", "a3", "a4", "a5"]);
    world.pass(300);
    assert!(declared(&world) == 5 && away(&world).len() <= 2, "NL-26: the zone stops");
}

/// An observer that becomes the leader does what it reported.
#[test]
fn reported_changes_are_not_taken_for_done() {
    let mut world = observer(&[("a", 8)]);
    world.kill(&["a1"]);
    world.edit("a2", |node| node.unschedulable = true);
    world.pass(70);
    assert_eq!(away(&world).len(), 1);
    (world.leading, world.observing) = (true, false);
    world.submit(NodeLifecycleInput::BecameLeader);
    world.pass(1);
    assert!(
        world.own("a2").has(ManagedTaint::Unschedulable) && world.own("a1").has(ManagedTaint::Unreachable)
    );
    assert_eq!(world.tainted(), Vec::<&str>::new(), "S6: the bucket is empty");
    world.pass(10);
    assert_eq!(world.tainted(), ["a1"]);
}
