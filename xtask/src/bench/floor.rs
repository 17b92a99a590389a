//! Evicts known pods with the bare requests, condition and DELETE, as the lower bound of the benchmark.

use super::load::{IN_FLIGHT, LoadGenerator, pod_path};
use anyhow::{Context as _, Result};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::json;
use taintward_envtest::api::PatchType;

/// The names of all pods.
pub(crate) async fn names(fleet: &LoadGenerator) -> Result<Vec<String>> {
    let list = fleet.api.get("/api/v1/namespaces/default/pods").await?;
    let items = list["items"].as_array().context("a list without items")?;
    Ok(items.iter().filter_map(|pod| pod["metadata"]["name"].as_str().map(String::from)).collect())
}

/// Evicts them all.
pub(crate) async fn evict(fleet: &LoadGenerator, names: &[String]) -> Result<()> {
    let condition = json!({"status": {"conditions": [{
        "type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}})
    .to_string();
    let all = stream::iter(names).map(async |name| {
        let path = pod_path(name);
        fleet.api.patch(&format!("{path}/status"), PatchType::Strategic, &condition).await?;
        fleet.api.delete(&path, &json!({})).await
    });
    Ok(all.buffer_unordered(IN_FLIGHT).try_for_each(async |_| Ok(())).await?)
}
