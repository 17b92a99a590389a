//! # Histories: random inputs, true or not, and then a fair end
//! Room:     facts in any order, stale versions, replaced nodes and pods, lists with holes, late and false answers; then
//!           facts that stand still and requests that succeed.
//! Comes in: seeds; `HISTORIES` asks for more of them.
//! Goes out: the seed and the whole history where something does not hold.
//! Not here: a cluster that is true throughout (`properties/`).
//!
//! All that was tried once: `HISTORIES=80000 cargo test --release -p taintward-core --test histories`.

mod fair;
mod history;

use history::History;

/// How many histories are tried, unless the environment asks for another number.
const HISTORIES: u64 = if cfg!(debug_assertions) { 1_000 } else { 10_000 };

#[test]
fn whatever_was_told_in_the_end_those_are_gone_who_must_and_nobody_else() {
    let wanted = std::env::var("HISTORIES").ok().map(|text| text.parse().expect("HISTORIES is a number"));
    for seed in 1..=wanted.unwrap_or(HISTORIES) {
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
