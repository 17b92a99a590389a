//! Tests exact numbers: how many reads wait for the watch, which pods the end of rejections concerns, and which
//! confirmation counts for a pod that was spared for a moment.

use crate::common::script::{Script, at, failed, tainted_node, well};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::LiveRead;
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionInput};
use taintward_core::fact::PodFact;
use taintward_core::identity::{PodId, PodName, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{pod, toleration};
use taintward_core::toleration::Toleration;

fn is_read(effect: &EvictionEffect) -> bool {
    matches!(effect, EvictionEffect::ReadNode { .. })
}

fn observe_pod(script: &mut Script, when: f64, fact: PodFact) {
    script.send(when, EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
}

/// P46: five reads that show another reported start wait for the watch; the sixth counts.
#[test]
fn p46_five_reads_wait_for_the_watch() {
    let mut script = Script::new(EvictionConfig::default());
    let known = tainted_node(100, &[("k", Some(10))]);
    script.send(10.2, EvictionInput::Nodes(ObjectEvent::Applied { fact: known, listed: false }));
    observe_pod(&mut script, 10.2, pod("p").at_version(40).tolerates([toleration("k", Some(20))]));
    script.run(45.0, |when, effect| match effect {
        EvictionEffect::ReadNode { node: name } => {
            let result = Ok(LiveRead::Found(tainted_node(101, &[("k", Some(30))])));
            (EvictionInput::NodeConfirmed { node: name.clone(), sent: at(when).mono, result }, 0.0)
        }
        other => (well(other, at(when).mono), 0.0),
    });
    assert_eq!((script.times(is_read).len(), script.deletes().len()), (6, 0), "{:?}", script.requested);
}

/// D3: the end of rejections in one namespace gives the pods of another one a trial, and not all of them their turn.
#[test]
fn d3_the_end_of_refusals_in_a_namespace_concerns_its_pods_only() {
    let mut script = Script::new(EvictionConfig::default());
    for (namespace, count) in [("shop", 10), ("other", 4)] {
        for index in 0..count {
            let uid = format!("{namespace}-{index}");
            let id = PodId::new(Uid::new(&uid), PodName::new(namespace, &uid));
            observe_pod(&mut script, 1.0, PodFact { id, ..pod(&uid).at_version(40) });
        }
    }
    let tainted = tainted_node(100, &[("k", None)]);
    script.send(1.0, EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted, listed: false }));
    script.run(45.0, |when, effect| {
        let sent = at(when).mono;
        let response = match effect {
            EvictionEffect::DeletePod { name, .. }
                if when < if name.namespace() == "shop" { 40.0 } else { 20.0 } =>
            {
                failed(effect, sent, ApiFailure::Rejected)
            }
            EvictionEffect::ReadPod { pod: it, name } => {
                let id = PodId::new(it.uid.clone(), name.clone());
                let result = Ok(LiveRead::Found(PodFact { id, ..pod("").at_version(200) }));
                EvictionInput::PodRead { pod: it.clone(), result, half_deleted: false }
            }
            effect => well(effect, sent),
        };
        (response, 0.0)
    });
    let deletes = |from: f64, to: f64, wanted: &str| {
        let times = script.times(
            |effect| matches!(effect, EvictionEffect::DeletePod { name, .. } if name.namespace() == wanted),
        );
        times.into_iter().filter(|when| (from..to).contains(when)).count()
    };
    assert!(deletes(20.0, 25.0, "other") >= 4, "its refusals ended");
    assert!((1..=3).contains(&deletes(20.0, 22.0, "shop")), "{}", deletes(20.0, 22.0, "shop"));
    assert!(deletes(40.0, 45.0, "shop") >= 10, "its refusals ended, too");
}

/// S2: a pod that tolerated its taint for a moment is deleted by a read from after that moment.
#[test]
fn s2_a_pod_that_was_spared_for_a_moment_has_a_new_confirmation() {
    for wavers in [true, false] {
        let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
        let spared = |script: &mut Script, when: f64, version: u64, tolerations: &[Toleration]| {
            if wavers {
                observe_pod(script, when, pod("p").at_version(version).tolerates(tolerations.to_vec()));
            }
        };
        let mut serve = |when: f64, effect: &EvictionEffect| {
            let takes = if matches!(effect, EvictionEffect::SetDisruptionTarget { .. }) { 0.5 } else { 0.02 };
            (well(effect, at(when).mono), takes)
        };
        script.run(1.1, &mut serve);
        spared(&mut script, 1.2, 41, &[toleration("k", None)]);
        spared(&mut script, 1.3, 42, &[]);
        script.run(5.0, &mut serve);
        assert_eq!(script.deletes().len(), 1, "{:?}", script.requested);
        assert_eq!(script.times(is_read).len(), if wavers { 2 } else { 1 }, "{:?}", script.requested);
    }
}

/// L1: a deadline gives a pod its turn, whatever its last attempt waits for.
#[test]
fn l1_a_deadline_ends_the_pause_of_an_earlier_attempt() {
    let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
    script.run(20.0, |when, effect| {
        let sent = at(when).mono;
        let is_mark = matches!(effect, EvictionEffect::SetDisruptionTarget { .. });
        (if is_mark { failed(effect, sent, ApiFailure::Conflict) } else { well(effect, sent) }, 0.0)
    });
    let retry_at = script.engine.failing_evictions().find_map(|one| one.retry_at).expect("it waits");
    let retry_at = retry_at.as_micros() as f64 / 1e6;
    assert!(retry_at > 24.0, "{retry_at}");
    observe_pod(&mut script, 20.0, pod("p").at_version(250).tolerates([toleration("k", Some(22))]));
    script.run(40.0, |when, effect| (well(effect, at(when).mono), 0.0));
    let deletes = script.deletes();
    assert!(deletes.len() == 1 && (23.0..23.1).contains(&deletes[0]), "{deletes:?}, retry at {retry_at}");
}

/// S9: a mark of an earlier process is removed in time, however often the end of the pod's countdown changes.
#[test]
fn s9_a_mark_is_removed_although_the_deadline_moves() {
    let marked = |version, seconds| PodFact {
        marked: true,
        ..pod("p").at_version(version).tolerates([toleration("k", Some(seconds))])
    };
    let mut script = Script::tainted(EvictionConfig::default(), marked(40, 10));
    for round in 1..12_u32 {
        script.run(1.0 + 5.0 * f64::from(round), |when, effect| (well(effect, at(when).mono), 0.0));
        let when = script.now;
        observe_pod(&mut script, when, marked(40 + u64::from(round), 10 + 5 * i64::from(round)));
    }
    let removed = script.times(|effect| matches!(effect, EvictionEffect::ClearDisruptionTarget { .. }));
    assert!(removed.first().is_some_and(|when| *when < 60.0), "{removed:?}");
    assert_eq!(script.deletes().len(), 0);
}
