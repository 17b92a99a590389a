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
use crate::json_ext::{entries, list, text};
use crate::name_format;
use crate::resource::{ResourceType, Subresource};
use crate::select::from_object;
use serde_json::{Value, json};
use std::fmt;

const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// What kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// Nothing stands where something must.
    Required,
    /// What stands there is not right.
    Invalid,
    /// What stands there is not one of the few words that may.
    NotSupported,
    /// It stands there twice.
    Duplicate,
    /// Nothing may stand there, or it may not change.
    Forbidden,
    /// Too many bytes.
    TooLong,
    /// Too many elements.
    TooMany,
    /// A number where text belongs, or the like.
    TypeInvalid,
}

impl FieldErrorKind {
    /// The `reason` of a Status' cause, and how its message begins.
    const fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Required => ("FieldValueRequired", "Required value"),
            Self::Invalid => ("FieldValueInvalid", "Invalid value"),
            Self::NotSupported => ("FieldValueNotSupported", "Unsupported value"),
            Self::Duplicate => ("FieldValueDuplicate", "Duplicate value"),
            Self::Forbidden => ("FieldValueForbidden", "Forbidden"),
            Self::TooLong => ("FieldValueTooLong", "Too long"),
            Self::TooMany => ("FieldValueTooMany", "Too many"),
            Self::TypeInvalid => ("FieldValueTypeInvalid", "Invalid value"),
        }
    }
}

/// One fault of one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldError {
    /// The field's path: `spec.tolerations[0].effect`.
    pub field: String,
    /// What kind of fault.
    pub kind: FieldErrorKind,
    /// What stands there, if the message shows it.
    pub value: Option<Value>,
    /// What should.
    pub detail: String,
}

impl FieldError {
    /// The message without the path.
    fn body(&self) -> String {
        let mut body = self.kind.texts().1.to_owned();
        if let Some(value) = &self.value {
            body += &format!(": {value}");
        }
        if !self.detail.is_empty() {
            body += &format!(": {}", self.detail);
        }
        body
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// The refusal of an object with faults. Two equal faults are one in the message and two among the causes.
pub fn invalid(group: &str, kind: &str, name: &str, faults: &[FieldError]) -> StatusError {
    let mut messages: Vec<String> = Vec::new();
    for message in faults.iter().map(ToString::to_string) {
        if !messages.contains(&message) {
            messages.push(message);
        }
    }
    let cause = |fault: &FieldError| json!({"reason": fault.kind.texts().0, "message": fault.body(), "field": fault.field});
    StatusError::invalid(group, kind, name, &messages, faults.iter().map(cause).collect())
}

/// The faults found so far.
#[derive(Debug, Default)]
struct FieldErrors(Vec<FieldError>);

impl FieldErrors {
    fn push(&mut self, field: String, kind: FieldErrorKind, value: Option<Value>, detail: &str) {
        self.0.push(FieldError { field, kind, value, detail: detail.to_owned() });
    }

    fn required(&mut self, field: impl Into<String>, detail: &str) {
        self.push(field.into(), FieldErrorKind::Required, None, detail);
    }

    fn invalid(&mut self, field: impl Into<String>, value: impl Into<Value>, detail: &str) {
        self.push(field.into(), FieldErrorKind::Invalid, Some(value.into()), detail);
    }

    fn unsupported(&mut self, field: impl Into<String>, word: &str, known: &[&str]) {
        let known: Vec<String> = known.iter().map(|word| format!("{word:?}")).collect();
        let detail = format!("supported values: {}", known.join(", "));
        self.push(field.into(), FieldErrorKind::NotSupported, Some(word.into()), &detail);
    }

    fn duplicate(&mut self, field: impl Into<String>, value: impl Into<Value>, detail: &str) {
        self.push(field.into(), FieldErrorKind::Duplicate, Some(value.into()), detail);
    }

    fn forbidden(&mut self, field: impl Into<String>, detail: &str) {
        self.push(field.into(), FieldErrorKind::Forbidden, None, detail);
    }

    fn too_long(&mut self, field: impl Into<String>, limit: usize) {
        self.push(
            field.into(),
            FieldErrorKind::TooLong,
            None,
            &format!("may not be more than {limit} bytes"),
        );
    }

    /// A field that has changed and may not.
    fn immutable(&mut self, field: impl Into<String>) {
        self.push(field.into(), FieldErrorKind::Invalid, None, "field is immutable");
    }

    /// One fault for each message.
    fn each(&mut self, field: &str, value: &str, messages: Vec<String>) {
        for message in messages {
            self.invalid(field, value, &message);
        }
    }

    /// A number below zero.
    fn not_negative(&mut self, field: impl Into<String>, number: Option<i64>) {
        if let Some(number) = number.filter(|number| *number < 0) {
            self.invalid(field, number, "must be greater than or equal to 0");
        }
    }
}

/// What a name must look like.
type NameValidator = fn(&str) -> Vec<String>;

/// What a kind's names must look like.
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

/// What is wrong with a new object. Empty: it may be created.
pub fn on_create(resource: &ResourceType, object: &Value) -> Vec<FieldError> {
    let mut faults = FieldErrors::default();
    if let Some(definition) = custom::of(resource) {
        meta::whole(&mut faults, object, false, name_format::dns_subdomain);
        definition.judge(object, None, &mut faults.0);
        return faults.0;
    }
    itself(&mut faults, resource, object);
    if faults.0.is_empty() && resource.plural != "bindings" {
        meta::whole(&mut faults, object, resource.namespaced, name_format::path_segment);
    }
    faults.0
}

/// What is wrong with the name and the namespace of an object that is taken as it is.
pub(crate) fn of_name(resource: &ResourceType, namespace: &str, name: &str) -> Vec<String> {
    let mut faults = name_format(resource)(name);
    if !namespace.is_empty() {
        faults.extend(name_format::dns_label(namespace));
    }
    faults
}

/// The status that answers an update without a `resourceVersion`, of a kind that wants one. It calls the kind by its
/// resource. Of other kinds, such an update is of whatever version there is.
pub fn without_version(resource: &ResourceType, new: &Value) -> Option<StatusError> {
    let unnamed = text(&new["metadata"], "resourceVersion").is_empty();
    let strict = ["leases", "poddisruptionbudgets", "customresourcedefinitions"].contains(&resource.plural)
        || resource.plural.ends_with("webhookconfigurations")
        || custom::of(resource).is_some();
    (unnamed && strict).then(|| {
        let mut faults = FieldErrors::default();
        faults.invalid("metadata.resourceVersion", 0, "must be specified for an update");
        invalid(resource.group, resource.plural, text(&new["metadata"], "name"), &faults.0)
    })
}

/// What is wrong with a change. Empty: it may be made.
pub fn on_update(
    resource: &ResourceType,
    subresource: Option<Subresource>,
    old: &Value,
    new: &Value,
) -> Vec<FieldError> {
    let mut faults = FieldErrors::default();
    if let Some(definition) = custom::of(resource) {
        meta::whole(&mut faults, new, false, name_format::path_segment);
        // A server judges the change of metadata twice, and tells of it once.
        (0..2).for_each(|_| meta::update(&mut faults, old, new));
        definition.judge(new, subresource, &mut faults.0);
        return faults.0;
    }
    meta::whole(&mut faults, new, resource.namespaced, name_format::path_segment);
    meta::update(&mut faults, old, new);
    match (subresource, resource.plural) {
        (None, _) => changed(&mut faults, resource, old, new),
        (Some(Subresource::Status), "pods") => pod::update::status(&mut faults, old, new),
        (Some(Subresource::Status), "nodes") => {
            meta::known_update(&mut faults, old, new);
            simple::check_update(&mut faults, resource, old, new);
        }
        (Some(Subresource::Finalize), _) => {
            meta::update(&mut faults, old, new);
            simple::check_finalize(&mut faults, new);
        }
        _ => {}
    }
    faults.0
}

/// What is wrong with an object by itself.
fn itself(faults: &mut FieldErrors, resource: &ResourceType, object: &Value) {
    match (resource.group, resource.plural) {
        ("", "pods") => return pod::create(faults, object),
        ("", "bindings") | (_, "events") | ("policy", "poddisruptionbudgets") => {}
        ("coordination.k8s.io", _) => meta::whole(faults, object, true, name_format::dns_subdomain),
        ("" | "apps" | "batch" | "scheduling.k8s.io", _) => {
            meta::known(faults, object, resource.namespaced, name_format(resource));
        }
        _ => return,
    }
    simple::check(faults, resource, object);
    workload::check(faults, resource, object);
}

fn changed(faults: &mut FieldErrors, resource: &ResourceType, old: &Value, new: &Value) {
    match (resource.group, resource.plural) {
        ("", "pods") => pod::update::update(faults, old, new),
        ("", "nodes" | "namespaces") | ("batch", "jobs") => {
            itself(faults, resource, new);
            meta::known_update(faults, old, new);
            simple::check_update(faults, resource, old, new);
            workload::check_update(faults, resource, old, new);
        }
        (_, "events") => {
            simple::check(faults, resource, new);
            simple::check_update(faults, resource, old, new);
        }
        ("policy", "poddisruptionbudgets") => simple::check(faults, resource, new),
        ("coordination.k8s.io", "leases") => {
            meta::update(faults, old, new);
            simple::check(faults, resource, new);
        }
        ("" | "batch", _) => {
            meta::known_update(faults, old, new);
            itself(faults, resource, new);
        }
        ("apps" | "scheduling.k8s.io", _) => {
            meta::known_update(faults, old, new);
            simple::check_update(faults, resource, old, new);
            workload::check_update(faults, resource, old, new);
        }
        _ => {}
    }
}

/// Labels, or what picks by them.
fn check_label_map(faults: &mut FieldErrors, labels: &Value, path: &str) {
    for (key, value) in labels.as_object().into_iter().flatten() {
        faults.each(path, key, name_format::qualified_name(key));
        let value = value.as_str().unwrap_or_default();
        faults.each(path, value, name_format::label_value(value));
    }
}

/// The field `annotations` of `of`.
fn check_annotations(faults: &mut FieldErrors, of: &Value, path: &str) {
    let mut size = 0;
    for (key, value) in entries(of, "annotations") {
        faults.each(path, key, name_format::qualified_name(&key.to_lowercase()));
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > ANNOTATIONS_LIMIT {
        faults.too_long(path, ANNOTATIONS_LIMIT);
    }
}

/// A selector that may be absent.
fn check_selector(faults: &mut FieldErrors, selector: &Value, path: &str) {
    check_label_map(faults, &selector["matchLabels"], &format!("{path}.matchLabels"));
    for (index, wanted) in list(selector, "matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{index}]");
        check_operator(faults, wanted, &path, &[]);
        let key = text(wanted, "key");
        faults.each(&format!("{path}.key"), key, name_format::qualified_name(key));
        check_values(faults, wanted, &path);
    }
}

/// The operator and the number of its values. `single` are operators with exactly one.
fn check_operator(faults: &mut FieldErrors, wanted: &Value, path: &str, single: &[&str]) {
    let count = list(wanted, "values").len();
    match text(wanted, "operator") {
        "In" | "NotIn" if count == 0 => {
            faults.required(format!("{path}.values"), "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "In" | "NotIn" => {}
        "Exists" | "DoesNotExist" if count > 0 => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            faults.forbidden(format!("{path}.values"), detail);
        }
        "Exists" | "DoesNotExist" => {}
        other if single.contains(&other) => {
            if count != 1 {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                faults.required(format!("{path}.values"), detail);
            }
        }
        other => faults.invalid(format!("{path}.operator"), other, "not a valid selector operator"),
    }
}

/// The values, each of them a label's.
fn check_values(faults: &mut FieldErrors, wanted: &Value, path: &str) {
    for (index, value) in list(wanted, "values").iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        faults.each(&format!("{path}.values[{index}]"), value, name_format::label_value(value));
    }
}

/// There, and picks everything.
fn is_empty_selector(selector: &Value) -> bool {
    entries(selector, "matchLabels").next().is_none() && list(selector, "matchExpressions").is_empty()
}

/// A selector the server can't work with: an unknown operator, a wrong number of values, a key or value of bad format.
fn is_broken_selector(selector: &Value) -> bool {
    let mut faults = FieldErrors::default();
    check_selector(&mut faults, selector, "");
    !faults.0.is_empty()
}

/// Whether it picks an object with these labels. None at all picks nothing.
fn selector_picks(selector: &Value, labels: &Value) -> bool {
    from_object(selector).match_labels(labels)
}

/// What is said of a number out of its range.
fn between(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// Gives a field the value that it has elsewhere, or none.
fn put(to: &mut Value, from: &Value, name: &str) {
    let Some(fields) = to.as_object_mut() else { return };
    match from.get(name) {
        Some(value) => fields.insert(name.to_owned(), value.clone()),
        None => fields.remove(name),
    };
}
