//! Prints custom objects by the `additionalPrinterColumns` of their definition.
//!
//! - Invariant: an unsupported path stops the server at start.

use super::ResourceDefinition;
use crate::age::ago;
use jiff::Timestamp;
use serde_json::{Value, json};

/// A column.
pub(super) struct PrinterColumn {
    name: String,
    type_: String,
    priority: i64,
    path: Vec<JsonPathStep>,
}

/// One step of a path.
enum JsonPathStep {
    Field(String),
    /// The first item whose field has this text.
    Item(String, String),
}

/// The columns of a definition.
pub(super) fn read(columns: &Value) -> Vec<PrinterColumn> {
    let text = |column: &Value, field: &str| column[field].as_str().unwrap_or_default().to_owned();
    let read = |column: &Value| PrinterColumn {
        name: text(column, "name"),
        type_: text(column, "type"),
        priority: column["priority"].as_i64().unwrap_or(0),
        path: path(&text(column, "jsonPath")),
    };
    columns.as_array().into_iter().flatten().map(read).collect()
}

/// Parses a path such as `.a.b` and `.a[?(@.b=="c")].d`, which are what the definitions use.
fn path(text: &str) -> Vec<JsonPathStep> {
    let mut steps = Vec::new();
    let mut rest = text;
    while let Some(after) = rest.strip_prefix('.') {
        let end = after.find(['.', '[']).unwrap_or(after.len());
        steps.push(JsonPathStep::Field(after[..end].to_owned()));
        rest = &after[end..];
        if let Some(filter) = rest.strip_prefix("[?(@.") {
            let found =
                filter.split_once("\")]").and_then(|(test, rest)| Some((test.split_once("==\"")?, rest)));
            let ((field, value), after) = found.unwrap_or_else(|| panic!("unsupported path: {text}"));
            steps.push(JsonPathStep::Item(field.to_owned(), value.to_owned()));
            rest = after;
        }
    }
    assert!(rest.is_empty() && !steps.is_empty(), "unsupported path: {text}");
    steps
}

impl JsonPathStep {
    fn take<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        match self {
            Self::Field(name) => value.get(name),
            Self::Item(field, text) => value.as_array()?.iter().find(|item| item[field] == text.as_str()),
        }
    }
}

impl PrinterColumn {
    fn definition(&self) -> Value {
        json!({
            "name": self.name, "type": self.type_, "format": "", "description": "", "priority": self.priority,
        })
    }

    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        let found =
            self.path.iter().try_fold(object, |at, step| step.take(at)).filter(|found| !found.is_null());
        match (self.type_.as_str(), found) {
            (_, None) => Value::Null,
            ("date", Some(Value::String(time))) => ago(time.parse().ok(), now).into(),
            ("string", Some(Value::String(text))) => text.as_str().into(),
            ("string", Some(other)) => other.to_string().into(),
            (_, Some(other)) => other.clone(),
        }
    }
}

impl ResourceDefinition {
    /// The definitions of the columns after the name.
    pub(crate) fn column_definitions(&self) -> impl Iterator<Item = Value> {
        self.columns.iter().map(PrinterColumn::definition)
    }

    /// The cells after the name.
    pub(crate) fn cells(&self, object: &Value, now: Timestamp) -> impl Iterator<Item = Value> {
        self.columns.iter().map(move |column| column.cell(object, now))
    }
}
