//! Causes of alerts about how many processes run and lead.

use super::super::alert_cause::CauseRun;
use anyhow::Result;
use jiff::Timestamp;
use serde_json::json;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::{no_execute, pod, set_taints};

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/taintward";
const ALONE: &str = "--leader-elect=false";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

pub(super) async fn none(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    run.fires().await?;
    let sandbox = job.sandbox(&[]).await?;
    let _controller = job.run(&sandbox, &[ALONE]).await?;
    let _webhook = job.webhook(&sandbox, None).await?;
    run.resolves().await
}

pub(super) async fn lease_held(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&[]).await?;
    let ceiling = json!({"metadata": {"labels": {"taintward.io/guard-ceiling-seconds": "3600"}}}).to_string();
    sandbox.api.patch("/api/v1/namespaces/default", PatchType::Merge, &ceiling).await?;
    pod("guarded", "n1").bearing(UNREACHABLE, Some(5)).create(&sandbox.api).await?;
    let controllers = ["--controllers=toleration-guard-controller"];
    let first = job.run(&sandbox, &controllers).await?;
    job.until("taintward_guard_pods_guarded", "> 0").await?;
    job.end(first)?;
    let now = format!("{:.6}", Timestamp::now());
    let held =
        json!({"spec": {"holderIdentity": "elsewhere", "leaseDurationSeconds": 3600, "renewTime": now}});
    sandbox.api.patch(LEASE, PatchType::Merge, &held.to_string()).await?;
    run.begins()?;
    let _second = job.run(&sandbox, &controllers).await?;
    set_taints(&sandbox.api, "n1", &[no_execute(UNREACHABLE, "")]).await?;
    run.fires().await?;
    let released = json!({"spec": {"holderIdentity": ""}}).to_string();
    sandbox.api.patch(LEASE, PatchType::Merge, &released).await?;
    run.resolves().await
}

pub(super) async fn two(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&[]).await?;
    let _first = job.run(&sandbox, &[ALONE]).await?;
    run.begins()?;
    let second = job.run(&sandbox, &[ALONE]).await?;
    run.fires().await?;
    job.end(second)?;
    run.resolves().await
}

/// Does what kube-controller-manager does to a pod that it evicts.
pub(super) async fn other_evictor(run: &mut CauseRun<'_>) -> Result<()> {
    const POD: &str = "/api/v1/namespaces/default/pods/victim";
    let job = run.job;
    let sandbox = job.sandbox(&[]).await?;
    let _controller = job.run(&sandbox, &[ALONE]).await?;
    pod("victim", "n1").create(&sandbox.api).await?;
    run.begins()?;
    let condition = json!({"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"});
    let status = json!({"status": {"conditions": [condition]}}).to_string();
    let path = format!("{POD}/status?fieldManager=kube-controller-manager");
    sandbox.api.patch(&path, PatchType::Strategic, &status).await?;
    sandbox.api.delete(POD, &json!({})).await?;
    run.fires().await?;
    run.resolves().await
}
