//! Tests what happens between a pull and its response: how old a live read may be, and to which UID a response applies.

use crate::common::monitored::MonitoredEngine;
use crate::node_lifecycle::harness::{NodeLifecycleHarness, SECOND, What};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{
    ConditionKind, ConditionStatus, DelayReason, LiveNodeAndLease, ManagedTaint, ManagedTaints,
    NodeCondition, NodeLifecycleEffect, NodeLifecycleInput,
};
use taintward_core::node_lifecycle_monitor::NodeLifecycleMonitor;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Span, Wall};

/// A follower's engine that knows a silent node, with no effect pulled yet.
fn silent() -> NodeLifecycleHarness {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    harness.leading = false;
    harness.kill(&["a1"]);
    harness.pass(60);
    harness
}

fn reading(harness: &NodeLifecycleHarness, name: &str) -> LiveNodeAndLease {
    let stored = &harness.stored[name];
    let lease = stored.lease.clone().map_or(LiveRead::NotFound, LiveRead::Found);
    LiveNodeAndLease { node: LiveRead::Found(stored.node.clone()), lease }
}

/// S7(a): a live read is valid for two seconds.
#[test]
fn a_live_read_is_valid_for_two_seconds() {
    for (age, declares) in [(2_000_000, true), (2_000_001, false)] {
        let mut harness = silent();
        let name = NodeName::new("a1");
        let now = harness.clock();
        let result = Ok(reading(&harness, "a1"));
        let engine = harness.engine.as_mut().expect("it runs");
        assert_eq!(
            engine.next_effect(Lane::All, now),
            Some(NodeLifecycleEffect::ReadNode { node: name.clone() })
        );
        assert_eq!(engine.next_effect(Lane::All, now), None, "one request at a time");
        engine.handle(NodeLifecycleInput::Confirmed { node: name.clone(), sent: now.mono, result }, now);
        let later = taintward_core::time::Now { mono: now.mono.plus(Span::from_micros(age)), ..now };
        let next = engine.next_effect(Lane::All, later);
        assert_eq!(
            matches!(next, Some(NodeLifecycleEffect::SetConditionsUnknown { .. })),
            declares,
            "{next:?}"
        );
        assert_eq!(matches!(next, Some(NodeLifecycleEffect::ReadNode { .. })), !declares, "{next:?}");
    }
}

/// S7(a): a live read from before the end of the grace period proves nothing about the silence.
#[test]
fn a_live_read_from_before_does_not_count() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    harness.kill(&["a1"]);
    // Last heartbeat at 91.37 s; a conflict causes a read just before 141.37 s.
    harness.pass_micros(40_500_000);
    harness.faults = [Some(ApiFailure::Conflict)].into();
    harness.edit("a1", |node| node.unschedulable = true);
    harness.pass_micros(500_000);
    assert_eq!(
        (harness.reads, harness.own("a1")),
        (1, ManagedTaints::NONE.with(ManagedTaint::Unschedulable))
    );
    harness.pass(1);
    assert!(harness.commits.iter().any(|commit| matches!(commit.what, What::Declare(_))));
    assert_eq!(harness.reads, 2);
}

/// The response to a request for a node that has been replaced meanwhile is not about the new one.
#[test]
fn a_response_for_another_uid() {
    let mut harness = silent();
    let name = NodeName::new("a1");
    let now = harness.clock();
    let result = Ok(reading(&harness, "a1"));
    let engine = harness.engine.as_mut().expect("it runs");
    engine.next_effect(Lane::All, now);
    engine.handle(NodeLifecycleInput::Confirmed { node: name.clone(), sent: now.mono, result }, now);
    assert!(matches!(
        engine.next_effect(Lane::All, now),
        Some(NodeLifecycleEffect::SetConditionsUnknown { .. })
    ));
    harness.remove_node("a1");
    harness.add_node("a1", "a");
    harness.pass(1);
    harness.submit(NodeLifecycleInput::Written {
        node: name.clone(),
        result: Ok(Some(ResourceVersion(1_000_000))),
    });
    let engine = harness.engine.as_ref().expect("it runs");
    let ready = engine.explain(&name, now.mono).expect("the node is known").conditions.ready();
    assert_eq!(ready, Some(ConditionStatus::True));
    assert_eq!(engine.stats().in_flight, 0);
}

/// NL-17: the response to a mark arrives when the node has been ready and is down again, or has been replaced by one
/// that is down: it was for the previous time, and the pod is marked once more. Without such a change it is not.
#[test]
fn nl_17_a_response_for_the_previous_time_the_node_was_down() {
    for (turn, result, marks) in [
        ("none", Ok(true), 0),
        ("ready", Ok(true), 1),
        ("ready", Ok(false), 1),
        ("ready", Err(ApiFailure::NotFound), 1),
        ("replaced", Ok(true), 1),
        ("up", Ok(true), 0),
    ] {
        let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
        harness.bind("web", "a1");
        harness.leading = false;
        harness.set_ready("a1", false);
        harness.pass(1);
        let pull_marks = |harness: &mut NodeLifecycleHarness| -> Vec<NodeLifecycleEffect> {
            let now = harness.clock();
            let engine = harness.engine.as_mut().expect("it runs");
            let effects: Vec<NodeLifecycleEffect> =
                std::iter::from_fn(|| engine.next_effect(Lane::All, now)).collect();
            effects
                .into_iter()
                .filter(|effect| matches!(effect, NodeLifecycleEffect::SetPodNotReady { .. }))
                .collect()
        };
        let first = pull_marks(&mut harness);
        let [NodeLifecycleEffect::SetPodNotReady { pod, .. }] = &first[..] else { panic!("{first:?}") };
        match turn {
            "none" => {}
            "replaced" => harness.edit("a1", |node| node.uid = Uid::new("another")),
            _ => harness.set_ready("a1", true),
        }
        harness.pass(1);
        if turn == "ready" {
            harness.set_ready("a1", false);
            harness.pass(1);
        }
        assert_eq!(pull_marks(&mut harness), [], "one request at a time");
        harness.submit(NodeLifecycleInput::PodMarked { pod: pod.clone(), result });
        assert_eq!(pull_marks(&mut harness).len(), marks, "{turn} {result:?}");
    }
}

/// A late event of a node does not undo newer knowledge.
#[test]
fn a_late_event_of_a_node_is_dropped() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 3)]);
    let before = harness.stored["a0"].node.clone();
    harness.edit("a0", |node| node.unschedulable = true);
    harness.pass(1);
    harness.submit(NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact: before, listed: false }));
    let engine = harness.engine.as_ref().expect("it runs");
    let own = engine.explain(&NodeName::new("a0"), harness.clock().mono).expect("the node is known").own;
    assert_eq!(own, ManagedTaints::NONE.with(ManagedTaint::Unschedulable));
    assert_eq!(harness.commits.len(), 1);
}

/// NL-10: for a node without a lease, a posted status is a heartbeat, even if the node's clock goes back.
#[test]
fn a_heartbeat_in_the_node_counts() {
    for step in [1, -1] {
        let mut harness = NodeLifecycleHarness::new(&[("a", 3)]);
        harness.kill(&["a1"]);
        for _ in 0..20 {
            harness.pass(10);
            let heartbeat = Some(Wall::from_micros(step * harness.now));
            let ready =
                NodeCondition { kind: ConditionKind::Ready, status: ConditionStatus::True, heartbeat };
            harness.edit("a1", |node| node.conditions = vec![ready]);
        }
        harness.pass(1);
        assert_eq!(harness.commits, []);
        assert_eq!(harness.reads, 0, "there was no doubt");
    }
}

/// The response to a write that the watch is ahead of says nothing about what the node has now.
#[test]
fn a_response_does_not_undo_newer_events() {
    for (version, counts) in [(ResourceVersion(1), false), (ResourceVersion(1_000_000), true)] {
        let mut harness = NodeLifecycleHarness::new(&[("a", 3)]);
        harness.leading = false;
        harness.edit("a1", |node| node.unschedulable = true);
        harness.pass(1);
        let name = NodeName::new("a1");
        let pull = |harness: &mut NodeLifecycleHarness| {
            let now = harness.clock();
            harness.engine.as_mut().expect("it runs").next_effect(Lane::All, now)
        };
        assert!(matches!(pull(&mut harness), Some(NodeLifecycleEffect::PatchTaints { .. })));
        // Another client writes the node: it has no taint.
        harness.edit("a1", |node| node.zone = crate::node_lifecycle::harness::zone("a"));
        harness.pass(1);
        harness.submit(NodeLifecycleInput::Written { node: name.clone(), result: Ok(Some(version)) });
        let engine = harness.engine.as_ref().expect("it runs");
        let own = engine.explain(&name, harness.clock().mono).expect("the node is known").own;
        assert_eq!(own.has(ManagedTaint::Unschedulable), counts);
        let next = pull(&mut harness);
        assert_eq!(matches!(next, Some(NodeLifecycleEffect::PatchTaints { .. })), !counts, "{next:?}");
    }
}

/// NL-11: a node that never posted a status counts from its creation, also after a restart; but no node is declared
/// silent by less than a grace period of observation.
#[test]
fn nl_11_from_creation_after_a_restart() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 3)]);
    harness.crash();
    harness.kill(&["a1"]);
    let stored = harness.stored.get_mut("a1").expect("it exists");
    stored.node.conditions.clear();
    stored.lease = None;
    harness.start();
    let started = harness.now;
    harness.pass(55);
    let declared = harness.commits.iter().find(|commit| matches!(commit.what, What::Declare(_)));
    let after = declared.expect("declared").at - started;
    assert!((50 * SECOND..51 * SECOND).contains(&after), "{after}");
    assert!(harness.engine.as_ref().expect("it runs").next_wakeup() > Some(Mono::from_micros(harness.now)));
}

/// S6: a token taken before this process became leader is not returned: a leader in between may have used the rate.
#[test]
fn s6_a_new_leader_forgets_the_tokens_of_its_last_term() {
    for leads_again in [false, true] {
        let mut harness = silent();
        harness.pass(30);
        let mut now = harness.clock();
        let mut engine = harness.engine.take().expect("it runs");
        let result = Ok(reading(&harness, "a1"));
        let name = NodeName::new("a1");
        let taint = |engine: &mut MonitoredEngine<NodeLifecycleMonitor>, now| match engine
            .next_effect(Lane::All, now)
        {
            Some(NodeLifecycleEffect::ReadNode { node }) => {
                engine.handle(
                    NodeLifecycleInput::Confirmed { node, sent: now.mono, result: result.clone() },
                    now,
                );
                None
            }
            Some(NodeLifecycleEffect::SetConditionsUnknown { node, .. }) => {
                let result = Ok(Some(ResourceVersion(1_000)));
                engine.handle(NodeLifecycleInput::Written { node: node.name, result }, now);
                None
            }
            Some(NodeLifecycleEffect::PatchTaints { add, .. }) => Some(add.no_execute().is_empty()),
            other => panic!("{other:?}"),
        };
        let away = std::iter::repeat_with(|| taint(&mut engine, now)).take(9).find_map(|it| it);
        assert_eq!(away, Some(false), "both taints in one write, with the zone's token");
        if leads_again {
            engine.handle(NodeLifecycleInput::BecameLeader, now);
        }
        engine.handle(
            NodeLifecycleInput::Written { node: name.clone(), result: Err(ApiFailure::Rejected) },
            now,
        );
        now.mono = now.mono.plus(Span::from_secs(2));
        engine.tick(now.mono);
        let held = engine.explain(&name, now.mono).expect("the node is known").delayed_by;
        let rate = matches!(held, Some(DelayReason::Rate(at)) if at > now.mono.plus(Span::from_secs(7)));
        assert_eq!(rate, leads_again, "{held:?}");
    }
}
