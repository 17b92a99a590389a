//! Replaces webhook configurations and policies as a whole, so that additions of other clients do not stay.
//!
//! - Server-side apply would keep an additional webhook or an excluding selector. Replacing, unlike deleting and
//!   creating, leaves no moment without them and keeps the CA bundle and other clients' metadata.

use super::MANAGER;
use crate::install::api_resources::place;
use serde_json::Value;
use taintward_kube::node_client::{ApiFailureStatus, NodeRequestError, PatchOptions, PatchResponse};
use taintward_kube::object_client::ObjectClient;

/// How many writes of another client may come first: the webhook writes its CA bundle.
const TRIES: usize = 5;

/// Replaces the object in the cluster. Fields that another client has changed are conflicts, as for all other objects,
/// unless `take` overwrites them.
pub(super) async fn replace(
    server: &ObjectClient,
    object: &Value,
    before: &PatchResponse,
    how: &PatchOptions,
    take: bool,
) -> Result<PatchResponse, NodeRequestError> {
    if !take {
        let tried = PatchOptions { dry_run: true, ..how.clone() };
        match server.apply(place(object), object.to_string(), &tried, false).await {
            Err(NodeRequestError::Status(status)) if status.code == 409 && !is_own(&status) => {
                return Err(NodeRequestError::Status(status));
            }
            // The object is replaced as a whole, so that an invalid combination with the present one does not matter.
            _ => {}
        }
    }
    let mut last = server.replace(place(object), replacement(object, &before.body), how).await;
    for _ in 1..TRIES {
        if !last.as_ref().is_err_and(is_late) {
            break;
        }
        let Some(now) = server.read(place(object)).await? else { break };
        last = server.replace(place(object), replacement(object, &now.body), how).await;
    }
    last
}

fn is_late(why: &NodeRequestError) -> bool {
    matches!(why, NodeRequestError::Status(status) if status.code == 409)
}

/// Whether all conflicts are with the field manager of an earlier installation.
fn is_own(status: &ApiFailureStatus) -> bool {
    let own = format!("conflict with \"{MANAGER}\"");
    !status.causes.is_empty() && status.causes.iter().all(|(_, message)| message.starts_with(&own))
}

/// The object, with the metadata and the CA bundles of the one that was read.
fn replacement(object: &Value, read: &[u8]) -> String {
    let read: Value = serde_json::from_slice(read).unwrap_or_default();
    let mut new = object.clone();
    let mut metadata = read["metadata"].clone();
    for (key, value) in object["metadata"]["labels"].as_object().into_iter().flatten() {
        metadata["labels"][key] = value.clone();
    }
    if let Some(fields) = metadata.as_object_mut() {
        fields.remove("managedFields");
    }
    new["metadata"] = metadata;
    let webhooks = new.get_mut("webhooks").and_then(Value::as_array_mut);
    for webhook in webhooks.into_iter().flatten() {
        let same = |one: &&Value| one["name"] == webhook["name"] && has_same_service(one, webhook);
        let old = read["webhooks"].as_array().into_iter().flatten().find(same);
        let bundle = old.map(|old| old["clientConfig"]["caBundle"].clone()).unwrap_or_default();
        if bundle.is_string() && webhook["clientConfig"]["caBundle"].is_null() {
            webhook["clientConfig"]["caBundle"] = bundle;
        }
    }
    new.to_string()
}

/// Whether both webhooks have the same Service; the CA bundle of another one is not trusted.
fn has_same_service(one: &Value, ours: &Value) -> bool {
    ["name", "namespace"]
        .iter()
        .all(|field| one["clientConfig"]["service"][field] == ours["clientConfig"]["service"][field])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_ca_bundles_and_metadata_of_other_clients_stay() {
        let service = json!({"name": "taintward-webhook", "namespace": "t", "path": "/mutate", "port": 443});
        let ours = json!({
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "taintward", "labels": {"ours": "1"}},
            "webhooks": [
                {"name": "a", "clientConfig": {"service": service}},
                {"name": "b", "clientConfig": {"service": service}},
            ],
        });
        let there = json!({
            "metadata": {"name": "taintward", "labels": {"theirs": "1"}, "annotations": {"n": "1"},
                "resourceVersion": "7", "managedFields": [{}]},
            "webhooks": [
                {"name": "a", "objectSelector": {"matchLabels": {"x": "y"}},
                    "clientConfig": {"service": service, "caBundle": "QQ=="}},
                {"name": "b", "clientConfig": {"url": "https://theirs", "caBundle": "Qg=="}},
                {"name": "c", "clientConfig": {"service": service, "caBundle": "Qw=="}},
            ],
        });
        let new: Value = serde_json::from_str(&replacement(&ours, there.to_string().as_bytes())).unwrap();
        let trusted = json!({"service": service, "caBundle": "QQ=="});
        assert_eq!(
            new["webhooks"],
            json!([{"name": "a", "clientConfig": trusted}, {"name": "b", "clientConfig": {"service": service}}])
        );
        assert_eq!(
            new["metadata"],
            json!({"name": "taintward", "labels": {"ours": "1", "theirs": "1"}, "annotations": {"n": "1"},
                "resourceVersion": "7"})
        );
    }

    #[test]
    fn a_policy_gets_only_its_own_fields_and_the_version() {
        let ours = json!({"kind": "ValidatingAdmissionPolicy", "metadata": {"name": "a"}, "spec": {"validations": []}});
        let there =
            json!({"metadata": {"name": "a", "resourceVersion": "7"}, "spec": {"matchConditions": []}});
        let new: Value = serde_json::from_str(&replacement(&ours, there.to_string().as_bytes())).unwrap();
        let mut expected = ours;
        expected["metadata"]["resourceVersion"] = "7".into();
        assert_eq!(new, expected);
    }

    #[test]
    fn fields_of_an_earlier_installation_do_not_conflict() {
        let status = |managers: &[&str]| ApiFailureStatus {
            code: 409,
            causes: managers
                .iter()
                .map(|manager| (".spec".to_owned(), format!("conflict with \"{manager}\" using v1")))
                .collect(),
            ..ApiFailureStatus::default()
        };
        assert!(is_own(&status(&[MANAGER, MANAGER])));
        assert!(!is_own(&status(&[MANAGER, "kubectl-edit"])));
        assert!(!is_own(&status(&[])));
    }
}
