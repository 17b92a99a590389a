//! Benchmarks what the admission policies of an installation add to the creation of a pod.
//!
//! - Writes docs/benchmarks-policies.md.

use super::load::pod;
use super::readings::Readings;
use super::report::{FACTOR, MILLISECONDS, Report, met, server_version};
use crate::server_process::ServerProcess;
use crate::sources;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};
use taintward_envtest::{Account, Cluster, TestApi, TestApiError, wait};

/// In seconds.
const GOAL: f64 = 0.000_3;
const POOLS: [usize; 4] = [0, 1, 10, 100];
/// Kinds of objects that must exist before the others.
const FIRST: [&str; 5] =
    ["Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole", "ClusterRoleBinding"];
const TIMEOUT: Duration = Duration::from_secs(120);
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

/// The seconds of each pair of creations: in the exempt namespace, and in the other one.
type Pairs = Vec<[f64; 2]>;

pub(crate) async fn run(quick: bool) -> Result<()> {
    let pairs = if quick { 100 } else { 1_000 };
    let cluster = super::start_cluster().await?;
    let api = cluster.api(Account::Admin).await?;
    let bindings = install(&cluster, &api).await?;
    let mut report = Report::new("benchmarks-policies.md", "What the policies cost", &COLUMNS);
    let mut there = 0;
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
            report.row(&row(pools, what, &measure(&api, pairs, key).await?));
        }
    }
    let measured = format!(
        "pods created one after the other on one API server ({}) with the {bindings} bindings of `taintward install`, in turns in a \
         namespace that `--exempt-namespaces` names and in another one, {pairs} pairs for each row.",
        server_version(&cluster)?
    );
    report.publish(quick, &measured, "")
}

/// Installs everything except workloads and webhooks, and waits until the API server has observed it; returns the number of bindings.
pub(super) async fn install(cluster: &Cluster, api: &TestApi) -> Result<usize> {
    let binary = sources::build_taintward(true)?;
    let mut command = Command::new(binary);
    let output = sources::output(command.args(["install", "--exempt-namespaces", EXEMPT, "-o", "json"]))?;
    let list: Value = serde_json::from_str(&output)?;
    let all = list["items"].as_array().context("a list")?;
    let of = |kinds: &[&str]| -> Vec<Value> {
        let is_one = |object: &&Value| object["kind"].as_str().is_some_and(|kind| kinds.contains(&kind));
        all.iter().filter(is_one).cloned().collect()
    };
    let bindings = of(&["ValidatingAdmissionPolicyBinding"]);
    ensure!(!bindings.is_empty(), "taintward install prints no bindings");
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
    for binding in &bindings {
        api.create(BINDINGS, binding).await?;
    }
    tokio::time::sleep(LEARNS).await;
    Ok(bindings.len())
}

/// Runs the controller until all pools are in the guard, and ends it, so that it uses no processor time afterwards.
async fn hand_over(cluster: &Cluster, api: &TestApi) -> Result<()> {
    let account = cluster.kubeconfig_as("system:serviceaccount:taintward-system:taintward", &[])?;
    let mut command = Command::new(sources::build_taintward(true)?);
    command.args(["run", "--leader-elect=false", "--controllers=dedicated-pool-controller"]);
    let mut controller = ServerProcess::start(command, &account).await?;
    wait::until("the guard to contain all pools", TIMEOUT, async || {
        controller.process.expect_running()?;
        let all = api.get("/apis/taintward.io/v1alpha1/dedicatedpools").await?;
        let labels = |pool: &Value| !pool["metadata"]["labels"]["taintward.io/pool-guard"].is_null();
        Ok(all["items"].as_array().context("a list")?.iter().all(labels).then_some(()))
    })
    .await
}

pub(super) fn pool(number: usize) -> Value {
    json!({"apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": format!("team-{number}")}, "spec": {
        "taint": {"key": "dedicated", "value": format!("team-{number}")},
        "nodes": {"names": [format!("node-{number}")]},
        "users": {"namespaceSelector": {"matchLabels": {"team": format!("team-{number}")}}},
        "enforcement": "Deny",
    }})
}

/// Whether the API server refuses a pod that the first pool forbids: if not, there is nothing to measure.
pub(super) async fn keeps_out(api: &TestApi) -> Result<bool> {
    let mut pod = pod("intruder", NAMESPACES[1], None);
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
        let mut pod = pod(&format!("pod-{at}"), NAMESPACES[0], None);
        if let (Some(key), Some(list)) = (key, pod["spec"]["tolerations"].as_array_mut()) {
            list.push(json!({"key": key, "operator": "Exists", "effect": "NoSchedule"}));
        }
        let mut took = [0.0; 2];
        for turn in 0..2 {
            // The order alternates from pair to pair.
            let judged = (at + turn) % 2;
            pod["metadata"]["namespace"] = json!(NAMESPACES[judged]);
            let text = pod.to_string();
            let began = Instant::now();
            api.create_text(&pods(NAMESPACES[judged]), text).await?;
            took[judged] = began.elapsed().as_secs_f64();
        }
        pairs.push(took);
    }
    for namespace in NAMESPACES {
        api.delete(&pods(namespace), &json!({"gracePeriodSeconds": 0})).await?;
    }
    Ok(pairs.split_off(WARM))
}

const COLUMNS: [&str; 9] = [
    "pools",
    "tolerations of the pod",
    "p50 without",
    "p50 with",
    "difference",
    "ratio",
    "p99 without",
    "p99 with",
    "goal 0.3 ms",
];

fn row(pools: usize, what: &str, pairs: &Pairs) -> [String; 9] {
    let [without, with] = [0, 1].map(|which| pairs.iter().map(|pair| pair[which]).collect::<Readings>());
    // They may be negative.
    let mut differences: Vec<f64> = pairs.iter().map(|[without, with]| with - without).collect();
    let (_, difference, _) = differences.select_nth_unstable_by(pairs.len() / 2, f64::total_cmp);
    [
        pools.to_string(),
        what.to_owned(),
        MILLISECONDS.show(without.median()),
        MILLISECONDS.show(with.median()),
        MILLISECONDS.show(*difference),
        FACTOR.show(with.median() / without.median()),
        MILLISECONDS.show(without.at(0.99)),
        MILLISECONDS.show(with.at(0.99)),
        met(*difference <= GOAL).to_owned(),
    ]
}
