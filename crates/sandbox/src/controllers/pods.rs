//! Creates pods from templates, and evaluates readiness and completion.

use super::ReconcileContext;
use super::pod_summary::PodSummary;
use fakekube::api::{DeleteOptions, ResourcePath, WriteOptions};
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

/// A pod of a template.
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

/// It ran to its end.
pub(super) fn is_over(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// An object's place.
pub(super) fn on(number: ResourceId, object: &Value) -> ResourcePath {
    ResourcePath::object(number, namespace(object), name(object))
}

impl ReconcileContext<'_> {
    /// Creates a pod and tells of it on its owner.
    pub(super) fn create_pod(&self, by: &str, owner: &Value, pod: Value) -> bool {
        let on = ResourcePath::object(pods(), namespace(owner), "");
        match self.server.create(&on, pod, &WriteOptions::by(by)) {
            Ok(made) => {
                let message = format!("Created pod: {}", name(&made.object.value()));
                self.tell(
                    owner,
                    &super::record_event::EventFields {
                        by,
                        kind: "Normal",
                        reason: "SuccessfulCreate",
                        message: &message,
                    },
                );
                true
            }
            Err(failure) => {
                let message = format!("Error creating: {}", failure.message);
                self.tell(
                    owner,
                    &super::record_event::EventFields {
                        by,
                        kind: "Warning",
                        reason: "FailedCreate",
                        message: &message,
                    },
                );
                false
            }
        }
    }

    /// Deletes a pod and tells of it on its owner.
    pub(super) fn delete_pod(&self, by: &str, owner: &Value, key: &str, pod: &PodSummary) {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let how = DeleteOptions { uid: Some(pod.uid().to_owned()), ..DeleteOptions::default() };
        if self
            .server
            .delete(&ResourcePath::object(pods(), namespace, name), &how, &WriteOptions::by(by))
            .is_ok()
        {
            let message = format!("Deleted pod: {name}");
            self.tell(
                owner,
                &super::record_event::EventFields {
                    by,
                    kind: "Normal",
                    reason: "SuccessfulDelete",
                    message: &message,
                },
            );
        }
    }

    /// Writes a status if it differs.
    pub(super) fn set_status(&self, number: ResourceId, object: &Value, by: &str, status: &Value) {
        if object["status"] != *status {
            let on = on(number, object).part(fakekube::resource::Subresource::Status);
            let _ = self.server.change(&on, by, |object| object["status"] = status.clone());
        }
    }
}
