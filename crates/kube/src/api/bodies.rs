//! Builds JSON bodies of patches and delete options, and reads the few needed fields of responses.

use crate::api_time::second_time;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use std::borrow::Cow;
use taintward_core::identity::{PodName, ResourceVersion, Uid};
use taintward_core::time::Wall;

pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";

pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";

/// Responses to writes are requested without spec and status.
pub(crate) const ACCEPT_METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// Objects that are decoded are requested in a compact encoding.
pub(crate) const ACCEPT_PROTOBUF: &str = "application/vnd.kubernetes.protobuf,application/json";

/// The condition's type, reason and message (TE-31).
const CONDITION: &str = "DisruptionTarget";
const REASON: &str = "DeletionByTaintManager";
const MESSAGE: &str = "Taint manager: deleting due to NoExecute taint";

/// The strategic merge patch that sets the condition; with its UID and version the server rejects another pod or
/// another state.
pub(crate) fn set_disruption_target(
    uid: &Uid,
    version: Option<ResourceVersion>,
    generation: u32,
    transition: Wall,
) -> Bytes {
    let mut condition = json!({
        "type": CONDITION,
        "status": "True",
        "reason": REASON,
        "message": MESSAGE,
        "lastTransitionTime": second_time(transition),
    });
    if generation > 0 {
        condition["observedGeneration"] = json!(generation);
    }
    let mut metadata = json!({ "uid": uid.to_string() });
    if let Some(version) = version {
        metadata["resourceVersion"] = json!(version.to_string());
    }
    let patch = json!({ "metadata": metadata, "status": { "conditions": [condition] } });
    Bytes::from(patch.to_string())
}

/// The strategic merge patch that removes the condition. Removal matches the type only, so the version pins the state
/// in which the condition was Taintward's.
pub(crate) fn clear_disruption_target(uid: &Uid, version: &str) -> Bytes {
    let metadata = json!({ "uid": uid.to_string(), "resourceVersion": version });
    let gone = json!({ "$patch": "delete", "type": CONDITION });
    Bytes::from(json!({ "metadata": metadata, "status": { "conditions": [gone] } }).to_string())
}

/// DeleteOptions with preconditions; without `grace_seconds`, the grace period is the pod's own.
pub(crate) fn delete(uid: &Uid, version: Option<ResourceVersion>, grace_seconds: Option<u32>) -> Bytes {
    let mut options = delete_options(uid, version, grace_seconds);
    options["apiVersion"] = json!("v1");
    options["kind"] = json!("DeleteOptions");
    Bytes::from(options.to_string())
}

/// An eviction (`policy/v1`) of the pod with this UID in this version.
pub(crate) fn evict(
    pod: &PodName,
    uid: &Uid,
    version: Option<ResourceVersion>,
    grace_seconds: Option<u32>,
) -> Bytes {
    let metadata = json!({ "namespace": pod.namespace(), "name": pod.name() });
    let options = delete_options(uid, version, grace_seconds);
    let (api, kind) = ("policy/v1", "Eviction");
    let eviction = json!({ "apiVersion": api, "kind": kind, "metadata": metadata, "deleteOptions": options });
    Bytes::from(eviction.to_string())
}

fn delete_options(uid: &Uid, version: Option<ResourceVersion>, grace_seconds: Option<u32>) -> Value {
    let mut conditions = json!({ "uid": uid.to_string() });
    if let Some(version) = version {
        conditions["resourceVersion"] = json!(version.to_string());
    }
    let mut options = json!({ "preconditions": conditions });
    if let Some(seconds) = grace_seconds {
        options["gracePeriodSeconds"] = json!(seconds);
    }
    options
}

/// The version of the object in a response.
pub(crate) fn version_of(body: &[u8]) -> Option<ResourceVersion> {
    #[derive(Deserialize)]
    struct MetadataEnvelope<'a> {
        #[serde(borrow)]
        metadata: VersionMeta<'a>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct VersionMeta<'a> {
        #[serde(borrow, default)]
        resource_version: Cow<'a, str>,
    }
    let object: MetadataEnvelope<'_> = serde_json::from_slice(body).ok()?;
    ResourceVersion::parse(&object.metadata.resource_version)
}

/// The state of Taintward's condition on a pod.
pub(crate) struct DisruptionMark {
    pub(crate) uid: String,
    pub(crate) version: String,
    /// The condition exists, Taintward has set it, and the pod is not terminating.
    pub(crate) ours: bool,
}

/// Parses a pod's condition.
pub(crate) fn marking(body: &[u8]) -> Result<DisruptionMark, serde_json::Error> {
    #[derive(Deserialize)]
    struct PodBody {
        metadata: PodMetaBody,
        #[serde(default)]
        status: PodStatusBody,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct PodMetaBody {
        uid: String,
        resource_version: String,
        deletion_timestamp: Option<String>,
    }
    #[derive(Default, Deserialize)]
    struct PodStatusBody {
        #[serde(default)]
        conditions: Option<Vec<PodConditionBody>>,
    }
    #[derive(Deserialize)]
    struct PodConditionBody {
        #[serde(default)]
        r#type: String,
        #[serde(default)]
        status: String,
        #[serde(default)]
        reason: String,
    }
    let pod: PodBody = serde_json::from_slice(body)?;
    let marked = pod
        .status
        .conditions
        .iter()
        .flatten()
        .any(|one| one.r#type == CONDITION && one.status == "True" && one.reason == REASON);
    let ours = marked && pod.metadata.deletion_timestamp.is_none();
    Ok(DisruptionMark { uid: pod.metadata.uid, version: pod.metadata.resource_version, ours })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_a_response() {
        assert_eq!(
            version_of(br#"{"kind":"x","metadata":{"name":"a","resourceVersion":"42"}}"#),
            Some(ResourceVersion(42))
        );
        assert_eq!(version_of(br#"{"metadata":{"resourceVersion":"abc"}}"#), None);
        assert_eq!(version_of(b"not json"), None);
    }
}
