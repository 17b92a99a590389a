//! Parses label and field selectors and matches objects.

mod labels;

pub use labels::{LabelQuery, from_object};
pub(crate) use labels::{format_labels, format_selector};

use crate::api_status::StatusError;
use crate::custom;
use crate::resource::ResourceType;
use crate::store::StoredObject;
use serde_json::Value;

/// The label and field selectors of a list or a watch.
#[derive(Clone, Debug, Default)]
pub struct ObjectSelector {
    labels: LabelQuery,
    fields: FieldSelector,
}

impl ObjectSelector {
    /// Parses both selectors.
    ///
    /// # Errors
    /// 400, with a real server's message.
    pub fn read(resource: &ResourceType, labels: &str, fields: &str) -> Result<Self, StatusError> {
        Ok(Self { labels: LabelQuery::read(labels)?, fields: FieldSelector::read(resource, fields)? })
    }

    /// Whether everything matches.
    pub fn is_all(&self) -> bool {
        self.labels.is_all() && self.fields.is_all()
    }

    /// The one name that matches, if the selector says so.
    pub fn name(&self) -> Option<&str> {
        self.fields.name()
    }

    /// Whether a stored object matches. The object is only parsed if the selector is not empty.
    pub fn matches(&self, object: &StoredObject) -> bool {
        self.is_all() || self.matches_value(&object.value())
    }

    /// Whether an object matches.
    pub fn matches_value(&self, object: &Value) -> bool {
        self.fields.match_object(object) && self.labels.match_object(object)
    }
}

/// Requirements on fields; all must hold.
#[derive(Clone, Debug, Default)]
struct FieldSelector(Vec<FieldRequirement>);

#[derive(Clone, Debug)]
struct FieldRequirement {
    path: String,
    value: String,
    equal: bool,
}

const POD: &[&str] = &[
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.nominatedNodeName",
];
const EVENT: &[&str] = &[
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
];
/// The same in events.k8s.io, whose names differ.
const NEWER_EVENT: &[&str] = &[
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "regarding.apiVersion",
    "regarding.resourceVersion",
    "regarding.fieldPath",
    "reason",
    "reportingController",
    "type",
];
/// The fields of a resource that a selector may name, besides its name and namespace.
fn selectable(resource: &ResourceType) -> &'static [&'static str] {
    match (resource.group, resource.plural) {
        ("", "pods") => POD,
        ("", "nodes") => &["spec.unschedulable"],
        ("", "events") => EVENT,
        ("events.k8s.io", "events") => NEWER_EVENT,
        ("", "namespaces") => &["status.phase"],
        ("", "secrets") => &["type"],
        ("apps", "replicasets") => &["status.replicas"],
        ("batch", "jobs") => &["status.successful"],
        _ => &[],
    }
}

impl FieldSelector {
    fn read(resource: &ResourceType, text: &str) -> Result<Self, StatusError> {
        let mut requirements = Vec::new();
        for part in split(text) {
            let Some((path, value, equal)) = terms(&part) else {
                let why = format!("invalid selector: '{text}'; can't understand '{part}'");
                return Err(StatusError::bad_request(why));
            };
            let namespace = path == "metadata.namespace" && resource.namespaced;
            if path != "metadata.name" && !namespace && !selectable(resource).contains(&path) {
                let why = match selectable(resource) {
                    [] | ["type"] if !custom::is_group(resource.group) => format!(
                        "\"{path}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                    ),
                    _ => format!("field label not supported: {path}"),
                };
                return Err(StatusError::bad_request(why));
            }
            requirements.push(FieldRequirement { path: stored_path(resource, path), value, equal });
        }
        Ok(Self(requirements))
    }

    fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    fn name(&self) -> Option<&str> {
        let named = self.0.iter().find(|one| one.equal && one.path == "metadata.name");
        named.map(|one| one.value.as_str())
    }

    fn match_object(&self, object: &Value) -> bool {
        self.0.iter().all(|one| (text_at(object, &one.path) == one.value) == one.equal)
    }
}

/// The path of a field in the form in which objects are stored.
fn stored_path(resource: &ResourceType, path: &str) -> String {
    match path {
        "reportingController" => "reportingComponent".to_owned(),
        _ if resource.group == "events.k8s.io" => path.replacen("regarding.", "involvedObject.", 1),
        _ => path.to_owned(),
    }
}

/// A field as text; an absent one is empty, or `false` for a boolean.
fn text_at(object: &Value, path: &str) -> String {
    let found = match path {
        "source" => match &object["source"]["component"] {
            Value::String(component) if !component.is_empty() => return component.clone(),
            _ => &object["reportingComponent"],
        },
        "status.successful" => &object["status"]["succeeded"],
        _ => path.split('.').fold(object, |value, part| &value[part]),
    };
    match found {
        Value::String(text) => text.clone(),
        Value::Bool(is) => is.to_string(),
        Value::Number(number) => number.to_string(),
        _ => match path {
            "spec.unschedulable" | "spec.hostNetwork" => "false".to_owned(),
            "status.replicas" | "status.successful" => "0".to_owned(),
            _ => String::new(),
        },
    }
}

/// Splits at commas that are not escaped.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut escaped) = (Vec::new(), String::new(), false);
    for letter in text.chars() {
        match letter {
            ',' if !escaped => parts.push(std::mem::take(&mut part)),
            _ => part.push(letter),
        }
        escaped = letter == '\\' && !escaped;
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

fn terms(part: &str) -> Option<(&str, String, bool)> {
    let (path, value, equal) = match part.split_once("!=") {
        Some((path, value)) => (path, value, false),
        None => match part.split_once("==") {
            Some((path, value)) => (path, value, true),
            None => part.split_once('=').map(|(path, value)| (path, value, true))?,
        },
    };
    let plain = value.replace("\\,", ",").replace("\\=", "=").replace("\\\\", "\\");
    Some((path, plain, equal))
}
