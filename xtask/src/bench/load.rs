//! Creates the nodes and pods of a benchmark, taints nodes, and removes everything.

use crate::review_client::review;
use anyhow::{Context as _, Result};
use bytes::Bytes;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use std::time::Duration;
use taintward_envtest::fixtures::{create_node, delete_node, no_execute, set_taints};
use taintward_envtest::{TestApi, wait};

/// Requests in flight: more do not make a two-core API server faster.
pub(crate) const IN_FLIGHT: usize = 32;

/// The key of the taint that evicts all pods.
const KEY: &str = "bench.taintward/down";

pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";

/// Nodes and pods of a benchmark.
pub(crate) struct LoadGenerator {
    pub(crate) api: TestApi,
}

/// The path of a pod on the API server.
pub(crate) fn pod_path(name: &str) -> String {
    format!("{PODS}/{name}")
}

/// The name of the pod with this number.
pub(crate) fn pod_name(number: impl std::fmt::Display) -> String {
    format!("web-frontend-7d9c5b8f6b-{number:0>6}")
}

/// Names with numbers.
pub(crate) fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}-{number}")).collect()
}

/// Sends the requests for all items, with so many in flight.
pub(crate) async fn in_parallel<I, T, E>(
    items: impl IntoIterator<Item = I>,
    in_flight: usize,
    send: impl AsyncFn(I) -> Result<T, E>,
) -> Result<()>
where
    anyhow::Error: From<E>,
{
    let all = stream::iter(items).map(|item| send(item)).buffer_unordered(in_flight);
    Ok(all.try_for_each(async |_| Ok(())).await?)
}

impl LoadGenerator {
    pub(crate) fn new(api: TestApi) -> Self {
        Self { api }
    }

    pub(crate) async fn create_nodes(&self, names: &[String]) -> Result<()> {
        in_parallel(names, IN_FLIGHT, async |name| create_node(&self.api, name, &[]).await).await
    }

    pub(crate) async fn delete_nodes(&self, names: &[String]) -> Result<()> {
        in_parallel(names, IN_FLIGHT, async |name| delete_node(&self.api, name).await).await
    }

    /// Creates `each` pods on every node, numbered from `first`.
    pub(crate) async fn create_pods(&self, nodes: &[String], each: usize, first: usize) -> Result<()> {
        // Serialized once: it would take processor time from the measured servers.
        let texts = nodes.iter().map(|node| pod(&pod_name("{number}"), "default", Some(node)).to_string());
        let places = texts.flat_map(|text| std::iter::repeat_n(text, each)).enumerate();
        let pods = places.map(|(at, text)| text.replacen(&pod_name("{number}"), &pod_name(first + at), 1));
        in_parallel(pods, IN_FLIGHT, async |pod| self.api.create_text(PODS, pod).await).await
    }

    /// The names of all pods.
    pub(crate) async fn pod_names(&self) -> Result<Vec<String>> {
        let list = self.api.get(PODS).await?;
        let items = list["items"].as_array().context("a list without items")?;
        Ok(items.iter().filter_map(|pod| pod["metadata"]["name"].as_str().map(String::from)).collect())
    }

    /// Taints all nodes at the same time; returns when the API server has answered all requests.
    pub(crate) async fn taint(&self, nodes: &[String]) -> Result<()> {
        self.set_taints(nodes, &[no_execute(KEY, "")]).await
    }

    pub(crate) async fn untaint(&self, nodes: &[String]) -> Result<()> {
        self.set_taints(nodes, &[]).await
    }

    pub(crate) async fn set_taints(&self, nodes: &[String], taints: &[Value]) -> Result<()> {
        in_parallel(nodes, IN_FLIGHT, async |node| set_taints(&self.api, node, taints).await).await
    }

    /// The number of pods: requests one pod, and the server returns the number of the others.
    async fn count(&self) -> Result<u64> {
        let list = self.api.get(&format!("{PODS}?limit=1")).await?;
        let here = list["items"].as_array().context("a list without items")?.len();
        Ok(u64::try_from(here)? + list["metadata"]["remainingItemCount"].as_u64().unwrap_or_default())
    }

    pub(crate) async fn wait_empty(&self, timeout: Duration) -> Result<()> {
        let empty = async || Ok((self.count().await? == 0).then_some(()));
        wait::until("the last pod to be gone", timeout, empty).await
    }
}

/// A pod as a Deployment creates it, about 4 KB on the server, without a grace period: a DELETE removes it immediately.
pub(crate) fn pod(name: &str, namespace: &str, node: Option<&str>) -> Value {
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
    // As the API server adds it to a pod without tolerations.
    let toleration = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
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
            "tolerations": [toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")],
        },
    })
}

/// A review of the creation of such a pod.
pub(crate) fn review_of_pod() -> Bytes {
    let pod = pod(&pod_name(0), "ns-7", None);
    Bytes::from(review("CREATE", ("Pod", "pods"), &pod, &Value::Null).to_string())
}
