//! Tests that holds of nodes and of pods stop countdowns and evictions, that held time does not count, and that a policy may
//! forbid those of pods.

use super::world::World;
use super::{EvictionPolicy, cluster, graceful, left_on, min_available, policy, taint_nodes};
use crate::common::EPOCH;
use taintward_core::admission::LabelSelector;
use taintward_core::fact::HoldPeriod;
use taintward_core::testkit::toleration;
use taintward_core::time::Wall;

/// Periods in seconds since the begin of the test.
fn periods(all: &[(i64, i64)]) -> Option<Box<[HoldPeriod]>> {
    let wall = |seconds: i64| Wall::from_secs(EPOCH + seconds);
    let all = all.iter().map(|(since, until)| HoldPeriod { since: wall(*since), until: wall(*until) });
    Some(all.collect())
}

fn hold_node(world: &mut World, node: &str, all: &[(i64, i64)]) {
    world.change_node(node, |fact| fact.holds = periods(all));
}

fn hold_pod(world: &mut World, pod: &str, all: &[(i64, i64)]) {
    world.change_pod(pod, |fact| fact.holds = periods(all));
}

/// A cluster at second 10 with one pod a node.
fn at_10(policies: Vec<EvictionPolicy>) -> World {
    let mut world = cluster(policies, 1);
    world.pass(10_000 - world.now);
    world
}

const MAINTENANCE: &[&str] = &["maintenance:NoExecute"];

#[test]
fn a_held_node_keeps_its_pods_until_the_hold_ends() {
    let mut world = at_10(Vec::new());
    hold_node(&mut world, "n1", &[(10, 70)]);
    world.pass(1_000);
    taint_nodes(&mut world, &["n1", "n2"], MAINTENANCE);
    world.pass(58_900);
    assert_eq!((left_on(&world, "n1"), left_on(&world, "n2")), (1, 0));
    world.pass(600);
    assert_eq!(left_on(&world, "n1"), 0);
}

#[test]
fn held_time_does_not_count_for_a_countdown_also_after_a_restart() {
    for (restarts, on_pod) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut world = at_10(Vec::new());
        world.change_pod("n1-0", |fact| fact.tolerations = [toleration("maintenance", Some(60))].into());
        world.pass(1_000);
        taint_nodes(&mut world, &["n1"], MAINTENANCE);
        world.pass(20_000);
        let hold = |world: &mut World, all: &[(i64, i64)]| match on_pod {
            true => hold_pod(world, "n1-0", all),
            false => hold_node(world, "n1", all),
        };
        hold(&mut world, &[(31, 1_031)]);
        world.pass(100_000);
        // Released: the hold is over now.
        hold(&mut world, &[(31, 131)]);
        world.pass(1_000);
        if restarts {
            world.restart();
        }
        // Due at 11 + 60 + 100; a process that finds the taint in a list counts from the end of its second.
        world.pass(171_000 - world.now - 1_000);
        assert_eq!(left_on(&world, "n1"), 1, "{restarts} {on_pod}");
        world.pass(3_000);
        assert_eq!(left_on(&world, "n1"), 0, "{restarts} {on_pod}");
    }
}

#[test]
fn a_hold_stops_pods_that_wait_for_a_budget_also_at_their_deadline() {
    let mut world = at_10(vec![graceful(Some(60))]);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], MAINTENANCE);
    world.pass(40_000);
    hold_node(&mut world, "n1", &[(51, 111)]);
    world.pass(300);
    let requests = world.effects.len();
    world.pass(59_000);
    assert_eq!((left_on(&world, "n1"), world.effects.len()), (1, requests), "no further request");
    assert!(world.reasons().is_empty(), "it does not wait for a budget: {:?}", world.reasons());
    // The deadline is 11 + 60 + 60 held seconds.
    world.pass(131_000 - world.now - 500);
    assert_eq!(left_on(&world, "n1"), 1);
    world.pass(2_000);
    assert_eq!(left_on(&world, "n1"), 0);
}

#[test]
fn a_pod_holds_itself_for_a_day_at_most() {
    let day = 24 * 3_600;
    let mut world = at_10(Vec::new());
    hold_pod(&mut world, "n1-0", &[(0, day), (day, 2 * day), (2 * day, 3 * day)]);
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], MAINTENANCE);
    world.pass(day * 1_000 - 1_000);
    assert_eq!(left_on(&world, "n1"), 1);
    world.pass(2_000);
    assert_eq!(left_on(&world, "n1"), 0);
}

#[test]
fn a_policy_forbids_holds_of_pods_and_not_of_nodes() {
    let strict = EvictionPolicy { allow_holds: false, ..policy("strict") };
    let mut world = at_10(vec![strict.clone()]);
    hold_pod(&mut world, "n1-0", &[(10, 3_600)]);
    hold_node(&mut world, "n2", &[(10, 3_600)]);
    world.pass(1_000);
    taint_nodes(&mut world, &["n1", "n2"], MAINTENANCE);
    world.pass(1_000);
    assert_eq!((left_on(&world, "n1"), left_on(&world, "n2")), (0, 1));

    // It begins and ends to forbid them.
    for (before, after, left) in
        [(strict.clone(), policy("strict"), 1), (policy("strict"), strict.clone(), 0)]
    {
        let mut world = at_10(vec![before]);
        world.change_pod("n1-0", |fact| fact.tolerations = [toleration("maintenance", Some(60))].into());
        hold_pod(&mut world, "n1-0", &[(10, 3_600)]);
        world.pass(1_000);
        taint_nodes(&mut world, &["n1"], MAINTENANCE);
        world.pass(10_000);
        world.set_policy(after);
        world.pass(120_000);
        assert_eq!(left_on(&world, "n1"), left);
    }
    // It selects another taint, or the pod has no hold any more.
    let mut world = at_10(vec![strict]);
    hold_pod(&mut world, "n1-0", &[(10, 3_600)]);
    hold_pod(&mut world, "n2-0", &[(10, 3_600)]);
    world.pass(1_000);
    taint_nodes(&mut world, &["n1", "n2"], &["other:NoExecute"]);
    world.pass(5_000);
    assert_eq!((left_on(&world, "n1"), left_on(&world, "n2")), (1, 1));
    world.change_pod("n2-0", |fact| fact.holds = None);
    world.pass(1_000);
    assert_eq!((left_on(&world, "n1"), left_on(&world, "n2")), (1, 0));
}

#[test]
fn no_hold_applies_to_a_node_that_is_out_of_service() {
    let mut world = at_10(Vec::new());
    hold_node(&mut world, "n1", &[(10, 3_600)]);
    hold_pod(&mut world, "n1-0", &[(10, 3_600)]);
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &["node.kubernetes.io/out-of-service:NoExecute"]);
    world.pass(1_000);
    assert_eq!(left_on(&world, "n1"), 0);
}

#[test]
fn no_hold_applies_to_a_pod_that_kube_controller_manager_evicts() {
    let mut world = at_10(Vec::new());
    world.change_pod("n1-0", |fact| fact.ignores_holds = true);
    hold_node(&mut world, "n1", &[(10, 3_600)]);
    hold_node(&mut world, "n2", &[(10, 3_600)]);
    world.pass(1_000);
    taint_nodes(&mut world, &["n1", "n2"], MAINTENANCE);
    world.pass(1_000);
    assert_eq!((left_on(&world, "n1"), left_on(&world, "n2")), (0, 1));
}

#[test]
fn a_new_label_of_the_node_selects_the_policy_that_forbids_holds() {
    let nodes = LabelSelector::of_labels([("pool", "strict")]);
    let strict = EvictionPolicy { allow_holds: false, nodes, ..policy("strict") };
    let mut world = at_10(vec![strict]);
    hold_pod(&mut world, "n1-0", &[(10, 1_000)]);
    world.pass(500);
    taint_nodes(&mut world, &["n1"], MAINTENANCE);
    world.pass(5_000);
    assert_eq!(left_on(&world, "n1"), 1);
    world.change_node("n1", |fact| fact.labels = Some(Box::new([("pool".into(), "strict".into())].into())));
    world.pass(1_000);
    assert_eq!(left_on(&world, "n1"), 0);
}
