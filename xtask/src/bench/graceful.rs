//! Benchmarks evictions by the eviction API, compared with a bare loop that sends the same requests and decides nothing.
//!
//! - Writes docs/benchmarks-policies-graceful.md. No budget selects the pods, so that nothing delays either contender.

use super::load::{IN_FLIGHT, LoadGenerator, in_parallel, names, pod_path};
use super::report::{Report, met, server_version};
use crate::server_process::ServerProcess;
use crate::sources;
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use taintward_envtest::{Account, Cluster, wait};

const PODS_PER_NODE: usize = 100;
const TIMEOUT: Duration = Duration::from_secs(300);
/// The goal for the rate, as a share of the bare loop's.
const RATE_GOAL: f64 = 0.9;
const POLICIES: &str = "/apis/taintward.io/v1alpha1/evictionpolicies";
const PODS: &str = super::load::PODS;

pub(crate) async fn run(quick: bool, rounds: usize) -> Result<()> {
    let (nodes, rounds) = if quick { (4, 1) } else { (100, rounds) };
    let names = names("node", nodes);
    let pods = nodes * PODS_PER_NODE;
    let cluster = super::start_cluster().await?;
    let fleet = LoadGenerator::new(cluster.api(Account::Admin).await?);
    fleet.create_nodes(&names).await?;
    define(&cluster, &fleet).await?;
    let mut command = Command::new(sources::build_taintward(true)?);
    command.args(["run", "--leader-elect=false", "--eviction-policies"]);
    let evictor = ServerProcess::start(command, &cluster.kubeconfig(Account::Admin, 0)).await?;
    let columns = ["round", "bare loop, evictions/s", "Taintward, evictions/s", "ratio"];
    let title = "How fast pods are evicted by the eviction API";
    let mut report = Report::new("benchmarks-policies-graceful.md", title, &columns);
    let (mut all_floors, mut all_ours) = (0.0, 0.0);
    for round in 0..rounds {
        let mut rates = [0.0; 2];
        // In turns, so that other load of the machine affects both.
        let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
        for who in order {
            fleet.create_pods(&names, PODS_PER_NODE, 0).await?;
            wait::until("the controller to know every pod", TIMEOUT, async || {
                Ok((evictor.metric("taintward_pods")? == Some(pods as f64)).then_some(()))
            })
            .await?;
            let took = if who == 0 { floor(&fleet).await? } else { ours(&fleet, &names).await? };
            rates[who] = pods as f64 / took.as_secs_f64();
            wait::until("the controller to know that they are gone", TIMEOUT, async || {
                Ok((evictor.metric("taintward_pods")? == Some(0.0)).then_some(()))
            })
            .await?;
        }
        let [floor, ours] = rates;
        let ratio = format!("{:.0} %", 100.0 * ours / floor);
        report.row(&[(round + 1).to_string(), format!("{floor:.0}"), format!("{ours:.0}"), ratio]);
        all_floors += floor;
        all_ours += ours;
    }
    let ratio = all_ours / all_floors;
    let rest = format!(
        "\n- rate: {:.0} % of the bare loop's (goal: {:.0} %; {})\n",
        100.0 * ratio,
        100.0 * RATE_GOAL,
        met(ratio >= RATE_GOAL),
    );
    let measured = format!(
        "{pods} pods of 4 kB on {nodes} nodes of one API server ({}), which no budget selects. In turns, a bare loop evicts them with \
         {IN_FLIGHT} requests in flight, and `taintward run --eviction-policies` evicts them under a policy with `respectBudgets`, from \
         the first taint until the last pod is gone.",
        server_version(&cluster)?
    );
    report.publish(quick, &measured, &rest)
}

/// Installs the kind, and a policy that respects budgets.
async fn define(cluster: &Cluster, fleet: &LoadGenerator) -> Result<()> {
    let definition = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/crds/evictionpolicies.yaml");
    cluster.kubectl(["apply", "-f", definition.to_str().context("a path that is text")?])?;
    let policy = json!({"apiVersion": "taintward.io/v1alpha1", "kind": "EvictionPolicy", "metadata": {"name": "gentle"},
        "spec": {"respectBudgets": {"deadlineSeconds": 3600}}});
    wait::until("the kind to be served", TIMEOUT, async || Ok(fleet.api.create(POLICIES, &policy).await.ok()))
        .await
        .map(drop)
}

/// The bare loop.
async fn floor(fleet: &LoadGenerator) -> Result<Duration> {
    let list = fleet.api.get(PODS).await?;
    let items = list["items"].as_array().context("a list without items")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let pods: Vec<(String, Value)> = items
        .iter()
        .map(|pod| {
            let name = text(&pod["metadata"]["name"]);
            let preconditions = json!({"preconditions": {"uid": pod["metadata"]["uid"]}});
            let body = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"},
                "deleteOptions": preconditions});
            (format!("{}/eviction", pod_path(&name)), body)
        })
        .collect();
    let began = Instant::now();
    in_parallel(&pods, IN_FLIGHT, async |(path, body)| fleet.api.create(path, body).await.map(drop)).await?;
    let took = began.elapsed();
    fleet.wait_empty(TIMEOUT).await?;
    Ok(took)
}

async fn ours(fleet: &LoadGenerator, nodes: &[String]) -> Result<Duration> {
    let began = Instant::now();
    fleet.taint(nodes).await?;
    fleet.wait_empty(TIMEOUT).await?;
    let took = began.elapsed();
    fleet.untaint(nodes).await?;
    Ok(took)
}
