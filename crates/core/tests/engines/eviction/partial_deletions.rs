//! Tests a DELETE without a response that has made the pod terminating but not removed it (P31).

use crate::common::script::{Script, at, failed, well};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::LiveRead;
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionInput, EvictionNotice};
use taintward_core::fact::PodLifePhase;
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::testkit::pod;

/// The result of a read.
#[derive(Clone, Copy, PartialEq)]
enum HalfDeletedPod {
    /// Terminating, and waiting for nothing.
    Half,
    /// Terminating: its grace period runs, or it has a finalizer.
    Ending,
}

/// One pod; the first `which` request gets no response, and a read finds it terminating.
fn checked_at(
    which: fn(&EvictionEffect) -> bool,
    state: HalfDeletedPod,
    again: Result<(), ApiFailure>,
) -> Script {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
    let mut lost = false;
    script.run(60.0, |when, effect| match effect {
        effect if which(effect) && !lost => {
            lost = true;
            (failed(effect, at(when).mono, ApiFailure::Unavailable), 0.0)
        }
        EvictionEffect::ReadPod { pod: it, .. } => {
            let mut fact = pod("p").at_version(300);
            (fact.life_phase, fact.marked) = (PodLifePhase::Terminating, true);
            let half_deleted = state == HalfDeletedPod::Half;
            (EvictionInput::PodRead { pod: it.clone(), result: Ok(LiveRead::Found(fact)), half_deleted }, 0.0)
        }
        EvictionEffect::DeletePod { pod, .. } if lost => {
            (EvictionInput::Deleted { pod: pod.clone(), result: again }, 0.0)
        }
        other => (well(other, at(when).mono), 0.0),
    });
    script
}

fn is_delete(effect: &EvictionEffect) -> bool {
    matches!(effect, EvictionEffect::DeletePod { .. })
}

#[test]
fn p31_an_interrupted_deletion_is_completed() {
    let script = checked_at(is_delete, HalfDeletedPod::Half, Ok(()));
    let deletes: Vec<_> = script.requested.iter().filter(|(_, effect)| is_delete(effect)).collect();
    let [_, (when, EvictionEffect::DeletePod { pod, version, confirmed, .. })] = deletes[..] else {
        panic!("{:?}", script.requested)
    };
    assert_eq!(
        (&pod.uid, *version),
        (&Uid::new("p"), Some(ResourceVersion(300))),
        "with the version that was read"
    );
    assert_eq!(*confirmed, at(*when).mono, "confirmed by the read just now");
    assert!(script.notices.iter().any(|notice| matches!(notice, EvictionNotice::Evicted { .. })));
    // It is retried until it succeeds.
    let script = checked_at(is_delete, HalfDeletedPod::Half, Err(ApiFailure::Unavailable));
    assert!(script.deletes().len() > 5, "{:?}", script.requested);
}

#[test]
fn s10_a_pod_that_terminates_by_itself_is_skipped() {
    assert_eq!(checked_at(is_delete, HalfDeletedPod::Ending, Ok(())).deletes().len(), 1);
    // Another client's deletion, found because a mark got no response.
    let script = checked_at(
        |effect| matches!(effect, EvictionEffect::SetDisruptionTarget { .. }),
        HalfDeletedPod::Half,
        Ok(()),
    );
    assert!(script.deletes().is_empty(), "{:?}", script.requested);
}

/// After a DELETE got no response, the server gets longer for the next.
#[test]
fn p44_the_request_after_a_lost_response_has_a_longer_timeout() {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
    let mut slow = Vec::new();
    script.run(60.0, |when, effect| match effect {
        EvictionEffect::DeletePod { slow: is_slow, .. } => {
            slow.push(*is_slow);
            match is_slow {
                true => (well(effect, at(when).mono), 0.0),
                false => (failed(effect, at(when).mono, ApiFailure::Unavailable), 2.0),
            }
        }
        other => (well(other, at(when).mono), 0.0),
    });
    assert_eq!(slow, [false, true]);
}

/// A read that arrives too late shows no more whether the deletion was interrupted: it failed, and the pod is read again.
#[test]
fn s10_a_late_read_completes_no_deletion() {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
    let mut deletes = 0;
    script.run(6.0, |when, effect| match effect {
        EvictionEffect::DeletePod { .. } => {
            deletes += 1;
            (failed(effect, at(when).mono, ApiFailure::Unavailable), 0.0)
        }
        EvictionEffect::ReadPod { pod: it, .. } => {
            let mut fact = pod("p").at_version(300);
            (fact.life_phase, fact.marked) = (PodLifePhase::Terminating, true);
            let result = Ok(LiveRead::Found(fact));
            (EvictionInput::PodRead { pod: it.clone(), result, half_deleted: true }, 4.6)
        }
        other => (well(other, at(when).mono), 0.0),
    });
    let reads = script.times(|effect| matches!(effect, EvictionEffect::ReadPod { .. }));
    assert_eq!((deletes, reads.len()), (1, 2), "{:?}", script.requested);
    let failures: Vec<u32> = script.engine.failing_evictions().map(|failing| failing.failures).collect();
    assert_eq!(failures, [2], "the DELETE, and the read that was late");
}
