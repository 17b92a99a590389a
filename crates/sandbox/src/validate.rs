//! # Validate: what the API refuses, in its words
//! Room:     which checks a kind has on create and on update.
//! Comes in: objects with their defaults and their metadata as they are to be kept.
//! Goes out: [`Invalid`]; the [`status`] that answers with them.
//! Not here: defaults (`defaults.rs`); unknown fields and wrong types, which never get this far.

use serde_json::Value;

mod affinity;
mod batch;
mod containers;
mod found;
mod meta;
mod pod;
mod pod_update;
mod probes;
mod selector;
mod simple;
mod taints;
mod words;
mod workload;

pub use found::{Invalid, Kind, status};

use crate::custom;
use crate::parts::text;
use crate::resource::RESOURCES;
use found::Faults;

/// Whether objects of a resource are in namespaces.
fn is_namespaced(group: &str, resource: &str) -> bool {
    RESOURCES.iter().any(|one| one.group == group && one.plural == resource && one.namespaced)
}

/// What is wrong with a new object. Empty: it may be created.
pub fn on_create(group: &str, resource: &str, object: &Value) -> Vec<Invalid> {
    let mut faults = Faults::default();
    if let Some(definition) = custom::of(group, resource) {
        meta::whole(&mut faults, object, false, words::dns_subdomain);
        definition.judge(object, "", &mut faults.0);
        return faults.0;
    }
    itself(&mut faults, group, resource, object, true);
    if faults.0.is_empty() && resource != "bindings" {
        meta::whole(&mut faults, object, is_namespaced(group, resource), words::path_segment);
    }
    faults.0
}

/// What is wrong with the name and the namespace of an object that is taken as it is.
pub(crate) fn of_name(group: &str, resource: &str, namespace: &str, name: &str) -> Vec<String> {
    let strict = matches!(
        group,
        "" | "apps" | "batch" | "coordination.k8s.io" | "discovery.k8s.io" | "policy" | "scheduling.k8s.io"
    );
    let mut faults = match (group, resource) {
        ("", "namespaces") => words::dns_label(name),
        _ if strict || group == custom::GROUP => words::dns_subdomain(name),
        _ => words::path_segment(name),
    };
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
        let mut faults = Faults::default();
        faults.invalid("metadata.resourceVersion", 0, "must be specified for an update");
        status(group, resource, text(&new["metadata"], "name"), &faults.0)
    })
}

/// What is wrong with a change. `subresource` is empty or `status`, or `finalize` of a namespace. Empty: it may be made.
pub fn on_update(group: &str, resource: &str, subresource: &str, old: &Value, new: &Value) -> Vec<Invalid> {
    let mut faults = Faults::default();
    if let Some(definition) = custom::of(group, resource) {
        meta::whole(&mut faults, new, false, words::path_segment);
        // A server judges the change of metadata twice, and tells of it once.
        (0..2).for_each(|_| meta::update(&mut faults, old, new));
        definition.judge(new, subresource, &mut faults.0);
        return faults.0;
    }
    meta::whole(&mut faults, new, is_namespaced(group, resource), words::path_segment);
    meta::update(&mut faults, old, new);
    match subresource {
        "" => changed(&mut faults, group, resource, old, new),
        "status" => status_changed(&mut faults, group, resource, old, new),
        "finalize" => {
            meta::update(&mut faults, old, new);
            simple::namespace(&mut faults, new, true);
        }
        _ => {}
    }
    faults.0
}

fn itself(faults: &mut Faults, group: &str, resource: &str, object: &Value, create: bool) {
    let mut meta = |namespaced: bool, name: meta::Name| meta::known(faults, object, namespaced, name);
    match (group, resource) {
        ("", "pods") => return pod::create(faults, object),
        ("", "events") => return simple::event(faults, object),
        ("events.k8s.io", "events") => return simple::newer_event(faults, object),
        ("", "bindings") => return simple::binding(faults, object),
        ("policy", "poddisruptionbudgets") => return simple::budget(faults, object),
        ("", "namespaces") => meta(false, words::dns_label),
        ("", "nodes") | ("scheduling.k8s.io", "priorityclasses") => meta(false, words::dns_subdomain),
        ("", "services") => meta(true, words::dns_1035_label),
        ("apps", "statefulsets") => meta(true, words::dns_label),
        ("", "configmaps" | "secrets" | "serviceaccounts") | ("apps" | "batch", _) => {
            meta(true, words::dns_subdomain);
        }
        ("coordination.k8s.io", _) => meta::whole(faults, object, true, words::dns_subdomain),
        _ => return,
    }
    match (group, resource) {
        ("", "nodes") => simple::node(faults, object),
        ("", "namespaces") => simple::namespace(faults, object, false),
        ("", "configmaps") => simple::config_map(faults, object),
        ("", "secrets") => simple::secret(faults, object),
        ("apps", "deployments") => workload::deployment(faults, object),
        ("apps", "replicasets") => workload::replica_set(faults, object),
        ("apps", "daemonsets") => workload::daemon_set(faults, object),
        ("apps", "statefulsets") => workload::stateful_set(faults, object, create),
        ("batch", "jobs") => batch::job(faults, object),
        ("batch", "cronjobs") => {
            batch::cron_job(faults, object);
            if create {
                batch::cron_job_name(faults, object);
            }
        }
        ("coordination.k8s.io", "leases") => simple::lease(faults, object),
        ("scheduling.k8s.io", "priorityclasses") => simple::priority_class(faults, object),
        _ => {}
    }
}

fn changed(faults: &mut Faults, group: &str, resource: &str, old: &Value, new: &Value) {
    match (group, resource) {
        ("", "pods") => pod_update::update(faults, old, new),
        ("", "nodes") => {
            itself(faults, group, resource, new, false);
            meta::known_update(faults, old, new);
            simple::node_update(faults, old, new);
        }
        ("", "namespaces") => {
            itself(faults, group, resource, new, false);
            meta::known_update(faults, old, new);
        }
        ("", "configmaps") => {
            meta::known_update(faults, old, new);
            simple::immutable(faults, old, new, &["data", "binaryData"]);
            itself(faults, group, resource, new, false);
        }
        ("", "secrets") => {
            meta::known_update(faults, old, new);
            if text(old, "type") != text(new, "type") {
                faults.invalid("type", text(new, "type"), "field is immutable");
            }
            simple::immutable(faults, old, new, &["data"]);
            itself(faults, group, resource, new, false);
        }
        ("", "events") => simple::event(faults, new),
        ("events.k8s.io", "events") => {
            simple::newer_event(faults, new);
            simple::newer_event_update(faults, old, new);
        }
        ("policy", "poddisruptionbudgets") => simple::budget(faults, new),
        ("apps" | "batch" | "coordination.k8s.io" | "scheduling.k8s.io", _) => {
            grouped(faults, resource, old, new)
        }
        _ => {}
    }
}

fn grouped(faults: &mut Faults, resource: &str, old: &Value, new: &Value) {
    if resource == "jobs" {
        meta::known(faults, new, true, words::dns_subdomain);
        batch::job(faults, new);
    }
    match resource {
        "leases" => meta::update(faults, old, new),
        _ => meta::known_update(faults, old, new),
    }
    match resource {
        "deployments" => {
            workload::deployment(faults, new);
            workload::same_selector(faults, old, new);
        }
        "replicasets" => {
            workload::replica_set(faults, new);
            workload::same_selector(faults, old, new);
        }
        "daemonsets" => {
            workload::same_selector(faults, old, new);
            workload::daemon_set(faults, new);
        }
        "statefulsets" => {
            workload::stateful_set(faults, new, false);
            workload::stateful_set_update(faults, old, new);
        }
        "jobs" => batch::job_update(faults, old, new),
        "cronjobs" => batch::cron_job(faults, new),
        "leases" => simple::lease(faults, new),
        "priorityclasses" => simple::priority_class_update(faults, old, new),
        _ => {}
    }
}

fn status_changed(faults: &mut Faults, group: &str, resource: &str, old: &Value, new: &Value) {
    match (group, resource) {
        ("", "pods") => pod_update::status(faults, old, new),
        ("", "nodes") => {
            meta::known_update(faults, old, new);
            simple::node_update(faults, old, new);
        }
        ("", "namespaces") => {
            meta::known_update(faults, old, new);
            simple::namespace_status(faults, new);
        }
        ("apps", "deployments") => {
            meta::known_update(faults, old, new);
            workload::status(faults, "Deployment", new);
        }
        ("apps", "replicasets") => {
            meta::known_update(faults, old, new);
            workload::status(faults, "ReplicaSet", new);
        }
        ("apps", "daemonsets") => {
            meta::known_update(faults, old, new);
            workload::status(faults, "DaemonSet", new);
        }
        ("apps", "statefulsets") => {
            workload::status(faults, "StatefulSet", new);
            meta::known_update(faults, old, new);
        }
        ("batch", "jobs") => {
            meta::known_update(faults, old, new);
            batch::job_status(faults, new);
        }
        ("policy", "poddisruptionbudgets") => simple::budget_status(faults, new),
        _ => {}
    }
}
