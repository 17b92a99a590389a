//! Tests that the seconds of each toleration stay, and come back (S15).

use super::{PatchHistory, both, hold_node, own, with_seconds};
use crate::api_error::ApiFailure;
use crate::engine_monitor::EngineMonitor as _;
use crate::identity::NodeName;
use crate::object_event::{ObjectEvent, ObjectRef};
use crate::toleration_seconds::{
    GuardSettings, PatchPurpose, PatchedRecord, RecordState, TolerationSecondsEngine, TolerationSecondsInput,
};
use crate::toleration_seconds_monitor::TolerationSecondsMonitor;
use alloc::vec::Vec;

#[test]
fn s15_each_toleration_keeps_its_own_seconds() {
    let history = PatchHistory::new();
    let patch = history.patch(PatchPurpose::Hold, both(None), PatchedRecord::None);
    let reason = "S15: its toleration of node.kubernetes.io/not-ready was 300 s, and would be without a limit for good";
    assert_eq!(history.violated(patch, 100).as_deref(), Some(reason));
    let held = PatchHistory::held();
    let back = held.patch(PatchPurpose::Hold, both(Some(300)), PatchedRecord::None);
    assert_eq!(held.violated(back, 400), None);
    let lost = held.patch(PatchPurpose::Hold, both(Some(250)), PatchedRecord::None);
    assert!(held.violated(lost, 400).unwrap().starts_with("S3"), "fewer than its own, for good");
    let forgotten = held.patch(PatchPurpose::Hold, Vec::new(), PatchedRecord::None);
    assert!(held.violated(forgotten, 400).unwrap().starts_with("S15"));
}

#[test]
fn s15_the_record_that_the_engine_wrote_counts_after_another_writer_removed_it() {
    let mut history = PatchHistory::held();
    history.change(with_seconds(None), RecordState::Absent, 110);
    assert_eq!(history.release_violates(241, 59), None);
    assert!(history.release_violates(240, 59).unwrap().starts_with("S3"));
    // Others changed the seconds as well: those count now.
    history.change(with_seconds(Some(500)), RecordState::Absent, 120);
    let patch = history.patch(PatchPurpose::Hold, both(Some(300)), PatchedRecord::None);
    assert!(history.violated(patch, 400).unwrap().starts_with("S3"));
}

#[test]
fn s15_the_end_of_a_hold_is_followed_by_a_request() {
    let history = PatchHistory::held();
    assert_eq!(history.clone().idle_until(100, 460), None);
    assert_eq!(history.clone().idle_until(100, 900), Some(("S15", 465)));
    let mut unknown = history.clone();
    let node = ObjectRef::node(&NodeName::new("n1"), None);
    unknown.input(TolerationSecondsInput::Nodes(ObjectEvent::Undecodable(node)), 390);
    assert_eq!(unknown.idle_until(390, 900), None);

    let mut released = history.clone();
    let back = released.patch(PatchPurpose::Hold, both(Some(300)), PatchedRecord::None);
    assert_eq!(released.sent(back.clone(), 401), None);
    assert_eq!(released.clone().idle_until(401, 900), None, "the request has no response yet");
    let mut failed = released.clone();
    let result = Err(ApiFailure::Unavailable);
    failed.input(TolerationSecondsInput::PatchDone { patch: back.clone().into(), result }, 450);
    assert_eq!(failed.clone().idle_until(450, 510), None, "the next request waits for a pause");
    assert_eq!(failed.idle_until(450, 900), Some(("S15", 515)));
    released.change(own(), RecordState::Absent, 402);
    let result = Ok(released.pod.clone());
    released.input(TolerationSecondsInput::PatchDone { patch: back.into(), result }, 402);
    assert_eq!(released.idle_until(402, 900), None);

    let engine = TolerationSecondsEngine::new(None, None, Some(GuardSettings::default()));
    let mut without = PatchHistory { monitor: TolerationSecondsMonitor::of(&engine), ..history };
    without.list(TolerationSecondsInput::Nodes, Some(hold_node("uid-n1", 1, None)));
    without.list(TolerationSecondsInput::Pods, Some(without.pod.clone()));
    assert_eq!(without.idle_until(100, 900), None, "without holds, none ends");
}
