//! Formats a plan as text for people, with the summary first.
//!
//! - See `object.rs` for programs.

use super::{PlanReport, PlanRow};
use crate::color::Color;
use crate::messages::{self, bullet, paragraph};
use crate::output::{PrintOptions, Table, TableCell, TableColumn, enumerated};
use std::collections::BTreeMap;
use taintward_core::cluster_snapshot::RecreationPolicy;
use taintward_core::forecast::{BudgetImpact, Placement, WorkloadImpact};
use taintward_core::time::Mono;

/// The largest number of reasons for staying shown for each node; the others are counted together.
const STAYS_MAX: usize = 5;

/// Sentences about unschedulable pods.
const NOWHERE_MAX: usize = 5;

/// Workloads named that no node would accept any more.
const CLOSED_MAX: usize = 5;

/// The largest number of table rows on a terminal by default, few enough to scroll back.
const ROWS_MAX: usize = 100;

/// How many rows of a table are shown. By default all are if a program may read them.
fn most(answer: &PlanReport<'_>, view: &PrintOptions) -> usize {
    match answer.limit {
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

pub(super) fn plan(answer: &PlanReport<'_>, view: &PrintOptions) -> String {
    let mut text = String::new();
    if view.headers {
        opening(answer, view, &mut text);
    }
    let rows = answer.rows();
    if !rows.is_empty() {
        if view.headers {
            text.push('\n');
        }
        text += &leavers(answer, &rows, view);
    }
    if view.headers {
        staying(answer, view, &mut text);
        hit(answer, view, &mut text);
        closing(answer, view, &mut text);
    }
    text
}

fn opening(answer: &PlanReport<'_>, view: &PrintOptions, text: &mut String) {
    paragraph(text, &messages::about(&answer.state.from, answer.snapshot().now()), view);
    if answer.descriptions.is_empty() {
        paragraph(text, "Without any change:", view);
    } else {
        paragraph(text, &format!("If {}:", answer.descriptions.join(", and ")), view);
    }
    paragraph(text, &answer.summary(), view);
}

fn leavers(answer: &PlanReport<'_>, rows: &[PlanRow<'_>], view: &PrintOptions) -> String {
    let mut table = Table::new(vec![
        TableColumn::new("EVICTED"),
        TableColumn::new("NODE").shortens(),
        TableColumn::new("POD").shortens(),
        TableColumn::new("WORKLOAD").shortens().only_wide(),
        TableColumn::new("NEXT NODE").shortens(),
        TableColumn::new("REASON").only_wide(),
    ]);
    let (homes, most) = (answer.homes(), most(answer, view));
    for row in view.in_order(rows).into_iter().take(most) {
        let pod = answer.pod(row);
        let time = answer.moment(row.at);
        let time = if row.at <= answer.forecast.moment {
            TableCell::new(time).colored(Color::Red)
        } else {
            time.into()
        };
        table.push(vec![
            time,
            answer.node_name(row.node.node).into(),
            pod.name.as_str().into(),
            answer.snapshot().workloads()[pod.workload as usize].to_string().into(),
            place(answer, homes.get(&row.fate.pod).map(|home| &home.place)),
            answer.why(row).into(),
        ]);
    }
    let mut text = table.print(view);
    rest(rows.len(), most, view, &mut text);
    text
}

fn place(answer: &PlanReport<'_>, place: Option<&Placement>) -> TableCell {
    match place {
        // DS-4: a node that evicts the pod again.
        Some(Placement::Again(node)) => {
            TableCell::new(format!("{}, evicted again", answer.node_name(*node))).colored(Color::Yellow)
        }
        Some(Placement::Node(node)) => answer.node_name(*node).into(),
        Some(Placement::Nowhere(_)) => TableCell::new("unschedulable").colored(Color::Yellow),
        Some(Placement::None(RecreationPolicy::Never)) => TableCell::new("not recreated").colored(Color::Red),
        Some(Placement::None(_)) => "-".into(),
        None => "?".into(),
    }
}

fn staying(answer: &PlanReport<'_>, view: &PrintOptions, text: &mut String) {
    let mut all: BTreeMap<String, usize> = BTreeMap::new();
    for node in &answer.forecast.nodes {
        for (why, count) in answer.stays(node) {
            *all.entry(why).or_default() += count;
        }
    }
    let mut all: Vec<(String, usize)> = all.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let all: Vec<(&str, usize)> = all.iter().map(|(why, count)| (why.as_str(), *count)).collect();
    reasons(text, "Not evicted", &all, STAYS_MAX, view);
}

fn hit(answer: &PlanReport<'_>, view: &PrintOptions, text: &mut String) {
    if !answer.forecast.workloads.is_empty() {
        text.push('\n');
        *text += &workloads(answer, view);
    }
    let waiting: Vec<&BudgetImpact> =
        answer.forecast.budgets.iter().filter(|impact| impact.blocked() > 0).collect();
    if !waiting.is_empty() {
        text.push_str("\nDisruption budgets that the drain waits for:\n");
        waiting.iter().for_each(|impact| bullet(text, &refused(answer, impact), view.paper.measure()));
    }
    let (broken, kept): (Vec<_>, Vec<_>) = answer
        .forecast
        .budgets
        .iter()
        .filter(|impact| impact.blocked() == 0 || impact.is_broken())
        .partition(|impact| impact.is_broken());
    if !broken.is_empty() {
        text.push_str("\nDisruption budgets violated (NoExecute evictions ignore them):\n");
        broken.iter().for_each(|impact| bullet(text, &budget(answer, impact), view.paper.measure()));
    }
    if !kept.is_empty() {
        let others = if broken.is_empty() { "" } else { "other " };
        let told = match kept.len() {
            1 => format!("1 {others}disruption budget selects evicted pods; it is not violated."),
            count => format!("{count} {others}disruption budgets select evicted pods; none is violated."),
        };
        remark(text, &told, view);
    }
}

fn workloads(answer: &PlanReport<'_>, view: &PrintOptions) -> String {
    let mut table = Table::new(vec![
        TableColumn::new("WORKLOAD").shortens(),
        TableColumn::new("PODS").right(),
        TableColumn::new(if answer.until == Mono::NEVER { "NOW" } else { "EVICTED" }).right(),
        TableColumn::new("LATER").right(),
        TableColumn::new("FIRST").only_wide(),
        TableColumn::new("LAST").only_wide(),
        TableColumn::new("OUTCOME"),
    ]);
    let (all, most) = (answer.outcomes(), most(answer, view));
    for (impact, outcome) in all.iter().take(most) {
        let WorkloadImpact { workload, pods, going, later, first, last } = impact;
        let workload = &answer.snapshot().workloads()[*workload as usize];
        let leaving = usize::try_from(going + later).unwrap_or(usize::MAX);
        let nowhere = answer.unschedulable(impact.workload);
        let fate = TableCell::new(outcome.with_unschedulable(nowhere, leaving));
        table.push(vec![
            workload.to_string().into(),
            pods.to_string().into(),
            going.to_string().into(),
            later.to_string().into(),
            answer.moment(*first).into(),
            answer.moment(*last).into(),
            if outcome.is_lost { fate.colored(Color::Red) } else { fate },
        ]);
    }
    let mut text = table.print(view);
    rest(all.len(), most, view, &mut text);
    text
}

/// `shop/web allows 1 of 3 evictions; 2 wait until other pods are healthy`
fn refused(answer: &PlanReport<'_>, impact: &BudgetImpact) -> String {
    let budget = &answer.snapshot().budgets()[impact.budget];
    let (waiting, all) = (impact.blocked(), impact.evicted_healthy);
    let (may, verb) = (all - waiting, if waiting == 1 { "waits" } else { "wait" });
    let never = if impact.allows() == Some(0) { "; it allows none now" } else { "" };
    format!(
        "{}/{} allows {may} of {all} evictions; {waiting} {verb} until other pods are healthy{never}",
        budget.namespace, budget.name
    )
}

/// `shop/web requires 2 healthy pods; 3 are healthy, and 2 of them are evicted`
fn budget(answer: &PlanReport<'_>, impact: &BudgetImpact) -> String {
    let budget = &answer.snapshot().budgets()[impact.budget];
    format!(
        "{}/{} requires {} healthy pods; {} are healthy, and {} of them are evicted",
        budget.namespace,
        budget.name,
        impact.desired.unwrap_or(0),
        impact.healthy,
        impact.leaving_healthy
    )
}

/// Adds a sentence in a paragraph of its own.
fn remark(text: &mut String, sentence: &str, view: &PrintOptions) {
    text.push('\n');
    paragraph(text, sentence, view);
}

/// Adds reasons with their numbers of pods, the first `most` of them each.
fn reasons(text: &mut String, title: &str, all: &[(&str, usize)], most: usize, view: &PrintOptions) {
    if all.is_empty() {
        return;
    }
    *text += &format!("\n{title}:\n");
    for (why, count) in all.iter().take(most) {
        bullet(text, &format!("{count}: {why}"), view.paper.measure());
    }
    let rest: usize = all.iter().skip(most).map(|(_, count)| count).sum();
    if rest > 0 {
        bullet(text, &format!("{rest} more, for other reasons"), view.paper.measure());
    }
}

fn closing(answer: &PlanReport<'_>, view: &PrintOptions, text: &mut String) {
    let forced = answer.lost_in_a_drain();
    if forced > 0 {
        let pods = messages::counted(forced, "pod");
        let what = format!("it evicts {pods} that no controller recreates");
        remark(text, &format!("kubectl drain continues only with --force: {what}."), view);
    }
    let mut nowhere: BTreeMap<&str, usize> = BTreeMap::new();
    for home in &answer.forecast.placements {
        if let Placement::Nowhere(why) = &home.place {
            *nowhere.entry(why).or_default() += 1;
        }
    }
    let nowhere: Vec<(&str, usize)> = nowhere.into_iter().collect();
    reasons(text, "Unschedulable pods", &nowhere, NOWHERE_MAX, view);
    // Workloads that lose the last node that accepts their pods.
    let name = |workload: &u32| answer.snapshot().workloads()[*workload as usize].to_string();
    let closed: Vec<String> = answer.forecast.closed.iter().map(name).collect();
    if !closed.is_empty() {
        let closed = enumerated(&closed, CLOSED_MAX);
        remark(text, &format!("No node would accept new pods of {closed} any more."), view);
    }
    if answer.forecast.unplaced > 0 {
        let sentence = format!(
            "{} more pods are evicted. Their next nodes are not computed, because there are too many.",
            answer.forecast.unplaced
        );
        remark(text, &sentence, view);
    }
    let latest = answer.at_the_latest();
    if latest > 0 {
        let pods = messages::counted(latest, "pod");
        let sentence = format!(
            "{pods} may be evicted earlier than shown: the taint has no timeAdded, and a controller that observed it appear \
             counts from that moment."
        );
        remark(text, &sentence, view);
    }
    let beyond = answer.beyond();
    if beyond > 0 {
        let sentence = format!(
            "NEXT NODE considers taints, cordons, node selectors, node affinity and requests. {beyond} of the evicted \
             pods also have pod affinity, topology spread constraints or volumes, which it does not consider."
        );
        remark(text, &sentence, view);
    }
    if !answer.state.gaps.is_empty() {
        let told = match answer.state.gaps.len() {
            1 => "This answer is partial: one read failed, see the error above.".to_owned(),
            count => format!("This answer is partial: {count} reads failed, see the errors above."),
        };
        remark(text, &told, view);
    }
}
