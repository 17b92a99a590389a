//! Validates objects of the kinds that schedulers, kubelets and workload controllers act on, with an API server's messages.
//!
//! - Other kinds are accepted if they fit their type.

mod meta;
mod pod;
mod simple;
mod taints;
mod workload;

use crate::api_status::StatusError;
use crate::custom;
use crate::field_error::{FieldError, FieldErrors};
use crate::json_ext::{entries, list, text};
use crate::name_format;
use crate::resource::{ResourceType, Subresource};
use crate::select::from_object;
use serde_json::Value;

const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// A function that checks the format of a name.
type NameValidator = fn(&str) -> Vec<String>;

/// The format of a kind's names.
fn name_format(resource: &ResourceType) -> NameValidator {
    match (resource.group, resource.plural) {
        ("", "namespaces") => name_format::dns_label,
        ("" | "apps" | "batch" | "coordination.k8s.io" | "discovery.k8s.io" | "scheduling.k8s.io", _) => {
            name_format::dns_subdomain
        }
        (group, _) if custom::is_group(group) => name_format::dns_subdomain,
        _ => name_format::path_segment,
    }
}

/// Validates a new object. Without faults it may be created.
pub fn on_create(resource: &ResourceType, object: &Value) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    if let Some(definition) = custom::of(resource) {
        meta::whole(&mut errors, object, false, name_format::dns_subdomain);
        definition.judge(object, None, errors.list_mut());
        return errors.into_list();
    }
    itself(&mut errors, resource, object);
    if errors.is_empty() && resource.plural != "bindings" {
        meta::whole(&mut errors, object, resource.namespaced, name_format::path_segment);
    }
    errors.into_list()
}

/// Validates the name and the namespace of an object that is not validated otherwise.
pub(crate) fn of_name(resource: &ResourceType, namespace: &str, name: &str) -> Vec<String> {
    let mut errors = name_format(resource)(name);
    if !namespace.is_empty() {
        errors.extend(name_format::dns_label(namespace));
    }
    errors
}

/// The error for an update without a `resourceVersion`, for kinds that require one. It names the kind by its resource.
/// For other kinds, such an update applies to any version.
pub fn without_version(resource: &ResourceType, new: &Value) -> Option<StatusError> {
    let unnamed = text(&new["metadata"], "resourceVersion").is_empty();
    let strict = ["leases", "poddisruptionbudgets", "customresourcedefinitions"].contains(&resource.plural)
        || resource.plural.ends_with("webhookconfigurations")
        || custom::of(resource).is_some();
    (unnamed && strict).then(|| {
        let mut errors = FieldErrors::default();
        errors.invalid("metadata.resourceVersion", 0, "must be specified for an update");
        errors.status_error(resource.group, resource.plural, text(&new["metadata"], "name"))
    })
}

/// Validates a change. Without faults it may be made.
pub fn on_update(
    resource: &ResourceType,
    subresource: Option<Subresource>,
    old: &Value,
    new: &Value,
) -> Vec<FieldError> {
    let mut errors = FieldErrors::default();
    if let Some(definition) = custom::of(resource) {
        meta::whole(&mut errors, new, false, name_format::path_segment);
        // A server validates the change of metadata twice, and reports its faults once.
        (0..2).for_each(|_| meta::update(&mut errors, old, new));
        definition.judge(new, subresource, errors.list_mut());
        return errors.into_list();
    }
    meta::whole(&mut errors, new, resource.namespaced, name_format::path_segment);
    meta::update(&mut errors, old, new);
    match (subresource, resource.plural) {
        (None, _) => changed(&mut errors, resource, old, new),
        (Some(Subresource::Status), "pods") => pod::update::status(&mut errors, old, new),
        (Some(Subresource::Status), "nodes") => {
            meta::known_update(&mut errors, old, new);
            simple::check_update(&mut errors, resource, old, new);
        }
        (Some(Subresource::Finalize), _) => {
            meta::update(&mut errors, old, new);
            simple::check_finalize(&mut errors, new);
        }
        _ => {}
    }
    errors.into_list()
}

/// Validates an object by itself.
fn itself(errors: &mut FieldErrors, resource: &ResourceType, object: &Value) {
    match (resource.group, resource.plural) {
        ("", "pods") => return pod::create(errors, object),
        ("", "bindings") | (_, "events") | ("policy", "poddisruptionbudgets") => {}
        ("coordination.k8s.io", _) => meta::whole(errors, object, true, name_format::dns_subdomain),
        ("" | "apps" | "batch" | "scheduling.k8s.io", _) => {
            meta::known(errors, object, resource.namespaced, name_format(resource));
        }
        _ => return,
    }
    simple::check(errors, resource, object);
    workload::check(errors, resource, object);
}

fn changed(errors: &mut FieldErrors, resource: &ResourceType, old: &Value, new: &Value) {
    match (resource.group, resource.plural) {
        ("", "pods") => pod::update::update(errors, old, new),
        ("", "nodes" | "namespaces") | ("batch", "jobs") => {
            itself(errors, resource, new);
            meta::known_update(errors, old, new);
            simple::check_update(errors, resource, old, new);
            workload::check_update(errors, resource, old, new);
        }
        (_, "events") => {
            simple::check(errors, resource, new);
            simple::check_update(errors, resource, old, new);
        }
        ("policy", "poddisruptionbudgets") => simple::check(errors, resource, new),
        ("coordination.k8s.io", "leases") => {
            meta::update(errors, old, new);
            simple::check(errors, resource, new);
        }
        ("" | "batch", _) => {
            meta::known_update(errors, old, new);
            itself(errors, resource, new);
        }
        ("apps" | "scheduling.k8s.io", _) => {
            meta::known_update(errors, old, new);
            simple::check_update(errors, resource, old, new);
            workload::check_update(errors, resource, old, new);
        }
        _ => {}
    }
}

/// Validates labels, or a map that selects by them.
fn check_label_map(errors: &mut FieldErrors, labels: &Value, path: &str) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        errors.each(path, key, name_format::qualified_name(key));
        let value = value.as_str().unwrap_or_default();
        errors.each(path, value, name_format::label_value(value));
    }
}

/// The field `annotations` of `of`.
fn check_annotations(errors: &mut FieldErrors, of: &Value, path: &str) {
    let mut size = 0;
    for (key, value) in entries(of, "annotations") {
        errors.each(path, key, name_format::qualified_name(&key.to_lowercase()));
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > ANNOTATIONS_LIMIT {
        errors.too_long(path, ANNOTATIONS_LIMIT);
    }
}

/// A selector that may be absent.
fn check_selector(errors: &mut FieldErrors, selector: &Value, path: &str) {
    check_label_map(errors, &selector["matchLabels"], &format!("{path}.matchLabels"));
    for (index, wanted) in list(selector, "matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{index}]");
        check_operator(errors, wanted, &path, &[]);
        let key = text(wanted, "key");
        errors.each(&format!("{path}.key"), key, name_format::qualified_name(key));
        check_values(errors, wanted, &path);
    }
}

/// Validates the operator and the number of its values. `single` are the operators with exactly one value.
fn check_operator(errors: &mut FieldErrors, wanted: &Value, path: &str, single: &[&str]) {
    let count = list(wanted, "values").len();
    match text(wanted, "operator") {
        "In" | "NotIn" if count == 0 => {
            errors.required(format!("{path}.values"), "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "In" | "NotIn" => {}
        "Exists" | "DoesNotExist" if count > 0 => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.forbidden(format!("{path}.values"), detail);
        }
        "Exists" | "DoesNotExist" => {}
        other if single.contains(&other) => {
            if count != 1 {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                errors.required(format!("{path}.values"), detail);
            }
        }
        other => errors.invalid(format!("{path}.operator"), other, "not a valid selector operator"),
    }
}

/// Validates the values, each of which must be a label value.
fn check_values(errors: &mut FieldErrors, wanted: &Value, path: &str) {
    for (index, value) in list(wanted, "values").iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        errors.each(&format!("{path}.values[{index}]"), value, name_format::label_value(value));
    }
}

/// Whether the selector is present and selects everything.
fn is_empty_selector(selector: &Value) -> bool {
    entries(selector, "matchLabels").next().is_none() && list(selector, "matchExpressions").is_empty()
}

/// Whether a selector is invalid: an unknown operator, a wrong number of values, a malformed key or value.
fn is_broken_selector(selector: &Value) -> bool {
    let mut errors = FieldErrors::default();
    check_selector(&mut errors, selector, "");
    !errors.is_empty()
}

/// Whether the selector selects an object with these labels. An absent one selects nothing.
fn selector_picks(selector: &Value, labels: &Value) -> bool {
    from_object(selector).match_labels(labels)
}

/// The message about a number out of range.
fn between(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// Copies a field, or removes it if the source has none.
fn put(to: &mut Value, from: &Value, name: &str) {
    let Some(fields) = to.as_object_mut() else { return };
    match from.get(name) {
        Some(value) => fields.insert(name.to_owned(), value.clone()),
        None => fields.remove(name),
    };
}
