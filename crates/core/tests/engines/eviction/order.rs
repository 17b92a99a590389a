//! Tests orders that matter and orders that must not: of pods, of facts, of leadership and lists.

use crate::common::paired::PairedEngine;
use crate::common::{EvictionHarness, seconds};
use crate::eviction::one_node;
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionConfig, EvictionEffect};
use taintward_core::fact::PodOwnerKind;
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::toleration;

#[test]
fn te_46_order_among_pods_due_at_the_same_instant() {
    let mut harness = one_node();
    harness.engine = PairedEngine::new(EvictionConfig::default());
    for (name, priority, owner, critical) in [
        ("critical", 0, PodOwnerKind::Other, true),
        ("as-critical", 2_000_001_000, PodOwnerKind::Other, false),
        ("daemon-high", 1000, PodOwnerKind::DaemonSet, false),
        ("daemon-low", -5, PodOwnerKind::DaemonSet, false),
        ("high", 1000, PodOwnerKind::Other, false),
        ("low", -5, PodOwnerKind::Other, false),
        ("middle", 0, PodOwnerKind::Job, false),
    ] {
        harness.add_pod(name, "n1", &[]);
        harness.edit_pod(name, |fact| {
            (fact.priority, fact.owner, fact.node_critical) = (priority, owner, critical);
        });
    }
    harness.list(true);
    harness.add_taint("n1", "k");
    assert_eq!(
        harness.left(),
        ["low", "middle", "high", "daemon-low", "daemon-high", "critical", "as-critical"]
    );
}

#[test]
fn p34_nothing_is_lost_while_effects_are_not_pulled() {
    let mut harness = one_node();
    let mut idle = PairedEngine::new(EvictionConfig::default());
    std::mem::swap(&mut idle, &mut harness.engine);
    harness.restart();
    harness.add_pod("p", "n1", &[toleration("k", Some(5))]);
    harness.add_taint("n1", "k");
    // Time passes for the engine, but it may not act.
    for _ in 0..10 {
        harness.now += seconds(3.0);
        let mono = harness.clock().mono;
        harness.engine.tick(mono);
    }
    assert!(harness.left().is_empty());
    harness.work();
    assert_eq!(harness.left(), ["p"]);
}

#[test]
fn equal_facts_make_equal_engines_in_any_order() {
    let build = |order: &[usize]| {
        let mut harness = one_node();
        harness.deaf = true;
        harness.add_node("n2");
        for at in 0..6 {
            let node = if at % 2 == 0 { "n1" } else { "n2" };
            harness.add_pod(&format!("p{at}"), node, &[toleration("k", Some(at))]);
        }
        harness.add_taint("n2", "other");
        let inputs: Vec<_> = harness.wire.drain(..).collect();
        let clock = harness.clock();
        for &at in order {
            harness.engine.handle(inputs[at].clone(), clock);
        }
        harness.engine.take_notices();
        harness.engine
    };
    let straight = build(&[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(straight, build(&[7, 6, 5, 4, 3, 2, 1, 0]));
    assert_eq!(straight, build(&[3, 3, 1, 0, 7, 7, 2, 6, 5, 4, 0, 1]));
    assert_ne!(straight, build(&[0, 1, 2, 3, 4, 5, 6]));
}

#[test]
fn te_7_no_pod_is_evicted_before_both_lists_are_complete() {
    use taintward_core::engine::Lane;
    use taintward_core::eviction::EvictionInput;
    let mut harness = one_node();
    harness.deaf = true;
    harness.add_pod("p", "n1", &[]);
    harness.add_taint("n1", "k");
    let (node, pod, clock) =
        (harness.node_fact("n1").expect("the node"), harness.pods["p"].fact.clone(), harness.clock());
    let mut engine = PairedEngine::new(EvictionConfig::default());
    for input in [
        EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }),
        EvictionInput::Nodes(ObjectEvent::Applied { fact: node, listed: true }),
        EvictionInput::Nodes(ObjectEvent::ListCompleted),
        EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }),
        EvictionInput::Pods(ObjectEvent::Applied { fact: pod, listed: true }),
    ] {
        engine.handle(input, clock);
        assert_eq!(engine.next_effect(Lane::All, clock), None);
    }
    engine.handle(EvictionInput::Pods(ObjectEvent::ListCompleted), clock);
    assert!(matches!(engine.next_effect(Lane::All, clock), Some(EvictionEffect::ReadNode { .. })));
}

/// Both streams are independent: whichever is ahead, the end is the same. A pod whose event arrives before its node's
/// is not lost, and no pod is evicted because of a taint that the node has lost but whose event is late.
#[test]
fn te_6_the_end_is_the_same_whichever_stream_is_ahead() {
    use taintward_core::eviction::EvictionInput;
    for untainted in [false, true] {
        let mut ends = Vec::new();
        for nodes_first in [true, false] {
            let mut harness = EvictionHarness::new();
            harness.deaf = true;
            harness.add_node("n1");
            harness.add_taint("n1", "k");
            for (name, seconds) in [("now", None), ("later", Some(5))] {
                let tolerations: Vec<_> =
                    seconds.map(|seconds| toleration("k", Some(seconds))).into_iter().collect();
                harness.add_pod(name, "n1", &tolerations);
            }
            if untainted {
                harness.untaint("n1", "k");
            }
            let (nodes, pods): (Vec<_>, Vec<_>) = harness
                .wire
                .drain(..)
                .partition(|input| matches!(input, EvictionInput::Nodes(ObjectEvent::Applied { .. })));
            let (first, second) = if nodes_first { (nodes, pods) } else { (pods, nodes) };
            for input in first.into_iter().chain(second) {
                harness.engine.handle(input, harness.clock());
                // All effects are carried out between any two events.
                harness.work();
            }
            harness.deaf = false;
            harness.receive();
            harness.pass(seconds(4.5));
            let early = harness.left().join(" ");
            harness.pass(seconds(2.0));
            let fresh = PairedEngine::new(EvictionConfig::default());
            let census = std::mem::replace(&mut harness.engine, fresh).stats();
            ends.push((early, harness.left().join(" "), census));
        }
        let (early, end, _) = &ends[0];
        let expected = if untainted { ("", "") } else { ("now", "now later") };
        assert_eq!((early.as_str(), end.as_str()), expected);
        assert_eq!(ends[0], ends[1]);
    }
}
