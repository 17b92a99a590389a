//! Checks that the tests and documents which prove the remaining items still exist.
//!
//! - `.ci/run` runs them, except those marked "by hand".

use super::harness::{ItemResult, Shown, demand};
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
    demand(text(name)?.contains(words), format!("{name} no longer contains `{words}`"))
}

fn gate(proofs: &[(&str, &str)], result: &str) -> ItemResult {
    proofs.iter().try_for_each(|(name, words)| stands(name, words))?;
    Ok(Shown::as_it_is(format!("in the gate: {result}")))
}

fn by_hand(proofs: &[(&str, &str)], result: &str) -> ItemResult {
    proofs.iter().try_for_each(|(name, words)| stands(name, words))?;
    Ok(Shown::as_it_is(format!("by hand, last on {LAST}: {result}")))
}

fn not_done(why: &str) -> ItemResult {
    Ok(Shown::as_it_is(format!("not done: {why}")))
}

/// The controllers' permissions and writes are checked at the end of each of their scenarios.
pub(crate) fn record_of_the_controllers() -> Result<String, String> {
    stands("crates/cli/tests/real/witness.rs", "terms.forbidden || entry.code != 403")?;
    stands("crates/cli/tests/real/harness.rs", "let deletions = self.witness.deletions()")?;
    Ok(format!(
        "a test in the gate checks the same for the controllers, and that their metrics count as many deletions (`{RECORD}`)"
    ))
}

pub(crate) fn of(number: usize) -> ItemResult {
    match number {
        21 => gate(
            &[("crates/core/tests/budgets.rs", "fn a_hostile_pod_on_a_hostile_node_is_cheap")],
            "at most forty passes over their texts, with keys and without; at most 5 ms in an optimized build",
        ),
        22 => gate(
            &[
                ("crates/core/src/taint_start.rs", "fn d1_sources_in_order_and_clamped"),
                ("crates/cli/tests/real/matching.rs", "fn seconds_count_from_the_taint_and_saturate"),
            ],
            "years 1 and 9999 are clamped between the node's creation and the present; seconds saturate, also on a real API \
             server (`real_server -- seconds_count`)",
        ),
        23 => gate(
            &[
                ("crates/core/tests/engines/node_lifecycle/silent_on_purpose.rs", "fn "),
                ("crates/core/tests/engines/node_lifecycle/invariants.rs", "fn assert_rate"),
            ],
            "no matter what the kubelets of a zone do, at most as many nodes of that zone are tainted as its rate allows, and \
             no nodes of other zones; dead nodes of other zones are tainted in time",
        ),
        24 => gate(
            &[(
                "crates/cli/tests/cluster/metrics_delegated.rs",
                "fn metrics_are_for_tokens_that_the_api_server_authorizes",
            )],
            "`taintward run --metrics-authentication=delegated` answers 401 without a token and 403 without the permission, on \
             a real API server; without the flag it listens on loopback only, unless another flag changes that. The webhook \
             does not have the flag (docs/metrics.md says why): its metrics have their own port, which an installation \
             protects with a NetworkPolicy",
        ),
        28 => gate(
            &[(
                "crates/controller/src/event_recorder.rs",
                "fn a_storm_is_aggregated_into_one_event_per_node",
            )],
            "150,000 evictions become one event for each node, after a bounded number of single events, and no count is lost",
        ),
        31 => gate(
            &[
                (".ci/run", "cargo deny --locked --offline check"),
                ("deny.toml", "unknown-registry = \"deny\""),
            ],
            "`cargo deny` checks licenses, bans and sources, and advisories if a copy of their database is available \
             (SECURITY.md has the date of the last check)",
        ),
        32 => not_done(
            "versions are locked and sources known, but no reviewer has read all of them, and no audits by other projects are imported",
        ),
        34 => by_hand(
            &[("xtask/src/release.rs", "ensure!(again == program")],
            "a second build, offline and in another folder, produces the same bytes",
        ),
        35 => by_hand(
            &[
                ("xtask/src/release.rs", "has no list of its dependencies"),
                ("deploy/Containerfile", "cargo auditable build"),
            ],
            "the program contains the list that `cargo audit bin` reads, and a bill of materials (CycloneDX) is next to it",
        ),
        36 => not_done(
            "a proof needs an identity of the build service; there is no such identity yet, and nothing is signed",
        ),
        40 => gate(
            &[("crates/cli/tests/real/flags.rs", "fn observe_writes_nothing")],
            "with permission to read and no other, the API server's audit log has only reads, and no write of a lease",
        ),
        other => Err(format!("item {other} has no check")),
    }
}
