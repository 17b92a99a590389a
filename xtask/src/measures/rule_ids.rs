//! Compares the ids of rules that code, tests and pages cite with those that `docs/invariants.md` lists.
//!
//! - An id is cited by its name (`TE-30`, `S7`), or by a function named after it (`fn te_30_...`). Of a range only the
//!   ends are cited.

use super::measure::Measure;
use crate::files::files_below;
use anyhow::{Context as _, Result};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The page that lists all ids.
const PAGE: &str = "docs/invariants.md";

/// An id, as text cites it.
const ID: &str = r"\b(?:(?:MATCH|TE|NL|AD|VAL|KT|SC|KU|DS|NB)-\d+[a-z]?|[SLPDM]-?\d{1,2})\b";

/// The name of a function.
const FUNCTION: &str = r"\bfn (\w+)";

/// The ids that are cited and those that are listed.
pub(crate) struct RuleIds {
    id: Regex,
    function: Regex,
    /// With one of the files that cite it.
    cited: BTreeMap<String, String>,
    listed: BTreeSet<String>,
}

impl RuleIds {
    fn new() -> Result<Self> {
        Ok(Self {
            id: Regex::new(ID)?,
            function: Regex::new(FUNCTION)?,
            cited: BTreeMap::new(),
            listed: BTreeSet::new(),
        })
    }

    /// Reads the sources and pages of the workspace in `root`.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut ids = Self::new()?;
        for file in files_below(root, &["rs", "md", "go"])? {
            let path = file.strip_prefix(root)?.to_string_lossy().into_owned();
            let text = fs::read_to_string(&file).with_context(|| format!("reading {path}"))?;
            ids.add(&path, &text);
        }
        Ok(ids)
    }

    fn add(&mut self, path: &str, text: &str) {
        if path == PAGE {
            let cells = text.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
            self.listed = cells.map(|cell| cell.trim().to_owned()).filter(|cell| self.is_id(cell)).collect();
            return;
        }
        // `M3.5.0` is a date of a time zone and not an id.
        let is_number = |rest: &str| {
            rest.strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let in_text = self.id.find_iter(text).filter(|id| !is_number(&text[id.end()..]));
        let in_text = in_text.map(|id| id.as_str().to_owned());
        let names = self.function.captures_iter(text).map(|function| function.extract::<1>().1[0]);
        let in_names = names.flat_map(|name| self.ids_in_name(name));
        for id in in_text.chain(in_names).collect::<Vec<_>>() {
            self.cited.entry(id).or_insert_with(|| path.to_owned());
        }
    }

    /// The ids in the name of a function: `S7` and `TE-30` in `s7_te_30_it_waits`.
    fn ids_in_name(&self, name: &str) -> Vec<String> {
        let parts: Vec<&str> = name.split('_').collect();
        let short = parts[..parts.len() - 1].first().map(|part| part.to_uppercase());
        let long = parts.windows(2).map(|pair| format!("{}-{}", pair[0].to_uppercase(), pair[1]));
        short.into_iter().chain(long).filter(|id| self.is_id(id)).collect()
    }

    fn is_id(&self, text: &str) -> bool {
        self.id.find(text).is_some_and(|id| id.as_str() == text)
    }

    /// The ids that are cited and not listed, and those that are listed and not cited.
    pub(crate) fn measures(&self) -> [Measure; 2] {
        let unresolved = self.cited.iter().filter(|(id, _)| !self.listed.contains(*id));
        let unresolved = unresolved.map(|(id, path)| format!("{id}: cited by {path}, not listed in {PAGE}"));
        let uncited = self.listed.iter().filter(|id| !self.cited.contains_key(*id));
        let uncited = uncited.map(|id| format!("{id}: listed in {PAGE}, cited nowhere"));
        [
            Measure::count("rule ids cited and defined nowhere", 0.0, unresolved.collect()),
            Measure::count("rule ids defined and cited nowhere", 0.0, uncited.collect()),
        ]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "the patterns are valid")]
mod tests {
    use super::{PAGE, RuleIds};

    /// Ids cited and not listed, and ids listed and not cited. Digits of ids are written as `#` here, or this file would cite them.
    fn compare(cited: &str, listed: &str) -> [Vec<String>; 2] {
        let mut ids = RuleIds::new().unwrap();
        ids.add("crates/core/src/a.rs", &cited.replace('#', "9"));
        ids.add(PAGE, &listed.replace('#', "9"));
        let id = |finding: &String| finding.split(':').next().unwrap().replace('9', "#");
        ids.measures().map(|measure| measure.findings().iter().map(id).collect())
    }

    #[test]
    fn an_id_that_is_not_listed_is_found() {
        assert_eq!(
            compare("/// TE-##: it stays (S##).", "| TE-## | a rule |"),
            [vec!["S##".to_owned()], vec![]]
        );
        assert_eq!(
            compare("TE-##a", "| TE-## | a rule |"),
            [vec!["TE-##a".to_owned()], vec!["TE-##".into()]]
        );
        assert_eq!(compare("NL-# to NL-##", ""), [vec!["NL-#".to_owned(), "NL-##".into()], vec![]]);
    }

    #[test]
    fn a_test_named_after_a_rule_cites_it() {
        let tests = "fn te_##_it_stays() {} fn s#_and_te_# () {} fn is_d#_here() {} fn nl_#_nl_##_both() {}";
        assert_eq!(
            compare(tests, ""),
            [vec!["NL-#".to_owned(), "NL-##".into(), "S#".into(), "TE-#".into(), "TE-##".into()], vec![]]
        );
    }

    #[test]
    fn an_id_that_is_not_cited_is_found() {
        assert_eq!(compare("", "| P## | a pitfall |\n| id | rule |\n"), [vec![], vec!["P##".to_owned()]]);
        assert_eq!(compare("P##", "| P## | see S## |"), [vec![], vec![]] as [Vec<String>; 2]);
    }

    #[test]
    fn what_looks_like_an_id_is_none() {
        assert_eq!(compare("M#.#.# P-### XS# S### sTE-# S#x", ""), [vec![], vec![]] as [Vec<String>; 2]);
    }
}
