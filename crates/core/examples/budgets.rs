//! Prints what the engine costs: `cargo run --release -p taintward-core --example budgets`.

#[path = "../tests/common/mod.rs"]
mod common;

use common::crowd::{self, KEY, now};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::time::{Duration, Instant};
use taintward_core::engine::{Engine, Input};

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
    memory(150_000, 5_000);
    memory(1_000_000, 100_000);
    one_node("taint on a node of 110 pods, all go", 0, "20 µs");
    one_node("taint on a node of 110 pods, all count down", 300, "20 µs");
    hostile();
    many_nodes();
}

fn memory(pods: usize, nodes: usize) {
    let region = Region::new(HEAP);
    let (engine, taken) = crowd::loaded(nodes, pods / nodes, 300);
    let change = region.change();
    let bytes = change.bytes_allocated - change.bytes_deallocated;
    let blocks = change.allocations - change.deallocations;
    let each = |number: usize| number as f64 / pods as f64;
    row(&format!("heap for each of {pods} pods on {nodes} nodes"), format!("{:.1} B", each(bytes)), "160 B");
    row("  blocks of it", format!("{:.2}", each(blocks)), "");
    row("  loading them, decoding not included", format!("{taken:.2?}"), "");
    drop(engine);
}

/// The pods that go have no tolerations at all; those that count down have one of fifteen lists.
fn one_node(what: &str, patience: i64, budget: &str) {
    let mut engine = crowd::engine(1_000, if patience > 0 { 110 } else { 0 }, patience);
    if patience == 0 {
        for at in 0..110 {
            let fact = crowd::pod(at, crowd::node_name(7), Vec::new());
            engine.handle(Input::Pod { fact, listed: false }, now());
        }
    }
    let mut times: Vec<Duration> = (0..2_000u64)
        .map(|round| {
            let (taint, untaint) =
                (crowd::node(7, 2 * round + 2, &[KEY]), crowd::node(7, 2 * round + 3, &[]));
            let ((), taken) = time(|| engine.handle(Input::Node { fact: taint, listed: false }, now()));
            engine.handle(Input::Node { fact: untaint, listed: false }, now());
            engine.notices();
            taken
        })
        .collect();
    times.sort();
    row(what, format!("{:.1?}", times[times.len() / 2]), budget);
}

fn hostile() {
    let (pod, node) = crowd::hostile(50_000, 5_000);
    let mut times: Vec<Duration> = (0..9)
        .map(|_| {
            let mut engine = crowd::engine(1, 0, 300);
            engine.handle(Input::Pod { fact: pod.clone(), listed: false }, now());
            let fact = node.clone();
            time(|| engine.handle(Input::Node { fact, listed: false }, now())).1
        })
        .collect();
    times.sort();
    row("50,000 tolerations, 5,000 taints", format!("{:.2?}", times[4]), "5 ms");
}

fn many_nodes() {
    const NODES: usize = 100_000;
    const TAINTED: usize = 10_000;
    let mut engine = crowd::engine(NODES, 10, 0);
    let taint = |engine: &mut Engine| {
        for node in 0..TAINTED {
            engine.handle(
                Input::Node { fact: crowd::node(node, 2, &["example.com/out"]), listed: false },
                now(),
            );
        }
    };
    let ((), taken) = time(|| taint(&mut engine));
    assert_eq!(engine.census().due, TAINTED * 10);
    row("a taint on 10,000 of 100,000 nodes decided (100,000 pods go)", format!("{taken:.2?}"), "1 s");
    let read = |name: &taintward_core::names::NodeName| {
        let mut fact = crowd::node(0, 2, &["example.com/out"]);
        fact.name = name.clone();
        fact
    };
    let (deleted, taken) = time(|| crowd::evict_all(&mut engine, read));
    row(&format!("  effects for {deleted} of them pulled and answered"), format!("{taken:.2?}"), "");
}
