//! Tests objects that a response or watch reports as absent: one report alone forgets no pod, and a successor stays
//! unchanged.

use crate::common::script::{Script, at, failed, tainted_node, well};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::LiveRead;
use taintward_core::eviction::{
    DisruptionConditionPolicy, EvictionConfig, EvictionEffect, EvictionInput, EvictionNotice,
};
use taintward_core::identity::{NodeName, PodId, PodName, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::testkit::{pod, pod_ref, toleration};

fn never() -> EvictionConfig {
    EvictionConfig { condition: DisruptionConditionPolicy::Never, ..EvictionConfig::default() }
}

/// A node that the watch knows is reported as absent, by one read or for half a minute.
#[test]
fn d3_a_read_that_finds_no_node_forgets_no_eviction() {
    for lasts in [0.0, 30.0] {
        let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
        let mut first = true;
        script.run(70.0, |when, effect| match effect {
            EvictionEffect::ReadNode { .. } if std::mem::take(&mut first) || when < 1.0 + lasts => {
                (failed(effect, at(when).mono, ApiFailure::NotFound), 0.0)
            }
            other => (well(other, at(when).mono), 0.0),
        });
        let deletes = script.deletes();
        assert!(deletes.len() == 1 && deletes[0] < 1.2 + lasts * 2.5, "{lasts} s: {deletes:?}");
    }
}

/// The response to a mark or a DELETE reports a pod as absent: the pod is read.
#[test]
fn d3_a_write_that_finds_no_pod_is_followed_by_a_read() {
    for which in 0..2 {
        let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
        let mut first = true;
        script.run(10.0, |when, effect| match effect {
            EvictionEffect::SetDisruptionTarget { .. } if which == 0 && std::mem::take(&mut first) => {
                (failed(effect, at(when).mono, ApiFailure::NotFound), 0.0)
            }
            EvictionEffect::DeletePod { .. } if which == 1 && std::mem::take(&mut first) => {
                (failed(effect, at(when).mono, ApiFailure::NotFound), 0.0)
            }
            other => (well(other, at(when).mono), 0.0),
        });
        assert!(!script.deletes().is_empty(), "{which}");
        assert!(
            script.notices.iter().any(|notice| matches!(notice, EvictionNotice::Evicted { .. })),
            "{which}"
        );
        assert_eq!(
            script.times(|effect| matches!(effect, EvictionEffect::ReadPod { .. })).len(),
            1,
            "{which}"
        );
    }
}

/// A read that finds no pod ends the attempt.
#[test]
fn te_15_a_read_that_finds_no_pod_forgets_it() {
    let mut script = Script::tainted(never(), pod("p").at_version(40));
    script.run(60.0, |when, effect| match effect {
        EvictionEffect::DeletePod { .. } => (failed(effect, at(when).mono, ApiFailure::NotFound), 0.0),
        EvictionEffect::ReadPod { pod, .. } => (
            EvictionInput::PodRead { pod: pod.clone(), result: Ok(LiveRead::NotFound), half_deleted: false },
            0.0,
        ),
        other => (well(other, at(when).mono), 0.0),
    });
    assert_eq!((script.deletes().len(), script.engine.stats().pods), (1, 0));
}

#[test]
fn d4_a_read_that_finds_a_successor_on_the_same_node_takes_it_for_another_pod() {
    let mut script = Script::tainted(never(), pod("p").at_version(40));
    script.run(60.0, |when, effect| match effect {
        EvictionEffect::DeletePod { .. } => (failed(effect, at(when).mono, ApiFailure::Conflict), 0.0),
        EvictionEffect::ReadPod { pod: it, .. } => {
            let mut successor = pod("q").at_version(99).tolerates([toleration("k", None)]);
            successor.id = PodId::new(successor.id.uid().clone(), PodName::new("default", "p"));
            (
                EvictionInput::PodRead {
                    pod: it.clone(),
                    result: Ok(LiveRead::Found(successor)),
                    half_deleted: false,
                },
                0.0,
            )
        }
        other => (well(other, at(when).mono), 0.0),
    });
    assert_eq!(script.deletes().len(), 1);
    assert_eq!((script.engine.stats().pods, script.engine.stats().in_hand), (1, 0));
    assert!(script.engine.explain(&pod_ref("q"), at(60.0)).is_some());
    assert!(script.engine.explain(&pod_ref("p"), at(60.0)).is_none());
}

/// The response is about a node that was replaced while it was read: it confirms nothing about the new one.
#[test]
fn d5_a_response_about_the_previous_node_confirms_nothing() {
    let mut script = Script::tainted(never(), pod("p").at_version(40));
    let Some(EvictionEffect::ReadNode { .. }) = script.next() else { panic!("the node is read first") };
    script.send(1.1, EvictionInput::Nodes(ObjectEvent::Deleted(ObjectRef::node(&NodeName::new("n1"), None))));
    let mut replaced = tainted_node(101, &[("k", None)]);
    replaced.uid = Uid::new("another");
    script.send(1.2, EvictionInput::Nodes(ObjectEvent::Applied { fact: replaced, listed: false }));
    // Sent after the new node became known, by a clock that is not reliable for this.
    let old = Ok(LiveRead::Found(tainted_node(100, &[("k", None)])));
    script.send(
        1.3,
        EvictionInput::NodeConfirmed { node: NodeName::new("n1"), sent: at(1.3).mono, result: old },
    );
    assert!(matches!(script.next(), Some(EvictionEffect::ReadNode { .. })), "{:?}", script.requested);
}

/// The time at which it was known to be due survives a change of the pod's order: the latency metric and S2 count from
/// it.
#[test]
fn d9_the_time_it_was_known_to_be_due_survives_a_change_of_its_order() {
    let mut script = Script::tainted(never(), pod("p").at_version(40));
    let mut ranked = pod("p").at_version(41);
    ranked.priority = 7;
    script.send(3.0, EvictionInput::Pods(ObjectEvent::Applied { fact: ranked, listed: false }));
    script.run(4.0, |when, effect| (well(effect, at(when).mono), 0.0));
    let known = script.notices.iter().find_map(|notice| match notice {
        EvictionNotice::Evicted { reason, .. } => Some(reason.known_due),
        _ => None,
    });
    assert_eq!(known, Some(at(1.0).mono));
}
