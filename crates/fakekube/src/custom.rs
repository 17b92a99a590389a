//! Serves custom resources from their definitions, which are registered once for the process.
//!
//! - Invariant: every CEL rule of a definition has a check, or the server does not start.
//! - Definitions that clients create are stored; no kind is served for them.

mod fields;
mod printer_columns;
mod read;
mod schema_validation;

#[cfg(test)]
mod tests;

pub use schema_validation::RuleCheck;

pub(crate) use fields::{is_whole, merge_keys};

use crate::canonicalize::yaml_to_json;
use crate::resource::ResourceType;
use crate::schema::Schema;
use serde_json::{Value, json};
use std::sync::OnceLock;

/// The OpenAPI documents of all types.
#[derive(Default)]
struct OpenApiTypes {
    text: String,
    whole: Vec<String>,
    /// By type: the fields that identify a list item, where there are several; sorted.
    keys: Vec<(String, Vec<&'static str>)>,
}

/// A custom kind that the server must serve.
#[derive(Clone, Copy, Debug)]
pub struct CustomResource {
    /// Its CustomResourceDefinition, in YAML, with one version.
    pub definition: &'static str,
    /// A check for each of its CEL rules, which this server cannot evaluate.
    pub checks: &'static [RuleCheck],
}

/// A kind, as its definition has it.
pub(crate) struct ResourceDefinition {
    /// The whole definition.
    pub(crate) object: Value,
    resource: ResourceType,
    source: CustomResource,
    /// The structural schema.
    schema: Value,
    columns: Vec<printer_columns::PrinterColumn>,
    /// Whether `status` is a subresource.
    has_status: bool,
}

static DEFINITIONS: OnceLock<Vec<ResourceDefinition>> = OnceLock::new();

/// Registers the custom kinds that every server of this process serves: the types of the API are created once. May be
/// called again with the same kinds; must be called before the first server starts.
///
/// # Panics
/// If other kinds, or none, are served already; if a definition is invalid, or has a rule without a check.
pub fn register(resources: &[CustomResource]) {
    let registered =
        DEFINITIONS.get_or_init(|| resources.iter().copied().map(ResourceDefinition::new).collect());
    ResourceType::add(registered.iter().map(|one| one.resource).collect());
    let texts = registered.iter().map(|one| one.source.definition);
    assert!(
        Schema::add(fields::types()) && texts.eq(resources.iter().map(|one| one.definition)),
        "custom kinds are registered once, and before the types of the API are used"
    );
}

/// The definitions.
pub(crate) fn definitions() -> &'static [ResourceDefinition] {
    DEFINITIONS.get().map_or(&[], Vec::as_slice)
}

impl ResourceDefinition {
    fn new(source: CustomResource) -> Self {
        let object = yaml_to_json(source.definition.as_bytes())
            .unwrap_or_else(|why| panic!("a definition of a custom kind: {why}"));
        let version = &object["spec"]["versions"][0];
        let schema = version["schema"]["openAPIV3Schema"].clone();
        schema_validation::expect_checks(&schema, source.checks);
        Self {
            resource: ResourceType::of_definition(&object["spec"]),
            source,
            schema,
            columns: printer_columns::read(&version["additionalPrinterColumns"]),
            has_status: version["subresources"].get("status").is_some(),
            object,
        }
    }

    fn api_version(&self) -> String {
        self.resource.api_version()
    }
}

/// The definition of a custom resource.
pub(crate) fn of(resource: &ResourceType) -> Option<&'static ResourceDefinition> {
    definitions().iter().find(|one| one.resource == *resource)
}

/// The definition of a custom kind.
pub(crate) fn of_kind(api_version: &str, kind: &str) -> Option<&'static ResourceDefinition> {
    let (group, version) = api_version.split_once('/')?;
    let is = |of: &ResourceType| of.group == group && of.version == version && of.kind == kind;
    definitions().iter().find(|one| is(&one.resource))
}

/// Whether a group has custom kinds.
pub(crate) fn is_group(group: &str) -> bool {
    definitions().iter().any(|one| one.resource.group == group)
}

/// Whether a path is that of a custom resource, which has no form in protobuf.
pub(crate) fn is_path(path: &str) -> bool {
    let rest = path.strip_prefix("/apis/").and_then(|rest| rest.split_once('/'));
    rest.is_some_and(|(group, _)| is_group(group))
}

impl ResourceDefinition {
    /// The component name that tools expect: the group backwards, the version, the kind.
    pub(crate) fn component(&self) -> String {
        let group: Vec<&str> = self.resource.group.split('.').rev().collect();
        format!("{}.{}.{}", group.join("."), self.resource.version, self.resource.kind)
    }

    /// The schema for OpenAPI, with the metadata of every object; `metadata` is the name of that component.
    pub(crate) fn described(&self, metadata: &str) -> Value {
        let mut schema = self.schema.clone();
        without_rules(&mut schema);
        schema["properties"]["metadata"] = json!({
            "description": "Its name, labels and what else every object has.",
            "allOf": [{"$ref": format!("#/components/schemas/{metadata}")}],
        });
        schema["x-kubernetes-group-version-kind"] = json!([{"group": self.resource.group, "version": self.resource.version, "kind": self.resource.kind}]);
        schema
    }
}

/// Removes the parts of a schema that concern only servers.
fn without_rules(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("x-kubernetes-validations");
            fields.values_mut().for_each(without_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(without_rules),
        _ => {}
    }
}
