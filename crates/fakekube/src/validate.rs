//! Validates objects of the kinds that schedulers, kubelets and workload controllers act on, with an API server's messages.
//!
//! - Other kinds are accepted if they fit their type.

use serde_json::Value;

mod field_error;
mod meta;
mod node_affinity;
mod pod;
mod pod_update;
mod selector;
mod simple;
mod taints;
mod words;
mod workload;

pub use field_error::{FieldError, FieldErrorKind, status};

use crate::custom;
use crate::json_ext::text;
use crate::resource::ResourceType;
use field_error::FieldErrors;

/// Whether objects of a resource are in namespaces.
fn is_namespaced(group: &str, resource: &str) -> bool {
    ResourceType::all().any(|one| one.group == group && one.plural == resource && one.namespaced)
}

/// What a kind's names must look like.
fn name_format(group: &str, resource: &str) -> meta::NameValidator {
    match (group, resource) {
        ("", "namespaces") => words::dns_label,
        ("" | "apps" | "batch" | "coordination.k8s.io" | "discovery.k8s.io" | "scheduling.k8s.io", _) => {
            words::dns_subdomain
        }
        (group, _) if custom::is_group(group) => words::dns_subdomain,
        _ => words::path_segment,
    }
}

/// What is wrong with a new object. Empty: it may be created.
pub fn on_create(group: &str, resource: &str, object: &Value) -> Vec<FieldError> {
    let mut faults = FieldErrors::default();
    if let Some(definition) = custom::of(group, resource) {
        meta::whole(&mut faults, object, false, words::dns_subdomain);
        definition.judge(object, "", &mut faults.0);
        return faults.0;
    }
    itself(&mut faults, group, resource, object);
    if faults.0.is_empty() && resource != "bindings" {
        meta::whole(&mut faults, object, is_namespaced(group, resource), words::path_segment);
    }
    faults.0
}

/// What is wrong with the name and the namespace of an object that is taken as it is.
pub(crate) fn of_name(group: &str, resource: &str, namespace: &str, name: &str) -> Vec<String> {
    let mut faults = name_format(group, resource)(name);
    if !namespace.is_empty() {
        faults.extend(words::dns_label(namespace));
    }
    faults
}

/// The status that answers an update without a `resourceVersion`, of a kind that wants one. It calls the kind by its
/// resource. Of other kinds, such an update is of whatever version there is.
pub fn without_version(group: &str, resource: &str, new: &Value) -> Option<Value> {
    let unnamed = text(&new["metadata"], "resourceVersion").is_empty();
    let strict = ["leases", "leasecandidates", "poddisruptionbudgets", "customresourcedefinitions"]
        .contains(&resource)
        || resource.ends_with("webhookconfigurations")
        || custom::of(group, resource).is_some();
    (unnamed && strict).then(|| {
        let mut faults = FieldErrors::default();
        faults.invalid("metadata.resourceVersion", 0, "must be specified for an update");
        status(group, resource, text(&new["metadata"], "name"), &faults.0)
    })
}

/// What is wrong with a change. `subresource` is empty or `status`, or `finalize` of a namespace. Empty: it may be made.
pub fn on_update(
    group: &str,
    resource: &str,
    subresource: &str,
    old: &Value,
    new: &Value,
) -> Vec<FieldError> {
    let mut faults = FieldErrors::default();
    if let Some(definition) = custom::of(group, resource) {
        meta::whole(&mut faults, new, false, words::path_segment);
        // A server judges the change of metadata twice, and tells of it once.
        (0..2).for_each(|_| meta::update(&mut faults, old, new));
        definition.judge(new, subresource, &mut faults.0);
        return faults.0;
    }
    meta::whole(&mut faults, new, is_namespaced(group, resource), words::path_segment);
    meta::update(&mut faults, old, new);
    match (subresource, resource) {
        ("", _) => changed(&mut faults, group, resource, old, new),
        ("status", "pods") => pod_update::status(&mut faults, old, new),
        ("status", "nodes") => {
            meta::known_update(&mut faults, old, new);
            simple::node_update(&mut faults, old, new);
        }
        ("finalize", _) => {
            meta::update(&mut faults, old, new);
            simple::namespace(&mut faults, new, true);
        }
        _ => {}
    }
    faults.0
}

/// What is wrong with an object by itself.
fn itself(faults: &mut FieldErrors, group: &str, resource: &str, object: &Value) {
    match (group, resource) {
        ("", "pods") => return pod::create(faults, object),
        ("", "bindings") => return simple::binding(faults, object),
        (_, "events") => return simple::event(faults, object, !group.is_empty()),
        ("policy", "poddisruptionbudgets") => return simple::budget(faults, object),
        ("coordination.k8s.io", _) => meta::whole(faults, object, true, words::dns_subdomain),
        ("" | "apps" | "batch" | "scheduling.k8s.io", _) => {
            let namespaced = is_namespaced(group, resource);
            meta::known(faults, object, namespaced, name_format(group, resource));
        }
        _ => return,
    }
    match (group, resource) {
        ("", "nodes") => simple::node(faults, object),
        ("", "namespaces") => simple::namespace(faults, object, false),
        ("apps", "deployments") => workload::deployment(faults, object),
        ("apps", "replicasets") => workload::replica_set(faults, object),
        ("apps", "daemonsets") => workload::daemon_set(faults, object),
        ("batch", "jobs") => workload::job(faults, object),
        ("coordination.k8s.io", "leases") => simple::lease(faults, object),
        ("scheduling.k8s.io", "priorityclasses") => simple::priority_class(faults, object),
        _ => {}
    }
}

fn changed(faults: &mut FieldErrors, group: &str, resource: &str, old: &Value, new: &Value) {
    match (group, resource) {
        ("", "pods") => pod_update::update(faults, old, new),
        ("", "nodes") => {
            itself(faults, group, resource, new);
            meta::known_update(faults, old, new);
            simple::node_update(faults, old, new);
        }
        ("", "namespaces") => {
            itself(faults, group, resource, new);
            meta::known_update(faults, old, new);
        }
        ("", "events") => simple::event(faults, new, false),
        (_, "events") => {
            simple::event(faults, new, true);
            simple::event_update(faults, old, new);
        }
        ("policy", "poddisruptionbudgets") => simple::budget(faults, new),
        ("coordination.k8s.io", "leases") => {
            meta::update(faults, old, new);
            simple::lease(faults, new);
        }
        ("batch", "jobs") => {
            itself(faults, group, resource, new);
            meta::known_update(faults, old, new);
            workload::job_update(faults, old, new);
        }
        ("" | "batch", _) => {
            meta::known_update(faults, old, new);
            itself(faults, group, resource, new);
        }
        ("apps" | "scheduling.k8s.io", _) => {
            meta::known_update(faults, old, new);
            kept_running(faults, resource, old, new);
        }
        _ => {}
    }
}

fn kept_running(faults: &mut FieldErrors, resource: &str, old: &Value, new: &Value) {
    match resource {
        "deployments" => workload::deployment(faults, new),
        "replicasets" => workload::replica_set(faults, new),
        "daemonsets" => workload::daemon_set(faults, new),
        "priorityclasses" => return simple::priority_class_update(faults, old, new),
        _ => return,
    }
    workload::same_selector(faults, old, new);
}
