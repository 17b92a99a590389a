//! Reads nodes and pods that node lifecycle changes, and builds the patches of taints, conditions, labels and readiness.

use crate::api::path::ResourcePath;
use crate::api::request_error::RequestError;
use crate::api_time::second_time;
use crate::error_text::sanitized;
use crate::json_patch;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::node_lifecycle::{
    ConditionExpiry, ConditionKind, ManagedTaint, ManagedTaints, event_messages,
};
use taintward_core::time::Wall;

/// The parts of an object's metadata that are read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectMeta {
    uid: String,
    resource_version: String,
    creation_timestamp: Option<String>,
}

/// The parts of a node that are read before a change.
#[derive(Deserialize)]
pub(super) struct NodeBody {
    metadata: ObjectMeta,
    spec: Option<NodeSpecBody>,
}

/// The parts of a node's spec that are read: its taints, as JSON.
#[derive(Deserialize)]
struct NodeSpecBody {
    taints: Option<Vec<Value>>,
}

impl ObjectMeta {
    /// Checks that it is still the object that the decision was about.
    fn demand(
        &self,
        on: &ResourcePath<'_>,
        uid: &Uid,
        version: Option<ResourceVersion>,
    ) -> Result<(), RequestError> {
        let conflict = |message| Err(RequestError::ours(ApiFailure::Conflict, message));
        if Uid::new(&self.uid) != *uid {
            return conflict(format!("{on} was replaced: its UID is {}, not {uid}", sanitized(&self.uid)));
        }
        match version {
            Some(version) if ResourceVersion::parse(&self.resource_version) != Some(version) => {
                let (now, then) = (sanitized(&self.resource_version), version.0);
                conflict(format!("{on} has changed since the decision: its version is {now}, not {then}"))
            }
            _ => Ok(()),
        }
    }
}

impl NodeBody {
    /// Parses a node; a conflict if it is no longer the one that the decision was about.
    pub(super) fn read(
        body: &[u8],
        on: &ResourcePath<'_>,
        uid: &Uid,
        version: Option<ResourceVersion>,
    ) -> Result<Self, RequestError> {
        let seen: Self = read(body, on)?;
        seen.metadata.demand(on, uid, version)?;
        Ok(seen)
    }

    pub(super) fn version(&self) -> Option<ResourceVersion> {
        ResourceVersion::parse(&self.metadata.resource_version)
    }

    /// Returns the version as text, and when the node was created.
    pub(super) fn into_version_and_creation(self) -> (String, Option<String>) {
        (self.metadata.resource_version, self.metadata.creation_timestamp)
    }

    /// Returns the JSON Patch that changes managed taints (NL-20, NL-45). It applies exactly to the state that was read
    /// and changes managed taints only (S8): the tests name UID, version, and each removed taint, whole. Taints are
    /// removed from the highest index down, so that no index moves before it is used.
    pub(super) fn taint_patch(&self, add: ManagedTaints, remove: ManagedTaints, at: Wall) -> Option<Bytes> {
        let remove = remove.without(add);
        let taints = self.spec.as_ref().and_then(|spec| spec.taints.as_deref());
        let listed = taints.unwrap_or_default();
        let removed: Vec<(usize, &Value)> =
            listed.iter().enumerate().filter(|(_, taint)| is_one_of(taint, remove)).collect();
        let new: Vec<Value> = add
            .iter()
            .filter(|own| !listed.iter().any(|taint| is(taint, *own)))
            .map(|own| json!({ "key": own.key(), "effect": own.effect().as_str(), "timeAdded": second_time(at) }))
            .collect();
        if removed.is_empty() && new.is_empty() {
            return None;
        }
        let mut steps = vec![
            json_patch::test("/metadata/uid", &json!(self.metadata.uid)),
            json_patch::test("/metadata/resourceVersion", &json!(self.metadata.resource_version)),
        ];
        for (index, taint) in removed.into_iter().rev() {
            let path = format!("/spec/taints/{index}");
            steps.push(json_patch::test(&path, taint));
            steps.push(json!({ "op": "remove", "path": path }));
        }
        steps.extend(additions(self.spec.is_some(), taints.is_some(), new));
        Some(Bytes::from(Value::Array(steps).to_string()))
    }
}

/// The parts of a pod that are read.
#[derive(Deserialize)]
struct ReadinessBody {
    metadata: ObjectMeta,
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

/// Returns the strategic merge patch that makes a pod not ready (NL-17); reason and message are not in it, so they
/// stay. None if its first condition `Ready`, the one a patch changes, does not exist or is False; a conflict if the
/// pod has another UID.
pub(super) fn not_ready_patch(
    body: &[u8],
    on: &ResourcePath<'_>,
    uid: &Uid,
    at: Wall,
) -> Result<Option<Bytes>, RequestError> {
    let ReadinessBody { metadata, status } = read(body, on)?;
    metadata.demand(on, uid, None)?;
    let is_ready = |one: &ReadinessCondition| one.r#type == ConditionKind::Ready.as_str();
    let ready = status.conditions.iter().flatten().find(|one| is_ready(one));
    if ready.is_none_or(|one| one.status == "False") {
        return Ok(None);
    }
    let ready = json!({
        "type": ConditionKind::Ready.as_str(),
        "status": "False",
        "lastTransitionTime": second_time(at),
    });
    let metadata = demanded(uid, Some(&metadata.resource_version));
    let patch = json!({ "metadata": metadata, "status": { "conditions": [ready] } });
    Ok(Some(Bytes::from(patch.to_string())))
}

fn read<B: DeserializeOwned>(body: &[u8], on: &ResourcePath<'_>) -> Result<B, RequestError> {
    serde_json::from_slice(body).map_err(|why| RequestError::unreadable(on, why))
}

/// Returns the strategic merge patch that sets conditions to Unknown (NL-12): their types are its keys, so others stay.
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

/// Returns the merge patch of the deprecated labels (NL-8); none if no label is given.
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

/// The preconditions of a merge patch: the server rejects it for another UID or version.
fn demanded(uid: &Uid, version: Option<&str>) -> Value {
    let mut metadata = json!({ "uid": uid.to_string() });
    if let Some(version) = version {
        metadata["resourceVersion"] = json!(version);
    }
    metadata
}

/// Adds the taints after the last one, or as the first ones.
fn additions(has_spec: bool, has_taints: bool, new: Vec<Value>) -> Vec<Value> {
    let add = |path: &str, value: Value| json!({ "op": "add", "path": path, "value": value });
    match (has_spec, has_taints) {
        _ if new.is_empty() => Vec::new(),
        (_, true) => new.into_iter().map(|taint| add("/spec/taints/-", taint)).collect(),
        (true, false) => vec![add("/spec/taints", Value::Array(new))],
        (false, false) => vec![add("/spec", json!({ "taints": new }))],
    }
}

/// Whether key and effect agree; the value does not matter (NL-6).
fn is(taint: &Value, own: ManagedTaint) -> bool {
    taint["key"] == own.key() && taint["effect"] == own.effect().as_str()
}

fn is_one_of(taint: &Value, owns: ManagedTaints) -> bool {
    owns.iter().any(|own| is(taint, own))
}
