//! Formats a plan as text for people, with the summary first.
//!
//! - See `object.rs` for programs.

use super::delays::PlanDelays;
use super::paragraphs::{STAYS_MAX, reasons, remark};
use super::{PlanReport, PlanRow, delay_text};
use crate::color::Color;
use crate::messages::{self, bullet, paragraph};
use crate::output::{PrintOptions, Table, TableCell, TableColumn, enumerated};
use std::collections::BTreeMap;
use taintward_core::cluster_snapshot::RecreationPolicy;
use taintward_core::forecast::{BudgetImpact, Placement, WorkloadImpact};
use taintward_core::time::Mono;

/// Sentences about unschedulable pods.
const NOWHERE_MAX: usize = 5;

/// Workloads named that no node would accept any more.
const CLOSED_MAX: usize = 5;

/// The largest number of table rows on a terminal by default, few enough to scroll back.
const ROWS_MAX: usize = 100;

/// How many rows of a table are shown. By default all are if a program may read them.
fn most(report: &PlanReport<'_>, view: &PrintOptions) -> usize {
    match report.limit {
        Some(0) => usize::MAX,
        Some(limit) => limit,
        None if view.paper.is_terminal => ROWS_MAX,
        None => usize::MAX,
    }
}

/// Adds the number of omitted rows.
fn rest(rows: usize, most: usize, view: &PrintOptions, text: &mut String) {
    let rest = rows.saturating_sub(most);
    if rest > 0 {
        paragraph(text, &format!("... and {rest} more, {rows} in all; --limit 0 shows them"), view);
    }
}

pub(super) fn plan(report: &PlanReport<'_>, view: &PrintOptions) -> String {
    let mut text = String::new();
    if view.headers {
        opening(report, view, &mut text);
    }
    let rows = report.rows();
    if !rows.is_empty() {
        if view.headers {
            text.push('\n');
        }
        let delays = PlanDelays::of(report, &rows);
        text += &leavers(report, &rows, delays.is_some(), view);
        if let Some(delays) = delays.filter(|_| view.headers) {
            delay_text::sections(report, &delays, view, &mut text);
        }
    }
    if view.headers {
        staying(report, view, &mut text);
        hit(report, view, &mut text);
        closing(report, view, &mut text);
    }
    text
}

fn opening(report: &PlanReport<'_>, view: &PrintOptions, text: &mut String) {
    paragraph(text, &messages::about(&report.state.from, report.snapshot().now()), view);
    if report.descriptions.is_empty() {
        paragraph(text, "Without any change:", view);
    } else {
        paragraph(text, &format!("If {}:", report.descriptions.join(", and ")), view);
    }
    paragraph(text, &report.summary(), view);
}

/// The pods. If policies or the brake delay some, also when each leaves.
fn leavers<'p>(report: &PlanReport<'p>, rows: &[PlanRow<'p>], delays: bool, view: &PrintOptions) -> String {
    let mut columns = vec![TableColumn::new(if delays { "DUE" } else { "EVICTED" })];
    if delays {
        columns.extend([TableColumn::new("EARLIEST"), TableColumn::new("LATEST")]);
    }
    columns.extend([
        TableColumn::new("NODE").shortens(),
        TableColumn::new("POD").shortens(),
        TableColumn::new("WORKLOAD").shortens().only_wide(),
        TableColumn::new("NEXT NODE").shortens(),
        TableColumn::new("REASON").only_wide(),
    ]);
    let mut table = Table::new(columns);
    let (homes, most) = (report.homes(), most(report, view));
    for row in view.in_order(rows).into_iter().take(most) {
        let pod = report.pod(row);
        let time = report.moment(row.at);
        let time = if row.at <= report.forecast.moment {
            TableCell::new(time).colored(Color::Red)
        } else {
            time.into()
        };
        let mut cells = vec![time];
        if delays {
            cells.extend(delay_text::cells(report, row));
        }
        cells.extend([
            report.node_name(row.node.node).into(),
            pod.name.as_str().into(),
            report.snapshot().workloads()[pod.workload as usize].to_string().into(),
            place(report, homes.get(&row.fate.pod).map(|home| &home.place)),
            report.why(row).into(),
        ]);
        table.push(cells);
    }
    let mut text = table.print(view);
    rest(rows.len(), most, view, &mut text);
    text
}

fn place(report: &PlanReport<'_>, place: Option<&Placement>) -> TableCell {
    match place {
        // DS-4: a node that evicts the pod again.
        Some(Placement::Again(node)) => {
            TableCell::new(format!("{}, evicted again", report.node_name(*node))).colored(Color::Yellow)
        }
        Some(Placement::Node(node)) => report.node_name(*node).into(),
        Some(Placement::Nowhere(_)) => TableCell::new("unschedulable").colored(Color::Yellow),
        Some(Placement::None(RecreationPolicy::Never)) => TableCell::new("not recreated").colored(Color::Red),
        Some(Placement::None(_)) => "-".into(),
        None => "?".into(),
    }
}

fn staying(report: &PlanReport<'_>, view: &PrintOptions, text: &mut String) {
    let mut all: BTreeMap<String, usize> = BTreeMap::new();
    for node in &report.forecast.nodes {
        for (why, count) in report.stays(node) {
            *all.entry(why).or_default() += count;
        }
    }
    let mut all: Vec<(String, usize)> = all.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let all: Vec<(&str, usize)> = all.iter().map(|(why, count)| (why.as_str(), *count)).collect();
    reasons(text, "Not evicted", &all, STAYS_MAX, view);
}

fn hit(report: &PlanReport<'_>, view: &PrintOptions, text: &mut String) {
    if !report.forecast.workloads.is_empty() {
        text.push('\n');
        *text += &workloads(report, view);
    }
    let waiting: Vec<&BudgetImpact> =
        report.forecast.budgets.iter().filter(|impact| impact.blocked() > 0).collect();
    if !waiting.is_empty() {
        text.push_str("\nDisruption budgets that the drain waits for:\n");
        waiting
            .iter()
            .for_each(|impact| bullet(text, &blocked_evictions(report, impact), view.paper.measure()));
    }
    let (broken, kept): (Vec<&BudgetImpact>, Vec<&BudgetImpact>) = report
        .forecast
        .budgets
        .iter()
        .filter(|impact| impact.blocked() == 0 || impact.is_broken())
        .partition(|impact| impact.is_broken());
    let (violated, respected): (Vec<_>, Vec<_>) =
        broken.into_iter().partition(|impact| report.violates(impact));
    let ignoring = match report.evicted().any(|row| report.departure(&row).is_some()) {
        false => "NoExecute evictions ignore them",
        true => "by evictions that ignore them, or that are forced",
    };
    for (title, impacts) in [
        (format!("Disruption budgets violated ({ignoring})"), violated),
        ("Disruption budgets that evictions wait for, because of eviction policies".to_owned(), respected),
    ] {
        if !impacts.is_empty() {
            *text += &format!("\n{title}:\n");
            impacts.iter().for_each(|impact| bullet(text, &budget(report, impact), view.paper.measure()));
        }
    }
    if !kept.is_empty() {
        let others = if report.forecast.budgets.len() == kept.len() { "" } else { "other " };
        let sentence = match kept.len() {
            1 => format!("1 {others}disruption budget selects evicted pods; it is not violated."),
            count => format!("{count} {others}disruption budgets select evicted pods; none is violated."),
        };
        remark(text, &sentence, view);
    }
}

fn workloads(report: &PlanReport<'_>, view: &PrintOptions) -> String {
    let mut table = Table::new(vec![
        TableColumn::new("WORKLOAD").shortens(),
        TableColumn::new("PODS").right(),
        TableColumn::new(if report.until == Mono::NEVER { "NOW" } else { "EVICTED" }).right(),
        TableColumn::new("LATER").right(),
        TableColumn::new("FIRST").only_wide(),
        TableColumn::new("LAST").only_wide(),
        TableColumn::new("OUTCOME"),
    ]);
    let (all, most) = (report.outcomes(), most(report, view));
    for (impact, outcome) in all.iter().take(most) {
        let WorkloadImpact { workload, pods, going, later, first, last } = impact;
        let workload = &report.snapshot().workloads()[*workload as usize];
        let leaving = usize::try_from(going + later).unwrap_or(usize::MAX);
        let nowhere = report.unschedulable(impact.workload);
        let fate = TableCell::new(outcome.with_unschedulable(nowhere, leaving));
        table.push(vec![
            workload.to_string().into(),
            pods.to_string().into(),
            going.to_string().into(),
            later.to_string().into(),
            report.moment(*first).into(),
            report.moment(*last).into(),
            if outcome.is_lost { fate.colored(Color::Red) } else { fate },
        ]);
    }
    let mut text = table.print(view);
    rest(all.len(), most, view, &mut text);
    text
}

/// `shop/web allows 1 of 3 evictions; 2 wait until other pods are healthy`
fn blocked_evictions(report: &PlanReport<'_>, impact: &BudgetImpact) -> String {
    let budget = &report.snapshot().budgets()[impact.budget];
    let (waiting, all) = (impact.blocked(), impact.evicted_healthy);
    let (may, verb) = (all - waiting, if waiting == 1 { "waits" } else { "wait" });
    let never = if impact.allows() == Some(0) { "; it allows none now" } else { "" };
    format!(
        "{}/{} allows {may} of {all} evictions; {waiting} {verb} until other pods are healthy{never}",
        budget.namespace, budget.name
    )
}

/// `shop/web requires 2 healthy pods; 3 are healthy, and 2 of them are evicted`
fn budget(report: &PlanReport<'_>, impact: &BudgetImpact) -> String {
    let budget = &report.snapshot().budgets()[impact.budget];
    format!(
        "{}/{} requires {} healthy pods; {} are healthy, and {} of them are evicted",
        budget.namespace,
        budget.name,
        impact.desired.unwrap_or(0),
        impact.healthy,
        impact.leaving_healthy
    )
}

fn closing(report: &PlanReport<'_>, view: &PrintOptions, text: &mut String) {
    let forced = report.lost_in_a_drain();
    if forced > 0 {
        let pods = messages::counted(forced, "pod");
        let what = format!("it evicts {pods} that no controller recreates");
        remark(text, &format!("kubectl drain continues only with --force: {what}."), view);
    }
    let mut nowhere: BTreeMap<&str, usize> = BTreeMap::new();
    for home in &report.forecast.placements {
        if let Placement::Nowhere(why) = &home.place {
            *nowhere.entry(why).or_default() += 1;
        }
    }
    let nowhere: Vec<(&str, usize)> = nowhere.into_iter().collect();
    reasons(text, "Unschedulable pods", &nowhere, NOWHERE_MAX, view);
    // Workloads that lose the last node that accepts their pods.
    let name = |workload: &u32| report.snapshot().workloads()[*workload as usize].to_string();
    let closed: Vec<String> = report.forecast.closed.iter().map(name).collect();
    if !closed.is_empty() {
        let closed = enumerated(&closed, CLOSED_MAX);
        remark(text, &format!("No node would accept new pods of {closed} any more."), view);
    }
    if report.forecast.unplaced > 0 {
        let sentence = format!(
            "{} more pods are evicted. Their next nodes are not computed, because there are too many.",
            report.forecast.unplaced
        );
        remark(text, &sentence, view);
    }
    let latest = report.at_the_latest();
    if latest > 0 {
        let pods = messages::counted(latest, "pod");
        let sentence = format!(
            "{pods} may be evicted earlier than shown: the taint has no timeAdded, and a controller that observed it appear \
             counts from that moment."
        );
        remark(text, &sentence, view);
    }
    let beyond = report.beyond();
    if beyond > 0 {
        let sentence = format!(
            "NEXT NODE considers taints, cordons, node selectors, node affinity and requests. {beyond} of the evicted \
             pods also have pod affinity, topology spread constraints or volumes, which it does not consider."
        );
        remark(text, &sentence, view);
    }
    if !report.state.gaps.is_empty() {
        let sentence = match report.state.gaps.len() {
            1 => "This answer is partial: one read failed, see the error above.".to_owned(),
            count => format!("This answer is partial: {count} reads failed, see the errors above."),
        };
        remark(text, &sentence, view);
    }
}
