//! Formats a plan in a few lines, as `taintward taint` shows it.

use super::PlanReport;
use crate::messages::bullet;
use crate::output::harmless;
use std::fmt::Write as _;

/// The largest number of pods that are named; the others are counted.
const NAMED_MAX: usize = 5;

pub(super) fn preview(report: &PlanReport<'_>, width: usize) -> String {
    let mut text = String::new();
    for gap in &report.state.gaps {
        // Writing to a string does not fail.
        let _ = writeln!(text, "error: {}", harmless(&gap.to_string()));
    }
    text += &report.summary();
    text.push('\n');
    let rows = report.rows();
    for row in rows.iter().take(NAMED_MAX) {
        let pod = &report.pod(row).name;
        bullet(&mut text, &format!("{pod} {}: {}", leaves(&report.moment(row.at)), report.why(row)), width);
    }
    if rows.len() > NAMED_MAX {
        bullet(
            &mut text,
            &format!("and {} more; taintward plan lists them all", rows.len() - NAMED_MAX),
            width,
        );
    }
    let lost = report.not_recreated();
    if lost > 0 {
        let or_fails = if report.forecast.jobs.is_empty() { "" } else { ", or their Jobs fail" };
        let why = format!("{lost} of them are not recreated: no controller owns them{or_fails}");
        bullet(&mut text, &why, width);
    }
    for impact in report.forecast.budgets.iter().filter(|impact| impact.is_broken()) {
        let budget = &report.snapshot().budgets()[impact.budget];
        bullet(
            &mut text,
            &format!(
                "disruption budget {}/{} is violated: NoExecute evictions ignore it",
                budget.namespace, budget.name
            ),
            width,
        );
    }
    text
}

/// `is evicted now`, `is evicted at 14:08:11, in 5m`.
fn leaves(moment: &str) -> String {
    if moment == "now" { "is evicted now".to_owned() } else { format!("is evicted at {moment}") }
}
