//! # Go: values as a Go server's messages show them
//! Room:     objects with the field names, order and zero values of the server's own types, as JSON on one line or on
//!           many; and whether two objects are the same to the server.
//! Comes in: JSON values and the name of their type in the schema.
//! Goes out: [`Go`], text.
//! Not here: the text differences (`go/diff.rs`); where the server's types and the API's differ (`go/names.rs`).

use crate::parts;
use crate::quantity::{self, Quantity};
use crate::schema::{Field, Omit, Schema, Shape, TypeId};
use serde_json::{Value, json};

mod diff;
mod names;

pub(super) use diff::unified;

/// A value in the server's memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Go {
    /// A pointer, a list or a map that is not set.
    Nil,
    /// Text, a number, `true`, `false`.
    Leaf(Value),
    /// An amount.
    Amount(Quantity),
    /// A list.
    List(Vec<Self>),
    /// A map.
    Map(Vec<(String, Self)>),
    /// A struct.
    Fields(Vec<(String, Self)>),
}

/// Whether names and omissions are those of the API (as in `metav1`) or of the server's own types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Names {
    Api,
    Own,
}

/// An object of a type: `core/v1.PodSpec`.
pub(super) fn object(type_name: &str, value: &Value) -> Go {
    Schema::get().named(type_name).map_or(Go::Nil, |id| fields(id, value))
}

/// Text in quotes, as Go's `%q` does.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            '\n' => quoted += "\\n",
            '\t' => quoted += "\\t",
            '\r' => quoted += "\\r",
            c if c.is_control() => quoted += &format!("\\x{:02x}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

fn fields(id: TypeId, value: &Value) -> Go {
    let kind = Schema::get().at(id);
    let own = if kind.name.starts_with("meta/v1.") { Names::Api } else { Names::Own };
    let moved;
    let value = if kind.name == "core/v1.PodSpec" {
        moved = names::move_host_fields(value);
        &moved
    } else {
        value
    };
    let mut found = Vec::new();
    match (own, names::order(&kind.name)) {
        (Names::Own, Some(order)) => {
            for (own_name, name) in order {
                if let Some(field) = names::field(id, name) {
                    found.push((own_name, entry(field, &value[name])));
                }
            }
        }
        _ => {
            for field in &kind.fields {
                collect(field, value, own, &mut found);
            }
        }
    }
    Go::Fields(found)
}

fn collect(field: &Field, value: &Value, own: Names, found: &mut Vec<(String, Go)>) {
    let embedded = field.inline || (own == Names::Own && field.name == "metadata");
    if embedded && let Shape::Object(inner) = field.shape {
        let inner_value = if field.inline { value } else { &value[&field.name] };
        if let Go::Fields(inner) = fields(inner, inner_value) {
            found.extend(inner);
        }
        return;
    }
    let entry = entry(field, &value[&field.name]);
    match own {
        Names::Own => found.push((names::own(&field.name), entry)),
        Names::Api if field.omit != Omit::Never && is_empty(&entry, field) => {}
        Names::Api => found.push((field.name.clone(), entry)),
    }
}

fn is_empty(entry: &Go, field: &Field) -> bool {
    match entry {
        Go::Nil => true,
        Go::Leaf(value) => {
            !field.pointer && (*value == json!("") || *value == json!(0) || *value == json!(false))
        }
        Go::List(elements) => elements.is_empty(),
        Go::Map(entries) => entries.is_empty(),
        Go::Fields(_) | Go::Amount(_) => false,
    }
}

fn entry(field: &Field, value: &Value) -> Go {
    if value.is_null() && (field.pointer || matches!(field.shape, Shape::List(_) | Shape::Map(_))) {
        return Go::Nil;
    }
    shaped(&field.shape, value)
}

fn shaped(shape: &Shape, value: &Value) -> Go {
    let or = |zero: Value| Go::Leaf(if value.is_null() { zero } else { value.clone() });
    match shape {
        Shape::Bool => or(json!(false)),
        Shape::Int32 | Shape::Int64 | Shape::Uint32 | Shape::Uint64 | Shape::Float64 | Shape::IntOrString => {
            or(json!(0))
        }
        Shape::String => or(json!("")),
        Shape::Duration => or(json!("0s")),
        Shape::Quantity => match quantity::read(value) {
            Some(quantity) => Go::Amount(quantity),
            None => or(json!("0")),
        },
        Shape::Bytes | Shape::Time | Shape::MicroTime | Shape::Raw | Shape::Fields => {
            if value.is_null() {
                Go::Nil
            } else {
                Go::Leaf(value.clone())
            }
        }
        Shape::Object(inner) => fields(*inner, value),
        Shape::List(inner) => match value.as_array() {
            Some(elements) => Go::List(elements.iter().map(|element| shaped(inner, element)).collect()),
            None => Go::Nil,
        },
        Shape::Map(inner) => match value.as_object() {
            Some(entries) => {
                Go::Map(entries.iter().map(|(name, entry)| (name.clone(), shaped(inner, entry))).collect())
            }
            None => Go::Nil,
        },
    }
}

impl Go {
    /// Whether the server takes the two for the same: an empty list or map is none at all.
    pub(super) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Fields(a), Self::Fields(b)) | (Self::Map(a), Self::Map(b))
                if !a.is_empty() || !b.is_empty() =>
            {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && a.1.same(&b.1))
            }
            (Self::List(a), Self::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Self::Nil, Self::List(list)) | (Self::List(list), Self::Nil) => list.is_empty(),
            (Self::Nil, Self::Map(map)) | (Self::Map(map), Self::Nil) => map.is_empty(),
            _ => self == other,
        }
    }

    /// JSON on one line.
    pub(super) fn line(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, None);
        out
    }

    /// JSON on many lines, each level one space deeper.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut out = String::new();
        self.write(&mut out, Some(0));
        out.split('\n').map(str::to_owned).collect()
    }

    fn write(&self, out: &mut String, depth: Option<usize>) {
        match self {
            Self::Nil => out.push_str("null"),
            Self::Leaf(value) => out.push_str(&escaped(&value.to_string())),
            Self::Amount(quantity) => *out += &format!("\"{quantity}\""),
            Self::List(elements) => write_all(out, depth, ['[', ']'], elements, |out, depth, element| {
                element.write(out, depth);
            }),
            Self::Map(entries) | Self::Fields(entries) => {
                write_all(out, depth, ['{', '}'], entries, |out, depth, (name, entry)| {
                    *out += &escaped(&Value::from(name.as_str()).to_string());
                    out.push_str(if depth.is_some() { ": " } else { ":" });
                    entry.write(out, depth);
                });
            }
        }
    }
}

fn write_all<T>(
    out: &mut String,
    depth: Option<usize>,
    [open, close]: [char; 2],
    all: &[T],
    write: impl Fn(&mut String, Option<usize>, &T),
) {
    out.push(open);
    let inner = depth.map(|depth| depth + 1);
    for (index, one) in all.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        if let Some(inner) = inner {
            *out += &format!("\n{}", " ".repeat(inner));
        }
        write(out, inner, one);
    }
    if let Some(depth) = depth.filter(|_| !all.is_empty()) {
        *out += &format!("\n{}", " ".repeat(depth));
    }
    out.push(close);
}

/// Go's JSON is safe to put into HTML.
pub(super) fn escaped(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// Whether two objects of a kind have the same `spec` to the server.
pub(crate) fn same_field(api_version: &str, kind: &str, name: &str, old: &Value, new: &Value) -> bool {
    if parts::at(old, &[name]) == parts::at(new, &[name]) {
        return true;
    }
    let schema = Schema::get();
    let field = schema.kind(api_version, kind).and_then(|id| schema.field(id, name));
    match field {
        Some(field) => entry(field, &old[name]).same(&entry(field, &new[name])),
        None => false,
    }
}
