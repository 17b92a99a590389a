//! Prints JSON, with kubectl's indentation, and YAML.
//!
//! - Invariant: characters that control a terminal or change the direction are escaped.

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_saphyr::DoubleQuoted;
use serde_saphyr::SerializerOptions;
use taintward_core::text::{is_hazard, numbered};

/// Indented by four, as kubectl does.
pub(crate) fn json(object: &Value) -> String {
    let mut bytes = Vec::new();
    let mut writer = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b"    "));
    object.serialize(&mut writer).expect("serialization to memory cannot fail");
    numbered(String::from_utf8(bytes).expect("JSON is text") + "\n")
}

/// One document. Long lines are not wrapped; text that YAML 1.1 would take for another type is quoted.
pub(super) fn yaml(object: &Value) -> Result<String, String> {
    let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
    yaml_with(object, options)
}

/// One document with these options.
pub(crate) fn yaml_with(object: &Value, options: SerializerOptions) -> Result<String, String> {
    let text =
        serde_saphyr::to_string_with_options(&YamlSafe(object), options).map_err(|why| why.to_string())?;
    Ok(numbered(if text.ends_with('\n') { text } else { text + "\n" }))
}

/// A value whose texts are double-quoted if they contain hazardous characters, which can be escaped only there.
struct YamlSafe<'v>(&'v Value);

impl Serialize for YamlSafe<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text) => YamlText(text).serialize(serializer),
            Value::Array(items) => serializer.collect_seq(items.iter().map(YamlSafe)),
            Value::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(name, value)| (YamlText(name), YamlSafe(value))))
            }
            plain => plain.serialize(serializer),
        }
    }
}

struct YamlText<'v>(&'v str);

impl Serialize for YamlText<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Line breaks are not escaped, so that a text of several lines stays readable.
        match self.0.contains(|c| c != '\n' && is_hazard(c)) {
            true => DoubleQuoted(self.0).serialize(serializer),
            false => serializer.serialize_str(self.0),
        }
    }
}
