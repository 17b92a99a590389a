//! Finds out from `metadata.managedFields` whether Taintward was the last to write a pod's tolerations.

use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;

/// The manager of Taintward's writes.
const MANAGER: &str = "taintward";

#[derive(Deserialize)]
struct PodManagers<'a> {
    #[serde(borrow)]
    metadata: ManagersMeta<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManagersMeta<'a> {
    #[serde(borrow, default)]
    managed_fields: Vec<ManagerEntry<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManagerEntry<'a> {
    #[serde(borrow, default)]
    manager: Cow<'a, str>,
    #[serde(default)]
    fields_v1: OwnedFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OwnedFields {
    #[serde(rename = "f:spec")]
    spec: OwnedSpecFields,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OwnedSpecFields {
    #[serde(rename = "f:tolerations")]
    owned: Option<IgnoredAny>,
}

/// Whether Taintward was the last to write the tolerations of the pod in this JSON; `false` if that is unknown.
///
/// The list is atomic for an API server: the manager that changed it last owns it.
pub fn wrote_tolerations(pod: &[u8]) -> bool {
    let Ok(PodManagers { metadata }) = serde_json::from_slice(pod) else { return false };
    let ours = metadata.managed_fields.iter().filter(|entry| entry.manager == MANAGER);
    ours.map(|entry| &entry.fields_v1.spec.owned).any(Option::is_some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_manager_of_the_tolerations_wrote_them_last() {
        let of = |fields: serde_json::Value| {
            let pod = json!({"metadata": {"name": "p", "managedFields": fields}, "spec": {}});
            wrote_tolerations(pod.to_string().as_bytes())
        };
        let entry = |manager: &str, spec: serde_json::Value| {
            let fields = json!({"f:metadata": {"f:annotations": {}}, "f:spec": spec});
            json!({"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields})
        };
        let tolerations = json!({"f:tolerations": {}});
        assert!(of(json!([
            entry("kubectl", json!({"f:containers": {}})),
            entry("taintward", tolerations.clone())
        ])));
        assert!(!of(json!([entry("kubectl", tolerations), entry("taintward", json!({"f:nodeName": {}}))])));
        assert!(!of(json!([{"manager": "taintward"}])));
        assert!(!of(json!([])));
        for text in ["", "{}", "null", r#"{"metadata":{"managedFields":null}}"#] {
            assert!(!wrote_tolerations(text.as_bytes()), "{text}");
        }
    }
}
