//! # Zero: an object nothing has been said of
//! Room:     the JSON of a type's zero value: the structs that are always there, the fields that are never left out.
//! Comes in: a type.
//! Goes out: the object every creation is compared with.
//! Not here: defaults.

use crate::schema::{Omit, Schema, Shape, TypeId};
use serde_json::{Map, Value};

/// The zero value of a type.
pub(super) fn zero(of: TypeId) -> Value {
    let mut fields = Map::new();
    fill(of, &mut fields);
    Value::Object(fields)
}

fn fill(of: TypeId, into: &mut Map<String, Value>) {
    for field in &Schema::get().at(of).fields {
        match (&field.shape, field.omit) {
            (Shape::Object(inner), _) if field.inline && !field.pointer => fill(*inner, into),
            _ if field.inline => {}
            (Shape::Object(inner), Omit::Never | Omit::Empty) if !field.pointer => {
                into.insert(field.name.clone(), zero(*inner));
            }
            // Objects of one value are never empty to Go.
            (
                shape @ (Shape::Time
                | Shape::MicroTime
                | Shape::Duration
                | Shape::Quantity
                | Shape::IntOrString
                | Shape::Raw),
                Omit::Empty,
            ) if !field.pointer => {
                into.insert(field.name.clone(), zero_of(shape));
            }
            (shape, Omit::Never) => {
                let value = if field.pointer { Value::Null } else { zero_of(shape) };
                into.insert(field.name.clone(), value);
            }
            _ => {}
        }
    }
}

fn zero_of(shape: &Shape) -> Value {
    match shape {
        Shape::Bool => Value::Bool(false),
        Shape::Int32 | Shape::Int64 | Shape::Uint32 | Shape::Uint64 | Shape::Float64 | Shape::IntOrString => {
            0.into()
        }
        Shape::String => "".into(),
        Shape::Duration => "0s".into(),
        Shape::Quantity => "0".into(),
        _ => Value::Null,
    }
}
