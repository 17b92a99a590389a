//! Tests which notices an event causes, and that it causes none twice.

use crate::common::script::at;
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionConfig, EvictionEngine, EvictionInput, EvictionNotice};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{node, pod, taint, toleration, toleration_of};
use taintward_core::toleration::Toleration;

/// An engine that knows the node `n1` without taints, and no pods.
fn synced() -> EvictionEngine {
    let mut engine = EvictionEngine::new(EvictionConfig::default());
    let inputs = [
        EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }),
        EvictionInput::Nodes(ObjectEvent::Applied { fact: node("n1").at_version(1), listed: true }),
        EvictionInput::Nodes(ObjectEvent::ListCompleted),
        EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }),
        EvictionInput::Pods(ObjectEvent::ListCompleted),
    ];
    inputs.into_iter().for_each(|input| engine.handle(input, at(0.0)));
    engine.take_notices();
    engine
}

fn tainted(version: u64) -> NodeFact {
    node("n1").at_version(version).tainted([taint("k")])
}

#[test]
fn a_taint_without_a_time_is_reported_once_when_its_watch_shows_it() {
    let notices = |engine: &mut EvictionEngine, fact: NodeFact, listed| {
        engine.handle(EvictionInput::Nodes(ObjectEvent::Applied { fact, listed }), at(10.0));
        let is_one = |notice: &EvictionNotice| matches!(notice, EvictionNotice::TaintWithoutTimeAdded { .. });
        engine.take_notices().iter().filter(|notice| is_one(notice)).count()
    };
    let mut engine = synced();
    assert_eq!(notices(&mut engine, tainted(2), false), 1);
    assert_eq!(notices(&mut engine, tainted(3), false), 0, "it is known");
    assert_eq!(notices(&mut synced(), tainted(2), true), 0, "a list may show an old taint");
    let timed = node("n1").at_version(2).tainted([taint("k").added(at(9.0).wall)]);
    assert_eq!(notices(&mut synced(), timed, false), 0);
}

#[test]
fn a_toleration_that_is_not_understood_is_reported_once_and_again_after_it_was() {
    let mut engine = synced();
    engine.handle(EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted(2), listed: false }), at(10.0));
    engine.take_notices();
    let mut notices = |version, toleration: Toleration| {
        let fact: PodFact = pod("p").at_version(version).tolerates([toleration]);
        engine.handle(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }), at(11.0));
        let is_one = |notice: &EvictionNotice| matches!(notice, EvictionNotice::UnsupportedToleration { .. });
        engine.take_notices().iter().filter(|notice| is_one(notice)).count()
    };
    let unknown = |value| toleration_of("k", "Near", value, "NoExecute");
    assert_eq!(notices(5, unknown("a")), 1);
    assert_eq!(notices(6, unknown("b")), 0, "it still is not");
    assert_eq!(notices(7, toleration("k", None)), 0);
    assert_eq!(notices(8, unknown("b")), 1);
}
