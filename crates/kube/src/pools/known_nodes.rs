//! Builds the merge patch of the ConfigMap that tells the admission policy which nodes are known.

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use taintward_core::dedicated_pools::KnownNodes;

/// The name of the ConfigMap, in the namespace of the controller's lease.
pub const KNOWN_NODES: &str = "taintward-nodes";

/// The label by which it says what becomes of pods that are tied to a node that is not known.
pub const UNKNOWN_NODES: &str = "taintward.io/unknown-nodes";

#[derive(Deserialize)]
struct KnownNodesObject {
    metadata: KnownNodesMeta,
    data: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KnownNodesMeta {
    uid: String,
    resource_version: String,
    labels: Option<BTreeMap<String, String>>,
}

/// The merge patch that makes a ConfigMap say this, for the version that was read only; `None` if it does.
///
/// # Errors
/// What is odd about the ConfigMap.
pub fn known_nodes_patch(known: &KnownNodes, config_map: &[u8]) -> Result<Option<Bytes>, String> {
    let KnownNodesObject { metadata, data } =
        serde_json::from_slice(config_map).map_err(|why| why.to_string())?;
    let data = data.unwrap_or_default();
    let mut changed = Map::new();
    for name in data.keys().filter(|name| !known.names.contains(name.as_str())) {
        changed.insert(name.clone(), Value::Null);
    }
    for name in known.names.iter().filter(|name| !data.contains_key(&***name)) {
        changed.insert(name.to_string(), json!(""));
    }
    let label = metadata.labels.as_ref().and_then(|labels| labels.get(UNKNOWN_NODES));
    if changed.is_empty() && label.is_some_and(|label| *label == known.unknown.as_str()) {
        return Ok(None);
    }
    let patch = json!({
        "metadata": {
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
            "labels": {UNKNOWN_NODES: known.unknown.as_str()},
        },
        "data": changed,
    });
    Ok(Some(Bytes::from(patch.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::dedicated_pools::UnknownNodePolicy;

    fn config_map(data: &Value, label: Option<&str>) -> Vec<u8> {
        let labels = label.map(|label| json!({"mine": "1", UNKNOWN_NODES: label}));
        let metadata = json!({"uid": "u", "resourceVersion": "7", "labels": labels});
        json!({"metadata": metadata, "data": data}).to_string().into_bytes()
    }

    fn known(names: &[&str]) -> KnownNodes {
        KnownNodes {
            names: names.iter().map(|&name| name.into()).collect(),
            unknown: UnknownNodePolicy::Deny,
        }
    }

    fn patched(known: &KnownNodes, found: &[u8]) -> Option<Value> {
        known_nodes_patch(known, found).unwrap().map(|body| serde_json::from_slice(&body).unwrap())
    }

    #[test]
    fn what_is_missing_is_added_and_what_is_gone_is_taken_out() {
        let found = config_map(&json!({"a": "", "gone": ""}), Some("Deny"));
        let patch = patched(&known(&["a", "b.example"]), &found).unwrap();
        assert_eq!(patch["data"], json!({"gone": null, "b.example": ""}));
        let metadata = json!({"uid": "u", "resourceVersion": "7", "labels": {UNKNOWN_NODES: "Deny"}});
        assert_eq!(patch["metadata"], metadata);
    }

    #[test]
    fn what_says_just_that_is_left_alone() {
        assert_eq!(patched(&known(&["a"]), &config_map(&json!({"a": ""}), Some("Deny"))), None);
        assert!(patched(&known(&["a"]), &config_map(&json!({"a": ""}), Some("Allow"))).is_some());
        assert!(patched(&known(&[]), &config_map(&Value::Null, None)).is_some());
        assert_eq!(patched(&known(&[]), &config_map(&Value::Null, Some("Deny"))), None);
    }

    #[test]
    fn what_is_no_config_map_is_an_error() {
        for odd in ["", "{}", r#"{"metadata": {"uid": "u"}}"#, "<html>"] {
            known_nodes_patch(&known(&[]), odd.as_bytes()).unwrap_err();
        }
    }
}
