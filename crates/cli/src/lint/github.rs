//! Prints the report as workflow commands of GitHub Actions.
//!
//! - Invariant: text from files cannot begin a command or a property.

use super::finding::ReportedFinding;
use super::report::LintReportData;
use crate::output::harmless;
use std::fmt::Write as _;
use taintward_core::lint::Severity;

pub(super) fn print(report: &LintReportData) -> String {
    let mut text = String::new();
    for reported in &report.findings {
        one(&mut text, reported);
    }
    for unreadable in &report.unreadable {
        let file = property(&unreadable.file);
        let line = if unreadable.at.line > 0 {
            format!(",line={},col={}", unreadable.at.line, unreadable.at.column)
        } else {
            String::new()
        };
        let _ = writeln!(text, "::error file={file}{line},title=unreadable::{}", message(&unreadable.why));
    }
    for gap in &report.gaps {
        let _ = writeln!(text, "::error title=unreadable::{}", message(gap));
    }
    text
}

/// Writing to a string does not fail.
fn one(text: &mut String, reported: &ReportedFinding) {
    let command = match reported.rule.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "notice",
    };
    let place = reported.location.as_ref().map(|location| {
        let (from, to) = (location.span.from, location.span.to);
        // GitHub supports a range of columns only within one line.
        let end = if from.line == to.line { format!(",endColumn={}", to.column) } else { String::new() };
        let file = property(&location.file);
        format!("file={file},line={},col={}{end},endLine={},", from.line, from.column, to.line)
    });
    let title = property(&format!("{} {}", reported.rule.id(), reported.rule.name()));
    let sentence = message(&format!("{}: {}; fix: {}", reported.object, reported.reason, reported.fix));
    let _ = writeln!(text, "::{command} {}title={title}::{sentence}", place.unwrap_or_default());
}

/// The escapes of <https://github.com/actions/toolkit/blob/main/packages/core/src/command.ts>.
fn message(text: &str) -> String {
    let lines = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    harmless(&lines)
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}
