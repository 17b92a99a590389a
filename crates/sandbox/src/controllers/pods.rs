//! Reads identities and owners of objects, and makes pods from templates.

use fakekube::api::ResourcePath;
use fakekube::resource::{ResourceId, known};
use serde_json::{Value, json};

/// The resource.
pub(super) fn pods() -> ResourceId {
    known("", "pods")
}

/// A reference to the controller of an object.
pub(super) fn controlled_by(owner: &Value) -> Value {
    json!([{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    }])
}

/// The UID of an object's controller.
pub(super) fn controller_of(object: &Value) -> Option<&str> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().find(|owner| owner["controller"] == true)?["uid"].as_str()
}

/// A pod from a template.
pub(super) fn from_template(owner: &Value, template: &Value) -> Value {
    let name = owner["metadata"]["name"].as_str().unwrap_or_default();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "generateName": format!("{name}-"), "namespace": owner["metadata"]["namespace"],
            "labels": template["metadata"]["labels"], "annotations": template["metadata"]["annotations"],
            "finalizers": template["metadata"]["finalizers"], "ownerReferences": controlled_by(owner),
        },
        "spec": template["spec"],
    })
}

/// The namespace of an object.
pub(super) fn namespace(object: &Value) -> &str {
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

/// The name of an object.
pub(super) fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// The UID of an object.
pub(super) fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Whether it has succeeded or failed.
pub(super) fn is_over(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// An object's path.
pub(super) fn on(number: ResourceId, object: &Value) -> ResourcePath {
    ResourcePath::object(number, namespace(object), name(object))
}
