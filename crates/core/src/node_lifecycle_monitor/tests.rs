//! Tests that the monitor finds a violation of each property, and none where there is none.

mod reordered;

use super::*;
use crate::api_error::ApiFailure;
use crate::identity::{ResourceVersion, Uid};
use crate::node_lifecycle::{
    ConditionKind, ConditionStatus, ManagedTaint, NodeCondition, NodeLifecycleFlags, NodeRef, PlatformLabels,
    ZoneLabels,
};
use crate::time::Wall;
use alloc::vec;
use alloc::vec::Vec;

fn at(second: i64) -> Now {
    Now::exact(Mono::from_secs(second), Wall::from_secs(1_800_000_000 + second))
}

/// A node whose condition `Ready` has this status.
fn health(name: &str, ready: ConditionStatus) -> NodeHealthFact {
    let condition = NodeCondition { kind: ConditionKind::Ready, status: ready, heartbeat: None };
    NodeHealthFact {
        name: NodeName::new(name),
        uid: Uid::new(name),
        version: Some(ResourceVersion(5)),
        created: None,
        zone: ZoneKey::of(ZoneLabels { zone: Some("z"), ..ZoneLabels::default() }),
        excluded: false,
        unschedulable: false,
        taints: Vec::new(),
        conditions: vec![condition],
        platform: PlatformLabels::default(),
    }
}

fn lease(name: &str, version: u64, renewed: i64) -> LeaseFact {
    let (version, renewed) = (Some(ResourceVersion(version)), Some(Wall::from_secs(renewed)));
    LeaseFact { node: NodeName::new(name), version, renewed }
}

/// A monitor that has listed two nodes, `a` and `b`, and their leases, at second 0. The node `b` stays ready.
fn listed(ready: ConditionStatus) -> NodeLifecycleMonitor {
    let mut monitor = NodeLifecycleMonitor::of_new_engine(NodeLifecycleConfig::default());
    for fact in [health("a", ready), health("b", ConditionStatus::True)] {
        monitor.input(&NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact, listed: true }), at(0));
    }
    renew(&mut monitor, 0, 10);
    monitor
}

/// The lease of `a` is renewed for the time that many times.
fn renew(monitor: &mut NodeLifecycleMonitor, second: i64, version: u64) {
    let fact = lease("a", version, i64::try_from(version).unwrap());
    monitor.input(&NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, listed: false }), at(second));
}

/// A live read of `a` and its lease, which are as known.
fn read(monitor: &mut NodeLifecycleMonitor, second: i64, ready: ConditionStatus) {
    let node = LiveRead::Found(health("a", ready));
    confirm(monitor, second, LiveNodeAndLease { node, lease: LiveRead::NotFound });
}

fn confirm(monitor: &mut NodeLifecycleMonitor, second: i64, live: LiveNodeAndLease) {
    let input =
        NodeLifecycleInput::Confirmed { node: NodeName::new("a"), sent: at(second).mono, result: Ok(live) };
    monitor.input(&input, at(second));
}

fn tainting(why: TaintCause) -> NodeLifecycleEffect {
    NodeLifecycleEffect::PatchTaints {
        node: NodeRef { name: NodeName::new("a"), uid: Uid::new("a") },
        version: None,
        add: ManagedTaints::NONE.with(ManagedTaint::UnreachableNoExecute),
        remove: ManagedTaints::NONE,
        at: Wall::from_secs(0),
        why,
    }
}

fn silent() -> NodeLifecycleEffect {
    tainting(TaintCause::Silent { since: Mono::from_secs(0) })
}

fn violated(
    monitor: &mut NodeLifecycleMonitor,
    effect: &NodeLifecycleEffect,
    second: i64,
) -> Option<&'static str> {
    monitor.effect(effect, at(second)).err().map(|violation| violation.property.id())
}

#[test]
fn s7_a_node_is_silent_after_a_whole_grace_period_without_a_heartbeat() {
    let at_second = |second| {
        let mut monitor = listed(ConditionStatus::True);
        renew(&mut monitor, 30, 31);
        read(&mut monitor, second, ConditionStatus::True);
        violated(&mut monitor, &silent(), second)
    };
    assert_eq!((at_second(79), at_second(80)), (Some("S7"), None));
    let never_renewed = |second| {
        let mut monitor = listed(ConditionStatus::True);
        read(&mut monitor, second, ConditionStatus::True);
        violated(&mut monitor, &silent(), second)
    };
    assert_eq!((never_renewed(49), never_renewed(50)), (Some("S7"), None), "from its first appearance on");
}

#[test]
fn s7_silence_that_could_not_be_observed_does_not_count() {
    let mut monitor = listed(ConditionStatus::True);
    let stream = WatchedKind::Leases;
    monitor.input(&NodeLifecycleInput::StreamLost { stream, since: at(20).mono }, at(21));
    monitor.input(&NodeLifecycleInput::StreamRecovered { stream }, at(40));
    read(&mut monitor, 89, ConditionStatus::True);
    assert_eq!(violated(&mut monitor, &silent(), 89), Some("S7"));
    read(&mut monitor, 90, ConditionStatus::True);
    assert_eq!(violated(&mut monitor, &silent(), 90), None);
    let mut paused = listed(ConditionStatus::True);
    paused.input(&NodeLifecycleInput::ProcessPaused { since: at(20).mono }, at(60));
    read(&mut paused, 100, ConditionStatus::True);
    assert_eq!(violated(&mut paused, &silent(), 100), Some("S7"));
}

#[test]
fn s7_a_lease_that_arrives_before_its_node_is_its_lease_and_a_gap_in_nodes_hides_nothing() {
    let silent_after_gap = |has_lease| {
        let mut monitor = NodeLifecycleMonitor::of_new_engine(NodeLifecycleConfig::default());
        if has_lease {
            renew(&mut monitor, 0, 10);
        }
        for fact in [health("a", ConditionStatus::True), health("b", ConditionStatus::True)] {
            monitor.input(&NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact, listed: true }), at(0));
        }
        let stream = WatchedKind::Nodes;
        monitor.input(&NodeLifecycleInput::StreamLost { stream, since: at(20).mono }, at(21));
        monitor.input(&NodeLifecycleInput::StreamRecovered { stream }, at(40));
        read(&mut monitor, 50, ConditionStatus::True);
        violated(&mut monitor, &silent(), 50)
    };
    assert_eq!((silent_after_gap(true), silent_after_gap(false)), (None, Some("S7")));
}

/// The same heartbeat, observed again after a live read that was on its way and does not show it, is none.
#[test]
fn s7_a_live_read_that_is_older_than_its_stream_takes_no_heartbeat_back() {
    let beating = |version, beat| {
        let mut fact = health("a", ConditionStatus::True);
        fact.version = Some(ResourceVersion(version));
        fact.conditions[0].heartbeat = Some(Wall::from_secs(beat));
        fact
    };
    let silent_at = |second| {
        let mut monitor = listed(ConditionStatus::True);
        let apply = |monitor: &mut NodeLifecycleMonitor, fact, second| {
            monitor
                .input(&NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact, listed: false }), at(second));
        };
        apply(&mut monitor, beating(6, 1), 8);
        apply(&mut monitor, beating(8, 10), 10);
        let node = LiveRead::Found(beating(7, 1));
        confirm(&mut monitor, 11, LiveNodeAndLease { node, lease: LiveRead::Found(lease("a", 9, 9)) });
        apply(&mut monitor, beating(9, 10), 13);
        // The lease is the one of the list.
        renew(&mut monitor, 14, 10);
        read(&mut monitor, second, ConditionStatus::True);
        violated(&mut monitor, &silent(), second)
    };
    assert_eq!((silent_at(59), silent_at(60)), (Some("S7"), None));
}

#[test]
fn s7_a_recent_live_read_precedes_each_no_execute_taint() {
    let mut monitor = listed(ConditionStatus::False);
    assert_eq!(violated(&mut monitor, &tainting(TaintCause::NotReady), 100), Some("S7"), "it was not read");
    read(&mut monitor, 100, ConditionStatus::False);
    assert_eq!(
        violated(&mut monitor.clone(), &tainting(TaintCause::NotReady), 106),
        Some("S7"),
        "not recently"
    );
    assert_eq!(violated(&mut monitor, &tainting(TaintCause::NotReady), 105), None);
}

#[test]
fn s6_a_zone_gets_a_taint_in_ten_seconds() {
    let mut monitor = listed(ConditionStatus::False);
    let taint_at = |monitor: &mut NodeLifecycleMonitor, second| {
        read(monitor, second, ConditionStatus::False);
        violated(monitor, &tainting(TaintCause::NotReady), second)
    };
    assert_eq!(taint_at(&mut monitor.clone(), 9), Some("S6"), "a new zone has no token");
    assert_eq!(taint_at(&mut monitor, 10), None);
    assert_eq!(taint_at(&mut monitor.clone(), 19), Some("S6"));
    let mut failed = monitor.clone();
    let result = Err(ApiFailure::Conflict);
    failed.input(&NodeLifecycleInput::Written { node: NodeName::new("a"), result }, at(11));
    assert_eq!(taint_at(&mut failed, 12), None, "the token of a write that failed returns");
    monitor.input(&NodeLifecycleInput::BecameLeader, at(15));
    assert_eq!(taint_at(&mut monitor.clone(), 24), Some("S6"), "another leader may have used it");
    assert_eq!(taint_at(&mut monitor, 25), None);
}

#[test]
fn s6_no_node_is_tainted_while_no_node_is_ready() {
    let mut monitor = listed(ConditionStatus::False);
    let fact = NodeHealthFact { version: Some(ResourceVersion(6)), ..health("b", ConditionStatus::Unknown) };
    monitor.input(&NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact, listed: false }), at(50));
    read(&mut monitor, 60, ConditionStatus::False);
    assert_eq!(violated(&mut monitor, &tainting(TaintCause::NotReady), 60), Some("S6"));
}

#[test]
fn what_a_running_engine_knows_beyond_the_monitor_is_no_violation() {
    let mut monitor = NodeLifecycleMonitor::of_running_engine(NodeLifecycleConfig::default());
    assert_eq!(violated(&mut monitor, &silent(), 1), None);
    let fact = health("a", ConditionStatus::False);
    monitor.input(&NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact, listed: false }), at(0));
    assert_eq!(violated(&mut monitor, &silent(), 20), None);
}

/// NL-11, NL-12: such a node counts from its creation, and the moment of its creation, written by a controller, is no heartbeat.
#[test]
fn a_node_that_never_posted_a_status_may_be_silent_at_once() {
    let mut monitor = NodeLifecycleMonitor::of_new_engine(NodeLifecycleConfig::default());
    let created = Some(Wall::from_secs(1_700_000_000));
    let new = NodeHealthFact { created, conditions: Vec::new(), ..health("a", ConditionStatus::True) };
    for fact in [new.clone(), health("b", ConditionStatus::True)] {
        monitor.input(&NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact, listed: true }), at(0));
    }
    let declare = NodeLifecycleEffect::SetConditionsUnknown {
        node: NodeRef { name: NodeName::new("a"), uid: Uid::new("a") },
        version: None,
        conditions: Vec::new(),
        at: Wall::from_secs(0),
    };
    let read_at = |monitor: &mut NodeLifecycleMonitor, fact: &NodeHealthFact, second| {
        let result = Ok(LiveNodeAndLease { node: LiveRead::Found(fact.clone()), lease: LiveRead::NotFound });
        let input = NodeLifecycleInput::Confirmed { node: NodeName::new("a"), sent: at(second).mono, result };
        monitor.input(&input, at(second));
    };
    read_at(&mut monitor, &new, 20);
    assert_eq!(violated(&mut monitor, &declare, 20), None);
    let unknown =
        NodeCondition { kind: ConditionKind::Ready, status: ConditionStatus::Unknown, heartbeat: created };
    let declared = NodeHealthFact { version: Some(ResourceVersion(6)), conditions: vec![unknown], ..new };
    read_at(&mut monitor, &declared, 30);
    assert_eq!(violated(&mut monitor, &silent(), 31), None);
    let beats = NodeCondition { heartbeat: Some(Wall::from_secs(1_800_000_040)), ..unknown };
    let beating = NodeHealthFact { version: Some(ResourceVersion(7)), conditions: vec![beats], ..declared };
    read_at(&mut monitor, &beating, 40);
    assert_eq!(violated(&mut monitor, &silent(), 41), Some("S7"));
}

#[test]
fn a_violation_says_what_was_observed_and_when() {
    let reason = |monitor: &mut NodeLifecycleMonitor, effect: &NodeLifecycleEffect, now: Now| {
        monitor.effect(effect, now).unwrap_err().reason
    };
    let mut unread = listed(ConditionStatus::False);
    read(&mut unread, 10, ConditionStatus::False);
    let not_ready = tainting(TaintCause::NotReady);
    assert_eq!(reason(&mut unread.clone(), &not_ready, at(17)), "it was read 7000 ms before");
    let mut renewed = listed(ConditionStatus::True);
    renew(&mut renewed, 30, 31);
    read(&mut renewed, 79, ConditionStatus::True);
    let expected = "its last heartbeat was observed 49 s before, or nodes were not observed until then";
    assert_eq!(reason(&mut renewed, &silent(), at(79)), expected);
    // A token grows in whole microseconds: the last may be missing.
    let nearly = |micros| Now::exact(Mono::from_micros(micros), Wall::from_secs(1_800_000_010));
    assert_eq!(unread.clone().effect(&not_ready, nearly(9_999_999)), Ok(()));
    let expected = "another node of zone z got its taint 9999 ms before, at a rate of 0.1 a second";
    assert_eq!(reason(&mut unread, &not_ready, nearly(9_999_998)), expected);
}

#[test]
fn at_a_rate_of_zero_no_node_gets_a_taint() {
    let flags = NodeLifecycleFlags {
        eviction_rate: 0.0,
        secondary_eviction_rate: 0.0,
        ..NodeLifecycleFlags::default()
    };
    for of in [NodeLifecycleMonitor::of_new_engine, NodeLifecycleMonitor::of_running_engine] {
        let mut monitor = of(NodeLifecycleConfig::new(&flags).unwrap());
        for fact in [health("a", ConditionStatus::False), health("b", ConditionStatus::True)] {
            monitor.input(&NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact, listed: true }), at(0));
        }
        read(&mut monitor, 1_000, ConditionStatus::False);
        assert_eq!(violated(&mut monitor, &tainting(TaintCause::NotReady), 1_000), Some("S6"));
    }
}

#[test]
fn a_node_that_was_created_again_begins_anew() {
    let silent_at = |uid: &str, second| {
        let mut monitor = listed(ConditionStatus::True);
        let fact = NodeHealthFact { uid: Uid::new(uid), ..health("a", ConditionStatus::True) };
        let live = LiveRead::Found(fact.clone());
        monitor.input(&NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact, listed: false }), at(40));
        confirm(&mut monitor, second, LiveNodeAndLease { node: live, lease: LiveRead::NotFound });
        violated(&mut monitor, &silent(), second)
    };
    assert_eq!(silent_at("a", 60), None, "nothing changed in second 40");
    assert_eq!((silent_at("again", 89), silent_at("again", 90)), (Some("S7"), None));
}

#[test]
fn a_monitor_of_an_engine_knows_whether_it_has_missed_inputs() {
    use crate::engine::Engine as _;
    let started = || NodeLifecycleInput::Nodes(ObjectEvent::ListStarted { silent_since: None });
    let fact = health("a", ConditionStatus::False);
    let applied = NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact, listed: true });
    let synced = [
        started(),
        NodeLifecycleInput::Nodes(ObjectEvent::ListCompleted),
        NodeLifecycleInput::Leases(ObjectEvent::ListStarted { silent_since: None }),
        NodeLifecycleInput::Leases(ObjectEvent::ListCompleted),
        NodeLifecycleInput::Pods(ObjectEvent::ListStarted { silent_since: None }),
        NodeLifecycleInput::Pods(ObjectEvent::ListCompleted),
    ];
    for (inputs, is_new) in [(vec![], true), (vec![started(), applied], false), (synced.into(), false)] {
        let mut engine = NodeLifecycleEngine::new(NodeLifecycleConfig::default());
        inputs.into_iter().for_each(|input| engine.handle(input, at(1)));
        let mut monitor = NodeLifecycleMonitor::of(&engine);
        // Only a monitor that has seen all inputs knows that the node was not read.
        let violation = violated(&mut monitor, &tainting(TaintCause::NotReady), 100);
        assert_eq!(violation, is_new.then_some("S7"));
    }
}
