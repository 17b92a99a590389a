//! Formats what explanations of several kinds say for people.

use crate::cluster_state::details::EventDetails;
use crate::messages::{at_moment, bullet, paragraph};
use crate::output::PrintOptions;
use crate::taint_note::TaintNote;
use taintward_core::taint::WellKnownTaint;
use taintward_core::taint_start::{TaintStart, TaintStartSource};
use taintward_core::time::{Mono, Now, Wall};

/// Events that are shown: the last ones.
const EVENTS_MOST: usize = 5;

/// A heading and a sentence for each; nothing where there is none.
pub(super) fn list(text: &mut String, heading: &str, sentences: &[String], view: &PrintOptions) {
    if sentences.is_empty() {
        return;
    }
    text.push('\n');
    paragraph(text, heading, view);
    sentences.iter().for_each(|sentence| bullet(text, sentence, view.paper.measure()));
}

pub(super) fn wall(now: Now, at: Wall) -> String {
    at_moment(now, Mono::from_micros(at.as_micros()))
}

/// `13:59:11, 49s ago (by its timeAdded)`
pub(super) fn since(start: &TaintStart, now: Now) -> String {
    let source = match start.source {
        TaintStartSource::SeenLive => "seen appearing",
        TaintStartSource::TimeAdded => "by its timeAdded",
        // They tell when the list of taints changed last, whichever of them it was.
        TaintStartSource::ManagedFields => "or earlier; by the node's managedFields",
        TaintStartSource::FirstSight => return "nothing says since when; counted from now".to_owned(),
    };
    let clamped = if start.clamped { ", corrected: it said something impossible" } else { "" };
    format!("since {} ({source}{clamped})", at_moment(now, start.at))
}

pub(super) fn meaning(WellKnownTaint { what, who, then }: &WellKnownTaint) -> String {
    format!(" It means: {what}. Set by: {who}. What to do: {then}.")
}

pub(super) fn note(TaintNote { reason, until }: &TaintNote, now: Now) -> String {
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

pub(super) fn events(events: &[&EventDetails], now: Now) -> Vec<String> {
    let sentence = |event: &&EventDetails| {
        let when = event.last.map(|at| wall(now, at)).unwrap_or_else(|| "at some time".to_owned());
        let times = if event.count > 1 { format!(", {} times", event.count) } else { String::new() };
        let by = if event.by.is_empty() { String::new() } else { format!(" ({})", event.by) };
        format!("{when}{times}: {}{by}: {}", event.reason, event.message)
    };
    let left_out = events.len().saturating_sub(EVENTS_MOST);
    let mut sentences: Vec<String> = events[left_out..].iter().map(sentence).collect();
    if left_out > 0 {
        sentences.insert(0, format!("{left_out} earlier ones"));
    }
    sentences
}
