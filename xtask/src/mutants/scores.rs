//! Keeps what was found of each change, and prints the score.

use super::mutant::Mutant;
use super::trial::TrialResult;
use crate::sources;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The changes that no test can notice, each with the reason.
const EXPLAINED: &str = "xtask/mutants.yaml";

/// What was found of a change.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(crate) enum MutantResult {
    /// This test fails, or does not end.
    Noticed { by: String },
    /// All tests pass that reach it.
    Missed { tests: usize },
    /// The changed code does not compile.
    Invalid,
    /// The code is constant, or returns a type without a name: one program cannot have both versions.
    NoSwitch,
}

impl From<TrialResult> for MutantResult {
    fn from(result: TrialResult) -> Self {
        match result {
            TrialResult::Noticed { by } | TrialResult::TimeLimit { by } => Self::Noticed { by },
            TrialResult::Missed { tests } => Self::Missed { tests },
        }
    }
}

#[derive(Serialize, Deserialize)]
struct ScoreLine {
    digest: u64,
    mutation: String,
    result: MutantResult,
}

/// A change that no test can notice.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExplainedMutant {
    file: String,
    /// As cargo-mutants calls it, without the place in the file.
    mutation: String,
    /// The line that is changed.
    line: String,
    reason: String,
}

impl ExplainedMutant {
    fn explains(&self, mutation: &Mutant) -> bool {
        self.file == mutation.file()
            && self.mutation == mutation.description()
            && self.line == mutation.line()
            && !self.reason.is_empty()
    }
}

/// The results of a scope.
pub(crate) struct MutantScores {
    file: fs::File,
    by_digest: BTreeMap<u64, MutantResult>,
    explained: Vec<ExplainedMutant>,
}

impl MutantScores {
    /// Opens the results of earlier runs. A line that was cut off is left out.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let folder = path.parent().map(PathBuf::from).unwrap_or_default();
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines = text.lines().filter_map(|line| serde_json::from_str::<ScoreLine>(line).ok());
        let by_digest = lines.map(|line| (line.digest, line.result)).collect();
        let opened = fs::OpenOptions::new().append(true).create(true).open(path);
        let file = opened.with_context(|| format!("opening {}", path.display()))?;
        let list = fs::read_to_string(sources::root().join(EXPLAINED)).context(EXPLAINED)?;
        let explained = serde_saphyr::from_str(&list).with_context(|| format!("decoding {EXPLAINED}"))?;
        Ok(Self { file, by_digest, explained })
    }

    /// Whether another run would find the same: a test that failed still does, unless it is removed.
    pub(crate) fn is_settled(&self, mutation: &Mutant) -> bool {
        let result = self.by_digest.get(&mutation.digest());
        matches!(result, Some(MutantResult::Noticed { .. } | MutantResult::Invalid))
    }

    pub(crate) fn add(&mut self, mutation: &Mutant, result: MutantResult) -> Result<()> {
        let digest = mutation.digest();
        let line = ScoreLine { digest, mutation: mutation.name().to_owned(), result: result.clone() };
        let text = serde_json::to_string(&line)? + "\n";
        self.file.write_all(text.as_bytes()).context("writing a result")?;
        self.by_digest.insert(digest, result);
        Ok(())
    }

    /// Prints the score of each module, and what was missed.
    pub(crate) fn print(&self, mutations: &[Mutant]) -> Result<()> {
        let mut modules: BTreeMap<&str, ModuleScore> = BTreeMap::new();
        let mut missed = Vec::new();
        let mut all = ModuleScore::default();
        for mutation in mutations {
            let Some(result) = self.by_digest.get(&mutation.digest()) else { continue };
            let is_explained = self.explained.iter().any(|explained| explained.explains(mutation));
            for score in [modules.entry(module(mutation.file())).or_default(), &mut all] {
                score.add(result, is_explained);
            }
            if let (MutantResult::Missed { tests }, false) = (result, is_explained) {
                missed.push(format!("missed by {tests} tests: {}", mutation.name()));
            }
        }
        println!(
            "| module | changes | noticed | explained | missed | score |\n|---|---:|---:|---:|---:|---:|"
        );
        for (module, score) in modules {
            println!("| {module} | {}", score.cells());
        }
        println!("| all | {}", all.cells());
        let (untried, no_switch) = (mutations.len() - all.tried, all.no_switch);
        println!("{} do not compile, {no_switch} have no switch, {untried} were not tried", all.invalid);
        missed.iter().for_each(|line| println!("{line}"));
        Ok(())
    }
}

/// The changes of a module.
#[derive(Default)]
struct ModuleScore {
    tried: usize,
    noticed: usize,
    explained: usize,
    missed: usize,
    invalid: usize,
    no_switch: usize,
}

impl ModuleScore {
    fn add(&mut self, result: &MutantResult, is_explained: bool) {
        self.tried += 1;
        let count = match result {
            MutantResult::Noticed { .. } => &mut self.noticed,
            MutantResult::Missed { .. } if is_explained => &mut self.explained,
            MutantResult::Missed { .. } => &mut self.missed,
            MutantResult::Invalid => &mut self.invalid,
            MutantResult::NoSwitch => &mut self.no_switch,
        };
        *count += 1;
    }

    fn cells(&self) -> String {
        let Self { noticed, explained, missed, .. } = self;
        let counted = noticed + missed;
        let score = if counted == 0 {
            "–".to_owned()
        } else {
            format!("{:.1} %", *noticed as f64 * 100.0 / counted as f64)
        };
        format!("{} | {noticed} | {explained} | {missed} | {score} |", counted + explained)
    }
}

/// The module at the top of the crate.
fn module(file: &str) -> &str {
    let inside = file.split_once("/src/").map_or(file, |(_, inside)| inside);
    inside.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_each_explained_change_is_where_the_list_says() {
        let list = fs::read_to_string(sources::root().join(EXPLAINED)).unwrap();
        let explained: Vec<ExplainedMutant> = serde_saphyr::from_str(&list).unwrap();
        for ExplainedMutant { file, mutation, line, reason } in explained {
            let text = fs::read_to_string(sources::root().join(&file)).unwrap();
            assert!(text.lines().any(|one| one.trim() == line), "{file}: {mutation}");
            assert!(!reason.is_empty(), "{file}: {mutation}");
        }
    }
}
