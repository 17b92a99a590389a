//! Formats, for people, how eviction policies and the brake delay evicted pods.

use super::delays::PlanDelays;
use super::paragraphs::{STAYS_MAX, reasons, remark};
use super::{PlanReport, PlanRow};
use crate::color::Color;
use crate::messages::{at_moment, bullet};
use crate::output::{PrintOptions, TableCell};
use taintward_core::time::Mono;

/// When a pod leaves at the earliest and at the latest.
pub(crate) fn cells<'p>(report: &PlanReport<'p>, row: &PlanRow<'p>) -> [TableCell; 2] {
    let Some(departure) = report.departure(row) else {
        let time = report.moment(row.at);
        return [time.clone().into(), time.into()];
    };
    let cell = |at: Option<Mono>| match at {
        Some(_) => TableCell::new(time(report, at)),
        None => TableCell::new(time(report, at)).colored(Color::Yellow),
    };
    let latest = match departure.latest() {
        Some(at) if departure.is_forced => {
            TableCell::new(format!("{}, forced", report.moment(at))).colored(Color::Red)
        }
        None if departure.is_endless => TableCell::new("never").colored(Color::Yellow),
        latest => cell(latest),
    };
    let earliest = match departure.earliest() {
        None if departure.is_endless => TableCell::new("never").colored(Color::Yellow),
        earliest => cell(earliest),
    };
    [earliest, latest]
}

/// A time, or one after the prediction.
fn time(report: &PlanReport<'_>, at: Option<Mono>) -> String {
    at.map_or_else(|| format!("after {}", report.moment(report.horizon())), |at| report.moment(at))
}

/// What policies and the brake do with the pods.
pub(crate) fn sections(
    report: &PlanReport<'_>,
    delays: &PlanDelays<'_>,
    view: &PrintOptions,
    text: &mut String,
) {
    remark(text, &delays.sentences(report).join(" "), view);
    let waits = delays.waits(report);
    let waits: Vec<(&str, usize)> = waits.iter().map(|(wait, count)| (wait.as_str(), *count)).collect();
    let horizon = at_moment(report.snapshot().now(), report.horizon());
    reasons(text, &format!("May not leave before {horizon}"), &waits, STAYS_MAX, view);
    let waves = delays.waves();
    if waves.len() < 2 {
        return;
    }
    text.push_str("\nWaves, on each node one after the other:\n");
    for wave in waves {
        let (first, last) = (time(report, wave.first), time(report, wave.last));
        let sentence = format!("{}: the first leaves {first}, the last {last}", wave.pods_of());
        bullet(text, &sentence, view.paper.measure());
    }
}
