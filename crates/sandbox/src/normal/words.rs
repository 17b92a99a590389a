//! # Words: what Go calls things
//! Room:     the text of type errors.
//! Comes in: shapes, fields, values.
//! Goes out: `[]v1.ContainerRequests`, `map[string]string`, `number 1.5`.
//! Not here: where it happened (`walk`).

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

use crate::schema::{Schema, Shape, TypeId};

/// The name of the whole, and of what a list or a map holds.
type Names = [Option<&'static str>; 2];

/// Fields whose types have names of their own: by type and field.
static NAMED: LazyLock<HashMap<(&str, &str), Names>> = LazyLock::new(|| {
    let lines = include_str!("gonames.txt").lines().filter(|line| !line.starts_with('#'));
    let fields = lines.filter_map(|line| {
        let mut words = line.split(' ');
        Some(((words.next()?, words.next()?), [Some(words.next()?), words.next()]))
    });
    fields.collect()
});

/// A field, or what a list or a map in it holds. Its name is looked up when something is wrong with it.
#[derive(Clone, Copy)]
pub(super) struct Named {
    of: TypeId,
    field: &'static str,
    depth: usize,
}

/// A type's name without its package.
pub(super) fn short(of: TypeId) -> &'static str {
    let name = Schema::get().at(of).name.as_str();
    name.rsplit('.').next().unwrap_or(name)
}

impl Named {
    pub(super) fn field(of: TypeId, field: &'static str) -> Self {
        Self { of, field, depth: 0 }
    }

    /// What stands in the list or the map of this field.
    pub(super) fn element(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }

    /// What Go calls its type, if the shape does not say it.
    pub(super) fn name(self) -> Option<&'static str> {
        let names = NAMED.get(&(Schema::get().at(self.of).name.as_str(), self.field))?;
        *names.get(self.depth)?
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
