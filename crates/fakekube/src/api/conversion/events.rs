//! Converts Events between the groups core, in which they are stored, and events.k8s.io.

use crate::resource::ResourceType;
use serde_json::{Map, Value, json};

/// The newer name of a field, and the older.
const NAMES: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
];

/// Whether the resource shows Events in the newer form.
pub(super) fn is_event(resource: &ResourceType) -> bool {
    resource.group == "events.k8s.io" && resource.kind == "Event"
}

/// Converts an event into the form in which it is stored.
pub(super) fn to_home(object: &mut Value) {
    if object["apiVersion"] == "v1" {
        return;
    }
    let Some(map) = object.as_object_mut() else { return };
    NAMES.iter().for_each(|(newer, older)| rename(map, newer, older));
    map.insert("apiVersion".into(), json!("v1"));
}

/// Converts an event into the form of the requested resource.
pub(super) fn from_home(mut object: Value) -> Value {
    if object["apiVersion"] != "v1" {
        return object;
    }
    let Some(map) = object.as_object_mut() else { return object };
    NAMES.iter().for_each(|(newer, older)| rename(map, older, newer));
    map.insert("apiVersion".into(), json!("events.k8s.io/v1"));
    for field in ["reportingController", "reportingInstance"] {
        if map.get(field) == Some(&json!("")) {
            map.remove(field);
        }
    }
    object
}

fn rename(map: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = map.remove(from) {
        map.insert(to.to_owned(), value);
    }
}
