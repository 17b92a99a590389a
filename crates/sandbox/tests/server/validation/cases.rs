//! Parses the cases, one a line.
//!
//! - `pods + EDITS` creates the pod of `bases.json` with the edits; `pods EDITS ~ EDITS` creates it with the first and
//!   then replaces it with the second on top; `pods/status` replaces its status.
//! - `~-` deletes it before, so that it waits for its finalizers.
//! - Edits are divided by ` ; `: `path=JSON`, or `!path` to remove; paths have dots, and `~1` for a dot within a name.

use serde_json::{Value, json};
use std::fmt;

use fakekube::canonicalize::normal;
use fakekube::defaults::AdmissionDefaults;
use fakekube::resource::{ResourceType, known};
use fakekube::{defaults, field_error, validate};

const UID: &str = "5ad5ee4a-2c3e-4a6e-8f1b-3c7a5b1f0e01";

/// A server's response to an object: why it is rejected, or the object that results.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValidationVerdict(Value);

impl ValidationVerdict {
    pub(crate) fn read(text: &str) -> Self {
        Self(serde_json::from_str(text).unwrap())
    }

    /// Of an answer with this code and body, where `name` and `uid` are the object's.
    pub(crate) fn of(code: u16, mut body: Value, name: &str, uid: &str) -> Self {
        if code < 300 {
            return Self::accepted(body);
        }
        let text = body.to_string().replace(name, "NAME").replace(uid, "UID");
        body = serde_json::from_str(&text).unwrap();
        without_go(&mut body);
        Self(
            json!({"code": code, "message": body["message"], "reason": body["reason"], "details": body["details"]}),
        )
    }

    /// An object without what is drawn or counted, and without what is empty.
    fn accepted(mut object: Value) -> Self {
        let meta = object["metadata"].as_object_mut().unwrap();
        meta.retain(|name, _| ["labels", "annotations", "generation", "finalizers"].contains(&name.as_str()));
        for name in ["apiVersion", "kind"] {
            object.as_object_mut().unwrap().remove(name);
        }
        // This test's server does not taint new nodes; a sandbox does.
        if let Some(taints) = object["spec"]["taints"].as_array_mut() {
            taints.retain(|taint| taint["key"] != "node.kubernetes.io/not-ready");
        }
        strip(&mut object);
        Self(json!({ "object": object }))
    }

    pub(crate) fn is_rejection(&self) -> bool {
        self.0.get("message").is_some()
    }
}

/// Leaves out what a real server prints of Go: structs, with the order and the names of their fields, and the differences
/// between two of them; escapes for the sake of HTML.
fn without_go(value: &mut Value) {
    match value {
        Value::String(text) => {
            text.truncate(text.find("\n@@ ").unwrap_or(text.len()));
            *text = text.replace("\\u003c", "<").replace("\\u003e", ">");
            for (open, close) in [("value: {", "}: "), ("value: [", "]: ")] {
                if let Some((start, end)) = text.find(open).zip(text.rfind(close)) {
                    text.replace_range(start + open.len() - 1..=end, "$object");
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_go),
        Value::Object(fields) => fields.values_mut().for_each(without_go),
        _ => {}
    }
}

fn strip(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.values_mut().for_each(strip);
        fields.retain(|name, value| {
            let drawn = name.contains("controller-uid")
                || name == "observedGeneration"
                || name == "lastTransitionTime";
            let empty = value.is_null()
                || value.as_object().is_some_and(serde_json::Map::is_empty)
                || value.as_array().is_some_and(Vec::is_empty)
                || *value == json!("");
            // Numbers of a status are written even when they are 0.
            let zero = *value == json!(0) && STATUS_NUMBERS.contains(&name.as_str());
            !drawn
                && !empty
                && !zero
                && ![
                    "clusterIP",
                    "clusterIPs",
                    "ipFamilies",
                    "ipFamilyPolicy",
                    "job-name",
                    "batch.kubernetes.io/job-name",
                    "kubernetes.io/metadata.name",
                ]
                .contains(&name.as_str())
        });
    } else if let Some(elements) = value.as_array_mut() {
        elements.iter_mut().for_each(strip);
    }
}

const STATUS_NUMBERS: [&str; 11] = [
    "replicas",
    "availableReplicas",
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "currentHealthy",
    "desiredHealthy",
    "disruptionsAllowed",
    "expectedPods",
    "Port",
];

impl fmt::Display for ValidationVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One request, and what must be there before.
pub(crate) struct ValidationCase {
    pub(crate) line: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    before: String,
    /// The object is deleted, and waits for its finalizers.
    pub(crate) deleted: bool,
    /// The edits of an update; none for a create.
    pub(crate) edits: Option<String>,
}

/// All cases.
pub(crate) fn all() -> Vec<ValidationCase> {
    let lines = include_str!("cases.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(ValidationCase::read).collect()
}

/// The path of a resource's objects.
pub(crate) fn path(resource: &str) -> String {
    let base = &bases()[resource];
    let version = base["apiVersion"].as_str().unwrap();
    let root = if version.contains('/') { format!("/apis/{version}") } else { format!("/api/{version}") };
    if ["nodes", "namespaces", "priorityclasses"].contains(&resource) {
        format!("{root}/{resource}")
    } else {
        format!("{root}/namespaces/default/{resource}")
    }
}

fn bases() -> Value {
    serde_json::from_str(include_str!("bases.json")).unwrap()
}

impl ValidationCase {
    fn read(line: &str) -> Self {
        let (place, rest) = line.split_once(' ').unwrap();
        let (resource, subresource) = place.split_once('/').unwrap_or((place, ""));
        let (before, edits) = match rest.strip_prefix("+") {
            Some(edits) => (edits, None),
            None => {
                let (before, edits) = rest.split_once('~').unwrap();
                (before, Some(edits.trim_start_matches('-').trim().to_owned()))
            }
        };
        Self {
            line: line.to_owned(),
            resource: resource.to_owned(),
            subresource: subresource.to_owned(),
            deleted: rest.contains("~- "),
            before: before.trim().to_owned(),
            edits,
        }
    }

    /// The object that is created.
    pub(crate) fn first(&self, name: &str) -> Value {
        let mut object = bases()[&self.resource].clone();
        object["metadata"]["name"] = json!(name);
        edit(&mut object, &self.before);
        object
    }

    /// The object that replaces another.
    pub(crate) fn second(&self, mut object: Value) -> Value {
        edit(&mut object, self.edits.as_deref().unwrap());
        object
    }

    fn group(&self) -> String {
        let version = bases()[&self.resource]["apiVersion"].as_str().unwrap().to_owned();
        version.split_once('/').map(|(group, _)| group.to_owned()).unwrap_or_default()
    }

    /// What the sandbox says.
    pub(crate) fn judge(&self) -> ValidationVerdict {
        let name = "case-0";
        let resource = known(&self.group(), &self.resource).get();
        let mut object = self.first(name);
        if path(&self.resource).contains("/namespaces/") && object["metadata"].get("namespace").is_none() {
            object["metadata"]["namespace"] = json!("default");
        }
        object["metadata"]["uid"] = json!(UID);
        object = read(object);
        defaults::apply_defaults(resource, &mut object);
        defaults::on_create(resource, &mut object, AdmissionDefaults::default());
        defaults::generation(resource, None, &mut object);
        let found = validate::on_create(resource, &object);
        if self.edits.is_none() || !found.is_empty() {
            assert!(self.edits.is_none(), "{}: {found:?}", self.line);
            return self.verdict(resource, object, &found);
        }
        object["metadata"]["resourceVersion"] = json!("1");
        object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        if self.deleted {
            object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            object["metadata"]["deletionGracePeriodSeconds"] = json!(0);
            if let Some(generation) = object["metadata"]["generation"].as_i64() {
                object["metadata"]["generation"] = json!(generation + 1);
            }
        }
        let mut new = read(self.second(object.clone()));
        defaults::apply_defaults(resource, &mut new);
        if let Some(rejection) = validate::without_version(resource, &new) {
            return ValidationVerdict::of(422, rejection.status(), name, UID);
        }
        let subresource = resource.sub(&self.subresource);
        defaults::carry_over(&object, &mut new);
        defaults::on_update(resource, subresource, &object, &mut new, AdmissionDefaults::default());
        if self.subresource.is_empty() {
            defaults::generation(resource, Some(&object), &mut new);
        }
        let found = validate::on_update(resource, subresource, &object, &new);
        self.verdict(resource, new, &found)
    }

    fn verdict(
        &self,
        resource: &ResourceType,
        object: Value,
        found: &[field_error::FieldError],
    ) -> ValidationVerdict {
        if found.is_empty() {
            return ValidationVerdict::accepted(object);
        }
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let rejection = field_error::invalid(resource.group, resource.kind, name, found);
        ValidationVerdict::of(422, rejection.status(), "case-0", UID)
    }
}

fn edit(object: &mut Value, edits: &str) {
    for edit in edits.split(" ; ").map(str::trim).filter(|edit| !edit.is_empty()) {
        let (path, value) = match edit.strip_prefix('!') {
            Some(path) => (path, None),
            None => edit.split_once('=').map(|(path, value)| (path, Some(value))).unwrap(),
        };
        let path: Vec<String> = path.split('.').map(|name| name.replace("~1", ".")).collect();
        let (last, before) = path.split_last().unwrap();
        let target = before.iter().fold(&mut *object, |value, name| match name.parse::<usize>() {
            Ok(index) if value.is_array() => &mut value[index],
            _ => &mut value[name.as_str()],
        });
        match (value, last.parse::<usize>()) {
            (None, _) => drop(target.as_object_mut().and_then(|fields| fields.remove(last))),
            (Some(value), Ok(index)) if target.is_array() => {
                target[index] = serde_json::from_str(value).unwrap()
            }
            (Some(value), _) => {
                let value = value.strip_prefix("long ").map_or_else(
                    || serde_json::from_str(value).unwrap_or_else(|error| panic!("{value}: {error}")),
                    |length| json!("a".repeat(length.parse().unwrap())),
                );
                target[last.as_str()] = value;
            }
        }
    }
}

/// An object as it is read: what does not fit its type is the reader's to reject, and stays as it is here.
fn read(object: Value) -> Value {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    match normal(text("apiVersion"), text("kind"), object.clone()) {
        Ok(normal) => normal.value,
        Err(_) => object,
    }
}
