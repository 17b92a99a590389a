//! Converts a definition's schema to an OpenAPI component.

use super::ResourceDefinition;
use serde_json::{Value, json};

/// What stands in schemas for servers, not for readers.
const INTERNAL: [&str; 1] = ["x-kubernetes-validations"];

impl ResourceDefinition {
    /// As tools expect it: the group backwards, the version, the kind.
    pub(crate) fn component(&self) -> String {
        let group: Vec<&str> = self.resource.group.split('.').rev().collect();
        format!("{}.{}.{}", group.join("."), self.resource.version, self.resource.kind)
    }

    /// The schema, with metadata as every object has it; `metadata` names that component.
    pub(crate) fn described(&self, metadata: &str) -> Value {
        let mut schema = self.schema.clone();
        bare(&mut schema);
        schema["properties"]["metadata"] = json!({
            "description": "Its name, labels and what else every object has.",
            "allOf": [{"$ref": format!("#/components/schemas/{metadata}")}],
        });
        schema["x-kubernetes-group-version-kind"] = json!([{"group": self.resource.group, "version": self.resource.version, "kind": self.resource.kind}]);
        schema
    }
}

fn bare(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            INTERNAL.iter().for_each(|name| drop(fields.remove(*name)));
            fields.values_mut().for_each(bare);
        }
        Value::Array(items) => items.iter_mut().for_each(bare),
        _ => {}
    }
}
