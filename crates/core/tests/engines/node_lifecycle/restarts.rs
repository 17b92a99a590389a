//! Tests restarts and changes of leader in each phase: no taint is removed, added too soon or too fast (D12).

use crate::node_lifecycle::world::{What, World};
use taintward_core::api_error::ApiFailure;
use taintward_core::node_lifecycle::{ManagedTaint, NodeLifecycleInput};

/// NL-40: at every second of a node's death a restart removes nothing, and the node is tainted in time: after at most a
/// grace period of observation and one token.
#[test]
fn nl_40_a_restart_in_each_phase_untaints_no_node() {
    for second in (0..130).step_by(3) {
        let mut world = World::new(&[("a", 5), ("b", 5)]);
        world.kill(&["a1", "a3"]);
        world.pass(second);
        let before = world.tainted().len();
        world.crash();
        world.pass(4);
        world.start();
        let lifted = |world: &World| {
            world
                .commits
                .iter()
                .any(|it| matches!(it.what, What::Taint { remove, .. } if !remove.no_execute().is_empty()))
        };
        assert!(!lifted(&world) && world.tainted().len() >= before, "at {second} s");
        world.pass(75);
        assert_eq!(world.tainted(), ["a1", "a3"], "at {second} s");
        assert!(!lifted(&world), "at {second} s");
        let put = |name: &str| {
            let adds = |what: &What| matches!(what, What::Taint { add, .. } if add.has(ManagedTaint::UnreachableNoExecute));
            world.commits.iter().filter(|it| it.node == name && adds(&it.what)).count()
        };
        assert_eq!((put("a1"), put("a3")), (1, 1), "NL-40: not again, at {second} s");
    }
}

/// A crash after each number of requests, with the response lost.
#[test]
fn a_crash_at_each_request() {
    for crash_at in 0..8 {
        let mut world = World::new(&[("a", 4)]);
        world.bind("web", "a1");
        world.kill(&["a1"]);
        world.faults = (0..=crash_at).map(|at| (at == crash_at).then_some(ApiFailure::Unavailable)).collect();
        world.pass(60);
        world.crash();
        world.start();
        world.pass(80);
        assert_eq!(world.tainted(), ["a1"]);
        assert_eq!(world.pods["web"].1.ready, Some(taintward_core::node_lifecycle::ConditionStatus::False));
    }
}

/// S6, P36: crashing every minute does not speed up taints; the checker counts over all processes.
#[test]
fn s6_a_crash_loop_is_not_faster_than_the_rate() {
    let mut world = World::new(&[("a", 40), ("b", 3)]);
    let names: Vec<String> = (0..10).map(|at| format!("a{at}")).collect();
    world.kill(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for _ in 0..6 {
        world.pass(64);
        world.crash();
        world.start();
    }
    assert!(!world.tainted().is_empty());
}

/// S6: a new leader starts with an empty bucket.
#[test]
fn s6_a_new_leader_starts_with_an_empty_bucket() {
    let mut world = World::new(&[("a", 10)]);
    world.leading = false;
    world.kill(&["a1"]);
    world.pass(70);
    world.leading = true;
    world.judge.start(world.now - 60_000_000);
    world.submit(NodeLifecycleInput::BecameLeader);
    world.pass(9);
    assert_eq!(world.tainted(), Vec::<&str>::new());
    assert!(world.own("a1").has(ManagedTaint::Unreachable), "the rest does not wait");
    world.pass(2);
    assert_eq!(world.tainted(), ["a1"]);
}

/// A node recovers while no process watches: both taints are removed at the first observation, because it reports
/// itself that it is ready.
#[test]
fn a_node_that_recovered_unobserved_is_untainted() {
    let mut world = World::new(&[("a", 4)]);
    world.kill(&["a1"]);
    world.pass(70);
    assert_eq!(world.tainted(), ["a1"]);
    world.crash();
    world.revive(&["a1"]);
    world.pass(5);
    world.start();
    world.pass(1);
    assert_eq!(world.tainted(), Vec::<&str>::new());
}

/// A restart while all nodes are down: nothing is added, nothing is left.
#[test]
fn a_restart_while_all_nodes_are_down() {
    let mut world = World::new(&[("a", 3)]);
    world.kill(&["a0", "a1", "a2"]);
    world.pass(100);
    world.crash();
    world.pass(1);
    world.start();
    world.pass(300);
    assert!(world.judge.evictions.is_empty());
}
