//! Builds the JSON that explanations of several kinds have in common.

use crate::cluster_state::details::EventDetails;
use crate::messages::stamp;
use crate::taint_note::TaintNote;
use serde_json::{Value, json};
use taintward_core::taint::{Taint, WellKnownTaint};
use taintward_core::taint_start::TaintStartSource;
use taintward_core::time::{Mono, Wall};

pub(super) fn wall(at: Option<Wall>) -> Value {
    at.map_or(Value::Null, |at| stamp(Mono::from_micros(at.as_micros())))
}

/// The taint itself.
pub(super) fn taint(taint: &Taint) -> Value {
    json!({
        "taint": taint.to_string(), "key": taint.key, "value": taint.value, "effect": taint.effect.as_str(),
    })
}

pub(super) const fn source(source: TaintStartSource) -> &'static str {
    match source {
        TaintStartSource::SeenLive => "SeenLive",
        TaintStartSource::TimeAdded => "TimeAdded",
        TaintStartSource::ManagedFields => "ManagedFields",
        TaintStartSource::FirstSight => "FirstSight",
    }
}

pub(super) fn meaning(meaning: Option<&WellKnownTaint>) -> Value {
    meaning.map_or(
        Value::Null,
        |WellKnownTaint { what, who, then }| json!({ "what": what, "who": who, "then": then }),
    )
}

pub(super) fn note(note: Option<&TaintNote>) -> Value {
    note.map_or(Value::Null, |TaintNote { reason, until }| json!({ "reason": reason, "until": wall(*until) }))
}

pub(super) fn events(events: &[&EventDetails]) -> Vec<Value> {
    let one = |event: &&EventDetails| {
        json!({
            "lastAt": wall(event.last), "type": event.kind, "reason": event.reason, "by": event.by,
            "count": event.count, "message": event.message,
        })
    };
    events.iter().map(one).collect()
}
