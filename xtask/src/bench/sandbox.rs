//! Benchmarks the sandbox against a real API server with the same requests.
//!
//! - Writes docs/benchmarks-sandbox.md.

use super::load::{IN_FLIGHT, LoadGenerator, PODS, in_parallel, pod_name, pod_path};
use super::readings::Readings;
use super::report::{Goal, MEGABYTES, RATE, Report, SECONDS, met, server_version};
use crate::server_process::SandboxProcess;
use crate::sources;
use anyhow::{Context as _, Result, ensure};
use futures::StreamExt as _;
use futures::future::try_join_all;
use serde_json::json;
use std::time::Instant;
use taintward_envtest::{Account, usage};

/// Watchers, and changes that each of them receives.
const WATCHERS: usize = 50;
const CHANGES: usize = 1000;

/// The goal for the start, in seconds.
const START_GOAL: f64 = 0.3;

/// What was measured, in the table's order.
struct SandboxReadings {
    start: f64,
    creates: f64,
    patches: f64,
    list: f64,
    events: f64,
    memory: f64,
}

/// Runs both, and writes the page.
pub(crate) async fn run(quick: bool, pods: usize) -> Result<()> {
    let pods = if quick { 3000 } else { pods };
    let program = sources::build_taintward(true)?;
    let began = Instant::now();
    let sandbox = SandboxProcess::bare(&program).await?;
    let start = began.elapsed().as_secs_f64();
    let ours =
        measure(LoadGenerator::new(sandbox.api.clone()), pods, start, &[sandbox.process.pid()]).await?;
    drop(sandbox);
    let began = Instant::now();
    let mut cluster = super::start_cluster().await?;
    let start = began.elapsed().as_secs_f64();
    let fleet = LoadGenerator::new(cluster.api(Account::Admin).await?);
    let pids = [cluster.etcd().pid(), cluster.server(0).pid()];
    let real = measure(fleet, pods, start, &pids).await?;

    let title = "The sandbox compared with a real API server";
    let mut report = Report::comparison("benchmarks-sandbox.md", title, &["sandbox", "real"]);
    let times = |factor| Goal::Times(1, factor);
    report.compare("from the start to the first answer", SECONDS, &[ours.start, real.start], Goal::None);
    report.compare("creates", RATE, &[ours.creates, real.creates], times(5.0));
    report.compare("patches", RATE, &[ours.patches, real.patches], times(5.0));
    report.compare(&format!("list of {pods} pods"), SECONDS, &[ours.list, real.list], times(5.0));
    let label = format!("events to {WATCHERS} watchers");
    report.compare(&label, RATE, &[ours.events, real.events], times(5.0));
    let label = format!("memory with {pods} pods");
    report.compare(&label, MEGABYTES, &[ours.memory, real.memory], times(4.0));
    let measured = format!(
        "the same requests over loopback, first to `taintward sandbox`, then to kube-apiserver {} with etcd; pods of about 4 KB; \
         {IN_FLIGHT} requests in flight.",
        server_version(&cluster)?
    );
    let met = met(ours.start <= START_GOAL);
    let start = format!("\nFrom the start to the first answer, the goal is {START_GOAL:.2} s: {met}.\n");
    report.publish(quick, &measured, &start)
}

async fn measure(fleet: LoadGenerator, pods: usize, start: f64, pids: &[u32]) -> Result<SandboxReadings> {
    // Created and patched one by one, for the rates.
    let rated = pods.min(5000);
    let node = ["bench-0".to_owned()];
    let began = Instant::now();
    fleet.create_pods(&node, rated, 0).await?;
    let creates = rated as f64 / began.elapsed().as_secs_f64();
    let names: Vec<String> = (0..rated).map(pod_name).collect();
    let began = Instant::now();
    label(&fleet, &names, "first").await?;
    let patches = rated as f64 / began.elapsed().as_secs_f64();
    let events = fan_out(&fleet, &names[..CHANGES]).await?;
    eprintln!("creating {pods} pods");
    fleet.create_pods(&node, pods - rated, rated).await?;
    let mut memory = 0.0;
    for pid in pids {
        memory += usage::of(*pid)?.resident as f64;
    }
    let mut times = Readings::default();
    for _ in 0..3 {
        let began = Instant::now();
        let list = fleet.api.text(PODS).await?;
        times.add(began.elapsed().as_secs_f64());
        ensure!(list.matches("\"spec\":").count() >= pods, "the list is not complete");
    }
    Ok(SandboxReadings { start, creates, patches, list: times.median(), events, memory })
}

async fn label(fleet: &LoadGenerator, names: &[String], value: &str) -> Result<()> {
    let body = json!({"metadata": {"labels": {"patched": value}}}).to_string();
    in_parallel(names, IN_FLIGHT, async |name| fleet.api.patch_text(&pod_path(name), &body).await).await
}

/// Events per second over all watchers, from the first change until the last watcher has received the last event.
async fn fan_out(fleet: &LoadGenerator, names: &[String]) -> Result<f64> {
    let list = fleet.api.get(&format!("{PODS}?limit=1")).await?;
    let version = list["metadata"]["resourceVersion"].as_str().context("a list without a version")?;
    let path = format!("{PODS}?watch=true&resourceVersion={version}");
    let watchers = try_join_all((0..WATCHERS).map(|_| fleet.api.watch(&path))).await?;
    let began = Instant::now();
    let receiving = watchers.into_iter().map(async |mut lines| {
        for _ in names {
            lines.next().await.context("a watch ended")??;
        }
        anyhow::Ok(())
    });
    tokio::try_join!(label(fleet, names, "second"), try_join_all(receiving))?;
    Ok((WATCHERS * names.len()) as f64 / began.elapsed().as_secs_f64())
}
