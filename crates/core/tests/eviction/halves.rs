//! Tests a DELETE without a response that has marked the pod for deletion but not removed it (P31).

use crate::common::script::{Script, at, failed, pod, well};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::LiveRead;
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionInput, EvictionNotice};
use taintward_core::fact::PodLifePhase;
use taintward_core::identity::{ResourceVersion, Uid};

/// What a look finds.
#[derive(Clone, Copy, PartialEq)]
enum Found {
    /// On its way out, and nothing is waited for.
    Half,
    /// On its way out: its grace period runs, or somebody has a finalizer on it.
    Ending,
}

/// One pod; the first `which` request goes unanswered, and a look finds it on its way out.
fn looked_at(which: fn(&EvictionEffect) -> bool, found: Found, again: Result<(), ApiFailure>) -> Script {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p", 40, &[]));
    let mut lost = false;
    script.run(60.0, |when, effect| match effect {
        effect if which(effect) && !lost => {
            lost = true;
            (failed(effect, at(when).mono, ApiFailure::Unavailable), 0.0)
        }
        EvictionEffect::ReadPod { pod: it, .. } => {
            let mut fact = pod("p", 300, &[]);
            (fact.standing, fact.marked) = (PodLifePhase::Terminating, true);
            let half_deleted = found == Found::Half;
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
fn p31_a_deletion_by_halves_is_brought_to_its_end() {
    let script = looked_at(is_delete, Found::Half, Ok(()));
    let deletes: Vec<_> = script.asked.iter().filter(|(_, effect)| is_delete(effect)).collect();
    let [_, (when, EvictionEffect::DeletePod { pod, version, confirmed, .. })] = deletes[..] else {
        panic!("{:?}", script.asked)
    };
    assert_eq!((&pod.uid, *version), (&Uid::new("p"), Some(ResourceVersion(300))), "as it was looked at");
    assert_eq!(*confirmed, at(*when).mono, "by what was seen just now");
    assert!(script.notices.iter().any(|notice| matches!(notice, EvictionNotice::Evicted { .. })));
    // It is asked for again until it is done.
    let script = looked_at(is_delete, Found::Half, Err(ApiFailure::Unavailable));
    assert!(script.deletes().len() > 5, "{:?}", script.asked);
}

#[test]
fn s10_whoever_ends_by_himself_is_left_alone() {
    assert_eq!(looked_at(is_delete, Found::Ending, Ok(())).deletes().len(), 1);
    // Somebody else's deletion, found because a mark went unanswered.
    let script =
        looked_at(|effect| matches!(effect, EvictionEffect::SetDisruptionTarget { .. }), Found::Half, Ok(()));
    assert!(script.deletes().is_empty(), "{:?}", script.asked);
}

/// A server that was too slow for a DELETE gets longer for the next.
#[test]
fn p44_who_went_unanswered_asks_with_more_patience() {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p", 40, &[]));
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
