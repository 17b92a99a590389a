//! # Words: what Go calls things
//! Room:     the text of type errors.
//! Comes in: shapes, fields, values.
//! Goes out: `[]v1.Container`, `map[string]string`, `number 1.5`.
//! Not here: where it happened (`walk`).

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::schema::{Schema, Shape, TypeId};

/// What Go calls the type of a field.
#[derive(Clone, Copy)]
pub(super) struct Named {
    /// The whole.
    pub(super) whole: &'static str,
    /// What a list or a map holds.
    element: Option<&'static str>,
}

/// Fields whose types have names of their own: by type and field.
static NAMED: LazyLock<HashMap<(&str, &str), Named>> = LazyLock::new(|| {
    let lines = include_str!("gonames.txt").lines().filter(|line| !line.starts_with('#'));
    let fields = lines.filter_map(|line| {
        let mut words = line.split(' ');
        Some(((words.next()?, words.next()?), Named { whole: words.next()?, element: words.next() }))
    });
    fields.collect()
});

/// A type's name without its package.
pub(super) fn short(of: TypeId) -> &'static str {
    let name = Schema::get().at(of).name.as_str();
    name.rsplit('.').next().unwrap_or(name)
}

/// What Go calls the type of a field, if its shape does not say it.
pub(super) fn of_field(of: TypeId, name: &str) -> Option<Named> {
    NAMED.get(&(Schema::get().at(of).name.as_str(), name)).copied()
}

impl Named {
    /// What stands in the list or the map of this name.
    pub(super) fn element(self) -> Option<Self> {
        self.element.map(|whole| Self { whole, element: None })
    }
}

/// What Go calls a shape without a name of its own.
pub(super) fn plain(shape: &Shape) -> String {
    match shape {
        Shape::Bool => "bool".into(),
        Shape::Int32 | Shape::IntOrString => "int32".into(),
        Shape::Int64 => "int64".into(),
        Shape::Uint32 => "uint32".into(),
        Shape::Uint64 => "uint64".into(),
        Shape::Float64 => "float64".into(),
        Shape::Bytes => "[]uint8".into(),
        // Times read a string before they read a time.
        Shape::String | Shape::Time | Shape::MicroTime | Shape::Duration => "string".into(),
        Shape::Quantity => "resource.Quantity".into(),
        Shape::Raw => "runtime.RawExtension".into(),
        Shape::Fields => "v1.FieldsV1".into(),
        Shape::List(of) => format!("[]{}", held(of)),
        Shape::Map(of) => format!("map[string]{}", held(of)),
        Shape::Object(of) => {
            let name = Schema::get().at(*of).name.as_str();
            name.rsplit('/').next().unwrap_or(name).to_owned()
        }
    }
}

/// What Go calls a shape in the name of a list or a map.
fn held(shape: &Shape) -> String {
    match shape {
        Shape::Time => "v1.Time".into(),
        Shape::MicroTime => "v1.MicroTime".into(),
        Shape::Duration => "v1.Duration".into(),
        Shape::IntOrString => "intstr.IntOrString".into(),
        other => plain(other),
    }
}

/// What Go calls a value that does not fit.
pub(super) fn value(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
