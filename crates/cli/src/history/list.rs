//! Prints a history: a table for people, an object for programs.

use super::entry::{HistoryEntry, HistoryObject};
use crate::output::{API_VERSION, PrintOptions, Printable, Table, TableCell, TableColumn, zone_name};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use taintward_core::time::Wall;

/// A history, the newest entry last.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) from: String,
    pub(crate) entries: Vec<HistoryEntry>,
    /// The files that end within an entry.
    pub(crate) cut_off: Vec<String>,
}

impl HistoryObject {
    /// As kubectl names it, with the namespace of a pod.
    fn text(&self) -> String {
        match self {
            Self::Cluster => "cluster".to_owned(),
            Self::Node(node) => format!("node/{node}"),
            Self::Pod { name, .. } => format!("pod/{name}"),
        }
    }

    fn fields(&self) -> Value {
        match self {
            Self::Cluster => json!({ "kind": "Cluster" }),
            Self::Node(node) => json!({ "kind": "Node", "name": node.as_str() }),
            Self::Pod { name, uid, node } => json!({
                "kind": "Pod",
                "namespace": name.namespace(),
                "name": name.name(),
                "uid": uid.to_string(),
                "node": node.as_str(),
            }),
        }
    }
}

impl Printable for History {
    fn object(&self) -> Value {
        let items = self.entries.iter().map(|entry| {
            json!({
                "happenedAt": stamp(entry.at),
                "object": entry.object.fields(),
                "event": entry.event,
                "message": entry.message,
            })
        });
        json!({
            "apiVersion": API_VERSION,
            "kind": "History",
            "from": self.from,
            "items": items.collect::<Vec<_>>(),
            "cutOff": self.cut_off,
        })
    }

    fn names(&self) -> Vec<String> {
        let name = |entry: &HistoryEntry| match &entry.object {
            HistoryObject::Pod { name, .. } => format!("pod/{}", name.name()),
            other => other.text(),
        };
        self.entries.iter().map(name).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        let zone = TimeZone::system();
        let named = self.entries.last().map(|entry| zone_name(entry.at, &zone));
        let title = named.map_or_else(|| "TIME".to_owned(), |zone| format!("TIME ({zone})"));
        let columns = [title.as_str(), "OBJECT", "WHAT HAPPENED"].map(TableColumn::new);
        let mut table = Table::new(columns.into());
        for entry in view.in_order(&self.entries) {
            let cells = [local(entry.at, &zone, view.wide), entry.object.text(), entry.message.clone()];
            table.push(cells.map(TableCell::new).into());
        }
        table.print(view)
    }
}

/// With microseconds, so that the order is that of the times.
fn stamp(at: Wall) -> Value {
    Timestamp::from_microsecond(at.as_micros()).map_or(Value::Null, |at| format!("{at:.6}").into())
}

/// The local time, with `-o wide` to the millisecond.
fn local(at: Wall, zone: &TimeZone, is_wide: bool) -> String {
    let format = if is_wide { "%Y-%m-%d %H:%M:%S.%3f" } else { "%Y-%m-%d %H:%M:%S" };
    Timestamp::from_microsecond(at.as_micros())
        .map_or_else(|_| "<unknown>".to_owned(), |at| at.to_zoned(zone.clone()).strftime(format).to_string())
}
