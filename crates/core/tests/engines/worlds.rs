//! Runs many random worlds by their numbers: the eviction engine with a model of the API server and of watches, without HTTP.
//!
//! - A world follows from its number alone. `WORLDS` sets how many run; `WORLD` runs one, and prints its commands.

use crate::common::storm::{Storm, WINDOW};
use crate::properties::commands::{EvictionCommand, perform, stormy};
use crate::properties::ends_well;
use proptest::collection;
use proptest::prelude::any;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;
use taintward_core::eviction::EvictionConfig;

/// The worlds of each run of the tests.
const WORLDS: u64 = 2_000;

/// What happens in a world, and how its requests go.
type World = (Vec<EvictionCommand>, Vec<u8>);

fn world(number: u64, worlds: &impl Strategy<Value = World>) -> World {
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    worlds.new_tree(&mut runner).expect("no world is filtered").current()
}

/// Panics if a pod leaves early or wrongly, or stays that must leave.
fn run((commands, tape): World) {
    let mut storm = Storm::lean(EvictionConfig::default(), WINDOW);
    storm.tape = tape.into();
    for command in commands {
        perform(&mut storm, command);
    }
    ends_well(&mut storm);
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().and_then(|text| text.parse().ok())
}

#[test]
fn in_no_world_a_pod_leaves_early_and_in_the_end_all_due_pods_are_gone() {
    let worlds = || (stormy(), collection::vec(any::<u8>(), 0..120));
    if let Some(one) = number("WORLD") {
        let world = world(one, &worlds());
        println!("{world:#?}");
        return run(world);
    }
    let (next, most) = (AtomicU64::new(0), number("WORLDS").unwrap_or(WORLDS));
    let began = Instant::now();
    let run_some = || {
        let worlds = worlds();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= most {
                return;
            }
            let world = world(number, &worlds);
            let ended = catch_unwind(AssertUnwindSafe(|| run(world)));
            assert!(ended.is_ok(), "WORLD={number} repeats it");
        }
    };
    let threads = thread::available_parallelism().map_or(1, Into::into);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(run_some))));
    let seconds = began.elapsed().as_secs_f64();
    println!("{most} worlds in {seconds:.1} s, {:.0} a second", most as f64 / seconds);
}
