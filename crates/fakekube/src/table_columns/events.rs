//! Prints the columns of Events.

use super::age::since;
use super::read::{given, number, string, time};
use super::{NAME, TableColumnDefinition, TableDefinition, cells, text, wide};
use jiff::Timestamp;
use serde_json::Value;

pub(super) const SHEETS: &[TableDefinition] = &[TableDefinition::new(
    " events",
    &[
        text("Last Seen"),
        text("Type"),
        text("Reason"),
        text("Object"),
        wide("Subobject"),
        wide("Source"),
        text("Message"),
        wide("First Seen"),
        wide("Count"),
        TableColumnDefinition { priority: 1, ..NAME },
    ],
    event,
)];

fn event(event: &Value, now: Timestamp) -> Vec<Value> {
    let first = if time(event, "firstTimestamp").is_some() { "firstTimestamp" } else { "eventTime" };
    let last = if time(event, "lastTimestamp").is_some() { "lastTimestamp" } else { first };
    let (last, count) = match given(event, "series") {
        Some(series) => ("series.lastObservedTime", number(series, "count")),
        None => (last, number(event, "count").max(1)),
    };
    let about = given(event, "involvedObject").unwrap_or(&Value::Null);
    cells![
        since(event, last, now),
        string(event, "type"),
        string(event, "reason"),
        target(about),
        string(about, "fieldPath"),
        source(event),
        string(event, "message").trim(),
        since(event, first, now),
        count,
        string(event, "metadata.name"),
    ]
}

fn target(about: &Value) -> String {
    let kind = string(about, "kind").to_lowercase();
    match string(about, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

/// Who saw it and where; what is not said the old way may be said the new way.
fn source(event: &Value) -> String {
    let source = given(event, "source").unwrap_or(&Value::Null);
    let either = |old, new| match string(source, old) {
        "" => string(event, new),
        text => text,
    };
    let component = either("component", "reportingComponent");
    match either("host", "reportingInstance") {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    }
}
