//! Describes a taint without a verdict: its start, its meaning, and the note about it.

use super::{ExplainContext, object_parts, text_parts};
use crate::messages::{at_moment, stamp};
use crate::taint_note::TaintNote;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use taintward_core::taint::{Taint, TaintEffect, WellKnownTaint};
use taintward_core::taint_start::{TaintStart, TaintStartSource};
use taintward_core::time::{Now, Wall};

/// The meanings of taints that the output has already.
#[derive(Debug, Default)]
pub(super) struct ShownMeanings(BTreeSet<String>);

impl ShownMeanings {
    /// Whether the output does not have this yet.
    pub(super) fn add(&mut self, meaning: &str) -> bool {
        self.0.insert(meaning.to_owned())
    }
}

/// A taint of a node.
pub(super) struct TaintDescription<'s> {
    taint: &'s Taint,
    start: TaintStart,
    meaning: Option<WellKnownTaint>,
    note: Option<TaintNote>,
}

impl<'s> TaintDescription<'s> {
    pub(super) fn of(context: &ExplainContext, node: &str, taint: &'s Taint, start: TaintStart) -> Self {
        let (meaning, note) = (WellKnownTaint::of(taint), context.note(node, taint));
        Self { taint, start, meaning, note }
    }

    /// When it was set, by its value; `None` if something else shows it or counts.
    fn set_at(&self) -> Option<Wall> {
        let counts = self.taint.effect == TaintEffect::NoExecute || self.taint.time_added.is_some();
        self.meaning.filter(|_| !counts)?.set_at
    }

    /// `a=b:NoExecute, since 13:59:11, 49s ago (by its timeAdded)`
    pub(super) fn heading(&self, now: Now) -> String {
        let Self { taint, start, .. } = self;
        if let Some(at) = self.set_at() {
            return format!("{taint}, since {} (by its value)", text_parts::wall(now, at));
        }
        let source = match start.source {
            TaintStartSource::SeenLive => "observed live",
            TaintStartSource::TimeAdded => "by its timeAdded",
            // They show when the list of taints last changed, whichever taint it was.
            TaintStartSource::ManagedFields => "or earlier; by the node's managedFields",
            TaintStartSource::FirstSight if taint.effect == TaintEffect::NoExecute => {
                return format!("{taint}, start unknown; counted from now");
            }
            TaintStartSource::FirstSight => return taint.to_string(),
        };
        let clamped = if start.clamped { ", corrected: the recorded time is impossible" } else { "" };
        format!("{taint}, since {} ({source}{clamped})", at_moment(now, start.at))
    }

    /// The note about it, and its meaning; only the former if the latter was shown before.
    pub(super) fn background(&self, now: Now, shown: &mut ShownMeanings) -> String {
        let noted = self.note.as_ref().map(|note| noted(note, now)).unwrap_or_default();
        let meaning = self.meaning.map(|known| {
            let WellKnownTaint { what, who, value, .. } = known;
            let value = value.map(|value| format!(" Its value: {value}.")).unwrap_or_default();
            format!(" It means: {what}.{value} Set by: {who}. What to do: {}.", known.action(now.wall))
        });
        let meaning = meaning.filter(|meaning| shown.add(meaning));
        if let Some(WellKnownTaint { what, .. }) = self.meaning {
            shown.add(what);
        }
        noted + &meaning.unwrap_or_default()
    }

    /// The object for programs.
    pub(super) fn object(&self, now: Now) -> Value {
        let Self { taint, start, .. } = self;
        let set_at = self.set_at();
        // For a taint that evicts no pod, the time of its first observation is not a start.
        let is_known = taint.effect == TaintEffect::NoExecute || taint.time_added.is_some();
        let source = match start.source {
            TaintStartSource::SeenLive => "Observed",
            TaintStartSource::TimeAdded => "TimeAdded",
            TaintStartSource::ManagedFields => "ManagedFields",
            TaintStartSource::FirstSight => "FirstObserved",
        };
        let added_at = match set_at {
            Some(at) => object_parts::wall(Some(at)),
            None => json!(is_known.then(|| stamp(start.at))),
        };
        json!({
            "taint": taint.to_string(),
            "key": taint.key,
            "value": taint.value,
            "effect": taint.effect.as_str(),
            "addedAt": added_at,
            "source": if set_at.is_some() { Some("Value") } else { is_known.then_some(source) },
            "meaning": self.meaning.map(|known| {
                let WellKnownTaint { what, who, value, .. } = known;
                let action = known.action(now.wall);
                json!({
                    "summary": what, "setBy": who, "value": value, "action": action, "stale": known.is_stale(now.wall),
                })
            }),
            "note": self.note.as_ref().map(|TaintNote { reason, until }| {
                json!({ "reason": reason, "expiresAt": object_parts::wall(*until) })
            }),
        })
    }
}

fn noted(TaintNote { reason, until }: &TaintNote, now: Now) -> String {
    let reason = reason.as_ref().map(|reason| format!(" Note of the author: {reason}.")).unwrap_or_default();
    let until = until.map(|until| {
        let moment = text_parts::wall(now, until);
        match until <= now.wall {
            true => format!(" Expired at {moment}: taintward taint --expired removes it."),
            false => format!(" Expires at {moment}."),
        }
    });
    reason + &until.unwrap_or_default()
}
