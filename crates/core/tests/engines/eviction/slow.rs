//! Tests late responses and watch events: due pods are still evicted, and the API server is not polled without end.

use crate::common::script::{Script, at, failed, tainted_node, well};
use crate::eviction::never;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionInput};
use taintward_core::identity::ResourceVersion;
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{pod, pod_ref, toleration};
use taintward_core::time::Mono;

/// Each live read is ahead of the watch, within the second of the taint's `timeAdded`.
#[test]
fn l1_pods_are_evicted_from_a_busy_node_whose_events_are_late() {
    for (lag, every) in [(50, 1000), (500, 1000), (1000, 1000), (1500, 1000), (3000, 1000), (11_000, 10_000)]
    {
        let taint = [("k", Some(10))];
        let version_at = |millis: i64| 2 + (millis / every) as u64;
        let mut script = Script::new(EvictionConfig::default());
        script.send(
            1.0,
            EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted_node(1, &[]), listed: false }),
        );
        script.send(
            1.0,
            EvictionInput::Pods(ObjectEvent::Applied {
                fact: pod("p").at_version(1000).tolerates([toleration("k", Some(20))]),
                listed: false,
            }),
        );
        // The taint is added at 10.3 s, and delivered within its own second.
        let (seen_from, mut reported) = (10_300 + lag.min(600), 1);
        for millis in (10_310..60_000).step_by(10) {
            script.now = millis as f64 / 1000.0;
            if millis >= seen_from {
                let version = version_at((millis - lag).max(10_300));
                if version > reported {
                    reported = version;
                    script.send(
                        script.now,
                        EvictionInput::Nodes(ObjectEvent::Applied {
                            fact: tainted_node(version, &taint),
                            listed: false,
                        }),
                    );
                }
            }
            script.engine.tick(at(script.now).mono);
            while let Some(effect) = script.next() {
                let now = script.now;
                let response = match effect {
                    EvictionEffect::ReadNode { node: name } => {
                        let result = Ok(LiveRead::Found(tainted_node(version_at(millis), &taint)));
                        EvictionInput::NodeConfirmed { node: name, sent: at(now).mono, result }
                    }
                    other => well(&other, at(now).mono),
                };
                script.send(now, response);
            }
        }
        let due = seen_from as f64 / 1000.0 + 20.0;
        let deletes = script.deletes();
        assert_eq!(deletes.len(), 1, "lag {lag} ms, a change every {every} ms");
        assert!((due..due + 1.05).contains(&deletes[0]), "lag {lag}, every {every}: {due} {deletes:?}");
    }
}

/// A node with another `timeAdded` than the known one may have another taint: the watch gets time to show it (P46); if
/// it does not, the read counts.
#[test]
fn p46_a_refresh_that_a_read_sees_before_the_watch_moves_nothing() {
    for (sent_at, gone) in [(Some(31.0), 31.0..32.5), (None, 51.0..51.1)] {
        let refreshed = || tainted_node(101, &[("k", Some(30))]);
        let mut script = Script::new(never());
        script.send(
            10.2,
            EvictionInput::Nodes(ObjectEvent::Applied {
                fact: tainted_node(100, &[("k", Some(10))]),
                listed: false,
            }),
        );
        script.send(
            10.2,
            EvictionInput::Pods(ObjectEvent::Applied {
                fact: pod("p").at_version(40).tolerates([toleration("k", Some(20))]),
                listed: false,
            }),
        );
        let serve = |when, effect: &EvictionEffect| match effect {
            EvictionEffect::ReadNode { node: name } => {
                let result = Ok(LiveRead::Found(refreshed()));
                (EvictionInput::NodeConfirmed { node: name.clone(), sent: at(when).mono, result }, 0.0)
            }
            other => (well(other, at(when).mono), 0.0),
        };
        script.run(31.0, serve);
        assert!(script.deletes().is_empty(), "{sent_at:?}");
        if sent_at.is_some() {
            script
                .send(31.0, EvictionInput::Nodes(ObjectEvent::Applied { fact: refreshed(), listed: false }));
        }
        script.run(60.0, serve);
        let deletes = script.deletes();
        assert!(deletes.len() == 1 && gone.contains(&deletes[0]), "{sent_at:?}: {deletes:?}");
    }
}

#[test]
fn d3_reads_that_are_too_late_to_count_are_failures() {
    for (latency, goes) in [(1.9, true), (2.5, true), (4.0, true), (4.6, false), (5.9, false)] {
        let mut script = Script::tainted(never(), pod("p").at_version(40));
        let mut blocked = false;
        script.run(3600.0, |when, effect| {
            let takes = if matches!(effect, EvictionEffect::ReadNode { .. }) { latency } else { 0.0 };
            (well(effect, at(when).mono), takes)
        });
        blocked |=
            script.engine.failing_evictions().any(|blocked| blocked.failure == ApiFailure::Unavailable);
        let reads = script.times(|effect| matches!(effect, EvictionEffect::ReadNode { .. })).len();
        assert_eq!((script.deletes().len(), blocked), (usize::from(goes), !goes), "{latency} s");
        assert!(reads < 150, "{reads} reads in an hour");
        // As soon as the server responds in time, the pod is evicted.
        let until = script.now + 40.0;
        script.run(until, |when, effect| (well(effect, at(when).mono), 0.01));
        assert_eq!(script.deletes().len(), 1, "{latency} s");
    }
}

#[test]
fn d3_reads_that_are_too_late_for_a_deletion_without_a_version_are_failures() {
    let mut fact = pod("p").at_version(40);
    fact.version = None;
    let mut script = Script::tainted(never(), fact.clone());
    script.run(3600.0, |when, effect| match effect {
        EvictionEffect::ReadPod { pod, .. } => (
            EvictionInput::PodRead {
                pod: pod.clone(),
                result: Ok(LiveRead::Found(fact.clone())),
                half_deleted: false,
            },
            4.6,
        ),
        other => (well(other, at(when).mono), 0.0),
    });
    let checks = script.times(|effect| matches!(effect, EvictionEffect::ReadPod { .. })).len();
    assert!(script.deletes().is_empty() && (100..200).contains(&checks), "{checks} looks in an hour");
}

/// After an outage, a pod that becomes due does not wait for the pause that its neighbours' failures have caused.
#[test]
fn d3_a_first_attempt_does_not_wait_for_its_nodes_pause() {
    for deadline in (40..200).step_by(7) {
        let (due, well_from) = (1.0 + f64::from(deadline), f64::from(deadline));
        let mut script = Script::new(never());
        script.send(
            1.0,
            EvictionInput::Pods(ObjectEvent::Applied { fact: pod("a").at_version(10), listed: false }),
        );
        let later = pod("b").at_version(11).tolerates([toleration("k", Some(i64::from(deadline)))]);
        script.send(1.0, EvictionInput::Pods(ObjectEvent::Applied { fact: later, listed: false }));
        script.send(
            1.0,
            EvictionInput::Nodes(ObjectEvent::Applied {
                fact: tainted_node(100, &[("k", None)]),
                listed: false,
            }),
        );
        script.run(due + 40.0, |when, effect| match effect {
            EvictionEffect::ReadNode { .. } if when < well_from => {
                (failed(effect, at(when).mono, ApiFailure::Unavailable), 0.0)
            }
            other => (well(other, at(when).mono), 0.0),
        });
        let is_b = |effect: &EvictionEffect| matches!(effect, EvictionEffect::DeletePod { name, .. } if name.name() == "b");
        let gone = script.times(is_b);
        assert!(gone.len() == 1 && gone[0] < due + 0.15, "{deadline}: due {due}, gone {gone:?}");
    }
}

/// However many pods of a node become due while it cannot be read, it is read at a bounded rate.
#[test]
fn d3_first_attempts_on_one_node_read_it_at_a_bounded_rate() {
    let mut script = Script::new(never());
    for millis in 0..2_000 {
        let mut fact = pod(&format!("p{millis:04}")).at_version(10).tolerates([toleration("k", Some(100))]);
        fact.arrival = taintward_core::fact::BindingTimes::default();
        script.send(
            1.0 + f64::from(millis) / 100.0,
            EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }),
        );
    }
    script.send(
        30.0,
        EvictionInput::Nodes(ObjectEvent::Applied {
            fact: tainted_node(100, &[("other", None)]),
            listed: false,
        }),
    );
    // Each tolerates it for another period.
    script.send(
        30.0,
        EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted_node(101, &[("k", None)]), listed: false }),
    );
    for millis in 0..2_000 {
        let seconds = 10 + i64::from(millis) / 100;
        let fact = pod(&format!("p{millis:04}")).at_version(11).tolerates([toleration("k", Some(seconds))]);
        script.send(30.0, EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    }
    script.run(70.0, |when, effect| (failed(effect, at(when).mono, ApiFailure::Unavailable), 0.0));
    let reads = script.times(|effect| matches!(effect, EvictionEffect::ReadNode { .. })).len();
    assert!(reads < 450, "{reads} reads of one node in 30 s");
}

/// `Retry-After` is respected, up to 30 s (D3).
#[test]
fn d3_retry_after_of_the_server_is_respected() {
    let requests = |seconds| ApiFailure::Throttled(Some(taintward_core::time::Span::from_secs(seconds)));
    for (seconds, waits) in [(7, 7.0), (1_000_000, 30.0)] {
        let mut script = Script::tainted(never(), pod("p").at_version(40));
        let mut first = true;
        script.run(60.0, |when, effect| match effect {
            EvictionEffect::DeletePod { .. } if std::mem::take(&mut first) => {
                (failed(effect, at(when).mono, requests(seconds)), 0.0)
            }
            other => (well(other, at(when).mono), 0.0),
        });
        let deletes = script.deletes();
        assert!(deletes.len() == 2 && (deletes[1] - deletes[0] - waits).abs() < 0.05, "{deletes:?}");
    }
}

/// In the lane of all, too, a pod without an attempt precedes one that failed.
#[test]
fn l6_first_attempts_precede_retries() {
    let mut script = Script::tainted(never(), pod("a").at_version(40));
    script.run(1.5, |when, effect| match effect {
        EvictionEffect::DeletePod { .. } => (failed(effect, at(when).mono, ApiFailure::Rejected), 0.0),
        other => (well(other, at(when).mono), 0.0),
    });
    // The retry is due, and so is another pod.
    script.send(
        40.0,
        EvictionInput::Pods(ObjectEvent::Applied { fact: pod("b").at_version(41), listed: false }),
    );
    script.engine.tick(Mono::from_secs(40));
    let mut order = Vec::new();
    while let Some(effect) = script.engine.next_effect(Lane::All, at(40.0)) {
        if let EvictionEffect::DeletePod { name, .. } = &effect {
            order.push(name.name().to_owned());
        }
        script.send(40.0, well(&effect, at(40.0).mono));
    }
    assert_eq!(order, ["b", "a"]);
}

/// After five conflicts a DELETE has only the UID as precondition, with a new confirmation of its node (D4).
#[test]
fn d4_a_deletion_by_the_uid_alone_has_a_confirmation_of_its_own() {
    // Another pod of the node becomes due, and has the node confirmed, at any moment before and after the last
    // conflict.
    for tenths in 10..60 {
        let other = f64::from(tenths) / 10.0;
        let mut script = Script::tainted(never(), pod("p").at_version(40));
        let (mut version, mut reads, mut before_last) = (40, 0, 0);
        let mut by_uid = None;
        let mut serve = |when: f64, effect: &EvictionEffect| match effect {
            EvictionEffect::ReadNode { .. } => {
                reads += 1;
                (well(effect, at(when).mono), 0.0)
            }
            EvictionEffect::ReadPod { pod: it, .. } => {
                version += 1;
                let result = Ok(LiveRead::Found(pod("p").at_version(version)));
                (EvictionInput::PodRead { pod: it.clone(), result, half_deleted: false }, 0.0)
            }
            EvictionEffect::DeletePod { pod: it, .. } if *it != pod_ref("p") => {
                (well(effect, at(when).mono), 0.0)
            }
            EvictionEffect::DeletePod { version: Some(ResourceVersion(_)), .. } => {
                before_last = reads;
                (failed(effect, at(when).mono, ApiFailure::Conflict), 0.0)
            }
            EvictionEffect::DeletePod { version: None, .. } => {
                by_uid = Some(reads - before_last);
                (well(effect, at(when).mono), 0.0)
            }
            effect => (well(effect, at(when).mono), 0.0),
        };
        script.run(other, &mut serve);
        script.send(
            other,
            EvictionInput::Pods(ObjectEvent::Applied { fact: pod("q").at_version(60), listed: false }),
        );
        script.run(15.0, &mut serve);
        let anew = by_uid.expect("it is evicted in the end");
        assert!(anew >= 1, "another pod at {other}: the node was not read again");
    }
}

/// An admission webhook takes longer than the request may: a pause would only be added to that. The server that responds late
/// gets its pause.
#[test]
fn d3_only_a_lost_deletion_that_took_long_is_followed_up_at_once() {
    let (lost, rejected) = (ApiFailure::Unavailable, ApiFailure::Rejected);
    for (failure, takes, pauses) in [(lost, 1.5, false), (lost, 0.5, true), (rejected, 1.5, true)] {
        let mut script = Script::tainted(never(), pod("p").at_version(40));
        let mut first = true;
        script.run(10.0, |when, effect| match effect {
            EvictionEffect::DeletePod { .. } if std::mem::take(&mut first) => {
                (failed(effect, at(when).mono, failure), takes)
            }
            other => (well(other, at(when).mono), 0.0),
        });
        let responded = script.deletes()[0] + takes - 0.005;
        let next = script.requested.iter().map(|(when, _)| *when).find(|when| *when > responded);
        let pause = next.expect("it is retried") - responded;
        assert_eq!(pause > 0.05, pauses, "{failure:?} after {takes} s: {pause}");
        assert_eq!(script.deletes().len(), 2);
    }
}
