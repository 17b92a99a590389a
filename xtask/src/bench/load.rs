//! Creates the nodes and pods of the benchmark, taints nodes, and removes everything.

use anyhow::{Context as _, Result};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use std::time::Duration;
use taintward_envtest::fixtures::{create_node, delete_node, no_execute, set_taints};
use taintward_envtest::{TestApi, TestApiError};

/// Requests in flight: more do not make a two-core API server faster.
pub(crate) const IN_FLIGHT: usize = 32;

/// The key of the taint that evicts all pods.
const KEY: &str = "bench.taintward/down";

/// Nodes and pods of a benchmark.
pub(crate) struct LoadGenerator {
    pub(crate) api: TestApi,
}

/// The path of a pod on the API server.
pub(crate) fn pod_path(name: &str) -> String {
    format!("/api/v1/namespaces/default/pods/{name}")
}

impl LoadGenerator {
    pub(crate) fn new(api: TestApi) -> Self {
        Self { api }
    }

    pub(crate) async fn create_nodes(&self, names: &[String]) -> Result<()> {
        let all = stream::iter(names).map(|name| create_node(&self.api, name, &[]));
        all.buffer_unordered(IN_FLIGHT).try_for_each(async |_| Ok(())).await
    }

    pub(crate) async fn delete_nodes(&self, names: &[String]) -> Result<()> {
        let all = stream::iter(names).map(|name| delete_node(&self.api, name));
        Ok(all.buffer_unordered(IN_FLIGHT).try_for_each(async |()| Ok(())).await?)
    }

    /// Creates `each` pods on every node, numbered from `first`.
    pub(crate) async fn create_pods(&self, nodes: &[String], each: usize, first: usize) -> Result<()> {
        // Serialized once: it would take processor time from the measured servers.
        const NUMBER: &str = "{number}";
        let texts = nodes.iter().map(|node| pod(NUMBER, node).to_string());
        let places = texts.flat_map(|text| std::iter::repeat_n(text, each));
        let pods = places
            .enumerate()
            .map(|(index, text)| text.replacen(NUMBER, &format!("{:06}", first + index), 1));
        let all = stream::iter(pods)
            .map(async |pod| self.api.create_text("/api/v1/namespaces/default/pods", pod).await);
        Ok(all.buffer_unordered(IN_FLIGHT).try_for_each(async |_| Ok(())).await?)
    }

    /// Taints all nodes at the same time; returns when the API server has answered all requests.
    pub(crate) async fn taint(&self, nodes: &[String]) -> Result<(), TestApiError> {
        self.set(nodes, &[no_execute(KEY, "")]).await
    }

    pub(crate) async fn untaint(&self, nodes: &[String]) -> Result<(), TestApiError> {
        self.set(nodes, &[]).await
    }

    async fn set(&self, nodes: &[String], taints: &[Value]) -> Result<(), TestApiError> {
        let all = stream::iter(nodes).map(|node| set_taints(&self.api, node, taints));
        all.buffer_unordered(IN_FLIGHT).try_for_each(async |()| Ok(())).await
    }

    /// The number of pods: requests one pod, and the server returns the number of the others.
    pub(crate) async fn count(&self) -> Result<u64> {
        let list = self.api.get("/api/v1/namespaces/default/pods?limit=1").await?;
        let here = list["items"].as_array().context("a list without items")?.len();
        Ok(u64::try_from(here)? + list["metadata"]["remainingItemCount"].as_u64().unwrap_or_default())
    }

    pub(crate) async fn wait_empty(&self, timeout: Duration) -> Result<()> {
        let empty = async || Ok((self.count().await? == 0).then_some(()));
        taintward_envtest::wait::until("the last pod to be gone", timeout, empty).await
    }
}

/// A pod as a Deployment creates it, about 4 KB on the server, without a grace period: a DELETE removes it immediately.
fn pod(number: &str, node: &str) -> Value {
    let name = format!("web-frontend-7d9c5b8f6b-{number}");
    let environment: Vec<Value> = (0..12)
        .map(|index| json!({"name": format!("SETTING_{index}"), "value": format!("http://service-{index}.shop.svc.cluster.local:8080/v1")}))
        .collect();
    let probe = json!({"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10, "timeoutSeconds": 1});
    let container = |name: &str| {
        json!({
            "name": name,
            "image": format!("registry.invalid/shop/{name}@sha256:4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"),
            "env": environment,
            "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
            "livenessProbe": probe,
            "readinessProbe": probe,
            "volumeMounts": [{"name": "config", "mountPath": "/etc/config", "readOnly": true}],
        })
    };
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"app": "web-frontend", "pod-template-hash": "7d9c5b8f6b", "team": "shop", "tier": "frontend"},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-frontend-7d9c5b8f6b", "controller": true,
                "blockOwnerDeletion": true, "uid": "11111111-2222-3333-4444-555555555555",
            }],
        },
        "spec": {
            "nodeName": node,
            "terminationGracePeriodSeconds": 0,
            "containers": [container("web"), container("proxy")],
            "volumes": [{"name": "config", "configMap": {"name": "web-frontend"}}],
        },
    })
}
