//! Causes of alerts about silent nodes, and about an API server that does not answer or has a wrong clock.

use super::super::alert_cause::CauseRun;
use crate::board_session::BoardSession;
use crate::server_process::SandboxProcess;
use anyhow::Result;
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
    let _controller = job.run(&sandbox, &FLAGS).await?;
    run.begins()?;
    job.command(&sandbox, &[&["sandbox", "node", "silence"], nodes].concat())?;
    run.fires().await?;
    job.command(&sandbox, &[&["sandbox", "node", "recover"], nodes].concat())?;
    run.resolves().await
}

pub(super) async fn ready_out_of_service(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&[]).await?;
    let _controller = job.run(&sandbox, &FLAGS).await?;
    run.begins()?;
    let taint = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute";
    job.command(&sandbox, &["taint", "node", "n1", taint])?;
    run.fires().await?;
    job.command(&sandbox, &["taint", "node", "n1", "node.kubernetes.io/out-of-service-"])?;
    run.resolves().await
}

pub(super) async fn api_server_stopped(run: &mut CauseRun<'_>) -> Result<()> {
    let job = run.job;
    let sandbox = job.sandbox(&[]).await?;
    let _controller = job.run(&sandbox, &FLAGS).await?;
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
    let _controller = job.run(&sandbox, &FLAGS[1..]).await?;
    job.until("taintward_clock_offset_known", "== 1").await?;
    run.begins()?;
    run_at_speed(&sandbox, 11.0, Duration::from_secs(2)).await?;
    run.fires().await?;
    run_at_speed(&sandbox, 0.1, Duration::from_secs(22)).await?;
    run.resolves().await
}

/// Runs the clock of a sandbox at another speed for a while, as the button of its board does.
async fn run_at_speed(sandbox: &SandboxProcess, speed: f64, lasting: Duration) -> Result<()> {
    let board = BoardSession::of(&sandbox.process.output())?;
    board.run_at_speed(speed)?;
    tokio::time::sleep(lasting).await;
    board.run_at_speed(1.0)
}
