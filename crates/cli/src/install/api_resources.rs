//! Maps the kinds of an installation to their API paths and names.

use serde_json::Value;
use taintward_kube::object_client::ObjectRef;

/// Kind, group, version, plural.
const KINDS: [(&str, &str, &str, &str); 23] = [
    ("Namespace", "", "v1", "namespaces"),
    ("ServiceAccount", "", "v1", "serviceaccounts"),
    ("Service", "", "v1", "services"),
    ("Secret", "", "v1", "secrets"),
    ("ConfigMap", "", "v1", "configmaps"),
    ("Lease", "coordination.k8s.io", "v1", "leases"),
    ("CustomResourceDefinition", "apiextensions.k8s.io", "v1", "customresourcedefinitions"),
    ("ClusterRole", RBAC, "v1", "clusterroles"),
    ("ClusterRoleBinding", RBAC, "v1", "clusterrolebindings"),
    ("Role", RBAC, "v1", "roles"),
    ("RoleBinding", RBAC, "v1", "rolebindings"),
    ("FlowSchema", "flowcontrol.apiserver.k8s.io", "v1", "flowschemas"),
    ("Deployment", "apps", "v1", "deployments"),
    ("PodDisruptionBudget", "policy", "v1", "poddisruptionbudgets"),
    ("NetworkPolicy", "networking.k8s.io", "v1", "networkpolicies"),
    ("ValidatingAdmissionPolicy", ADMISSION, "v1", "validatingadmissionpolicies"),
    ("ValidatingAdmissionPolicyBinding", ADMISSION, "v1", "validatingadmissionpolicybindings"),
    ("MutatingWebhookConfiguration", ADMISSION, "v1", "mutatingwebhookconfigurations"),
    ("ValidatingWebhookConfiguration", ADMISSION, "v1", "validatingwebhookconfigurations"),
    ("PodMonitor", MONITORING, "v1", "podmonitors"),
    ("PrometheusRule", MONITORING, "v1", "prometheusrules"),
    ("DedicatedPool", "taintward.io", "v1alpha1", "dedicatedpools"),
    ("PoolGuard", "taintward.io", "v1alpha1", "poolguards"),
];

const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

/// The group of the Prometheus operator, whose kinds a cluster may lack.
pub(super) const MONITORING: &str = "monitoring.coreos.com";

/// The API path of the object.
pub(super) fn place(object: &Value) -> ObjectRef<'_> {
    let kind = object["kind"].as_str().unwrap_or_default();
    let known = KINDS.iter().find(|(known, ..)| *known == kind);
    let (_, group, version, plural) = known.expect("every kind of an installation is in the table");
    let part = |name| object["metadata"][name].as_str().unwrap_or_default();
    ObjectRef { group, version, plural, namespace: part("namespace"), name: part("name") }
}

/// `deployment.apps/taintward`, as kubectl prints it.
pub(super) fn called(object: &Value) -> String {
    let place = place(object);
    let kind = object["kind"].as_str().unwrap_or_default().to_ascii_lowercase();
    let dot = if place.group.is_empty() { "" } else { "." };
    format!("{kind}{dot}{}/{}", place.group, place.name)
}
