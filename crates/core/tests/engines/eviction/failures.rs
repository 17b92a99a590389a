//! Tests failures: retries, leftover conditions, conflicts and undecodable objects.

use crate::common::{bears, seconds};
use crate::eviction::one_node;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::Engine;
use taintward_core::eviction::EvictionEffect;
use taintward_core::object_event::{ObjectEvent, ObjectRef};

#[test]
fn d3_failures_are_retried_without_limit_and_confirmed_again_each_time() {
    for failure in
        [ApiFailure::Rejected, ApiFailure::Unavailable, ApiFailure::Forbidden, ApiFailure::Throttled(None)]
    {
        let mut world = one_node();
        world.add_pod("p", "n1", &[]);
        world.faults = [None, None].into_iter().chain([Some(failure); 40]).collect();
        world.taint("n1", "k");
        world.pass(seconds(3000.0));
        assert_eq!(world.left(), ["p"], "{failure:?}");
        let tries = world.effects.len();
        assert!((40..60).contains(&tries), "{failure:?}: {tries} requests");
    }
    let mut world = one_node();
    world.add_pod("p", "n1", &[]);
    world.faults = [None, None].into_iter().chain([Some(ApiFailure::Rejected); 5]).collect();
    world.taint("n1", "k");
    world.pass(seconds(0.5));
    world.untaint("n1", "k");
    world.pass(seconds(3000.0));
    assert!(world.left().is_empty());
}

#[test]
fn s9_a_mark_is_not_left_behind() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[]);
    world.faults = [None, None].into_iter().chain([Some(ApiFailure::Rejected); 3]).collect();
    world.taint("n1", "k");
    assert!(world.pods["p"].fact.marked);
    // Removing the mark meets the two remaining faults; nothing else is pending.
    world.untaint("n1", "k");
    world.pass(seconds(1.0));
    assert!(!world.pods["p"].fact.marked);
    world.pass(seconds(60.0));
    assert!(world.left().is_empty());
}

#[test]
fn s9_a_mark_of_a_crashed_process_is_removed_within_a_minute() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[bears("k", Some(600))]);
    world.edit_pod("p", |fact| fact.marked = true);
    world.restart();
    world.pass(seconds(10.0));
    assert!(world.pods["p"].fact.marked, "a request of the previous process may still be in flight");
    world.pass(seconds(50.0));
    assert!(!world.pods["p"].fact.marked);
    world.taint("n1", "k");
    let due = world.now + seconds(600.0);
    world.pass(seconds(1000.0));
    assert_eq!(world.deleted_at("p"), Some(due));
}

#[test]
fn p45_a_pod_that_changes_all_the_time_is_still_evicted() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[]);
    // Read and mark succeed; every DELETE with a version as precondition fails; reads succeed.
    world.faults =
        [None, None].into_iter().chain((0..20).flat_map(|_| [Some(ApiFailure::Conflict), None])).collect();
    world.taint("n1", "k");
    world.pass(seconds(3.0));
    let versionless =
        world.effects.iter().any(|effect| matches!(effect, EvictionEffect::DeletePod { version: None, .. }));
    assert!(versionless, "{:?}", world.effects);
}

#[test]
fn d11_an_undecodable_pod_or_node_evicts_no_pod_until_it_is_decodable() {
    use taintward_core::eviction::EvictionInput;
    let mut world = one_node();
    let pod = world.add_pod("p", "n1", &[bears("k", Some(60))]);
    world.taint("n1", "k");
    world.pass(seconds(30.0));
    let clock = world.clock();
    world
        .engine
        .handle(EvictionInput::Pods(ObjectEvent::Undecodable(ObjectRef::pod(pod.uid.clone(), None))), clock);
    world.pass(seconds(100.0));
    assert!(world.left().is_empty());
    world.edit_pod("p", |_| ());
    assert_eq!(world.left(), ["p"]);

    let mut world = one_node();
    world.add_pod("p", "n1", &[bears("k", Some(60))]);
    world.taint("n1", "k");
    let clock = world.clock();
    world
        .engine
        .handle(EvictionInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(&pod.node, None))), clock);
    world.pass(seconds(100.0));
    assert!(world.left().is_empty());
    world.taint("n1", "other");
    assert_eq!(world.left(), ["p"]);
}
