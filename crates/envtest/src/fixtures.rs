//! Creates nodes, pods and taints for tests, demo and benchmarks.
//!
//! - There is no kubelet: a pod has no grace period by default, so that a DELETE removes it immediately.

use crate::api::{PatchType, TestApi, TestApiError};
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use testkit::{ObjectExt as _, node, taint, toleration};

/// The default namespace of pods.
pub const NAMESPACE: &str = "default";

/// A pod to create.
#[derive(Clone, Debug)]
pub struct PodFixture {
    object: Value,
}

/// A pod called `name`, bound to `node`, without grace period.
pub fn pod(name: &str, node: &str) -> PodFixture {
    let pod = testkit::pod(name).namespace(NAMESPACE).on(node).tolerates([]);
    PodFixture { object: pod.with("spec.terminationGracePeriodSeconds", 0) }
}

impl PodFixture {
    /// Adds a toleration.
    #[must_use]
    pub fn tolerating(mut self, toleration: Value) -> Self {
        if let Some(list) = self.object["spec"]["tolerations"].as_array_mut() {
            list.push(toleration);
        }
        self
    }

    /// Adds a toleration for every NoExecute taint with this key, for `seconds`, or indefinitely.
    #[must_use]
    pub fn bearing(self, key: &str, seconds: Option<i64>) -> Self {
        self.tolerating(toleration(key, seconds))
    }

    /// Gives it a grace period: after a DELETE it keeps terminating until [`finish`] does the kubelet's part.
    #[must_use]
    pub fn grace(self, seconds: i64) -> Self {
        self.with("/spec", "terminationGracePeriodSeconds", seconds.into())
    }

    /// Puts it into another namespace, which must exist.
    #[must_use]
    pub fn namespace(self, namespace: &str) -> Self {
        self.with("/metadata", "namespace", namespace.into())
    }

    /// Sets any field: `parent` is a JSON pointer to an object that is there.
    #[must_use]
    pub fn with(mut self, parent: &str, field: &str, value: Value) -> Self {
        if let Some(Value::Object(object)) = self.object.pointer_mut(parent) {
            object.insert(field.into(), value);
        }
        self
    }

    /// Its name.
    pub fn name(&self) -> String {
        self.object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
    }

    /// Creates it and returns its UID.
    pub async fn create(&self, api: &TestApi) -> Result<String> {
        let namespace = self.object["metadata"]["namespace"].as_str().unwrap_or(NAMESPACE);
        uid_of(&api.create(&format!("/api/v1/namespaces/{namespace}/pods"), &self.object).await?)
    }
}

fn pod_path(name: &str) -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/pods/{name}")
}

fn uid_of(object: &Value) -> Result<String> {
    Ok(object.pointer("/metadata/uid").and_then(Value::as_str).context("an object without UID")?.to_owned())
}

/// Reads a pod that may be gone.
pub async fn find_pod(api: &TestApi, name: &str) -> Result<Option<Value>, TestApiError> {
    api.find(&pod_path(name)).await
}

/// Deletes a pod as a user would.
pub async fn delete_pod(api: &TestApi, name: &str) -> Result<(), TestApiError> {
    api.delete(&pod_path(name), &json!({})).await.map(drop)
}

/// Does the kubelet's part for a terminating pod: removes it.
pub async fn finish(api: &TestApi, name: &str) -> Result<(), TestApiError> {
    api.delete(&pod_path(name), &json!({"gracePeriodSeconds": 0})).await.map(drop)
}

/// Sets a pod's phase, as a kubelet would.
pub async fn set_phase(api: &TestApi, name: &str, phase: &str) -> Result<(), TestApiError> {
    let body = json!({"status": {"phase": phase}}).to_string();
    api.patch(&format!("{}/status", pod_path(name)), PatchType::Merge, &body).await.map(drop)
}

/// Appends a toleration to those of a running pod. Besides changed seconds, this is the only change that an API server
/// allows (VAL-6).
pub async fn add_toleration(api: &TestApi, name: &str, toleration: Value) -> Result<(), TestApiError> {
    let body = json!([{"op": "add", "path": "/spec/tolerations/-", "value": toleration}]).to_string();
    api.patch(&pod_path(name), PatchType::Json, &body).await.map(drop)
}

/// Changes the seconds of a running pod's toleration at `index`.
pub async fn set_seconds(api: &TestApi, name: &str, index: usize, seconds: i64) -> Result<(), TestApiError> {
    let path = format!("/spec/tolerations/{index}/tolerationSeconds");
    let body = json!([{"op": "add", "path": path, "value": seconds}]).to_string();
    api.patch(&pod_path(name), PatchType::Json, &body).await.map(drop)
}

/// Creates a node with these taints and a label that every kubelet sets. Returns its UID.
///
/// An API server never keeps managedFields for an object that is created without a single field of its own. A node
/// without labels would differ from any real one.
pub async fn create_node(api: &TestApi, name: &str, taints: &[Value]) -> Result<String> {
    let node = node(name).with("metadata.labels", json!({"kubernetes.io/os": "linux"}));
    let node = node.tainted(taints.iter().cloned());
    uid_of(&api.create("/api/v1/nodes", &node).await?)
}

/// Deletes a node.
pub async fn delete_node(api: &TestApi, name: &str) -> Result<(), TestApiError> {
    api.delete(&format!("/api/v1/nodes/{name}"), &json!({})).await.map(drop)
}

/// A NoExecute taint.
pub fn no_execute(key: &str, value: &str) -> Value {
    taint(&format!("{key}={value}"))
}

/// Replaces a node's taints as `kubectl taint` does: one patch of the whole list, with kubectl as field manager,
/// without `timeAdded` unless a taint has it.
pub async fn set_taints(api: &TestApi, node: &str, taints: &[Value]) -> Result<(), TestApiError> {
    let body = json!({"spec": {"taints": taints}}).to_string();
    let path = format!("/api/v1/nodes/{node}?fieldManager=kubectl-taint");
    api.patch(&path, PatchType::Strategic, &body).await.map(drop)
}

/// The live pods of a node, by name.
pub async fn pods_on(api: &TestApi, node: &str) -> Result<Vec<String>> {
    let list = api.get(&format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{node}")).await?;
    let items = list["items"].as_array().context("a list without items")?;
    let live = items.iter().filter(|pod| pod.pointer("/metadata/deletionTimestamp").is_none());
    Ok(live.filter_map(|pod| pod.pointer("/metadata/name")?.as_str().map(String::from)).collect())
}
