//! Tests the eviction engine with random histories, consistent or not, that end fairly.
//!
//! - Prints the seed and the history of a failure; `HISTORIES` sets their number.
//! - See `rejected.rs` for rejections that end, `properties/` for clusters that are consistent throughout.

mod fair;
mod history;
mod rejected;

use history::RequestHistory;

/// The default number of histories.
const HISTORIES: u64 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };

/// The number of histories in the nightly run.
const ALL_HISTORIES: u64 = 80_000;

fn run(histories: u64) {
    for seed in 1..=histories {
        // Without and with false deletions, of objects that appear again.
        for lies in [false, true] {
            let mut history = RequestHistory::new(seed, lies);
            let fails = |what: String, history: &RequestHistory| {
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
fn after_any_history_exactly_the_pods_that_must_be_evicted_are_gone() {
    let wanted = std::env::var("HISTORIES").ok().map(|text| text.parse().expect("HISTORIES is a number"));
    run(wanted.unwrap_or(HISTORIES));
}

#[test]
#[ignore = "minutes: cargo xtask nightly"]
fn eighty_thousand_random_histories_end_well() {
    run(ALL_HISTORIES);
}
