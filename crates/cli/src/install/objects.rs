//! Lists all objects of an installation in the order of their creation, as `deploy/chart` has them.
//!
//! - Invariant: Pod Security *restricted*; the pods' tolerations of nodes that are gone expire (P43); an account has the
//!   rights that its component needs, without wildcards, and creates neither Secrets nor pods.

use super::chart::{self, DEFINITIONS};
use super::helm_template::quoted;
use super::values::InstallValues;
use serde_json::Value;

/// Name of the controller's account and Deployment; the label by which everything of ours is found.
pub(super) const NAME: &str = "taintward";

/// An object for given choices.
#[derive(Clone, Debug)]
pub(super) struct RenderedObject {
    /// With its notes.
    pub(super) yaml: String,
    pub(super) value: Value,
}

impl RenderedObject {
    fn new(yaml: String) -> Self {
        let value = serde_saphyr::from_str(&yaml).expect("the chart's templates make YAML of any values");
        Self { yaml, value }
    }
}

/// What is wanted, in the order of creation.
pub(super) fn objects(values: &InstallValues) -> Vec<RenderedObject> {
    let own_namespace = values.has_own_namespace().then(|| namespace(&values.namespace));
    let definitions = DEFINITIONS.iter().map(|(_, text)| (*text).to_owned());
    let documents = chart::documents(values).expect("the chart's templates are rendered by tests");
    own_namespace.into_iter().chain(definitions).chain(documents).map(RenderedObject::new).collect()
}

/// Helm makes the namespace itself, so that the chart has none. Everything in it runs under the strictest level of Pod
/// Security.
fn namespace(name: &str) -> String {
    include_str!("namespace.yaml").replace("NAMESPACE", &quoted(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::admission::request::MAKERS;
    use taintward_kube::pools::{KNOWN_NODES, UNKNOWN_NODES};

    fn named<'o>(objects: &'o [RenderedObject], kind: &str, name: &str) -> &'o RenderedObject {
        let is_it = |object: &&RenderedObject| {
            object.value["kind"] == kind && object.value["metadata"]["name"] == name
        };
        objects.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} {name}"))
    }

    /// The chart cannot take names from the code.
    #[test]
    fn the_chart_names_things_as_the_code_does() {
        let objects = objects(&InstallValues::default());
        let quoted =
            |names: &[&str]| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        let pools =
            named(&objects, "ValidatingAdmissionPolicy", "taintward-dedicated-pools").value.to_string();
        let nodes = named(&objects, "ValidatingAdmissionPolicy", "taintward-unknown-nodes").value.to_string();
        assert!(pools.contains(&format!("!(request.userInfo.username in [{}])", quoted(&MAKERS))), "{pools}");
        let daemons = format!("request.userInfo.username in [{}] && ", quoted(&MAKERS[..2]));
        assert!(pools.contains(&daemons) && nodes.contains(&daemons), "{nodes}");
        assert!(
            nodes.contains(&format!("params.metadata.?labels.orValue({{}})[?'{UNKNOWN_NODES}']")),
            "{nodes}"
        );
        let binding = named(&objects, "ValidatingAdmissionPolicyBinding", "taintward-unknown-nodes");
        assert_eq!(binding.value["spec"]["paramRef"]["name"], KNOWN_NODES);
        let roles = named(&objects, "Role", "taintward-controller-dedicated-pools").value.to_string();
        assert!(roles.contains(&format!("[\"{KNOWN_NODES}\"]")), "{roles}");
        named(&objects, "ConfigMap", KNOWN_NODES);
        named(&objects, "Deployment", NAME);
    }

    #[test]
    fn flags_name_what_the_other_objects_are_called() {
        let objects = objects(&InstallValues::default());
        let webhook = named(&objects, "Deployment", "taintward-webhook");
        let flags = webhook.value["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
        let of = |flag: &str| {
            let value = flags.iter().find_map(|given| given.as_str()?.strip_prefix(flag)?.strip_prefix('='));
            value.unwrap_or_else(|| panic!("no {flag}"))
        };
        named(&objects, "Service", of("--service"));
        named(&objects, "Secret", of("--secret"));
        named(&objects, "MutatingWebhookConfiguration", of("--webhook-configuration"));
        named(&objects, "ValidatingWebhookConfiguration", of("--webhook-configuration"));
        assert_eq!(of("--namespace"), "taintward-system");
    }
}
