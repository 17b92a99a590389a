//! Prunes unknown fields of custom objects and sets defaults.

use super::ResourceDefinition;
use crate::canonicalize::{Canonical, CanonicalizeError, of_type};
use crate::resource::Subresource;
use crate::schema::Schema;
use serde_json::{Map, Value};

impl ResourceDefinition {
    /// Drops the unknown fields of a body.
    ///
    /// # Errors
    /// If its metadata is not an object.
    pub(crate) fn read(&self, mut body: Value) -> Result<Canonical, CanonicalizeError> {
        let mut unknown = Vec::new();
        let metadata = body.get_mut("metadata").map(Value::take);
        if let Some(object) = body.as_object_mut() {
            object.remove("metadata");
        }
        let metadata = match (metadata, Schema::get().named("meta/v1.ObjectMeta")) {
            (Some(metadata), Some(of)) if !metadata.is_null() => {
                let read = of_type(of, metadata)?;
                unknown.extend(read.unknown.iter().map(|warning| warning.replacen('"', "\"metadata.", 1)));
                read.value
            }
            _ => Value::Object(Map::new()),
        };
        prune(&self.schema, &mut body, &mut String::new(), &mut unknown);
        if let Some(object) = body.as_object_mut() {
            object.insert("metadata".into(), metadata);
            object.insert("apiVersion".into(), self.api_version().into());
            object.insert("kind".into(), self.resource.kind.into());
        }
        Ok(Canonical { value: body, unknown })
    }

    /// Sets defaults, and drops null values.
    pub(crate) fn fill(&self, object: &mut Value) {
        fill(&self.schema, object);
    }

    /// Drops the status of a new object if it is a subresource.
    pub(crate) fn begin(&self, object: &mut Value) {
        if let Some(object) = object.as_object_mut().filter(|_| self.has_status) {
            object.remove("status");
        }
    }

    /// Restores what this request may not change: the status, or all but the status.
    pub(crate) fn keep(&self, subresource: Option<Subresource>, old: &Value, new: &mut Value) {
        let Some(fields) = new.as_object_mut() else { return };
        if subresource == Some(Subresource::Status) {
            let owners = fields.get("metadata").and_then(|metadata| metadata.get("managedFields")).cloned();
            let version =
                fields.get("metadata").and_then(|metadata| metadata.get("resourceVersion")).cloned();
            let status = fields.remove("status");
            *fields = old.as_object().cloned().unwrap_or_default();
            fields.remove("status");
            status.map(|status| fields.insert("status".into(), status));
            if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                for (name, value) in [("managedFields", owners), ("resourceVersion", version)] {
                    metadata.remove(name);
                    value.map(|value| metadata.insert(name.into(), value));
                }
            }
        } else if self.has_status {
            fields.remove("status");
            old.get("status").map(|status| fields.insert("status".into(), status.clone()));
        }
    }

    /// The generation counts all changes but those of metadata, and of a status that is a subresource.
    pub(crate) fn generation(&self, old: Option<&Value>, new: &mut Value) {
        let number = |object: &Value| object["metadata"]["generation"].as_i64().unwrap_or(0);
        let fields = |object: &Value| -> Map<String, Value> {
            let apart = |name: &str| name == "metadata" || self.has_status && name == "status";
            let all = object.as_object().into_iter().flatten().filter(|(name, _)| !apart(name));
            all.map(|(name, value)| (name.clone(), value.clone())).collect()
        };
        let next = match old {
            None => 1,
            Some(old) if fields(old) == fields(new) => number(old),
            Some(old) => number(old) + 1,
        };
        new["metadata"]["generation"] = next.into();
    }
}

/// One step along a field.
pub(super) fn step(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

fn prune(schema: &Value, value: &mut Value, path: &mut String, unknown: &mut Vec<String>) {
    let length = path.len();
    match value {
        Value::Object(fields) if schema["properties"].is_object() => {
            let known = &schema["properties"];
            fields.retain(|name, value| {
                step(path, name);
                match known.get(name) {
                    Some(schema) => prune(schema, value, path, unknown),
                    None => unknown.push(format!("unknown field {path:?}")),
                }
                path.truncate(length);
                known.get(name).is_some()
            });
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                step(path, key);
                prune(&schema["additionalProperties"], value, path, unknown);
                path.truncate(length);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                path.push_str(&format!("[{at}]"));
                prune(&schema["items"], item, path, unknown);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

fn fill(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let of = |name: &str| schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
            fields.retain(|name, value| !value.is_null() || of(name).get("default").is_some());
            for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
                let Some(default) = schema.get("default") else { continue };
                let slot = fields.entry(name.clone()).or_insert(Value::Null);
                if slot.is_null() {
                    *slot = default.clone();
                }
            }
            for (name, value) in fields {
                fill(of(name), value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(&schema["items"], item)),
        _ => {}
    }
}
