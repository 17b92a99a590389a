//! Tests every lint rule with input that it reports and input that it narrowly does not; holds the helpers for that.

use super::*;
use crate::testkit::{taint_of, taints, toleration_of, toleration_row};
use alloc::format;
use alloc::vec;
use std::string::ToString;

mod alone;
mod arbitrary;
mod fields;
mod nodes;
mod texts;
mod together;

/// A toleration from a row; seconds that are no number are kept as they are written.
fn linted_toleration(row: &str) -> LintedToleration {
    let read = toleration_row(row);
    let seconds = row.split_whitespace().nth(4).filter(|seconds| *seconds != "-");
    let odd_seconds = seconds.filter(|_| read.seconds.is_none()).map(Into::into);
    LintedToleration { odd_seconds, ..read.into() }
}

/// Parses tolerations, separated by `|`.
fn workload(rows: &str) -> LintedWorkload {
    let tolerations = rows.split('|').filter(|row| !row.trim().is_empty()).map(linted_toleration).collect();
    LintedWorkload { tolerations, ..LintedWorkload::default() }
}

/// A node with taints, separated by spaces.
fn linted_node(name: &str, own: &str) -> LintedNode {
    let labels = [("kubernetes.io/hostname".into(), name.into())].into();
    LintedNode { name: name.into(), labels, taints: taints(own), ..LintedNode::default() }
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
        let rejected = rule.id().starts_with("TL1") || *rule == Rule::InvalidEvictionPolicy;
        assert_eq!(rule.severity() == Severity::Error, rejected, "{rule:?}");
        assert!(rule.summary().ends_with('.'), "{rule:?}");
    }
    assert!(Rule::ALL.is_sorted_by_key(|rule| rule.id()));
    assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Info);
}
