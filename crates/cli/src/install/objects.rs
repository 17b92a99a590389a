//! # Objects: what an installation consists of
//! Room:     every object, in the order in which they are created: webhook configurations come last.
//! Comes in: nothing; choices are left open.
//! Goes out: [`Planned`] objects, and the same for given choices.
//! Keeps:    each account may do what its part needs and nothing more; no rule has a wildcard.
//! Not here: the definitions of custom resources, which are files of their own (`deploy/crds`).

mod access;
mod bounds;
mod fairness;
mod hooks;
mod network;
mod pool_guard;
mod workload;

use super::sheet::{Entry, Sheet, field, map};
use super::text::{Ink, yaml};
use super::values::{Knob, Values, When};
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
pub(crate) struct Planned {
    /// The file of the chart it stands in.
    pub(crate) file: &'static str,
    /// What is said above it.
    pub(crate) note: &'static str,
    pub(crate) when: When,
    pub(crate) sheet: Sheet,
}

/// An object for given choices.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// With its notes.
    pub(crate) yaml: String,
    pub(crate) value: Value,
}

/// All that may be wanted, but for the definitions; they belong behind the first, which is the namespace.
pub(crate) fn planned() -> Vec<Planned> {
    let mut all = vec![namespace()];
    all.extend(bounds::bounds());
    all.extend(access::controller());
    all.extend(access::webhook());
    all.push(access::viewer());
    all.extend(fairness::schemas());
    all.push(network::service());
    all.extend(workload::deployments());
    all.extend(workload::budgets());
    all.extend(network::policies());
    all.extend(pool_guard::policies());
    all.extend(hooks::configurations());
    all
}

/// What is wanted, in the order of creation.
pub(crate) fn objects(values: &Values) -> Vec<Object> {
    let mut all = Vec::new();
    let wanted = planned().into_iter().filter(|planned| planned.when.holds(values));
    for planned in wanted {
        let note = if planned.note.is_empty() { String::new() } else { format!("# {}\n", planned.note) };
        let text = note + &yaml(&planned.sheet, Ink::Filled(values));
        all.push(Object { yaml: text, value: planned.sheet.filled(values) });
    }
    let behind = usize::from(When::OwnNamespace.holds(values));
    all.splice(behind..behind, definitions());
    all
}

/// The custom resources' definitions.
pub(crate) fn definitions() -> Vec<Object> {
    let object = |text: &str| Object {
        yaml: text.to_owned(),
        value: serde_saphyr::from_str(text).expect("what is shipped is YAML"),
    };
    DEFINITIONS.iter().map(|(_, text)| object(text)).collect()
}

/// Everything in it runs under the strictest level of Pod Security.
fn namespace() -> Planned {
    let level = |key| field(key, "restricted");
    let labels = [
        field("app.kubernetes.io/name", NAME),
        level("pod-security.kubernetes.io/enforce"),
        level("pod-security.kubernetes.io/audit"),
        level("pod-security.kubernetes.io/warn"),
    ];
    let metadata = map([field("name", Knob::Namespace), field("labels", map(labels))]);
    Planned {
        file: "",
        note: "",
        when: When::OwnNamespace,
        sheet: map([field("apiVersion", "v1"), field("kind", "Namespace"), field("metadata", metadata)]),
    }
}

/// The labels of a part's objects; also what its pods are found by.
fn labels(component: &'static str) -> Sheet {
    map([field("app.kubernetes.io/name", NAME), field("app.kubernetes.io/component", component)])
}

/// The beginning of an object that is in no namespace.
fn everywhere(
    api: &'static str,
    kind: &'static str,
    name: &'static str,
    component: &'static str,
) -> Vec<Entry> {
    let metadata = map([field("name", name), field("labels", labels(component))]);
    vec![field("apiVersion", api), field("kind", kind), field("metadata", metadata)]
}

/// The beginning of an object in our namespace.
fn within(api: &'static str, kind: &'static str, name: &'static str, component: &'static str) -> Vec<Entry> {
    let metadata =
        [field("name", name), field("namespace", Knob::Namespace), field("labels", labels(component))];
    vec![field("apiVersion", api), field("kind", kind), field("metadata", map(metadata))]
}

/// An object: its beginning, and the rest of its fields.
fn object(mut beginning: Vec<Entry>, rest: impl IntoIterator<Item = Entry>) -> Sheet {
    beginning.extend(rest);
    Sheet::Map(beginning)
}
