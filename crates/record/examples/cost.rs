//! Measures what a record, and the check of each request, cost an engine with 100,000 pods: the processor time of an event
//! beside the engine's own, and the copy of its state when a segment begins.
//!
//! `cargo run --release -p taintward-record --features testkit --example cost`

use std::time::{Duration, Instant};
use taintward_core::engine::Lane;
use taintward_core::engine_monitor::EngineMonitor as _;
use taintward_core::eviction::{EvictionEffect, EvictionEngine, EvictionInput, EvictionNotice};
use taintward_core::eviction_monitor::EvictionMonitor;
use taintward_core::testkit::node;
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_core::toleration_matching::NumericOperators;
use taintward_record::testkit::{TappedLoop, random_pod};
use taintward_record::{CallTap, EngineRecorder, Frame, FrameSink, RingLimits, SegmentLimits};

const PODS: u64 = 100_000;
/// Those of `random_pod`.
const NODES: u64 = 500;
const EVENTS: u64 = 50_000;
/// Each round measures every kind once, so that a busy machine slows all of them.
const ROUNDS: usize = 5;

/// Drops what it gets, at once.
struct Nothing;

impl FrameSink for Nothing {
    fn send(&self, _: Frame, _: Now) -> bool {
        true
    }
}

/// Checks each request, as the controller does.
struct CheckTap(EvictionMonitor);

impl CallTap<EvictionEngine> for CheckTap {
    fn turn(&mut self, _: &EvictionEngine, _: Now) {}
    fn handle(&mut self, input: &EvictionInput, now: Now) {
        self.0.input(input, now);
    }
    fn tick(&mut self, _: Now) {}
    fn pull(&mut self, _: Lane, effect: Option<&EvictionEffect>, now: Now) {
        assert!(effect.is_none_or(|effect| self.0.effect(effect, now).is_ok()));
    }
    fn notices(&mut self, _: &[EvictionNotice], _: Now) {}
    fn flush(&mut self, _: Now) {}
}

/// A thousand events a second.
fn at(event: u64) -> Now {
    let micros = i64::try_from(event * 1_000).unwrap_or(i64::MAX);
    Now::exact(Mono::from_micros(micros), Wall::from_micros(1_800_000_000_000_000 + micros))
}

/// How long the begin of a segment and so many events take.
fn measure(mut tapped: TappedLoop) -> (Duration, Duration) {
    let nodes = (0..NODES).map(|number| node(&format!("node-{number:04}.eu-central-1.compute.internal")));
    tapped.list(nodes, (0..PODS).map(random_pod), at(0));
    let begun = Instant::now();
    tapped.turn(at(0));
    let state = begun.elapsed();
    let begun = Instant::now();
    for event in 1..=EVENTS {
        tapped.apply_pod(random_pod(event % PODS).at_version(2_000_000 + event), at(event));
        tapped.turn(at(event));
    }
    (state, begun.elapsed())
}

fn best(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.first().copied().unwrap_or_default()
}

fn main() -> std::io::Result<()> {
    let [mut without, mut checked, mut encoded, mut kept, mut states] = [const { Vec::new() }; 5];
    let limits = SegmentLimits { age: Span::from_secs(1_000_000), bytes: usize::MAX };
    let mut bytes = 0;
    for _ in 0..ROUNDS {
        without.push(measure(TappedLoop::untapped()).1);
        let monitor = EvictionMonitor::of_new_engine(NumericOperators::Off);
        checked.push(measure(TappedLoop::with_tap(Box::new(CheckTap(monitor)))).1);
        let (state, events) = measure(TappedLoop::new(Nothing, limits));
        states.push(state);
        encoded.push(events);
        let recorder = EngineRecorder::in_memory("0.1.0", RingLimits::default());
        kept.push(measure(TappedLoop::new(recorder.clone(), limits)).1);
        bytes = recorder.to_bytes().len();
    }
    let micros = |times| best(times).as_secs_f64() * 1e6 / EVENTS as f64;
    let [without, checked, encoded, kept] = [without, checked, encoded, kept].map(micros);
    println!(
        "{PODS} pods, {EVENTS} events of known pods, each with a turn of the loop; the best of {ROUNDS} rounds"
    );
    println!("the engine alone:                {without:>8.2} us an event");
    println!("with the check:                  {checked:>8.2} us an event");
    println!("with a tap:                      {encoded:>8.2} us an event");
    println!("with a tap, packed and kept:     {kept:>8.2} us an event");
    println!("the check's share at 1,000 events/s:  {:.2} % of a core", (checked - without) / 10.0);
    println!("the record's share at 1,000 events/s: {:.2} % of a core", (kept - without) / 10.0);
    println!(
        "the copy of the state:           {:>8.1} ms a segment (every ten minutes)",
        best(states).as_secs_f64() * 1e3
    );
    println!("the record in memory:            {:>8.1} MB", bytes as f64 / 1e6);
    Ok(())
}
