//! Tests the time budgets of the engines: absolute in release builds, relative to a baseline of the same run otherwise.
//!
//! - See `memory.rs` for memory.

mod common;
#[path = "common/leases.rs"]
mod leases;

use common::crowd::{self, KEY, now};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use taintward_core::engine::Engine;
use taintward_core::eviction::EvictionInput;
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::toleration;
use taintward_core::time::Span;

/// One measurement at a time.
static ALONE: Mutex<()> = Mutex::new(());

const RELEASE: bool = !cfg!(debug_assertions);

fn shortest(times: usize, mut what: impl FnMut() -> Duration) -> Duration {
    (0..times).map(|_| what()).min().expect("at least one run")
}

fn time(what: impl FnOnce()) -> Duration {
    let start = Instant::now();
    what();
    start.elapsed()
}

/// 50,000 tolerations and 5,000 taints cost as much as a few dozen passes over their texts, whatever they are.
#[test]
fn a_hostile_pod_on_a_hostile_node_is_cheap() {
    let _alone = ALONE.lock().expect("no other measurement has failed");
    for (what, (pod, node)) in
        [("keys", crowd::hostile(50_000, 5_000)), ("no keys", crowd::hostile_wildcards(50_000, 5_000))]
    {
        let floor = shortest(5, || {
            time(|| {
                let mut hasher = DefaultHasher::new();
                pod.tolerations.hash(&mut hasher);
                node.taints.hash(&mut hasher);
                black_box(hasher.finish());
            })
        });
        let taken = shortest(5, || {
            let mut engine = crowd::engine(1, 0, 300);
            engine.handle(
                EvictionInput::Pods(ObjectEvent::Applied { fact: pod.clone(), listed: false }),
                now(),
            );
            let fact = node.clone();
            let taken = time(|| {
                engine.handle(EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false }), now())
            });
            assert_eq!(engine.stats().due, 1);
            taken
        });
        println!("{what}: {taken:?}; floor {floor:?}");
        assert!(taken < floor * 40, "{what}: {taken:?}, floor {floor:?}");
        assert!(!RELEASE || taken <= Duration::from_millis(5), "{what}: {taken:?}");
    }
}

/// Pods of one node that each have a deadline of their own cost as much as a few passes over them, not a pass each.
#[test]
fn ten_thousand_deadlines_of_one_node_are_cheap() {
    const PODS: usize = 10_000;
    let _alone = ALONE.lock().expect("no other measurement has failed");
    let mut floor = Duration::MAX;
    let taken = shortest(3, || {
        let mut engine = crowd::engine(1, 0, 300);
        let pods = (0..PODS).map(|at| {
            let period = Some(1 + (at * 7_919 % PODS) as i64);
            let tolerations = vec![toleration(KEY, period)];
            crowd::large_pod(at, crowd::node_name(0), tolerations)
        });
        let pods: Vec<_> =
            pods.map(|fact| EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false })).collect();
        floor = floor.min(time(|| pods.into_iter().for_each(|input| engine.handle(input, now()))));
        let node = EvictionInput::Nodes(ObjectEvent::Applied {
            fact: crowd::large_node(0, 2, &[KEY]),
            listed: false,
        });
        let taken = time(|| {
            engine.handle(node, now());
            for passed in 1..=PODS {
                let passed = Span::from_secs(passed as i64);
                assert_eq!(engine.deadline_at(), Some(now().mono.plus(passed)));
                engine.tick(now().mono.plus(passed));
            }
        });
        assert_eq!(engine.stats().due, PODS);
        taken
    });
    println!("{taken:?} for 10,000 deadlines, {floor:?} for observing their pods");
    assert!(taken < floor * 4, "{taken:?}, floor {floor:?}");
    assert!(!RELEASE || taken <= Duration::from_millis(500), "{taken:?}");
}

/// Compares one taint on one node of 110 pods in a small and in a large cluster.
#[test]
fn an_event_costs_the_same_however_many_other_nodes_there_are() {
    let _alone = ALONE.lock().expect("no other measurement has failed");
    let cost = |nodes: usize| {
        let mut engine = crowd::engine(nodes, 10, 300);
        for at in 0..110 {
            let fact = crowd::large_pod(10_000_000 + at, crowd::node_name(7), Vec::new());
            engine.handle(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }), now());
        }
        let mut version = 2;
        shortest(200, || {
            version += 2;
            let taint = crowd::large_node(7, version, &[KEY]);
            let untaint = crowd::large_node(7, version + 1, &[]);
            let taken = time(|| {
                engine
                    .handle(EvictionInput::Nodes(ObjectEvent::Applied { fact: taint, listed: false }), now())
            });
            assert_eq!(engine.stats().due, 110);
            engine.handle(EvictionInput::Nodes(ObjectEvent::Applied { fact: untaint, listed: false }), now());
            engine.take_notices();
            taken
        })
    };
    let (few, many) = (cost(100), cost(50_000));
    println!("{few:?} with 100 nodes, {many:?} with 50,000");
    assert!(many < few * 3, "{few:?} {many:?}");
}

/// A renewal costs the same however many nodes there are, except for the depth of a tree.
#[test]
fn a_renewal_costs_the_same_however_many_nodes_there_are() {
    let _alone = ALONE.lock().expect("no other measurement has failed");
    let cost = |nodes: usize| {
        let mut engine = leases::engine(nodes);
        leases::renew(&mut engine, nodes, 1);
        let mut round = 1;
        shortest(20, || {
            round += 1;
            time(|| leases::renew(&mut engine, 100, round))
        })
    };
    let (few, many) = (cost(100), cost(20_000));
    println!("100 renewals: {few:?} with 100 nodes, {many:?} with 20,000");
    assert!(many < few * 4, "{few:?} {many:?}");
}
