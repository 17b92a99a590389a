//! Builds the JSON of the report (`LintReport`) that docs/lint-report.schema.json describes.
//!
//! - Invariant: fields are only added, and always present unless the schema makes them optional.

use super::finding::ReportedFinding;
use super::report::LintReportData;
use crate::output::API_VERSION;
use serde::Serialize;
use serde_json::Value;
use taintward_core::lint::Severity;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LintReport<'r> {
    api_version: &'static str,
    kind: &'static str,
    complete: bool,
    summary: LintSummary,
    items: Vec<FindingJson<'r>>,
    silenced: Vec<SilencedJson<'r>>,
    unreadable: Vec<UnreadableJson<'r>>,
    read_errors: &'r [String],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LintSummary {
    errors: usize,
    warnings: usize,
    infos: usize,
    silenced: usize,
    files: usize,
    workloads: usize,
    nodes: usize,
    other_kinds: usize,
    checked_by_shape: usize,
}

#[derive(Serialize)]
struct FindingJson<'r> {
    rule: &'static str,
    name: &'static str,
    severity: &'static str,
    object: ObjectJson<'r>,
    field: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<LocationJson<'r>>,
    reason: &'r str,
    fix: &'r str,
}

#[derive(Serialize)]
struct ObjectJson<'r> {
    kind: &'r str,
    namespace: &'r str,
    name: &'r str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LocationJson<'r> {
    file: &'r str,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
}

#[derive(Serialize)]
struct SilencedJson<'r> {
    reason: &'r str,
    finding: FindingJson<'r>,
}

#[derive(Serialize)]
struct UnreadableJson<'r> {
    file: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    reason: &'r str,
}

pub(super) fn object(report: &LintReportData) -> Value {
    let whole = LintReport {
        api_version: API_VERSION,
        kind: "LintReport",
        complete: !report.is_partial(),
        summary: summary(report),
        items: report.findings.iter().map(finding).collect(),
        silenced: report
            .silenced
            .iter()
            .map(|(reported, reason)| SilencedJson { reason, finding: finding(reported) })
            .collect(),
        unreadable: report.unreadable.iter().map(unreadable).collect(),
        read_errors: &report.gaps,
    };
    // Serializing text and numbers cannot fail.
    serde_json::to_value(&whole).unwrap_or_default()
}

fn summary(report: &LintReportData) -> LintSummary {
    LintSummary {
        errors: report.count(Severity::Error),
        warnings: report.count(Severity::Warning),
        infos: report.count(Severity::Info),
        silenced: report.silenced.len(),
        files: report.counts.files,
        workloads: report.counts.workloads,
        nodes: report.counts.nodes,
        other_kinds: report.counts.other_kinds,
        checked_by_shape: report.counts.by_shape,
    }
}

fn finding(reported: &ReportedFinding) -> FindingJson<'_> {
    let location = reported.location.as_ref().map(|location| LocationJson {
        file: &location.file,
        line: location.span.from.line,
        column: location.span.from.column,
        end_line: location.span.to.line,
        end_column: location.span.to.column,
    });
    let object = &reported.object;
    FindingJson {
        rule: reported.rule.id(),
        name: reported.rule.name(),
        severity: reported.rule.severity().as_str(),
        object: ObjectJson { kind: &object.kind, namespace: &object.namespace, name: &object.name },
        field: &reported.field,
        location,
        reason: &reported.reason,
        fix: &reported.fix,
    }
}

fn unreadable(skipped: &super::collect::SkippedFile) -> UnreadableJson<'_> {
    let place = (skipped.at.line > 0).then_some(skipped.at);
    UnreadableJson {
        file: &skipped.file,
        line: place.map(|at| at.line),
        column: place.map(|at| at.column),
        reason: &skipped.why,
    }
}
