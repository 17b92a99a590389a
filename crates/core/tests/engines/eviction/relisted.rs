//! Tests that what the engine knows ahead of a lagging watch survives a list, and that a pod which its watch delivered,
//! left out and delivers again keeps its arrival.

use crate::common::EPOCH;
use crate::common::paired::PairedEngine;
use crate::common::script::{Script, at, tainted_node};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionInput};
use taintward_core::fact::{BindingTimes, NodeFact, PodFact};
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::taint::keys;
use taintward_core::testkit::{pod, pod_ref, toleration};
use taintward_core::time::{Mono, Wall};
use taintward_core::toleration::Toleration;
use taintward_core::toleration_guard::{GuardCeiling, guard_write, guarded_pod};

/// A node with one taint since second 10.
fn old_node(version: u64, key: &str) -> NodeFact {
    tainted_node(version, &[(key, Some(10))])
}

/// A pod that was bound long ago.
fn old_pod(name: &str, version: u64, tolerations: Vec<Toleration>) -> PodFact {
    let bound = Some(Wall::from_secs(EPOCH - 5_000));
    let arrival = BindingTimes { scheduled: bound, started: None, created: bound };
    PodFact { arrival, ..pod(name).at_version(version).tolerates(tolerations) }
}

fn due(engine: &PairedEngine, uid: &str, s: f64) -> Option<Mono> {
    let (_, verdict, _) = engine.explain(&pod_ref(uid), at(s)).expect("the pod is known");
    verdict.reasons.first().and_then(|reason| reason.due)
}

fn nodes(event: ObjectEvent<NodeFact>) -> EvictionInput {
    EvictionInput::Nodes(event)
}

fn pods(event: ObjectEvent<PodFact>) -> EvictionInput {
    EvictionInput::Pods(event)
}

fn applied<F>(fact: F) -> ObjectEvent<F> {
    ObjectEvent::Applied { fact, listed: false }
}

fn list_started<F>(s: f64) -> ObjectEvent<F> {
    ObjectEvent::ListStarted { silent_since: Some(at(s).mono) }
}

fn synced(config: EvictionConfig) -> PairedEngine {
    Script::new(config).engine
}

/// L4, S4: during a relist the watch delivers an event that a live read of the node is ahead of. The list does not
/// repeat it; the node exists nevertheless, and its countdowns continue.
#[test]
fn l4_an_outdated_event_shows_that_a_node_exists() {
    for outdated in [true, false] {
        let mut engine = synced(EvictionConfig::default());
        engine.handle(pods(applied(old_pod("p", 5, vec![toleration("k", Some(300))]))), at(5.0));
        engine.handle(nodes(applied(old_node(14, "k"))), at(10.0));
        // A pod that does not tolerate the taint makes the engine read the node.
        engine.handle(pods(applied(old_pod("q", 18, vec![]))), at(250.0));
        let Some(EvictionEffect::ReadNode { node: name }) = engine.next_effect(Lane::All, at(250.0)) else {
            panic!("no read of the node");
        };
        let result = Ok(LiveRead::Found(old_node(20, "k")));
        engine.handle(EvictionInput::NodeConfirmed { node: name, sent: at(250.0).mono, result }, at(250.1));
        let before = due(&engine, "p", 250.2);
        engine.handle(nodes(list_started(250.2)), at(250.2));
        if outdated {
            engine.handle(nodes(applied(old_node(15, "k"))), at(250.3));
        }
        engine.handle(nodes(ObjectEvent::ListCompleted), at(250.4));
        // The opposite: without any event the node is gone, and the pod is not due.
        let expected = if outdated { before } else { None };
        assert_eq!(due(&engine, "p", 250.5), expected);
        engine.handle(nodes(applied(old_node(20, "k"))), at(250.6));
        assert_eq!(due(&engine, "p", 250.7) == before, outdated);
    }
}

/// The same for a pod that the engine's own write is ahead of: it was due, and is.
#[test]
fn l4_an_outdated_event_shows_that_a_pod_exists() {
    for outdated in [true, false] {
        let mut engine = synced(EvictionConfig::default());
        engine.handle(nodes(applied(old_node(5, "k"))), at(10.0));
        engine.handle(pods(applied(old_pod("p", 10, vec![toleration("k", Some(300))]))), at(10.0));
        engine.tick(at(312.0).mono);
        while let Some(effect) = engine.next_effect(Lane::All, at(312.0)) {
            let response = match effect {
                EvictionEffect::ReadNode { node: name } => EvictionInput::NodeConfirmed {
                    node: name,
                    sent: at(312.0).mono,
                    result: Ok(LiveRead::Found(old_node(5, "k"))),
                },
                EvictionEffect::SetDisruptionTarget { pod, .. } => {
                    EvictionInput::Marked { pod, result: Ok(Some(ResourceVersion(30))) }
                }
                EvictionEffect::DeletePod { pod, .. } => {
                    EvictionInput::Deleted { pod, result: Err(ApiFailure::Rejected) }
                }
                effect => panic!("{effect:?}"),
            };
            engine.handle(response, at(312.0));
        }
        engine.handle(pods(list_started(312.1)), at(312.1));
        if outdated {
            engine.handle(pods(applied(old_pod("p", 20, vec![toleration("k", Some(300))]))), at(312.2));
        }
        engine.handle(pods(ObjectEvent::ListCompleted), at(312.3));
        assert_eq!(engine.explain(&pod_ref("p"), at(312.4)).is_some(), outdated);
    }
}

/// For taint eviction of guarded pods, a pod without its record is gone. When the record is restored, the pod counts
/// from when it was bound, and its node from when it became silent: docs/managed-clusters.md promises that.
#[test]
fn a_restored_guard_record_starts_no_countdown_again() {
    let own = vec![toleration(keys::UNREACHABLE, Some(60))];
    let write = guard_write(&own, None, GuardCeiling::Seconds(3_600), &Vec::new()).expect("a ceiling");
    let record = write.record.expect("a record");
    let mut guarded = old_pod("p", 10, own);
    for (position, seconds) in &write.seconds {
        guarded.tolerations[*position].seconds = *seconds;
    }
    let event = |fact: PodFact, is_recorded: bool| {
        let fact = guarded_pod(fact, is_recorded.then_some(&record));
        pods(fact.map_or_else(|| ObjectEvent::Deleted(pod_ref("p").into()), applied))
    };
    for pods_appear_late in [true, false] {
        let mut engine = synced(EvictionConfig { pods_appear_late, ..EvictionConfig::default() });
        engine.handle(event(guarded.clone(), true), at(1.0));
        engine.handle(nodes(applied(old_node(11, keys::UNREACHABLE))), at(10.0));
        let before = due(&engine, "p", 11.0);
        assert_eq!(before, Some(at(70.0).mono));
        engine.handle(
            event(PodFact { version: Some(ResourceVersion(12)), ..guarded.clone() }, false),
            at(50.0),
        );
        assert!(engine.explain(&pod_ref("p"), at(50.1)).is_none());
        engine
            .handle(event(PodFact { version: Some(ResourceVersion(13)), ..guarded.clone() }, true), at(50.2));
        // If every pod is delivered, one that appears has just been bound.
        let expected = if pods_appear_late { before } else { Some(at(110.2).mono) };
        assert_eq!(due(&engine, "p", 51.0), expected);
    }
}

/// An event about another object of the same name shows nothing.
#[test]
fn an_event_of_a_nodes_predecessor_does_not_show_that_the_node_exists() {
    let mut engine = synced(EvictionConfig::default());
    engine.handle(nodes(applied(old_node(14, "k"))), at(10.0));
    engine.handle(pods(applied(old_pod("p", 15, vec![toleration("k", Some(300))]))), at(10.0));
    engine.handle(nodes(list_started(20.0)), at(20.0));
    engine.handle(nodes(applied(NodeFact { uid: Uid::new("predecessor"), ..old_node(13, "k") })), at(20.1));
    engine.handle(nodes(ObjectEvent::ListCompleted), at(20.2));
    assert_eq!(due(&engine, "p", 21.0), None);
    engine.handle(nodes(ObjectEvent::Deleted(ObjectRef::node(&NodeName::new("n1"), None))), at(22.0));
}

/// What happens after the second of a `timeAdded` has ended has another `timeAdded`.
#[test]
fn s4_a_gap_that_begins_when_the_second_of_a_taint_has_ended_moves_no_start() {
    for (silent_since, expected) in [(11.0, 30.1), (10.999, 31.0)] {
        let mut script = Script::new(EvictionConfig::default());
        script.send(10.1, nodes(applied(old_node(100, "k"))));
        let fact = old_pod("p", 40, vec![toleration("k", Some(20))]);
        script.send(10.1, pods(applied(fact)));
        script.send(20.0, nodes(list_started(silent_since)));
        script.send(20.0, nodes(ObjectEvent::Applied { fact: old_node(101, "k"), listed: true }));
        script.send(20.0, nodes(ObjectEvent::ListCompleted));
        assert_eq!(due(&script.engine, "p", 20.0), Some(at(expected).mono), "{silent_since}");
    }
}

/// Objects of files have no versions, which could show that nothing has happened.
#[test]
fn s3_a_node_without_versions_may_have_another_taint_after_a_gap() {
    let node = |second| NodeFact {
        version: None,
        taints_changed: Some(Wall::from_secs(EPOCH + second)),
        ..tainted_node(1, &[("k", None)])
    };
    let mut script = Script::new(EvictionConfig::default());
    script.send(10.1, nodes(applied(node(10))));
    script.send(10.1, pods(applied(old_pod("p", 40, vec![toleration("k", Some(20))]))));
    script.send(20.0, nodes(list_started(12.0)));
    script.send(20.0, nodes(ObjectEvent::Applied { fact: node(15), listed: true }));
    assert_eq!(due(&script.engine, "p", 20.0), Some(at(36.0).mono));
}
