//! Causes of alerts about silent nodes, and about an API server that does not answer or has a wrong clock.

use super::super::alert_cause::CauseRun;
use super::super::scrape_job::SandboxServer;
use crate::http;
use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use std::time::Duration;

const FLAGS: [&str; 2] =
    ["--leader-elect=false", "--controllers=taint-eviction-controller,node-lifecycle-controller"];

pub(super) async fn zone_partly_silent(run: &mut CauseRun<'_>) -> Result<()> {
    silent(run, &["n1", "n2", "n3", "n4"]).await
}

pub(super) async fn all_silent(run: &mut CauseRun<'_>) -> Result<()> {
    silent(run, &["n1", "n2", "n3", "n4", "n5", "n6"]).await
}

async fn silent(run: &mut CauseRun<'_>, nodes: &[&str]) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&["--zones=1"]).await?;
    let _controller = job.run(&sandbox.kubeconfig, &FLAGS).await?;
    run.begins()?;
    job.command(&sandbox.kubeconfig, &[&["sandbox", "node", "silence"], nodes].concat())?;
    run.fires().await?;
    job.command(&sandbox.kubeconfig, &[&["sandbox", "node", "recover"], nodes].concat())?;
    run.resolves().await
}

pub(super) async fn ready_out_of_service(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&[]).await?;
    let _controller = job.run(&sandbox.kubeconfig, &FLAGS).await?;
    run.begins()?;
    let taint = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute";
    job.command(&sandbox.kubeconfig, &["taint", "node", "n1", taint])?;
    run.fires().await?;
    job.command(&sandbox.kubeconfig, &["taint", "node", "n1", "node.kubernetes.io/out-of-service-"])?;
    run.resolves().await
}

pub(super) async fn api_server_stopped(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&[]).await?;
    let _controller = job.run(&sandbox.kubeconfig, &FLAGS).await?;
    run.begins()?;
    sandbox.process.pause()?;
    run.fires().await?;
    sandbox.process.resume()?;
    run.resolves().await
}

pub(super) async fn clock_set(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&[]).await?;
    // With leader election it sends a request every two seconds, and reads the date of each answer.
    let _controller = job.run(&sandbox.kubeconfig, &FLAGS[1..]).await?;
    job.until("taintward_clock_offset_known", "== 1").await?;
    run.begins()?;
    run_at_speed(&sandbox, 11.0, Duration::from_secs(2)).await?;
    run.fires().await?;
    run_at_speed(&sandbox, 0.1, Duration::from_secs(22)).await?;
    run.resolves().await
}

/// Runs the clock of a sandbox at another speed for a while, as the button of its board does.
async fn run_at_speed(sandbox: &SandboxServer, speed: f64, lasting: Duration) -> Result<()> {
    let printed = sandbox.process.output();
    let (_, board) = printed.split_once("http://127.0.0.1:").context("the sandbox names no board")?;
    let (port, rest) = board.split_once("/?token=").context("the board has no token")?;
    let token = rest.split_whitespace().next().unwrap_or_default();
    let (cookie, bearer) = (format!("taintward-board-{port}={token}"), format!("Bearer {token}"));
    let headers =
        [("Cookie", cookie.as_str()), ("Authorization", &bearer), ("Content-Type", "application/json")];
    for speed in [speed, 1.0] {
        let action = json!({"verb": "speed", "speed": speed}).to_string();
        let (status, said) = http::send(port.parse()?, "POST", "/action", &headers, &action)?;
        ensure!(status == 200, "the board refuses another speed with {status}: {said}");
        if speed != 1.0 {
            tokio::time::sleep(lasting).await;
        }
    }
    Ok(())
}
