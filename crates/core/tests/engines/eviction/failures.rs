//! Tests failures: retries, leftover conditions, conflicts and undecodable objects.

use crate::common::seconds;
use crate::eviction::one_node;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::Engine;
use taintward_core::eviction::EvictionEffect;
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::testkit::toleration;

#[test]
fn d3_failures_are_retried_without_limit_and_confirmed_again_each_time() {
    for failure in
        [ApiFailure::Rejected, ApiFailure::Unavailable, ApiFailure::Forbidden, ApiFailure::Throttled(None)]
    {
        let mut harness = one_node();
        harness.add_pod("p", "n1", &[]);
        harness.faults = [None, None].into_iter().chain([Some(failure); 40]).collect();
        harness.add_taint("n1", "k");
        harness.pass(seconds(3000.0));
        assert_eq!(harness.left(), ["p"], "{failure:?}");
        let tries = harness.effects.len();
        assert!((40..60).contains(&tries), "{failure:?}: {tries} requests");
    }
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[]);
    harness.faults = [None, None].into_iter().chain([Some(ApiFailure::Rejected); 5]).collect();
    harness.add_taint("n1", "k");
    harness.pass(seconds(0.5));
    harness.untaint("n1", "k");
    harness.pass(seconds(3000.0));
    assert!(harness.left().is_empty());
}

#[test]
fn s9_a_mark_is_not_left_behind() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[]);
    harness.faults = [None, None].into_iter().chain([Some(ApiFailure::Rejected); 3]).collect();
    harness.add_taint("n1", "k");
    assert!(harness.pods["p"].fact.marked);
    // Removing the mark meets the two remaining faults; nothing else is pending.
    harness.untaint("n1", "k");
    harness.pass(seconds(1.0));
    assert!(!harness.pods["p"].fact.marked);
    harness.pass(seconds(60.0));
    assert!(harness.left().is_empty());
}

#[test]
fn s9_a_mark_of_a_crashed_process_is_removed_within_a_minute() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[toleration("k", Some(600))]);
    harness.edit_pod("p", |fact| fact.marked = true);
    harness.restart();
    harness.pass(seconds(10.0));
    assert!(harness.pods["p"].fact.marked, "a request of the previous process may still be in flight");
    harness.pass(seconds(50.0));
    assert!(!harness.pods["p"].fact.marked);
    harness.add_taint("n1", "k");
    let due = harness.now + seconds(600.0);
    harness.pass(seconds(1000.0));
    assert_eq!(harness.deleted_at("p"), Some(due));
}

#[test]
fn p45_a_pod_that_changes_all_the_time_is_still_evicted() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[]);
    // Read and mark succeed; every DELETE with a version as precondition fails; reads succeed.
    harness.faults =
        [None, None].into_iter().chain((0..20).flat_map(|_| [Some(ApiFailure::Conflict), None])).collect();
    harness.add_taint("n1", "k");
    harness.pass(seconds(3.0));
    let versionless = harness
        .effects
        .iter()
        .any(|effect| matches!(effect, EvictionEffect::DeletePod { version: None, .. }));
    assert!(versionless, "{:?}", harness.effects);
}

#[test]
fn d11_an_undecodable_pod_or_node_evicts_no_pod_until_it_is_decodable() {
    use taintward_core::eviction::EvictionInput;
    let mut harness = one_node();
    let pod = harness.add_pod("p", "n1", &[toleration("k", Some(60))]);
    harness.add_taint("n1", "k");
    harness.pass(seconds(30.0));
    let clock = harness.clock();
    harness
        .engine
        .handle(EvictionInput::Pods(ObjectEvent::Undecodable(ObjectRef::pod(pod.uid.clone(), None))), clock);
    harness.pass(seconds(100.0));
    assert!(harness.left().is_empty());
    harness.edit_pod("p", |_| ());
    assert_eq!(harness.left(), ["p"]);

    let mut harness = one_node();
    harness.add_pod("p", "n1", &[toleration("k", Some(60))]);
    harness.add_taint("n1", "k");
    let clock = harness.clock();
    harness
        .engine
        .handle(EvictionInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(&pod.node, None))), clock);
    harness.pass(seconds(100.0));
    assert!(harness.left().is_empty());
    harness.add_taint("n1", "other");
    assert_eq!(harness.left(), ["p"]);
}
