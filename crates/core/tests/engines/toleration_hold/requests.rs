//! Tests the queue of patches with requests in flight: one of a pod at a time, in both lanes, and none of the places
//! for patches is lost.

use crate::toleration_hold::script::{BY_PERSON, HoldScript, Settings, by_limit, held_pod, hold, hold_node};
use std::collections::BTreeSet;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine as _, Lane};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::toleration::Toleration;
use taintward_core::toleration_seconds::{
    NodeHoldRequest, PatchPurpose, SecondsPatch, TolerationSecondsInput,
};

const NONE: NodeHoldRequest = NodeHoldRequest::None;

fn pull_all(script: &mut HoldScript, lane: Lane) -> Vec<SecondsPatch> {
    std::iter::from_fn(|| script.pull(lane)).collect()
}

/// A pod that waits for the rate of backfill is held, and its hold is in flight when its turn comes.
#[test]
fn a_pod_whose_hold_is_in_flight_is_not_backfilled() {
    let settings = Settings { hold: BY_PERSON, backfill: Some(20), ..Settings::default() };
    let nodes = vec![hold_node("a1", 1, None, NONE)];
    let mut script = HoldScript::new(settings, nodes, vec![held_pod("pa", "a1", 1), held_pod("pb", "a1", 1)]);
    let first = script.pull(Lane::All).expect("backfill of one pod");
    assert_eq!(pull_all(&mut script, Lane::All), [], "20 a second: the other one waits");
    let result = script.carry_out(&first);
    script.response(first, result);
    script.pass(10);
    script.observe_node("a1", None, hold(0, 3_600));
    let mut sent = pull_all(&mut script, Lane::All);
    script.pass(60);
    sent.extend(pull_all(&mut script, Lane::All));
    let pods: BTreeSet<_> = sent.iter().map(|patch| patch.pod.clone()).collect();
    assert_eq!((sent.len(), pods.len()), (2, 2), "{sent:?}");
    assert!(sent.iter().all(|patch| patch.purpose == PatchPurpose::Hold));
    for patch in sent {
        let result = script.carry_out(&patch);
        script.response(patch, result);
    }
    assert_eq!(pull_all(&mut script, Lane::All), []);
    assert_eq!((script.held(), script.engine.stats().waiting), (vec!["pa", "pb"], 0));
}

/// A failed patch of the guard waits for its pause, then for the rate, while other pods come and events arrive: however
/// often, all places for patches stay free.
#[test]
fn places_for_patches_are_not_lost() {
    let settings = Settings { hold: BY_PERSON, guard: Some(50), ..Settings::default() };
    let mut script =
        HoldScript::new(settings, vec![hold_node("a1", 1, None, NONE)], vec![held_pod("p", "a1", 1)]);
    let patch = script.pull(Lane::All).expect("the ceiling of the pod");
    script.response(patch, Err(ApiFailure::Unavailable));
    for round in 0..70 {
        script.pass(40_000);
        let version = script.next_version();
        script.observe_pod(held_pod(&format!("other{round}"), "a1", version));
        let other = script.pull(Lane::Fresh).expect("the ceiling of another pod");
        assert_eq!(script.pull(Lane::All), None, "the rate");
        let mut changed = held_pod("p", "a1", script.next_version());
        let unrelated = Toleration { key: "other".into(), ..changed.tolerations[0].clone() };
        changed.tolerations.push(unrelated);
        script.observe_pod(changed);
        let result = script.carry_out(&other);
        script.response(other, result);
        script.pass(25);
        let mut sent = pull_all(&mut script, Lane::Fresh);
        sent.extend(pull_all(&mut script, Lane::All));
        assert_eq!(sent.len(), 1, "one patch of the pod");
        for patch in sent {
            script.response(patch, Err(ApiFailure::Unavailable));
        }
    }
    assert_eq!(script.engine.stats().waiting, 0);
    let version = script.next_version();
    for at in 0..100 {
        script.observe_pod(held_pod(&format!("m{at}"), "a2", version));
    }
    script.observe_node("a2", None, hold(0, 1_000_000));
    script.pass(25);
    let sent = pull_all(&mut script, Lane::Fresh);
    assert_eq!(sent.iter().filter(|patch| patch.purpose == PatchPurpose::Hold).count(), 64);
}

/// A pull of first attempts takes no retry, of a hold or of a paced patch.
#[test]
fn retries_are_only_in_the_lane_of_all() {
    let held = vec![hold_node("a1", 1, None, hold(0, 3_600))];
    let well = vec![hold_node("a1", 1, None, NONE)];
    let cases = [
        (Settings { hold: BY_PERSON, ..Settings::default() }, held),
        (Settings { backfill: Some(1_000), ..Settings::default() }, well.clone()),
        (Settings { guard: Some(1_000), ..Settings::default() }, well),
    ];
    for (settings, nodes) in cases {
        let mut script = HoldScript::new(settings, nodes, vec![held_pod("p", "a1", 1)]);
        let patch = script.pull(Lane::Fresh).expect("the first attempt");
        script.response(patch, Err(ApiFailure::Unavailable));
        assert_eq!(script.pull(Lane::All), None, "the pause");
        script.pass(1_000);
        assert_eq!(script.pull(Lane::Fresh), None, "{settings:?}");
        let retry = script.pull(Lane::All).expect("the retry");
        let result = script.carry_out(&retry);
        script.response(retry, result);
        assert_eq!((script.pull(Lane::All), script.engine.stats().waiting), (None, 0));
        script.pass(60_000);
        assert_eq!(script.pull(Lane::All), None);
    }
}

/// A pod that is gone while it waits for the rate, or while its patch is in flight, leaves nothing behind.
#[test]
fn a_pod_that_is_gone_leaves_nothing_in_the_queue() {
    let settings = Settings { guard: Some(1), ..Settings::default() };
    let pods = (0..5).map(|at| held_pod(&format!("p{at}"), "a1", 1)).collect();
    let mut script = HoldScript::new(settings, vec![hold_node("a1", 1, None, NONE)], pods);
    let sent = script.pull(Lane::All).expect("the first ceiling");
    assert_eq!(script.pull(Lane::All), None, "the rate");
    assert_eq!(script.engine.stats().guard_pending, 4);
    for fact in std::mem::take(&mut script.pods) {
        let gone = ObjectRef::pod(fact.id.uid().clone(), Some(fact.node));
        script.receive(TolerationSecondsInput::Pods(ObjectEvent::Deleted(gone)));
    }
    assert_eq!((script.engine.stats().guard_pending, script.engine.stats().waiting), (0, 1));
    script.response(sent, Err(ApiFailure::Unavailable));
    assert_eq!(script.engine.stats().waiting, 0);
    script.pass(60_000);
    assert_eq!((script.pull(Lane::All), script.engine.next_wakeup()), (None, None));
}

/// The most urgent pod is first, and a response to a patch that was not sent changes nothing.
#[test]
fn the_shortest_countdown_is_held_first_and_an_unknown_response_changes_nothing() {
    let nodes = vec![hold_node("a1", 1, Some(Some(0)), NONE), hold_node("a2", 1, Some(Some(50)), NONE)];
    let mut shorter = held_pod("c", "a2", 1);
    shorter.tolerations.iter_mut().for_each(|one| one.seconds = Some(100));
    let pods = vec![held_pod("b", "a2", 1), shorter, held_pod("a", "a1", 1)];
    let mut script = HoldScript::new(Settings { hold: by_limit(1), ..Settings::default() }, nodes, pods);
    script.pass(60_000);
    let sent = pull_all(&mut script, Lane::Fresh);
    let order: Vec<&str> = sent.iter().map(|patch| patch.pod.name().name()).collect();
    assert_eq!(order, ["c", "a", "b"], "due at 150, 300 and 350 s");
    let first = sent[0].clone();
    for patch in sent {
        let result = script.carry_out(&patch);
        script.response(patch, result);
    }
    let before = script.engine.stats();
    script.response(first, Err(ApiFailure::Unavailable));
    assert_eq!(script.engine.stats(), before);
    assert_eq!(before.held, 3);
}
