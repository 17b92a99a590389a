//! Tests what changes of namespaces, budgets, and of the definition of policies do to pods that wait.

use super::world::{World, min_available};
use super::{cluster, graceful, left_on, policy, taint_nodes};
use taintward_core::admission::LabelSelector;
use taintward_core::engine::{Engine, Lane};
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput};
use taintward_core::eviction_policy::{EvictionPolicy, SelectedTaint, UnavailableLimit};
use taintward_core::identity::PodRef;
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{node, pod, taint};

const TAINT: [&str; 1] = ["maintenance:NoExecute"];

fn renamed(policy: EvictionPolicy, name: &str) -> EvictionPolicy {
    EvictionPolicy { name: name.into(), ..policy }
}

/// A cluster whose pods on `n1` wait for their budget, under a policy for the namespaces of the team `shop`.
fn waiting() -> World {
    let namespaces = LabelSelector::of_labels([("team", "shop")]);
    let mut world = cluster(vec![EvictionPolicy { namespaces, ..graceful(None) }], 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(60_000);
    assert_eq!(world.monitor.names(), [""; 0]);
    world
}

#[test]
fn a_policy_that_no_longer_selects_the_namespace_delays_nothing() {
    let mut world = waiting();
    world.set_team("shop");
    world.pass(60_000);
    assert_eq!(world.monitor.names(), [""; 0], "nothing has changed");
    world.set_team("other");
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
    world.set_team("shop");
    world.pass(1_000);
    taint_nodes(&mut world, &["n2"], &TAINT);
    world.pass(60_000);
    assert_eq!(left_on(&world, "n2"), 1);
}

#[test]
fn a_policy_that_no_longer_selects_the_pod_delays_it_no_more() {
    let pods = LabelSelector::of_labels([("app", "web")]);
    let mut world = cluster(vec![EvictionPolicy { pods, ..graceful(None) }], 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(60_000);
    assert_eq!(world.monitor.names(), [""; 0]);
    world.budgets.clear();
    world.change_pod("n1-0", |fact| {
        let template = fact.template.as_mut().unwrap();
        template.labels = [("app".into(), "other".into())].into();
    });
    world.pass(500);
    assert_eq!(world.monitor.names(), ["n1-0"]);
}

#[test]
fn a_policy_that_no_longer_selects_the_node_delays_its_pods_no_more() {
    let nodes = LabelSelector::of_labels([("pool", "general")]);
    let mut world = cluster(vec![EvictionPolicy { nodes, ..graceful(None) }], 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(60_000);
    assert_eq!(world.monitor.names(), [""; 0]);
    world.change_node("n1", |fact| fact.labels = Some(Box::new([("pool".into(), "other".into())].into())));
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
}

#[test]
fn a_policy_that_cannot_be_decoded_delays_no_pod_of_a_dead_node() {
    let mut world = cluster(vec![graceful(None)], 1);
    world.lose_policy("graceful");
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    taint_nodes(&mut world, &["n2"], &["node.kubernetes.io/unreachable:NoExecute"]);
    world.pass(60_000);
    assert_eq!(world.monitor.names(), ["n2-0"]);
}

/// A list of one object.
fn listed<F>(fact: F, input: impl Fn(ObjectEvent<F>) -> EvictionInput) -> [EvictionInput; 3] {
    let applied = ObjectEvent::Applied { fact, listed: true };
    [ObjectEvent::ListStarted { silent_since: None }, applied, ObjectEvent::ListCompleted].map(input)
}

#[test]
fn nothing_is_evicted_before_policies_are_listed() {
    let config = EvictionConfig { policies: true, ..EvictionConfig::default() };
    for absent in [false, true] {
        let mut engine = EvictionEngine::new(config.clone());
        let now = crate::common::script::at(1.0);
        let tainted = node("n1").tainted([taint("maintenance:NoExecute")]);
        for input in
            listed(tainted, EvictionInput::Nodes).into_iter().chain(listed(pod("p"), EvictionInput::Pods))
        {
            engine.handle(input, now);
        }
        engine.tick(now.mono);
        assert!(!engine.is_synced() && engine.next_effect(Lane::All, now).is_none());
        if absent {
            engine.handle(EvictionInput::PolicyDefinitionAbsent(true), now);
        } else {
            engine.handle(EvictionInput::Policies(ObjectEvent::ListStarted { silent_since: None }), now);
            engine.handle(EvictionInput::Policies(ObjectEvent::ListCompleted), now);
        }
        engine.tick(now.mono);
        assert!(engine.is_synced() && engine.next_effect(Lane::All, now).is_some(), "{absent}");
    }
}

#[test]
fn a_new_policy_counts_the_nodes_that_are_being_emptied() {
    let mut world = cluster(Vec::new(), 1);
    world.delays.termination = 120_000;
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
    world.set_policy(EvictionPolicy { nodes_at_once: Some(1), ..policy("one") });
    world.pass(1_000);
    taint_nodes(&mut world, &["n2"], &TAINT);
    world.pass(60_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
    world.pass(60_000);
    assert_eq!(world.monitor.names(), ["n1-0", "n2-0"]);
}

#[test]
fn without_the_definition_of_policies_nothing_is_delayed() {
    let mut world = waiting();
    world.set_definition_absent(true);
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
    assert!(world.engine.policy_statuses(world.time()).is_empty());
    world.set_definition_absent(false);
    world.pass(1_000);
    taint_nodes(&mut world, &["n2"], &TAINT);
    world.pass(60_000);
    assert_eq!(left_on(&world, "n2"), 1);
}

#[test]
fn a_budget_that_a_list_does_not_contain_delays_nothing() {
    let mut world = waiting();
    world.budgets.remove("web");
    world.pass(500);
    assert_eq!(world.monitor.names(), [""; 0], "nothing is known of that");
    world.list_objects_of_policies();
    world.pass(500);
    assert_eq!(world.monitor.names(), ["n1-0"]);
}

#[test]
fn an_eviction_that_fails_takes_no_turn_of_other_pods() {
    let mut world = cluster(vec![graceful(None)], 1);
    world.add_budget("web", "web", min_available(2));
    world.pass(1_000);
    world.unavailable.insert("n1-0".to_owned());
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(10);
    taint_nodes(&mut world, &["n2"], &TAINT);
    world.pass(30_000);
    assert_eq!(world.monitor.names(), ["n2-0"]);
    world.unavailable.clear();
    world.pass(60_000);
    assert_eq!(world.monitor.names(), ["n2-0", "n1-0"]);
}

#[test]
fn a_policy_gets_a_limit_of_nodes_and_loses_it() {
    let mut world = cluster(vec![policy("one")], 1);
    world.delays.termination = 120_000;
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(1_000);
    world.limit_nodes(Some(1));
    world.pass(1_000);
    taint_nodes(&mut world, &["n2"], &TAINT);
    world.pass(60_000);
    assert_eq!(world.monitor.names(), ["n1-0"], "it terminates, and was evicted before the limit");
    world.limit_nodes(None);
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n1-0", "n2-0"]);
}

#[test]
fn a_pod_whose_policy_is_removed_waits_no_more_and_is_reported_no_more() {
    let mut world = waiting();
    world.remove_policy("graceful");
    world.pass(500);
    assert_eq!(world.monitor.names(), ["n1-0"]);
    assert!(world.pods["n1-0"].is_terminating && world.reasons().is_empty(), "{:?}", world.reasons());
}

#[test]
fn a_pod_that_waits_is_due_since_the_taint_that_is_left() {
    let select = |key: &str| SelectedTaint { key: key.into(), values: Vec::new() };
    let taints = [select("maintenance"), select("repair")].into();
    let mut world = cluster(vec![EvictionPolicy { taints, ..graceful(None) }], 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    let due = |world: &World| world.engine.delayed().map(|one| one.due).collect::<Vec<_>>();
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(10_000);
    let first = due(&world);
    world.set_taints("n1", &["maintenance:NoExecute", "repair:NoExecute"]);
    world.pass(10_000);
    assert_eq!((first.len(), due(&world)), (1, first.clone()));
    world.set_taints("n1", &["repair:NoExecute"]);
    world.pass(10_000);
    let second: Vec<i64> = due(&world).iter().map(|at| at.since(first[0]).as_micros()).collect();
    assert_eq!(second, [10_000_000]);
}

#[test]
fn a_pod_that_leaves_takes_its_place_in_the_minute_of_the_policy_that_governs_it_now() {
    let mut world = cluster(vec![graceful(None)], 1);
    world.unavailable.insert("n1-0".into());
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(10_000);
    assert!(!world.effects.is_empty());
    world.set_policy(EvictionPolicy { pods_per_minute: Some(1), ..renamed(graceful(None), "slow") });
    world.remove_policy("graceful");
    world.pass(1_000);
    world.unavailable.clear();
    world.pass(60_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
    let left = world.now;
    taint_nodes(&mut world, &["n2"], &TAINT);
    world.pass(120_000);
    let (first, second) =
        (world.monitor.deleted_at("n1-0").unwrap(), world.monitor.deleted_at("n2-0").unwrap());
    assert!(second >= left && second - first >= 60_000, "{first} {second}");
}

/// The DELETE may be carried out or not: its node counts until the pod is gone or stays.
#[test]
fn an_eviction_in_flight_counts_for_a_limit_of_nodes_that_is_new() {
    let mut world = cluster(Vec::new(), 1);
    (world.delays.request, world.delays.termination) = (4_000, 20_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    let is_delete = |(_, effect): &(i64, EvictionEffect)| matches!(effect, EvictionEffect::DeletePod { .. });
    while !world.effects.iter().any(is_delete) {
        world.pass(10);
    }
    world.set_policy(EvictionPolicy { nodes_at_once: Some(1), ..policy("one") });
    world.pass(100);
    assert_eq!(world.monitor.names(), [""; 0], "it is in flight");
    world.delays.request = 20;
    taint_nodes(&mut world, &["n2"], &TAINT);
    world.pass(15_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
    world.pass(15_000);
    assert_eq!(world.monitor.names(), ["n1-0", "n2-0"]);
}

/// A node is free when its last pod is gone, and the engine says at once that it has work.
#[test]
fn the_engine_has_work_when_a_node_becomes_free() {
    let mut world = cluster(vec![EvictionPolicy { nodes_at_once: Some(1), ..policy("one") }], 1);
    world.delays.termination = 600_000;
    taint_nodes(&mut world, &["n1", "n2"], &TAINT);
    world.pass(10_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
    let fact = &world.pods["n1-0"].fact;
    let gone = PodRef { node: fact.node.clone(), uid: fact.id.uid().clone() };
    let now = world.time();
    assert!(!world.engine.has_work(Lane::All, now.mono));
    world.engine.handle(EvictionInput::Pods(ObjectEvent::Deleted(gone.into())), now);
    assert!(world.engine.has_work(Lane::All, now.mono));
    assert!(world.engine.next_effect(Lane::All, now).is_some());
}

#[test]
fn a_budget_that_is_gone_is_not_kept() {
    let mut world = cluster(vec![graceful(None)], 1);
    world.add_budget("the-budget", "web", min_available(3));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(10_000);
    let knows = |world: &World| format!("{:?}", world.engine).contains("the-budget");
    assert!(knows(&world) && world.monitor.names().is_empty());
    world.remove_budget("the-budget");
    world.pass(10_000);
    assert_eq!((knows(&world), world.monitor.names()), (false, vec!["n1-0"]));
}

/// Whether the API server has carried it out is unknown until the pod is read (P31).
#[test]
fn an_eviction_without_a_response_is_followed_by_a_read_before_the_pod_waits() {
    let mut world = cluster(vec![graceful(None)], 1);
    world.add_budget("web", "web", min_available(2));
    world.unavailable.insert("n1-0".into());
    world.delays.termination = 600_000;
    world.delays.replacement = 600_000;
    world.pass(1_000);
    taint_nodes(&mut world, &["n1", "n2"], &TAINT);
    world.pass(5_000);
    assert_eq!(world.monitor.names(), ["n2-0"]);
    assert_eq!(world.reasons(), [("n1-0".to_owned(), "graceful Budget web".to_owned())]);
    let is_read = |(_, effect): &&(i64, EvictionEffect)| matches!(effect, EvictionEffect::ReadPod { .. });
    assert_eq!(world.effects.iter().filter(is_read).count(), 1);
}

/// Its eviction fails, and it waits up to half a minute for the next attempt.
#[test]
fn a_pod_that_waits_for_a_retry_is_deleted_at_the_deadline_of_its_policy() {
    for deadline in [50, 60, 70, 80] {
        let mut world = cluster(vec![graceful(Some(deadline))], 1);
        world.unavailable.insert("n1-0".into());
        taint_nodes(&mut world, &["n1"], &TAINT);
        let tainted = world.now;
        world.pass(1_000 * deadline + 5_000);
        let deleted = world.monitor.deleted_at("n1-0").unwrap() - tainted - 1_000 * deadline;
        assert!((0..500).contains(&deleted), "{deleted} ms after {deadline} s");
    }
}

/// Its eviction is tried again and again, so that it may be gone at any moment.
#[test]
fn a_pod_that_leaves_counts_for_a_limit_of_replicas_that_is_new() {
    let mut world = cluster(vec![graceful(None)], 1);
    world.unavailable.insert("n1-0".into());
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(10_000);
    let limit = Some(UnavailableLimit { replicas: Some(1), percent: None });
    world.set_policy(EvictionPolicy { unavailable_per_workload: limit, ..graceful(None) });
    world.pass(1_000);
    taint_nodes(&mut world, &["n2"], &TAINT);
    world.pass(60_000);
    assert_eq!(world.monitor.names(), [""; 0]);
}
