//! # Quantity: amounts in JSON
//! Room:     an amount out of a text or a number, as JSON has it.
//! Comes in: JSON.
//! Goes out: the core's [`Quantity`].
//! Not here: what amounts mean and how they are written (`taintward_core::quantity`).

use serde_json::Value;
pub use taintward_core::quantity::Quantity;

/// Reads an amount; `None` if it is none.
pub fn read(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text.trim()).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}
