//! Formats the parts that several kinds of explanations share for people.

use crate::cluster_state::details::EventDetails;
use crate::messages::{at_moment, bullet, paragraph};
use crate::output::PrintOptions;
use crate::past_eviction::PastEviction;
use taintward_core::time::{Mono, Now, Wall};

/// The largest number of events shown: the last ones.
const EVENTS_MAX: usize = 5;

/// The largest number of past evictions shown: the last ones.
const EVICTIONS_MAX: usize = 10;

/// The list of past evictions; nothing if there is none.
pub(super) fn past_evictions(text: &mut String, past: &[PastEviction<'_>], now: Now, view: &PrintOptions) {
    let left_out = past.len().saturating_sub(EVICTIONS_MAX);
    let mut lines: Vec<String> = past[left_out..].iter().map(|eviction| eviction.line(now)).collect();
    if left_out > 0 {
        lines.insert(0, format!("{left_out} earlier ones; taintward pending --past lists all"));
    }
    list(text, "Evicted pods, according to events:", &lines, view);
}

/// A heading and a line for each sentence; nothing if there is none.
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

pub(super) fn events(events: &[&EventDetails], now: Now) -> Vec<String> {
    let sentence = |event: &&EventDetails| {
        let when = event.last.map(|at| wall(now, at)).unwrap_or_else(|| "at an unknown time".to_owned());
        let times = if event.count > 1 { format!(", {} times", event.count) } else { String::new() };
        let by = if event.by.is_empty() { String::new() } else { format!(" ({})", event.by) };
        format!("{when}{times}: {}{by}: {}", event.reason, event.message)
    };
    let left_out = events.len().saturating_sub(EVENTS_MAX);
    let mut sentences: Vec<String> = events[left_out..].iter().map(sentence).collect();
    if left_out > 0 {
        sentences.insert(0, format!("{left_out} earlier ones"));
    }
    sentences
}
