//! Sets defaults of objects on creation and update, and their generation.
//!
//! - Fields that schedulers and kubelets do not read, such as probes and volumes, get no defaults.

use crate::custom;
use crate::json_ext::{self, at, fill, has, list, object, text};
use crate::quantity::Amount;
use crate::resource::{ResourceType, Subresource};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

mod admitted;
mod extension;
mod pod;
mod runtime_class;
mod workload;

pub use admitted::{priority, tolerations};
pub use runtime_class::runtime_class;

/// Kinds whose generation counts the changes of their `spec`.
const COUNTED: [&str; 16] = [
    "pods",
    "deployments",
    "replicasets",
    "daemonsets",
    "statefulsets",
    "jobs",
    "cronjobs",
    "poddisruptionbudgets",
    "podtemplates",
    "replicationcontrollers",
    "networkpolicies",
    "customresourcedefinitions",
    "mutatingwebhookconfigurations",
    "validatingwebhookconfigurations",
    "flowschemas",
    "prioritylevelconfigurations",
];

/// Sets the defaults that a reader of the API may rely on, on every create and update.
pub fn apply_defaults(resource: &ResourceType, object: &mut Value) {
    if let Some(definition) = custom::of(resource) {
        return definition.fill(object);
    }
    match (resource.group, resource.plural) {
        ("", "pods") => pod::pod(object),
        ("", "namespaces") => namespace(object),
        ("", "nodes") => node(object),
        ("", "secrets") => secret(object),
        ("scheduling.k8s.io", "priorityclasses") => fill(object, "preemptionPolicy", "PreemptLowerPriority"),
        ("autoscaling", _) => extension::autoscaler(object),
        ("apps" | "batch", plural) => workload::workload(plural, object),
        (_, plural) => extension::extension(plural, object),
    }
}

/// Which of the optional admission steps run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdmissionDefaults {
    /// ServiceAccount: pods get the service account `default`.
    pub service_account: bool,
    /// AD-2..4: pods tolerate not-ready and unreachable nodes for a while.
    pub default_tolerations: bool,
    /// AD-6: new nodes have the not-ready taint until a controller removes it.
    pub taint_new_nodes: bool,
}

impl Default for AdmissionDefaults {
    fn default() -> Self {
        Self { service_account: true, default_tolerations: true, taint_new_nodes: true }
    }
}

/// Sets what admission and creation add after the defaults. The name, namespace and UID are already known.
pub fn on_create(resource: &ResourceType, new: &mut Value, admission: AdmissionDefaults) {
    if let Some(definition) = custom::of(resource) {
        return definition.begin(new);
    }
    admitted::created(resource, new, admission);
    match (resource.group, resource.plural) {
        ("coordination.k8s.io", "leases") => lease(new),
        ("", "namespaces") => {
            new["status"] = json!({"phase": "Active"});
            let spec = object(new, "spec");
            if !list(spec, "finalizers").contains(&json!("kubernetes")) {
                let mut names = list(spec, "finalizers").to_vec();
                names.push(json!("kubernetes"));
                spec["finalizers"] = names.into();
            }
        }
        ("", "services") => new["status"] = json!({"loadBalancer": {}}),
        ("apps", "deployments" | "replicasets" | "daemonsets" | "statefulsets")
        | ("batch", "jobs" | "cronjobs")
        | ("policy", "poddisruptionbudgets")
        | ("flowcontrol.apiserver.k8s.io", _) => new["status"] = json!({}),
        ("apiextensions.k8s.io", _) => extension::defined(new),
        _ => {}
    }
}

/// Restores the metadata that no update changes. A UID and a grace period in the body are not overwritten, because they
/// are validated.
pub fn carry_over(old: &Value, new: &mut Value) {
    let (was, meta) = (&old["metadata"], object(new, "metadata"));
    fill(meta, "uid", was["uid"].clone());
    for name in ["creationTimestamp", "deletionTimestamp"] {
        if has(was, name) {
            meta[name] = was[name].clone();
        }
    }
    if has(was, "deletionGracePeriodSeconds") && !has(meta, "deletionGracePeriodSeconds") {
        meta["deletionGracePeriodSeconds"] = was["deletionGracePeriodSeconds"].clone();
    }
    keep(new, old, &["metadata", "generation"]);
}

/// Restores what this update may not change: the status, or everything but the status.
pub fn on_update(
    resource: &ResourceType,
    subresource: Option<Subresource>,
    old: &Value,
    new: &mut Value,
    admission: AdmissionDefaults,
) {
    if let Some(definition) = custom::of(resource) {
        return definition.keep(subresource, old, new);
    }
    let (group, resource) = (resource.group, resource.plural);
    let with_status = ["pods", "nodes", "namespaces", "services", "poddisruptionbudgets"].contains(&resource)
        || ["apps", "batch", "apiextensions.k8s.io", "flowcontrol.apiserver.k8s.io"].contains(&group);
    match subresource {
        None if with_status => {
            keep(new, old, &["status"]);
            match resource {
                "pods" if admission.default_tolerations => tolerations(new),
                "namespaces" => keep(new, old, &["spec", "finalizers"]),
                "daemonsets" => admitted::template_generation(old, new),
                _ => {}
            }
        }
        None if resource == "leases" => lease(new),
        Some(Subresource::Status) => {
            keep(new, old, &["spec"]);
            if ["deployments", "pods"].contains(&resource) {
                let name = if resource == "pods" { "ownerReferences" } else { "labels" };
                keep(new, old, &["metadata", name]);
            }
            if resource == "pods" && !has(&new["status"], "qosClass") {
                keep(new, old, &["status", "qosClass"]);
            }
        }
        Some(Subresource::Finalize) => keep(new, old, &["status"]),
        _ => {}
    }
}

/// Restores a field of the old object, or removes it if the old object had none.
fn keep(new: &mut Value, old: &Value, path: &[&str]) {
    let Some((name, before)) = path.split_last() else { return };
    let target = before.iter().fold(new, |value, name| object(value, name));
    match at(old, path) {
        Value::Null => {
            target.as_object_mut().map(|fields| fields.remove(*name));
        }
        kept => target[*name] = kept.clone(),
    }
}

/// Sets `metadata.generation`: 1 on create, one more when the `spec` changes. For Deployments, annotations count too,
/// because they are copied to the ReplicaSets. A change of the status does not count.
pub fn generation(resource: &ResourceType, old: Option<&Value>, new: &mut Value) {
    if let Some(definition) = custom::of(resource) {
        return definition.generation(old, new);
    }
    let resource = resource.plural;
    if !COUNTED.contains(&resource) {
        if resource == "priorityclasses" {
            object(new, "metadata")["generation"] =
                old.map_or(json!(1), |old| old["metadata"]["generation"].clone());
        }
        return;
    }
    let Some(old) = old else {
        object(new, "metadata")["generation"] = json!(1);
        return;
    };
    let was = json_ext::number(&old["metadata"], "generation").unwrap_or_default();
    let counted = if resource.ends_with("webhookconfigurations") { "webhooks" } else { "spec" };
    let same = at(old, &[counted]) == at(new, &[counted])
        && (resource != "deployments"
            || json_ext::entries(&old["metadata"], "annotations")
                .eq(json_ext::entries(&new["metadata"], "annotations")));
    object(new, "metadata")["generation"] = json!(if same { was } else { was + 1 });
}

fn namespace(namespace: &mut Value) {
    let name = text(&namespace["metadata"], "name").to_owned();
    if !name.is_empty() {
        object(object(namespace, "metadata"), "labels")["kubernetes.io/metadata.name"] = name.into();
    }
    fill(object(namespace, "status"), "phase", "Active");
}

fn node(node: &mut Value) {
    let range = text(&node["spec"], "podCIDR").to_owned();
    if !range.is_empty() {
        fill(object(node, "spec"), "podCIDRs", json!([range]));
    }
    let Some(status) = node.get_mut("status").filter(|status| status.is_object()) else { return };
    for list in ["capacity", "allocatable"] {
        amounts(status, list);
    }
    if has(status, "capacity") {
        fill(status, "allocatable", status["capacity"].clone());
    }
}

/// Canonicalizes resource quantities and rounds them up to a thousandth.
fn amounts(of: &mut Value, name: &str) {
    for value in of.get_mut(name).and_then(Value::as_object_mut).into_iter().flat_map(|map| map.values_mut())
    {
        if let Some(quantity) = Amount::read(value) {
            *value = quantity.in_milli().to_string().into();
        }
    }
}

/// Coordinated leader election is off by default, so its fields are dropped.
fn lease(lease: &mut Value) {
    if let Some(spec) = lease.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("strategy");
        spec.remove("preferredHolder");
    }
}

/// Encodes a Secret's `stringData` into `data`.
fn secret(secret: &mut Value) {
    if let Some(Value::Object(texts)) = secret.as_object_mut().and_then(|fields| fields.remove("stringData"))
    {
        let data = object(secret, "data");
        for (key, text) in texts {
            data[&key] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
        }
    }
    fill(secret, "type", "Opaque");
}

#[cfg(test)]
mod tests;
