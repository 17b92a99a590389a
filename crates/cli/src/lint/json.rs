//! Builds the JSON of the report (`LintReport`) that docs/lint-report.schema.json describes.
//!
//! - Invariant: fields are only added, and always present unless the schema makes them optional.

use super::finding::ReportedFinding;
use super::report::LintReportData;
use crate::cluster_state::ReadError;
use crate::output::API_VERSION;
use serde_json::{Value, json};
use taintward_core::lint::Severity;

pub(super) fn object(report: &LintReportData) -> Value {
    let silenced = report.silenced.iter();
    let silenced =
        silenced.map(|(reported, reason)| json!({ "reason": reason, "finding": finding(reported) }));
    json!({
        "apiVersion": API_VERSION,
        "kind": "LintReport",
        "complete": !report.is_partial(),
        "summary": {
            "errors": report.count(Severity::Error),
            "warnings": report.count(Severity::Warning),
            "infos": report.count(Severity::Info),
            "silenced": report.silenced.len(),
            "files": report.counts.files,
            "workloads": report.counts.workloads,
            "nodes": report.counts.nodes,
            "policies": report.policies,
            "otherKinds": report.counts.other_kinds,
            "checkedByShape": report.counts.by_shape,
        },
        "items": report.findings.iter().map(finding).collect::<Vec<_>>(),
        "silenced": silenced.collect::<Vec<_>>(),
        "unreadable": report.unreadable.iter().map(unreadable).collect::<Vec<_>>(),
        "readErrors": report.gaps,
    })
}

fn finding(reported: &ReportedFinding) -> Value {
    let object = &reported.object;
    let mut json = json!({
        "rule": reported.rule.id(),
        "name": reported.rule.name(),
        "severity": reported.rule.severity().as_str(),
        "object": { "kind": object.kind, "namespace": object.namespace, "name": object.name },
        "field": reported.field,
        "reason": reported.reason,
        "fix": reported.fix,
    });
    if let Some(location) = &reported.location {
        let (from, to) = (location.span.from, location.span.to);
        json["location"] = json!({
            "file": location.file,
            "line": from.line,
            "column": from.column,
            "endLine": to.line,
            "endColumn": to.column,
        });
    }
    json
}

fn unreadable(skipped: &ReadError) -> Value {
    let mut json = json!({ "file": skipped.file, "reason": skipped.why });
    if skipped.at.line > 0 {
        json["line"] = skipped.at.line.into();
        json["column"] = skipped.at.column.into();
    }
    json
}
