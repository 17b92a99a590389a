//! Formats explanations as text for people, with the verdict first.
//!
//! - See `object.rs` for programs.

use super::blockers;
use super::missing_pod::MissingPodExplanation;
use super::node::NodeExplanation;
use super::pod::{PodExplanation, PodLocation, TaintExplanation, arrival, since};
use super::possible_nodes::{self, PossibleNodes, listed};
use super::report::{Explanation, Explanations};
use super::workload::WorkloadExplanation;
use crate::cluster_state::details::{EventDetails, PodDetails};
use crate::color::Color;
use crate::messages::{self, at_moment, bullet, paragraph};
use crate::output::{PrintOptions, Table, TableCell, TableColumn};
use crate::taint_note::TaintNote;
use taintward_core::cluster_snapshot::WorkloadKind;
use taintward_core::taint::{TaintEffect, WellKnownTaint};
use taintward_core::taint_start::TaintStartSource;
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::verdict::EvictionExemption;

/// Events that are told: the last ones.
const EVENTS_MOST: usize = 5;

/// Pods that are told of one workload.
const OTHERS_MOST: usize = 10;

pub(super) fn explanations(all: &Explanations<'_>, view: &PrintOptions) -> String {
    let mut text = String::new();
    let survey = &all.context.related().survey;
    if view.headers {
        paragraph(&mut text, &messages::about(&survey.from, survey.snapshot.now()), view);
    }
    for (at, story) in all.stories.iter().enumerate() {
        if at > 0 || view.headers {
            text.push('\n');
        }
        match story {
            Explanation::Pod(story) => pod(story, view, &mut text),
            Explanation::Gone(story) => gone_pod(story, view, &mut text),
            Explanation::Node(story) => node(story, view, &mut text),
            Explanation::Workload(story) => workload(story, survey.snapshot.now(), view, &mut text),
        }
    }
    let gaps = all.context.related().survey.gaps.len() + all.missing.len();
    if gaps > 0 {
        let things = if gaps == 1 { "one thing".to_owned() } else { format!("{gaps} things") };
        text.push('\n');
        paragraph(
            &mut text,
            &format!("This answer is partial: {things} could not be read, see above."),
            view,
        );
    }
    text
}

/// A heading and a sentence for each; nothing where there is none.
fn list(text: &mut String, heading: &str, sentences: &[String], view: &PrintOptions) {
    if sentences.is_empty() {
        return;
    }
    text.push('\n');
    paragraph(text, heading, view);
    sentences.iter().for_each(|sentence| bullet(text, sentence, view.paper.measure()));
}

fn wall(now: Now, at: Wall) -> String {
    at_moment(now, Mono::from_micros(at.as_micros()))
}

fn pod(story: &PodExplanation<'_>, view: &PrintOptions, text: &mut String) {
    let PodDetails { namespace, name, node, .. } = story.closeup;
    let on = if node.is_empty() { " without a node".to_owned() } else { format!(" on node {node}") };
    let maker = story.workload().filter(|workload| workload.kind != WorkloadKind::Bare);
    let of = maker.map(|workload| format!(", of {workload}")).unwrap_or_default();
    paragraph(text, &format!("Pod {namespace}/{name}{on}{of}"), view);
    paragraph(text, &story.summary(), view);
    if let (Some(pod), PodLocation::On(_)) = (story.pod, story.place) {
        let (at, source) = (at_moment(story.now(), pod.arrival.at), arrival(pod.arrival.source));
        paragraph(text, &format!("It came to its node at {at} ({source})."), view);
    }
    let parts: Vec<String> = story.parts().iter().map(|part| taint(part, story.now())).collect();
    list(text, "NoExecute taints of its node:", &parts, view);
    list(text, "Taints that send nobody away:", &others(story), view);
    if let Some(places) = possible_nodes::of(story) {
        offers(&places, view, text);
    }
    list(text, "In its way:", &blockers::of(story), view);
    let events = story.context.events(Some(namespace), name);
    list(text, "What events tell:", &happened(&events, story.now()), view);
}

/// Everything about one taint, sentence after sentence.
fn taint(part: &TaintExplanation<'_>, now: Now) -> String {
    let (instance, reason) = (part.instance, part.reason);
    let mut told = format!("{}, {}: {}", instance.taint, since(&instance.start, now), part.answered());
    told += &part.follows(now).map(|follows| format!("; {follows}.")).unwrap_or_else(|| ".".to_owned());
    if reason.counts_from > instance.start.at {
        told += &format!(" It counts since the pod came, {}.", at_moment(now, reason.counts_from));
    }
    if let Some(trap) = part.trapped() {
        told += &format!(" Mind: {trap}.");
    }
    if let Some(note) = &part.note {
        told += &noted(note, now);
    }
    if let Some(meaning) = part.meaning {
        told += &meant(&meaning);
    }
    told
}

fn meant(WellKnownTaint { what, who, then }: &WellKnownTaint) -> String {
    format!(" It means: {what}. Set by: {who}. What to do: {then}.")
}

fn noted(TaintNote { reason, until }: &TaintNote, now: Now) -> String {
    let reason = reason.as_ref().map(|reason| format!(" Somebody noted: {reason}.")).unwrap_or_default();
    let until = until.map(|until| match until <= now.wall {
        true => {
            format!(" Meant to stay until {}: taintward taint --expired removes it.", wall(now, until))
        }
        false => format!(" Meant to stay until {}.", wall(now, until)),
    });
    let until = until.unwrap_or_default();
    reason + &until
}

fn others(story: &PodExplanation<'_>) -> Vec<String> {
    let told = |(taint, bears): (&taintward_core::taint::Taint, bool)| {
        let does = match &taint.effect {
            TaintEffect::NoSchedule => "keeps new pods off",
            TaintEffect::PreferNoSchedule => "keeps new pods off if there is another place",
            TaintEffect::NoExecute | TaintEffect::Unknown(_) => {
                "has an effect that is not known, and does nothing"
            }
        };
        let bears =
            if bears { "the pod tolerates it" } else { "the pod does not tolerate it, and is there already" };
        format!("{taint}: {does}; {bears}")
    };
    story.others().into_iter().map(told).collect()
}

fn offers(places: &PossibleNodes, view: &PrintOptions, text: &mut String) {
    let nodes = |names: &[String]| {
        format!("{} {}: {}", names.len(), if names.len() == 1 { "node" } else { "nodes" }, listed(names))
    };
    let tainted: Vec<String> = places
        .tainted
        .iter()
        .map(|(taints, names)| format!("{}: does not tolerate {}", nodes(names), taints.join(", ")))
        .collect();
    list(text, "Taints keep it off:", &tainted, view);
    let unfit: Vec<String> =
        places.unfit.iter().map(|(why, names)| format!("{}: {why}", nodes(names))).collect();
    list(text, "No taint, but something else keeps it off:", &unfit, view);
    text.push('\n');
    let could = match places.possible.len() {
        0 => "It could go to no node.".to_owned(),
        _ => format!("It could go to {}.", nodes(&places.possible)),
    };
    paragraph(text, &could, view);
    if places.beyond {
        let sentence =
            "It also has affinity to pods, spread constraints or volumes, which are not looked at.";
        paragraph(text, sentence, view);
    }
}

fn happened(events: &[&EventDetails], now: Now) -> Vec<String> {
    let told = |event: &&EventDetails| {
        let when = event.last.map(|at| wall(now, at)).unwrap_or_else(|| "at some time".to_owned());
        let times = if event.count > 1 { format!(", {} times", event.count) } else { String::new() };
        let by = if event.by.is_empty() { String::new() } else { format!(" ({})", event.by) };
        format!("{when}{times}: {}{by}: {}", event.reason, event.message)
    };
    let left_out = events.len().saturating_sub(EVENTS_MOST);
    let mut sentences: Vec<String> = events[left_out..].iter().map(told).collect();
    if left_out > 0 {
        sentences.insert(0, format!("{left_out} earlier ones"));
    }
    sentences
}

fn gone_pod(story: &MissingPodExplanation<'_>, view: &PrintOptions, text: &mut String) {
    let now = story.context.snapshot().now();
    let space = story.context.namespace().map(|space| format!("{space}/")).unwrap_or_default();
    paragraph(text, &format!("Pod {space}{}", story.name), view);
    paragraph(text, &story.summary(), view);
    list(text, "What events tell:", &happened(&story.events, now), view);
    let other = |pod: &&PodDetails| {
        let on =
            if pod.node.is_empty() { "without a node".to_owned() } else { format!("on node {}", pod.node) };
        let phase = if pod.deletion.is_some() { "Terminating" } else { &pod.phase };
        format!("{} {on}, {phase}", pod.name)
    };
    let mut others: Vec<String> = story.others.iter().take(OTHERS_MOST).map(other).collect();
    if story.others.len() > OTHERS_MOST {
        others.push(format!("{} more", story.others.len() - OTHERS_MOST));
    }
    list(text, "Pods of the same workload, by their names:", &others, view);
}

fn node(story: &NodeExplanation<'_>, view: &PrintOptions, text: &mut String) {
    let node = story.node();
    let ready = match node.ready {
        Some(true) => "Ready",
        Some(false) => "not ready",
        None => "without a condition Ready",
    };
    let cordoned = if node.unschedulable { ", cordoned: no new pods" } else { "" };
    paragraph(text, &format!("Node {}: {ready}{cordoned}", story.name()), view);
    paragraph(text, &fares(story), view);
    taints(story, view, text);
    let ailments: Vec<String> = story
        .ailments()
        .into_iter()
        .map(|condition| {
            let since = condition.since.map(|at| format!(" since {}", wall(story.now(), at)));
            let says = if condition.message.is_empty() { &condition.reason } else { &condition.message };
            format!("{} is {}{}: {says}", condition.kind, condition.status, since.unwrap_or_default())
        })
        .collect();
    list(text, "Conditions that say that something is wrong:", &ailments, view);
    leavers(story, view, text);
    list(
        text,
        "Being deleted already; taintward explain pod/NAME says what holds it:",
        &story.deleted(),
        view,
    );
    let going = messages::exempt(EvictionExemption::Terminating);
    let stays: Vec<String> = messages::stays(story.snapshot(), story.fates())
        .iter()
        .filter(|(why, _)| why != going)
        .map(|(why, count)| format!("{count}: {why}"))
        .collect();
    list(text, "Who stays:", &stays, view);
}

fn fares(story: &NodeExplanation<'_>) -> String {
    let totals = &story.forecast.totals;
    let deleted = story.deleted().len();
    let staying = totals.staying + totals.exempt + totals.not_understood - deleted;
    let s = |count: usize| if count == 1 { "s" } else { "" };
    match story.fates().pods.len() {
        0 => "It has no pods.".to_owned(),
        all => format!(
            "{all} pod{}: {} ha{} to go now, {} count{} down, {staying} stay{}{}.",
            if all == 1 { "" } else { "s" },
            totals.going,
            if totals.going == 1 { "s" } else { "ve" },
            totals.later,
            s(totals.later),
            s(staying),
            match deleted {
                0 => String::new(),
                1 => ", 1 is being deleted".to_owned(),
                many => format!(", {many} are being deleted"),
            },
        ),
    }
}

fn taints(story: &NodeExplanation<'_>, view: &PrintOptions, text: &mut String) {
    let taints = story.taints();
    if taints.is_empty() {
        text.push('\n');
        return paragraph(text, "It has no taints: nothing sends pods away.", view);
    }
    let now = story.now();
    let one = |(at, each): (usize, &super::node::ExplainedTaint<'_>)| {
        let since = match each.taint.effect {
            TaintEffect::NoExecute => format!(", {}", since(&each.start, now)),
            _ if each.start.source == TaintStartSource::FirstSight => String::new(),
            _ => format!(", {}", since(&each.start, now)),
        };
        let mut told = format!("{}{since}.", each.taint);
        if let Some(note) = &each.note {
            told += &noted(note, now);
        }
        let is_told = taints[..at].iter().any(|before| before.taint.key == each.taint.key);
        if let Some(meaning) = each.meaning.as_ref().filter(|_| !is_told) {
            told += &meant(meaning);
        }
        told
    };
    let told: Vec<String> = taints.iter().enumerate().map(one).collect();
    list(text, "Its taints:", &told, view);
    let writers = story.closeup.map(|closeup| &closeup.writers[..]).unwrap_or_default();
    if let [(last, at), ..] = writers {
        let at = at.map(|at| format!(", at {}", wall(now, at))).unwrap_or_default();
        // All taints are one field: its last writer need not have put each of them there.
        paragraph(text, &format!("The list was last written by {last}{at}."), view);
    }
}

fn leavers(story: &NodeExplanation<'_>, view: &PrintOptions, text: &mut String) {
    let leaving = story.leaving();
    if leaving.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        TableColumn::new("LEAVES"),
        TableColumn::new("POD").shortens(),
        TableColumn::new("WHY"),
    ]);
    let now = story.now();
    for (fate, at) in leaving {
        let time = TableCell::new(messages::moment(now, at));
        table.push(vec![
            if at <= now.mono { time.colored(Color::Red) } else { time },
            story.snapshot().pods()[fate.pod as usize].name.as_str().into(),
            messages::leaves(story.snapshot(), story.fates(), fate).into(),
        ]);
    }
    text.push('\n');
    *text += &table.print(view);
}

fn workload(story: &WorkloadExplanation<'_>, now: Now, view: &PrintOptions, text: &mut String) {
    let (kind, counts) = (story.maker.of_api().0, story.counts(now));
    paragraph(text, &format!("{kind} {}/{}", story.namespace, story.target.name), view);
    let s = |count: usize| if count == 1 { "s" } else { "" };
    let unjudged = match counts.unjudged {
        0 => String::new(),
        many => format!(", of {many} it is not known"),
    };
    let told = match story.pods.len() {
        0 => "It has no pods.".to_owned(),
        all => format!(
            "{all} pod{}: {} ha{} to go now, {} count{} down, {} stay{}{unjudged}.",
            if all == 1 { "" } else { "s" },
            counts.going,
            if counts.going == 1 { "s" } else { "ve" },
            counts.later,
            s(counts.later),
            counts.staying,
            s(counts.staying),
        ),
    };
    paragraph(text, &told, view);
    if story.pods.is_empty() {
        return;
    }
    let leaves = TableColumn::new(&messages::with_zone("LEAVES", now));
    let mut table = Table::new(vec![
        leaves,
        TableColumn::new("POD").shortens(),
        TableColumn::new("NODE"),
        TableColumn::new("WHY"),
    ]);
    for pod in &story.pods {
        let time = match (pod.leaves(), pod.outcome()) {
            (Some(at), _) if at <= now.mono => TableCell::new("now").colored(Color::Red),
            (Some(at), _) => TableCell::new(messages::moment(now, at)),
            (None, Some(_)) => TableCell::new("stays"),
            (None, None) => TableCell::new("<unknown>"),
        };
        let node = if pod.closeup.node.is_empty() { "<none>" } else { &pod.closeup.node };
        table.push(vec![time, pod.closeup.name.as_str().into(), node.into(), pod.why().into()]);
    }
    text.push('\n');
    *text += &table.print(view);
}
