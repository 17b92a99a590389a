//! Creates and deletes pods for their owners, with events, and writes statuses.

use super::ReconcileContext;
use super::pod_summary::PodSummary;
use super::pods::{name, namespace, on, pods};
use super::record_event::EventFields;
use fakekube::api::{DeleteOptions, ResourcePath, WriteOptions};
use fakekube::resource::{ResourceId, Subresource};
use serde_json::Value;

impl ReconcileContext<'_> {
    /// Creates a pod and records an event of its owner.
    pub(super) fn create_pod(&self, by: &str, owner: &Value, pod: Value) -> bool {
        let on = ResourcePath::object(pods(), namespace(owner), "");
        match self.server.create(&on, pod, &WriteOptions::by(by)) {
            Ok(made) => {
                let message = format!("Created pod: {}", name(&made.object.value()));
                self.record(
                    owner,
                    &EventFields {
                        by,
                        kind: "Normal",
                        reason: "SuccessfulCreate",
                        action: None,
                        message: &message,
                    },
                );
                true
            }
            Err(failure) => {
                let message = format!("Error creating: {}", failure.message);
                self.record(
                    owner,
                    &EventFields {
                        by,
                        kind: "Warning",
                        reason: "FailedCreate",
                        action: None,
                        message: &message,
                    },
                );
                false
            }
        }
    }

    /// Deletes a pod and records an event of its owner.
    pub(super) fn delete_pod(&self, by: &str, owner: &Value, key: &str, pod: &PodSummary) {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let how = DeleteOptions { uid: Some(pod.uid().to_owned()), ..DeleteOptions::default() };
        if self
            .server
            .delete(&ResourcePath::object(pods(), namespace, name), &how, &WriteOptions::by(by))
            .is_ok()
        {
            let message = format!("Deleted pod: {name}");
            self.record(
                owner,
                &EventFields {
                    by,
                    kind: "Normal",
                    reason: "SuccessfulDelete",
                    action: None,
                    message: &message,
                },
            );
        }
    }

    /// Writes a status if it differs.
    pub(super) fn set_status(&self, number: ResourceId, object: &Value, by: &str, status: &Value) {
        if object["status"] != *status {
            let on = on(number, object).part(Subresource::Status);
            let _ = self.server.change(&on, by, |object| object["status"] = status.clone());
        }
    }
}
