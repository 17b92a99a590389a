//! Tests lint in the program: documents, kinds and owners, the config, positions, arbitrary text.
//!
//! - See the core for every rule, `tests/cmd` for whole reports.

use super::baseline::Baseline;
use super::collect::CollectedObjects;
use super::config::LintConfig;
use super::report::LintReportData;
use super::{EXIT_CODES, github, json, sarif, table};
use crate::manifest::files::ManifestFile;
use crate::output::{PrintOptions, Terminal, width};
use proptest::prelude::*;
use serde_json::Value;
use taintward_core::lint::Rule;
use taintward_core::toleration_matching::NumericOperators;

mod documents;
mod eviction_policies;
mod objects;
mod shapes;
mod spellings;

fn report_with(texts: &[&str], config: &LintConfig, numeric: NumericOperators) -> LintReportData {
    let mut gathered = CollectedObjects::from_each(|take| {
        for (at, text) in texts.iter().enumerate() {
            take(ManifestFile { name: format!("{at}.yaml"), text: Ok((*text).to_owned()) });
        }
    });
    gathered.facts.numeric = numeric;
    LintReportData::new(gathered, config, Baseline::default())
}

fn report(text: &str) -> LintReportData {
    report_with(&[text], &LintConfig::default(), NumericOperators::Off)
}

/// `TL101@3:7`, or `broken@3:7`
fn reported(text: &str) -> String {
    let report = report(text);
    let found = report.findings.iter().map(|finding| {
        let place = finding.place();
        format!("{}@{}", finding.rule.id(), place.split_once(':').unwrap().1)
    });
    let unreadable = report
        .unreadable
        .iter()
        .map(|unreadable| format!("broken@{}:{}", unreadable.at.line, unreadable.at.column));
    found.chain(unreadable).collect::<Vec<_>>().join(", ")
}

fn narrow(paints: bool) -> PrintOptions {
    PrintOptions::on(Terminal { width: 40, paints, is_terminal: true })
}

/// The report in all formats, as one text.
fn printed(report: &LintReportData) -> String {
    [
        table::print(report, &narrow(true)),
        json::object(report).to_string(),
        sarif::print(report),
        github::print(report),
        report.summary(),
    ]
    .concat()
}

proptest! {
    /// Any file is read to its end, and the output is in its format.
    #[test]
    fn no_text_is_too_odd(text in "[-a-z{}\\[\\]:,&*!|>'\"%@#? \n\t~<0-9\u{0}\u{1b}äπ]{0,200}") {
        let report = report(&text);
        printed(&report);
        prop_assert!(json::object(&report).is_object());
    }

    /// A manifest with any characters in its fields: no line of the table is too long, no GitHub command is injected,
    /// and JSON and SARIF can be parsed.
    #[test]
    fn no_field_is_too_odd(fields in prop::collection::vec((any::<String>(), any::<String>()), 0..6), name: String) {
        let tolerations: Vec<Value> = fields
            .iter()
            .map(|(one, other)| serde_json::json!({"key": one, "operator": other, "effect": other, other: one}))
            .collect();
        let pod = serde_json::json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"tolerations": tolerations},
        });
        let report = report(&pod.to_string());
        prop_assert!(report.unreadable.is_empty(), "{:?}", report.unreadable);
        prop_assert_eq!(report.counts.workloads, 1);
        let plain = table::print(&report, &narrow(false));
        for line in plain.lines() {
            prop_assert!(width(line) <= 40 && !line.contains('\u{1b}'), "{:?}", line);
        }
        let commands = github::print(&report);
        prop_assert_eq!(commands.lines().count(), report.findings.len());
        prop_assert!(commands.lines().all(|line| line.starts_with("::")));
        let read: Value = serde_json::from_str(&sarif::print(&report)).unwrap();
        prop_assert_eq!(read["runs"][0]["results"].as_array().unwrap().len(), report.findings.len());
    }
}
