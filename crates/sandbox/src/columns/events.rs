//! # Events as rows
//! Room:     events of both groups, which are the same events under different names of fields.
//! Comes in: events, the time.
//! Goes out: cells.
//! Not here: `kubectl events`, which makes its rows itself.

use super::age::since;
use super::read::{given, number, string, time};
use super::{Column, NAME, Sheet, cells, text, wide};
use jiff::Timestamp;
use serde_json::Value;

pub(super) const SHEETS: &[Sheet] = &[
    Sheet::new(" events", COLUMNS, |object, now| event(object, &CORE, now)),
    Sheet::new("events.k8s.io events", COLUMNS, |object, now| event(object, &EVENTS, now)),
];

const COLUMNS: &[Column] = &[
    text("Last Seen"),
    text("Type"),
    text("Reason"),
    text("Object"),
    wide("Subobject"),
    wide("Source"),
    text("Message"),
    wide("First Seen"),
    wide("Count"),
    Column { priority: 1, ..NAME },
];

/// Names of fields that the two groups do not share.
struct Names {
    regarding: &'static str,
    message: &'static str,
    source: &'static str,
    first: &'static str,
    last: &'static str,
    count: &'static str,
    component: &'static str,
}

const CORE: Names = Names {
    regarding: "involvedObject",
    message: "message",
    source: "source",
    first: "firstTimestamp",
    last: "lastTimestamp",
    count: "count",
    component: "reportingComponent",
};

const EVENTS: Names = Names {
    regarding: "regarding",
    message: "note",
    source: "deprecatedSource",
    first: "deprecatedFirstTimestamp",
    last: "deprecatedLastTimestamp",
    count: "deprecatedCount",
    component: "reportingController",
};

fn event(event: &Value, names: &Names, now: Timestamp) -> Vec<Value> {
    let first = if time(event, names.first).is_some() { names.first } else { "eventTime" };
    let last = if time(event, names.last).is_some() { names.last } else { first };
    let (last, count) = match given(event, "series") {
        Some(series) => ("series.lastObservedTime", number(series, "count")),
        None => (
            last,
            match number(event, names.count) {
                0 => 1,
                count => count,
            },
        ),
    };
    let regarding = given(event, names.regarding).unwrap_or(&Value::Null);
    cells![
        since(event, last, now),
        string(event, "type"),
        string(event, "reason"),
        target(regarding),
        string(regarding, "fieldPath"),
        source(event, names),
        string(event, names.message).trim(),
        since(event, first, now),
        count,
        string(event, "metadata.name"),
    ]
}

fn target(regarding: &Value) -> String {
    let kind = string(regarding, "kind").to_lowercase();
    match string(regarding, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

/// Who saw it and where; what is not said the old way may be said the new way.
fn source(event: &Value, names: &Names) -> String {
    let source = given(event, names.source).unwrap_or(&Value::Null);
    let either = |old, new| match string(source, old) {
        "" => string(event, new),
        text => text,
    };
    let component = either("component", names.component);
    match either("host", "reportingInstance") {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    }
}
