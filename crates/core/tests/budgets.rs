//! What the engine may cost. Memory is exact in every build; times are asserted in release builds, and against a floor
//! measured in the same run otherwise.

mod common;
#[path = "common/leases.rs"]
mod leases;

use common::crowd::{self, KEY, now};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use taintward_core::engine::Input;

#[global_allocator]
static HEAP: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// One measurement at a time.
static ALONE: Mutex<()> = Mutex::new(());

const RELEASE: bool = !cfg!(debug_assertions);

fn live(region: &Region<'_, System>) -> f64 {
    let change = region.change();
    // A reallocation is counted by its difference, apart from the others.
    change.bytes_allocated as f64 - change.bytes_deallocated as f64
}

fn shortest(times: usize, mut what: impl FnMut() -> Duration) -> Duration {
    (0..times).map(|_| what()).min().expect("at least one run")
}

fn time(what: impl FnOnce()) -> Duration {
    let start = Instant::now();
    what();
    start.elapsed()
}

#[test]
fn at_most_160_bytes_of_heap_for_each_of_150_000_pods() {
    let _alone = ALONE.lock().expect("no other measurement has failed");
    const NODES: usize = 5_000;
    const PODS: usize = 150_000;
    let region = Region::new(HEAP);
    let mut engine = crowd::engine(NODES, PODS / NODES, 300);
    let quiet = live(&region) / PODS as f64;
    assert_eq!(engine.census().pods, PODS);
    for node in 0..NODES / 2 {
        engine.handle(Input::Node { fact: crowd::node(node, 2, &[KEY]), listed: false }, now());
    }
    engine.notices();
    assert_eq!(engine.census().counting, PODS / 2);
    let counting = live(&region) / PODS as f64;
    println!("{quiet:.1} bytes a pod; with half of them counting down {counting:.1}");
    assert!(quiet <= 160.0 && counting <= 160.0, "{quiet:.1} {counting:.1}");
    drop(engine);
    assert!(live(&region) < 1_000.0, "all of it is given back");
}

/// 50,000 tolerations and 5,000 taints cost what a few dozen passes over their texts cost.
#[test]
fn a_hostile_pod_on_a_hostile_node_is_cheap() {
    let _alone = ALONE.lock().expect("no other measurement has failed");
    let (pod, node) = crowd::hostile(50_000, 5_000);
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
        engine.handle(Input::Pod { fact: pod.clone(), listed: false }, now());
        let fact = node.clone();
        let taken = time(|| engine.handle(Input::Node { fact, listed: false }, now()));
        assert_eq!(engine.census().due, 1);
        taken
    });
    println!("{taken:?}; floor {floor:?}");
    assert!(taken < floor * 40, "{taken:?}, floor {floor:?}");
    assert!(!RELEASE || taken <= Duration::from_millis(5), "{taken:?}");
}

/// One taint on one node of 110 pods, between a small and a large cluster.
#[test]
fn an_event_costs_the_same_however_many_other_nodes_there_are() {
    let _alone = ALONE.lock().expect("no other measurement has failed");
    let cost = |nodes: usize| {
        let mut engine = crowd::engine(nodes, 10, 300);
        for at in 0..110 {
            let fact = crowd::pod(10_000_000 + at, crowd::node_name(7), Vec::new());
            engine.handle(Input::Pod { fact, listed: false }, now());
        }
        let mut version = 2;
        shortest(200, || {
            version += 2;
            let taint = crowd::node(7, version, &[KEY]);
            let untaint = crowd::node(7, version + 1, &[]);
            let taken = time(|| engine.handle(Input::Node { fact: taint, listed: false }, now()));
            assert_eq!(engine.census().due, 110);
            engine.handle(Input::Node { fact: untaint, listed: false }, now());
            engine.notices();
            taken
        })
    };
    let (few, many) = (cost(100), cost(50_000));
    println!("{few:?} beside 100 nodes, {many:?} beside 50,000");
    assert!(many < few * 3, "{few:?} {many:?}");
}

/// What node health remembers of a node's lease: up to 40 bytes in the node's own place (the type asserts it), and next to
/// nothing besides; and what it remembers of all there is.
#[test]
fn at_most_64_bytes_for_each_lease() {
    let _alone = ALONE.lock().expect("no other measurement has failed");
    const NODES: usize = 10_000;
    let region = Region::new(HEAP);
    let mut engine = leases::engine(NODES);
    let nodes = live(&region) / NODES as f64;
    leases::renew(&mut engine, NODES, 1);
    let with = live(&region) / NODES as f64;
    for round in 2..20 {
        leases::renew(&mut engine, NODES, round);
    }
    let renewed = live(&region) / NODES as f64;
    println!("{nodes:.1} bytes a node; with its lease {with:.1}; after many renewals {renewed:.1}");
    assert!(with - nodes <= 24.0 && renewed - nodes <= 24.0, "{nodes:.1} {with:.1} {renewed:.1}");
    assert!(renewed <= 640.0, "all of it: {renewed:.1}");
    drop(engine);
    assert!(live(&region) < 1_000.0, "all of it is given back");
}

/// A renewal costs the same however many nodes there are, but for the depth of a tree.
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
    println!("100 renewals: {few:?} beside 100 nodes, {many:?} beside 20,000");
    assert!(many < few * 4, "{few:?} {many:?}");
}
