//! Tests every lint rule with input that it reports and input that it narrowly does not; holds the helpers for that.

use super::*;
use crate::taint::TaintEffect;
use crate::toleration::TolerationOperator;
use alloc::format;
use alloc::vec;
use std::string::ToString;

mod alone;
mod arbitrary;
mod fields;
mod nodes;
mod together;

/// Parses `key operator value effect seconds`; `-` is empty, and so are missing fields at the end.
fn toleration(row: &str) -> LintedToleration {
    let mut words = row.split_whitespace().map(|word| if word == "-" { "" } else { word });
    let mut next = || words.next().unwrap_or("");
    let (key, operator, value, effect, seconds) = (next(), next(), next(), next(), next());
    let read = Toleration {
        key: key.into(),
        operator: TolerationOperator::new(operator),
        value: value.into(),
        effect: (!effect.is_empty()).then(|| TaintEffect::new(effect)),
        seconds: seconds.parse().ok(),
    };
    let odd_seconds = (!seconds.is_empty() && read.seconds.is_none()).then(|| seconds.into());
    LintedToleration { odd_seconds, ..read.into() }
}

/// Parses tolerations, separated by `|`.
fn workload(rows: &str) -> LintedWorkload {
    let tolerations = rows.split('|').filter(|row| !row.trim().is_empty()).map(toleration).collect();
    LintedWorkload { tolerations, ..LintedWorkload::default() }
}

/// Parses `key=value:TaintEffect`, separated by spaces.
fn node(name: &str, taints: &str) -> LintedNode {
    let taint = |text: &str| {
        let (rest, effect) = text.split_once(':').unwrap_or((text, ""));
        let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
        Taint { key: key.into(), value: value.into(), effect: TaintEffect::new(effect), time_added: None }
    };
    let labels = [("kubernetes.io/hostname".into(), name.into())].into();
    LintedNode {
        name: name.into(),
        labels,
        taints: taints.split_whitespace().map(taint).collect(),
        ..LintedNode::default()
    }
}

fn labelled(mut node: LintedNode, key: &str, value: &str) -> LintedNode {
    node.labels.insert(key.into(), value.into());
    node
}

fn alone(workload: LintedWorkload) -> LintInput {
    LintInput { workloads: vec![workload], ..LintInput::default() }
}

/// `TL101@0.Value`
fn reported(facts: &LintInput) -> String {
    let found = lint(facts);
    for finding in &found {
        assert!(!finding.reason.is_empty() && !finding.fix.is_empty(), "{finding:?}");
        assert!(!finding.reason.contains('\n') && !finding.reason.ends_with('.'), "{finding:?}");
        assert!(!finding.fix.ends_with('.'), "{finding:?}");
    }
    let reported: Vec<String> = found
        .iter()
        .map(|finding| {
            let place = match finding.place {
                FindingPlace::Whole => "Whole".to_string(),
                FindingPlace::Selection => "Selection".to_string(),
                FindingPlace::Field(at) => format!("field {at}"),
                FindingPlace::Toleration(at, part) | FindingPlace::Taint(at, part) => {
                    format!("{at}.{part:?}")
                }
            };
            let node = if matches!(finding.subject, LintSubject::Node(_)) { "node " } else { "" };
            format!("{}@{node}{place}", finding.rule.id())
        })
        .collect();
    reported.join(", ")
}

/// Checks each workload by itself, with nodes unknown.
fn rows(rows: &[(&str, &str)]) {
    for (written, expected) in rows {
        assert_eq!(reported(&alone(workload(written))), *expected, "{written}");
    }
}

#[test]
fn ids_and_names_are_distinct_and_match_the_severity() {
    let mut seen = alloc::collections::BTreeSet::new();
    for rule in Rule::ALL {
        assert!(seen.insert(rule.id()) && seen.insert(rule.name()), "{rule:?}");
        let rejected = rule.id().starts_with("TL1");
        assert_eq!(rule.severity() == Severity::Error, rejected, "{rule:?}");
        assert!(rule.summary().ends_with('.'), "{rule:?}");
    }
    assert!(Rule::ALL.is_sorted_by_key(|rule| rule.id()));
    assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Info);
}
