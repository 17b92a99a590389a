//! Tests what live reads change beside the watch: reads that are ahead of it, behind it, at the limit of their age, and about
//! another node of the same name.

use crate::common::script::{Script, at, failed, tainted_node, well};
use crate::eviction::never;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, LiveRead};
use taintward_core::eviction::{EvictionEffect, EvictionInput, EvictionNotice};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::identity::{NodeName, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::testkit::{pod, pod_ref, toleration};

fn nodes(fact: NodeFact) -> EvictionInput {
    EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false })
}

fn pods(fact: PodFact) -> EvictionInput {
    EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false })
}

fn node_read(sent: f64, fact: NodeFact) -> EvictionInput {
    let result = Ok(LiveRead::Found(fact));
    EvictionInput::NodeConfirmed { node: NodeName::new("n1"), sent: at(sent).mono, result }
}

fn pod_read(fact: PodFact) -> EvictionInput {
    EvictionInput::PodRead { pod: pod_ref("p"), result: Ok(LiveRead::Found(fact)), half_deleted: false }
}

fn node_reads(script: &Script) -> Vec<f64> {
    script.times(|effect| matches!(effect, EvictionEffect::ReadNode { .. }))
}

fn pod_reads(script: &Script) -> Vec<f64> {
    script.times(|effect| matches!(effect, EvictionEffect::ReadPod { .. }))
}

/// A due pod whose first DELETE is rejected, because it has changed; each read takes so long, and then finds `found`.
fn rejected_once(found: &PodFact, takes: f64, until: f64) -> Script {
    let mut script = Script::tainted(never(), pod("p").at_version(40));
    continue_after_conflict(&mut script, found, takes, until);
    script
}

fn continue_after_conflict(script: &mut Script, found: &PodFact, takes: f64, until: f64) {
    let mut deletes = script.deletes().len();
    script.run(until, |when, effect| match effect {
        EvictionEffect::DeletePod { .. } => {
            deletes += 1;
            let is_first = deletes == 1;
            let time = at(when).mono;
            (if is_first { failed(effect, time, ApiFailure::Conflict) } else { well(effect, time) }, 0.0)
        }
        EvictionEffect::ReadPod { .. } => (pod_read(found.clone()), takes),
        other => (well(other, at(when).mono), 0.0),
    });
}

fn has_gone_back(script: &Script) -> bool {
    script.notices.iter().any(|notice| matches!(notice, EvictionNotice::ResourceVersionWentBack))
}

#[test]
fn only_an_older_read_of_a_pod_shows_that_versions_went_back() {
    for (version, expected) in [(39, true), (40, false), (41, false)] {
        let script = rejected_once(&pod("p").at_version(version), 0.0, 5.0);
        assert_eq!((has_gone_back(&script), script.deletes().len()), (expected, 2), "{version}");
    }
}

#[test]
fn p39_a_read_of_a_pod_shows_the_mark_of_another_controller() {
    let marked = PodFact { marked: true, marked_by_another: true, ..pod("p").at_version(41) };
    let script = rejected_once(&marked, 0.0, 5.0);
    let detected =
        |notice: &&EvictionNotice| matches!(notice, EvictionNotice::OtherControllerDetected { .. });
    assert_eq!(script.notices.iter().filter(detected).count(), 1);
}

/// The store was restored while the read was in flight, and the watch shows the pod after that: the read may be from
/// before.
#[test]
fn s1_an_older_read_that_the_watch_overtook_is_repeated() {
    let older = pod("p").at_version(30);
    for (now, stays) in [(pod("p"), false), (pod("p").tolerates([toleration("k", None)]), true)] {
        let mut script = rejected_once(&older, 0.5, 1.2);
        assert_eq!((script.deletes().len(), pod_reads(&script).len()), (1, 1));
        let now = now.at_version(95);
        script.send(1.25, pods(now.clone()));
        // The first read finds what is older than all; the next one what the watch has shown.
        continue_after_conflict(&mut script, &now, 0.0, 30.0);
        assert_eq!(script.deletes().len(), if stays { 1 } else { 2 }, "stays: {stays}");
        if !stays {
            let (reads, deletes) = (pod_reads(&script), script.deletes());
            assert!(reads.len() == 2 && reads[1] <= deletes[1], "{reads:?} {deletes:?}");
        }
    }
}

/// Without a version as precondition, a DELETE rests on the read of the pod.
#[test]
fn d5_a_read_of_a_pod_counts_until_the_limit_of_its_age() {
    for (takes, goes) in [(4.495, true), (4.505, false)] {
        let fact = PodFact { version: None, ..pod("p") };
        let mut script = Script::tainted(never(), fact.clone());
        script.run(5.6, |when, effect| match effect {
            EvictionEffect::ReadPod { .. } => (pod_read(fact.clone()), takes),
            other => (well(other, at(when).mono), 0.0),
        });
        assert_eq!(pod_reads(&script)[0], 1.01);
        assert_eq!(script.deletes(), if goes { vec![5.51] } else { Vec::new() }, "{takes} s");
    }
}

/// Also when a pod of the node goes over to DELETEs by its UID alone (D4), which no earlier read confirms.
#[test]
fn d5_a_node_has_one_read_in_flight_at_a_time() {
    for tenths in 10..60 {
        let other = f64::from(tenths) / 10.0;
        let mut script = Script::tainted(never(), pod("p").at_version(40));
        let (mut version, mut read_until) = (40, 0.0);
        let mut serve = |when: f64, effect: &EvictionEffect| match effect {
            EvictionEffect::ReadNode { .. } => {
                assert!(when >= read_until, "another pod at {other}: two reads at {when}");
                read_until = when + 0.295;
                (well(effect, at(when).mono), 0.3)
            }
            EvictionEffect::ReadPod { .. } => {
                version += 1;
                (pod_read(pod("p").at_version(version)), 0.0)
            }
            EvictionEffect::DeletePod { pod, version: Some(_), .. } if *pod == pod_ref("p") => {
                (failed(effect, at(when).mono, ApiFailure::Conflict), 0.0)
            }
            effect => (well(effect, at(when).mono), 0.0),
        };
        script.run(other, &mut serve);
        script.send(other, pods(pod("q").at_version(60)));
        script.run(15.0, &mut serve);
        let by_uid = script.times(|effect| matches!(effect, EvictionEffect::DeletePod { version: None, .. }));
        assert_eq!(by_uid.len(), 1);
    }
}

/// The watch may overtake a read in flight, and deliver another `timeAdded` than the read shows: the older one shows no
/// other taint.
#[test]
fn d5_a_read_with_a_time_that_the_watch_overtook_confirms() {
    let node = |version, added| tainted_node(version, &[("k", Some(added))]);
    let mut script = Script::new(never());
    script.send(1.0, nodes(node(100, 1)));
    script.send(1.0, pods(pod("p").at_version(40).tolerates([toleration("k", Some(6))])));
    script.run(6.9, |when, effect| (well(effect, at(when).mono), 0.0));
    assert_eq!(node_reads(&script), []);
    script.now = 8.0;
    script.engine.tick(at(8.0).mono);
    assert!(matches!(script.next(), Some(EvictionEffect::ReadNode { .. })));
    script.send(8.0, nodes(node(102, 5)));
    script.send(8.1, node_read(8.0, node(101, 3)));
    assert!(matches!(script.next(), Some(EvictionEffect::DeletePod { .. })));
}

/// A read of another node of the same name needs no event of the watch to be believed: its taint is another one.
#[test]
fn l1_a_read_of_another_node_of_the_same_name_is_applied_at_once() {
    let mut script = Script::new(never());
    script.send(1.0, nodes(tainted_node(100, &[("k", Some(1))])));
    script.send(1.0, pods(pod("p").at_version(40).tolerates([toleration("k", Some(10))])));
    let another = NodeFact { uid: Uid::new("another"), ..tainted_node(101, &[("k", Some(8))]) };
    script.run(40.0, |when, effect| match effect {
        EvictionEffect::ReadNode { .. } => (node_read(when, another.clone()), 0.0),
        other => (well(other, at(when).mono), 0.0),
    });
    let (reads, deletes) = (node_reads(&script), script.deletes());
    assert!(reads.len() == 2 && reads[0] < 11.1 && reads[1] >= 21.0, "{reads:?}");
    assert_eq!(deletes, [21.0], "it counts from the read that shows it");
}

/// A node that the watch shows as undecodable while it is read: the read says what it is now.
#[test]
fn d11_a_read_of_a_node_that_could_not_be_decoded_meanwhile_is_applied_at_once() {
    let mut script = Script::tainted(never(), pod("p").at_version(40));
    assert!(matches!(script.next(), Some(EvictionEffect::ReadNode { .. })));
    script.now = 2.0;
    let name = ObjectRef::node(&NodeName::new("n1"), None);
    script.send(2.0, EvictionInput::Nodes(ObjectEvent::Undecodable(name)));
    script.send(4.0, node_read(2.0, tainted_node(101, &[("k", Some(2))])));
    assert!(
        matches!(script.next(), Some(EvictionEffect::ReadNode { .. })),
        "it was not due in between, so that the read confirms nothing"
    );
    script.send(4.1, node_read(4.0, tainted_node(101, &[("k", Some(2))])));
    assert!(matches!(script.next(), Some(EvictionEffect::DeletePod { .. })));
}

#[test]
fn d5_a_read_of_a_node_counts_until_the_limit_of_its_age() {
    for (takes, goes) in [(4.495, true), (4.505, false)] {
        let mut script = Script::tainted(never(), pod("p").at_version(40));
        script.run(5.52, |when, effect| match effect {
            EvictionEffect::ReadNode { .. } => (well(effect, at(when).mono), takes),
            other => (well(other, at(when).mono), 10.0),
        });
        assert_eq!(script.deletes(), if goes { vec![5.51] } else { Vec::new() }, "{takes} s");
        let is_stalled = script.engine.stats().stall.is_some();
        assert_eq!(is_stalled, !goes, "{takes} s: a read that is too late brings no pod further");
    }
}

/// The watch may be late, but a node that is not found again and again may be gone with its event.
#[test]
fn only_reads_that_do_not_find_a_node_again_and_again_show_that_events_were_missed() {
    for (failure, expected) in [
        (ApiFailure::NotFound, [0, 0, 1, 1, 1]),
        (ApiFailure::Unavailable, [0; 5]),
        (ApiFailure::Forbidden, [0; 5]),
    ] {
        let mut script = Script::tainted(never(), pod("p").at_version(40));
        let mut seen = Vec::new();
        for reads in 1..=5 {
            while node_reads(&script).len() < reads {
                let until = script.now + 0.01;
                script.run(until, |when, effect| (failed(effect, at(when).mono, failure), 0.0));
            }
            let is_notice =
                |notice: &&EvictionNotice| matches!(notice, EvictionNotice::ResourceVersionWentBack);
            seen.push(script.notices.iter().filter(is_notice).count());
        }
        assert_eq!(seen, expected, "{failure:?}");
    }
}
