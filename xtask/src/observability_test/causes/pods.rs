//! Causes of alerts about pods that are not evicted at their deadline.

use super::super::alert_cause::CauseRun;
use crate::server_process::SandboxProcess;
use anyhow::Result;
use serde_json::json;
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::pod;
use taintward_envtest::wait;

/// As many seconds as the guard needs with one patch a second: longer than the alert waits.
const SLOW_PODS: usize = 130;

const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

/// Creates a pod on n1, and a budget with this limit that selects it.
async fn protect(sandbox: &SandboxProcess, limit: &str, value: u32) -> Result<()> {
    let labels = json!({"app": "kept"});
    pod("kept", "n1").with("/metadata", "labels", labels.clone()).create(&sandbox.api).await?;
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "kept"}, "spec": {
        limit: value, "selector": {"matchLabels": labels},
    }});
    sandbox.api.create(BUDGETS, &budget).await?;
    wait::until("the budget to count its pod", Duration::from_secs(60), async || {
        let budget = sandbox.api.get(&format!("{BUDGETS}/kept")).await?;
        Ok((budget["status"]["currentHealthy"] == 1).then_some(()))
    })
    .await
}

pub(super) async fn blocked_policy(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&[]).await?;
    protect(&sandbox, "maxUnavailable", 0).await?;
    let flags = ["--leader-elect=false", "--controllers=taint-eviction-controller", "--eviction-policies"];
    let _controller = job.run(&sandbox, &flags).await?;
    let policy = json!({"apiVersion": "taintward.io/v1alpha1", "kind": "EvictionPolicy", "metadata": {"name": "patient"},
        "spec": {"taints": [{"key": "example.com/maintenance"}], "respectBudgets": {}}});
    sandbox.api.create("/apis/taintward.io/v1alpha1/evictionpolicies", &policy).await?;
    run.begins()?;
    let taint = json!({"spec": {"taints": [{"key": "example.com/maintenance", "effect": "NoExecute"}]}});
    sandbox.api.patch("/api/v1/nodes/n1", PatchType::Merge, &taint.to_string()).await?;
    run.fires().await?;
    sandbox.api.delete(&format!("{BUDGETS}/kept"), &json!({})).await?;
    run.resolves().await
}

pub(super) async fn protected(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&[]).await?;
    protect(&sandbox, "minAvailable", 1).await?;
    let _controller =
        job.run(&sandbox, &["--leader-elect=false", "--controllers=dedicated-pool-controller"]).await?;
    run.begins()?;
    let pool = json!({"apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": "team-a"}, "spec": {
        "taint": {"key": "example.com/pool", "value": "a"}, "nodes": {"names": ["n1"]},
        "users": {"namespaceSelector": {"matchLabels": {"team": "a"}}}, "enforcement": "Evict",
    }});
    sandbox.api.create("/apis/taintward.io/v1alpha1/dedicatedpools", &pool).await?;
    run.fires().await?;
    sandbox.api.delete(&format!("{BUDGETS}/kept"), &json!({})).await?;
    run.resolves().await
}

pub(super) async fn braked(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&[]).await?;
    pod("braked", "n1").create(&sandbox.api).await?;
    let _controller = job.run(&sandbox, &["--leader-elect=false", "--brake-limit=0"]).await?;
    run.begins()?;
    job.command(&sandbox, &["taint", "node", "n1", "mistake:NoExecute", "--yes", "--no-preview"])?;
    run.fires().await?;
    job.command(&sandbox, &["taint", "node", "n1", "mistake-"])?;
    run.resolves().await
}

pub(super) async fn no_pool_guard(run: &mut CauseRun<'_>) -> Result<()> {
    const GUARDS: &str = "/apis/taintward.io/v1alpha1/poolguards";
    let job = run.job;
    let sandbox = job.sandbox(&[]).await?;
    // A sandbox may have none.
    let _ = sandbox.api.delete(&format!("{GUARDS}/taintward"), &json!({})).await;
    let _controller =
        job.run(&sandbox, &["--leader-elect=false", "--controllers=dedicated-pool-controller"]).await?;
    run.begins()?;
    let pool = json!({"apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": "team-a"}, "spec": {
        "taint": {"key": "example.com/pool", "value": "a"}, "nodes": {"names": ["n1"]},
        "users": {"namespaceSelector": {"matchLabels": {"team": "a"}}},
    }});
    sandbox.api.create("/apis/taintward.io/v1alpha1/dedicatedpools", &pool).await?;
    run.fires().await?;
    let guard = json!({"apiVersion": "taintward.io/v1alpha1", "kind": "PoolGuard", "metadata": {"name": "taintward"}});
    sandbox.api.create(GUARDS, &guard).await?;
    run.resolves().await
}

pub(super) async fn slow_guard(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&["--empty"]).await?;
    for number in 0..SLOW_PODS {
        pod(&format!("pod-{number}"), "n1").create(&sandbox.api).await?;
    }
    let flags = ["--leader-elect=false", "--controllers=toleration-guard-controller", "--guard-qps=1"];
    let _controller = job.run(&sandbox, &flags).await?;
    run.begins()?;
    let ceiling = json!({"metadata": {"labels": {"taintward.io/guard-ceiling-seconds": "3600"}}}).to_string();
    sandbox.api.patch("/api/v1/namespaces/default", PatchType::Merge, &ceiling).await?;
    run.fires().await?;
    run.resolves().await
}

pub(super) async fn held(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&[]).await?;
    let flags = ["--leader-elect=false", "--controllers=toleration-hold-controller"];
    let _controller = job.run(&sandbox, &flags).await?;
    run.begins()?;
    job.command(&sandbox, &["hold", "--all"])?;
    run.fires().await?;
    job.command(&sandbox, &["release", "--all"])?;
    run.resolves().await
}
