//! Formats a plan in a few lines, as `taintward taint` shows it.

use super::PlanReport;
use super::delays::PlanDelays;
use super::paragraphs::at;
use crate::messages::bullet;
use crate::output::{harmless, wrap};
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
    if let Some(delays) = PlanDelays::of(report, &rows) {
        wrap(&delays.sentences(report).join(" "), width).iter().for_each(|line| _ = writeln!(text, "{line}"));
    }
    for row in rows.iter().take(NAMED_MAX) {
        let pod = &report.pod(row).name;
        let is_delayed = report.departure(row).is_some_and(|departure| departure.is_delayed(report.due(row)));
        let what = if is_delayed { "is due" } else { "is evicted" };
        let sentence = format!("{pod} {what} {}: {}", at(&report.moment(row.at)), report.why(row));
        bullet(&mut text, &sentence, width);
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
    for impact in report.forecast.budgets.iter().filter(|impact| report.violates(impact)) {
        let budget = &report.snapshot().budgets()[impact.budget];
        let why = match report.schedule {
            Some(_) => "evictions ignore it, or are forced at their deadline",
            None => "NoExecute evictions ignore it",
        };
        bullet(
            &mut text,
            &format!("disruption budget {}/{} is violated: {why}", budget.namespace, budget.name),
            width,
        );
    }
    text
}
