//! Tests how due pods leave under eviction policies: budgets, limits, order and grace, in a cluster on virtual time that
//! checks every deletion.

#![allow(clippy::unwrap_used, reason = "a cluster without what a test put there fails the test")]

mod brake;
mod brake_counts;
mod changes;
mod holds;
mod limits;
mod monitor;
mod node_respect;
mod prediction;
mod preview;
mod random;
mod status;
mod unchanged;
mod world;

use taintward_core::eviction::{EvictionEffect, EvictionNotice};
use taintward_core::eviction_policy::{BudgetRespect, EvictionPolicy, SelectedTaint};
use taintward_core::time::Span;
use world::{World, min_available};

/// A policy for the taint `maintenance`.
fn policy(name: &str) -> EvictionPolicy {
    let taints = [SelectedTaint { key: "maintenance".into(), values: Vec::new() }].into();
    EvictionPolicy { name: name.into(), taints, ..EvictionPolicy::default() }
}

/// The same, which respects budgets until so many seconds after a pod was due.
fn graceful(deadline: Option<i64>) -> EvictionPolicy {
    let deadline = deadline.map(Span::from_secs);
    EvictionPolicy { budgets: Some(BudgetRespect { deadline }), ..policy("graceful") }
}

/// A cluster with this policy, the nodes `n1` ..= `n3` and `spare`, and an app of so many pods on each of the three.
fn cluster(policies: Vec<EvictionPolicy>, pods_on_each: u32) -> World {
    let mut world = World::new(policies);
    ["n1", "n2", "n3", "spare"].iter().for_each(|node| world.add_node(node, "general"));
    world.set_replicas("web", 3 * pods_on_each);
    for node in ["n1", "n2", "n3"] {
        (0..pods_on_each).for_each(|at| world.add_pod(&format!("{node}-{at}"), "web", node, |_| {}));
    }
    world.pass(1_000);
    world
}

fn taint_nodes(world: &mut World, nodes: &[&str], taints: &[&str]) {
    for node in nodes {
        world.monitor.tainted.entry((*node).to_owned()).or_insert(world.now);
        world.set_taints(node, taints);
    }
}

/// How many pods of the app are on the node and not terminating.
fn left_on(world: &World, node: &str) -> usize {
    world.pods.values().filter(|pod| pod.fact.node.as_str() == node && !pod.is_terminating).count()
}

#[test]
fn a_budget_is_used_fully_and_never_violated() {
    let mut world = cluster(vec![graceful(None)], 4);
    world.add_budget("web", "web", min_available(10));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1", "n2"], &["maintenance:NoExecute"]);
    world.pass(400);
    assert_eq!(world.monitor.deletions.len(), 2, "two may be missing");
    world.pass(60_000);
    assert_eq!((left_on(&world, "n1"), left_on(&world, "n2"), left_on(&world, "n3")), (0, 0, 4));
    assert!(world.monitor.deletions.iter().all(|deletion| deletion.by_eviction_api));
    assert!(
        world.monitor.rejections.len() <= world.monitor.deletions.len(),
        "a rejected eviction waits for the budget"
    );
}

#[test]
fn the_oldest_due_pod_has_the_first_turn() {
    let mut world = cluster(vec![graceful(None)], 1);
    world.add_budget("web", "web", min_available(2));
    world.pass(1_000);
    taint_nodes(&mut world, &["n2"], &["maintenance:NoExecute"]);
    world.pass(10);
    taint_nodes(&mut world, &["n3", "n1"], &["maintenance:NoExecute"]);
    world.pass(30_000);
    assert_eq!(world.monitor.names(), ["n2-0", "n1-0", "n3-0"]);
}

#[test]
fn at_the_deadline_a_pod_is_deleted_in_spite_of_its_budget() {
    let mut world = cluster(vec![graceful(Some(60))], 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    let tainted = world.now;
    world.pass(59_900);
    assert_eq!(world.monitor.names(), [""; 0]);
    world.pass(1_000);
    let at = world.monitor.deleted_at("n1-0").unwrap() - tainted;
    assert!((60_000..61_000).contains(&at), "{at}");
    let forced = world.notices.iter().find_map(|notice| match notice {
        EvictionNotice::Evicted { reason, .. } => reason.policy.clone(),
        _ => None,
    });
    assert!(forced.is_some_and(|policy| *policy.name == *"graceful" && policy.is_forced));
    assert!(world.effects.len() < 40, "{}: it did not try all the time", world.effects.len());
}

#[test]
fn without_a_deadline_a_pod_is_never_deleted_in_spite_of_its_budget() {
    let mut world = cluster(vec![graceful(None)], 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(24 * 3_600_000);
    assert_eq!(world.monitor.names(), [""; 0]);
    assert_eq!(world.reasons(), [("n1-0".to_owned(), "graceful Budget web".to_owned())]);
    world.set_replicas("web", 2);
    world.budgets.get_mut("web").unwrap().limit = min_available(2);
    world.add_pod("n3-1", "web", "n3", |_| {});
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n1-0"], "when the budget allows it");
}

#[test]
fn a_pod_that_is_not_ready_waits_for_no_ready_pod_of_its_budget() {
    let mut world = cluster(vec![graceful(None)], 1);
    world.add_pod("n1-broken", "web", "n1", |fact| fact.ready = Some(false));
    world.add_pod("n2-broken", "web", "n2", |fact| fact.ready = Some(false));
    world.set_replicas("web", 5);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(400);
    assert_eq!(world.monitor.names(), ["n1-broken"], "three others are healthy, and three are required");
    world.pass(60_000);
    assert_eq!(world.monitor.names(), ["n1-broken", "n1-0"], "its replacement is healthy");
    let before = world.monitor.rejections.len();
    assert!(before <= 2, "{before}: a ready pod waits for the budget");
}

/// The disruption controller is slow: only the pod shows that it is not ready any more.
#[test]
fn a_pod_that_becomes_unready_waits_no_longer_for_what_ready_pods_wait_for() {
    let mut world = cluster(vec![graceful(None)], 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    world.delays.budget = 60_000;
    taint_nodes(&mut world, &["n1", "n2"], &["maintenance:NoExecute"]);
    world.pass(400);
    assert_eq!(world.monitor.names(), [""; 0]);
    world.change_pod("n1-0", |fact| fact.ready = Some(false));
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
}

#[test]
fn a_budget_without_a_healthy_pod_is_tried_seldom_and_at_once_when_that_changes() {
    let mut world = cluster(vec![graceful(None)], 0);
    for name in ["a", "b", "c"] {
        world.add_pod(name, "web", "n1", |fact| fact.ready = Some(false));
    }
    world.set_replicas("web", 3);
    world.add_budget("web", "web", min_available(0));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(600_000);
    assert_eq!(world.monitor.names(), [""; 0]);
    assert!((8..25).contains(&world.monitor.rejections.len()), "{}", world.monitor.rejections.len());
    world.change_pod("a", |fact| fact.ready = Some(true));
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["a"], "the budget allows one disruption");
}

#[test]
fn two_budgets_for_a_pod_are_never_asked_and_the_deadline_still_counts() {
    let mut world = cluster(vec![graceful(Some(30))], 1);
    world.add_budget("web", "web", min_available(1));
    world.add_budget("other", "web", min_available(1));
    world.pass(1_000);
    let before = world.effects.len();
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(29_000);
    assert_eq!((world.monitor.names().len(), world.effects.len() - before), (0, 0));
    assert_eq!(world.reasons(), [("n1-0".to_owned(), "graceful SeveralBudgets".to_owned())]);
    world.add_pod("n3-1", "web", "n3", |_| {});
    world.pass(1_000);
    assert_eq!(world.reasons().len(), 1, "the budgets have changed, and still select it");
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
}

#[test]
fn a_budget_that_is_not_known_is_not_asked_all_the_time() {
    let mut world = cluster(vec![graceful(Some(600))], 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    world.lose_budget("web");
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(300_000);
    assert_eq!(world.reasons(), [("n1-0".to_owned(), "graceful UnknownBudget".to_owned())]);
    let requests = world.monitor.rejections.len();
    assert!((5..12).contains(&requests), "{requests} times in five minutes");
    world.pass(301_000);
    assert_eq!(world.monitor.names(), ["n1-0"], "at the deadline");
}

#[test]
fn no_request_follows_when_the_taint_is_removed() {
    let mut world = cluster(vec![graceful(Some(3_600))], 4);
    world.add_budget("web", "web", min_available(11));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(500);
    world.set_taints("n1", &[]);
    world.pass(500);
    let (deleted, requested) = (world.monitor.deletions.len(), world.effects.len());
    assert_eq!(deleted, 1);
    world.pass(7_200_000);
    assert_eq!((world.monitor.deletions.len(), world.effects.len()), (deleted, requested));
}

#[test]
fn an_ungoverned_taint_evicts_at_once_whatever_the_policy_delays() {
    let mut world = cluster(vec![graceful(None)], 2);
    world.add_budget("web", "web", min_available(6));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(60_000);
    assert_eq!(world.monitor.names(), [""; 0]);
    world.set_taints("n1", &["maintenance:NoExecute", "node.kubernetes.io/out-of-service:NoExecute"]);
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n1-0", "n1-1"]);
    assert!(world.monitor.deletions.iter().all(|deletion| !deletion.by_eviction_api));
}

#[test]
fn an_ungoverned_taint_evicts_when_its_toleration_runs_out() {
    let mut world = cluster(vec![graceful(None)], 0);
    world.add_budget("web", "web", min_available(1));
    world.set_replicas("web", 1);
    let unreachable = "node.kubernetes.io/unreachable";
    world.add_pod("patient", "web", "n1", |fact| {
        fact.tolerations = vec![taintward_core::testkit::toleration(unreachable, Some(300))];
    });
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute", "node.kubernetes.io/unreachable:NoExecute"]);
    world.pass(299_000);
    assert_eq!(world.monitor.names(), [""; 0]);
    world.pass(2_000);
    assert_eq!(world.monitor.names(), ["patient"]);
}

#[test]
fn a_policy_that_is_removed_delays_nothing_any_more_and_a_new_one_does() {
    let mut world = cluster(vec![graceful(None)], 2);
    world.add_budget("web", "web", min_available(6));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(10_000);
    assert_eq!(world.monitor.names(), [""; 0]);
    world.remove_policy("graceful");
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n1-0", "n1-1"]);
    world.pass(10_000);
    world.set_policy(graceful(None));
    world.pass(1_000);
    taint_nodes(&mut world, &["n2"], &["maintenance:NoExecute"]);
    world.pass(60_000);
    assert_eq!(left_on(&world, "n2"), 2);
}

#[test]
fn an_invalid_policy_delays_what_it_selects_until_it_is_corrected() {
    let mut world = cluster(vec![graceful(Some(0))], 1);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    taint_nodes(&mut world, &["n2"], &["other:NoExecute"]);
    world.pass(60_000);
    assert_eq!(world.monitor.names(), ["n2-0"]);
    assert_eq!(world.reasons(), [("n1-0".to_owned(), "graceful Policy".to_owned())]);
    world.set_policy(graceful(None));
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n2-0", "n1-0"]);
}

#[test]
fn without_a_policy_that_selects_them_evictions_are_as_if_policies_did_not_exist() {
    let elsewhere = EvictionPolicy {
        nodes: taintward_core::admission::LabelSelector::of_labels([("pool", "other")]),
        ..graceful(None)
    };
    let run = |policies| {
        let mut world = cluster(policies, 3);
        world.add_budget("web", "web", min_available(9));
        world.pass(1_000);
        taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
        world.pass(5_000);
        (world.effects, world.monitor.deletions)
    };
    let (effects, deletions) = run(Vec::new());
    assert_eq!(deletions.len(), 3);
    assert_eq!(run(vec![elsewhere]), (effects, deletions));
}

#[test]
fn a_new_leader_continues_where_the_old_one_was() {
    let mut world = cluster(vec![graceful(Some(120))], 4);
    world.add_budget("web", "web", min_available(11));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1", "n2"], &["maintenance:NoExecute"]);
    for _ in 0..8 {
        world.pass(3_300);
        world.restart();
    }
    world.pass(120_000);
    assert_eq!((left_on(&world, "n1"), left_on(&world, "n2")), (0, 0));
}

#[test]
fn the_grace_period_is_capped_and_never_made_longer() {
    let with = |max| vec![EvictionPolicy { grace_seconds_max: Some(max), ..policy("short") }];
    for (max, expected) in [(10, Some(10)), (0, Some(0)), (30, None), (600, None)] {
        let mut world = cluster(with(max), 1);
        taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
        world.pass(1_000);
        let [deletion] = &world.monitor.deletions[..] else { panic!("{:?}", world.monitor.deletions) };
        assert_eq!((deletion.grace, deletion.by_eviction_api), (expected, false), "{max}");
    }
}

#[test]
fn the_eviction_api_sets_the_condition_itself() {
    let mut world = cluster(vec![graceful(None)], 2);
    world.add_budget("web", "web", min_available(4));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(30_000);
    assert_eq!(left_on(&world, "n1"), 0);
    let is_mark =
        |(_, effect): &(i64, EvictionEffect)| matches!(effect, EvictionEffect::SetDisruptionTarget { .. });
    assert!(!world.effects.iter().any(is_mark));
}
