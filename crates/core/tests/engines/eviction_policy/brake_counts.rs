//! Tests which nodes the brake counts: all whose pods are due, before any of these has its turn, and none whose pods are gone.

use crate::common::script::at;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::eviction::{
    DisruptionConditionPolicy, EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput,
};
use taintward_core::fact::NodeFact;
use taintward_core::identity::PodRef;
use taintward_core::node_limit::NodeLimit;
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{node, pod, taint};

fn name(at: u64) -> String {
    format!("n{at}")
}

/// The node, and whether it has the taint.
fn fact(number: u64, is_tainted: bool) -> NodeFact {
    let version = if is_tainted { 1_000 } else { 1 } + number;
    node(&name(number)).at_version(version).tainted(is_tainted.then(|| taint("k=v:NoExecute")))
}

/// The API server lets every request succeed.
fn respond(effect: &EvictionEffect, now: f64) -> EvictionInput {
    match effect.clone() {
        EvictionEffect::ReadNode { node } => {
            let number = node.as_str()[1..].parse().unwrap();
            let result = Ok(LiveRead::Found(fact(number, true)));
            EvictionInput::NodeConfirmed { node, sent: at(now).mono, result }
        }
        EvictionEffect::DeletePod { pod, .. } => EvictionInput::Deleted { pod, result: Ok(()) },
        other => panic!("{other:?}"),
    }
}

/// An engine whose brake allows two nodes of so many, each with a pod.
fn engine(nodes: u64) -> EvictionEngine {
    let brake = Some(NodeLimit { nodes: Some(2), percent: None });
    let condition = DisruptionConditionPolicy::Never;
    let mut engine = EvictionEngine::new(EvictionConfig { brake, condition, ..EvictionConfig::default() });
    for event in [ObjectEvent::ListStarted { silent_since: None }, ObjectEvent::ListCompleted] {
        engine.handle(EvictionInput::Nodes(event), at(0.0));
    }
    for event in [ObjectEvent::ListStarted { silent_since: None }, ObjectEvent::ListCompleted] {
        engine.handle(EvictionInput::Pods(event), at(0.0));
    }
    for number in 0..nodes {
        set_node(&mut engine, number, false, 0.0);
        let fact = pod(&format!("p{number}")).on(&name(number)).at_version(5_000 + number);
        engine.handle(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }), at(0.0));
    }
    engine
}

fn set_node(engine: &mut EvictionEngine, number: u64, is_tainted: bool, now: f64) {
    let fact = fact(number, is_tainted);
    engine.handle(EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false }), at(now));
}

/// The nodes that lose pods, if one request at a time is in flight.
fn hit(engine: &mut EvictionEngine, now: f64) -> Vec<String> {
    let mut hit = Vec::new();
    engine.tick(at(now).mono);
    while let Some(effect) = engine.next_effect(Lane::All, at(now)) {
        if let EvictionEffect::DeletePod { pod, .. } = &effect {
            hit.push(pod.node.as_str().to_owned());
        }
        engine.handle(respond(&effect, now), at(now));
    }
    hit
}

#[test]
fn nodes_count_from_when_their_pods_are_due_and_not_from_their_turns() {
    for (nodes, expected) in [(2, 2), (3, 0), (20, 0)] {
        let mut engine = engine(nodes);
        (0..nodes).for_each(|number| set_node(&mut engine, number, true, 1.0));
        assert_eq!(hit(&mut engine, 1.0).len(), expected, "{nodes} nodes");
    }
}

/// A pod may be gone without having been seen terminating.
#[test]
fn a_node_whose_pod_is_gone_counts_no_longer_than_five_minutes() {
    for (seconds, expected) in [(290.0, 0), (302.0, 2)] {
        let mut engine = engine(4);
        set_node(&mut engine, 0, true, 1.0);
        assert_eq!(hit(&mut engine, 1.0), ["n0"]);
        let gone = pod("p0").on("n0");
        let gone = PodRef { node: gone.node, uid: gone.id.uid().clone() };
        engine.handle(EvictionInput::Pods(ObjectEvent::Deleted(gone.into())), at(2.0));
        let now = 1.0 + seconds;
        engine.tick(at(now).mono);
        [1, 2].iter().for_each(|number| set_node(&mut engine, *number, true, now));
        assert_eq!(hit(&mut engine, now).len(), expected, "after {seconds} s");
    }
}
