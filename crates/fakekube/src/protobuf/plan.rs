//! Lists the protobuf fields of each type by number.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::schema::{Schema, SchemaField, Shape, TypeId};

static PLAN: LazyLock<HashMap<TypeId, Vec<&'static SchemaField>>> = LazyLock::new(|| {
    let schema = Schema::get();
    schema.types().map(|id| (id, fields(schema, id))).collect()
});

fn fields(schema: &'static Schema, id: TypeId) -> Vec<&'static SchemaField> {
    let mut fields: Vec<_> = schema.at(id).fields.iter().filter(|field| field.number != 0).collect();
    fields.sort_by_key(|field| field.number);
    fields
}

/// The fields of a type, by number.
pub(super) fn of(id: TypeId) -> &'static [&'static SchemaField] {
    PLAN.get(&id).map_or(&[], Vec::as_slice)
}

/// The field of this number.
pub(super) fn numbered(id: TypeId, number: u32) -> Option<&'static SchemaField> {
    let fields = of(id);
    fields.binary_search_by_key(&number, |field| field.number).ok().map(|at| fields[at])
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
