//! # Plan: the fields of a message as protobuf has them
//! Room:     for each type, its fields by number.
//! Comes in: the schema, once.
//! Goes out: [`Slot`]s in the order they are written.
//! Not here: what JSON needs to know.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::schema::{Field, Schema, Shape, TypeId};

/// A field of a message.
pub(super) struct Slot {
    pub(super) field: &'static Field,
    /// The list is a message of its own, with the elements as its field 1: Go gives it a type with a name.
    pub(super) wrapped: bool,
}

static PLAN: LazyLock<HashMap<TypeId, Vec<Slot>>> = LazyLock::new(|| {
    let schema = Schema::get();
    schema.types().map(|id| (id, slots(schema, id))).collect()
});

fn slots(schema: &'static Schema, id: TypeId) -> Vec<Slot> {
    let of = schema.at(id);
    let mut slots: Vec<Slot> = (of.fields.iter().filter(|field| field.number != 0))
        .map(|field| Slot { field, wrapped: of.name == "meta/v1.APIResource" && field.name == "verbs" })
        .collect();
    slots.sort_by_key(|slot| slot.field.number);
    slots
}

/// The fields of a type, by number.
pub(super) fn of(id: TypeId) -> &'static [Slot] {
    PLAN.get(&id).map_or(&[], Vec::as_slice)
}

/// The field of this number.
pub(super) fn numbered(id: TypeId, number: u32) -> Option<&'static Slot> {
    let slots = of(id);
    slots.binary_search_by_key(&number, |slot| slot.field.number).ok().map(|at| &slots[at])
}

/// How protobuf writes a value of this shape.
pub(super) fn wire_type(shape: &Shape) -> u8 {
    match shape {
        Shape::Bool | Shape::Int32 | Shape::Int64 => VARINT,
        Shape::Float64 => FIXED64,
        _ => BYTES,
    }
}

pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const BYTES: u8 = 2;
pub(super) const GROUP: u8 = 3;
pub(super) const GROUP_END: u8 = 4;
pub(super) const FIXED32: u8 = 5;
