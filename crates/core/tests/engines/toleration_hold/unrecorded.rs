//! Tests which pods count as kept without their own seconds, because another writer removed their record while no
//! process ran.

use crate::common::monitored::MonitoredEngine;
use crate::toleration_hold::script::{
    BY_PERSON, HoldScript, ScriptInput, Settings, held_pod, hold, hold_node, list,
};
use taintward_core::engine::{Engine as _, Lane};
use taintward_core::identity::PodRef;
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::toleration_guard::UnrecordedCause;
use taintward_core::toleration_seconds::{
    HeldPodFact, NodeHoldRequest, TolerationSecondsEngine, TolerationSecondsNotice,
};

fn with_seconds(uid: &str, seconds: Option<i64>) -> HeldPodFact {
    let mut pod = held_pod(uid, "a1", 1);
    pod.tolerations.iter_mut().for_each(|one| one.seconds = seconds);
    pod
}

fn references(pods: &[HeldPodFact]) -> Vec<PodRef> {
    pods.iter().map(|pod| PodRef { node: pod.node.clone(), uid: pod.id.uid().clone() }).collect()
}

/// What the engine reports, by the pods' names.
fn reported(script: &mut HoldScript) -> Vec<(String, UnrecordedCause)> {
    let notices = script.engine.take_notices().into_iter();
    let reported = notices.filter_map(|notice| match notice {
        TolerationSecondsNotice::RecordMissing { pod, cause, .. } => {
            Some((pod.name().name().to_owned(), cause))
        }
        _ => None,
    });
    reported.collect()
}

#[test]
fn pods_that_lost_their_record_are_reported_once_and_counted_until_they_are_gone() {
    let settings = Settings { hold: BY_PERSON, guard: Some(10), ..Settings::default() };
    let pods =
        vec![with_seconds("cleared", None), with_seconds("raised", Some(3_600)), held_pod("own", "a1", 1)];
    let nodes = vec![hold_node("a1", 1, None, NodeHoldRequest::None)];
    let mut script = HoldScript::new(settings, nodes, pods.clone());
    assert_eq!(
        (script.settle(), reported(&mut script).len()),
        (1, 0),
        "only the pod with its own seconds is guarded"
    );
    script.receive(ScriptInput::WrittenPods(references(&pods)));
    let expected =
        [("cleared".to_owned(), UnrecordedCause::Hold), ("raised".to_owned(), UnrecordedCause::Guard)];
    assert_eq!((reported(&mut script), script.engine.stats().unrecorded), (expected.to_vec(), 2));
    script.receive(ScriptInput::WrittenPods(references(&pods)));
    assert_eq!(reported(&mut script), [], "once");
    // One is recreated, the other one gets seconds from its owner.
    let gone = ObjectRef::pod(pods[0].id.uid().clone(), Some(pods[0].node.clone()));
    script.receive(ScriptInput::Pods(ObjectEvent::Deleted(gone)));
    assert_eq!(script.engine.stats().unrecorded, 1);
    let mut changed = with_seconds("raised", Some(7_200));
    changed.version = Some(taintward_core::identity::ResourceVersion(script.next_version()));
    script.observe_pod(changed);
    assert_eq!(script.engine.stats().unrecorded, 0);
}

#[test]
fn a_pod_is_judged_by_what_is_listed_and_a_held_one_has_its_record() {
    let settings = Settings { hold: BY_PERSON, ..Settings::default() };
    let nodes = vec![hold_node("a1", 1, None, hold(0, 3_600))];
    let mut script = HoldScript::new(settings, nodes.clone(), vec![held_pod("held", "a1", 1)]);
    assert_eq!((script.settle(), script.held()), (1, vec!["held"]));
    let held = script.pods.clone();
    script.receive(ScriptInput::WrittenPods(references(&held)));
    assert_eq!((reported(&mut script).len(), script.engine.stats().unrecorded), (0, 0));
    // The list of written pods may arrive before the engine knows its pods.
    let lost = vec![with_seconds("lost", None)];
    let mut early = HoldScript::new(settings, Vec::new(), Vec::new());
    early.engine = MonitoredEngine::new(TolerationSecondsEngine::new(settings.hold, None, None));
    early.receive(ScriptInput::WrittenPods(references(&lost)));
    early.receive_all(list(nodes, ScriptInput::Nodes));
    assert_eq!(reported(&mut early).len(), 0);
    early.receive_all(list(lost, ScriptInput::Pods));
    assert_eq!(reported(&mut early), [("lost".to_owned(), UnrecordedCause::Hold)]);
    assert_eq!(early.pull(Lane::All), None, "nothing is guessed");
}
