//! Tests what the engine counts for metrics and users, at each step of a node's way.

use crate::node_lifecycle::harness::NodeLifecycleHarness;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine as _, Lane, LiveRead};
use taintward_core::identity::NodeName;
use taintward_core::node_lifecycle::{
    ConditionStatus, LiveNodeAndLease, NodeLifecycleFlags, NodeLifecycleInput, NodeLifecycleStats,
};

/// What is counted apart from the four nodes.
fn counts(harness: &NodeLifecycleHarness) -> NodeLifecycleStats {
    let stats = harness.engine.as_ref().expect("it runs").stats();
    assert_eq!(stats.nodes, 4);
    NodeLifecycleStats { nodes: 0, ..stats }
}

#[test]
fn each_step_of_a_silent_node_is_counted() {
    let none = NodeLifecycleStats::default();
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    harness.bind("web", "a1");
    assert_eq!(counts(&harness), none);
    harness.leading = false;
    harness.kill(&["a1"]);
    harness.pass(60);
    assert_eq!(counts(&harness), NodeLifecycleStats { silent: 1, ..none });
    let (name, now) = (NodeName::new("a1"), harness.clock());
    let stored = &harness.stored["a1"];
    let lease = stored.lease.clone().map_or(LiveRead::NotFound, LiveRead::Found);
    let live = LiveNodeAndLease { node: LiveRead::Found(stored.node.clone()), lease };
    let engine = harness.engine.as_mut().expect("it runs");
    assert!(engine.next_effect(Lane::All, now).is_some());
    assert_eq!(counts(&harness), NodeLifecycleStats { silent: 1, in_flight: 1, ..none });
    let engine = harness.engine.as_mut().expect("it runs");
    engine
        .handle(NodeLifecycleInput::Confirmed { node: name.clone(), sent: now.mono, result: Ok(live) }, now);
    assert!(engine.next_effect(Lane::All, now).is_some());
    engine.handle(NodeLifecycleInput::Written { node: name, result: Err(ApiFailure::Unavailable) }, now);
    assert_eq!(counts(&harness), NodeLifecycleStats { silent: 1, failing: 1, ..none });
    harness.leading = true;
    harness.pass(5);
    assert_eq!(counts(&harness), NodeLifecycleStats { silent: 1, tainted: 1, ..none });
    harness.revive(&["a1"]);
    harness.pass(30);
    assert_eq!(counts(&harness), none);
}

#[test]
fn nodes_that_wait_and_pods_to_mark_are_counted() {
    let none = NodeLifecycleStats::default();
    let flags = NodeLifecycleFlags {
        eviction_rate: 0.0,
        secondary_eviction_rate: 0.0,
        ..NodeLifecycleFlags::default()
    };
    let mut harness = NodeLifecycleHarness::unsettled(&[("a", 4)], flags);
    harness.pass(100);
    ["web", "db"].iter().for_each(|pod| harness.bind(pod, "a1"));
    harness.leading = false;
    ["a1", "a2"].iter().for_each(|node| harness.set_ready(node, false));
    harness.pass(1);
    assert_eq!(counts(&harness), NodeLifecycleStats { marks: 2, ..none });
    harness.leading = true;
    harness.pass(20);
    assert_eq!(counts(&harness), NodeLifecycleStats { waiting: 2, ..none });
    harness.edit("a3", |node| node.conditions[0].status = ConditionStatus::Other);
    harness.pass(1);
    assert_eq!(counts(&harness), NodeLifecycleStats { waiting: 2, not_understood: 1, ..none });
}
