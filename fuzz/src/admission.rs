//! Fuzzes the path from an AdmissionReview to its response: no panic, no hang, valid JSON with the review's uid.
//!
//! - Run with libFuzzer (`cargo xtask fuzz admission`), or on files
//!   (`cargo run --manifest-path fuzz/Cargo.toml --bin admission -- FILE...`).
//! - Each input is sent to a reviewer with every kind of result, and to all rules in a small cluster.

#![cfg_attr(feature = "libfuzzer", no_main)]

#[allow(dead_code, reason = "the target needs only a part of the cluster of the tests")]
#[path = "../../crates/admission/tests/webhook/rules/reviews.rs"]
mod reviews;

use std::sync::OnceLock;
use taintward_admission::review::Outcome;
use taintward_admission::review::{ReviewPhase, fuzz_entry, judge};
use taintward_admission::rules::RuleReviewer;

/// A panicking rule admits the object; here it is detected.
fn review_rules(bytes: &[u8]) -> usize {
    static RULES: OnceLock<RuleReviewer> = OnceLock::new();
    let rules = RULES.get_or_init(reviews::rules);
    let mut patches = 0;
    for phase in [ReviewPhase::Mutate, ReviewPhase::Validate] {
        let Ok(judged) = judge(phase, bytes, rules) else { continue };
        assert!(judged.outcome != Outcome::Panicked, "no rule panics");
        let body: serde_json::Value = serde_json::from_slice(&judged.body).expect("an answer is JSON");
        patches += usize::from(body["response"]["patch"].is_string());
    }
    patches
}

#[cfg(feature = "libfuzzer")]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz_entry(bytes);
    review_rules(bytes);
});

#[cfg(not(feature = "libfuzzer"))]
fn main() -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        let bytes = std::fs::read(&path)?;
        println!("{}: {} patches, {} by the rules", path.display(), fuzz_entry(&bytes), review_rules(&bytes));
    }
    Ok(())
}
