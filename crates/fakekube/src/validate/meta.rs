//! Validates metadata, and the fields that may not change.

use super::NameValidator;
use super::{check_annotations, check_label_map};
use crate::field_error::FieldErrors;
use crate::json_ext::{at, has, list, number, text};
use crate::name_format;
use serde_json::{Value, json};

/// Validates on create, and again on update.
pub(super) fn whole(errors: &mut FieldErrors, object: &Value, namespaced: bool, name_format: NameValidator) {
    let meta = &object["metadata"];
    let (name, generate) = (text(meta, "name"), text(meta, "generateName"));
    if !generate.is_empty() {
        // The server replaces the dash and the character before it by a letter.
        let masked = match generate.strip_suffix('-').and_then(|rest| rest.char_indices().next_back()) {
            Some((last, _)) => format!("{}a", &generate[..last]),
            None => generate.to_owned(),
        };
        errors.each("metadata.generateName", generate, name_format(&masked));
    }
    if name.is_empty() {
        errors.required("metadata.name", "name or generateName is required");
    } else {
        errors.each("metadata.name", name, name_format(name));
    }
    match (namespaced, text(meta, "namespace")) {
        (true, "") => errors.required("metadata.namespace", ""),
        (true, namespace) => errors.each("metadata.namespace", namespace, name_format::dns_label(namespace)),
        (false, "") => {}
        (false, _) => errors.forbidden("metadata.namespace", "not allowed on this type"),
    }
    errors.not_negative("metadata.generation", number(meta, "generation"));
    check_label_map(errors, &meta["labels"], "metadata.labels");
    check_annotations(errors, meta, "metadata.annotations");
    owners(errors, meta);
    finalizers(errors, meta);
}

/// As [`whole`], for kinds whose finalizers without a domain must be known ones.
pub(super) fn known(errors: &mut FieldErrors, object: &Value, namespaced: bool, name_format: NameValidator) {
    whole(errors, object, namespaced, name_format);
    known_finalizers(errors, &object["metadata"]["finalizers"], "metadata.finalizers", true);
}

/// As [`update`], for the same kinds.
pub(super) fn known_update(errors: &mut FieldErrors, old: &Value, new: &Value) {
    update(errors, old, new);
    known_finalizers(errors, &new["metadata"]["finalizers"], "metadata.finalizers", true);
}

/// Finalizers without a domain must be among those that Kubernetes knows. With `each`, the path names the finalizer.
pub(super) fn known_finalizers(errors: &mut FieldErrors, names: &Value, path: &str, each: bool) {
    let names = names.as_array().into_iter().flatten().filter_map(Value::as_str);
    for (index, name) in names.enumerate() {
        if !name.contains('/') && !["kubernetes", "orphan", "foregroundDeletion"].contains(&name) {
            let path = if each { format!("{path}[{index}]") } else { path.to_owned() };
            errors.invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified");
        }
    }
}

/// Validates on update.
pub(super) fn update(errors: &mut FieldErrors, old: &Value, new: &Value) {
    let (old, new) = (&old["metadata"], &new["metadata"]);
    if has(old, "deletionTimestamp") {
        let mut added: Vec<&str> = list(new, "finalizers")
            .iter()
            .filter(|name| !list(old, "finalizers").contains(name))
            .filter_map(Value::as_str)
            .collect();
        added.sort_unstable();
        if !added.is_empty() {
            let added: Vec<String> = added.iter().map(|name| format!("{name:?}")).collect();
            let detail =
                "no new finalizers can be added if the object is being deleted, found new finalizers";
            errors.forbidden("metadata.finalizers", &format!("{detail} []string{{{}}}", added.join(", ")));
        }
    }
    let generation = |meta| number(meta, "generation").unwrap_or_default();
    if generation(new) < generation(old) {
        errors.invalid("metadata.generation", generation(new), "must not be decremented");
    }
    for name in ["name", "namespace", "uid"] {
        if text(old, name) != text(new, name) {
            errors.invalid(format!("metadata.{name}"), text(new, name), "field is immutable");
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if at(old, &[name]) != at(new, &[name]) {
            errors.invalid(format!("metadata.{name}"), at(new, &[name]).clone(), "field is immutable");
        }
    }
    check_label_map(errors, &new["labels"], "metadata.labels");
    check_annotations(errors, new, "metadata.annotations");
    owners(errors, new);
}

fn owners(errors: &mut FieldErrors, meta: &Value) {
    let path = "metadata.ownerReferences";
    let mut controller: Option<String> = None;
    let owners = list(meta, "ownerReferences");
    for owner in owners {
        if text(owner, "apiVersion").is_empty() {
            errors.invalid(format!("{path}.apiVersion"), "", "version must not be empty");
        }
        for name in ["kind", "name", "uid"] {
            if text(owner, name).is_empty() {
                errors.invalid(format!("{path}.{name}"), "", "must not be empty");
            }
        }
        if (text(owner, "apiVersion"), text(owner, "kind")) == ("v1", "Event") {
            errors.invalid(path, owner.clone(), "/v1, Kind=Event is disallowed from being an owner");
        }
        if owner["controller"] == json!(true) {
            let this = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
            match &controller {
                Some(first) => {
                    let detail = "Only one reference can have Controller set to true. Found \"true\" in references for";
                    errors.invalid(path, owners, &format!("{detail} {first} and {this}"));
                }
                None => controller = Some(this),
            }
        }
    }
}

fn finalizers(errors: &mut FieldErrors, meta: &Value) {
    let path = "metadata.finalizers";
    let names: Vec<&str> = list(meta, "finalizers").iter().filter_map(Value::as_str).collect();
    for name in &names {
        errors.each(path, name, name_format::qualified_name(name));
    }
    if names.contains(&"orphan") && names.contains(&"foregroundDeletion") {
        errors.invalid(path, json!(names), "finalizer orphan and foregroundDeletion cannot be both set");
    }
}
