//! Stores objects of another cluster as they were, with identities, owners and status, without admission.

use super::{ApiServer, ResourcePath, WriteOptions, key};
use crate::canonicalize::normal;
use crate::custom;
use crate::defaults::apply_defaults;
use crate::resource::{ResourceId, known};
use crate::validate;
use serde_json::{Value, json};

impl ApiServer {
    /// Stores an object as it was, and creates its namespace if that is missing. Adds a UID and a creation time where
    /// they are missing. Replaces an object of the same name.
    ///
    /// # Errors
    /// Why the object cannot be stored, without its name.
    pub fn restore(&self, number: ResourceId, object: Value) -> Result<(), String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]));
        let (name, namespace) = (text(&object["metadata"]["name"]), text(&object["metadata"]["namespace"]));
        let resource = number.get();
        if let Some(error) = validate::of_name(resource, &namespace, &name).first() {
            return Err(format!("its name or namespace cannot be: {error}"));
        }
        let mut object = read(&version, &kind, object)?;
        // A real server does the same when it reads stored objects: it sets the defaults of fields that an older one
        // did not know.
        apply_defaults(resource, &mut object);
        if text(&object["metadata"]["uid"]).is_empty() {
            object["metadata"]["uid"] = json!(self.ids().uid());
        }
        if object["metadata"]["creationTimestamp"].is_null() {
            object["metadata"]["creationTimestamp"] = json!(self.clock().time_text());
        }
        if number.get().namespaced {
            self.ensure_namespace(&namespace);
        }
        let put = self.store().write(|txn| {
            txn.put(number, &key(&namespace, &name), object);
            Ok(())
        });
        put.map_err(|failure| failure.message)
    }

    fn ensure_namespace(&self, name: &str) {
        let namespaces = known("", "namespaces");
        if self.store().get(namespaces, name).is_none() {
            let on = ResourcePath::object(namespaces, "", "");
            let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            // The namespace was missing a moment ago. It is fine if it exists now.
            let _ = self.create(&on, object, &WriteOptions::by("kube-apiserver"));
        }
    }
}

/// Reads an object of a known kind. Custom resources are validated here, because nothing validates them later.
fn read(version: &str, kind: &str, object: Value) -> Result<Value, String> {
    let Some(definition) = custom::of_kind(version, kind) else {
        return normal(version, kind, object).map(|read| read.value).map_err(|why| why.to_string());
    };
    let mut object = definition.read(object).map_err(|why| why.to_string())?.value;
    definition.fill(&mut object);
    let mut errors = Vec::new();
    definition.judge(&object, None, &mut errors);
    errors.first().map_or(Ok(object), |error| Err(error.to_string()))
}
