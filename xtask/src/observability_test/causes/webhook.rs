//! Causes of alerts of the admission webhook.

use super::super::alert_cause::CauseRun;
use anyhow::Result;
use serde_json::json;
use taintward_envtest::fixtures::no_execute;

pub(super) async fn bad_input(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&["--nodes=1"]).await?;
    run.begins()?;
    let webhook = job.webhook(&sandbox, Some(3)).await?;
    let metadata = json!({"name": "odd", "namespace": "default"});
    let odd = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"tolerations": 5}});
    webhook.review_pod(&odd).await?;
    let node = sandbox.api.get("/api/v1/nodes/n1").await?;
    webhook.review_taints(&node, &[no_execute("maintenance", "now")]).await?;
    run.fires().await?;
    webhook.renew()?;
    run.resolves().await
}
