//! Tests an engine that shows deadlines: it counts from the seconds that objects name, as a snapshot does.

use crate::common::paired::PairedEngine;
use crate::common::script::{at, tainted_node};
use crate::common::{EPOCH, EvictionHarness, seconds};
use taintward_core::cluster_snapshot::{NodeRecord, PodRecord, SnapshotBuilder};
use taintward_core::engine::Engine as _;
use taintward_core::eviction::{EvictionConfig, EvictionInput};
use taintward_core::fact::{BindingTimes, NodeFact, PodFact};
use taintward_core::node_lifecycle::{ZoneKey, ZoneLabels};
use taintward_core::object_event::ObjectEvent;
use taintward_core::scheduling::{Labels, PodSchedulingSpec};
use taintward_core::testkit::{pod, pod_ref, toleration};
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_core::toleration_matching::NumericOperators;
use taintward_core::toleration_seconds::RecordState;
use taintward_core::verdict::Outcome;

/// The node, whose taints last changed in this second, and were added in that one if they say so.
fn changed_node(version: u64, added: Option<i64>, changed: Option<i64>) -> NodeFact {
    let taints_changed = changed.map(|second| Wall::from_secs(EPOCH + second));
    NodeFact { taints_changed, ..tainted_node(version, &[("k", added)]) }
}

fn bound(second: i64) -> PodFact {
    let scheduled = Some(Wall::from_secs(EPOCH + second));
    let arrival = BindingTimes { scheduled, started: None, created: None };
    PodFact { arrival, ..pod("p").at_version(1).tolerates([toleration("k", Some(60))]) }
}

fn due(outcome: Outcome) -> Option<Mono> {
    match outcome {
        Outcome::StaysUntil(at) | Outcome::Leaves { due: at } => Some(at),
        Outcome::Stays(_) => None,
    }
}

/// The second of the deadline in a snapshot of these facts.
fn in_a_snapshot(node: NodeFact, pod: &PodFact, now: Now) -> Option<i64> {
    let mut builder = SnapshotBuilder::new(now.wall, NumericOperators::Off, true);
    builder.node(NodeRecord {
        fact: node,
        labels: Labels::new(),
        unschedulable: false,
        allocatable: [].into(),
        pods_max: 110,
        ready: Some(true),
        zone: ZoneKey::of(ZoneLabels::default()),
        excluded: false,
    });
    builder.pod(PodRecord {
        uid: pod.id.uid().clone(),
        name: pod.id.name().clone(),
        node: "n1",
        labels: Labels::new(),
        owner: None,
        job_index: None,
        spec: PodSchedulingSpec { tolerations: pod.tolerations.clone(), ..PodSchedulingSpec::default() },
        beyond: false,
        life_phase: pod.life_phase,
        mirror: false,
        marked: false,
        ready: true,
        arrival: pod.arrival,
        record: RecordState::Absent,
        holds: None,
    });
    let snapshot = builder.finish();
    let verdict = snapshot.judge(&snapshot.pods()[0], &snapshot.instances(0));
    due(verdict.outcome).map(|at| at.as_micros().div_euclid(1_000_000) - EPOCH)
}

#[test]
fn an_engine_that_shows_deadlines_shows_those_of_a_snapshot() {
    for (starts_as_named, listed) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut engine = PairedEngine::new(EvictionConfig { starts_as_named, ..EvictionConfig::default() });
        let start = |engine: &mut PairedEngine, now| {
            engine.handle(EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }), now);
            engine.handle(EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }), now);
        };
        let end = |engine: &mut PairedEngine, now| {
            engine.handle(EvictionInput::Nodes(ObjectEvent::ListCompleted), now);
            engine.handle(EvictionInput::Pods(ObjectEvent::ListCompleted), now);
        };
        start(&mut engine, at(1.0));
        if !listed {
            end(&mut engine, at(1.0));
        }
        let fact = bound(2);
        engine.handle(EvictionInput::Pods(ObjectEvent::Applied { fact, listed }), at(2.7));
        let mut same = true;
        for (version, seen, added, changed, until) in [
            (10, 10.7, Some(10), Some(10), 70),
            // Another taint changed: this one says when it was added.
            (11, 20.6, Some(10), Some(20), 70),
            // Removed and added again, unseen.
            (12, 30.8, Some(30), Some(30), 90),
            // Without a time of its own, each change of the list may have added it.
            (13, 41.9, None, Some(41), 101),
            (14, 55.6, None, Some(55), 115),
        ] {
            let fact = changed_node(version, added, changed);
            let now = at(seen);
            engine.handle(EvictionInput::Nodes(ObjectEvent::Applied { fact: fact.clone(), listed }), now);
            if listed && version == 10 {
                end(&mut engine, now);
            }
            let verdict = engine.explain(&pod_ref("p"), now).expect("it is known").1;
            assert_eq!(in_a_snapshot(fact, &bound(2), now), Some(until));
            same &= due(verdict.outcome) == Some(Mono::from_secs(until));
        }
        assert_eq!(same, starts_as_named, "listed: {listed}");
    }
}

/// A pod leaves no earlier than shown, and no later than the clocks allow.
#[test]
fn the_engine_that_evicts_does_so_after_the_shown_second() {
    for (ahead, allowed) in [(0.0, 0.0), (-0.5, 1.6), (0.5, 1.6), (1.0, 2.0), (-1.0, 2.0)] {
        for tenth in 0..10 {
            for restarted in [false, true] {
                let mut harness = EvictionHarness::new();
                harness.add_node("n1");
                harness.pass(seconds(100.0));
                harness.add_pod("p", "n1", &[toleration("k", Some(60))]);
                harness.pass(seconds(10.0 + f64::from(tenth) / 10.0));
                harness.add_taint("n1", "k");
                let named = harness.now.div_euclid(1_000_000);
                harness.pass(seconds(5.0));
                if restarted {
                    harness.clock_error = seconds(ahead);
                    harness.skew_max = Some(Span::from_micros(seconds(allowed)));
                    harness.restart();
                }
                harness.pass(seconds(500.0));
                let left = harness.deleted_at("p").expect("it goes");
                let shown = seconds(f64::from(i32::try_from(named).expect("some seconds")) + 60.0);
                let most = if restarted { seconds(1.0 + 2.0 * allowed) } else { seconds(1.0) };
                assert!(shown <= left && left <= shown + most, "{ahead} {tenth} {restarted}: {left} {shown}");
            }
        }
    }
}
