//! Prints the report for people: a line per finding, with reason and remedy below.
//!
//! - Invariant: lines fit the terminal, nothing is cut off, and text from files cannot control a terminal.

use super::finding::ReportedFinding;
use super::report::LintReportData;
use crate::color::{Color, colored};
use crate::output::{PrintOptions, harmless, width, wrap};
use std::fmt::Write as _;
use taintward_core::lint::Severity;

/// The columns before the object: severity and rule.
const INDENT: usize = 15;

pub(super) fn print(report: &LintReportData, view: &PrintOptions) -> String {
    if report.findings.is_empty() {
        return String::new();
    }
    let mut text = if view.headers { "SEVERITY RULE  OBJECT LOCATION\n".to_owned() } else { String::new() };
    let room = if view.wide { usize::MAX } else { view.paper.measure() };
    for reported in view.in_order(&report.findings) {
        one(&mut text, reported, view, room);
    }
    text
}

fn one(text: &mut String, reported: &ReportedFinding, view: &PrintOptions, measure: usize) {
    let paper = view.paper;
    let severity = reported.rule.severity();
    let word = format!("{:<8}", severity.as_str());
    let word = match severity {
        Severity::Error => colored(&word, Color::Red, paper.paints),
        Severity::Warning => colored(&word, Color::Yellow, paper.paints),
        Severity::Info => colored(&word, Color::Blue, paper.paints),
    };
    let object = harmless(&reported.object.to_string());
    let mut place = harmless(&reported.place());
    if view.wide && reported.location.is_some() && !reported.field.is_empty() {
        place += &format!("  {}", harmless(&reported.field));
    }
    place += &format!("  [{}]", reported.rule.name());
    let place = place.trim_start().to_owned();
    let room = measure.saturating_sub(INDENT);
    let head = if width(&object) + width(&place) + 2 > room {
        [wrap(&object, room), wrap(&place, room)].concat()
    } else {
        vec![format!("{object}  {place}")]
    };
    let body = [harmless(&reported.reason), format!("fix: {}", harmless(&reported.fix))];
    let body = body.iter().flat_map(|sentence| wrap(sentence, room));
    for (index, line) in head.into_iter().chain(body).enumerate() {
        // Writing to a string does not fail.
        let _ = match index {
            0 => writeln!(text, "{word} {:<5} {line}", reported.rule.id()),
            _ => writeln!(text, "{:INDENT$}{line}", ""),
        };
    }
}
