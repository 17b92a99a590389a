//! Tests that a copy of the engine shows what a controller with the same facts delays.

use super::world::{World, min_available};
use super::{cluster, graceful, taint_nodes};
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::engine::Engine;
use taintward_core::eviction::{BrakedKey, EvictionEngine};
use taintward_core::node_limit::NodeLimit;
use taintward_core::time::{Mono, Span};

const MAINTENANCE: &[&str] = &["maintenance:NoExecute"];

/// The sentence of each delayed pod.
fn delayed(engine: &EvictionEngine) -> BTreeMap<String, String> {
    engine.delayed().map(|delayed| (delayed.name.name().to_owned(), delayed.reason.to_string())).collect()
}

fn undelayed(engine: &EvictionEngine) -> BTreeSet<String> {
    engine.undelayed().map(|due| due.name.name().to_owned()).collect()
}

/// Another process lists everything, and evicts nothing.
fn copied(world: &mut World) -> EvictionEngine {
    world.restart();
    let (before, now) = (world.engine.clone(), world.time());
    let copy = world.engine.after_turns(now);
    assert!(world.engine == before && before.delayed().next().is_none(), "the engine itself has no turn");
    copy
}

#[test]
fn a_copy_delays_what_the_controller_delays() {
    let mut world = cluster(vec![graceful(Some(600))], 2);
    world.add_budget("web", "web", min_available(6));
    world.set_replicas("free", 1);
    world.add_pod("free-0", "free", "n1", |_| {});
    world.pass(1_000);
    let before = copied(&mut world);
    assert!(delayed(&before).is_empty() && undelayed(&before).is_empty(), "no pod is due");
    taint_nodes(&mut world, &["n1"], MAINTENANCE);
    let due = world.time().mono;
    let copy = copied(&mut world);
    let sentence = "waits for budget default/web: 6 pods are healthy, 6 required";
    let expected: BTreeMap<String, String> =
        ["n1-0", "n1-1"].map(|name| (name.to_owned(), sentence.to_owned())).into();
    assert_eq!(delayed(&copy), expected, "no pod of the other nodes");
    assert_eq!(undelayed(&copy), BTreeSet::from(["free-0".to_owned()]));
    let forced: Vec<Mono> = copy.delayed().filter_map(|delayed| delayed.forced_at).collect();
    let last = due.plus(Span::from_secs(600));
    assert!(forced.len() == 2 && forced.iter().all(|at| due < *at && *at <= last), "{forced:?}");
    world.pass(3_000);
    assert_eq!(delayed(&world.engine), expected, "the controller delays the same");
    taint_nodes(&mut world, &["n1"], &[]);
    world.pass(100);
    let after = copied(&mut world);
    assert!(delayed(&after).is_empty() && undelayed(&after).is_empty(), "no pod is due any more");
}

#[test]
fn a_marked_pod_is_delayed_like_any_other_and_a_policy_without_a_deadline_forces_nothing() {
    let mut world = cluster(vec![graceful(None)], 1);
    world.add_budget("web", "web", min_available(3));
    world.add_pod("marked", "web", "n1", |fact| fact.marked = true);
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], MAINTENANCE);
    world.pods.values_mut().for_each(|pod| pod.fact.marked = true);
    let copy = copied(&mut world);
    // The budget allows one of the four pods, and evicts it first.
    assert_eq!((delayed(&copy).len(), undelayed(&copy).len()), (1, 1), "{:?}", delayed(&copy));
    assert!(copy.delayed().all(|delayed| delayed.forced_at.is_none()));
}

#[test]
fn a_copy_shows_the_keys_that_the_brake_delays() {
    let brake = |nodes| Some(NodeLimit { nodes: Some(nodes), percent: None });
    for (limit, expected) in [(1, vec![BrakedKey { key: "k".into(), nodes: 3, limit: 1 }]), (3, Vec::new())] {
        let mut world = World::with_brake(brake(limit), Vec::new());
        for node in ["n1", "n2", "n3"] {
            world.add_node(node, "general");
            world.add_pod(&format!("{node}-0"), "web", node, |_| {});
        }
        world.pass(1_000);
        ["n1", "n2", "n3"].iter().for_each(|node| world.set_taints(node, &["k=v:NoExecute"]));
        let copy = copied(&mut world);
        assert_eq!(copy.braked_keys(), expected);
        let braked = if limit == 1 { 3 } else { 0 };
        assert_eq!((delayed(&copy).len(), undelayed(&copy).len()), (braked, 3 - braked));
        assert!(copy.is_synced());
    }
}
