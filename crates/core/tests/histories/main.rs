//! Tests the eviction engine with random histories, consistent or not, that end fairly.
//!
//! - Prints the seed and the history of a failure; `HISTORIES` sets their number.
//! - See `properties/` for clusters that are consistent throughout.

mod fair;
mod history;

use history::History;

/// How many histories each change is tried with, unless the environment asks for another number.
const HISTORIES: u64 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };

/// How many are tried at night.
const ALL_HISTORIES: u64 = 80_000;

fn run(histories: u64) {
    for seed in 1..=histories {
        // With what is lies only, and with the end of objects that are told of again.
        for lies in [false, true] {
            let mut history = History::new(seed, lies);
            let fails = |what: String, history: &History| {
                panic!("seed {seed}, lies: {lies}: {what}\n{}", history.log.join("\n"));
            };
            for _ in 0..20 + seed % 150 {
                history.step();
                if let Err(what) = history.check() {
                    fails(what, &history);
                }
            }
            if let Err(what) = fair::end(&mut history) {
                fails(what, &history);
            }
        }
    }
}

#[test]
fn whatever_was_told_in_the_end_those_are_gone_who_must_and_nobody_else() {
    let wanted = std::env::var("HISTORIES").ok().map(|text| text.parse().expect("HISTORIES is a number"));
    run(wanted.unwrap_or(HISTORIES));
}

#[test]
#[ignore = "minutes: cargo xtask nightly"]
fn eighty_thousand_random_histories_end_well() {
    run(ALL_HISTORIES);
}
