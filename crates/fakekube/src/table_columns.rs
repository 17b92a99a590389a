//! Prints objects as `meta.k8s.io/v1` Tables: nodes, pods, workloads and events as an API server does, others by name and age.

mod age;
mod events;
mod jobs;
mod nodes;
mod objects;
mod pods;
mod read;
pub(crate) mod selector;
mod workloads;

use crate::custom::{self, ResourceDefinition};
use crate::resource::ResourceType;
use jiff::Timestamp;
use read::{entry, given};
use serde_json::{Map, Value, json};

/// Cells of different types in a row.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { vec![$(::serde_json::Value::from($cell)),*] };
}
use cells;

/// What a row carries of its object (`includeObject`); a server that is not told otherwise sends the metadata.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableInclude {
    /// Nothing.
    None,
    /// A PartialObjectMetadata.
    #[default]
    Metadata,
    /// All of it.
    Object,
}

/// The objects as a table, one row each and in their order. All columns are there, the wide ones with priority 1, as a
/// server always sends them.
///
/// `metadata` is empty: the list's `resourceVersion`, `continue` and `remainingItemCount` are the caller's. So is
/// leaving `columnDefinitions` out (`null`), as `noHeaders` and all but the first event of a watch want it.
///
/// Quantities are printed as they stand; a server keeps them in their canonical form.
pub fn table(resource: &ResourceType, objects: &[&Value], now: Timestamp, include: TableInclude) -> Value {
    if let Some(definition) = custom::of(resource) {
        return of_custom(definition, objects, now, include);
    }
    let sheet = sheet(resource);
    let rows: Vec<Value> = objects.iter().map(|object| row(sheet, object, now, include)).collect();
    json!({
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": sheet.columns.iter().map(TableColumnDefinition::definition).collect::<Vec<_>>(),
        "rows": rows,
    })
}

/// The same for a custom kind, whose definition says which columns it has.
fn of_custom(
    definition: &ResourceDefinition,
    objects: &[&Value],
    now: Timestamp,
    include: TableInclude,
) -> Value {
    let columns = [NAME.definition()].into_iter().chain(definition.column_definitions());
    let row = |object: &&Value| {
        let name = [Value::from(objects::name(object))];
        let cells = name.into_iter().chain(definition.cells(object, now)).collect();
        json!({"cells": Value::Array(cells), "object": carried(object, include)})
    };
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {},
        "columnDefinitions": columns.collect::<Vec<_>>(), "rows": objects.iter().map(row).collect::<Vec<_>>(),
    })
}

const LAST_OF_INITIAL: &str = "k8s.io/initial-events-end";

fn row(sheet: &TableDefinition, object: &Value, now: Timestamp, include: TableInclude) -> Value {
    let mut row = Map::new();
    row.insert("cells".into(), (sheet.cells)(object, now).into());
    if let Some(conditions) = (sheet.conditions)(object) {
        row.insert("conditions".into(), conditions);
    }
    row.insert("object".into(), carried(object, include));
    row.into()
}

/// What a row carries of its object.
fn carried(object: &Value, include: TableInclude) -> Value {
    match include {
        // The bookmark that ends a watch's first events is known by its annotation, and so it is never left out.
        TableInclude::None if entry(object, "metadata.annotations", LAST_OF_INITIAL) != Some("true") => {
            Value::Null
        }
        TableInclude::None | TableInclude::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": given(object, "metadata").cloned().unwrap_or_else(|| json!({})),
        }),
        TableInclude::Object => object.clone(),
    }
}

/// How the objects of one resource are printed.
struct TableDefinition {
    /// `apps deployments`: the group, which is nothing for the core, and the plural.
    of: &'static str,
    columns: &'static [TableColumnDefinition],
    cells: fn(&Value, Timestamp) -> Vec<Value>,
    conditions: fn(&Value) -> Option<Value>,
}

impl TableDefinition {
    const fn new(
        of: &'static str,
        columns: &'static [TableColumnDefinition],
        cells: fn(&Value, Timestamp) -> Vec<Value>,
    ) -> Self {
        Self { of, columns, cells, conditions: |_| None }
    }
}

/// What has no columns of its own here.
static PLAIN: TableDefinition = TableDefinition::new(
    "",
    &[NAME, TableColumnDefinition { type_: "date", ..text("Created At") }],
    objects::plain,
);

fn sheet(resource: &ResourceType) -> &'static TableDefinition {
    let sheets =
        [pods::SHEETS, nodes::SHEETS, workloads::SHEETS, jobs::SHEETS, events::SHEETS, objects::SHEETS];
    let of = |sheet: &&TableDefinition| sheet.of.split_once(' ') == Some((resource.group, resource.plural));
    sheets.into_iter().flatten().find(of).unwrap_or(&PLAIN)
}

/// A column's definition. What is in its cells need not be of its type: a real server's often is not.
struct TableColumnDefinition {
    name: &'static str,
    type_: &'static str,
    format: &'static str,
    priority: i32,
}

const NAME: TableColumnDefinition = TableColumnDefinition { format: "name", ..text("Name") };
const AGE: TableColumnDefinition = text("Age");

/// How long ago a time is that stands in a text.
pub(crate) fn since(time: &str, now: Timestamp) -> String {
    age::ago(time.parse().ok(), now)
}

const fn text(name: &'static str) -> TableColumnDefinition {
    TableColumnDefinition { name, type_: "string", format: "", priority: 0 }
}

const fn integer(name: &'static str) -> TableColumnDefinition {
    TableColumnDefinition { type_: "integer", ..text(name) }
}

/// Shown only with `-o wide`.
const fn wide(name: &'static str) -> TableColumnDefinition {
    TableColumnDefinition { priority: 1, ..text(name) }
}

impl TableColumnDefinition {
    fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.type_,
            "format": self.format,
            "description": "",
            "priority": self.priority,
        })
    }
}
