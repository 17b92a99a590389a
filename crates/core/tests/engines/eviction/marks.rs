//! Tests the condition DisruptionTarget: set during the node read, cleared after long rejections, never delaying a
//! deadline.

use crate::common::script::{Script, at, failed, tainted_node, well};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, LiveRead};
use taintward_core::eviction::{DisruptionConditionPolicy, EvictionConfig, EvictionEffect, EvictionInput};
use taintward_core::fact::{PodFact, PodLifePhase};
use taintward_core::identity::{NodeName, ResourceVersion};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{pod, pod_ref, toleration};
use taintward_core::time::Span;
use taintward_core::toleration::Toleration;

fn never() -> EvictionConfig {
    EvictionConfig { condition: DisruptionConditionPolicy::Never, ..EvictionConfig::default() }
}

/// Removing a mark is not permitted; the pod's deadline comes meanwhile.
#[test]
fn l1_a_withdrawal_that_fails_delays_no_deadline() {
    for period in (60..600).step_by(7) {
        let mut fact = pod("p").at_version(10).tolerates([toleration("k", Some(period))]);
        fact.marked = true;
        let mut script = Script::tainted(never(), fact);
        let due = 1.0 + period as f64;
        script.run(due + 1.0, |when, effect| match effect {
            EvictionEffect::ClearDisruptionTarget { .. } => {
                (failed(effect, at(when).mono, ApiFailure::Forbidden), 0.0)
            }
            other => (well(other, at(when).mono), 0.0),
        });
        let deletes = script.deletes();
        assert!(deletes.len() == 1 && (due..due + 0.05).contains(&deletes[0]), "{due}: {deletes:?}");
    }
}

/// A deadline that comes while the removal of a mark waits is a first attempt: retries that may not be sent do not
/// delay it.
#[test]
fn l6_a_deadline_during_a_withdrawal_is_a_first_attempt() {
    use taintward_core::engine::Lane;
    let mut fact = pod("p").at_version(10).tolerates([toleration("k", Some(20))]);
    fact.marked = true;
    let mut script = Script::tainted(never(), fact);
    script.engine.tick(at(21.0).mono);
    assert!(matches!(
        script.engine.next_effect(Lane::Fresh, at(21.0)),
        Some(EvictionEffect::ReadNode { .. })
    ));
}

#[test]
fn s9_a_mark_whose_deletion_is_refused_is_removed_within_a_minute_and_set_again() {
    for failure in
        [ApiFailure::Forbidden, ApiFailure::Rejected, ApiFailure::Throttled(None), ApiFailure::Unavailable]
    {
        let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
        let (mut marked_at, mut longest, mut marked, mut unmarks) = (None, 0.0_f64, false, 0);
        script.run(1200.0, |when, effect| {
            if let Some(since) = marked_at {
                longest = longest.max(when - since);
            }
            match effect {
                EvictionEffect::SetDisruptionTarget { .. } => {
                    assert!(!marked, "marked twice");
                    (marked_at, marked) = (Some(when), true);
                }
                EvictionEffect::ClearDisruptionTarget { .. } => {
                    (marked_at, marked) = (None, false);
                    unmarks += 1;
                }
                EvictionEffect::DeletePod { .. } => {
                    assert!(marked, "TE-30: the condition comes first");
                    return (failed(effect, at(when).mono, failure), 0.0);
                }
                _ => {}
            }
            let mut response = well(effect, at(when).mono);
            if let EvictionInput::PodRead { result: Ok(LiveRead::Found(fact)), .. } = &mut response {
                fact.marked = marked;
            }
            (response, 0.0)
        });
        let deletes = script.deletes().len();
        assert!(unmarks >= 10 && longest <= 60.0, "{failure:?}: {unmarks} withdrawn, one after {longest} s");
        assert!((30..80).contains(&deletes), "{failure:?}: {deletes} tries in 20 minutes");
    }
}

/// Neither the mark nor the deletion nor the removal of the mark is permitted any more: there is no hot loop.
#[test]
fn d3_a_withdrawal_that_fails_too_does_not_hasten_the_next_attempt() {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
    script.run(1200.0, |when, effect| match effect {
        EvictionEffect::DeletePod { .. } | EvictionEffect::ClearDisruptionTarget { .. } => {
            (failed(effect, at(when).mono, ApiFailure::Forbidden), 0.0)
        }
        other => (well(other, at(when).mono), 0.0),
    });
    assert!(script.requested.len() < 300, "{} requests in 20 minutes", script.requested.len());
    assert!(script.deletes().len() >= 30);
}

fn kinds(script: &Script) -> String {
    let kind = |effect: &EvictionEffect| match effect {
        EvictionEffect::ReadNode { .. } => 'c',
        EvictionEffect::SetDisruptionTarget { .. } => 'm',
        EvictionEffect::DeletePod { .. } => 'd',
        EvictionEffect::EvictPod { .. } => 'e',
        EvictionEffect::ReadPod { .. } => 'l',
        EvictionEffect::ClearDisruptionTarget { .. } => 'u',
    };
    script.requested.iter().map(|(_, effect)| kind(effect)).collect()
}

/// Read and mark are in flight at the same time; the DELETE waits for both, whichever is slower.
#[test]
fn te_30_a_taint_observed_live_is_confirmed_while_the_pod_is_marked() {
    for (read, mark) in [(0.05, 0.2), (0.2, 0.05), (0.1, 0.1)] {
        let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
        script.run(5.0, |when, effect| {
            let takes = match effect {
                EvictionEffect::ReadNode { .. } => read,
                EvictionEffect::SetDisruptionTarget { .. } => mark,
                _ => 0.0,
            };
            (well(effect, at(when).mono), takes)
        });
        assert_eq!(kinds(&script), "cmd");
        let times: Vec<_> = script.requested.iter().map(|(when, _)| *when).collect();
        assert_eq!(times[0], times[1], "immediately");
        assert!((times[2] - times[0] - f64::max(read, mark)).abs() < 0.02, "{times:?}");
    }
}

/// A taint that was found in a list, or that existed before the pod, is confirmed before anything is written.
#[test]
fn d5_a_taint_that_was_not_just_observed_is_confirmed_first() {
    let tainted = |listed| {
        EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted_node(100, &[("k", None)]), listed })
    };
    let mut listed = Script::new(EvictionConfig::default());
    listed.send(
        1.0,
        EvictionInput::Pods(ObjectEvent::Applied { fact: pod("p").at_version(40), listed: false }),
    );
    listed.send(1.0, EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }));
    listed.send(1.0, tainted(true));
    listed.send(1.0, EvictionInput::Nodes(ObjectEvent::ListCompleted));
    let mut later = Script::new(EvictionConfig::default());
    later.send(1.0, tainted(false));
    later.send(
        3.5,
        EvictionInput::Pods(ObjectEvent::Applied { fact: pod("p").at_version(140), listed: false }),
    );
    for mut script in [listed, later] {
        assert!(matches!(script.next(), Some(EvictionEffect::ReadNode { .. })));
        assert_eq!(script.next(), None);
    }
}

/// The read shows that the taint is gone, before or after the mark is set: the mark is removed, and no pod is deleted.
#[test]
fn s9_an_unfounded_mark_is_removed_immediately() {
    for (read, mark) in [(0.05, 0.2), (0.2, 0.05), (0.1, 0.1)] {
        let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
        script.run(60.0, |when, effect| match effect {
            EvictionEffect::ReadNode { node: name } => {
                let result = Ok(LiveRead::Found(tainted_node(101, &[])));
                (EvictionInput::NodeConfirmed { node: name.clone(), sent: at(when).mono, result }, read)
            }
            EvictionEffect::SetDisruptionTarget { .. } => (well(effect, at(when).mono), mark),
            other => (well(other, at(when).mono), 0.0),
        });
        assert_eq!(kinds(&script), "cmu");
        assert!(script.requested[2].0 < 1.25, "{:?}", script.requested);
        assert_eq!(script.engine.stats().in_hand, 0);
    }
}

/// The read fails for a long time: the mark does not stay for a minute.
#[test]
fn s9_a_mark_whose_confirmation_keeps_failing_is_removed() {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
    script.run(300.0, |when, effect| match effect {
        EvictionEffect::ReadNode { .. } => (failed(effect, at(when).mono, ApiFailure::Unavailable), 0.05),
        other => (well(other, at(when).mono), 0.0),
    });
    let marks = script.times(|effect| matches!(effect, EvictionEffect::SetDisruptionTarget { .. }));
    let unmarks = script.times(|effect| matches!(effect, EvictionEffect::ClearDisruptionTarget { .. }));
    assert_eq!((marks.len(), unmarks.len()), (1, 1), "{}", kinds(&script));
    assert!(unmarks[0] - marks[0] <= 60.0);
    script.run(340.0, |when, effect| (well(effect, at(when).mono), 0.0));
    assert!(kinds(&script).ends_with("md") && script.deletes().len() == 1, "{}", kinds(&script));
}

/// The same for further pods of the node, of which only the first has its turn before the read fails again.
#[test]
fn s9_no_pod_keeps_its_mark_while_the_confirmation_keeps_failing() {
    let mut script = Script::new(EvictionConfig::default());
    for name in ["p", "q", "r", "s", "t"] {
        let fact = pod(name).at_version(40);
        script.send(1.0, EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    }
    let fact = tainted_node(100, &[("k", None)]);
    script.send(1.0, EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false }));
    script.run(300.0, |when, effect| match effect {
        EvictionEffect::ReadNode { node } => {
            let (node, sent) = (node.clone(), at(when).mono);
            let takes = if when < 2.0 { 0.05 } else { 0.0 };
            (EvictionInput::NodeConfirmed { node, sent, result: Ok(LiveRead::NotFound) }, takes)
        }
        other => (well(other, at(when).mono), 0.0),
    });
    let marks = script.times(|effect| matches!(effect, EvictionEffect::SetDisruptionTarget { .. }));
    let unmarks = script.times(|effect| matches!(effect, EvictionEffect::ClearDisruptionTarget { .. }));
    assert_eq!((marks.len(), unmarks.len()), (5, 5), "{}", kinds(&script));
    assert!(unmarks.iter().all(|cleared| cleared - marks[0] <= 60.0), "{marks:?} {unmarks:?}");
}

/// A read shows that the tolerations of a due pod were edited, and it is due by the new ones, too. In between it may have
/// tolerated the taint: the read of its node from before confirms nothing.
#[test]
fn s2_a_pod_that_was_edited_needs_another_read_of_its_node() {
    let requests = |tolerations: &[Toleration]| {
        let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
        script.run(3.0, |when, effect| match effect {
            EvictionEffect::SetDisruptionTarget { version: Some(ResourceVersion(40)), .. } => {
                (failed(effect, at(when).mono, ApiFailure::Conflict), 0.1)
            }
            EvictionEffect::ReadPod { pod: read, .. } => {
                let fact = pod("p").at_version(60).tolerates(tolerations.iter().cloned());
                let (pod, result) = (read.clone(), Ok(LiveRead::Found(fact)));
                (EvictionInput::PodRead { pod, result, half_deleted: false }, 0.1)
            }
            other => (well(other, at(when).mono), 0.01),
        });
        kinds(&script)
    };
    assert_eq!(requests(&[]), "cmlmd");
    assert_eq!(requests(&[toleration("other", None)]), "cmlcmd");
}

/// A mark is removed before a pause only if it would be older than 45 s at the pause's end (S9).
#[test]
fn s9_a_mark_stays_during_a_pause_that_ends_by_its_limit() {
    for (takes, cleared) in [(14.995, 0), (15.005, 1)] {
        let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
        let mut first = true;
        script.run(60.0, |when, effect| match effect {
            EvictionEffect::DeletePod { .. } if std::mem::take(&mut first) => {
                let failure = ApiFailure::Throttled(Some(Span::from_secs(30)));
                (failed(effect, at(when).mono, failure), takes)
            }
            other => (well(other, at(when).mono), 0.0),
        });
        let clears = script.times(|effect| matches!(effect, EvictionEffect::ClearDisruptionTarget { .. }));
        assert_eq!((clears.len(), script.deletes().len()), (cleared, 2), "{takes}: {clears:?}");
    }
}

/// The pod waited for the read of its node when it was reported as gone; now it waits until its mark is removed.
#[test]
fn s9_a_read_that_a_pod_waits_for_no_more_gives_it_no_turn() {
    let never = EvictionConfig { condition: DisruptionConditionPolicy::Never, ..EvictionConfig::default() };
    let mut script = Script::tainted(never, pod("p").at_version(40));
    let Some(EvictionEffect::ReadNode { .. }) = script.next() else { panic!("its node is read first") };
    assert_eq!(script.next(), None);
    script.send(1.5, EvictionInput::Pods(ObjectEvent::Deleted(pod_ref("p").into())));
    let fact = PodFact { marked: true, ..pod("p").at_version(50).tolerates([toleration("k", None)]) };
    script.send(1.6, EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    let read = EvictionEffect::ReadNode { node: NodeName::new("n1") };
    script.send(2.0, well(&read, at(1.0).mono));
    assert_eq!(script.next(), None);
    script.run(40.0, |when, effect| (well(effect, at(when).mono), 0.0));
    let clears = script.times(|effect| matches!(effect, EvictionEffect::ClearDisruptionTarget { .. }));
    assert!(clears.len() == 1 && clears[0] > 31.0, "{clears:?}");
}

/// The taint goes while the mark is being removed until a retry: it is not retried.
#[test]
fn s9_a_pod_that_stays_is_not_read_after_its_mark_is_removed() {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
    script.run(20.0, |when, effect| match effect {
        EvictionEffect::DeletePod { .. } => {
            (failed(effect, at(when).mono, ApiFailure::Throttled(Some(Span::from_secs(30)))), 19.0)
        }
        other => (well(other, at(when).mono), 0.0),
    });
    let delete = script.requested.last().map(|(_, effect)| effect.clone()).expect("it was deleted");
    let lost = failed(&delete, at(1.0).mono, ApiFailure::Throttled(Some(Span::from_secs(30))));
    script.send(20.01, lost);
    script.send(
        20.01,
        EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted_node(101, &[]), listed: false }),
    );
    let before = script.requested.len();
    script.run(120.0, |when, effect| (well(effect, at(when).mono), 0.0));
    let later: Vec<_> = script.requested[before..].iter().map(|(_, effect)| effect.clone()).collect();
    assert!(matches!(later[..], [EvictionEffect::ClearDisruptionTarget { .. }]), "{later:?}");
}

/// Another client has deleted it, or its containers have ended: its object is left alone (S10).
#[test]
fn s10_the_mark_of_a_pod_that_is_exempt_now_stays() {
    for phase in [PodLifePhase::Terminating, PodLifePhase::Finished] {
        let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
        script.run(120.0, |when, effect| match effect {
            EvictionEffect::DeletePod { .. } => (failed(effect, at(when).mono, ApiFailure::Conflict), 0.0),
            EvictionEffect::ReadPod { pod: it, .. } => {
                let fact = PodFact { marked: true, life_phase: phase, ..pod("p").at_version(300) };
                let result = Ok(LiveRead::Found(fact));
                (EvictionInput::PodRead { pod: it.clone(), result, half_deleted: false }, 0.0)
            }
            other => (well(other, at(when).mono), 0.0),
        });
        let last = script.requested.last().map(|(_, effect)| effect);
        assert!(matches!(last, Some(EvictionEffect::ReadPod { .. })), "{phase:?}: {last:?}");
    }
}
