//! Checks that the tests and documents which prove the remaining items still exist.
//!
//! - `.ci/run` runs them, except those marked "by hand".

use super::ground::{Found, Shown, demand};
use super::items::RECORD;
use std::fs;
use std::path::{Path, PathBuf};

/// The date of the last manual run of checks that take too long for every change.
const LAST: &str = "2026-11-23";

/// A file of the checkout.
pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

pub(crate) fn text(name: &str) -> Result<String, String> {
    fs::read_to_string(file(name)).map_err(|why| format!("{name}: {why}"))
}

/// Checks that a file contains these words: a test's name, a check.
pub(crate) fn stands(name: &str, words: &str) -> Result<(), String> {
    demand(text(name)?.contains(words), format!("{name} has no `{words}` any more"))
}

fn gate(proofs: &[(&str, &str)], result: &str) -> Found {
    proofs.iter().try_for_each(|(name, words)| stands(name, words))?;
    Ok(Shown::as_it_is(format!("in the gate: {result}")))
}

fn by_hand(proofs: &[(&str, &str)], result: &str) -> Found {
    proofs.iter().try_for_each(|(name, words)| stands(name, words))?;
    Ok(Shown::as_it_is(format!("by hand, last on {LAST}: {result}")))
}

fn not_done(why: &str) -> Found {
    Ok(Shown::as_it_is(format!("not done: {why}")))
}

/// The controllers' permissions and writes are checked at the end of each of their scenarios.
pub(crate) fn record_of_the_controllers() -> Result<String, String> {
    stands("crates/cli/tests/real/witness.rs", "terms.forbidden || entry.code != 403")?;
    stands("crates/cli/tests/real/stage.rs", "let deletions = self.witness.deletions()")?;
    Ok(format!(
        "of the controllers the same, and that their metrics count as many deletions, is in the gate (`{RECORD}`)"
    ))
}

pub(crate) fn of(number: usize) -> Found {
    match number {
        21 => gate(
            &[("crates/core/tests/budgets.rs", "fn a_hostile_pod_on_a_hostile_node_is_cheap")],
            "no more than forty passes over their texts, with keys and without; optimised, within 5 ms",
        ),
        22 => gate(
            &[
                ("crates/core/src/taint_start.rs", "fn d1_sources_in_order_and_clamped"),
                ("crates/cli/tests/real/who.rs", "fn seconds_count_from_the_taint_and_saturate"),
            ],
            "years 1 and 9999 are clamped between the node's creation and the present; seconds saturate, also on a real API \
             server (`real_server -- seconds_count`)",
        ),
        23 => gate(
            &[
                ("crates/core/tests/node_lifecycle/silent_on_purpose.rs", "fn "),
                ("crates/core/tests/node_lifecycle/judge.rs", "fn assert_rate"),
            ],
            "whatever its kubelets do, a zone has no more nodes tainted than its rate allows, none of another zone, and those \
             of others that are dead in time",
        ),
        24 => gate(
            &[(
                "crates/cli/tests/metrics_delegated.rs",
                "fn metrics_are_for_tokens_that_the_api_server_authorizes",
            )],
            "`taintward run --metrics-authentication=delegated` answers 401 without a token and 403 without the right, on a real API \
             server; without it loopback only, unless told otherwise. The webhook does not know the flag (docs/metrics.md says \
             why): its numbers are on a port of their own, installed behind a NetworkPolicy",
        ),
        28 => gate(
            &[(
                "crates/controller/src/event_recorder.rs",
                "fn a_storm_is_aggregated_into_one_event_per_node",
            )],
            "150,000 stories become one event for each node and a bounded number before, and no count is lost",
        ),
        31 => gate(
            &[
                (".ci/run", "cargo deny --locked --offline check"),
                ("deny.toml", "unknown-registry = \"deny\""),
            ],
            "`cargo deny` checks licences, bans, sources; advisories where a copy of their database is at hand (SECURITY.md \
             says of which day it last was)",
        ),
        32 => not_done(
            "versions are locked and sources known, but nobody has read them all, nor are others' audits imported",
        ),
        34 => by_hand(
            &[("xtask/src/release.rs", "ensure!(again == program")],
            "built a second time, offline and in another folder, every byte is the same",
        ),
        35 => by_hand(
            &[
                ("xtask/src/release.rs", "does not list what it is made of"),
                ("deploy/Containerfile", "cargo auditable build"),
            ],
            "a program with the list that `cargo audit bin` reads, and a bill of materials (CycloneDX) beside it",
        ),
        36 => not_done(
            "that needs an identity of the place that builds; there is none yet, and nothing is signed",
        ),
        40 => gate(
            &[("crates/cli/tests/real/flags.rs", "fn observe_writes_nothing")],
            "with the right to read and no other, nothing but reads is in the API server's record, not even a lease",
        ),
        other => Err(format!("nobody knows how to check item {other}")),
    }
}
