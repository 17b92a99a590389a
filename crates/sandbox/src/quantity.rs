//! Reads a quantity from JSON text or number.

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
