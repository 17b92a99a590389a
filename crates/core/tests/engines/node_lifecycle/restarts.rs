//! Tests restarts and changes of leader in each phase: no taint is removed, added too soon or too fast (D12).

use crate::node_lifecycle::harness::{NodeLifecycleHarness, What};
use taintward_core::api_error::ApiFailure;
use taintward_core::node_lifecycle::{ManagedTaint, NodeLifecycleInput};

/// NL-40: at every second of a node's death a restart removes nothing, and the node is tainted in time: after at most a
/// grace period of observation and one token.
#[test]
fn nl_40_a_restart_in_each_phase_untaints_no_node() {
    for second in (0..130).step_by(3) {
        let mut harness = NodeLifecycleHarness::new(&[("a", 5), ("b", 5)]);
        harness.kill(&["a1", "a3"]);
        harness.pass(second);
        let before = harness.tainted().len();
        harness.crash();
        harness.pass(4);
        harness.start();
        let lifted = |harness: &NodeLifecycleHarness| {
            harness
                .commits
                .iter()
                .any(|it| matches!(it.what, What::Taint { remove, .. } if !remove.no_execute().is_empty()))
        };
        assert!(!lifted(&harness) && harness.tainted().len() >= before, "at {second} s");
        harness.pass(75);
        assert_eq!(harness.tainted(), ["a1", "a3"], "at {second} s");
        assert!(!lifted(&harness), "at {second} s");
        let put = |name: &str| {
            let adds = |what: &What| matches!(what, What::Taint { add, .. } if add.has(ManagedTaint::UnreachableNoExecute));
            harness.commits.iter().filter(|it| it.node == name && adds(&it.what)).count()
        };
        assert_eq!((put("a1"), put("a3")), (1, 1), "NL-40: not again, at {second} s");
    }
}

/// A crash after each number of requests, with the response lost.
#[test]
fn a_crash_at_each_request() {
    for crash_at in 0..8 {
        let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
        harness.bind("web", "a1");
        harness.kill(&["a1"]);
        harness.faults =
            (0..=crash_at).map(|at| (at == crash_at).then_some(ApiFailure::Unavailable)).collect();
        harness.pass(60);
        harness.crash();
        harness.start();
        harness.pass(80);
        assert_eq!(harness.tainted(), ["a1"]);
        assert_eq!(harness.pods["web"].1.ready, Some(taintward_core::node_lifecycle::ConditionStatus::False));
    }
}

/// S6, P36: crashing every minute does not speed up taints; the checker counts over all processes.
#[test]
fn s6_a_crash_loop_is_not_faster_than_the_rate() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 40), ("b", 3)]);
    let names: Vec<String> = (0..10).map(|at| format!("a{at}")).collect();
    harness.kill(&names.iter().map(String::as_str).collect::<Vec<_>>());
    for _ in 0..6 {
        harness.pass(64);
        harness.crash();
        harness.start();
    }
    assert!(!harness.tainted().is_empty());
}

/// S6: a new leader starts with an empty bucket.
#[test]
fn s6_a_new_leader_starts_with_an_empty_bucket() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 10)]);
    harness.leading = false;
    harness.kill(&["a1"]);
    harness.pass(70);
    harness.leading = true;
    harness.invariants.start(harness.now - 60_000_000);
    harness.submit(NodeLifecycleInput::BecameLeader);
    harness.pass(9);
    assert_eq!(harness.tainted(), Vec::<&str>::new());
    assert!(harness.own("a1").has(ManagedTaint::Unreachable), "the rest does not wait");
    harness.pass(2);
    assert_eq!(harness.tainted(), ["a1"]);
}

/// A node recovers while no process watches: both taints are removed at the first observation, because it reports
/// itself that it is ready.
#[test]
fn a_node_that_recovered_unobserved_is_untainted() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    harness.kill(&["a1"]);
    harness.pass(70);
    assert_eq!(harness.tainted(), ["a1"]);
    harness.crash();
    harness.revive(&["a1"]);
    harness.pass(5);
    harness.start();
    harness.pass(1);
    assert_eq!(harness.tainted(), Vec::<&str>::new());
}

/// A restart while all nodes are down: nothing is added, nothing is left.
#[test]
fn a_restart_while_all_nodes_are_down() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 3)]);
    harness.kill(&["a0", "a1", "a2"]);
    harness.pass(100);
    harness.crash();
    harness.pass(1);
    harness.start();
    harness.pass(300);
    assert!(harness.invariants.evictions.is_empty());
}
