//! Tests that another taint eviction controller is detected, and nothing else is mistaken for one (P39).

use crate::common::script::{Script, at, failed, well};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionInput, EvictionNotice};
use taintward_core::fact::{PodFact, PodLifePhase};
use taintward_core::identity::ResourceVersion;
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{pod, pod_ref};

/// The marked pod, as the watch delivers it.
fn reported(version: u64, by_another: bool, life_phase: PodLifePhase) -> EvictionInput {
    let fact =
        PodFact { marked: true, marked_by_another: by_another, life_phase, ..pod("p").at_version(version) };
    EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false })
}

/// The signs of another controller: marks, deletions.
fn signs(script: &Script) -> (usize, usize) {
    let all = |kind: fn(&EvictionNotice) -> bool| script.notices.iter().filter(|notice| kind(notice)).count();
    let marks = all(|notice| matches!(notice, EvictionNotice::OtherControllerDetected { .. }));
    (marks, all(|notice| matches!(notice, EvictionNotice::EvictedByOther { .. })))
}

/// Runs for two seconds; with the first DELETE the watch delivers `changes`, and `response` is the response to it.
fn at_our_delete(changes: &[EvictionInput], response: Result<(), ApiFailure>) -> Script {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
    let mut first = true;
    let mut received = Vec::new();
    script.run(1.5, |when, effect| match effect {
        EvictionEffect::DeletePod { pod, .. } if first => {
            first = false;
            received = changes.to_vec();
            (EvictionInput::Deleted { pod: pod.clone(), result: response }, 0.6)
        }
        other => (well(other, at(when).mono), 0.0),
    });
    for changes in received {
        script.send(1.55, changes);
    }
    script.run(3.0, |when, effect| match effect {
        EvictionEffect::ReadPod { .. } => (failed(effect, at(when).mono, ApiFailure::NotFound), 0.0),
        other => (well(other, at(when).mono), 0.0),
    });
    script
}

const TERMINATING: PodLifePhase = PodLifePhase::Terminating;

#[test]
fn a_mark_of_another_controller_is_reported_once_in_any_order() {
    for ours_first in [false, true] {
        let mut script = Script::new(EvictionConfig::default());
        script.send(
            1.0,
            EvictionInput::Pods(ObjectEvent::Applied { fact: pod("p").at_version(10), listed: false }),
        );
        if ours_first {
            script.send(1.1, reported(11, false, PodLifePhase::Live));
        }
        script.send(1.2, reported(12, true, PodLifePhase::Live));
        script.send(1.3, reported(13, true, TERMINATING));
        script.notices = script.engine.take_notices();
        assert_eq!(signs(&script), (1, 0));
    }
}

/// The engine's own request to mark it is in flight, and comes second.
#[test]
fn a_mark_of_another_controller_is_reported_while_the_own_mark_is_in_flight() {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
    script.run(1.5, |when, effect| match effect {
        EvictionEffect::SetDisruptionTarget { .. } => {
            (failed(effect, at(when).mono, ApiFailure::Conflict), 0.9)
        }
        other => (well(other, at(when).mono), 0.0),
    });
    script.send(1.5, reported(41, true, PodLifePhase::Live));
    script.run(3.0, |when, effect| match effect {
        EvictionEffect::ReadPod { .. } => (failed(effect, at(when).mono, ApiFailure::NotFound), 0.0),
        other => (well(other, at(when).mono), 0.0),
    });
    assert_eq!(signs(&script), (1, 0));
}

/// Neither the engine's own, nor another replica's, nor that of the previous process; nor one that was found, which may
/// be older than this process.
#[test]
fn no_other_mark_is_mistaken_for_it() {
    let mut script = Script::new(EvictionConfig::default());
    script.send(
        1.0,
        EvictionInput::Pods(ObjectEvent::Applied { fact: pod("p").at_version(10), listed: false }),
    );
    script.send(1.1, reported(11, false, PodLifePhase::Live));
    let EvictionInput::Pods(ObjectEvent::Applied { fact, .. }) = reported(12, true, PodLifePhase::Live)
    else {
        unreachable!()
    };
    script.send(1.2, EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }));
    script.send(1.2, EvictionInput::Pods(ObjectEvent::Applied { fact, listed: true }));
    script.send(1.2, EvictionInput::Pods(ObjectEvent::ListCompleted));
    script.send(1.3, reported(13, true, PodLifePhase::Live));
    script.notices = script.engine.take_notices();
    assert_eq!(signs(&script), (0, 0));
}

#[test]
fn a_deletion_by_another_client_before_the_own_one_is_reported() {
    let gone = [EvictionInput::Pods(ObjectEvent::Deleted(pod_ref("p").into()))];
    let going = [reported(300, false, TERMINATING)];
    for changes in [&gone, &going] {
        for failure in [ApiFailure::NotFound, ApiFailure::Conflict] {
            let script = at_our_delete(changes, Err(failure));
            assert_eq!(signs(&script), (0, 1), "{changes:?} {failure:?}");
            // The response may arrive before the watch event.
            let script = at_our_delete(&[], Err(failure));
            assert_eq!(signs(&script), (0, 1), "{failure:?}");
        }
    }
}

#[test]
fn own_deletions_are_not_reported() {
    let gone = EvictionInput::Pods(ObjectEvent::Deleted(pod_ref("p").into()));
    let going = reported(300, false, TERMINATING);
    for changes in [vec![gone.clone()], vec![going.clone()], vec![going, gone], vec![]] {
        // Accepted; or without a response, and perhaps carried out.
        for response in [Ok(()), Err(ApiFailure::Unavailable)] {
            let script = at_our_delete(&changes, response);
            assert_eq!(signs(&script), (0, 0), "{changes:?} {response:?}");
        }
    }
}

/// An API-initiated eviction, a preemption and podgc replace the mark's reason by their own.
#[test]
fn another_reason_is_not_another_controller() {
    let mut fact = pod("p").at_version(300);
    (fact.life_phase, fact.version) = (TERMINATING, Some(ResourceVersion(300)));
    let script = at_our_delete(
        &[EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false })],
        Err(ApiFailure::Conflict),
    );
    assert_eq!(signs(&script), (0, 0));
}

/// If another request failed first, any client had the time to delete it.
#[test]
fn after_a_refusal_a_deletion_proves_nothing() {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
    script.run(1.5, |when, effect| match effect {
        EvictionEffect::DeletePod { .. } => (failed(effect, at(when).mono, ApiFailure::Rejected), 0.0),
        other => (well(other, at(when).mono), 0.0),
    });
    script.send(1.51, EvictionInput::Pods(ObjectEvent::Deleted(pod_ref("p").into())));
    script.notices.extend(script.engine.take_notices());
    assert_eq!(signs(&script), (0, 0));
}

/// The watch delivers the own mark late, when no DELETE is in flight.
#[test]
fn the_own_mark_that_arrives_late_is_no_deletion_by_another() {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
    let mut first = true;
    let mut serve = |when, effect: &EvictionEffect| match effect {
        EvictionEffect::DeletePod { .. } if std::mem::take(&mut first) => {
            (failed(effect, at(when).mono, ApiFailure::Conflict), 0.0)
        }
        EvictionEffect::ReadPod { .. } => (well(effect, at(when).mono), 0.5),
        other => (well(other, at(when).mono), 0.0),
    };
    script.run(1.2, &mut serve);
    script.send(1.3, reported(200, false, PodLifePhase::Live));
    script.run(3.0, &mut serve);
    assert_eq!((signs(&script), script.deletes().len()), ((0, 0), 2));
}
