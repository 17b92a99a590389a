//! Tests what happens to records of holds and ceilings that another writer removes, and what is reported and counted.

use crate::common::monitored::MonitoredEngine;
use crate::toleration_hold::harness::at;
use crate::toleration_hold::script::{
    BY_PERSON, DEFAULT, HoldScript, ScriptInput, Settings, by_limit, held_pod, hold, hold_node, list,
    namespace, policies, policy,
};
use taintward_core::admission::policy::TolerationDuration;
use taintward_core::engine::{Engine as _, Lane};
use taintward_core::identity::{PodRef, ResourceVersion};
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::Mono;
use taintward_core::toleration_hold::ReleaseMode;
use taintward_core::toleration_seconds::{
    HeldPodFact, LimitChange, NodeHoldRequest, PatchPurpose, PatchedRecord, RecordAnnotations, RecordState,
    SecondsPatch, TolerationSecondsEngine, TolerationSecondsNotice,
};

const NONE: NodeHoldRequest = NodeHoldRequest::None;
const HOLD: Settings = Settings { hold: BY_PERSON, backfill: None, guard: None };
const GUARD: Settings = Settings { hold: None, backfill: None, guard: Some(10) };

fn script_of(settings: Settings, request: NodeHoldRequest) -> HoldScript {
    HoldScript::new(settings, vec![hold_node("a1", 1, None, request)], vec![held_pod("p", "a1", 1)])
}

/// Another writer changes the pod.
fn another_writer(script: &mut HoldScript, change: impl FnOnce(&mut HeldPodFact)) {
    let mut pod = script.pods[0].clone();
    change(&mut pod);
    pod.version = Some(ResourceVersion(script.next_version()));
    script.observe_pod(pod);
}

fn without_record(pod: &mut HeldPodFact) {
    (pod.record, pod.records) = (RecordState::Absent, RecordAnnotations::default());
}

fn pull_and_carry_out(script: &mut HoldScript) -> SecondsPatch {
    let patch = script.pull(Lane::All).expect("a patch");
    let result = script.carry_out(&patch);
    script.response(patch.clone(), result);
    patch
}

/// Held, released, guarded or backfilled pods, and contests, as they are reported.
fn reported(script: &mut HoldScript) -> Vec<String> {
    let notices = script.engine.take_notices().into_iter();
    let text = |notice| match notice {
        TolerationSecondsNotice::PodHeld { until, .. } => {
            Some(format!("held until {}", until.as_micros() / 1_000_000 - 1_800_000_000))
        }
        TolerationSecondsNotice::PodReleased { seconds, .. } => Some(format!("released with {seconds}")),
        TolerationSecondsNotice::PodGuarded { is_guarded, .. } => Some(format!("guarded {is_guarded}")),
        TolerationSecondsNotice::PodBackfilled { .. } => Some("backfilled".to_owned()),
        TolerationSecondsNotice::SecondsContested { .. } => Some("contested".to_owned()),
        _ => None,
    };
    notices.filter_map(text).collect()
}

#[test]
fn a_hold_and_its_release_are_reported_and_counted() {
    let mut script = script_of(HOLD, hold(0, 600));
    assert_eq!(script.settle(), 1);
    assert_eq!(reported(&mut script), ["held until 600"]);
    let counts = |script: &HoldScript| (script.engine.stats().held, script.engine.stats().released);
    assert_eq!(counts(&script), (1, 0));
    // A longer hold changes the record alone.
    script.pass(10_000);
    script.observe_node("a1", None, hold(0, 900));
    let patch = pull_and_carry_out(&mut script);
    assert!(patch.write.seconds.is_empty() && matches!(patch.write.record, PatchedRecord::Hold(_)));
    assert_eq!(reported(&mut script), [""; 0], "the pod is held as before");
    // Its node becomes silent, so it keeps a record of what has run.
    script.observe_node("a1", Some(Some(10)), hold(0, 900));
    script.settle();
    script.pass(10_000);
    script.observe_node(
        "a1",
        Some(Some(10)),
        NodeHoldRequest::Release { at: at(20), mode: ReleaseMode::Remainder },
    );
    script.settle();
    assert_eq!(reported(&mut script), [format!("released with {DEFAULT}")]);
    assert_eq!(counts(&script), (0, 1));
    script.observe_node("a1", None, NONE);
    script.pass(10_000);
    script.settle();
    assert_eq!(counts(&script), (0, 0));
}

#[test]
fn a_record_that_another_writer_removes_is_written_again() {
    let mut script = script_of(HOLD, hold(0, 600));
    script.settle();
    let record = script.pods[0].record.clone();
    reported(&mut script);
    another_writer(&mut script, without_record);
    let patch = pull_and_carry_out(&mut script);
    assert!(patch.write.seconds.is_empty() && patch.is_contested, "{patch:?}");
    assert_eq!(script.pods[0].record, record);
    assert_eq!(reported(&mut script), ["contested"]);
    assert_eq!(script.settle(), 0);

    let mut script = script_of(GUARD, NONE);
    script.settle();
    let record = script.pods[0].record.clone();
    assert!(matches!(record, RecordState::Guarded(_)));
    assert_eq!(reported(&mut script), ["guarded true"]);
    another_writer(&mut script, without_record);
    let patch = pull_and_carry_out(&mut script);
    assert_eq!((patch.write.seconds.len(), patch.purpose), (0, PatchPurpose::Guard));
    assert!(patch.is_contested);
    assert_eq!(script.pods[0].record, record);
    assert_eq!(script.settle(), 0);
}

/// Its seconds are its author's then, and it gets the ceiling again.
#[test]
fn a_guarded_pod_whose_seconds_another_writer_changes_is_contested() {
    let mut script = script_of(GUARD, NONE);
    let first = pull_and_carry_out(&mut script);
    assert!(!first.is_contested);
    another_writer(&mut script, |pod| pod.tolerations.iter_mut().for_each(|one| one.seconds = Some(60)));
    script.pass(1_000);
    let patch = pull_and_carry_out(&mut script);
    assert!(patch.is_contested);
    assert_eq!(script.pods[0].tolerations[0].seconds, Some(3_600));
}

/// A process without the guard leaves ceilings and their records to the one that wrote them.
#[test]
fn without_the_guard_a_guarded_pod_keeps_its_ceiling() {
    let mut guarding = script_of(GUARD, NONE);
    guarding.settle();
    let guarded = guarding.pods.clone();
    let backfill = Settings { backfill: Some(10), ..Settings::default() };
    let nodes = || vec![hold_node("a1", 1, None, NONE)];
    let mut script = HoldScript::new(backfill, nodes(), guarded.clone());
    script.receive(ScriptInput::Namespaces(ObjectEvent::Applied {
        fact: namespace(Some(3_600)),
        listed: false,
    }));
    assert_eq!(script.settle(), 0);
    another_writer(&mut script, without_record);
    assert_eq!(script.settle(), 0, "nor does it restore the record");
    script.receive(ScriptInput::WrittenPods(references(&guarded)));
    assert_eq!(script.engine.stats().unrecorded, 0, "it does not know which seconds are a ceiling");
}

fn references(pods: &[HeldPodFact]) -> Vec<PodRef> {
    pods.iter().map(|pod| PodRef { node: pod.node.clone(), uid: pod.id.uid().clone() }).collect()
}

/// A policy of `forever` leaves a pod as a hold does.
#[test]
fn a_pod_that_has_no_seconds_by_its_policy_did_not_lose_a_record() {
    for (forever, expected) in [(true, 0), (false, 1)] {
        let settings = Settings { hold: BY_PERSON, backfill: Some(10), guard: None };
        let mut pod = held_pod("p", "a1", 1);
        pod.tolerations.iter_mut().for_each(|one| one.seconds = None);
        let mut script = HoldScript::new(settings, vec![hold_node("a1", 1, None, NONE)], vec![pod]);
        let mut fact = policy(600, 2_000);
        if forever {
            let stay = Some(TolerationDuration::Forever);
            (fact.policy.not_ready, fact.policy.unreachable) = (stay, stay);
        }
        script.receive_all(list([fact], policies));
        let written = references(&script.pods);
        script.receive(ScriptInput::WrittenPods(written));
        assert_eq!(script.engine.stats().unrecorded, expected, "forever: {forever}");
    }
}

#[test]
fn a_patch_says_whether_its_pod_has_annotations() {
    for is_annotated in [false, true] {
        let pod = HeldPodFact { is_annotated, ..held_pod("p", "a1", 1) };
        let mut script = HoldScript::new(HOLD, vec![hold_node("a1", 1, None, hold(0, 600))], vec![pod]);
        assert_eq!(script.pull(Lane::All).map(|patch| patch.is_annotated), Some(is_annotated));
    }
}

#[test]
fn a_hold_that_begins_now_needs_no_other_check_until_it_ends() {
    let mut script = script_of(HOLD, NONE);
    script.pass(10_000);
    script.observe_node("a1", None, hold(10, 600));
    assert_eq!((script.settle(), script.held()), (1, vec!["p"]));
    script.pass(0);
    assert_eq!(script.settle(), 0);
    assert!(
        script.engine.next_wakeup().is_none_or(|at| at > Mono::from_secs(10)),
        "{:?}",
        script.engine.next_wakeup()
    );
}

/// As many patches as may be under way leave nothing to wake up for.
#[test]
fn backfill_waits_for_responses_while_as_many_patches_as_allowed_are_under_way() {
    let pods = (0..80).map(|number| held_pod(&format!("p{number}"), "a1", 1)).collect();
    let settings = Settings { backfill: Some(1_000), ..Settings::default() };
    let mut script = HoldScript::new(settings, vec![hold_node("a1", 1, None, NONE)], pods);
    let mut under_way = Vec::new();
    for _ in 0..200 {
        under_way.extend(script.pull(Lane::All));
        script.pass(1);
    }
    assert_eq!((under_way.len(), script.engine.next_wakeup()), (64, None));
    let patch = under_way.pop().expect("some are under way");
    let result = script.carry_out(&patch);
    script.response(patch, result);
    assert!(script.engine.next_wakeup().is_some());
    assert!(script.pull(Lane::All).is_some());
}

#[test]
fn pods_that_wait_for_backfill_and_for_the_guard_are_counted_apart() {
    let guarded = HoldScript::new(GUARD, vec![hold_node("a1", 1, None, NONE)], vec![held_pod("p", "a1", 1)]);
    let counts = |script: &HoldScript| {
        let stats = script.engine.stats();
        (stats.backfill_pending, stats.guard_pending)
    };
    let mut script = guarded;
    assert_eq!((script.settle(), counts(&script)), (1, (0, 0)));
    let settings = Settings { backfill: Some(1), guard: Some(1), hold: None };
    let mut pods: Vec<_> = (0..5).map(|number| held_pod(&format!("q{number}"), "a1", 1)).collect();
    pods.push(script.pods[0].clone());
    let mut both = HoldScript::new(settings, vec![hold_node("a1", 1, None, NONE)], pods);
    assert_eq!((both.settle(), counts(&both)), (1, (0, 5)), "each needs the ceiling");
    both.receive(ScriptInput::Namespaces(ObjectEvent::Applied { fact: namespace(None), listed: false }));
    both.pass(1);
    both.settle();
    let (backfill, guard) = counts(&both);
    assert!(backfill >= 3 && guard >= 1 && backfill + guard <= 6, "{backfill} {guard}");
}

#[test]
fn a_limit_is_reported_when_it_is_exceeded_when_the_numbers_change_and_when_it_is_kept() {
    let names = ["a1", "a2", "a3"];
    let nodes = names.map(|name| hold_node(name, 1, None, NONE)).to_vec();
    let settings = Settings { hold: by_limit(1), ..Settings::default() };
    let mut script = HoldScript::new(settings, nodes, Vec::new());
    let changes = |script: &mut HoldScript| -> Vec<Option<usize>> {
        let notices = script.engine.take_notices().into_iter();
        let change = |notice| match notice {
            TolerationSecondsNotice::LimitChanged(LimitChange::Exceeded(limit)) => Some(Some(limit.silent)),
            TolerationSecondsNotice::LimitChanged(LimitChange::Kept(_)) => Some(None),
            _ => None,
        };
        notices.filter_map(change).collect()
    };
    script.pass(100_000);
    script.observe_node("a1", Some(Some(10)), NONE);
    assert_eq!(changes(&mut script), []);
    script.observe_node("a2", Some(Some(20)), NONE);
    assert_eq!(changes(&mut script), [Some(2); 2], "of the cluster, and of the zone");
    script.observe_node("a2", Some(Some(20)), hold(0, 600));
    assert_eq!(changes(&mut script), [], "the numbers are the same");
    script.observe_node("a3", Some(Some(30)), NONE);
    assert_eq!(changes(&mut script), [Some(3); 2]);
    script.observe_node("a3", None, NONE);
    script.observe_node("a2", None, NONE);
    assert_eq!(changes(&mut script), [Some(2), Some(2), None, None]);
}

/// The end of a list that has not begun says nothing.
#[test]
fn nodes_are_known_only_after_a_whole_list() {
    let mut script = HoldScript::new(HOLD, Vec::new(), Vec::new());
    script.engine = MonitoredEngine::new(TolerationSecondsEngine::new(BY_PERSON, None, None));
    script.receive_all(list([held_pod("p", "a1", 1)], ScriptInput::Pods));
    script.receive(ScriptInput::Nodes(ObjectEvent::ListCompleted));
    assert!(!script.engine.is_synced());
    script.receive_all(list([hold_node("a1", 1, None, NONE)], ScriptInput::Nodes));
    assert!(script.engine.is_synced());
}
