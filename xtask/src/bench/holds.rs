//! Benchmarks how fast pods are held, compared with a bare loop that sends the same patches and decides nothing.
//!
//! - Writes docs/benchmarks-holds.md.

use super::load::{LoadGenerator, pod_path};
use super::report::{command, machine, met, server_version, write_page};
use crate::{http, sources};
use anyhow::{Context as _, Result, ensure};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::set_taints;
use taintward_envtest::{Account, ChildProcess, Cluster, usage, wait};

const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const PODS_PER_NODE: usize = 50;
/// The number of patches in flight, the same as for Taintward.
const AT_ONCE: usize = 64;
const PATIENCE: Duration = Duration::from_secs(300);
/// The goal for the time until all pods are held.
const GOAL: Duration = Duration::from_secs(120);
/// The goal for the rate, as a share of the bare loop's.
const RATE_GOAL: f64 = 0.9;

pub(crate) async fn run(quick: bool, rounds: usize) -> Result<()> {
    let (nodes, rounds) = if quick { (4, 1) } else { (200, rounds) };
    let names: Vec<String> = (0..nodes).map(|at| format!("node-{at:03}")).collect();
    let pods = nodes * PODS_PER_NODE;
    let cluster = super::start_cluster().await?;
    let fleet = LoadGenerator::new(cluster.api(Account::Admin).await?);
    fleet.create_nodes(&names).await?;
    fleet.create_pods(&names, PODS_PER_NODE, 0).await?;
    let holder = Holder::start(&cluster).await?;
    let resident = usage::of(holder.process.pid())?.resident;
    let mut table = HEAD.to_owned();
    let (mut floors, mut rates) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        // In turns, so that other load of the machine affects both.
        let (first, second) = names.split_at(nodes / 2);
        let (floor_nodes, held_nodes) = if round % 2 == 0 { (first, second) } else { (second, first) };
        let floor = floor(&fleet, floor_nodes).await?;
        let held = holder.hold(&fleet, held_nodes).await?;
        holder.release(&fleet, held_nodes).await?;
        // The taints are written by patches as well.
        let (number, taints) = ((pods / 2) as f64, held_nodes.len() as f64);
        let (floor, held) = (number / floor.as_secs_f64(), (number + taints) / held.as_secs_f64());
        let line = format!("| {} | {floor:.0} | {held:.0} | {:.0} % |\n", round + 1, 100.0 * held / floor);
        print!("{line}");
        table += &line;
        floors.push(floor);
        rates.push(held);
    }
    let ratio = rates.iter().sum::<f64>() / floors.iter().sum::<f64>();
    let all = holder.hold(&fleet, &names).await?;
    let peak = usage::of(holder.process.pid())?.peak;
    let mut text = String::new();
    writeln!(
        text,
        "- rate: {:.0} % of the bare loop's (goal: 90 %; {})",
        100.0 * ratio,
        met(ratio >= RATE_GOAL)
    )?;
    writeln!(
        text,
        "- {pods} pods on {nodes} nodes that fall silent at once are held after {:.1} s (goal: {} s; {})",
        all.as_secs_f64(),
        GOAL.as_secs(),
        met(all <= GOAL)
    )?;
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    writeln!(
        text,
        "- memory: {:.0} MiB after the first list, {:.0} MiB at most; \
         `cargo test -p taintward-core --test memory` shows the memory of each pod",
        mebibytes(resident),
        mebibytes(peak)
    )?;
    print!("{text}");
    if quick {
        return Ok(());
    }
    let page = format!(
        "# How fast pods are held\n\nMade by `cargo xtask {}`: {pods} pods of 4 kB on {nodes} nodes of one API server ({}). In turns, a \
         bare loop patches half of them, and `taintward run --controllers=toleration-hold-controller` holds the other half, with {AT_ONCE} \
         requests in flight. {}\n\n{table}\n{text}{REST}",
        command(),
        server_version(&cluster)?,
        machine()
    );
    write_page("benchmarks-holds.md", &page)
}

const HEAD: &str = "| round | bare loop, patches/s | hold, patches/s | ratio |\n|---|---|---|---|\n";

const REST: &str = "\nThe time of a hold counts from the first taint until the last pod is held. It includes the writes of the taints, their \
                    watch events and the decisions. Its patches are those of the pods, and one for the taints of each node.\n";

/// The bare loop: how long it takes to remove the seconds of the pods of these nodes, with an annotation of the size that a hold writes.
async fn floor(fleet: &LoadGenerator, nodes: &[String]) -> Result<Duration> {
    let pods = pods(fleet, nodes).await?;
    let record = "x".repeat(420);
    let clear: Vec<(String, String)> = pods
        .iter()
        .map(|(path, uid, tolerations)| {
            let steps = json!([
                {"op": "test", "path": "/metadata/uid", "value": uid},
                {"op": "test", "path": "/spec/tolerations", "value": tolerations},
                {"op": "remove", "path": "/spec/tolerations/0/tolerationSeconds"},
                {"op": "remove", "path": "/spec/tolerations/1/tolerationSeconds"},
                {"op": "add", "path": "/metadata/annotations/bench.taintward~1held", "value": record},
            ]);
            (path.clone(), steps.to_string())
        })
        .collect();
    let restore: Vec<(String, String)> = pods
        .iter()
        .map(|(path, _, _)| {
            let steps = json!([
                {"op": "add", "path": "/spec/tolerations/0/tolerationSeconds", "value": 300},
                {"op": "add", "path": "/spec/tolerations/1/tolerationSeconds", "value": 300},
                {"op": "remove", "path": "/metadata/annotations/bench.taintward~1held"},
            ]);
            (path.clone(), steps.to_string())
        })
        .collect();
    let began = Instant::now();
    patch(fleet, &clear).await?;
    let took = began.elapsed();
    patch(fleet, &restore).await?;
    Ok(took)
}

async fn patch(fleet: &LoadGenerator, patches: &[(String, String)]) -> Result<()> {
    let all = stream::iter(patches)
        .map(async |(path, body)| fleet.api.patch(path, PatchType::Json, body).await.map(drop));
    Ok(all.buffer_unordered(AT_ONCE).try_for_each(async |()| Ok(())).await?)
}

/// Path, UID and tolerations of the pods of these nodes.
async fn pods(fleet: &LoadGenerator, nodes: &[String]) -> Result<Vec<(String, Value, Value)>> {
    let list = fleet.api.get("/api/v1/namespaces/default/pods").await?;
    let items = list["items"].as_array().context("a list without items")?;
    let on = |pod: &&Value| nodes.iter().any(|node| pod["spec"]["nodeName"] == node.as_str());
    let found = items.iter().filter(on).filter_map(|pod| {
        let name = pod["metadata"]["name"].as_str()?;
        Some((pod_path(name), pod["metadata"]["uid"].clone(), pod["spec"]["tolerations"].clone()))
    });
    Ok(found.collect())
}

/// `taintward run --controllers=toleration-hold-controller`.
struct Holder {
    process: ChildProcess,
    port: u16,
}

impl Holder {
    async fn start(cluster: &Cluster) -> Result<Self> {
        let port = http::free_port()?;
        let mut command = Command::new(sources::build_taintward(true)?);
        command
            .args(["run", "--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=0"])
            .args(["--controllers=toleration-hold-controller", "--hold-limit=1"])
            .arg(format!("--kubeconfig={}", cluster.kubeconfig(Account::Admin, 0).display()))
            .arg(format!("--metrics-port={port}"));
        let mut process = cluster.run("taintward", command)?;
        wait::until("taintward to be ready", PATIENCE, async || {
            process.expect_running()?;
            Ok(http::get(port, "/readyz").is_ok_and(|(status, _)| status == 200).then_some(()))
        })
        .await?;
        Ok(Self { process, port })
    }

    /// Silences these nodes, and returns the time until all of their pods are held.
    async fn hold(&self, fleet: &LoadGenerator, nodes: &[String]) -> Result<Duration> {
        let began = Instant::now();
        self.silence(fleet, nodes, &[json!({"key": UNREACHABLE, "effect": "NoExecute"})]).await?;
        self.until_held(nodes.len() * PODS_PER_NODE).await?;
        let took = began.elapsed();
        let held = pods(fleet, nodes).await?;
        let is_held = |tolerations: &Value| tolerations[0]["tolerationSeconds"].is_null();
        ensure!(held.iter().all(|(_, _, tolerations)| is_held(tolerations)), "a pod still has its seconds");
        Ok(took)
    }

    /// Revives these nodes, and waits until no pod is held.
    async fn release(&self, fleet: &LoadGenerator, nodes: &[String]) -> Result<()> {
        self.silence(fleet, nodes, &[]).await?;
        self.until_held(0).await
    }

    async fn silence(&self, fleet: &LoadGenerator, nodes: &[String], taints: &[Value]) -> Result<()> {
        let all = stream::iter(nodes).map(|node| set_taints(&fleet.api, node, taints));
        Ok(all.buffer_unordered(AT_ONCE).try_for_each(async |()| Ok(())).await?)
    }

    async fn until_held(&self, number: usize) -> Result<()> {
        let metric = |text: &str, name: &str| {
            text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok())
        };
        wait::until("the pods to be held or released", PATIENCE, async || {
            let (_, text) = http::get(self.port, "/metrics")?;
            let is = |name, wanted: usize| metric(&text, name) == Some(wanted as f64);
            Ok((is("taintward_hold_pods ", number) && is("taintward_hold_pods_waiting ", 0)).then_some(()))
        })
        .await
    }
}
