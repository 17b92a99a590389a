//! Deserializes values up to a size limit; each expansion of an alias counts.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::cell::Cell;
use std::fmt;

/// The approximate cost of a value besides its text.
const NODE: usize = 40;

/// A budget of bytes for values; each value that is read consumes some of it.
pub(crate) struct DecodeBudget(Cell<usize>);

impl DecodeBudget {
    /// For one object: ten times what a real server takes as a body.
    pub(crate) const OBJECT: usize = 32 << 20;

    pub(crate) fn of(bytes: usize) -> Self {
        Self(Cell::new(bytes))
    }

    fn take<E: Error>(&self, text: usize) -> Result<(), E> {
        match self.0.get().checked_sub(text + NODE) {
            Some(rest) => {
                self.0.set(rest);
                Ok(())
            }
            None => Err(E::custom("an object is larger than any API server takes")),
        }
    }
}

/// Deserializes a value within a budget.
#[derive(Clone, Copy)]
pub(crate) struct BoundedValue<'a>(pub(crate) &'a DecodeBudget);

impl<'de> DeserializeSeed<'de> for BoundedValue<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BoundedValue<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.0.take(0).map(|()| value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.0.take(0).map(|()| value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.0.take(0).map(|()| value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        self.0.take(0).map(|()| value.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        self.0.take(text.len()).map(|()| text.into())
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        self.deserialize(from)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.0.take(0).map(|()| Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.take(0)?;
        let mut all = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            all.push(item);
        }
        Ok(Value::Array(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.0.take(0)?;
        let mut all = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.0.take(key.len())?;
            all.insert(key, entries.next_value_seed(self)?);
        }
        Ok(Value::Object(all))
    }
}
