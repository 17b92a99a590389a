//! # Simulation: random worlds, random faults, a controller that crashes, in virtual time
//! Room:     many seeds; for each a world is played and judged by the server's commit log.
//! Comes in: `TAINTWARD_SEEDS` (how many, default 100; CI takes 1000), `TAINTWARD_SEED` (this one alone, with its story).
//! Goes out: a failing seed, and the command that replays it identically.
//! Not here: the judges (`judge.rs`), what happens in a world (`play.rs`).
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a failing seed is told to people")]

mod judge;
mod play;

use play::{Outcome, Twist, play};
use std::env;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

fn seeds() -> Vec<u64> {
    match number("TAINTWARD_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("TAINTWARD_SEEDS").unwrap_or(100)).collect(),
    }
}

fn told(seed: u64, outcome: &Outcome) -> String {
    format!(
        "seed {seed}: {}\nreplay it: TAINTWARD_SEED={seed} cargo test -p taintward-sandbox --test simulation -- --nocapture\n{}",
        outcome.faults.join("\n"),
        outcome.story.join("\n")
    )
}

#[test]
fn every_seed_keeps_the_promise() {
    let (mut deletions, mut crashes, mut broken) = (0, 0, 0);
    for seed in seeds() {
        let outcome = play(seed, Twist::None);
        assert!(outcome.faults.is_empty(), "{}", told(seed, &outcome));
        deletions += outcome.deletions;
        crashes += outcome.crashes;
        broken += outcome.broken;
        if number("TAINTWARD_SEED").is_some() {
            println!("{}", told(seed, &outcome));
        }
    }
    println!("{deletions} evictions, {crashes} crashes, {broken} broken requests");
    assert!(deletions > 0 && broken > 0, "nothing happened: the simulation proves nothing");
}

#[test]
fn the_same_seed_is_the_same_story() {
    for seed in [3, 4] {
        let (one, other) = (play(seed, Twist::None), play(seed, Twist::None));
        assert_eq!(one.story, other.story, "seed {seed}");
        assert!(!one.story.is_empty());
    }
}

/// A judge that finds nothing in a world in which somebody evicts whom they like is no judge.
#[test]
fn the_judges_find_what_is_wrong() {
    for twist in [Twist::EarlyEvictions, Twist::NoEvictions] {
        let found = (0..20).any(|seed| !play(seed, twist).faults.is_empty());
        assert!(found, "{twist:?} was not found in 20 seeds");
    }
}
