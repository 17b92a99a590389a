//! Formats the explanation of a node for people.

use super::NodeExplanation;
use crate::color::Color;
use crate::explain::taint_description::{ShownMeanings, TaintDescription};
use crate::explain::text_parts::{self, list};
use crate::messages::{self, paragraph};
use crate::output::{PrintOptions, Table, TableCell, TableColumn};
use taintward_core::verdict::EvictionExemption;

pub(super) fn text(
    explanation: &NodeExplanation<'_>,
    view: &PrintOptions,
    shown: &mut ShownMeanings,
    text: &mut String,
) {
    let node = explanation.node();
    let ready = match node.ready {
        Some(true) => "Ready",
        Some(false) => "not ready",
        None => "without the condition Ready",
    };
    let cordoned = if node.unschedulable { ", cordoned: no new pods" } else { "" };
    paragraph(text, &format!("Node {}: {ready}{cordoned}", explanation.node_name()), view);
    paragraph(text, &fares(explanation), view);
    taints(explanation, view, shown, text);
    let ailments: Vec<String> = explanation
        .ailments()
        .into_iter()
        .map(|condition| {
            let since =
                condition.since.map(|at| format!(" since {}", text_parts::wall(explanation.now(), at)));
            let why = if condition.message.is_empty() { &condition.reason } else { &condition.message };
            format!("{} is {}{}: {why}", condition.kind, condition.status, since.unwrap_or_default())
        })
        .collect();
    list(text, "Conditions that report a problem:", &ailments, view);
    leavers(explanation, view, text);
    list(
        text,
        "Already being deleted; taintward explain pod/NAME shows what delays each pod:",
        &explanation.deleted(),
        view,
    );
    let going = messages::exempt(EvictionExemption::Terminating);
    let stays: Vec<String> = messages::stays(explanation.snapshot(), explanation.fates())
        .iter()
        .filter(|(why, _)| why != going)
        .map(|(why, count)| format!("{count}: {why}"))
        .collect();
    list(text, "Not evicted:", &stays, view);
    text_parts::past_evictions(text, &explanation.past_evictions(), explanation.now(), view);
}

fn fares(explanation: &NodeExplanation<'_>) -> String {
    let totals = &explanation.forecast.totals;
    let deleted = explanation.deleted().len();
    let held = explanation.held();
    let staying = totals.staying + totals.exempt + totals.not_understood - deleted - held;
    let more = |count: usize, what: &str| match count {
        0 => String::new(),
        count => format!(", {count} {what}"),
    };
    match explanation.fates().pods.len() {
        0 => "It has no pods.".to_owned(),
        all => format!(
            "{}: {} due now, {} counting down, {staying} staying{}{}.",
            messages::counted(all, "pod"),
            totals.going,
            totals.later,
            more(held, "held"),
            more(deleted, "being deleted"),
        ),
    }
}

fn taints(
    explanation: &NodeExplanation<'_>,
    view: &PrintOptions,
    shown: &mut ShownMeanings,
    text: &mut String,
) {
    let taints = explanation.taints();
    if taints.is_empty() {
        text.push('\n');
        return paragraph(text, "It has no taints, so no pod is evicted.", view);
    }
    let now = explanation.now();
    let one =
        |taint: &TaintDescription<'_>| format!("{}.{}", taint.heading(now), taint.background(now, shown));
    let sentences: Vec<String> = taints.iter().map(one).collect();
    list(text, "Its taints:", &sentences, view);
    let writers = explanation.details.map(|details| &details.writers[..]).unwrap_or_default();
    if let [(last, at), ..] = writers {
        let at = at.map(|at| format!(", at {}", text_parts::wall(now, at))).unwrap_or_default();
        // All taints are one field: its last writer may not have added each of them.
        paragraph(text, &format!("{last} was the last to write the list{at}."), view);
    }
}

fn leavers(explanation: &NodeExplanation<'_>, view: &PrintOptions, text: &mut String) {
    let leaving = explanation.leaving();
    if leaving.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        TableColumn::new("EVICTED"),
        TableColumn::new("POD").shortens(),
        TableColumn::new("REASON"),
    ]);
    let now = explanation.now();
    for (fate, at) in leaving {
        let time = TableCell::new(messages::moment(now, at));
        table.push(vec![
            if at <= now.mono { time.colored(Color::Red) } else { time },
            explanation.snapshot().pods()[fate.pod as usize].name.as_str().into(),
            messages::leaves(explanation.snapshot(), explanation.fates(), fate).into(),
        ]);
    }
    text.push('\n');
    *text += &table.print(view);
}
