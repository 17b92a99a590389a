//! Tests changes under the policies: a pool that admits DaemonSets, nodes that join.

use super::attempts::{daemon, gpu_pod};
use super::harness::{AttackHarness, EVIL, POOLS, STARTUP_TIMEOUT};
use serde_json::json;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::create_node;
use taintward_envtest::wait;

pub(crate) async fn a_pool_may_let_daemon_sets_in(harness: &AttackHarness) {
    let allow = json!({"spec": {"daemonSets": "Allow"}}).to_string();
    harness.admin.patch(&format!("{POOLS}/teams"), PatchType::Merge, &allow).await.unwrap();
    let probe = format!("{EVIL}?dryRun=All");
    wait::until("the pool to allow DaemonSets", STARTUP_TIMEOUT, async || {
        Ok(harness.daemons.create(&probe, &daemon("probe", "", "gpu")).await.ok())
    })
    .await
    .unwrap();
}

/// A node becomes known as the pool's only when the pool's status names it.
pub(crate) async fn a_node_that_joins_later_is_known(harness: &AttackHarness) {
    let node = json!({"metadata": {"name": "gpu-2", "labels": {"hardware": "gpu"}}});
    harness.admin.create("/api/v1/nodes", &node).await.unwrap();
    let probe = format!("{EVIL}?dryRun=All");
    let named = async |node: &str| {
        let spec = json!({"nodeName": node, "nodeSelector": null});
        harness.bob.create(&probe, &gpu_pod("probe", "", spec)).await
    };
    wait::until("the pool to have its node", STARTUP_TIMEOUT, async || {
        let error =
            named("gpu-2").await.expect_err("neither unknown nor the pool's for a moment").to_string();
        Ok(error.contains("pool teams").then_some(()))
    })
    .await
    .unwrap();
    create_node(&harness.admin, "open-2", &[]).await.unwrap();
    wait::until("the new node to be known", STARTUP_TIMEOUT, async || Ok(named("open-2").await.ok()))
        .await
        .unwrap();
}
