//! Prints what the engines cost: `cargo run --release -p taintward-core --example budgets`.

#[path = "../tests/common/mod.rs"]
mod common;

use common::crowd::{self, KEY, now};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::time::{Duration, Instant};
use taintward_core::cluster_snapshot::{
    ClusterSnapshot, NodeRecord, OwnerReference, PodRecord, SnapshotBuilder,
};
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionEngine, EvictionInput};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::forecast::{ForecastOptions, PlannedNodeChange, PlannedTaint, forecast};
use taintward_core::node_lifecycle::{ZoneKey, ZoneLabels};
use taintward_core::object_event::ObjectEvent;
use taintward_core::scheduling::{Labels, PodSchedulingSpec, ResourceRequests};
use taintward_core::time::Mono;
use taintward_core::toleration_matching::NumericOperators;
use taintward_core::toleration_seconds::RecordState;

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn time<T>(what: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = what();
    (result, start.elapsed())
}

fn row(what: &str, is: String, budget: &str) {
    println!("{what:<64}{is:>16}   {budget}");
}

fn main() {
    row("what", "measured".into(), "budget");
    memory(150_000, 5_000, "160 B");
    memory(1_000_000, 100_000, "180 B");
    one_node("taint on a node of 110 pods, all go", 0, "20 µs");
    one_node("taint on a node of 110 pods, all count down", 300, "20 µs");
    hostile("50,000 tolerations, 5,000 taints", crowd::hostile(50_000, 5_000));
    hostile("50,000 tolerations without a key, 5,000 taints", crowd::hostile_wildcards(50_000, 5_000));
    many_nodes();
    planned();
}

fn memory(pods: usize, nodes: usize, budget: &str) {
    let region = Region::new(HEAP);
    let (engine, taken) = crowd::loaded(nodes, pods / nodes, 300);
    let change = region.change();
    let bytes = change.bytes_allocated - change.bytes_deallocated;
    let blocks = change.allocations - change.deallocations;
    let each = |number: usize| number as f64 / pods as f64;
    row(&format!("heap for each of {pods} pods on {nodes} nodes"), format!("{:.1} B", each(bytes)), budget);
    row("  blocks of it", format!("{:.2}", each(blocks)), "");
    row("  loading them, decoding not included", format!("{taken:.2?}"), "");
    drop(engine);
}

/// The evicted pods have no tolerations at all; the pods that count down have one of fifteen lists.
fn one_node(what: &str, seconds: i64, budget: &str) {
    let mut engine = crowd::engine(1_000, if seconds > 0 { 110 } else { 0 }, seconds);
    if seconds == 0 {
        for at in 0..110 {
            let fact = crowd::large_pod(at, crowd::node_name(7), Vec::new());
            engine.handle(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }), now());
        }
    }
    let mut times: Vec<Duration> = (0..2_000u64)
        .map(|round| {
            let (taint, untaint) =
                (crowd::large_node(7, 2 * round + 2, &[KEY]), crowd::large_node(7, 2 * round + 3, &[]));
            let ((), taken) = time(|| {
                engine
                    .handle(EvictionInput::Nodes(ObjectEvent::Applied { fact: taint, listed: false }), now())
            });
            engine.handle(EvictionInput::Nodes(ObjectEvent::Applied { fact: untaint, listed: false }), now());
            engine.take_notices();
            taken
        })
        .collect();
    times.sort();
    row(what, format!("{:.1?}", times[times.len() / 2]), budget);
}

fn hostile(what: &str, (pod, node): (PodFact, NodeFact)) {
    let mut times: Vec<Duration> = (0..9)
        .map(|_| {
            let mut engine = crowd::engine(1, 0, 300);
            engine.handle(
                EvictionInput::Pods(ObjectEvent::Applied { fact: pod.clone(), listed: false }),
                now(),
            );
            let fact = node.clone();
            time(|| engine.handle(EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false }), now()))
                .1
        })
        .collect();
    times.sort();
    row(what, format!("{:.2?}", times[4]), "5 ms");
}

fn many_nodes() {
    const NODES: usize = 100_000;
    const TAINTED: usize = 10_000;
    let mut engine = crowd::engine(NODES, 10, 0);
    let taint = |engine: &mut EvictionEngine| {
        for node in 0..TAINTED {
            engine.handle(
                EvictionInput::Nodes(ObjectEvent::Applied {
                    fact: crowd::large_node(node, 2, &["example.com/out"]),
                    listed: false,
                }),
                now(),
            );
        }
    };
    let ((), taken) = time(|| taint(&mut engine));
    assert_eq!(engine.stats().due, TAINTED * 10);
    row("a taint on 10,000 of 100,000 nodes decided (100,000 pods go)", format!("{taken:.2?}"), "1 s");
    let read = |name: &taintward_core::identity::NodeName| {
        let mut fact = crowd::large_node(0, 2, &["example.com/out"]);
        fact.name = name.clone();
        fact
    };
    let (deleted, taken) = time(|| crowd::evict_all(&mut engine, read));
    row(&format!("  effects for {deleted} of them pulled and answered"), format!("{taken:.2?}"), "");
}

/// Returns a cluster snapshot with the pods of 5,000 Deployments.
fn snapshot(pods: usize, nodes: usize) -> ClusterSnapshot {
    let mut builder = SnapshotBuilder::new(now().wall, NumericOperators::Off, false);
    for at in 0..nodes {
        builder.node(NodeRecord {
            fact: crowd::large_node(at, 1, &[]),
            labels: Labels::new(),
            unschedulable: false,
            allocatable: [("cpu".into(), 64_000)].into(),
            pods_max: 110,
            ready: Some(true),
            zone: ZoneKey::of(ZoneLabels::default()),
            excluded: false,
        });
    }
    for at in 0..pods {
        let tolerations = if at % 7 == 0 { Vec::new() } else { crowd::tolerations(at % 15, 300) };
        let fact = crowd::large_pod(at, crowd::node_name(at % nodes), tolerations);
        let replica_set = format!("web-{}-7d4b9c6f5d", at % 5_000);
        let load =
            ResourceRequests { requested: [("cpu".into(), 500)].into(), ..ResourceRequests::default() };
        builder.pod(PodRecord {
            uid: fact.id.uid().clone(),
            name: fact.id.name().clone(),
            node: fact.node.as_str(),
            labels: [("pod-template-hash".into(), "7d4b9c6f5d".into())].into(),
            owner: Some(OwnerReference { group: "apps", kind: "ReplicaSet", name: &replica_set }),
            job_index: None,
            spec: PodSchedulingSpec {
                tolerations: fact.tolerations,
                load,
                preempts: true,
                ..PodSchedulingSpec::default()
            },
            beyond: false,
            life_phase: fact.life_phase,
            mirror: false,
            marked: false,
            holds: None,
            ready: true,
            arrival: fact.arrival,
            record: RecordState::Absent,
        });
    }
    builder.finish()
}

/// Judges every pod before and after; no pod is placed on another node.
fn planned() {
    const PODS: usize = 1_000_000;
    let region = Region::new(HEAP);
    let (snapshot, loaded) = time(|| snapshot(PODS, 10_000));
    let change = region.change();
    let bytes = change.bytes_allocated - change.bytes_deallocated;
    row("a snapshot: heap for each of 1000000 pods", format!("{:.0} B", bytes as f64 / PODS as f64), "");
    row("  loading them, decoding not included", format!("{loaded:.2?}"), "");
    let from = snapshot.now().mono;
    let taints = crowd::large_node(0, 1, &[KEY]).taints;
    let planned = |node| PlannedNodeChange {
        node,
        taints: taints.iter().map(|taint| PlannedTaint { taint: taint.clone(), from }).collect(),
        unschedulable: false,
        drained: false,
    };
    let changes: Vec<PlannedNodeChange> = (0..10_000).map(planned).collect();
    let question = |places_max| ForecastOptions { until: Mono::NEVER, places_max, about: &[] };
    let mut times: Vec<Duration> = Vec::new();
    for _ in 0..5 {
        let (result, taken) = time(|| forecast(&snapshot, &changes, question(0)));
        assert_eq!(result.totals.going + result.totals.later, PODS);
        times.push(taken);
    }
    times.sort();
    row("1,000,000 pods planned: all nodes are tainted, all pods go", format!("{:.1?}", times[2]), "100 ms");
    let (result, taken) = time(|| forecast(&snapshot, &changes[..100], question(10_000)));
    assert_eq!(result.placements.len(), 10_000);
    row("10,000 that leave 100 of 10,000 nodes are given places", format!("{taken:.1?}"), "");
}
