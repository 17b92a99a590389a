//! # Machine: answers as programs read them
//! Room:     JSON with kubectl's indentation, YAML.
//! Comes in: an object.
//! Goes out: text that ends with a line.
//! Not here: JSONPath (`jsonpath.rs`).

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

/// Indented by four, as kubectl does.
pub(crate) fn json(object: &Value) -> String {
    let mut bytes = Vec::new();
    let mut writer = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b"    "));
    object.serialize(&mut writer).expect("a value can be written to memory");
    String::from_utf8(bytes).expect("JSON is text") + "\n"
}

/// One document. Long lines stay lines; what YAML 1.1 would take for something else than text is in quotes.
pub(super) fn yaml(object: &Value) -> Result<String, String> {
    let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
    let text = serde_saphyr::to_string_with_options(object, options).map_err(|why| why.to_string())?;
    Ok(if text.ends_with('\n') { text } else { text + "\n" })
}
