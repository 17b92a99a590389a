//! Tests live reads older than the cache, as after a restored etcd: earlier knowledge does not count.

use crate::common::script::{Script, at, tainted_node, well};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, LiveRead};
use taintward_core::eviction::{DisruptionConditionPolicy, EvictionConfig, EvictionEffect, EvictionInput};
use taintward_core::identity::NodeName;
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{pod, pod_ref, toleration};

fn confirmed(when: f64, version: u64, taints: &[(&str, Option<i64>)]) -> EvictionInput {
    let result = Ok(LiveRead::Found(tainted_node(version, taints)));
    EvictionInput::NodeConfirmed { node: NodeName::new("n1"), sent: at(when).mono, result }
}

#[test]
fn s2_an_older_read_without_the_taint_evicts_no_pod() {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
    assert!(matches!(script.next(), Some(EvictionEffect::ReadNode { .. })));
    script.send(1.1, confirmed(1.0, 60, &[]));
    for seconds in 2..400 {
        script.now = f64::from(seconds);
        script.engine.tick(at(script.now).mono);
        while let Some(effect) = script.next() {
            assert!(
                !matches!(
                    effect,
                    EvictionEffect::SetDisruptionTarget { .. } | EvictionEffect::DeletePod { .. }
                ),
                "{effect:?}"
            );
            let when = script.now;
            script.send(when, confirmed(when, 60, &[]));
        }
    }
    assert_eq!((script.engine.stats().pods, script.engine.stats().in_hand), (1, 0));
    // It stays until the node is tainted in the current store.
    script.send(
        400.0,
        EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted_node(61, &[("k", None)]), listed: false }),
    );
    script.run(401.0, |when, effect| match effect {
        EvictionEffect::ReadNode { .. } => (confirmed(when, 61, &[("k", None)]), 0.0),
        other => (well(other, at(when).mono), 0.0),
    });
    assert_eq!(script.deletes().len(), 1);
}

#[test]
fn s2_an_older_read_with_the_taint_confirms_nothing_by_itself() {
    let mut script = Script::tainted(
        EvictionConfig { condition: DisruptionConditionPolicy::Never, ..EvictionConfig::default() },
        pod("p").at_version(40),
    );
    assert!(matches!(script.next(), Some(EvictionEffect::ReadNode { .. })));
    script.send(1.1, confirmed(1.0, 60, &[("k", None)]));
    script.now = 1.1;
    assert!(
        matches!(script.next(), Some(EvictionEffect::ReadNode { .. })),
        "read again from the current store"
    );
    script.send(1.2, confirmed(1.1, 60, &[("k", None)]));
    assert!(matches!(script.next(), Some(EvictionEffect::DeletePod { .. })));
}

/// The watch may overtake a read in flight; then the read is no older than what was known when it was sent.
#[test]
fn d5_a_read_that_the_watch_overtook_confirms() {
    let never = EvictionConfig { condition: DisruptionConditionPolicy::Never, ..EvictionConfig::default() };
    let mut script = Script::tainted(never, pod("p").at_version(40));
    assert!(matches!(script.next(), Some(EvictionEffect::ReadNode { .. })));
    script.send(
        1.1,
        EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted_node(102, &[("k", None)]), listed: false }),
    );
    script.send(1.2, confirmed(1.0, 101, &[("k", None)]));
    assert!(matches!(script.next(), Some(EvictionEffect::DeletePod { .. })));
}

/// A read that is older than what is known about the pod shows the current state: the pod stays if that says so.
#[test]
fn s1_an_older_read_decides_about_the_pod() {
    let never = EvictionConfig { condition: DisruptionConditionPolicy::Never, ..EvictionConfig::default() };
    let mut script = Script::tainted(never, pod("p").at_version(90));
    let mut checks = 0;
    script.run(100.0, |when, effect| match effect {
        EvictionEffect::DeletePod { pod, version, .. } => {
            assert!(checks == 0, "deleted by the state known before: {version:?}");
            (EvictionInput::Deleted { pod: pod.clone(), result: Err(ApiFailure::Conflict) }, 0.0)
        }
        EvictionEffect::ReadPod { .. } => {
            checks += 1;
            let fact = pod("p").at_version(30).tolerates([toleration("k", None)]);
            (
                EvictionInput::PodRead {
                    pod: pod_ref("p"),
                    result: Ok(LiveRead::Found(fact)),
                    half_deleted: false,
                },
                0.0,
            )
        }
        other => (well(other, at(when).mono), 0.0),
    });
    assert_eq!((script.deletes().len(), checks, script.engine.stats().in_hand), (1, 1, 0));
}
