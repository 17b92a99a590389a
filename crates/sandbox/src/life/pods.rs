//! # Pods: what several parts need to know of pods
//! Room:     making a pod from a template; ready, ending, over.
//! Comes in: owners, templates, pods.
//! Goes out: pods; facts about them.
//! Not here: deciding how many.

use super::View;
use super::seen::SeenPod;
use crate::api::{Deletion, On, Wish};
use crate::resource::{Number, known};
use serde_json::{Value, json};

/// The resource.
pub(super) fn pods() -> Number {
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
pub(super) fn on(number: Number, object: &Value) -> On {
    On::object(number, namespace(object), name(object))
}

impl View<'_> {
    /// Creates a pod and tells of it on its owner.
    pub(super) fn create_pod(&self, by: &str, owner: &Value, pod: Value) -> bool {
        let on = On::object(pods(), namespace(owner), "");
        match self.server.create(&on, pod, &Wish::by(by)) {
            Ok(made) => {
                let message = format!("Created pod: {}", name(&made.object.value()));
                self.tell(
                    owner,
                    &super::tell::Told { by, kind: "Normal", reason: "SuccessfulCreate", message: &message },
                );
                true
            }
            Err(failure) => {
                let message = format!("Error creating: {}", failure.message);
                self.tell(
                    owner,
                    &super::tell::Told { by, kind: "Warning", reason: "FailedCreate", message: &message },
                );
                false
            }
        }
    }

    /// Deletes a pod and tells of it on its owner.
    pub(super) fn delete_pod(&self, by: &str, owner: &Value, key: &str, pod: &SeenPod) {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let how = Deletion { uid: Some(pod.uid().to_owned()), ..Deletion::default() };
        if self.server.delete(&On::object(pods(), namespace, name), &how, &Wish::by(by)).is_ok() {
            let message = format!("Deleted pod: {name}");
            self.tell(
                owner,
                &super::tell::Told { by, kind: "Normal", reason: "SuccessfulDelete", message: &message },
            );
        }
    }

    /// Writes a status if it differs.
    pub(super) fn set_status(&self, number: Number, object: &Value, by: &str, status: &Value) {
        if object["status"] != *status {
            let on = on(number, object).part(crate::resource::Sub::Status);
            let _ = self.server.change(&on, by, |object| object["status"] = status.clone());
        }
    }
}
