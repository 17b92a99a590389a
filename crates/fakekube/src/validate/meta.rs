//! Validates metadata, and the fields that may not change.

use super::NameValidator;
use super::{check_annotations, check_label_map};
use crate::field_error::FieldErrors;
use crate::json_ext::{at, has, list, number, text};
use crate::name_format;
use serde_json::{Value, json};

/// Validates on create, and again on update.
pub(super) fn whole(faults: &mut FieldErrors, object: &Value, namespaced: bool, name_format: NameValidator) {
    let meta = &object["metadata"];
    let (name, generate) = (text(meta, "name"), text(meta, "generateName"));
    if !generate.is_empty() {
        // The server replaces the dash and the character before it by a letter.
        let masked = match generate.strip_suffix('-').and_then(|rest| rest.char_indices().next_back()) {
            Some((last, _)) => format!("{}a", &generate[..last]),
            None => generate.to_owned(),
        };
        faults.each("metadata.generateName", generate, name_format(&masked));
    }
    if name.is_empty() {
        faults.required("metadata.name", "name or generateName is required");
    } else {
        faults.each("metadata.name", name, name_format(name));
    }
    match (namespaced, text(meta, "namespace")) {
        (true, "") => faults.required("metadata.namespace", ""),
        (true, namespace) => faults.each("metadata.namespace", namespace, name_format::dns_label(namespace)),
        (false, "") => {}
        (false, _) => faults.forbidden("metadata.namespace", "not allowed on this type"),
    }
    faults.not_negative("metadata.generation", number(meta, "generation"));
    check_label_map(faults, &meta["labels"], "metadata.labels");
    check_annotations(faults, meta, "metadata.annotations");
    owners(faults, meta);
    finalizers(faults, meta);
}

/// As [`whole`], for kinds whose finalizers without a domain must be known ones.
pub(super) fn known(faults: &mut FieldErrors, object: &Value, namespaced: bool, name_format: NameValidator) {
    whole(faults, object, namespaced, name_format);
    known_finalizers(faults, &object["metadata"]["finalizers"], "metadata.finalizers", true);
}

/// As [`update`], for the same kinds.
pub(super) fn known_update(faults: &mut FieldErrors, old: &Value, new: &Value) {
    update(faults, old, new);
    known_finalizers(faults, &new["metadata"]["finalizers"], "metadata.finalizers", true);
}

/// Finalizers without a domain must be among those that Kubernetes knows. With `each`, the path names the finalizer.
pub(super) fn known_finalizers(faults: &mut FieldErrors, names: &Value, path: &str, each: bool) {
    let names = names.as_array().into_iter().flatten().filter_map(Value::as_str);
    for (index, name) in names.enumerate() {
        if !name.contains('/') && !["kubernetes", "orphan", "foregroundDeletion"].contains(&name) {
            let path = if each { format!("{path}[{index}]") } else { path.to_owned() };
            faults.invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified");
        }
    }
}

/// Validates on update.
pub(super) fn update(faults: &mut FieldErrors, old: &Value, new: &Value) {
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
            faults.forbidden("metadata.finalizers", &format!("{detail} []string{{{}}}", added.join(", ")));
        }
    }
    let generation = |meta| number(meta, "generation").unwrap_or_default();
    if generation(new) < generation(old) {
        faults.invalid("metadata.generation", generation(new), "must not be decremented");
    }
    for name in ["name", "namespace", "uid"] {
        if text(old, name) != text(new, name) {
            faults.invalid(format!("metadata.{name}"), text(new, name), "field is immutable");
        }
    }
    for name in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if at(old, &[name]) != at(new, &[name]) {
            faults.invalid(format!("metadata.{name}"), at(new, &[name]).clone(), "field is immutable");
        }
    }
    check_label_map(faults, &new["labels"], "metadata.labels");
    check_annotations(faults, new, "metadata.annotations");
    owners(faults, new);
}

fn owners(faults: &mut FieldErrors, meta: &Value) {
    let path = "metadata.ownerReferences";
    let mut controller: Option<String> = None;
    let owners = list(meta, "ownerReferences");
    for owner in owners {
        if text(owner, "apiVersion").is_empty() {
            faults.invalid(format!("{path}.apiVersion"), "", "version must not be empty");
        }
        for name in ["kind", "name", "uid"] {
            if text(owner, name).is_empty() {
                faults.invalid(format!("{path}.{name}"), "", "must not be empty");
            }
        }
        if (text(owner, "apiVersion"), text(owner, "kind")) == ("v1", "Event") {
            faults.invalid(path, owner.clone(), "/v1, Kind=Event is disallowed from being an owner");
        }
        if owner["controller"] == json!(true) {
            let this = format!("{}/{}", text(owner, "kind"), text(owner, "name"));
            match &controller {
                Some(first) => {
                    let detail = "Only one reference can have Controller set to true. Found \"true\" in references for";
                    faults.invalid(path, owners, &format!("{detail} {first} and {this}"));
                }
                None => controller = Some(this),
            }
        }
    }
}

fn finalizers(faults: &mut FieldErrors, meta: &Value) {
    let path = "metadata.finalizers";
    let names: Vec<&str> = list(meta, "finalizers").iter().filter_map(Value::as_str).collect();
    for name in &names {
        faults.each(path, name, name_format::qualified_name(name));
    }
    if names.contains(&"orphan") && names.contains(&"foregroundDeletion") {
        faults.invalid(path, json!(names), "finalizer orphan and foregroundDeletion cannot be both set");
    }
}
