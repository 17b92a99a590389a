//! Tests the brake: a mistake costs the pods of the first nodes, whatever happens to the process, and nothing else waits.

use super::world::{Millis, World};
use super::{graceful, left_on};
use crate::common::EPOCH;
use std::collections::BTreeSet;
use taintward_core::engine::Engine;
use taintward_core::eviction::{DelayCategory, EvictionNotice};
use taintward_core::node_limit::NodeLimit;
use taintward_core::testkit::{taint, toleration};
use taintward_core::time::Wall;

const SLIP: &str = "k=v:NoExecute";
const FIVE_MINUTES: Millis = 300_000;
const SETTLED: Millis = 31_000;

fn limit(nodes: u32) -> Option<NodeLimit> {
    Some(NodeLimit { nodes: Some(nodes), percent: None })
}

fn name(at: usize) -> String {
    format!("n{at:04}")
}

/// A cluster of so many nodes with so many pods on each, which tolerate the taint `k` for so many seconds.
fn fleet(brake: Option<NodeLimit>, nodes: usize, pods: usize, seconds: Option<i64>) -> World {
    let mut world = World::with_brake(brake, Vec::new());
    for node in (0..nodes).map(name) {
        world.add_node(&node, "general");
        for at in 0..pods {
            world.add_pod(&format!("{node}-{at}"), "web", &node, |fact| {
                fact.tolerations =
                    seconds.map(|seconds| toleration("k", Some(seconds))).into_iter().collect();
            });
        }
    }
    world.pass(1_000);
    world
}

fn taint_one(world: &mut World, at: usize, taints: &[&str]) {
    world.set_taints(&name(at), taints);
}

/// `kubectl taint nodes --all`: one node after the other.
fn taint_all(world: &mut World, nodes: usize, taints: &[&str], every: Millis) {
    for at in 0..nodes {
        taint_one(world, at, taints);
        world.pass(every);
    }
}

/// The nodes that lost pods.
fn hit(world: &World) -> BTreeSet<&str> {
    world.monitor.deletions.iter().map(|deletion| deletion.node.as_str()).collect()
}

fn marked(world: &World) -> usize {
    world.pods.values().filter(|pod| pod.fact.marked && !pod.is_terminating).count()
}

fn brakes(world: &World) -> (usize, usize) {
    let count = |is: fn(&EvictionNotice) -> bool| world.notices.iter().filter(|notice| is(notice)).count();
    let began = count(|notice| matches!(notice, EvictionNotice::BrakeBegan { .. }));
    (began, count(|notice| matches!(notice, EvictionNotice::BrakeEnded { .. })))
}

#[test]
fn a_slip_costs_the_pods_of_the_first_nodes() {
    let mut world = fleet(limit(10), 1_000, 2, None);
    taint_all(&mut world, 1_000, &[SLIP], 20);
    world.pass(5_000);
    let first: Vec<String> = (0..11).map(name).collect();
    assert!((5..=11).contains(&hit(&world).len()), "{:?}", hit(&world));
    assert!(hit(&world).iter().all(|node| first.contains(&(*node).to_owned())), "{:?}", hit(&world));
    assert_eq!(marked(&world), 0, "a pod that waits has no mark");
    assert_eq!(brakes(&world), (1, 0));
    let (deleted, requested) = (world.monitor.deletions.len(), world.effects.len());
    world.pass(24 * 3_600_000);
    assert_eq!((world.monitor.deletions.len(), world.effects.len()), (deleted, requested));
    assert_eq!(world.engine.next_wakeup(), None, "pods that wait cost nothing");
    let stats = world.engine.stats();
    assert_eq!((stats.braked_keys, stats.delayed.of(DelayCategory::Brake)), (1, 2_000 - deleted));
    let count = 1_000 - deleted / 2;
    let reason = format!("- Brake {{ key: \"k\", nodes: {count}, limit: 10 }}");
    assert!(world.reasons().iter().all(|(_, one)| *one == reason), "{:?}", world.reasons().first());
}

#[test]
fn without_the_brake_a_slip_costs_all_pods_and_nothing_is_stored() {
    let mut world = fleet(None, 100, 1, None);
    taint_all(&mut world, 100, &[SLIP], 20);
    world.pass(5_000);
    assert_eq!((hit(&world).len(), brakes(&world)), (100, (0, 0)));
}

#[test]
fn a_slip_that_becomes_known_at_once_costs_nothing() {
    let mut world = fleet(limit(10), 200, 1, None);
    taint_all(&mut world, 200, &[SLIP], 0);
    world.pass(60_000);
    assert_eq!(hit(&world).len(), 0);
}

#[test]
fn pods_that_tolerate_the_taint_for_a_while_are_braked_when_they_are_due() {
    let mut world = fleet(limit(10), 200, 2, Some(60));
    taint_all(&mut world, 200, &[SLIP], 20);
    world.pass(50_000);
    assert_eq!((hit(&world).len(), brakes(&world)), (0, (0, 0)));
    world.pass(60_000);
    assert!((5..=11).contains(&hit(&world).len()), "{:?}", hit(&world));
}

/// When the process is killed: after so many nodes were tainted, or so long after the last.
fn slip_with_a_kill(at_node: usize, after: Millis, is_dated: bool, seconds: Option<i64>) {
    let mut world = fleet(limit(10), 60, 2, seconds);
    for at in 0..60 {
        if at == at_node {
            world.restart();
        }
        let now = Wall::from_secs(EPOCH + world.now / 1_000);
        world.change_node(&name(at), |fact| {
            fact.taints = vec![taint(SLIP)];
            fact.taints[0].time_added = is_dated.then_some(now);
        });
        world.pass(20);
    }
    world.pass(after);
    world.restart();
    world.pass(2 * FIVE_MINUTES);
    assert!(hit(&world).len() <= 11, "{at_node} {after} {is_dated} {seconds:?}: {:?}", hit(&world));
    assert_eq!(marked(&world), 0, "{at_node} {after} {is_dated} {seconds:?}");
}

#[test]
fn a_process_that_is_killed_in_the_middle_costs_no_more_pods() {
    for is_dated in [true, false] {
        for at_node in [1, 4, 9, 10, 11, 12, 30, 59] {
            slip_with_a_kill(at_node, 1_000, is_dated, None);
        }
        for after in [0, 20, 40, 60, 500, 30_000, FIVE_MINUTES - 1_000, FIVE_MINUTES + 1_000, 3_600_000] {
            slip_with_a_kill(60, after, is_dated, None);
            slip_with_a_kill(60, after, is_dated, Some(30));
        }
    }
}

#[test]
fn a_process_that_starts_counts_the_nodes_that_another_has_emptied() {
    let mut world = fleet(limit(3), 8, 1, None);
    taint_all(&mut world, 3, &[SLIP], 20);
    world.pass(60_000);
    assert_eq!(hit(&world).len(), 3);
    world.restart();
    taint_one(&mut world, 3, &[SLIP]);
    world.pass(60_000);
    assert_eq!((hit(&world).len(), left_on(&world, &name(3))), (3, 1));
    world.pass(FIVE_MINUTES - 125_000);
    assert_eq!(hit(&world).len(), 3, "their taints are not five minutes old");
    world.pass(10_000);
    assert_eq!(hit(&world).len(), 4);
    assert_eq!(brakes(&world), (1, 1));
}

#[test]
fn a_rolling_maintenance_within_the_limit_goes_on() {
    let mut world = fleet(limit(10), 40, 2, None);
    for at in 0..40 {
        taint_one(&mut world, at, &[SLIP]);
        world.pass(1_000);
        assert_eq!(left_on(&world, &name(at)), 0, "at once: {at}");
        if at >= 9 {
            taint_one(&mut world, at - 9, &[]);
        }
        world.pass(30_000);
    }
    assert_eq!(brakes(&world), (0, 0));
}

#[test]
fn a_rolling_maintenance_that_is_too_fast_is_slowed_down() {
    let mut world = fleet(limit(3), 12, 1, None);
    taint_all(&mut world, 12, &[SLIP], 20_000);
    assert_eq!(hit(&world).len(), 3);
    // Nine nodes have pods that are due: more than three, until the taint is removed from six.
    world.pass(3_600_000);
    assert_eq!(hit(&world).len(), 3);
    (6..12).for_each(|at| taint_one(&mut world, at, &[]));
    world.pass(SETTLED);
    assert_eq!(hit(&world), (0..6).map(name).collect::<Vec<_>>().iter().map(String::as_str).collect());
}

#[test]
fn dedicated_nodes_count_only_while_pods_leave_them() {
    let mut world = World::with_brake(limit(2), Vec::new());
    let long_ago = Wall::from_secs(EPOCH - 31_000_000);
    for node in (0..50).map(name) {
        world.add_node(&node, "general");
        world.change_node(&node, |fact| {
            fact.taints = vec![taint("dedicated=db:NoExecute")];
            fact.taints[0].time_added = Some(long_ago);
        });
        world.add_pod(&format!("{node}-db"), "db", &node, |fact| {
            fact.tolerations = vec![toleration("dedicated", None)];
        });
    }
    world.pass(1_000);
    for round in 0..2 {
        world.add_pod(&format!("stray-{round}"), "web", &name(round), |_| {});
        world.pass(1_000);
        assert_eq!(world.monitor.deletions.len(), round + 1);
        world.restart();
    }
    assert_eq!(brakes(&world), (0, 0));
    // Now it is unknown since when they have the taint.
    (0..50).for_each(|at| world.change_node(&name(at), |fact| fact.taints[0].time_added = None));
    world.pass(1_000);
    world.restart();
    world.add_pod("stray-2", "web", &name(2), |_| {});
    world.pass(FIVE_MINUTES - 2_000);
    assert_eq!(world.monitor.deletions.len(), 2);
    world.pass(3_000);
    assert_eq!(world.monitor.deletions.len(), 3);
}

#[test]
fn the_removal_of_the_taints_releases_the_rest_and_never_the_last_nodes_of_an_undone_slip() {
    let mut world = fleet(limit(3), 30, 1, None);
    taint_all(&mut world, 30, &[SLIP], 20);
    world.pass(2 * FIVE_MINUTES);
    let lost = hit(&world).len();
    assert!((1..=4).contains(&lost));
    taint_all(&mut world, 30, &[], 3_000);
    world.pass(SETTLED);
    assert_eq!((hit(&world).len(), brakes(&world)), (lost, (1, 1)));
    taint_one(&mut world, 20, &[SLIP]);
    world.pass(1_000);
    assert_eq!(left_on(&world, &name(20)), 0, "a taint that is meant");
}

#[test]
fn a_node_whose_pods_are_gone_counts_for_five_minutes() {
    let mut world = fleet(limit(1), 3, 1, None);
    taint_one(&mut world, 0, &[SLIP]);
    world.pass(FIVE_MINUTES - 10_000);
    assert_eq!(hit(&world).len(), 1);
    taint_one(&mut world, 1, &[SLIP]);
    world.pass(9_000);
    assert_eq!(hit(&world).len(), 1);
    world.pass(2_000);
    assert_eq!(hit(&world).len(), 2, "the first node counts no more");
}

#[test]
fn a_node_that_is_gone_does_not_count() {
    let mut world = fleet(limit(3), 5, 1, None);
    taint_all(&mut world, 5, &[SLIP], 0);
    world.pass(1_000);
    assert_eq!(hit(&world).len(), 0);
    world.remove_node(&name(0));
    world.remove_node(&name(1));
    world.pass(SETTLED);
    assert_eq!(hit(&world).len(), 3);
}

#[test]
fn the_annotation_of_the_webhook_releases_a_node() {
    let mut world = fleet(limit(3), 30, 1, None);
    taint_all(&mut world, 30, &[SLIP], 0);
    world.pass(1_000);
    let allow = |world: &mut World, at: usize, text: &str| {
        let text = Some(text.into());
        world.change_node(&name(at), |fact| fact.allow_no_execute = text);
        world.pass(1_000);
    };
    allow(&mut world, 7, "other");
    assert_eq!(hit(&world).len(), 0);
    allow(&mut world, 7, "other, k");
    assert_eq!(world.monitor.names(), ["n0007-0"]);
    allow(&mut world, 9, "*");
    assert_eq!(world.monitor.names(), ["n0007-0", "n0009-0"]);
    world.pass(2 * FIVE_MINUTES);
    assert_eq!(world.monitor.deletions.len(), 2);
    (0..30).for_each(|at| allow(&mut world, at, "k"));
    assert_eq!(world.monitor.deletions.len(), 30);
}

#[test]
fn a_node_with_the_annotation_does_not_wait_at_all() {
    let mut world = fleet(limit(1), 10, 1, None);
    (0..10).for_each(|at| world.change_node(&name(at), |fact| fact.allow_no_execute = Some("k".into())));
    world.pass(1_000);
    taint_all(&mut world, 10, &[SLIP], 0);
    world.pass(1_000);
    assert_eq!((hit(&world).len(), brakes(&world)), (10, (0, 0)));
}

#[test]
fn evidence_that_the_node_is_gone_is_not_braked() {
    let out_of_service = "node.kubernetes.io/out-of-service:NoExecute";
    let mut world = fleet(limit(3), 30, 1, None);
    taint_all(&mut world, 30, &[SLIP], 0);
    world.pass(1_000);
    assert_eq!(hit(&world).len(), 0);
    taint_one(&mut world, 4, &[SLIP, out_of_service]);
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n0004-0"]);
    taint_all(&mut world, 30, &[out_of_service], 0);
    world.pass(1_000);
    assert_eq!(hit(&world).len(), 30);
}

#[test]
fn the_keys_of_dead_nodes_are_not_braked() {
    for key in ["node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/unreachable:NoExecute"] {
        let mut world = fleet(limit(1), 30, 1, None);
        taint_all(&mut world, 30, &[key], 0);
        world.restart();
        world.pass(1_000);
        assert_eq!((hit(&world).len(), brakes(&world)), (30, (0, 0)), "{key}");
    }
}

#[test]
fn a_percentage_is_of_all_nodes_and_the_lower_limit_counts() {
    for (nodes, percent, expected) in [(None, 10, 4), (Some(2), 10, 2), (Some(9), 10, 4), (None, 1, 1)] {
        let mut world = fleet(Some(NodeLimit { nodes, percent: Some(percent) }), 40, 1, None);
        taint_all(&mut world, 40, &[SLIP], 200);
        world.pass(1_000);
        assert_eq!(hit(&world).len(), expected, "{nodes:?} {percent}");
    }
}

#[test]
fn more_nodes_raise_a_percentage() {
    let mut world = fleet(Some(NodeLimit { nodes: None, percent: Some(10) }), 20, 1, None);
    (0..3).for_each(|at| taint_one(&mut world, at, &[SLIP]));
    world.pass(1_000);
    assert_eq!(hit(&world).len(), 0);
    (20..30).for_each(|at| world.add_node(&name(at), "general"));
    world.pass(1_000);
    assert_eq!(hit(&world).len(), 3);
}

#[test]
fn another_key_evicts_at_once_whatever_is_braked() {
    let mut world = fleet(limit(3), 30, 1, None);
    world.add_pod("patient", "web", &name(3), |fact| fact.tolerations = vec![toleration("other", Some(60))]);
    taint_all(&mut world, 30, &[SLIP], 0);
    world.pass(5_000);
    assert_eq!(world.monitor.names(), [""; 0]);
    taint_one(&mut world, 3, &[SLIP, "other:NoExecute"]);
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n0003-0"]);
    world.pass(58_000);
    assert_eq!(world.monitor.names(), ["n0003-0"]);
    world.pass(2_000);
    assert_eq!(world.monitor.names(), ["n0003-0", "patient"]);
    let mut reasons = world.notices.iter().filter_map(|notice| match notice {
        EvictionNotice::Evicted { reason, .. } => Some(&*reason.taint.key),
        _ => None,
    });
    assert!(reasons.all(|key| key == "other"), "the event names the taint that evicts");
}

#[test]
fn the_policy_of_another_key_still_counts_and_the_end_of_the_brake_ends_its_delay() {
    let mut world = World::with_brake(limit(1), vec![graceful(None)]);
    for node in (0..3).map(name) {
        world.add_node(&node, "general");
        world.add_pod(&format!("{node}-0"), "web", &node, |_| {});
    }
    world.set_replicas("web", 3);
    world.add_node("spare", "general");
    world.add_budget("web", "web", super::min_available(3));
    world.pass(1_000);
    taint_all(&mut world, 3, &[SLIP], 0);
    world.pass(1_000);
    taint_one(&mut world, 0, &[SLIP, "maintenance:NoExecute"]);
    world.pass(60_000);
    assert_eq!(world.monitor.names(), [""; 0]);
    assert!(world.reasons().contains(&("n0000-0".to_owned(), "graceful Budget web".to_owned())));
    (1..3).for_each(|at| taint_one(&mut world, at, &[]));
    world.pass(SETTLED - 2_000);
    assert_eq!(world.monitor.names(), [""; 0]);
    world.pass(2_000);
    assert_eq!(world.monitor.names(), ["n0000-0"], "no policy governs the taint that is braked no more");
}
