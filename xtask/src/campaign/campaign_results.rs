//! Adds up the episodes of a contender, keeps the sums between runs, and writes the table of a page.

use super::campaign_fault::CampaignFault;
use super::judge::{EpisodeVerdict, Misdeed};
use crate::bench::report::machine;
use crate::contender::Contender;
use crate::sources;
use anyhow::{Context as _, Result, ensure};
use clap::ValueEnum as _;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The row of episodes with two faults.
pub(crate) const TWO: &str = "two faults at once";

/// Sums of all episodes with the same fault.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct FaultRow {
    episodes: usize,
    evicted: usize,
    early: usize,
    wrong: usize,
    other: usize,
    missing: usize,
    /// In seconds.
    late: Vec<f64>,
}

/// The rows of a contender.
#[derive(Debug, Default, Deserialize, PartialEq, Serialize)]
pub(crate) struct CampaignResults {
    /// How they were made.
    command: String,
    /// What the numbers of episodes mean.
    plan: String,
    /// The numbers of the episodes that are over.
    finished: BTreeSet<u64>,
    rows: BTreeMap<String, FaultRow>,
}

impl FaultRow {
    fn add(&mut self, verdict: &EpisodeVerdict) {
        self.episodes += 1;
        self.evicted += verdict.evicted;
        for (misdeed, _) in &verdict.misdeeds {
            *match misdeed {
                Misdeed::Early => &mut self.early,
                Misdeed::Wrong => &mut self.wrong,
                Misdeed::Twice | Misdeed::Unconfirmed => &mut self.other,
                Misdeed::Missing => &mut self.missing,
            } += 1;
        }
        self.late.extend(&verdict.late);
        self.late.sort_by(f64::total_cmp);
    }

    fn merge(&mut self, other: &Self) {
        self.episodes += other.episodes;
        self.evicted += other.evicted;
        self.early += other.early;
        self.wrong += other.wrong;
        self.other += other.other;
        self.missing += other.missing;
        self.late.extend(&other.late);
        self.late.sort_by(f64::total_cmp);
    }

    /// The lateness that this share of the deletions does not exceed.
    fn quantile(&self, share: f64) -> String {
        let place = (share * self.late.len() as f64).ceil() as usize;
        let value = self.late.get(place.saturating_sub(1));
        value.map_or_else(|| "–".to_owned(), |seconds| format!("{seconds:.2}"))
    }

    fn line(&self, title: &str, contender: &str) -> String {
        format!(
            "| {title} | {contender} | {} | {} | {} / {} / {} | {} | {} | {} | {} |\n",
            self.episodes,
            self.evicted,
            self.early,
            self.wrong,
            self.other,
            self.missing,
            self.quantile(0.5),
            self.quantile(0.99),
            self.quantile(1.0),
        )
    }
}

impl CampaignResults {
    /// Nothing yet, of a run with these arguments.
    pub(crate) const fn new(command: String, plan: String) -> Self {
        Self { command, plan, finished: BTreeSet::new(), rows: BTreeMap::new() }
    }

    /// The results of an interrupted run.
    pub(crate) fn load_unfinished(who: Contender, command: String, plan: &str) -> Result<Self> {
        let results = Self::load(who);
        ensure!(!results.rows.is_empty(), "no campaign was interrupted: {} is missing", file(who).display());
        ensure!(results.plan == plan, "the interrupted campaign has {}, and this one {plan}", results.plan);
        Ok(Self { command, ..results })
    }

    /// Whether an episode is over.
    pub(crate) fn is_finished(&self, number: u64) -> bool {
        self.finished.contains(&number)
    }

    /// An episode is over.
    pub(crate) fn finish(&mut self, number: u64) {
        self.finished.insert(number);
    }

    pub(crate) fn add(&mut self, row: &str, verdict: &EpisodeVerdict) {
        self.rows.entry(row.to_owned()).or_default().add(verdict);
    }

    /// All rows together.
    fn sum(&self) -> FaultRow {
        self.rows.values().fold(FaultRow::default(), |mut sum, row| {
            sum.merge(row);
            sum
        })
    }

    /// The results of the last run of a contender.
    fn load(who: Contender) -> Self {
        let text = fs::read_to_string(file(who)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    pub(crate) fn save(&self, who: Contender) -> Result<()> {
        fs::create_dir_all(folder()).with_context(|| format!("creating {}", folder().display()))?;
        Ok(fs::write(file(who), serde_json::to_string(self)?)?)
    }
}

/// Results, and what is left of episodes in which something went wrong.
pub(crate) fn folder() -> PathBuf {
    sources::root().join("target/campaign")
}

fn file(who: Contender) -> PathBuf {
    folder().join(format!("{who:?}.json"))
}

/// The table of both contenders' last runs, and how they were made.
pub(crate) fn table() -> String {
    let sides = [(Contender::Ours, "Taintward"), (Contender::Original, "kube-controller-manager")];
    let sides = sides.map(|(who, name)| (CampaignResults::load(who), name));
    let ran = sides.iter().filter(|(results, _)| !results.rows.is_empty());
    let commands: Vec<String> =
        ran.map(|(results, _)| format!("`cargo xtask {}`", results.command)).collect();
    format!("Generated by {}. {}\n\n{}", commands.join(" and "), machine(), table_of(&sides))
}

fn table_of(sides: &[(CampaignResults, &str)]) -> String {
    let mut table = "| fault | contender | episodes | evicted | early / wrong / other | missing | late, p50 | p99 | worst |\n\
                     |---|---|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    let titles = CampaignFault::value_variants().iter().map(|fault| fault.describe().1);
    for title in titles.chain([TWO.to_owned()]) {
        let mut shown = title.as_str();
        for (results, name) in sides {
            if let Some(row) = results.rows.get(&title) {
                table += &row.line(shown, name);
                shown = "";
            }
        }
    }
    for (results, name) in sides.iter().filter(|(results, _)| !results.rows.is_empty()) {
        table += &results.sum().line("all", name);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(late: &[f64], misdeeds: &[Misdeed]) -> EpisodeVerdict {
        let misdeeds = misdeeds.iter().map(|misdeed| (*misdeed, String::new())).collect();
        EpisodeVerdict { evicted: late.len(), misdeeds, late: late.to_vec() }
    }

    #[test]
    fn rows_add_up() {
        let mut results = CampaignResults::default();
        let late: Vec<f64> = (1..=100).map(|number| f64::from(number) / 100.0).collect();
        results.add("Nothing", &verdict(&late, &[]));
        results.add(TWO, &verdict(&[3.0], &[Misdeed::Early, Misdeed::Missing, Misdeed::Twice]));
        let table = table_of(&[(results, "Taintward"), (CampaignResults::default(), "other")]);
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| Nothing | Taintward | 1 | 100 | 0 / 0 / 0 | 0 | 0.50 | 0.99 | 1.00 |",
                "| two faults at once | Taintward | 1 | 1 | 1 / 0 / 1 | 1 | 3.00 | 3.00 | 3.00 |",
                "| all | Taintward | 2 | 101 | 1 / 0 / 1 | 1 | 0.51 | 1.00 | 3.00 |",
            ]
        );
    }
}
