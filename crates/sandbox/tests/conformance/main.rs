//! What an API server answers: the same cases are asked of a real one and of the sandbox, and must be answered the same.
//!
//! Run some: `cargo test -p taintward-sandbox --test conformance -- watch::`. With `TAINTWARD_CONFORMANCE_RECORDS`
//! naming a folder, what was compared is written there, one file for each case and target.
#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod play;
mod record;
mod runner;
mod target;
mod watching;
mod wire;

mod applying;
mod coming;
mod creating;
mod deleting;
mod discovery;
mod events;
mod evicting;
mod listing;
mod namespaces;
mod patching;
mod reading;
mod scaling;
mod tainting;
mod tolerating;
mod updating;
mod verbs;
mod watches;

use runner::{Group, run};
use std::process::ExitCode;
use target::Target;

/// The sandbox's server, once there is one: the server alone, without nodes, scheduler or workload controllers, with the
/// admission plugins of `crates/cluster`'s real server, and a history that begins after version 1.
fn sandbox() -> Option<Target> {
    None
}

/// What the sandbox is known to answer otherwise, and why that stays.
const KNOWN: [(&str, &str); 0] = [];

fn main() -> ExitCode {
    let groups: [Group; 17] = [
        ("creating", creating::CASES),
        ("reading", reading::CASES),
        ("listing", listing::CASES),
        ("updating", updating::CASES),
        ("patching", patching::CASES),
        ("applying", applying::CASES),
        ("deleting", deleting::CASES),
        ("watches", watches::CASES),
        ("coming", coming::CASES),
        ("evicting", evicting::CASES),
        ("scaling", scaling::CASES),
        ("namespaces", namespaces::CASES),
        ("tolerating", tolerating::CASES),
        ("tainting", tainting::CASES),
        ("events", events::CASES),
        ("discovery", discovery::CASES),
        ("verbs", verbs::CASES),
    ];
    run(&groups, &KNOWN)
}

/// Cases by name.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub(crate) const CASES: &[super::runner::Case] = &[$((stringify!($name), $name)),+];
    };
}
use cases;
