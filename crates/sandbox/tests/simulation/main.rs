//! Tests the controller with random clusters, faults and crashes, in virtual time.
//!
//! - `TAINTWARD_SEEDS` sets the number of seeds, `TAINTWARD_FIRST` the first one, `TAINTWARD_SEED` a single one with
//!   its history.
//! - A failure prints the command that replays its seed.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the test prints a failing seed")]

mod controller_settings;
mod delay_checker;
mod delays;
mod eviction_checker;
mod harness;
mod log;
mod mutation;
mod node_checker;
mod nodes;
mod request_audit;
mod script;
mod watch_faults;

use harness::{SimulationOutcome, simulate};
use mutation::ControllerMutation;
use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// The largest number of failing seeds that are reported.
const REPORTED: usize = 5;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

/// Runs seeds from `first` on, on all cores, until one returns `true` or all have run.
fn seeds(
    first: u64,
    most: u64,
    mutation: ControllerMutation,
    each: impl Fn(u64, SimulationOutcome) -> bool + Sync,
) {
    let (next, over) = (AtomicU64::new(first), AtomicBool::new(false));
    let cores = thread::available_parallelism().map_or(1, Into::into);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + most {
                        break;
                    }
                    if each(seed, simulate(seed, mutation)) {
                        over.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
}

fn reported(seed: u64, outcome: &SimulationOutcome, with_story: bool) -> String {
    format!(
        "seed {seed}: {}\nreplay it: TAINTWARD_SEED={seed} cargo test -p taintward-sandbox --test simulation every_seed -- --nocapture\n{}",
        outcome.faults.join("\n  "),
        if with_story { outcome.story.join("\n") } else { String::new() },
    )
}

#[test]
fn every_seed_keeps_the_promise() {
    let alone = number("TAINTWARD_SEED");
    let most = if env::var("CI").as_deref() == Ok("true") { 1000 } else { 100 };
    let (first, most) = match alone {
        Some(seed) => (seed, 1),
        None => (number("TAINTWARD_FIRST").unwrap_or(0), number("TAINTWARD_SEEDS").unwrap_or(most)),
    };
    let (found, counts) = (Mutex::new(Vec::new()), Mutex::new([0; 6]));
    seeds(first, most, ControllerMutation::None, |seed, outcome| {
        let seen = [1, outcome.deletions, outcome.crashes, outcome.slumbers, outcome.broken, outcome.tainted];
        counts.lock().unwrap().iter_mut().zip(seen).for_each(|(count, seen)| *count += seen);
        if alone.is_some() {
            println!("{}\nthe log: {:016x}", reported(seed, &outcome, true), outcome.log);
        }
        let mut found = found.lock().unwrap();
        if !outcome.faults.is_empty() {
            let with_story = found.is_empty() && alone.is_none();
            found.push(reported(seed, &outcome, with_story));
        }
        found.len() >= REPORTED
    });
    let [worlds, deletions, crashes, slumbers, broken, tainted] = counts.into_inner().unwrap();
    println!(
        "{worlds} worlds: {deletions} evictions, {tainted} nodes tainted, {crashes} crashes, {slumbers} pauses, {broken} broken requests"
    );
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(
        alone.is_some() || worlds == most && deletions > 0 && broken > 0 && tainted > 0,
        "nothing happened: the simulation proves nothing"
    );
}

#[test]
fn the_same_seed_is_the_same_story_and_the_same_log() {
    seeds(0, 12, ControllerMutation::None, |seed, one| {
        let other = simulate(seed, ControllerMutation::None);
        assert_eq!(one.story, other.story, "seed {seed}");
        assert_eq!(one.log, other.log, "seed {seed}: the commit log differs");
        assert!(!one.story.is_empty());
        false
    });
}

/// The confirming read compensates for a late watch (D5, S2): with it, no pod is evicted wrongly, however late the
/// watch is.
#[test]
fn a_late_watch_evicts_no_pod_wrongly() {
    seeds(0, 30, ControllerMutation::LateNodes, |seed, outcome| {
        let wrong: Vec<_> = outcome.faults.iter().filter(|fault| fault.starts_with('S')).collect();
        assert!(wrong.is_empty(), "seed {seed}: {wrong:?}");
        false
    });
}

/// Asserts that in a world which is worse than others, but with all safeguards, nothing goes wrong.
fn all_is_well(mutation: ControllerMutation) {
    seeds(0, 20, mutation, |seed, outcome| {
        assert!(outcome.faults.is_empty(), "{mutation:?}, {}", reported(seed, &outcome, true));
        false
    });
}

/// The preconditions compensate for names that are reused while a DELETE is in flight (D4, S1).
#[test]
fn a_successor_is_never_taken_for_its_predecessor() {
    all_is_well(ControllerMutation::Successors);
}

/// Relists compensate for lost events (L4).
#[test]
fn a_lost_event_is_found() {
    all_is_well(ControllerMutation::LostEvents);
}

/// The `test` operations in its patches compensate for edits between a read and a write of a node (S8).
#[test]
fn no_edit_of_a_node_is_lost() {
    all_is_well(ControllerMutation::Edits);
}

/// The live read compensates for a watch of leases that loses events (S7).
#[test]
fn a_lost_renewal_makes_no_node_dead() {
    all_is_well(ControllerMutation::LostLeases);
}

/// The checks must report a violation when a safeguard of the controller is disabled.
#[test]
fn the_judges_find_what_is_wrong() {
    for (mutation, property, most) in [
        (ControllerMutation::EarlyEvictions, "S2/S3", 20),
        (ControllerMutation::NoDelays, "hold", 50),
        (ControllerMutation::NoDelays, "deadline", 50),
        (ControllerMutation::NoDelays, "rate", 50),
        (ControllerMutation::NoEvictions, "L1", 20),
        // Detected by its effect: a pod is deleted in place of another.
        (ControllerMutation::NoPreconditions, "S2/S3", 20),
        (ControllerMutation::LateDeletions, "S2/S3", 100),
        (ControllerMutation::OldNodes, "S2/S3", 50),
        (ControllerMutation::NoDates, "L3", 50),
        // Live reads find most of the lost events.
        (ControllerMutation::LostForGood, "L1", 400),
        (ControllerMutation::NoLease, "S5", 50),
        (ControllerMutation::NoLease, "S6", 50),
        (ControllerMutation::NoTests, "S8", 20),
        (ControllerMutation::OldLeases, "S7", 20),
        (ControllerMutation::ShortGrace, "S7", 20),
        (ControllerMutation::FullBuckets, "S6", 20),
        (ControllerMutation::NoNodeHealth, "L7", 20),
    ] {
        let found = AtomicBool::new(false);
        seeds(0, most, mutation, |_, outcome| {
            let reported = outcome.faults.iter().any(|fault| fault.starts_with(property));
            found.fetch_or(reported, Ordering::Relaxed);
            reported
        });
        assert!(found.into_inner(), "{property} was not found broken by {mutation:?} in {most} seeds");
    }
}
