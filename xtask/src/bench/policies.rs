//! Benchmarks what the admission policies of an installation add to the creation of a pod.
//!
//! - Writes docs/benchmarks-policies.md.

use super::load::LoadGenerator;
use super::report::machine;
use super::webhook::review_client;
use crate::sources;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};
use taintward_envtest::api::PatchType;
use taintward_envtest::{Account, Audit, Binaries, Cluster, ClusterConfig, TestApi, TestApiError};

const GOAL: Duration = Duration::from_micros(300);
const POOLS: [usize; 4] = [0, 1, 10, 100];
const PODS: &str = "/api/v1/namespaces/ns-7/pods";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
/// API servers learn of bindings and pools by watching, and compile what is new.
const LEARNS: Duration = Duration::from_secs(3);
/// The first ones of a block pay for what was not yet compiled.
const WARM: usize = 50;

/// What pods tolerate.
const TOLERATIONS: [(&str, Option<&str>); 2] =
    [("the default only", None), ("one more key", Some("example.com/gpu"))];

struct PolicyBenchSize {
    rounds: usize,
    creates: usize,
}

/// Of one row: the times of each round's blocks, sorted; without the bindings, and with them.
type Blocks = Vec<[Vec<Duration>; 2]>;

pub(crate) async fn run(quick: bool) -> Result<()> {
    let amount = if quick {
        PolicyBenchSize { rounds: 2, creates: 50 }
    } else {
        PolicyBenchSize { rounds: 5, creates: 200 }
    };
    let tools = Binaries::find_or_build()?;
    let cluster =
        Cluster::start(&tools, ClusterConfig { audit: Audit::Off, ..ClusterConfig::default() }).await?;
    let api = LoadGenerator::new(cluster.api(Account::Admin).await?).api;
    let bindings = install(&cluster, &api).await?;
    let (mut table, mut there) = (HEAD.to_owned(), 0);
    for pools in POOLS {
        for pool in there..pools {
            api.create("/apis/taintward.io/v1alpha1/dedicatedpools", &self::pool(pool)).await?;
        }
        there = pools;
        for (what, key) in TOLERATIONS {
            let blocks = measure(&api, &bindings, &amount, &format!("p{pools}"), key).await?;
            let line = row(pools, what, &blocks);
            print!("{line}");
            table += &line;
        }
    }
    if quick {
        return Ok(());
    }
    let command: Vec<String> = std::env::args().skip(1).collect();
    let version = cluster.kubectl(["version", "--output=json"])?;
    let version: Value = serde_json::from_str(&version).context("kubectl's versions")?;
    let text = format!(
        "# What the policies cost\n\nMade by `cargo xtask {}`: pods created one after the other on one API server ({}) with the {} \
         bindings of `taintward install` there or not, in blocks of {} that take turns, {} rounds; {}\n\n{table}{REST}",
        command.join(" "),
        version["serverVersion"]["gitVersion"].as_str().unwrap_or("of an unknown version"),
        bindings.len(),
        amount.creates,
        amount.rounds,
        machine()
    );
    let file = sources::root().join("docs/benchmarks-policies.md");
    fs::write(&file, text)?;
    println!("written to {}", file.display());
    Ok(())
}

/// All that is installed but what would run or ask; the bindings, which are not there yet.
pub(super) async fn install(cluster: &Cluster, api: &TestApi) -> Result<Vec<Value>> {
    let binary = sources::build_taintward(true)?;
    let output = Command::new(binary).args(["install", "-o", "json"]).output();
    let output = output.context("starting taintward install")?;
    let list: Value = serde_json::from_slice(&output.stdout).context("what is installed")?;
    let (mut bindings, mut others) = (Vec::new(), Vec::new());
    for object in list["items"].as_array().context("a list")? {
        match object["kind"].as_str().unwrap_or_default() {
            "ValidatingAdmissionPolicyBinding" => bindings.push(object.clone()),
            "Namespace" | "CustomResourceDefinition" | "ConfigMap" | "ValidatingAdmissionPolicy" => {
                others.push(object.clone())
            }
            _ => {}
        }
    }
    ensure!(!bindings.is_empty(), "nothing is bound: {}", String::from_utf8_lossy(&output.stderr));
    let file = cluster.folder().join("installed.json");
    fs::write(&file, json!({"apiVersion": "v1", "kind": "List", "items": others}).to_string())?;
    cluster.kubectl(["apply", "-f", file.to_str().context("a path that is text")?])?;
    cluster.kubectl(["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"])?;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns-7", "labels": {"team": "other"}}});
    api.create("/api/v1/namespaces", &namespace).await?;
    tokio::time::sleep(LEARNS).await;
    Ok(bindings)
}

pub(super) fn pool(number: usize) -> Value {
    json!({"apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": format!("team-{number}")}, "spec": {
        "taint": {"key": "dedicated", "value": format!("team-{number}")},
        "nodes": {"names": [format!("node-{number}")]},
        "users": {"namespaceSelector": {"matchLabels": {"team": format!("team-{number}")}}},
        "enforcement": "Deny",
    }})
}

pub(super) async fn bind(api: &TestApi, bindings: &[Value], there: bool) -> Result<()> {
    for binding in bindings {
        let name = binding["metadata"]["name"].as_str().context("a name")?;
        let path = format!("{BINDINGS}/{name}");
        match there {
            true => {
                let path = format!("{path}?fieldManager=bench&force=true");
                api.patch(&path, PatchType::Apply, &binding.to_string()).await?;
            }
            false => match api.delete(&path, &json!({})).await {
                Err(error) if error.code() != Some(404) => return Err(error.into()),
                _ => {}
            },
        }
    }
    tokio::time::sleep(LEARNS).await;
    Ok(())
}

/// Whether a pod gets in that the first pool keeps out: the server does what is to be measured, or it does not.
pub(super) async fn keeps_out(api: &TestApi) -> Result<bool> {
    let mut pod = review_client::pod("intruder");
    pod["spec"]["tolerations"] = json!([{"key": "dedicated", "value": "team-0", "effect": "NoSchedule"}]);
    match api.create(&format!("{PODS}?dryRun=All"), &pod).await {
        Ok(_) => Ok(false),
        Err(error) if matches!(error.code(), Some(403 | 422)) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

async fn measure(
    api: &TestApi,
    bindings: &[Value],
    amount: &PolicyBenchSize,
    name: &str,
    key: Option<&str>,
) -> Result<Blocks> {
    let mut blocks = Blocks::new();
    for round in 0..amount.rounds {
        let mut both = [Vec::new(), Vec::new()];
        for turn in 0..2 {
            // Each round begins with the other.
            let bound = (round + turn) % 2 == 1;
            bind(api, bindings, bound).await?;
            let expected = bound && name != "p0";
            ensure!(keeps_out(api).await? == expected, "the API server has not learnt within {LEARNS:?}");
            both[usize::from(bound)] =
                timed(api, &format!("{name}-{round}-{turn}"), key, amount.creates).await?;
        }
        blocks.push(both);
    }
    Ok(blocks)
}

/// Creates pods one after the other and takes them away again; the times, sorted.
async fn timed(
    api: &TestApi,
    name: &str,
    key: Option<&str>,
    number: usize,
) -> Result<Vec<Duration>, TestApiError> {
    let mut took = Vec::with_capacity(number);
    for at in 0..number + WARM {
        let mut pod = review_client::pod(&format!("{name}-{at}"));
        if let (Some(key), Some(list)) = (key, pod["spec"]["tolerations"].as_array_mut()) {
            list.push(json!({"key": key, "operator": "Exists", "effect": "NoSchedule"}));
        }
        let pod = pod.to_string();
        let began = Instant::now();
        api.create_text(PODS, pod).await?;
        took.push(began.elapsed());
    }
    api.delete(PODS, &json!({"gracePeriodSeconds": 0})).await?;
    let mut took = took.split_off(WARM);
    took.sort_unstable();
    Ok(took)
}

const HEAD: &str = "| pools | tolerations of the pod | p50 without | p50 with | difference | ratio | p99 without | p99 with | goal 0.3 ms |\n\
                    |--:|---|--:|--:|--:|--:|--:|--:|---|\n";

const REST: &str = "
Of p50 and p99 each is the middle one of all rounds; the difference and the ratio are the middle ones of what each round gave, with and \
without one after the other. The user is in the group `system:masters`, for whom policies count as for everybody; no pool lets the pods \
in, and none keeps them out. etcd does not wait for its disk, which costs the same in both cases.

What grows is the number of parameters: an API server judges a pod once for each pool, and finds out for each anew whether the \
policy's conditions hold. So every pod pays for every pool, some 0.1 ms each. \
A pod that might get onto a pool's nodes pays several times as much for that pool alone.
";

fn at(sorted: &[Duration], share: usize) -> Duration {
    sorted.get(sorted.len() * share / 100).copied().unwrap_or_default()
}

fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

fn row(pools: usize, what: &str, blocks: &Blocks) -> String {
    let millis = |time: Duration| time.as_secs_f64() * 1000.0;
    let of = |which: usize, share: usize| {
        middle(blocks.iter().map(|both| millis(at(&both[which], share))).collect())
    };
    let halves: Vec<[f64; 2]> =
        blocks.iter().map(|both| [0, 1].map(|which: usize| millis(at(&both[which], 50)))).collect();
    let difference = middle(halves.iter().map(|[without, with]| with - without).collect());
    let ratio = middle(halves.iter().map(|[without, with]| with / without).collect());
    let met = if difference <= millis(GOAL) { "met" } else { "missed" };
    let mut line =
        format!("| {pools} | {what} | {:.2} ms | {:.2} ms | {difference:+.2} ms |", of(0, 50), of(1, 50));
    let _ = writeln!(line, " {ratio:.2}x | {:.2} ms | {:.2} ms | {met} |", of(0, 99), of(1, 99));
    line
}
