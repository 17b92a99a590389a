//! Records Events of the controllers; repeated ones increase a count, or extend a series in the form of `events.k8s.io`.

use super::ReconcileContext;
use fakekube::api::{ResourcePath, WriteOptions};
use fakekube::resource::known;
use serde_json::{Value, json};

/// The fields of an event.
pub(super) struct EventFields<'a> {
    /// The reporting component.
    pub(super) by: &'a str,
    /// `Normal` or `Warning`.
    pub(super) kind: &'a str,
    pub(super) reason: &'a str,
    /// What the component did, if it reports in the form of `events.k8s.io`, as kube-scheduler does.
    pub(super) action: Option<&'a str>,
    pub(super) message: &'a str,
}

impl ReconcileContext<'_> {
    /// Records an event about an object.
    pub(super) fn tell(&self, about: &Value, told: &EventFields<'_>) {
        let metadata = &about["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        let namespace = metadata["namespace"].as_str().unwrap_or("default");
        let now = self.server.clock().stamp();
        let hash =
            mix(&[name, metadata["uid"].as_str().unwrap_or_default(), told.by, told.reason, told.message]);
        let on = ResourcePath::object(known("", "events"), namespace, &format!("{name}.{hash:016x}"));
        let exact = self.server.clock().micro_stamp();
        let again = self.server.change(&on, told.by, |event| match told.action {
            Some(_) => {
                let count = event["series"]["count"].as_i64().unwrap_or(1) + 1;
                event["series"] = json!({"count": count, "lastObservedTime": exact});
            }
            None => {
                event["count"] = json!(event["count"].as_i64().unwrap_or(1) + 1);
                event["lastTimestamp"] = json!(now);
            }
        });
        if again.is_ok() {
            return;
        }
        let mut event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"name": on.name, "namespace": namespace},
            "involvedObject": {
                "apiVersion": about["apiVersion"], "kind": about["kind"], "name": name,
                "namespace": metadata["namespace"], "uid": metadata["uid"],
                "resourceVersion": metadata["resourceVersion"],
            },
            "reason": told.reason, "message": told.message, "type": told.kind,
            "reportingComponent": told.by,
        });
        match told.action {
            Some(action) => {
                event["eventTime"] = json!(exact);
                event["action"] = json!(action);
                event["reportingInstance"] = json!(format!("{}-sandbox", told.by));
            }
            None => {
                event["count"] = json!(1);
                event["firstTimestamp"] = json!(now);
                event["lastTimestamp"] = json!(now);
                event["source"] = json!({"component": told.by});
            }
        }
        let on = ResourcePath { name: String::new(), ..on };
        // An event that cannot be written is lost, as on a real cluster.
        let _ = self.server.create(&on, event, &WriteOptions::by(told.by));
    }
}

/// A hash of words (FNV-1a).
pub(super) fn mix(words: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in words.iter().flat_map(|word| word.bytes().chain([0])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}
