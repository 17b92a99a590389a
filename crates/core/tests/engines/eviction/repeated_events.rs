//! Tests late, repeated and missing facts and responses, scripted and possibly inconsistent.

use crate::common::EPOCH;
use crate::common::paired::PairedEngine;
use crate::common::script::{at, tainted_node};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::eviction::{DisruptionConditionPolicy, EvictionConfig, EvictionEffect, EvictionInput};
use taintward_core::fact::{BindingTimes, NodeFact, PodFact, PodLifePhase};
use taintward_core::identity::{NodeName, PodId, PodName, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::testkit::{pod, pod_ref, toleration};
use taintward_core::time::{Mono, Now, Wall};

/// A pod that tolerates the taint `k` for this long; `None`: not at all.
fn patient_pod(version: u64, period: Option<i64>) -> PodFact {
    pod("p").at_version(version).tolerates(period.map(|seconds| toleration("k", Some(seconds))))
}

fn listed(engine: &mut PairedEngine, now: Now, nodes: Vec<EvictionInput>, pods: Vec<EvictionInput>) {
    let silent_since = engine.is_synced().then_some(now.mono);
    let begin = [EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since })].into_iter();
    let pods = [
        EvictionInput::Nodes(ObjectEvent::ListCompleted),
        EvictionInput::Pods(ObjectEvent::ListStarted { silent_since }),
    ]
    .into_iter()
    .chain(pods);
    begin
        .chain(nodes)
        .chain(pods)
        .chain([EvictionInput::Pods(ObjectEvent::ListCompleted)])
        .for_each(|input| engine.handle(input, now));
}

fn live(fact: PodFact) -> EvictionInput {
    EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false })
}

fn synced(condition: DisruptionConditionPolicy) -> PairedEngine {
    let mut engine = PairedEngine::new(EvictionConfig { condition, ..EvictionConfig::default() });
    listed(&mut engine, at(0.0), Vec::new(), Vec::new());
    engine
}

/// An engine that knows the tainted node and the pod, with its first effect pulled.
fn tainted(period: Option<i64>) -> PairedEngine {
    let mut engine = synced(DisruptionConditionPolicy::Never);
    engine.handle(
        EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted_node(1, &[("k", None)]), listed: false }),
        at(1.0),
    );
    engine.handle(live(patient_pod(10, period)), at(1.0));
    engine
}

fn confirmed(now: Now, result: Result<LiveRead<NodeFact>, ApiFailure>) -> EvictionInput {
    EvictionInput::NodeConfirmed { node: NodeName::new("n1"), sent: now.mono, result }
}

/// Lets every request succeed at this moment. Returns how many pods were deleted.
fn evict(engine: &mut PairedEngine, now: Now) -> usize {
    engine.tick(now.mono);
    let mut deleted = 0;
    while let Some(effect) = engine.next_effect(Lane::All, now) {
        let response = match effect {
            EvictionEffect::ReadNode { .. } => {
                confirmed(now, Ok(LiveRead::Found(tainted_node(1, &[("k", None)]))))
            }
            EvictionEffect::DeletePod { pod, .. } => {
                deleted += 1;
                EvictionInput::Deleted { pod, result: Ok(()) }
            }
            effect => panic!("{effect:?}"),
        };
        engine.handle(response, now);
    }
    deleted
}

/// A pod that disappears while its node is being read, and appears again at another place in the queue: its previous
/// place counts neither in the counts nor for a second DELETE.
#[test]
fn a_place_in_the_queue_ends_with_the_knowledge_of_the_pod() {
    for stays in [true, false] {
        let mut engine = tainted(None);
        assert!(matches!(engine.next_effect(Lane::All, at(1.0)), Some(EvictionEffect::ReadNode { .. })));
        assert!(engine.next_effect(Lane::All, at(1.0)).is_none());
        engine.handle(EvictionInput::Pods(ObjectEvent::Deleted(pod_ref("p").into())), at(1.1));
        let again = PodFact { priority: if stays { 7 } else { -7 }, ..patient_pod(11, None) };
        engine.handle(live(again), at(1.2));
        assert!(engine.next_effect(Lane::All, at(1.2)).is_none());
        engine.handle(confirmed(at(1.0), Err(ApiFailure::Unavailable)), at(1.3));
        if stays {
            engine.handle(live(PodFact { priority: 7, ..patient_pod(12, Some(100)) }), at(1.31));
        }
        let deleted: usize = (2..60).map(|s| evict(&mut engine, at(f64::from(s)))).sum();
        assert_eq!((engine.stats().counting, deleted), if stays { (1, 0) } else { (0, 1) });
    }
}

/// D11, D1: an object that cannot be decoded when it is found, and can be later, did not start then.
#[test]
fn an_object_that_could_not_be_decoded_did_not_start_when_it_could() {
    let node_unreadable =
        || EvictionInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(&NodeName::new("n1"), None)));
    let pod_unreadable =
        |node| EvictionInput::Pods(ObjectEvent::Undecodable(ObjectRef::pod(Uid::new("p"), node)));
    let added = tainted_node(5, &[("k", Some(100))]);
    let old = |seconds| Some(Wall::from_secs(EPOCH + seconds));
    let arrived = PodFact {
        arrival: BindingTimes { scheduled: old(200), started: None, created: old(199) },
        ..patient_pod(10, Some(3_000))
    };
    let begun = |engine: &PairedEngine| {
        let (_, verdict, taints) = engine.explain(&pod_ref("p"), at(1_500.0)).expect("the pod is known");
        let seconds = |at: Mono| at.as_micros() / 1_000_000;
        (seconds(taints[0].start.at), seconds(verdict.reasons[0].counts_from))
    };
    for pods_node in [Some(NodeName::new("n1")), None] {
        // Both exist at the start.
        let mut engine = PairedEngine::new(EvictionConfig::default());
        listed(&mut engine, at(1_000.0), vec![node_unreadable()], vec![pod_unreadable(pods_node.clone())]);
        engine.handle(
            EvictionInput::Nodes(ObjectEvent::Applied { fact: added.clone(), listed: false }),
            at(1_500.0),
        );
        engine.handle(live(arrived.clone()), at(1_500.0));
        assert_eq!(begun(&engine), (101, 201));
        assert!(engine.take_notices().iter().all(|notice| !format!("{notice:?}").starts_with("Unstamped")));
        // Both appear while everything is watched: they did not start before they appeared, whatever their times.
        let mut engine = synced(DisruptionConditionPolicy::Never);
        engine.handle(node_unreadable(), at(1_000.0));
        engine.handle(pod_unreadable(pods_node.clone()), at(1_200.0));
        engine.handle(
            EvictionInput::Nodes(ObjectEvent::Applied { fact: added.clone(), listed: false }),
            at(1_500.0),
        );
        engine.handle(live(arrived.clone()), at(1_500.0));
        assert_eq!(begun(&engine), (1_000, 1_200));
        // They are deleted, undecodable to the end, and others appear.
        for lost in [false, true] {
            let mut engine = PairedEngine::new(EvictionConfig::default());
            let pod_gone = EvictionInput::Pods(ObjectEvent::Deleted(pod_ref("p").into()));
            listed(
                &mut engine,
                at(1_000.0),
                vec![node_unreadable()],
                vec![pod_unreadable(pods_node.clone())],
            );
            if lost {
                listed(&mut engine, at(1_100.0), Vec::new(), Vec::new());
            } else {
                engine.handle(
                    EvictionInput::Nodes(ObjectEvent::Deleted(ObjectRef::node(&NodeName::new("n1"), None))),
                    at(1_100.0),
                );
                engine.handle(pod_gone, at(1_100.0));
            }
            engine.handle(
                EvictionInput::Nodes(ObjectEvent::Applied { fact: added.clone(), listed: false }),
                at(1_500.0),
            );
            engine.handle(live(arrived.clone()), at(1_500.0));
            assert_eq!(begun(&engine), (1_500, 1_500));
        }
    }
    // A taint that was added while its node could not be decoded.
    let mut engine = synced(DisruptionConditionPolicy::Never);
    engine.handle(
        EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted_node(1, &[]), listed: false }),
        at(1.0),
    );
    engine.handle(live(arrived), at(1.0));
    engine.handle(node_unreadable(), at(50.0));
    engine.handle(EvictionInput::Nodes(ObjectEvent::Applied { fact: added, listed: false }), at(1_500.0));
    assert_eq!(begun(&engine), (101, 101));
}

/// L6: a caller that has no capacity for retries still knows when the next deadline comes.
#[test]
fn l6_a_retry_that_is_due_hides_no_deadline() {
    let mut engine = synced(DisruptionConditionPolicy::Never);
    let marked = PodFact {
        id: PodId::new(Uid::new("marked"), PodName::new("default", "p")),
        marked: true,
        tolerations: vec![toleration("k", None)],
        ..patient_pod(10, None)
    };
    engine.handle(live(marked), at(1.0));
    engine.handle(
        EvictionInput::Nodes(ObjectEvent::Applied { fact: tainted_node(1, &[("k", None)]), listed: false }),
        at(1.0),
    );
    engine.handle(live(patient_pod(11, Some(100))), at(1.0));
    for s in [2.0, 32.0, 40.0] {
        engine.tick(at(s).mono);
        assert!(engine.next_effect(Lane::Fresh, at(s)).is_none());
        assert_eq!(engine.deadline_at(), Some(at(101.0).mono));
        assert_eq!((engine.retry_at(), engine.next_wakeup()), (Some(at(31.0).mono), Some(at(31.0).mono)));
    }
    engine.tick(at(101.0).mono);
    assert!(matches!(engine.next_effect(Lane::Fresh, at(101.0)), Some(EvictionEffect::ReadNode { .. })));
    assert_eq!(engine.deadline_at(), None);
}

/// L2: a pod whose deletion was accepted, and that a newer event shows alive, is judged again; older events do nothing.
#[test]
fn l2_a_deletion_that_is_undone_is_repeated() {
    let begin = |s: f64| EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: Some(at(s).mono) });
    let found = |version| {
        EvictionInput::Pods(ObjectEvent::Applied { fact: patient_pod(version, None), listed: true })
    };
    let terminating =
        |version| PodFact { life_phase: PodLifePhase::Terminating, ..patient_pod(version, None) };
    type RepeatedEvent<'a> = &'a dyn Fn(&mut PairedEngine);
    let cases: [(&str, bool, RepeatedEvent<'_>); 7] = [
        ("an event from before", false, &|engine| engine.handle(live(patient_pod(10, None)), at(2.0))),
        ("an older one", false, &|engine| engine.handle(live(patient_pod(9, None)), at(2.0))),
        ("a newer one", true, &|engine| engine.handle(live(patient_pod(20, None)), at(2.0))),
        ("its end", false, &|engine| engine.handle(live(terminating(20)), at(2.0))),
        ("a late one after it", false, &|engine| {
            engine.handle(live(terminating(20)), at(2.0));
            engine.handle(live(patient_pod(15, None)), at(2.1));
        }),
        ("a list begun before", false, &|engine| {
            engine.handle(found(10), at(2.0));
            engine.handle(EvictionInput::Pods(ObjectEvent::ListCompleted), at(2.0));
        }),
        ("a list of an earlier state", true, &|engine| {
            engine.handle(EvictionInput::Pods(ObjectEvent::ListCompleted), at(2.0));
            for input in [begin(2.0), found(8), EvictionInput::Pods(ObjectEvent::ListCompleted)] {
                engine.handle(input, at(2.0));
            }
        }),
    ];
    for (what, goes_again, changes) in cases {
        let mut engine = tainted(None);
        engine.handle(begin(1.0), at(1.0));
        assert_eq!(evict(&mut engine, at(1.1)), 1);
        changes(&mut engine);
        let before = engine.stats();
        assert_eq!(evict(&mut engine, at(10.0)), usize::from(goes_again), "{what}");
        assert_eq!((before.due, before.in_hand), (usize::from(goes_again), 0), "{what}");
        assert_eq!(evict(&mut engine, at(20.0)), 0, "{what}: once each time");
    }
}

/// A DELETE without a version as precondition was accepted for an unknown version: no event shows whether it is from
/// before.
#[test]
fn p45_after_a_deletion_by_uid_only_a_list_shows_that_it_was_undone() {
    let mut engine = tainted(None);
    let mut accepted = false;
    for s in 2..60 {
        let now = at(f64::from(s));
        engine.tick(now.mono);
        while let Some(effect) = engine.next_effect(Lane::All, now) {
            let response = match effect {
                EvictionEffect::ReadNode { .. } => {
                    confirmed(now, Ok(LiveRead::Found(tainted_node(1, &[("k", None)]))))
                }
                EvictionEffect::ReadPod { pod: it, .. } => EvictionInput::PodRead {
                    pod: it,
                    result: Ok(LiveRead::Found(patient_pod(10, None))),
                    half_deleted: false,
                },
                EvictionEffect::DeletePod { pod, version, .. } => {
                    accepted |= version.is_none();
                    let result = if version.is_none() { Ok(()) } else { Err(ApiFailure::Conflict) };
                    EvictionInput::Deleted { pod, result }
                }
                effect => panic!("{effect:?}"),
            };
            engine.handle(response, now);
        }
    }
    assert!(accepted);
    engine.handle(live(patient_pod(11, None)), at(60.0));
    assert_eq!(evict(&mut engine, at(60.0)), 0);
    let found = EvictionInput::Pods(ObjectEvent::Applied { fact: patient_pod(12, None), listed: true });
    for input in [
        EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: Some(at(60.0).mono) }),
        found,
        EvictionInput::Pods(ObjectEvent::ListCompleted),
    ] {
        engine.handle(input, at(61.0));
    }
    assert_eq!(evict(&mut engine, at(61.0)), 1);
}

/// S1: an older event of a pod changes nothing, whatever its content.
#[test]
fn s1_an_older_version_of_a_pod_is_ignored() {
    let mut engine = tainted(Some(100));
    engine.handle(live(patient_pod(9, None)), at(2.0));
    assert_eq!((engine.stats().counting, evict(&mut engine, at(3.0))), (1, 0));
    assert_eq!(evict(&mut engine, at(101.0)), 1);
}

/// A pod that was reported as gone while a request was in flight, and appears again, is not gone: its eviction
/// continues.
#[test]
fn l2_a_pod_that_appears_again_while_a_request_is_in_flight_is_not_gone() {
    let mut engine = tainted(None);
    let now = at(2.0);
    assert!(matches!(engine.next_effect(Lane::All, now), Some(EvictionEffect::ReadNode { .. })));
    engine.handle(confirmed(now, Ok(LiveRead::Found(tainted_node(1, &[("k", None)])))), now);
    assert!(matches!(engine.next_effect(Lane::All, now), Some(EvictionEffect::DeletePod { .. })));
    engine.handle(EvictionInput::Pods(ObjectEvent::Deleted(pod_ref("p").into())), now);
    engine.handle(live(patient_pod(11, None)), now);
    engine.handle(EvictionInput::Deleted { pod: pod_ref("p"), result: Err(ApiFailure::Rejected) }, now);
    assert_eq!(evict(&mut engine, at(60.0)), 1);
}

/// D2: a removed toleration counts immediately, and so does a shorter one than any other of the node.
#[test]
fn d2_fewer_and_shorter_tolerations_are_judged_immediately() {
    let mut engine = tainted(Some(100));
    engine.handle(live(patient_pod(11, None)), at(2.0));
    assert_eq!((engine.stats().due, evict(&mut engine, at(2.0))), (1, 1));
    let mut engine = tainted(Some(100));
    engine.handle(
        live(PodFact {
            id: PodId::new(Uid::new("other"), PodName::new("default", "p")),
            ..patient_pod(11, Some(50))
        }),
        at(1.0),
    );
    assert_eq!(engine.deadline_at(), Some(at(51.0).mono));
    engine.handle(live(patient_pod(12, Some(10))), at(2.0));
    assert_eq!(engine.deadline_at(), Some(at(11.0).mono));
    assert_eq!((evict(&mut engine, at(10.9)), evict(&mut engine, at(11.0))), (0, 1));
}

/// The count follows the watch and lists, and forgets a node that is gone.
#[test]
fn nodes_that_are_ready_and_out_of_service_are_counted() {
    let mut engine = synced(DisruptionConditionPolicy::Never);
    let reported =
        |version, ready_out_of_service| NodeFact { ready_out_of_service, ..tainted_node(version, &[]) };
    let applied = |fact| EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false });
    let counted = |engine: &PairedEngine| {
        let stats = engine.stats();
        (stats.nodes, stats.ready_out_of_service_nodes)
    };
    assert_eq!(counted(&engine), (0, 0));
    engine.handle(applied(reported(1, false)), at(1.0));
    assert_eq!(counted(&engine), (1, 0));
    engine.handle(applied(reported(2, true)), at(2.0));
    assert_eq!(counted(&engine), (1, 1));
    engine.handle(applied(reported(1, false)), at(3.0));
    assert_eq!(counted(&engine), (1, 1), "what is older changes nothing");
    engine.handle(applied(reported(3, false)), at(4.0));
    assert_eq!(counted(&engine), (1, 0));
    engine.handle(applied(reported(4, true)), at(5.0));
    let gone = ObjectRef::node(&NodeName::new("n1"), None);
    engine.handle(EvictionInput::Nodes(ObjectEvent::Deleted(gone)), at(6.0));
    assert_eq!(counted(&engine), (0, 0));
}
