//! Derives types from structural schemas, for patches and field ownership.

use super::{OpenApiTypes, ResourceDefinition, definitions};
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::LazyLock;

static TYPES: LazyLock<OpenApiTypes> = LazyLock::new(|| {
    let mut types = OpenApiTypes::default();
    for definition in definitions() {
        types.add(definition);
    }
    types
});

/// The types, one line for each and one for each of their fields.
pub(super) fn types() -> &'static str {
    &TYPES.text
}

/// Whether objects of this type are owned as a whole.
pub(crate) fn is_whole(name: &str) -> bool {
    TYPES.whole.iter().any(|one| one == name)
}

/// The fields that identify a list item of this type, if there are several.
pub(crate) fn merge_keys(name: &str) -> Option<&'static [&'static str]> {
    TYPES.keys.iter().find(|(of, _)| of == name).map(|(_, keys)| keys.as_slice())
}

impl OpenApiTypes {
    pub(super) fn add(&mut self, definition: &'static ResourceDefinition) {
        let (version, kind) = (definition.api_version(), definition.resource.kind);
        let root = format!("{version}.{kind}");
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "kind {version} {kind} {root}");
        self.object(&root, &definition.schema, true);
    }

    /// Writes an object with its fields, followed by the objects within it.
    fn object(&mut self, name: &str, schema: &'static Value, root: bool) {
        if schema["x-kubernetes-map-type"] == "atomic" {
            self.whole.push(name.to_owned());
        }
        let _ = writeln!(self.text, "type {name}");
        let mut inner = Vec::new();
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            match field.as_str() {
                "apiVersion" | "kind" if root => continue,
                "metadata" if root => {
                    self.text.push_str(" 0 metadata meta/v1.ObjectMeta omitempty\n");
                    continue;
                }
                _ => {}
            }
            let place = format!("{name}{}", capital(field));
            let known = inner.len();
            let shape = shape(&place, schema, &mut inner);
            let keys = &schema["x-kubernetes-list-map-keys"];
            let mut keys: Vec<_> = keys.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if let (2.., Some((item, _))) = (keys.len(), inner.get(known)) {
                keys.sort_unstable();
                self.keys.push((item.clone(), keys));
            }
            let _ = writeln!(self.text, " 0 {field} {shape} pointer omitempty{}", merge(schema));
        }
        inner.into_iter().for_each(|(name, schema)| self.object(&name, schema, false));
    }
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The shape of a value; adds objects with fields of their own to `inner`.
fn shape<'a>(place: &str, schema: &'a Value, inner: &mut Vec<(String, &'a Value)>) -> String {
    if schema["x-kubernetes-int-or-string"] == true {
        return "IntOrString".to_owned();
    }
    match schema["type"].as_str().unwrap_or_default() {
        "object" if schema["properties"].is_object() => {
            inner.push((place.to_owned(), schema));
            place.to_owned()
        }
        "object" => format!("{{}}{}", shape(place, &schema["additionalProperties"], inner)),
        "array" => format!("[]{}", shape(place, &schema["items"], inner)),
        "integer" => "int64".to_owned(),
        "boolean" => "bool".to_owned(),
        "number" => "float64".to_owned(),
        _ => "string".to_owned(),
    }
}

/// The merge key of a list. Of several keys only the first is written here; the rules of ownership have all.
fn merge(schema: &Value) -> String {
    match (schema["x-kubernetes-list-type"].as_str(), schema["x-kubernetes-list-map-keys"][0].as_str()) {
        (Some("set"), _) => " strategy=merge".to_owned(),
        (Some("map"), Some(key)) => format!(" strategy=merge key={key}"),
        _ => String::new(),
    }
}
