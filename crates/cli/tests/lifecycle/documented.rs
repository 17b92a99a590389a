//! Lists the documented differences: one row per row of the table D12 in docs/differences.md.

use super::compare::{DifferenceKind, LifecycleDifference};
use super::false_silence::READS_LIVE;
use std::collections::BTreeMap;

/// Where a row of D12 appears.
enum Shows {
    /// In these steps; in any step if there are none.
    In(&'static [&'static str], DifferenceKind),
    /// The same, with kube-controller-manager before this minor version.
    Before(u32, &'static [&'static str], DifferenceKind),
    /// The same, but not in every run.
    Perhaps(&'static [&'static str], DifferenceKind, &'static str),
    /// Not in this script.
    Elsewhere(&'static str),
}

use Shows::{Before, Elsewhere, In, Perhaps};

const ANYWHERE: &[&str] = &[];

/// A row of D12 may appear in several ways.
const ROWS: &[(&str, &[Shows])] = &[
    ("NL-1", &[Elsewhere("both sides name their controller: crates/cli/src/args/controllers.rs")]),
    ("NL-2", &[Elsewhere("flags: health/flags.rs")]),
    (
        "NL-5, AD-6",
        &[Elsewhere("nodes of the script speak at the same time: crates/core/tests/engines/node_lifecycle")],
    ),
    (
        "NL-7",
        &[In(
            &["a taint is refused by the server for a while", "the node says it once more"],
            DifferenceKind::Elsewhere,
        )],
    ),
    (
        "NL-10",
        &[Before(
            READS_LIVE,
            &["a node's clock steps back by an hour", "and is right again"],
            DifferenceKind::Elsewhere,
        )],
    ),
    ("NL-13, NL-46", &[Elsewhere("speed: `cargo xtask bench lifecycle`")]),
    (
        "NL-16",
        &[In(
            &["its condition is Unknown while it renews its lease", "it says it is ready after all"],
            DifferenceKind::Elsewhere,
        )],
    ),
    ("NL-17", &[Elsewhere("pods: crates/core/tests/engines/node_lifecycle")]),
    ("NL-18", &[Elsewhere("pods: crates/core/tests/engines/node_lifecycle")]),
    ("NL-19", &[Elsewhere("events: told.rs, crates/controller/src/node_lifecycle/reporting.rs")]),
    ("NL-20, NL-45", &[In(ANYWHERE, DifferenceKind::InSteps)]),
    ("NL-21", &[Elsewhere("countdowns of pods: crates/core/tests/engines/eviction")]),
    (
        "NL-22",
        &[Elsewhere(
            "the first second after a start, when no node is silent yet: crates/core/tests/engines/node_lifecycle",
        )],
    ),
    (
        "NL-27",
        &[
            In(&["one node comes back"], DifferenceKind::Sooner),
            Perhaps(
                &["one node comes back"],
                DifferenceKind::PutOnAgain,
                "a node that kept its taint by NL-47 is tainted again",
            ),
        ],
    ),
    ("NL-29", &[Elsewhere("what two histograms measure: told.rs")]),
    (
        "NL-40",
        &[In(&["the controller is killed and started while nodes are dead"], DifferenceKind::Elsewhere)],
    ),
    ("NL-41", &[Elsewhere("needs a rate of exactly 1: crates/core/tests/engines/node_lifecycle")]),
    (
        "NL-42",
        &[Perhaps(
            &["a node dies in a zone whose nodes are all excluded from disruption"],
            DifferenceKind::PutOnAgain,
            "the order of a map decides whether the zone is dropped (NL-43)",
        )],
    ),
    (
        "NL-43",
        &[In(
            &["a dead node and a live one move to another zone, another dead one is deleted"],
            DifferenceKind::PutOnAgain,
        )],
    ),
    (
        "NL-47",
        &[Perhaps(
            &["everything dies", "one node comes back", "all come back"],
            DifferenceKind::Elsewhere,
            "a race between the two loops of kube-controller-manager",
        )],
    ),
    ("NL-48", &[Elsewhere("countdowns of pods: crates/core/tests/engines/node_lifecycle")]),
    ("NL-49", &[In(ANYWHERE, DifferenceKind::LiftedInSteps)]),
    (
        "S7",
        &[Perhaps(
            &["the controller stands still for longer than the grace period, and all nodes live"],
            DifferenceKind::Elsewhere,
            "whether kube-controller-manager reads before it judges is a race",
        )],
    ),
    ("S8", &[Elsewhere("a concurrent edit is a conflict to both: storm.rs")]),
];

impl Shows {
    fn must_show(&self, minor: u32) -> bool {
        matches!(self, In(..)) || matches!(self, Before(end, ..) if minor < *end)
    }

    fn explains(&self, difference: &LifecycleDifference) -> bool {
        let (steps, kind) = match self {
            In(steps, kind) | Before(_, steps, kind) | Perhaps(steps, kind, _) => (steps, kind),
            Elsewhere(_) => return false,
        };
        *kind == difference.kind && (steps.is_empty() || steps.contains(&difference.step.as_str()))
    }
}

/// The ids of D12 as the document lists them.
fn ids() -> Vec<String> {
    let text = include_str!("../../../../docs/differences.md");
    let section = text.split("\n## D12\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| NL-") || line.starts_with("| S"));
    rows.map(|row| row.split('|').nth(1).unwrap().trim().to_owned()).collect()
}

/// Prints the table. Returns the violations.
pub(crate) fn judge(differences: &[LifecycleDifference], minor: u32) -> Vec<String> {
    let mut wrong = Vec::new();
    let known: Vec<&str> = ROWS.iter().map(|(id, _)| *id).collect();
    if ids() != known {
        wrong.push(format!("docs/differences.md lists {:?} under D12, this test knows {known:?}", ids()));
    }
    let mut shown: BTreeMap<&str, Vec<&LifecycleDifference>> = BTreeMap::new();
    for difference in differences {
        match ROWS.iter().find(|(_, shows)| shows.iter().any(|shows| shows.explains(difference))) {
            Some((id, _)) => shown.entry(id).or_default().push(difference),
            None => wrong.push(format!("not documented: {}", difference.send())),
        }
    }
    println!("\nD12, shown by one script played to both:");
    for (id, shows) in ROWS {
        let times = shown.get(id).map_or(0, Vec::len);
        println!(
            "  {id:13} {times:3} times{}",
            shows.iter().map(|shows| note(shows, times)).collect::<String>()
        );
        if let Some(first) = shown.get(id).and_then(|all| all.first()) {
            println!("    {}", first.send());
        }
        if times == 0 && shows.iter().any(|shows| shows.must_show(minor)) {
            wrong.push(format!("{id} is documented and did not show"));
        }
    }
    wrong
}

fn note(shows: &Shows, times: usize) -> String {
    match shows {
        Perhaps(_, _, why) if times == 0 => format!("; not triggered: {why}"),
        Elsewhere(where_) => format!("; not here: {where_}"),
        _ => String::new(),
    }
}
