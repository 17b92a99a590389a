//! Benchmarks what the admission policies of an installation add to the creation of a pod.
//!
//! - Writes docs/benchmarks-policies.md.

use super::load::LoadGenerator;
use super::report::{command, machine, met, server_version, write_page};
use super::webhook::review_client;
use crate::sources;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};
use taintward_envtest::{Account, Cluster, TestApi, TestApiError, wait};

const GOAL: Duration = Duration::from_micros(300);
const POOLS: [usize; 4] = [0, 1, 10, 100];
/// Kinds of objects that must exist before the others.
const FIRST: [&str; 5] =
    ["Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"];
const PATIENCE: Duration = Duration::from_secs(120);
/// Namespaces whose pods the policies judge, and do not judge.
const NAMESPACES: [&str; 2] = [EXEMPT, "ns-7"];
const EXEMPT: &str = "ns-exempt";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
/// The time in which an API server observes new bindings and pools, and compiles them.
const LEARNS: Duration = Duration::from_secs(3);
/// Pairs that do not count, because the API server still compiles policies.
const WARM: usize = 50;

/// What pods tolerate.
const TOLERATIONS: [(&str, Option<&str>); 2] =
    [("the default only", None), ("one more key", Some("example.com/gpu"))];

/// The times of each pair of creations: in the exempt namespace, and in the other one.
type Pairs = Vec<[Duration; 2]>;

pub(crate) async fn run(quick: bool) -> Result<()> {
    let pairs = if quick { 100 } else { 1_000 };
    let cluster = super::start_cluster().await?;
    let api = LoadGenerator::new(cluster.api(Account::Admin).await?).api;
    let bindings = install(&cluster, &api).await?;
    bind(&api, &bindings).await?;
    let (mut table, mut there) = (HEAD.to_owned(), 0);
    for pools in POOLS {
        for pool in there..pools {
            api.create("/apis/taintward.io/v1alpha1/dedicatedpools", &self::pool(pool)).await?;
        }
        there = pools;
        hand_over(&cluster, &api).await?;
        tokio::time::sleep(LEARNS).await;
        ensure!(
            keeps_out(&api).await? == (pools > 0),
            "the API server has not observed the pools within {LEARNS:?}"
        );
        for (what, key) in TOLERATIONS {
            let line = row(pools, what, &measure(&api, pairs, key).await?);
            print!("{line}");
            table += &line;
        }
    }
    if quick {
        return Ok(());
    }
    let text = format!(
        "# What the policies cost\n\nMade by `cargo xtask {}`: pods created one after the other on one API server ({}) with the {} \
         bindings of `taintward install`, in turns in a namespace that `--exempt-namespaces` names and in another one, {pairs} \
         pairs for each row. {}\n\n{table}{REST}",
        command(),
        server_version(&cluster)?,
        bindings.len(),
        machine()
    );
    write_page("benchmarks-policies.md", &text)
}

/// Installs everything except workloads, webhooks and bindings; returns the bindings.
pub(super) async fn install(cluster: &Cluster, api: &TestApi) -> Result<Vec<Value>> {
    let binary = sources::build_taintward(true)?;
    let output = Command::new(binary).args(["install", "--exempt-namespaces", EXEMPT, "-o", "json"]).output();
    let output = output.context("starting taintward install")?;
    let list: Value = serde_json::from_slice(&output.stdout).context("the output of taintward install")?;
    let all = list["items"].as_array().context("a list")?;
    let of = |kinds: &[&str]| -> Vec<Value> {
        let is_one = |object: &&Value| object["kind"].as_str().is_some_and(|kind| kinds.contains(&kind));
        all.iter().filter(is_one).cloned().collect()
    };
    let bindings = of(&["ValidatingAdmissionPolicyBinding"]);
    ensure!(
        !bindings.is_empty(),
        "taintward install prints no bindings: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let file = cluster.folder().join("installed.json");
    for kinds in [&FIRST[..], &["PoolGuard", "ValidatingAdmissionPolicy"]] {
        fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": of(kinds)}).to_string())?;
        cluster.kubectl(["apply", "-f", file.to_str().context("a path that is text")?])?;
        cluster.kubectl(["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"])?;
    }
    for name in NAMESPACES {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"team": "other"}}});
        api.create("/api/v1/namespaces", &namespace).await?;
    }
    tokio::time::sleep(LEARNS).await;
    Ok(bindings)
}

/// Runs the controller until all pools are in the guard, and ends it, so that it uses no processor time afterwards.
async fn hand_over(cluster: &Cluster, api: &TestApi) -> Result<()> {
    let account = cluster.kubeconfig_as("system:serviceaccount:taintward-system:taintward", &[])?;
    let mut command = Command::new(sources::build_taintward(true)?);
    command.args([
        "run",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        "--secure-port=0",
        "--metrics-port=0",
    ]);
    command.args(["--controllers=dedicated-pool-controller", &format!("--kubeconfig={}", account.display())]);
    let mut controller = cluster.run("taintward", command)?;
    wait::until("the guard to contain all pools", PATIENCE, async || {
        controller.expect_running()?;
        let all = api.get("/apis/taintward.io/v1alpha1/dedicatedpools").await?;
        let labels = |pool: &Value| !pool["metadata"]["labels"]["taintward.io/pool-guard"].is_null();
        Ok(all["items"].as_array().context("a list")?.iter().all(labels).then_some(()))
    })
    .await?;
    controller.kill()?;
    Ok(())
}

pub(super) fn pool(number: usize) -> Value {
    json!({"apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": format!("team-{number}")}, "spec": {
        "taint": {"key": "dedicated", "value": format!("team-{number}")},
        "nodes": {"names": [format!("node-{number}")]},
        "users": {"namespaceSelector": {"matchLabels": {"team": format!("team-{number}")}}},
        "enforcement": "Deny",
    }})
}

/// Creates the bindings, and waits until the API server has observed them.
pub(super) async fn bind(api: &TestApi, bindings: &[Value]) -> Result<()> {
    for binding in bindings {
        api.create(BINDINGS, binding).await?;
    }
    tokio::time::sleep(LEARNS).await;
    Ok(())
}

/// Whether the API server refuses a pod that the first pool forbids: if not, there is nothing to measure.
pub(super) async fn keeps_out(api: &TestApi) -> Result<bool> {
    let mut pod = review_client::pod("intruder");
    pod["spec"]["tolerations"] = json!([{"key": "dedicated", "value": "team-0", "effect": "NoSchedule"}]);
    match api.create(&format!("{}?dryRun=All", pods(NAMESPACES[1])), &pod).await {
        Ok(_) => Ok(false),
        Err(error) if matches!(error.code(), Some(403 | 422)) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn pods(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/pods")
}

/// Creates pods in both namespaces in turns, so that other load of the machine affects both, and deletes them.
async fn measure(api: &TestApi, number: usize, key: Option<&str>) -> Result<Pairs, TestApiError> {
    let mut pairs = Pairs::with_capacity(number);
    for at in 0..number + WARM {
        let mut pod = review_client::pod(&format!("pod-{at}"));
        if let (Some(key), Some(list)) = (key, pod["spec"]["tolerations"].as_array_mut()) {
            list.push(json!({"key": key, "operator": "Exists", "effect": "NoSchedule"}));
        }
        let mut took = [Duration::ZERO; 2];
        for turn in 0..2 {
            // The order alternates from pair to pair.
            let judged = (at + turn) % 2;
            if let Some(metadata) = pod["metadata"].as_object_mut() {
                metadata.insert("namespace".to_owned(), json!(NAMESPACES[judged]));
            }
            let text = pod.to_string();
            let began = Instant::now();
            api.create_text(&pods(NAMESPACES[judged]), text).await?;
            took[judged] = began.elapsed();
        }
        pairs.push(took);
    }
    for namespace in NAMESPACES {
        api.delete(&pods(namespace), &json!({"gracePeriodSeconds": 0})).await?;
    }
    Ok(pairs.split_off(WARM))
}

const HEAD: &str = "| pools | tolerations of the pod | p50 without | p50 with | difference | ratio | p99 without | p99 with | goal 0.3 ms |\n\
                    |--:|---|--:|--:|--:|--:|--:|--:|---|\n";

const REST: &str = "
The difference is the median of the differences of all pairs. The check whether a namespace is exempt costs the API server almost \
nothing, and both times include it. The user is in the group `system:masters`, to which the policies apply as well. No pool admits \
the pods, and none refuses them. etcd does not wait for its disk, in both cases.

An API server evaluates a policy once for each object that is bound to it, and converts the pod each time. Here that is one object, \
the PoolGuard, because the controller has added all pools to it. Until the controller has done so, each new pool adds 0.2 ms to the \
creation of every pod. For the guard, the API server first evaluates whether the pod tolerates any key of a pool's taint, names its \
node, or names the pools for which it was created; for most pods, it evaluates nothing else. Only the search for pools without the \
label grows with the number of pools: for each pod, the API server reads the labels of all of them.
";

/// The value below which this share of all values lies, in percent.
fn percentile(mut values: Vec<f64>, share: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() * share / 100).copied().unwrap_or_default()
}

fn row(pools: usize, what: &str, pairs: &Pairs) -> String {
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    let of = |which: usize, share| percentile(pairs.iter().map(|pair| millis(pair[which])).collect(), share);
    let difference =
        percentile(pairs.iter().map(|[without, with]| millis(*with) - millis(*without)).collect(), 50);
    let (without, with) = (of(0, 50), of(1, 50));
    let met = met(difference <= millis(GOAL));
    let mut line = format!("| {pools} | {what} | {without:.2} ms | {with:.2} ms | {difference:+.2} ms |");
    let _ = writeln!(line, " {:.2}x | {:.2} ms | {:.2} ms | {met} |", with / without, of(0, 99), of(1, 99));
    line
}
