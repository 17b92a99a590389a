//! # Answer: a tree from an API server's JSON, and back
//! Room:     reading a [`Tree`] with serde, without places; writing it, its fields in their order.
//! Comes in: JSON.
//! Goes out: the same tree as from a file; whatever form serde writes.
//! Not here: JSON in files, where places count (`parse.rs`).

use super::{Entry, Span, Tree, Value};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use std::fmt;

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = from.deserialize_any(Any)?;
        Ok(Self { span: Span::default(), value })
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Truth(truth))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.to_string().into(), Some(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.to_string().into(), i64::try_from(number).ok()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number.to_string().into(), None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = elements.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = fields.next_entry::<String, Tree>()? {
            entries.push(Entry { key: key.into(), key_span: Span::default(), value });
        }
        Ok(Value::Map(entries.into()))
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Null => to.serialize_unit(),
            Value::Text(text) => to.serialize_str(text),
            Value::Truth(truth) => to.serialize_bool(*truth),
            Value::Number(_, Some(whole)) => to.serialize_i64(*whole),
            Value::Number(text, None) => match (text.parse::<u64>(), text.parse::<f64>()) {
                (Ok(large), _) => to.serialize_u64(large),
                (_, Ok(number)) => to.serialize_f64(number),
                _ => to.serialize_str(text),
            },
            Value::List(items) => to.collect_seq(items.iter()),
            Value::Map(_) => {
                let mut map = to.serialize_map(None)?;
                for entry in self.fields() {
                    map.serialize_entry(&*entry.key, &entry.value)?;
                }
                map.end()
            }
        }
    }
}
