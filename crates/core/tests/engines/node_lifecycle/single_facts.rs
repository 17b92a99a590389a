//! Tests what single facts and responses change, on an engine that gets nothing else: heartbeats, leases, requests for a
//! node that was replaced, and what is written first.

use crate::node_lifecycle::harness::{NodeLifecycleHarness, SECOND, zone};
use crate::node_lifecycle::{list_completed, list_started};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{
    ConditionKind, ConditionStatus, DelayReason, LeaseFact, LiveNodeAndLease, ManagedTaint, NodeCondition,
    NodeHealthFact, NodeLifecycleConfig, NodeLifecycleEffect as Effect, NodeLifecycleEngine,
    NodeLifecycleFlags, NodeLifecycleInput as Input, NodeLifecycleNotice as Notice, PlatformLabels,
    WatchedKind,
};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::testkit::taint;
use taintward_core::time::{Mono, Now, Wall};

const EPOCH: i64 = 1_800_000_000;

fn at(second: i64) -> Now {
    Now::exact(Mono::from_secs(second), Wall::from_secs(EPOCH + second))
}

fn condition(kind: ConditionKind, status: ConditionStatus) -> NodeCondition {
    NodeCondition { kind, status, heartbeat: None }
}

fn ready(status: ConditionStatus) -> Vec<NodeCondition> {
    vec![condition(ConditionKind::Ready, status)]
}

/// A node that was created at second zero.
fn posted(name: &str, version: u64, conditions: Vec<NodeCondition>) -> NodeHealthFact {
    NodeHealthFact {
        name: NodeName::new(name),
        uid: Uid::new(name),
        version: Some(ResourceVersion(version)),
        created: Some(Wall::from_secs(EPOCH)),
        zone: zone("a"),
        excluded: false,
        unschedulable: false,
        taints: Vec::new(),
        conditions,
        platform: PlatformLabels::default(),
    }
}

fn nodes(fact: NodeHealthFact) -> Input {
    Input::Nodes(ObjectEvent::Applied { fact, listed: false })
}

fn leases(name: &str, version: u64, renewed: Option<i64>) -> Input {
    let renewed = renewed.map(|second| Wall::from_secs(EPOCH + second));
    let fact = LeaseFact { node: NodeName::new(name), version: Some(ResourceVersion(version)), renewed };
    Input::Leases(ObjectEvent::Applied { fact, listed: false })
}

/// An engine that has listed nothing at that second.
fn synced(second: i64) -> NodeLifecycleEngine {
    let mut engine = NodeLifecycleEngine::new(NodeLifecycleConfig::default());
    for kind in [WatchedKind::Nodes, WatchedKind::Leases, WatchedKind::Pods] {
        engine.handle(list_started(kind, None), at(second));
        engine.handle(list_completed(kind), at(second));
    }
    engine
}

/// When the last heartbeat of a node was observed, in seconds.
fn renewed(engine: &NodeLifecycleEngine, name: &str, second: i64) -> i64 {
    let known = engine.explain(&NodeName::new(name), at(second).mono).expect("the node is known");
    known.last_renewal.as_micros() / SECOND
}

#[test]
fn nl_11_only_a_node_that_never_showed_life_counts_from_its_creation() {
    let mut engine = synced(100);
    engine.handle(leases("leased", 1, Some(0)), at(100));
    let pressure = vec![condition(ConditionKind::MemoryPressure, ConditionStatus::False)];
    for (name, conditions) in [
        ("silent", Vec::new()),
        ("pressed", pressure),
        ("ready", ready(ConditionStatus::True)),
        ("leased", Vec::new()),
    ] {
        engine.handle(nodes(posted(name, 2, conditions)), at(100));
    }
    // A time that was written counts to the end of its second.
    let found = ["silent", "pressed", "ready", "leased"].map(|name| renewed(&engine, name, 100));
    assert_eq!(found, [1, 1, 100, 100]);
}

#[test]
fn nl_11_a_ready_condition_that_appears_or_disappears_shows_life() {
    use ConditionStatus::{False, True, Unknown};
    for (before, after, expected) in [
        (Vec::new(), ready(True), 130),
        (Vec::new(), ready(False), 130),
        // A controller adds it for a silent node.
        (Vec::new(), ready(Unknown), 100),
        (ready(True), Vec::new(), 130),
        (ready(True), ready(False), 100),
    ] {
        let mut engine = synced(100);
        engine.handle(leases("n", 1, Some(0)), at(100));
        engine.handle(nodes(posted("n", 2, before.clone())), at(100));
        engine.tick(at(130).mono);
        engine.handle(nodes(posted("n", 3, after.clone())), at(130));
        assert_eq!(renewed(&engine, "n", 130), expected, "{before:?} {after:?}");
    }
}

/// A lease without a time shows no heartbeat: its node is judged by its status.
#[test]
fn d11_a_node_is_silent_after_its_lease_can_be_decoded_again() {
    let mut engine = synced(100);
    engine.handle(nodes(posted("n", 2, ready(ConditionStatus::True))), at(100));
    let lease = ObjectRef::node(&NodeName::new("n"), None);
    engine.handle(Input::Leases(ObjectEvent::Undecodable(lease)), at(100));
    let mut silent = Vec::new();
    for second in 101..=200 {
        engine.handle(Input::OwnRequestSucceeded { sent: at(second).mono }, at(second));
        if second == 110 {
            engine.handle(leases("n", 3, None), at(second));
        }
        engine.tick(at(second).mono);
        silent.push(engine.stats().silent);
    }
    let first = silent.iter().position(|count| *count == 1).map(|at| at + 101);
    assert_eq!(first, Some(152), "a whole grace period of 50 s after the first request that succeeded");
}

/// A node whose conditions another controller has set to Unknown, in a follower, which writes nothing.
#[test]
fn the_node_that_has_waited_longest_is_next_and_others_wait_behind_it() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 8)]);
    harness.leading = false;
    harness.kill(&["a2", "a5"]);
    harness.pass(100);
    for name in ["a2", "a5"] {
        harness.edit(name, |node| {
            node.conditions[0].status = ConditionStatus::Unknown;
            node.taints = vec![taint(&ManagedTaint::Unreachable.to_string())];
        });
    }
    harness.pass(20);
    let now = harness.clock().mono;
    let engine = harness.engine.as_ref().expect("it runs");
    let delays: Vec<Option<DelayReason>> =
        ["a2", "a5"].map(|name| engine.explain(&NodeName::new(name), now).expect("known").delayed_by).into();
    let (first, behind) = (None, Some(DelayReason::OtherNodeFirst));
    assert!(delays == [first, behind] || delays == [behind, first], "{delays:?}");
}

#[test]
fn modes_change_in_the_moment_of_the_fact_also_in_a_follower() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 2)]);
    harness.leading = false;
    harness.set_ready("a0", false);
    harness.pass(3);
    harness.set_ready("a1", false);
    let last = harness.now;
    harness.pass(1);
    let when = |down: bool| {
        let found = harness.notices.iter().find(|(_, notice)| *notice == Notice::EverythingDown(down));
        found.map(|(at, _)| *at)
    };
    assert_eq!((when(true), when(false)), (Some(last), None));
    let engine = harness.engine.as_ref().expect("it runs");
    assert!(engine.is_everything_down() && engine.holds_countdowns());
}

#[test]
fn without_the_flag_no_countdown_is_held() {
    for hold_countdowns in [true, false] {
        let flags = NodeLifecycleFlags { hold_countdowns, ..NodeLifecycleFlags::default() };
        let mut harness = NodeLifecycleHarness::unsettled(&[("a", 2)], flags);
        harness.pass(100);
        let holds = |harness: &NodeLifecycleHarness| {
            harness.engine.as_ref().is_some_and(|engine| engine.holds_countdowns())
        };
        assert!(!holds(&harness));
        ["a0", "a1"].iter().for_each(|name| harness.set_ready(name, false));
        harness.pass(1);
        assert_eq!(holds(&harness), hold_countdowns);
    }
}

#[test]
fn a_declaration_is_reported_with_since_when_the_node_is_silent() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    let last = renewed(harness.engine.as_deref().expect("it runs"), "a1", 100);
    harness.kill(&["a1"]);
    harness.pass(70);
    let declared = harness.notices.iter().find_map(|(_, notice)| match notice {
        Notice::Declared { node, silent_since } => {
            Some((node.name.to_string(), silent_since.as_micros() / SECOND))
        }
        _ => None,
    });
    assert_eq!(declared, Some(("a1".to_owned(), last + 50)));
}

/// Pulls until a request of this kind, and returns it.
fn pulled(engine: &mut impl Engine<Effect = Effect>, now: Now, kind: fn(&Effect) -> bool) -> Option<Effect> {
    std::iter::from_fn(|| engine.next_effect(Lane::All, now)).find(kind)
}

/// What is in flight for a node says nothing of another node that got its name meanwhile.
#[test]
fn a_failure_about_a_node_that_was_replaced_delays_nothing() {
    for is_write in [false, true] {
        let mut engine = synced(100);
        let mut cordoned = posted("n", 2, ready(ConditionStatus::True));
        cordoned.unschedulable = true;
        engine.handle(nodes(cordoned.clone()), at(100));
        assert!(
            pulled(&mut engine, at(100), |effect| matches!(effect, Effect::PatchTaints { .. })).is_some()
        );
        let (node, unavailable) = (NodeName::new("n"), ApiFailure::Unavailable);
        if !is_write {
            // It is read after a failure.
            let failed = Input::Written { node: node.clone(), result: Err(unavailable) };
            engine.handle(failed, at(100));
            engine.tick(at(101).mono);
            let read = pulled(&mut engine, at(101), |effect| matches!(effect, Effect::ReadNode { .. }));
            assert!(read.is_some());
        }
        let another =
            NodeHealthFact { uid: Uid::new("another"), version: Some(ResourceVersion(9)), ..cordoned };
        engine.handle(nodes(another), at(102));
        engine.take_notices();
        engine.handle(
            match is_write {
                true => Input::Written { node, result: Err(unavailable) },
                false => Input::Confirmed { node, sent: at(101).mono, result: Err(unavailable) },
            },
            at(102),
        );
        assert_eq!((engine.take_notices(), engine.stats().failing), (Vec::new(), 0), "write: {is_write}");
        let next = pulled(&mut engine, at(102), |_| true);
        assert!(matches!(next, Some(Effect::PatchTaints { .. })), "{next:?}");
    }
}

/// Without the version that a write has made, the node is read before it is written to again.
#[test]
fn p31_a_write_without_its_version_is_followed_by_a_read() {
    for version in [Some(ResourceVersion(3)), None] {
        let mut engine = synced(100);
        let mut fact = posted("n", 2, ready(ConditionStatus::True));
        (fact.unschedulable, fact.platform.os) = (true, Some("linux".into()));
        engine.handle(nodes(fact), at(100));
        assert!(
            pulled(&mut engine, at(100), |effect| matches!(effect, Effect::PatchTaints { .. })).is_some()
        );
        engine.handle(Input::Written { node: NodeName::new("n"), result: Ok(version) }, at(100));
        let next = engine.next_effect(Lane::All, at(100));
        let is_read = matches!(next, Some(Effect::ReadNode { .. }));
        assert_eq!(is_read, version.is_none(), "{next:?}");
        assert!(is_read || matches!(next, Some(Effect::PatchLabels { .. })), "{next:?}");
    }
}

/// A node that is well again is written first: pods leave it meanwhile.
#[test]
fn nl_16_no_execute_taints_are_removed_before_other_taints_are_written() {
    let mut engine = synced(100);
    let mut tainted = posted("z", 2, ready(ConditionStatus::True));
    tainted.taints = vec![taint(&ManagedTaint::NotReadyNoExecute.to_string())];
    let mut cordoned = posted("a", 3, ready(ConditionStatus::True));
    cordoned.unschedulable = true;
    engine.handle(nodes(cordoned), at(100));
    engine.handle(nodes(tainted), at(100));
    let order: Vec<String> = std::iter::from_fn(|| engine.next_effect(Lane::All, at(100)))
        .map(|effect| match effect {
            Effect::PatchTaints { node, .. } => node.name.to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(order, ["z", "a"]);
}

/// Its conditions are written, and then its watches are lost: a silent node does not get its NoExecute taint in the write
/// of the other one, as it does otherwise.
#[test]
fn s7_a_doubt_delays_the_no_execute_taint_of_a_silent_node() {
    for is_lost in [false, true] {
        let mut harness = NodeLifecycleHarness::new(&[("a", 8)]);
        harness.leading = false;
        harness.kill(&["a1"]);
        harness.pass(100);
        let now = harness.clock();
        let stored = harness.stored["a1"].clone();
        let mut engine = harness.engine.take().expect("it runs");
        let name = NodeName::new("a1");
        let is_read = |effect: &Effect| matches!(effect, Effect::ReadNode { .. });
        assert!(pulled(&mut engine, now, is_read).is_some());
        let lease = stored.lease.map_or(LiveRead::NotFound, LiveRead::Found);
        let live = LiveNodeAndLease { node: LiveRead::Found(stored.node), lease };
        engine.handle(Input::Confirmed { node: name.clone(), sent: now.mono, result: Ok(live) }, now);
        let is_declared = |effect: &Effect| matches!(effect, Effect::SetConditionsUnknown { .. });
        assert!(pulled(&mut engine, now, is_declared).is_some());
        if is_lost {
            engine.handle(Input::StreamLost { stream: WatchedKind::Leases, since: now.mono }, now);
        }
        engine.handle(Input::Written { node: name, result: Ok(Some(ResourceVersion(1_000_000))) }, now);
        let written = pulled(&mut engine, now, |effect| matches!(effect, Effect::PatchTaints { .. }));
        let Some(Effect::PatchTaints { add, .. }) = written else { panic!("{written:?}") };
        assert!(add.has(ManagedTaint::Unreachable));
        assert_eq!(add.has(ManagedTaint::UnreachableNoExecute), !is_lost);
    }
}

#[test]
fn a_node_waits_since_it_became_not_ready_whatever_else_changes() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 8)]);
    harness.leading = false;
    for name in ["a5", "a2"] {
        harness.kubelets.get_mut(name).expect("it exists").ready = false;
        harness.edit(name, |node| {
            node.conditions[0].status = ConditionStatus::False;
            node.taints = vec![taint(&ManagedTaint::NotReady.to_string())];
        });
        harness.pass(1);
    }
    harness.edit("a5", |node| {
        node.conditions.push(condition(ConditionKind::MemoryPressure, ConditionStatus::False));
    });
    harness.pass(20);
    let now = harness.clock().mono;
    let engine = harness.engine.as_ref().expect("it runs");
    let delays =
        ["a5", "a2"].map(|name| engine.explain(&NodeName::new(name), now).expect("known").delayed_by);
    assert_eq!(delays, [None, Some(DelayReason::OtherNodeFirst)]);
}
