//! Prints objects as `meta.k8s.io/v1` Tables, with the columns of an API server.

mod autoscaling;
mod network;
mod objects;
mod pods;
mod settings;
mod storage;
mod workloads;

use crate::age::ago;
use crate::custom;
use crate::resource::ResourceType;
use crate::select::format_selector;
use jiff::Timestamp;
use serde_json::{Value, json};

/// What a row includes of its object (`includeObject`); the metadata by default.
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

/// The objects as a table, one row each, in their order. It has all columns, the wide ones with priority 1, as a server
/// always sends them.
///
/// `metadata` is empty: the caller sets the list's `resourceVersion`, `continue` and `remainingItemCount`. The caller
/// also removes `columnDefinitions` (`null`) for `noHeaders` and for all but the first event of a watch.
///
/// Quantities are printed as they are; a server stores them in canonical form.
pub fn table(resource: &ResourceType, objects: &[&Value], now: Timestamp, include: TableInclude) -> Value {
    let custom = custom::of(resource);
    let columns = if custom.is_some() { &[NAME] } else { columns(resource) };
    let is_pod = (resource.group, resource.plural) == ("", "pods");
    let definitions = columns.iter().map(TableColumn::definition);
    let definitions: Vec<Value> =
        definitions.chain(custom.into_iter().flat_map(|custom| custom.column_definitions())).collect();
    let row = |object: &&Value| {
        let cells = columns.iter().map(|column| column.cell.print(object, now));
        let cells = cells.chain(custom.into_iter().flat_map(|custom| custom.cells(object, now)));
        let mut row = json!({"cells": cells.collect::<Vec<_>>(), "object": carried(object, include)});
        if let Some(conditions) = Some(object).filter(|_| is_pod).and_then(|pod| pods::ended(pod)) {
            row["conditions"] = conditions;
        }
        row
    };
    let rows: Vec<Value> = objects.iter().map(row).collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {},
        "columnDefinitions": definitions, "rows": rows,
    })
}

const LAST_OF_INITIAL: &str = "k8s.io/initial-events-end";

/// What a row includes of its object.
fn carried(object: &Value, include: TableInclude) -> Value {
    match include {
        // Clients recognize the bookmark that ends a watch's initial events by its annotation, so the object is always
        // included.
        TableInclude::None if object["metadata"]["annotations"][LAST_OF_INITIAL] != "true" => Value::Null,
        TableInclude::None | TableInclude::Metadata => json!({
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": given(object, "metadata").cloned().unwrap_or_else(|| json!({})),
        }),
        TableInclude::Object => object.clone(),
    }
}

/// The columns of a resource.
fn columns(resource: &ResourceType) -> &'static [TableColumn] {
    match (resource.group, resource.plural) {
        ("", "pods") => pods::PODS,
        ("autoscaling", "horizontalpodautoscalers") => autoscaling::AUTOSCALERS,
        _ => objects::columns(resource)
            .or_else(|| workloads::columns(resource))
            .or_else(|| network::columns(resource))
            .or_else(|| storage::columns(resource))
            .or_else(|| settings::columns(resource))
            .unwrap_or(PLAIN),
    }
}

/// A column. Its cells may have another type: a real server's often do not.
struct TableColumn {
    name: &'static str,
    type_: &'static str,
    format: &'static str,
    priority: i32,
    cell: TableCell,
}

/// What a cell shows of an object.
enum TableCell {
    /// The text at a path.
    Text(&'static str),
    /// The text at a path, or a default.
    TextOr(&'static str, &'static str),
    /// The number at a path.
    Number(&'static str),
    /// The number of some parts.
    Count(fn(&Value) -> usize),
    /// Whether something is true.
    Flag(fn(&Value) -> bool),
    /// How long ago the object was created.
    Age,
    /// The result of a function.
    Made(fn(&Value) -> String),
    /// The result of a function of the present time.
    MadeNow(fn(&Value, Timestamp) -> Value),
}
use TableCell::{Age, Count, Flag, Made, MadeNow, Number, Text, TextOr};

impl TableCell {
    fn print(&self, object: &Value, now: Timestamp) -> Value {
        match self {
            Text(path) => string(object, path).into(),
            TextOr(path, otherwise) => string_or(object, path, otherwise).into(),
            Number(path) => number(object, path).into(),
            Count(of) => of(object).into(),
            Flag(of) => of(object).into(),
            Age => ago(time(object, "metadata.creationTimestamp"), now).into(),
            Made(make) => make(object).into(),
            MadeNow(make) => make(object, now),
        }
    }
}

const NAME: TableColumn = TableColumn { format: "name", ..text("Name", Text("metadata.name")) };
const AGE: TableColumn = text("Age", Age);

/// The name, with a mark for the default class of its kind.
const NAME_WITH_DEFAULT_CLASS: TableColumn =
    TableColumn { format: "name", ..text("Name", Made(name_and_default)) };

/// The columns of all other resources. They show the creation time itself, not an age.
const PLAIN: &[TableColumn] =
    &[NAME, TableColumn { type_: "date", ..text("Created At", Text("metadata.creationTimestamp")) }];

const fn text(name: &'static str, cell: TableCell) -> TableColumn {
    TableColumn { name, type_: "string", format: "", priority: 0, cell }
}

const fn integer(name: &'static str, path: &'static str) -> TableColumn {
    TableColumn { name, type_: "integer", format: "", priority: 0, cell: Number(path) }
}

const fn boolean(name: &'static str, of: fn(&Value) -> bool) -> TableColumn {
    TableColumn { name, type_: "boolean", format: "", priority: 0, cell: Flag(of) }
}

/// The number of some parts.
const fn count(name: &'static str, of: fn(&Value) -> usize) -> TableColumn {
    TableColumn { name, type_: "integer", format: "", priority: 0, cell: Count(of) }
}

/// A column that only `-o wide` shows.
const fn wide(name: &'static str, cell: TableCell) -> TableColumn {
    TableColumn { name, type_: "string", format: "", priority: 1, cell }
}

impl TableColumn {
    fn definition(&self) -> Value {
        json!({
            "name": self.name, "type": self.type_, "format": self.format, "description": "",
            "priority": self.priority,
        })
    }
}

/// The value at a path, if there is one; a number is a place in a list.
fn given<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let found = path.split('.').try_fold(object, |at, name| match at {
        Value::Array(list) => list.get(name.parse::<usize>().ok()?),
        _ => at.get(name),
    });
    found.filter(|found| !found.is_null())
}

fn string<'a>(object: &'a Value, path: &str) -> &'a str {
    given(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The text, or a default.
fn string_or<'a>(object: &'a Value, path: &str, otherwise: &'a str) -> &'a str {
    Some(string(object, path)).filter(|text| !text.is_empty()).unwrap_or(otherwise)
}

fn number(object: &Value, path: &str) -> i64 {
    given(object, path).and_then(Value::as_i64).unwrap_or_default()
}

fn flag(object: &Value, path: &str) -> bool {
    given(object, path).and_then(Value::as_bool).unwrap_or_default()
}

fn list<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    given(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A time, if there is one.
fn time(object: &Value, path: &str) -> Option<Timestamp> {
    string(object, path).parse().ok()
}

/// The first condition of this type.
fn condition<'a>(object: &'a Value, type_: &str) -> Option<&'a Value> {
    list(object, "status.conditions").iter().find(|condition| string(condition, "type") == type_)
}

fn is_true(condition: Option<&Value>) -> bool {
    condition.is_some_and(|condition| string(condition, "status") == "True")
}

fn or_none(text: String) -> String {
    if text.is_empty() { "<none>".to_owned() } else { text }
}

fn flag_or(object: &Value, path: &str, otherwise: bool) -> bool {
    given(object, path).and_then(Value::as_bool).unwrap_or(otherwise)
}

/// The texts of a list.
fn texts(list: &[Value]) -> Vec<&str> {
    list.iter().filter_map(Value::as_str).collect()
}

/// The texts that are not empty.
fn items<const N: usize>(texts: [&str; N]) -> Vec<&str> {
    texts.into_iter().filter(|text| !text.is_empty()).collect()
}

/// The first few, and the number of the others.
fn some_of(all: &[String], most: usize, separator: &str) -> String {
    let shown = all[..all.len().min(most)].join(separator);
    if all.len() > most { format!("{shown} + {} more...", all.len() - most) } else { shown }
}

/// A label selector as text.
fn selector(selector: &Value) -> String {
    format_selector(selector).map_or_else(|| "<error>".to_owned(), or_none)
}

/// The annotations of a default class, by the end of their keys.
const DEFAULT_CLASS: &str = ".kubernetes.io/is-default-class";

fn name_and_default(class: &Value) -> String {
    let mut annotations =
        given(class, "metadata.annotations").and_then(Value::as_object).into_iter().flatten();
    let is_default = annotations.any(|(key, value)| key.ends_with(DEFAULT_CLASS) && value == "true");
    format!("{}{}", string(class, "metadata.name"), if is_default { " (default)" } else { "" })
}
