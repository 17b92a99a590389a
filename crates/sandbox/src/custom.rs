//! Serves DedicatedPool and TaintwardPolicy from their definitions in `deploy/crds`.
//!
//! - Invariant: every CEL rule of a definition has a check here, or the server does not start.

mod fields;
mod openapi;
mod printer_columns;
mod read;
mod rules;
mod schema_validation;

#[cfg(test)]
mod tests;

pub(crate) use fields::{is_whole, types};

use crate::canonicalize::yaml_to_json;
use serde_json::Value;
use std::sync::LazyLock;

/// The definitions, as they are applied to other clusters.
const FILES: [&str; 2] = [
    include_str!("../../../deploy/crds/dedicatedpools.yaml"),
    include_str!("../../../deploy/crds/taintwardpolicies.yaml"),
];

/// The group of all of them.
pub(crate) const GROUP: &str = "taintward.io";

/// A kind, as its definition has it.
pub(crate) struct ResourceDefinition {
    plural: String,
    kind: String,
    version: String,
    /// The structural schema.
    schema: Value,
    columns: Vec<printer_columns::PrinterColumn>,
    /// Whether the status is written apart.
    has_status: bool,
}

static DEFINITIONS: LazyLock<Vec<ResourceDefinition>> =
    LazyLock::new(|| definitions().map(|whole| ResourceDefinition::new(&whole["spec"])).collect());

/// The definitions, as objects.
pub(crate) fn definitions() -> impl Iterator<Item = Value> {
    FILES.iter().map(|text| yaml_to_json(text.as_bytes()).unwrap_or_else(|why| panic!("a definition: {why}")))
}

impl ResourceDefinition {
    fn new(spec: &Value) -> Self {
        let version = &spec["versions"][0];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let schema = version["schema"]["openAPIV3Schema"].clone();
        rules::expect_checks(&schema);
        Self {
            plural: text(&spec["names"]["plural"]),
            kind: text(&spec["names"]["kind"]),
            version: text(&version["name"]),
            schema,
            columns: printer_columns::read(&version["additionalPrinterColumns"]),
            has_status: version["subresources"].get("status").is_some(),
        }
    }

    fn api_version(&self) -> String {
        format!("{GROUP}/{}", self.version)
    }
}

/// The definition of a resource, if it is one of these.
pub(crate) fn of(group: &str, plural: &str) -> Option<&'static ResourceDefinition> {
    let found = || DEFINITIONS.iter().find(|one| one.plural == plural);
    (group == GROUP).then(found).flatten()
}

/// The definition of a kind.
pub(crate) fn of_kind(api_version: &str, kind: &str) -> Option<&'static ResourceDefinition> {
    let version = api_version.strip_prefix(GROUP)?.strip_prefix('/')?;
    DEFINITIONS.iter().find(|one| one.version == version && one.kind == kind)
}

/// Whether a path is one of this group's objects, which have no form in protobuf.
pub(crate) fn is_path(path: &str) -> bool {
    let rest = path.strip_prefix("/apis/").and_then(|rest| rest.strip_prefix(GROUP));
    rest.is_some_and(|rest| rest.starts_with('/'))
}
