//! # Histories: random inputs, true or not, and then a fair end
//! Room:     facts in any order, stale versions, replaced nodes and pods, lists with holes, late and false answers; then
//!           facts that stand still and requests that succeed.
//! Comes in: seeds; `HISTORIES` asks for more of them.
//! Goes out: the seed and the whole history where something does not hold.
//! Not here: a cluster that is true throughout (`properties/`).

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
