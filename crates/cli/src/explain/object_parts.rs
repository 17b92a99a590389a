//! Builds the JSON that several kinds of explanations share.

use crate::cluster_state::details::EventDetails;
use crate::messages::stamp;
use serde_json::{Value, json};
use taintward_core::time::{Mono, Wall};

pub(super) fn wall(at: Option<Wall>) -> Value {
    at.map_or(Value::Null, |at| stamp(Mono::from_micros(at.as_micros())))
}

pub(super) fn events(events: &[&EventDetails]) -> Vec<Value> {
    let one = |event: &&EventDetails| {
        json!({
            "lastTimestamp": wall(event.last), "type": event.kind, "reason": event.reason, "reportingComponent": event.by,
            "count": event.count, "message": event.message,
        })
    };
    events.iter().map(one).collect()
}
