//! Writes docs/versions.md from the records of all versions.

use super::probes::{GATES, Probes, RESOURCES};
use super::record::{Record, SuiteResult};
use super::suites::SUITES;
use crate::bench::report::machine;
use crate::sources;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use taintward_envtest::Release;
use taintward_envtest::releases::RELEASES;

/// The text below this line is written by hand; the command keeps it.
const NOTES: &str = "<!-- notes: written by hand, kept by `cargo xtask matrix` -->";

const PAGE: &str = "docs/versions.md";

pub(crate) fn write() -> Result<()> {
    let file = sources::root().join(PAGE);
    let old = fs::read_to_string(&file).unwrap_or_default();
    let notes = old.split_once(NOTES).map_or("\n", |(_, notes)| notes);
    let mut versions = Vec::new();
    for release in &RELEASES {
        versions.push((release, Record::read(release)?));
    }
    fs::write(&file, format!("{}\n{NOTES}{notes}", page(&versions)))?;
    println!("{PAGE} is written");
    Ok(())
}

fn page(versions: &[(&Release, Record)]) -> String {
    let rows: String = versions.iter().map(|(release, record)| row(release, record)).collect();
    let tried: Vec<&(&Release, Record)> =
        versions.iter().filter(|(_, record)| !record.suites.is_empty()).collect();
    format!(
        "# Versions of Kubernetes\n\n\
         Made by `cargo xtask matrix`, which runs every test of Taintward that needs a real control plane. \
         kube-apiserver, kube-controller-manager, kube-scheduler and kubectl of each version are built from its pinned Go \
         modules (`xtask/cluster`); etcd is the same for all versions. {}\n\n\
         | Kubernetes | supported | passed | skipped | time | streamed lists (WatchList) |\n\
         |---|---|---:|---:|---:|---|\n{rows}\n\
         {}{}{}{}",
        machine(),
        list("Failed tests", &tried, |record| test_names(record, |suite| &suite.failed)),
        list("Skipped tests", &tried, skips),
        list("Tests that passed only when they ran again, alone", &tried, |record| {
            test_names(record, |suite| &suite.passed_alone)
        }),
        differences(&tried),
    )
}

fn row(release: &Release, record: &Record) -> String {
    let version = release.version();
    if record.suites.is_empty() {
        return format!("| {version} | not tested with this pin yet | | | | |\n");
    }
    let results = || record.suites.values();
    let passed: usize = results().map(|one| one.passed.len()).sum();
    let failed: usize = results().map(|one| one.failed.len()).sum();
    let skipped: usize = results().map(|one| one.skipped.len()).sum();
    let minutes = results().map(|one| one.seconds).sum::<u64>().div_ceil(60);
    format!(
        "| {version} | {} | {passed} of {} | {skipped} | {minutes} min | {} |\n",
        match failed {
            _ if SUITES.iter().any(|suite| !record.suites.contains_key(suite.name)) => "not all tests ran",
            0 => "yes",
            _ => "except the failed tests below",
        },
        passed + failed,
        if record.probes.watch_list { "yes" } else { "refused: Taintward lists in pages" },
    )
}

/// A section with the lines of all versions; empty if there are none.
fn list(title: &str, tried: &[&(&Release, Record)], say: fn(&Record) -> Vec<String>) -> String {
    let lines = tried.iter().flat_map(|(release, record)| {
        say(record).into_iter().map(|line| format!("- {}: {line}\n", release.name()))
    });
    let lines: String = lines.collect();
    if lines.is_empty() { String::new() } else { format!("## {title}\n\n{lines}\n") }
}

/// The names of tests of all suites, with their suites.
fn test_names(record: &Record, of: fn(&SuiteResult) -> &BTreeSet<String>) -> Vec<String> {
    let all = record.suites.iter();
    all.flat_map(|(name, suite)| of(suite).iter().map(move |test| format!("`{test}` of `{name}`"))).collect()
}

/// The skipped tests, grouped by the reason.
fn skips(record: &Record) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (test, why) in record.suites.values().flat_map(|suite| &suite.skipped) {
        by_reason.entry(why).or_default().push(format!("`{test}`"));
    }
    by_reason.into_iter().map(|(why, tests)| format!("{why}: {}", tests.join(", "))).collect()
}

/// What the programs of the versions report.
fn differences(tried: &[&(&Release, Record)]) -> String {
    let names: Vec<&str> = tried.iter().map(|(release, _)| release.name()).collect();
    let line = |name: &str, say: &dyn Fn(&Probes) -> String| {
        let cells: Vec<String> = tried.iter().map(|(_, record)| say(&record.probes)).collect();
        format!("| {name} | {} |\n", cells.join(" | "))
    };
    let mut text = format!(
        "## What differs\n\nFeature gates as the API servers report them, and resources. A dash means that the \
         version does not have it.\n\n| | {} |\n|---|{}\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    for gate in GATES {
        text += &line(gate, &|probes| probes.gates.get(gate).map_or("–".into(), Clone::clone));
    }
    for (_, resource) in RESOURCES {
        let there = |probes: &Probes| if probes.resources.contains(resource) { "yes" } else { "–" };
        text += &line(&format!("`{resource}`"), &|probes| there(probes).to_owned());
    }
    text += "\nChanges from each version to the next in the fields that Taintward reads and writes, and in the controllers of \
             kube-controller-manager:\n\n";
    for pair in tried.windows(2) {
        let [(_, old), (release, new)] = pair else { continue };
        let changes = changes(&everything(&old.probes), &everything(&new.probes));
        text += &format!("- {}: {changes}\n", release.name());
    }
    text
}

/// Fields as `PodSpec.nodeName`, controllers by their names.
fn everything(probes: &Probes) -> BTreeSet<String> {
    let fields = probes.fields.iter().flat_map(|(kind, fields)| {
        let kind = kind.rsplit('.').next().unwrap_or(kind);
        fields.iter().map(move |field| format!("{kind}.{field}"))
    });
    fields.chain(probes.controllers.iter().cloned()).collect()
}

fn changes(old: &BTreeSet<String>, new: &BTreeSet<String>) -> String {
    let sorts = [("new", new - old), ("removed", old - new)];
    let said: Vec<String> = sorts
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(sort, names)| {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("{sort}: {}", names.join(", "))
        })
        .collect();
    if said.is_empty() { "none".to_owned() } else { said.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If this fails, the page has the results of other pins: `cargo xtask matrix` writes it again.
    #[test]
    fn the_page_lists_what_is_pinned() {
        let page = fs::read_to_string(sources::root().join(PAGE)).unwrap();
        let listed: Vec<&str> =
            page.lines().filter_map(|line| line.strip_prefix("| v")?.split(" |").next()).collect();
        let pinned: Vec<&str> =
            RELEASES.iter().map(|release| release.version().trim_start_matches('v')).collect();
        assert_eq!(listed, pinned);
    }

    #[test]
    fn changes_are_listed_in_both_directions() {
        let set =
            |names: &[&str]| -> BTreeSet<String> { names.iter().map(|&name| name.to_owned()).collect() };
        assert_eq!(changes(&set(&["a", "b"]), &set(&["b", "c"])), "new: `c`; removed: `a`");
        assert_eq!(changes(&set(&["a"]), &set(&["a"])), "none");
    }
}
