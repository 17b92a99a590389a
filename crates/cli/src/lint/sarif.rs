//! Prints the report as SARIF 2.1.0 for code scanning; columns count characters.

use super::finding::{FindingLocation, ReportedFinding};
use super::report::LintReportData;
use crate::cluster_state::ReadError;
use crate::manifest::files::STDIN;
use serde_json::{Map, Value, json};
use taintward_core::lint::{Rule, Severity};
use taintward_core::text::numbered;

pub(super) fn print(report: &LintReportData) -> String {
    let findings = report.findings.iter().map(|reported| result(reported, None));
    let silenced = report.silenced.iter().map(|(reported, because)| result(reported, Some(because)));
    let notifications: Vec<Value> =
        report.unreadable.iter().map(unreadable).chain(report.gaps.iter().map(|gap| gap_of(gap))).collect();
    let whole = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "taintward",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": Rule::ALL.iter().map(|rule| described(*rule)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": !report.is_partial(),
                "toolExecutionNotifications": notifications,
            }],
            "results": findings.chain(silenced).collect::<Vec<_>>(),
        }],
    });
    // Serializing text and numbers cannot fail.
    numbered(serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n")
}

fn described(rule: Rule) -> Value {
    json!({
        "id": rule.id(),
        "name": rule.name(),
        "shortDescription": {"text": rule.summary()},
        "help": {"text": format!("{} docs/lint.md has an example of {}.", rule.summary(), rule.id())},
        "defaultConfiguration": {"level": level(rule.severity())},
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn result(reported: &ReportedFinding, because: Option<&str>) -> Value {
    let name = &reported.object;
    let path = [&name.kind, &name.namespace, &name.name].map(String::as_str);
    let full = path
        .into_iter()
        .filter(|part| !part.is_empty())
        .chain(Some(reported.field.as_str()).filter(|f| !f.is_empty()));
    let mut place = Map::new();
    let full: Vec<&str> = full.collect();
    place.insert(
        "logicalLocations".to_owned(),
        json!([{"fullyQualifiedName": full.join("/"), "kind": "object"}]),
    );
    if let Some(location) = &reported.location {
        place.insert("physicalLocation".to_owned(), physical(location));
    }
    let mut result = json!({
        "ruleId": reported.rule.id(),
        "ruleIndex": Rule::ALL.iter().position(|rule| *rule == reported.rule),
        "level": level(reported.rule.severity()),
        "message": {"text": format!("{}: {}; fix: {}", reported.object, reported.reason, reported.fix)},
        "locations": [place],
    });
    if let Some(because) = because {
        result["suppressions"] = json!([{"kind": "external", "justification": because}]);
    }
    result
}

fn physical(location: &FindingLocation) -> Value {
    let (from, to) = (location.span.from, location.span.to);
    json!({
        "artifactLocation": {"uri": uri(&location.file)},
        "region": {
            "startLine": from.line,
            "startColumn": from.column,
            "endLine": to.line,
            "endColumn": to.column,
        },
    })
}

fn unreadable(unreadable: &ReadError) -> Value {
    let mut place = json!({"artifactLocation": {"uri": uri(&unreadable.file)}});
    if unreadable.at.line > 0 {
        place["region"] = json!({"startLine": unreadable.at.line, "startColumn": unreadable.at.column});
    }
    json!({
        "level": "error",
        "message": {"text": unreadable.to_string()},
        "locations": [{"physicalLocation": place}],
    })
}

fn gap_of(gap: &str) -> Value {
    json!({"level": "error", "message": {"text": gap}})
}

/// A path as a relative URI reference, with other characters escaped as in `%41`.
fn uri(file: &str) -> String {
    if file == STDIN {
        return "stdin".to_owned();
    }
    let plain = file.strip_prefix("./").unwrap_or(file);
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    let path: String = plain.bytes().map(encode).collect();
    if path.starts_with('/') { format!("file://{path}") } else { path }
}
