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
    pub(super) fn record(&self, about: &Value, fields: &EventFields<'_>) {
        let metadata = &about["metadata"];
        let name = metadata["name"].as_str().unwrap_or_default();
        let namespace = metadata["namespace"].as_str().unwrap_or("default");
        let now = self.server.clock().time_text();
        let hash = mix(&[
            name,
            metadata["uid"].as_str().unwrap_or_default(),
            fields.by,
            fields.reason,
            fields.message,
        ]);
        let on = ResourcePath::object(known("", "events"), namespace, &format!("{name}.{hash:016x}"));
        let exact = self.server.clock().micro_time();
        let again = self.server.change(&on, fields.by, |event| match fields.action {
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
            "reason": fields.reason, "message": fields.message, "type": fields.kind,
            "reportingComponent": fields.by,
        });
        match fields.action {
            Some(action) => {
                event["eventTime"] = json!(exact);
                event["action"] = json!(action);
                event["reportingInstance"] = json!(format!("{}-sandbox", fields.by));
            }
            None => {
                event["count"] = json!(1);
                event["firstTimestamp"] = json!(now);
                event["lastTimestamp"] = json!(now);
                event["source"] = json!({"component": fields.by});
            }
        }
        let on = ResourcePath { name: String::new(), ..on };
        // An event that cannot be written is lost, as on a real cluster.
        let _ = self.server.create(&on, event, &WriteOptions::by(fields.by));
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
