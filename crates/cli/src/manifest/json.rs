//! Converts trees from and to JSON without positions, as API servers send it.
//!
//! - See `parse.rs` for JSON in files.

use super::{MapEntry, TextSpan, YamlNode, YamlValue};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = from.deserialize_any(JsonVisitor)?;
        Ok(Self { span: TextSpan::default(), value })
    }
}

/// A list's object with only those fields of its sections (`metadata`, `spec` ...) that a reader needs: a pod has hundreds.
pub(crate) fn excerpt(json: &[u8], keep: impl Fn(&str, &str) -> bool) -> serde_json::Result<YamlNode> {
    type Fields<'j> = BTreeMap<Cow<'j, str>, &'j RawValue>;
    let map =
        |entries: Vec<MapEntry>| YamlNode { value: YamlValue::Map(entries.into()), ..YamlNode::default() };
    let entry =
        |key: &str, value| MapEntry { key: key.into(), key_span: TextSpan::default(), value, earlier: None };
    let mut entries = Vec::new();
    for (section, raw) in serde_json::from_slice::<Fields<'_>>(json)? {
        let value = match raw.get().starts_with('{') {
            true => {
                let fields = serde_json::from_str::<Fields<'_>>(raw.get())?.into_iter();
                let kept = fields.filter(|(field, _)| keep(&section, field));
                let read = kept.map(|(field, raw)| Ok(entry(&field, serde_json::from_str(raw.get())?)));
                map(read.collect::<serde_json::Result<_>>()?)
            }
            false => serde_json::from_str(raw.get())?,
        };
        entries.push(entry(&section, value));
    }
    Ok(map(entries))
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = YamlValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<YamlValue, E> {
        Ok(YamlValue::Truth(truth))
    }

    fn visit_str<E>(self, text: &str) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(text.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number(number.to_string().into(), Some(number)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number(number.to_string().into(), i64::try_from(number).ok()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<YamlValue, E> {
        Ok(YamlValue::Number(number.to_string().into(), None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<YamlValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = elements.next_element()? {
            items.push(item);
        }
        Ok(YamlValue::List(items.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<YamlValue, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = fields.next_entry::<String, YamlNode>()? {
            entries.push(MapEntry { key: key.into(), key_span: TextSpan::default(), value, earlier: None });
        }
        Ok(YamlValue::Map(entries.into()))
    }
}

impl Serialize for YamlNode {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            YamlValue::Null => to.serialize_unit(),
            YamlValue::Text(text) => to.serialize_str(text),
            YamlValue::Truth(truth) => to.serialize_bool(*truth),
            YamlValue::Number(_, Some(whole)) => to.serialize_i64(*whole),
            YamlValue::Number(text, None) => match (text.parse::<u64>(), text.parse::<f64>()) {
                (Ok(large), _) => to.serialize_u64(large),
                (_, Ok(number)) => to.serialize_f64(number),
                _ => to.serialize_str(text),
            },
            YamlValue::List(items) => to.collect_seq(items.iter()),
            YamlValue::Map(_) => {
                let mut map = to.serialize_map(None)?;
                for entry in self.fields() {
                    map.serialize_entry(&*entry.key, &entry.value)?;
                }
                map.end()
            }
        }
    }
}
