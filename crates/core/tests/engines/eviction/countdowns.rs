//! Tests what is reported of countdowns when tolerations and taints change, and what the engine says of nodes and pods.

use crate::common::script::{Script, at, tainted_node};
use taintward_core::engine::Engine as _;
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionInput, EvictionNotice};
use taintward_core::fact::{NodeFact, PodFact, PodLifePhase};
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{node, pod, taint, toleration};

fn tolerating(version: u64, seconds: &[(&str, i64)]) -> PodFact {
    pod("p")
        .at_version(version)
        .tolerates(seconds.iter().map(|(key, seconds)| toleration(key, Some(*seconds))))
}

fn observe_pod(script: &mut Script, when: f64, fact: PodFact) {
    script.send(when, EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
}

fn observe_node(script: &mut Script, when: f64, fact: NodeFact) {
    script.send(when, EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false }));
}

/// The notices about countdowns, with whole seconds.
fn notices(script: &mut Script) -> Vec<String> {
    let seconds = |until: taintward_core::time::Mono| until.as_micros() / 1_000_000;
    let word = |notice| match notice {
        EvictionNotice::CountdownStarted { until, .. } => Some(format!("started until {}", seconds(until))),
        EvictionNotice::CountdownMoved { until, .. } => Some(format!("moved to {}", seconds(until))),
        EvictionNotice::CountdownCancelled { .. } => Some("cancelled".to_owned()),
        EvictionNotice::BecameDue { due, .. } => Some(format!("due since {}", seconds(due))),
        EvictionNotice::EvictedByOther { .. } => Some("evicted by other".to_owned()),
        _ => None,
    };
    script.engine.take_notices().into_iter().filter_map(word).collect()
}

#[test]
fn a_countdown_that_changes_is_reported_with_its_new_end() {
    let mut script = Script::tainted(EvictionConfig::default(), tolerating(5, &[("k", 60)]));
    assert_eq!(notices(&mut script), ["started until 61"]);
    observe_pod(&mut script, 2.0, tolerating(6, &[("k", 60)]));
    assert_eq!(notices(&mut script), [""; 0], "it ends as before");
    observe_pod(&mut script, 3.0, tolerating(7, &[("k", 90)]));
    assert_eq!(notices(&mut script), ["moved to 91"]);
    observe_pod(&mut script, 4.0, tolerating(8, &[("k", 30)]));
    assert_eq!(notices(&mut script), ["moved to 31"]);
    observe_pod(&mut script, 5.0, tolerating(9, &[("k", 1)]));
    assert_eq!(notices(&mut script), ["due since 2"]);
    observe_pod(&mut script, 6.0, tolerating(10, &[("k", 90)]));
    assert_eq!(notices(&mut script), ["moved to 91"]);
    observe_node(&mut script, 7.0, node("n1").at_version(101));
    assert_eq!(notices(&mut script), ["cancelled"]);
}

/// Of a response, only the version and the mark are known: the watch event of that version has everything else.
#[test]
fn a_watch_event_of_the_version_of_a_response_counts() {
    let mut script = Script::tainted(EvictionConfig::default(), tolerating(5, &[("k", 5)]));
    script.now = 7.0;
    script.engine.tick(at(7.0).mono);
    let Some(EvictionEffect::ReadNode { .. }) = script.next() else { panic!("{:?}", script.requested) };
    let found = taintward_core::engine::LiveRead::Found(tainted_node(100, &[("k", None)]));
    let (node, sent) = (NodeName::new("n1"), at(7.0).mono);
    script.send(7.1, EvictionInput::NodeConfirmed { node, sent, result: Ok(found) });
    let Some(EvictionEffect::SetDisruptionTarget { pod, .. }) = script.next() else {
        panic!("{:?}", script.requested)
    };
    script.send(7.2, EvictionInput::Marked { pod, result: Ok(Some(ResourceVersion(9))) });
    // Tolerations were changed in a version before, which the watch has yet to deliver.
    observe_pod(&mut script, 7.3, PodFact { marked: true, ..tolerating(9, &[("k", 600)]) });
    let next = script.next();
    assert!(!matches!(next, Some(EvictionEffect::DeletePod { .. })), "it stays until 601: {next:?}");
}

#[test]
fn a_deletion_without_a_mark_is_not_another_controllers() {
    for (marked, life_phase) in
        [(false, PodLifePhase::Terminating), (true, PodLifePhase::Live), (false, PodLifePhase::Live)]
    {
        let mut script = Script::new(EvictionConfig::default());
        observe_pod(&mut script, 1.0, tolerating(5, &[]));
        observe_pod(&mut script, 2.0, PodFact { marked, life_phase, ..tolerating(6, &[]) });
        assert_eq!(notices(&mut script), [""; 0], "{marked} {life_phase:?}");
    }
}

#[test]
fn a_mark_says_for_which_generation_of_the_pod_it_was_decided() {
    for generation in [0, 1, 7] {
        let fact = PodFact { generation, ..pod("p").at_version(5) };
        let mut script = Script::tainted(EvictionConfig::default(), fact);
        let mut seen = None;
        script.run(1.5, |when, effect| {
            if let EvictionEffect::SetDisruptionTarget { generation, .. } = effect {
                seen = Some(*generation);
            }
            (crate::common::script::well(effect, at(when).mono), 0.0)
        });
        assert_eq!(seen, Some(generation));
    }
}

#[test]
fn the_engine_tells_the_taints_and_the_uid_of_a_node() {
    let mut script = Script::new(EvictionConfig::default());
    let known = |script: &Script, name: &str| {
        let name = NodeName::new(name);
        let keys: Vec<String> =
            script.engine.node_taints(&name).iter().map(|one| one.taint.key.to_string()).collect();
        (keys, script.engine.node_uid(&name).cloned())
    };
    assert_eq!(known(&script, "n1"), (vec![], None));
    let fact =
        NodeFact { uid: Uid::new("one"), ..node("n1").at_version(2).tainted([taint("a"), taint("b")]) };
    observe_node(&mut script, 1.0, fact);
    assert_eq!(known(&script, "n1"), (vec!["a".into(), "b".into()], Some(Uid::new("one"))));
    assert!(!script.engine.applies_policies());
    let policies = EvictionConfig { policies: true, ..EvictionConfig::default() };
    assert!(taintward_core::eviction::EvictionEngine::new(policies).applies_policies());
}

#[test]
fn due_pods_are_counted_before_and_while_their_requests_are_under_way() {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(5));
    let counts = |script: &Script| {
        let stats = script.engine.stats();
        (stats.due, stats.in_hand, stats.oldest_due)
    };
    assert_eq!(counts(&script), (1, 0, Some(at(1.0).mono)));
    assert!(script.next().is_some());
    assert_eq!(counts(&script), (0, 1, Some(at(1.0).mono)));
}
