//! Prints the report: for people group by group, for programs as one object.

use super::check::{CheckVerdict, DoctorCheck, DoctorGroup};
use super::distribution::RecognizedDistribution;
use crate::color::{Color, colored};
use crate::messages::counted;
use crate::output::{API_VERSION, PrintOptions, Printable, harmless, wrap};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// The column of findings, after the verdict.
const INDENT: usize = 11;

/// The result of all checks.
pub(crate) struct DoctorReport {
    pub(crate) recognized: RecognizedDistribution,
    pub(crate) checks: Vec<DoctorCheck>,
}

impl DoctorReport {
    pub(crate) fn count(&self, verdict: CheckVerdict) -> usize {
        self.checks.iter().filter(|check| check.verdict == verdict).count()
    }

    /// `15 checks: 11 ok, 2 warning, 2 failed`.
    fn summary(&self) -> String {
        let counts = CheckVerdict::ALL.map(|verdict| (self.count(verdict), verdict.word()));
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
        format!("{}: {}", counted(self.checks.len(), "check"), counts.join(", "))
    }
}

const fn color(verdict: CheckVerdict) -> Option<Color> {
    match verdict {
        CheckVerdict::Passed => Some(Color::Green),
        CheckVerdict::Note => None,
        CheckVerdict::Warning | CheckVerdict::Unknown => Some(Color::Yellow),
        CheckVerdict::Failed => Some(Color::Red),
    }
}

fn print_check(text: &mut String, check: &DoctorCheck, view: &PrintOptions) {
    let verdict = format!("{:<8}", check.verdict);
    let verdict =
        color(check.verdict).map_or(verdict.clone(), |color| colored(&verdict, color, view.paper.paints));
    let finding = harmless(&format!("{}: {}", check.id, check.finding));
    let room = view.paper.measure().saturating_sub(INDENT).max(INDENT);
    for (at, line) in wrap(&finding, room).iter().enumerate() {
        let start = if at == 0 { format!("  {verdict} ") } else { " ".repeat(INDENT) };
        let _ = writeln!(text, "{start}{line}");
    }
    if check.verdict == CheckVerdict::Passed {
        return;
    }
    // A step is one line, however long, so that it can be copied.
    let page = check.page.iter().map(|page| format!("see: {page}"));
    for step in check.fix.iter().cloned().chain(page) {
        let _ = writeln!(text, "{}{}", " ".repeat(INDENT), harmless(&step));
    }
}

impl Printable for DoctorReport {
    fn object(&self) -> Value {
        let check = |check: &DoctorCheck| {
            json!({
                "group": check.group.id(),
                "id": check.id,
                "status": check.verdict.word(),
                "message": check.finding,
                "fix": check.fix,
                "documentation": check.page,
            })
        };
        let summary =
            CheckVerdict::ALL.map(|verdict| (verdict.word().to_owned(), json!(self.count(verdict))));
        json!({
            "apiVersion": API_VERSION,
            "kind": "DoctorReport",
            "distribution": {
                "name": self.recognized.distribution.name(),
                "evidence": self.recognized.evidence,
                "managed": self.recognized.distribution.is_managed(),
            },
            "items": self.checks.iter().map(check).collect::<Vec<_>>(),
            "summary": Value::Object(summary.into_iter().collect()),
        })
    }

    fn names(&self) -> Vec<String> {
        self.checks.iter().map(|check| format!("check/{}/{}", check.group.id(), check.id)).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        let mut text = String::new();
        let mut group: Option<DoctorGroup> = None;
        for check in view.in_order(&self.checks) {
            if group != Some(check.group) {
                let _ = writeln!(text, "{}{}", if text.is_empty() { "" } else { "\n" }, check.group.title());
                group = Some(check.group);
            }
            print_check(&mut text, check, view);
        }
        let _ = writeln!(text, "\n{}", self.summary());
        text
    }
}
