//! Tests which notices an event causes, and that it causes none twice.

use crate::common::script::{Script, at, failed, well};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::Engine;
use taintward_core::eviction::{
    EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput, EvictionNotice,
};
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

#[test]
fn a_taint_with_another_value_is_reported_with_what_it_does_to_each_pod() {
    let mut script = Script::new(EvictionConfig::default());
    let tainted = |version, text: &str| {
        let fact = node("n1").at_version(version).tainted([taint(text)]);
        EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false })
    };
    script.send(1.0, tainted(100, "k=one:NoExecute"));
    for (name, tolerations) in [
        ("stays", vec![toleration("k", None)]),
        ("leaves-1", Vec::new()),
        ("leaves-2", Vec::new()),
        ("early", vec![toleration("k", Some(60))]),
        ("late", vec![toleration("k", Some(90))]),
    ] {
        let fact = pod(name).at_version(40).tolerates(tolerations);
        script.send(1.0, EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    }
    script.engine.take_notices();
    script.send(2.0, tainted(101, "k=two:NoExecute"));
    let notices = script.engine.take_notices();
    let found = notices.iter().find_map(|notice| match notice {
        EvictionNotice::NodeTaintsChanged { impact, .. } => Some(impact),
        _ => None,
    });
    let impact = found.expect("the value has changed");
    assert_eq!((impact.staying, impact.due, impact.counting, impact.held), (1, 2, 2, 0));
    assert_eq!(impact.deadlines, Some((at(61.0).mono, at(91.0).mono)));
    script.send(3.0, tainted(102, "k=two:NoExecute"));
    assert!(script.engine.take_notices().is_empty(), "nothing has changed");
}

/// A stall begins when requests for due pods fail, and ends with the first that succeeds; the removal of a mark is none.
#[test]
fn a_stall_ends_when_a_request_of_a_due_pod_succeeds() {
    let mut script = Script::tainted(EvictionConfig::default(), pod("a").at_version(40));
    let fact = pod("b").at_version(41);
    script.send(1.0, EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    let serve = |marks: f64| {
        move |when: f64, effect: &EvictionEffect| match effect {
            EvictionEffect::SetDisruptionTarget { name, .. } if name.name() == "b" => {
                (well(effect, at(when).mono), marks)
            }
            EvictionEffect::DeletePod { .. } => (failed(effect, at(when).mono, ApiFailure::Rejected), 0.02),
            other => (well(other, at(when).mono), 0.0),
        }
    };
    script.run(1.04, serve(0.05));
    let stall = script.engine.stats().stall;
    assert_eq!(stall.map(|stall| stall.since), Some(at(1.03).mono), "{:?}", script.requested);
    script.run(1.07, serve(0.05));
    assert_eq!(script.engine.stats().stall, None, "the mark of b was set");
}
