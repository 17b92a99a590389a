//! Tests an API server that is unavailable and comes back.

use crate::common::script::{Script, failed, tainted_node, well};
use taintward_core::api_error::ApiFailure;
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionInput};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{pod, toleration};

const PODS: u32 = 40;
const AWAY_FROM: f64 = 10.0;

/// Pods whose period ends while the API server does not respond, and some that are due after that.
fn crowd() -> Script {
    let mut script = Script::new(EvictionConfig::default());
    script.send(
        1.0,
        EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted_node(100, &[("k", None)]), listed: false }),
    );
    for number in 0..PODS {
        let fact = pod(&format!("p{number}"))
            .at_version(100)
            .tolerates([toleration("k", Some(10 + i64::from(number) % 8))]);
        script.send(1.0, EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    }
    script
}

/// L2: a pod that became due during an outage of the API server is evicted within two seconds of its end, however long
/// it was; until then one read per second is sent, besides those that each pod's own pauses allow.
#[test]
fn l2_after_an_outage_of_any_length_due_pods_are_evicted_within_two_seconds() {
    for away in [5.0, 30.0, 60.0, 600.0] {
        let back = AWAY_FROM + away;
        let mut script = crowd();
        script.run(back + 10.0, |when, effect| {
            let is_away = (AWAY_FROM..back).contains(&when);
            let now = crate::common::script::at(when).mono;
            (if is_away { failed(effect, now, ApiFailure::Unavailable) } else { well(effect, now) }, 0.01)
        });
        let deletes = script.deletes();
        assert_eq!(deletes.len(), PODS as usize, "{away}");
        let latest = deletes.iter().copied().fold(0.0, f64::max);
        assert!(latest <= back.max(19.0) + 2.5, "{away}: the last one left {} s after", latest - back);
        let reads = script.times(|effect| matches!(effect, EvictionEffect::ReadNode { .. }));
        let during = reads.iter().filter(|when| (AWAY_FROM + 12.0..back).contains(*when)).count() as f64;
        assert!(during <= 1.2 * away + 20.0, "{away}: {during} reads");
    }
}

/// L6: a server that answers some reads and not others is overloaded: pauses of requests without a response stay.
#[test]
fn l6_a_server_that_answers_some_reads_is_not_unavailable() {
    let mut script = crowd();
    script.run(300.0, |when, effect| {
        let now = crate::common::script::at(when).mono;
        let response = match effect {
            EvictionEffect::ReadPod { pod, .. } if pod.uid.to_string() == "p0" => {
                failed(effect, now, ApiFailure::Unavailable)
            }
            EvictionEffect::DeletePod { pod, .. } if pod.uid.to_string() == "p0" => {
                failed(effect, now, ApiFailure::Unavailable)
            }
            EvictionEffect::DeletePod { .. } => failed(effect, now, ApiFailure::Forbidden),
            effect => well(effect, now),
        };
        (response, 0.01)
    });
    let checks = script
        .times(|effect| matches!(effect, EvictionEffect::ReadPod { pod, .. } if pod.uid.to_string() == "p0"));
    assert!((10..=24).contains(&checks.len()), "{checks:?}");
}

/// A write that fails is not an outage: a webhook that cannot be reached for one pod hastens no other pod.
#[test]
fn d3_a_write_that_fails_hastens_no_pod() {
    let mut script = crowd();
    script.run(300.0, |when, effect| {
        let now = crate::common::script::at(when).mono;
        let fails = matches!(effect, EvictionEffect::DeletePod { pod, .. } if pod.uid.to_string() == "p0");
        (if fails { failed(effect, now, ApiFailure::Unavailable) } else { well(effect, now) }, 0.01)
    });
    let tries = script.times(
        |effect| matches!(effect, EvictionEffect::DeletePod { pod, .. } if pod.uid.to_string() == "p0"),
    );
    assert!((10..=22).contains(&tries.len()), "{tries:?}");
}

/// D3: old failures do not make the pause after a new one long.
#[test]
fn d3_old_failures_are_forgotten() {
    let mut script = Script::new(EvictionConfig::default());
    script.send(
        1.0,
        EvictionInput::Pods(ObjectEvent::Applied { fact: pod("old").at_version(100), listed: false }),
    );
    script.send(
        1.0,
        EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted_node(100, &[("k", None)]), listed: false }),
    );
    let forbidden = |when, effect: &EvictionEffect| {
        (failed(effect, crate::common::script::at(when).mono, ApiFailure::Forbidden), 0.01)
    };
    script.run(300.0, forbidden);
    script.send(
        300.0,
        EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted_node(101, &[]), listed: false }),
    );
    script.run(600.0, forbidden);
    script.send(
        600.0,
        EvictionInput::Pods(ObjectEvent::Applied { fact: pod("new").at_version(102), listed: false }),
    );
    script.send(
        600.0,
        EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted_node(103, &[("k", None)]), listed: false }),
    );
    script.run(604.0, forbidden);
    let reads = script.times(|effect| matches!(effect, EvictionEffect::ReadNode { .. }));
    let lately = reads.iter().filter(|when| **when >= 600.0).count();
    assert!((4..=8).contains(&lately), "{lately} reads in four seconds");
}
