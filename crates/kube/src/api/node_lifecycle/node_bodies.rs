//! Builds the patches of node conditions, labels and pod readiness.

use crate::api::bodies::second_time;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::node_lifecycle::{ConditionExpiry, ConditionKind, event_messages};
use taintward_core::time::Wall;

/// What is read of an object's metadata.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectMeta {
    pub(super) uid: String,
    pub(super) resource_version: String,
    pub(super) creation_timestamp: Option<String>,
}

/// What is read of a node that is to be changed.
#[derive(Deserialize)]
pub(super) struct NodeBody {
    pub(super) metadata: ObjectMeta,
    pub(super) spec: Option<NodeSpecBody>,
}

/// What is read of a node's spec: its taints, as they stand there.
#[derive(Deserialize)]
pub(super) struct NodeSpecBody {
    pub(super) taints: Option<Vec<Value>>,
}

impl NodeBody {
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(body).map_err(|why| why.to_string())
    }

    pub(super) fn version(&self) -> Option<ResourceVersion> {
        ResourceVersion::parse(&self.metadata.resource_version)
    }
}

/// What is read of a pod.
#[derive(Deserialize)]
pub(super) struct ReadinessBody {
    pub(super) metadata: ObjectMeta,
    #[serde(default)]
    status: ReadinessStatus,
}

#[derive(Default, Deserialize)]
struct ReadinessStatus {
    conditions: Option<Vec<ReadinessCondition>>,
}

#[derive(Deserialize)]
struct ReadinessCondition {
    #[serde(default)]
    r#type: String,
    #[serde(default)]
    status: String,
}

impl ReadinessBody {
    pub(super) fn read(body: &[u8]) -> Result<Self, String> {
        serde_json::from_slice(body).map_err(|why| why.to_string())
    }

    /// Whether its first condition `Ready`, the one a patch changes, says anything but False.
    pub(super) fn can_be_taken(&self) -> bool {
        let mut conditions = self.status.conditions.iter().flatten();
        conditions
            .find(|one| one.r#type == ConditionKind::Ready.as_str())
            .is_some_and(|one| one.status != "False")
    }
}

/// The strategic merge patch that lets conditions expire (NL-12): their types are its keys, so others stay.
pub(super) fn declare(
    uid: &Uid,
    version: &str,
    conditions: &[(ConditionKind, ConditionExpiry)],
    created: Option<&str>,
    at: Wall,
) -> Bytes {
    let conditions: Vec<Value> =
        conditions.iter().map(|&(kind, expiry)| expired(kind, expiry, created, at)).collect();
    let patch = json!({ "metadata": demanded(uid, Some(version)), "status": { "conditions": conditions } });
    Bytes::from(patch.to_string())
}

fn expired(kind: ConditionKind, expiry: ConditionExpiry, created: Option<&str>, at: Wall) -> Value {
    let (reason, message) = match expiry {
        ConditionExpiry::Stopped => event_messages::STOPPED,
        ConditionExpiry::NeverPosted => event_messages::NEVER_POSTED,
    };
    let mut condition = json!({
        "type": kind.as_str(),
        "status": "Unknown",
        "reason": reason,
        "message": message,
        "lastTransitionTime": second_time(at),
    });
    if let (ConditionExpiry::NeverPosted, Some(created)) = (expiry, created) {
        condition["lastHeartbeatTime"] = json!(created);
    }
    condition
}

/// The merge patch of the labels of old (NL-8); none if no label is given.
pub(super) fn label(
    uid: &Uid,
    version: Option<ResourceVersion>,
    os: Option<&str>,
    arch: Option<&str>,
) -> Option<Bytes> {
    let mut labels = Map::new();
    for (key, value) in [("beta.kubernetes.io/os", os), ("beta.kubernetes.io/arch", arch)] {
        if let Some(value) = value {
            labels.insert(key.to_owned(), json!(value));
        }
    }
    if labels.is_empty() {
        return None;
    }
    let version = version.map(|version| version.0.to_string());
    let mut metadata = demanded(uid, version.as_deref());
    metadata["labels"] = Value::Object(labels);
    Some(Bytes::from(json!({ "metadata": metadata }).to_string()))
}

/// The strategic merge patch that makes a pod not ready (NL-17); reason and message are not in it, so they stay.
pub(super) fn unready(uid: &Uid, version: &str, at: Wall) -> Bytes {
    let ready = json!({
        "type": ConditionKind::Ready.as_str(),
        "status": "False",
        "lastTransitionTime": second_time(at),
    });
    let patch = json!({ "metadata": demanded(uid, Some(version)), "status": { "conditions": [ready] } });
    Bytes::from(patch.to_string())
}

/// The preconditions of a merge patch: another incarnation or version makes the server refuse it.
fn demanded(uid: &Uid, version: Option<&str>) -> Value {
    let mut metadata = json!({ "uid": uid.to_string() });
    if let Some(version) = version {
        metadata["resourceVersion"] = json!(version);
    }
    metadata
}
