//! Describes a taint without a verdict: its start, its meaning, and the note about it.

use super::{ExplainContext, object_parts, text_parts};
use crate::messages::{at_moment, stamp};
use crate::taint_note::TaintNote;
use serde_json::{Value, json};
use taintward_core::taint::{Taint, TaintEffect, WellKnownTaint};
use taintward_core::taint_start::{TaintStart, TaintStartSource};
use taintward_core::time::Now;

/// A taint of a node.
pub(super) struct TaintDescription<'s> {
    taint: &'s Taint,
    start: TaintStart,
    meaning: Option<WellKnownTaint>,
    note: Option<TaintNote>,
}

impl<'s> TaintDescription<'s> {
    pub(super) fn of(context: &ExplainContext, node: &str, taint: &'s Taint, start: TaintStart) -> Self {
        let (meaning, note) = (WellKnownTaint::of(&taint.key), context.note(node, taint));
        Self { taint, start, meaning, note }
    }

    /// `a=b:NoExecute, since 13:59:11, 49s ago (by its timeAdded)`
    pub(super) fn heading(&self, now: Now) -> String {
        let Self { taint, start, .. } = self;
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
    pub(super) fn background(&self, now: Now, with_meaning: bool) -> String {
        let noted = self.note.as_ref().map(|note| noted(note, now)).unwrap_or_default();
        let meaning =
            self.meaning.as_ref().filter(|_| with_meaning).map(|WellKnownTaint { what, who, then }| {
                format!(" It means: {what}. Set by: {who}. What to do: {then}.")
            });
        noted + &meaning.unwrap_or_default()
    }

    /// The object for programs.
    pub(super) fn object(&self) -> Value {
        let Self { taint, start, .. } = self;
        // For a taint that evicts no pod, the time of its first observation is not a start.
        let is_known = taint.effect == TaintEffect::NoExecute || taint.time_added.is_some();
        let source = match start.source {
            TaintStartSource::SeenLive => "Observed",
            TaintStartSource::TimeAdded => "TimeAdded",
            TaintStartSource::ManagedFields => "ManagedFields",
            TaintStartSource::FirstSight => "FirstObserved",
        };
        json!({
            "taint": taint.to_string(),
            "key": taint.key,
            "value": taint.value,
            "effect": taint.effect.as_str(),
            "addedAt": is_known.then(|| stamp(start.at)),
            "source": is_known.then_some(source),
            "meaning": self.meaning.as_ref().map(|WellKnownTaint { what, who, then }| {
                json!({ "summary": what, "setBy": who, "action": then })
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
