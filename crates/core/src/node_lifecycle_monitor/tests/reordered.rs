//! Tests the monitor with events that are old, repeated, missing or without a version, and with whole and aborted lists.

use super::*;
use crate::object_event::ObjectRef;

/// A node with a heartbeat.
fn beating(version: Option<u64>, beat: Option<i64>) -> NodeHealthFact {
    let mut fact = health("a", ConditionStatus::True);
    fact.version = version.map(ResourceVersion);
    fact.conditions[0].heartbeat = beat.map(Wall::from_secs);
    fact
}

fn apply(monitor: &mut NodeLifecycleMonitor, fact: NodeHealthFact, listed: bool, second: i64) {
    monitor.input(&NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact, listed }), at(second));
}

/// Whether `a` was observed alive at second 30: then it is not silent at 79.
fn is_alive(monitor: &NodeLifecycleMonitor) -> bool {
    let mut monitor = monitor.clone();
    // The read shows nothing that is newer.
    let input = NodeLifecycleInput::Confirmed {
        node: NodeName::new("a"),
        sent: at(79).mono,
        result: Ok(LiveNodeAndLease { node: LiveRead::Undecodable, lease: LiveRead::NotFound }),
    };
    monitor.input(&input, at(79));
    violated(&mut monitor, &silent(), 79) == Some("S7")
}

#[test]
fn only_a_heartbeat_that_is_newer_than_the_last_shows_life() {
    for (version, beat, is_listed, expected) in [
        (Some(8), Some(20), false, true),
        (Some(8), Some(10), false, false),
        (Some(8), None, false, false),
        (Some(7), Some(20), false, true),
        (None, Some(20), false, true),
        // Older than what is known: a late event, and a store that was restored.
        (Some(6), Some(20), false, false),
        (Some(6), Some(20), true, false),
    ] {
        let mut monitor = listed(ConditionStatus::True);
        apply(&mut monitor, beating(Some(7), Some(10)), false, 1);
        apply(&mut monitor, beating(version, beat), is_listed, 30);
        assert_eq!(is_alive(&monitor), expected, "{version:?} {beat:?} {is_listed}");
    }
    let mut monitor = listed(ConditionStatus::True);
    apply(&mut monitor, beating(None, Some(10)), false, 1);
    apply(&mut monitor, beating(None, Some(20)), false, 30);
    assert!(is_alive(&monitor), "without versions, the last event counts");
}

#[test]
fn only_a_renewal_that_is_newer_than_the_last_shows_life() {
    let lease_of = |version: Option<u64>, renewed: Option<i64>| LeaseFact {
        version: version.map(ResourceVersion),
        renewed: renewed.map(Wall::from_secs),
        ..lease("a", 0, 0)
    };
    let alive = |known: LeaseFact, fact: LeaseFact, listed| {
        let mut monitor = listed_without_lease();
        monitor.input(&NodeLifecycleInput::Leases(ObjectEvent::Applied { fact: known, listed: true }), at(0));
        monitor.input(&NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, listed }), at(30));
        is_alive(&monitor)
    };
    let known = || lease_of(Some(7), Some(10));
    for (version, renewed, listed, expected) in [
        (Some(8), Some(20), false, true),
        (Some(7), Some(20), false, true),
        (Some(8), Some(10), false, false),
        (Some(8), None, false, false),
        (Some(6), Some(20), false, false),
        (Some(6), Some(20), true, false),
    ] {
        let is_alive = alive(known(), lease_of(version, renewed), listed);
        assert_eq!(is_alive, expected, "{version:?} {renewed:?} {listed}");
    }
    assert!(
        !alive(lease_of(Some(7), None), lease_of(Some(8), Some(20)), false),
        "it may be from long before"
    );
}

fn listed_without_lease() -> NodeLifecycleMonitor {
    let mut monitor = NodeLifecycleMonitor::of_new_engine(NodeLifecycleConfig::default());
    for name in ["a", "b"] {
        apply(&mut monitor, health(name, ConditionStatus::True), true, 0);
    }
    monitor
}

const fn start<F>() -> ObjectEvent<F> {
    ObjectEvent::ListStarted { silent_since: None }
}

/// Whether the monitor knows `a`, of which it has seen a live read.
fn knows(monitor: &NodeLifecycleMonitor) -> bool {
    violated(&mut monitor.clone(), &tainting(TaintCause::NotReady), 20).is_none()
}

#[test]
fn a_node_that_a_whole_list_does_not_contain_is_gone() {
    let object = |uid: &str| ObjectRef::node(&NodeName::new("a"), Some(Uid::new(uid)));
    let other = || ObjectEvent::Applied { fact: health("b", ConditionStatus::True), listed: true };
    let again = || ObjectEvent::Applied { fact: health("a", ConditionStatus::False), listed: true };
    for (events, expected) in [
        (vec![start(), other(), ObjectEvent::ListCompleted], false),
        (vec![start(), again(), other(), ObjectEvent::ListCompleted], true),
        (vec![start(), other(), ObjectEvent::Undecodable(object("a")), ObjectEvent::ListCompleted], true),
        (vec![start(), ObjectEvent::ListAborted], true),
        (vec![start(), ObjectEvent::ListAborted, ObjectEvent::ListCompleted], true),
        (vec![ObjectEvent::Deleted(object("a"))], false),
        (vec![ObjectEvent::Deleted(object("another"))], true),
    ] {
        let mut monitor = listed(ConditionStatus::False);
        read(&mut monitor, 19, ConditionStatus::False);
        assert!(knows(&monitor));
        let shown = alloc::format!("{events:?}");
        events.into_iter().for_each(|event| monitor.input(&NodeLifecycleInput::Nodes(event), at(19)));
        assert_eq!(knows(&monitor), expected, "{shown}");
    }
}

/// A gap in the watch of nodes hides the heartbeats of a node without a lease.
#[test]
fn a_lease_that_a_whole_list_does_not_contain_is_gone() {
    let object = || ObjectRef { name: "a".into(), ..ObjectRef::default() };
    let again = || ObjectEvent::Applied { fact: lease("a", 10, 10), listed: true };
    for (events, expected) in [
        (vec![start(), ObjectEvent::ListCompleted], false),
        (vec![start(), again(), ObjectEvent::ListCompleted], true),
        (vec![start(), ObjectEvent::Undecodable(object()), ObjectEvent::ListCompleted], true),
        (vec![start(), ObjectEvent::ListAborted], true),
        (vec![start(), ObjectEvent::ListAborted, ObjectEvent::ListCompleted], true),
        (vec![ObjectEvent::Deleted(object())], false),
    ] {
        let mut monitor = listed(ConditionStatus::True);
        let shown = alloc::format!("{events:?}");
        events.into_iter().for_each(|event| monitor.input(&NodeLifecycleInput::Leases(event), at(1)));
        let stream = WatchedKind::Nodes;
        monitor.input(&NodeLifecycleInput::StreamLost { stream, since: at(20).mono }, at(21));
        monitor.input(&NodeLifecycleInput::StreamRecovered { stream }, at(40));
        let result = Ok(LiveNodeAndLease { node: LiveRead::Undecodable, lease: LiveRead::NotFound });
        let sent = at(55).mono;
        monitor.input(&NodeLifecycleInput::Confirmed { node: NodeName::new("a"), sent, result }, at(55));
        assert_eq!(violated(&mut monitor, &silent(), 55).is_none(), expected, "{shown}");
    }
}

/// Whether all nodes are down, by the nodes `a`, which is down, and `b`.
fn may_taint(b: NodeHealthFact, then: Option<ObjectEvent<NodeHealthFact>>) -> bool {
    let mut monitor = listed(ConditionStatus::False);
    apply(&mut monitor, NodeHealthFact { version: Some(ResourceVersion(6)), ..b }, false, 10);
    then.into_iter().for_each(|event| monitor.input(&NodeLifecycleInput::Nodes(event), at(11)));
    read(&mut monitor, 20, ConditionStatus::False);
    violated(&mut monitor, &tainting(TaintCause::NotReady), 20).is_none()
}

#[test]
fn a_node_that_does_not_count_or_cannot_be_decoded_is_neither_ready_nor_down() {
    assert!(may_taint(health("b", ConditionStatus::True), None));
    assert!(!may_taint(health("b", ConditionStatus::False), None));
    let excluded = NodeHealthFact { excluded: true, ..health("b", ConditionStatus::True) };
    assert!(!may_taint(excluded, None), "of those that count, none is ready");
    let undecodable = ObjectEvent::Undecodable(ObjectRef::node(&NodeName::new("b"), None));
    assert!(may_taint(health("b", ConditionStatus::False), Some(undecodable)), "it may be ready by now");
}
