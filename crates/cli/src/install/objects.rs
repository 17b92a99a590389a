//! Lists all objects of an installation in the order of their creation, with choices left open.
//!
//! - Invariant: each account gets only the rights that its component needs, without wildcards.

mod account_policies;
mod deployments;
mod flow_schemas;
mod network;
mod pool_policies;
mod rbac;
mod webhook_configurations;

use super::render::{RenderMode, yaml};
use super::template::{Template, TemplateEntry, field, map};
use super::values::{Condition, InstallValue, InstallValues};
use serde_json::Value;

/// Name of the controller's account and Deployment; the label by which everything of ours is found.
pub(crate) const NAME: &str = "taintward";
/// Name of the webhook's account, Deployment and Service.
pub(crate) const WEBHOOK: &str = "taintward-webhook";
/// The Secret in which a webhook keeps the certificate it makes for itself.
pub(crate) const CERTIFICATE: &str = "taintward-webhook-certificate";

/// The custom resources' definitions, by the names of their files.
pub(crate) const DEFINITIONS: [(&str, &str); 2] = [
    ("dedicatedpools.yaml", include_str!("../../../../deploy/crds/dedicatedpools.yaml")),
    ("taintwardpolicies.yaml", include_str!("../../../../deploy/crds/taintwardpolicies.yaml")),
];

/// An object that may be wanted.
pub(crate) struct InstalledObject {
    /// The file of the chart it stands in.
    pub(crate) file: &'static str,
    /// What is said above it.
    pub(crate) note: &'static str,
    pub(crate) when: Condition,
    pub(crate) sheet: Template,
}

/// An object for given choices.
#[derive(Clone, Debug)]
pub(crate) struct RenderedObject {
    /// With its notes.
    pub(crate) yaml: String,
    pub(crate) value: Value,
}

/// All that may be wanted, but for the definitions; they belong behind the first, which is the namespace.
pub(crate) fn planned() -> Vec<InstalledObject> {
    let mut all = vec![namespace()];
    all.extend(account_policies::bounds());
    all.extend(rbac::controller());
    all.extend(rbac::webhook());
    all.push(rbac::viewer());
    all.extend(flow_schemas::schemas());
    all.push(network::service());
    all.extend(deployments::deployments());
    all.extend(deployments::budgets());
    all.extend(network::policies());
    all.extend(pool_policies::policies());
    all.extend(webhook_configurations::configurations());
    all
}

/// What is wanted, in the order of creation.
pub(crate) fn objects(values: &InstallValues) -> Vec<RenderedObject> {
    let mut all = Vec::new();
    let wanted = planned().into_iter().filter(|planned| planned.when.holds(values));
    for planned in wanted {
        let note = if planned.note.is_empty() { String::new() } else { format!("# {}\n", planned.note) };
        let text = note + &yaml(&planned.sheet, RenderMode::Filled(values));
        all.push(RenderedObject { yaml: text, value: planned.sheet.filled(values) });
    }
    let behind = usize::from(Condition::OwnNamespace.holds(values));
    all.splice(behind..behind, definitions());
    all
}

/// The custom resources' definitions.
pub(crate) fn definitions() -> Vec<RenderedObject> {
    let object = |text: &str| RenderedObject {
        yaml: text.to_owned(),
        value: serde_saphyr::from_str(text).expect("what is shipped is YAML"),
    };
    DEFINITIONS.iter().map(|(_, text)| object(text)).collect()
}

/// Everything in it runs under the strictest level of Pod Security.
fn namespace() -> InstalledObject {
    let level = |key| field(key, "restricted");
    let labels = [
        field("app.kubernetes.io/name", NAME),
        level("pod-security.kubernetes.io/enforce"),
        level("pod-security.kubernetes.io/audit"),
        level("pod-security.kubernetes.io/warn"),
    ];
    let metadata = map([field("name", InstallValue::Namespace), field("labels", map(labels))]);
    InstalledObject {
        file: "",
        note: "",
        when: Condition::OwnNamespace,
        sheet: map([field("apiVersion", "v1"), field("kind", "Namespace"), field("metadata", metadata)]),
    }
}

/// The labels of a part's objects; also what its pods are found by.
fn labels(component: &'static str) -> Template {
    map([field("app.kubernetes.io/name", NAME), field("app.kubernetes.io/component", component)])
}

/// The beginning of an object that is in no namespace.
fn everywhere(
    api: &'static str,
    kind: &'static str,
    name: &'static str,
    component: &'static str,
) -> Vec<TemplateEntry> {
    let metadata = map([field("name", name), field("labels", labels(component))]);
    vec![field("apiVersion", api), field("kind", kind), field("metadata", metadata)]
}

/// The beginning of an object in our namespace.
fn within(
    api: &'static str,
    kind: &'static str,
    name: &'static str,
    component: &'static str,
) -> Vec<TemplateEntry> {
    let metadata = [
        field("name", name),
        field("namespace", InstallValue::Namespace),
        field("labels", labels(component)),
    ];
    vec![field("apiVersion", api), field("kind", kind), field("metadata", map(metadata))]
}

/// An object: its beginning, and the rest of its fields.
fn object(mut beginning: Vec<TemplateEntry>, rest: impl IntoIterator<Item = TemplateEntry>) -> Template {
    beginning.extend(rest);
    Template::Map(beginning)
}
