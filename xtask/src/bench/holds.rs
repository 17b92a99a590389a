//! Benchmarks how fast pods are held, compared with a bare loop that sends the same patches and decides nothing.
//!
//! - Writes docs/benchmarks-holds.md.

use super::load::{LoadGenerator, PODS, in_parallel, names, pod_path};
use super::report::{Report, met, server_version};
use crate::server_process::ServerProcess;
use crate::sources;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::no_execute;
use taintward_envtest::{Account, wait};

const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
const PODS_PER_NODE: usize = 50;
/// The number of patches in flight, the same as for Taintward.
const AT_ONCE: usize = 64;
const TIMEOUT: Duration = Duration::from_secs(300);
/// The goal for the time until all pods are held.
const GOAL: Duration = Duration::from_secs(120);
/// The goal for the rate, as a share of the bare loop's.
const RATE_GOAL: f64 = 0.9;

pub(crate) async fn run(quick: bool, rounds: usize) -> Result<()> {
    let (nodes, rounds) = if quick { (4, 1) } else { (200, rounds) };
    let names = names("node", nodes);
    let pods = nodes * PODS_PER_NODE;
    let cluster = super::start_cluster().await?;
    let fleet = LoadGenerator::new(cluster.api(Account::Admin).await?);
    fleet.create_nodes(&names).await?;
    fleet.create_pods(&names, PODS_PER_NODE, 0).await?;
    let mut command = Command::new(sources::build_taintward(true)?);
    command.args([
        "run",
        "--leader-elect=false",
        "--controllers=toleration-hold-controller",
        "--hold-limit=1",
    ]);
    let holder = ServerProcess::start(command, &cluster.kubeconfig(Account::Admin, 0)).await?;
    let resident = holder.usage()?.resident;
    let columns = ["round", "bare loop, patches/s", "hold, patches/s", "ratio"];
    let mut report = Report::new("benchmarks-holds.md", "How fast pods are held", &columns);
    let (mut all_floors, mut all_held) = (0.0, 0.0);
    for round in 0..rounds {
        // In turns, so that other load of the machine affects both.
        let (first, second) = names.split_at(nodes / 2);
        let (floor_nodes, held_nodes) = if round % 2 == 0 { (first, second) } else { (second, first) };
        let floor = floor(&fleet, floor_nodes).await?;
        let held = hold(&holder, &fleet, held_nodes).await?;
        fleet.untaint(held_nodes).await?;
        until_held(&holder, 0).await?;
        // The taints are written by patches as well.
        let (number, taints) = ((pods / 2) as f64, held_nodes.len() as f64);
        let (floor, held) = (number / floor.as_secs_f64(), (number + taints) / held.as_secs_f64());
        let ratio = format!("{:.0} %", 100.0 * held / floor);
        report.row(&[(round + 1).to_string(), format!("{floor:.0}"), format!("{held:.0}"), ratio]);
        all_floors += floor;
        all_held += held;
    }
    let ratio = all_held / all_floors;
    let all = hold(&holder, &fleet, &names).await?;
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let rest = format!(
        "
- rate: {:.0} % of the bare loop's (goal: {:.0} %; {})
- {pods} pods on {nodes} nodes that fall silent at the same time are held after {:.1} s (goal: {} s; {})
- memory: {:.0} MiB after the first list, {:.0} MiB at most; `cargo test -p taintward-core --test memory` shows the memory of each pod
",
        100.0 * ratio,
        100.0 * RATE_GOAL,
        met(ratio >= RATE_GOAL),
        all.as_secs_f64(),
        GOAL.as_secs(),
        met(all <= GOAL),
        mebibytes(resident),
        mebibytes(holder.usage()?.peak),
    );
    let measured = format!(
        "{pods} pods of 4 kB on {nodes} nodes of one API server ({}). In turns, a bare loop patches half of them, and `taintward run \
         --controllers=toleration-hold-controller` holds the other half, with {AT_ONCE} requests in flight.",
        server_version(&cluster)?
    );
    report.publish(quick, &measured, &rest)
}

/// The bare loop: how long it takes to remove the seconds of the pods of these nodes, with an annotation of the size
/// that a hold writes.
async fn floor(fleet: &LoadGenerator, nodes: &[String]) -> Result<Duration> {
    let pods = pods(fleet, nodes).await?;
    let record = "x".repeat(420);
    let took = patch(fleet, &pods, |pod| {
        json!([
            {"op": "test", "path": "/metadata/uid", "value": pod["metadata"]["uid"]},
            {"op": "test", "path": "/spec/tolerations", "value": pod["spec"]["tolerations"]},
            {"op": "remove", "path": "/spec/tolerations/0/tolerationSeconds"},
            {"op": "remove", "path": "/spec/tolerations/1/tolerationSeconds"},
            {"op": "add", "path": "/metadata/annotations/bench.taintward~1held", "value": record},
        ])
    })
    .await?;
    patch(fleet, &pods, |_| {
        json!([
            {"op": "add", "path": "/spec/tolerations/0/tolerationSeconds", "value": 300},
            {"op": "add", "path": "/spec/tolerations/1/tolerationSeconds", "value": 300},
            {"op": "remove", "path": "/metadata/annotations/bench.taintward~1held"},
        ])
    })
    .await?;
    Ok(took)
}

/// Patches pods, and returns how long the requests took.
async fn patch(fleet: &LoadGenerator, pods: &[Value], steps: impl Fn(&Value) -> Value) -> Result<Duration> {
    let name = |pod: &Value| pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let patches: Vec<_> = pods.iter().map(|pod| (pod_path(&name(pod)), steps(pod).to_string())).collect();
    let began = Instant::now();
    in_parallel(&patches, AT_ONCE, async |(path, body)| fleet.api.patch(path, PatchType::Json, body).await)
        .await?;
    Ok(began.elapsed())
}

/// The pods of these nodes.
async fn pods(fleet: &LoadGenerator, nodes: &[String]) -> Result<Vec<Value>> {
    let mut list = fleet.api.get(PODS).await?;
    let mut pods = std::mem::take(list["items"].as_array_mut().context("a list without items")?);
    pods.retain(|pod| nodes.iter().any(|node| pod["spec"]["nodeName"] == node.as_str()));
    Ok(pods)
}

/// Silences these nodes, and returns the time until all of their pods are held.
async fn hold(holder: &ServerProcess, fleet: &LoadGenerator, nodes: &[String]) -> Result<Duration> {
    let began = Instant::now();
    fleet.set_taints(nodes, &[no_execute(UNREACHABLE, "")]).await?;
    until_held(holder, nodes.len() * PODS_PER_NODE).await?;
    let took = began.elapsed();
    let is_held = |pod: &Value| pod["spec"]["tolerations"][0]["tolerationSeconds"].is_null();
    ensure!(pods(fleet, nodes).await?.iter().all(is_held), "a pod still has its seconds");
    Ok(took)
}

async fn until_held(holder: &ServerProcess, number: usize) -> Result<()> {
    wait::until("the pods to be held or released", TIMEOUT, async || {
        let held = holder.metric("taintward_hold_pods")? == Some(number as f64);
        Ok((held && holder.metric("taintward_hold_pods_waiting")? == Some(0.0)).then_some(()))
    })
    .await
}
