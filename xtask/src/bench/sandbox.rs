//! Benchmarks the sandbox against a real API server with the same requests.
//!
//! - Writes docs/benchmarks-sandbox.md.

use super::load::{IN_FLIGHT, LoadGenerator, pod_path};
use super::report::{command, machine, met, write_page};
use super::sandbox_process::SandboxProcess;
use anyhow::{Context as _, Result};
use futures::future::try_join_all;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use std::fmt::Write as _;
use std::time::Instant;
use taintward_envtest::{Account, Audit, Binaries, Cluster, ClusterConfig, usage};

/// Pods created and patched one by one, for the rates.
const RATED: usize = 5000;
/// Watchers, and changes that each of them receives.
const WATCHERS: usize = 50;
const CHANGES: usize = 1000;

/// The notes below the table.
const NOTES: &str = "
The sandbox works on one thread, so that the same seed always gives the same sequence of events. The benchmark runs on the other
core; with the real server, it shares both cores. `cargo run --release -p taintward-sandbox --example load` measures a write without
HTTP. With `-- 100000 life` at its end, it measures 100,000 pods while kubelets and all other parts of the sandbox manage them.
";

/// What was measured, in the table's order.
#[derive(Default)]
struct SandboxReadings {
    start: f64,
    creates: f64,
    patches: f64,
    list: f64,
    fanout: f64,
    memory: f64,
}

/// Runs both, and writes the page.
pub(crate) async fn run(pods: usize) -> Result<()> {
    let tools = Binaries::find_or_build()?;
    let ours = ours(pods).await?;
    let real = real(&tools, pods).await?;
    let table = table(&ours, &real, pods);
    println!("\n{table}");
    let text = format!(
        "# The sandbox compared with a real API server\n\nMade by `cargo xtask {}`: the same requests over loopback, first to \
         `taintward sandbox`, then to kube-apiserver v1.36.3 with etcd 3.6.16; pods of about 4 KB; {IN_FLIGHT} requests in \
         flight. {}\n\n{table}",
        command(),
        machine()
    );
    write_page("benchmarks-sandbox.md", &text)
}

async fn ours(pods: usize) -> Result<SandboxReadings> {
    let began = Instant::now();
    let sandbox = SandboxProcess::start().await?;
    let start = began.elapsed().as_secs_f64();
    let pid = sandbox.pid();
    measure(&LoadGenerator::new(sandbox.api().await?), pods, start, || Ok(usage::of(pid)?.resident)).await
}

async fn real(tools: &Binaries, pods: usize) -> Result<SandboxReadings> {
    let began = Instant::now();
    let options = ClusterConfig { audit: Audit::Off, ..ClusterConfig::default() };
    let mut cluster = Cluster::start(tools, options).await?;
    let start = began.elapsed().as_secs_f64();
    let fleet = LoadGenerator::new(cluster.api(Account::Admin).await?);
    let pids = [cluster.etcd().pid(), cluster.server(0).pid()];
    let memory = || pids.iter().map(|pid| Ok(usage::of(*pid)?.resident)).sum();
    measure(&fleet, pods, start, memory).await
}

async fn measure(
    fleet: &LoadGenerator,
    pods: usize,
    start: f64,
    memory: impl Fn() -> Result<u64>,
) -> Result<SandboxReadings> {
    let node = vec!["bench-0".to_owned()];
    let mut readings = SandboxReadings { start, ..SandboxReadings::default() };
    let began = Instant::now();
    fleet.create_pods(&node, RATED, 0).await?;
    readings.creates = RATED as f64 / began.elapsed().as_secs_f64();
    let names: Vec<String> =
        (0..RATED).map(|number| format!("web-frontend-7d9c5b8f6b-{number:06}")).collect();
    let began = Instant::now();
    patch(fleet, &names, "first").await?;
    readings.patches = RATED as f64 / began.elapsed().as_secs_f64();
    readings.fanout = fan_out(fleet, &names[..CHANGES]).await?;
    eprintln!("creating {pods} pods");
    fleet.create_pods(&node, pods - RATED, RATED).await?;
    readings.memory = memory()? as f64;
    let mut times = Vec::new();
    for _ in 0..3 {
        let began = Instant::now();
        let list = fleet.api.text("/api/v1/namespaces/default/pods").await?;
        times.push(began.elapsed().as_secs_f64());
        assert!(list.matches("\"spec\":").count() >= pods, "the list is not complete");
    }
    times.sort_by(f64::total_cmp);
    readings.list = times[1];
    Ok(readings)
}

async fn patch(fleet: &LoadGenerator, names: &[String], value: &str) -> Result<()> {
    let body = format!("{{\"metadata\":{{\"labels\":{{\"patched\":\"{value}\"}}}}}}");
    let all = stream::iter(names).map(async |name| fleet.api.patch_text(&pod_path(name), &body).await);
    Ok(all.buffer_unordered(IN_FLIGHT).try_for_each(async |_| Ok(())).await?)
}

/// Events per second over all watchers, from the first change until the last watcher has received the last event.
async fn fan_out(fleet: &LoadGenerator, names: &[String]) -> Result<f64> {
    let list = fleet.api.get("/api/v1/namespaces/default/pods?limit=1").await?;
    let version =
        list["metadata"]["resourceVersion"].as_str().context("a list without a version")?.to_owned();
    let path = format!("/api/v1/namespaces/default/pods?watch=true&resourceVersion={version}");
    let watchers = try_join_all((0..WATCHERS).map(|_| fleet.api.watch(&path))).await?;
    let began = Instant::now();
    let receiving = watchers.into_iter().map(async |mut lines| {
        for _ in 0..names.len() {
            lines.next().await.context("a watch ended")??;
        }
        Ok::<(), anyhow::Error>(())
    });
    let (patched, received) = tokio::join!(patch(fleet, names, "second"), try_join_all(receiving));
    patched?;
    received?;
    Ok((WATCHERS * names.len()) as f64 / began.elapsed().as_secs_f64())
}

fn table(ours: &SandboxReadings, real: &SandboxReadings, pods: usize) -> String {
    let mut text = "| | sandbox | real | ratio | goal | |\n|---|---:|---:|---:|---:|---|\n".to_owned();
    let mut line = |label: &str, ours: String, real: String, ratio: f64, least: Option<f64>| {
        let (goal, met) = match least {
            Some(least) => (format!("{least:.0} ×"), met(ratio >= least)),
            None => (String::new(), ""),
        };
        let _ = writeln!(text, "| {label} | {ours} | {real} | {ratio:.1} × | {goal} | {met} |");
    };
    let seconds = |value: f64| format!("{value:.2} s");
    let rate = |value: f64| format!("{value:.0}/s");
    let megabytes = |value: f64| format!("{:.0} MB", value / 1e6);
    line(
        "from the start to the first answer",
        seconds(ours.start),
        seconds(real.start),
        real.start / ours.start,
        None,
    );
    line("creates", rate(ours.creates), rate(real.creates), ours.creates / real.creates, Some(5.0));
    line("patches", rate(ours.patches), rate(real.patches), ours.patches / real.patches, Some(5.0));
    let label = format!("list of {pods} pods");
    line(&label, seconds(ours.list), seconds(real.list), real.list / ours.list, Some(5.0));
    let label = format!("events to {WATCHERS} watchers");
    line(&label, rate(ours.fanout), rate(real.fanout), ours.fanout / real.fanout, Some(5.0));
    let label = format!("memory with {pods} pods");
    line(&label, megabytes(ours.memory), megabytes(real.memory), real.memory / ours.memory, Some(4.0));
    let met = met(ours.start <= 0.3);
    let _ = writeln!(text, "\nFrom the start to the first answer, the goal is 0.30 s: {met}.");
    text + NOTES
}
