//! Writes the zero values that Go's encoder writes, and removes those that it omits.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::schema::{Omit, Schema, SchemaField, Shape, TypeId};

/// The zero value of a shape.
pub(crate) fn zero(shape: &Shape) -> Value {
    match shape {
        Shape::Bool => false.into(),
        Shape::Int32 | Shape::Int64 | Shape::Float64 | Shape::IntOrString => 0.into(),
        Shape::String => "".into(),
        Shape::Quantity => "0".into(),
        Shape::Bytes | Shape::Time | Shape::MicroTime | Shape::Raw | Shape::Fields => Value::Null,
        Shape::List(_) | Shape::Map(_) => Value::Null,
        Shape::Object(of) => {
            let mut object = Map::new();
            complete(*of, &mut object);
            Value::Object(object)
        }
    }
}

/// Adds unset fields that are written anyway, and removes set fields that are omitted.
pub(crate) fn complete(of: TypeId, object: &mut Map<String, Value>) {
    for field in &Schema::get().at(of).fields {
        match (&field.shape, object.remove(&field.name)) {
            (Shape::Object(inner), _) if field.inline => complete(*inner, object),
            (_, value) => {
                let value = value.map_or_else(|| unset(field), |value| written(field, value));
                value.map(|value| object.insert(field.name.clone(), value));
            }
        }
    }
}

/// The value of a set field as it is written; `None` if it is omitted.
pub(super) fn written(field: &SchemaField, value: Value) -> Option<Value> {
    if left_out(field, &value) {
        return None;
    }
    // Stored objects are protobuf, which does not distinguish an empty list from an absent one.
    let hollow = matches!(field.shape, Shape::List(_) | Shape::Map(_)) && is_empty(&value);
    Some(if hollow { none(field) } else { value })
}

/// Adds unset fields that are written anyway.
pub(super) fn add_unset(of: TypeId, object: &mut Map<String, Value>) {
    for (name, value) in &UNSET[of.place()] {
        if !object.contains_key(name) {
            object.insert(name.clone(), value.clone());
        }
    }
}

/// By type: the unset fields that are written anyway, with their values. Most types have few or none.
static UNSET: LazyLock<Vec<Vec<(String, Value)>>> = LazyLock::new(|| {
    let all = Schema::get().types();
    all.map(|of| {
        let mut zero = Map::new();
        complete(of, &mut zero);
        zero.into_iter().collect()
    })
    .collect()
});

/// The value that is written for an unset field.
fn unset(field: &SchemaField) -> Option<Value> {
    if field.pointer {
        return (field.omit == Omit::Never).then_some(Value::Null);
    }
    // `omitempty` never leaves out a struct, and these are structs.
    let always = matches!(
        field.shape,
        Shape::Object(_)
            | Shape::Time
            | Shape::MicroTime
            | Shape::Quantity
            | Shape::IntOrString
            | Shape::Raw
            | Shape::Fields
    );
    match field.omit {
        Omit::Never => Some(none(field)),
        Omit::Empty if always => Some(zero(&field.shape)),
        Omit::Empty | Omit::Zero => None,
    }
}

/// The zero value of a field. A list of objects that are never stored is empty instead of absent.
fn none(field: &SchemaField) -> Value {
    if field.name == "items"
        && matches!(&field.shape, Shape::List(of) if matches!(**of, Shape::Object(_) | Shape::Raw))
    {
        return Value::Array(Vec::new());
    }
    zero(&field.shape)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        _ => false,
    }
}

fn left_out(field: &SchemaField, value: &Value) -> bool {
    if field.omit == Omit::Never {
        return false;
    }
    match value {
        Value::Null => {
            field.pointer
                || !matches!(field.shape, Shape::Time | Shape::MicroTime | Shape::Raw | Shape::Fields)
                || field.omit == Omit::Zero
        }
        _ if field.pointer => false,
        Value::Bool(set) => !set,
        Value::Number(number) => field.shape != Shape::IntOrString && number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty() && matches!(field.shape, Shape::String | Shape::Bytes),
        Value::Array(items) => items.is_empty() && matches!(field.shape, Shape::List(_)),
        Value::Object(entries) => entries.is_empty() && matches!(field.shape, Shape::Map(_)),
    }
}
