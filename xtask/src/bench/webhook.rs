//! Benchmarks the webhook: reviews per second, latency, and what it adds to the creation of a pod.
//!
//! - Writes docs/benchmarks-webhook.md.

mod process;
pub(crate) mod review_client;

use super::load::LoadGenerator;
use super::policies;
use super::report::{command, machine, median, met, write_page};
use crate::sources;
use anyhow::{Context as _, Result};
pub(super) use process::WebhookProcess;
use review_client::LatencyPercentiles;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::Command;
use std::time::{Duration, Instant};
use taintward_envtest::{Account, Audit, Binaries, Cluster, ClusterConfig, DiskSync, TestApi};

/// Reviews per second and core; latency is measured at half of this rate.
const GOAL_RATE: f64 = 20_000.0;
const GOAL_P99: Duration = Duration::from_millis(2);
const GOAL_MEMORY: f64 = 20.0;
/// The memory under load that counts as constant, as a multiple of idle memory.
const GOAL_GROWTH: f64 = 1.1;
const GOAL_RATIO: f64 = 1.3;

const NODES: usize = 1000;
const NAMESPACES: usize = 100;
const CONNECTIONS: usize = 16;

/// The size of the benchmark.
struct WebhookBenchSize {
    saturated: Duration,
    paced: Duration,
    rounds: usize,
    creates: usize,
}

/// What the benchmark measured.
struct WebhookReadings {
    idle: f64,
    busy: f64,
    per_core: f64,
    reached: f64,
    paced: LatencyPercentiles,
    /// The median time of a pod's creation in each round, without the webhook and with each of [`INSTALLED`].
    creates: Vec<[Duration; 3]>,
}

pub(crate) async fn run(quick: bool) -> Result<()> {
    let amount = if quick {
        WebhookBenchSize {
            saturated: Duration::from_secs(1),
            paced: Duration::from_secs(1),
            rounds: 1,
            creates: 50,
        }
    } else {
        WebhookBenchSize {
            saturated: Duration::from_secs(8),
            paced: Duration::from_secs(15),
            rounds: 7,
            creates: 400,
        }
    };
    let tools = Binaries::find_or_build()?;
    let binary = sources::build_taintward(true)?;
    let options = ClusterConfig { audit: Audit::Off, disk: DiskSync::Synced, ..ClusterConfig::default() };
    let cluster = Cluster::start(&tools, options).await?;
    let fleet = LoadGenerator::new(cluster.api(Account::Admin).await?);
    furnish(&cluster, &fleet).await?;
    let webhook = WebhookProcess::start(&binary, &cluster).await?;
    let readings = measure(&webhook, &fleet.api, &amount).await?;
    let table = table(&readings);
    println!("\n{table}");
    if quick {
        return Ok(());
    }
    let text = format!(
        "# The webhook\n\nMade by `cargo xtask {}`: `taintward webhook` with its default rules, 3 pools, 2 policies, {NAMESPACES} \
         namespaces and {NODES} nodes, on loopback; the review of a pod has {} bytes. {}\n\n{table}",
        command(),
        review_client::question("ns-7", 0).len(),
        machine()
    );
    write_page("benchmarks-webhook.md", &text)
}

/// Creates the objects that the rules read.
async fn furnish(cluster: &Cluster, fleet: &LoadGenerator) -> Result<()> {
    let crds = sources::root().join("deploy/crds");
    cluster.kubectl(["apply", "-f", crds.to_str().context("a path that is text")?])?;
    let established = ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"];
    cluster.kubectl(established)?;
    let names: Vec<String> = (0..NODES).map(|node| format!("node-{node}")).collect();
    fleet.create_nodes(&names).await?;
    for namespace in 0..NAMESPACES {
        let team = format!("team-{}", namespace % 10);
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": format!("ns-{namespace}"), "labels": {"team": team},
        }});
        fleet.api.create("/api/v1/namespaces", &object).await?;
    }
    for team in 0..3 {
        eventually(&fleet.api, "/apis/taintward.io/v1alpha1/dedicatedpools", &policies::pool(team)).await?;
    }
    for team in [8, 9] {
        let object = json!({"apiVersion": "taintward.io/v1alpha1", "kind": "TaintwardPolicy",
        "metadata": {"name": format!("team-{team}")},
        "spec": {
            "namespaceSelector": {"matchLabels": {"team": format!("team-{team}")}},
            "notReadySeconds": 600,
        }});
        eventually(&fleet.api, "/apis/taintward.io/v1alpha1/taintwardpolicies", &object).await?;
    }
    Ok(())
}

/// Creates an object, and retries while the API server does not serve its resource yet.
async fn eventually(api: &TestApi, path: &str, object: &Value) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        match api.create(path, object).await {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() < until && matches!(error.code(), Some(404 | 429 | 503)) => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn measure(
    webhook: &WebhookProcess,
    api: &TestApi,
    amount: &WebhookBenchSize,
) -> Result<WebhookReadings> {
    tokio::time::sleep(Duration::from_secs(2)).await;
    let idle = webhook.usage()?;
    let began = Instant::now();
    let answered = webhook.asker.saturate(CONNECTIONS, amount.saturated).await?;
    let reached = answered as f64 / began.elapsed().as_secs_f64();
    let cpu = webhook.usage()?.cpu.saturating_sub(idle.cpu);
    let per_core = answered as f64 / cpu.as_secs_f64();
    let paced = webhook.asker.paced(CONNECTIONS, GOAL_RATE / 2.0, amount.paced).await?;
    let busy = webhook.usage()?.resident;
    let creates = creates(webhook, api, amount).await?;
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    Ok(WebhookReadings {
        idle: megabytes(idle.resident),
        busy: megabytes(busy),
        per_core,
        reached,
        paced,
        creates,
    })
}

/// Both kinds of configurations, with the names that `taintward install` and paths use.
const CONFIGURATIONS: [(&str, &str); 2] = [
    ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
    ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
];

/// The rules of two installations: the rule of the built-in plugin, and the default.
const INSTALLED: [&str; 2] = ["default-tolerations", "*"];

async fn creates(
    webhook: &WebhookProcess,
    api: &TestApi,
    amount: &WebhookBenchSize,
) -> Result<Vec<[Duration; 3]>> {
    let mut all = Vec::new();
    for round in 0..amount.rounds {
        let mut middle = [Duration::ZERO; 3];
        for turn in 0..3 {
            // Each round begins with another case.
            let which = (round + turn) % 3;
            let rules = which.checked_sub(1).map(|at| INSTALLED[at]);
            if let Some(rules) = rules {
                register(webhook, api, rules, "Fail").await?;
            }
            middle[which] = timed(api, &format!("r{round}-{which}"), amount.creates).await?;
            if let Some(rules) = rules {
                unregister(webhook, api, rules).await?;
            }
        }
        all.push(middle);
    }
    Ok(all)
}

/// Creates pods one after the other; returns the median time.
async fn timed(api: &TestApi, name: &str, number: usize) -> Result<Duration> {
    let pods = "/api/v1/namespaces/ns-7/pods";
    let mut took = Vec::with_capacity(number);
    for at in 0..number + 50 {
        let pod = review_client::pod(&format!("{name}-{at}")).to_string();
        let began = Instant::now();
        api.create_text(pods, pod).await?;
        took.push(began.elapsed());
    }
    // The first creations include opening connections.
    let mut took = took.split_off(50);
    took.sort_unstable();
    Ok(took[took.len() / 2])
}

/// The configurations of an installation, with an address instead of its Service.
fn configurations(webhook: &WebhookProcess, rules: &str, failure: &str) -> Result<Vec<(String, Value)>> {
    use base64::Engine as _;
    let bundle = base64::engine::general_purpose::STANDARD.encode(webhook.bundle());
    let output = Command::new(webhook.binary())
        .args(["install", "--parts=webhook", "-o", "json"])
        .args([format!("--rules={rules}"), format!("--failure-policy={failure}")])
        .output()?;
    let mut list: Value =
        serde_json::from_slice(&output.stdout).context("the output of taintward install")?;
    let mut found = Vec::new();
    for object in list["items"].as_array_mut().context("a list")? {
        let of_kind = CONFIGURATIONS.iter().find(|(kind, _)| object["kind"] == *kind);
        let Some((_, plural)) = of_kind else { continue };
        for one in object["webhooks"].as_array_mut().context("webhooks")? {
            let path = one["clientConfig"]["service"]["path"].as_str().context("a path")?;
            let url = webhook.asker.url(path.trim_start_matches('/'));
            one["clientConfig"] = json!({"url": url, "caBundle": bundle});
        }
        found.push((format!("/apis/admissionregistration.k8s.io/v1/{plural}"), object.take()));
    }
    Ok(found)
}

pub(super) async fn register(
    webhook: &WebhookProcess,
    api: &TestApi,
    rules: &str,
    failure: &str,
) -> Result<()> {
    for (path, object) in configurations(webhook, rules, failure)? {
        api.create(&path, &object).await?;
    }
    // API servers observe configurations with a delay.
    tokio::time::sleep(Duration::from_secs(2)).await;
    Ok(())
}

async fn unregister(webhook: &WebhookProcess, api: &TestApi, rules: &str) -> Result<()> {
    for (path, object) in configurations(webhook, rules, "Fail")? {
        let name = object["metadata"]["name"].as_str().context("a name")?;
        api.delete(&format!("{path}/{name}"), &json!({})).await?;
    }
    tokio::time::sleep(Duration::from_secs(2)).await;
    Ok(())
}

/// The notes below the table.
const REST: &str = "
With the rule `default-tolerations` alone, the webhook does what the built-in plugin does, and the API server sends one review. By \
default, the webhook also guards pools. The created pod tolerates no pool's taint, so the API server sends one review here as well, \
but it must evaluate one more condition (docs/install.md, \"What the API server asks\"). The answer of the webhook is the smaller part of \
the added time. The rest is the API server's own work for a review, which includes the conditions that exclude requests of kubelets \
and updates that do not change the spec. etcd waits for its disk, as in every durable cluster. Idle memory and the first of the two \
ratios are close to their goals: another run may miss them.
";

fn table(readings: &WebhookReadings) -> String {
    let mut text = "| | measured | goal | |\n|---|--:|--:|---|\n".to_owned();
    let mut line = |what: &str, measured: String, goal: String, is_met: bool| {
        let _ = writeln!(text, "| {what} | {measured} | {goal} | {} |", met(is_met));
    };
    line(
        "reviews per second of processor time, keep-alive TLS",
        format!("{:.0}", readings.per_core),
        format!("{GOAL_RATE:.0}"),
        readings.per_core >= GOAL_RATE,
    );
    let LatencyPercentiles { p50, p99, p999 } = readings.paced;
    line(
        &format!("p99 of an answer at {:.0} reviews per second", GOAL_RATE / 2.0),
        format!("{p99:.2?}"),
        format!("{GOAL_P99:?}"),
        p99 <= GOAL_P99,
    );
    line(
        "memory, idle",
        format!("{:.1} MB", readings.idle),
        format!("{GOAL_MEMORY} MB"),
        readings.idle <= GOAL_MEMORY,
    );
    let growth = readings.busy / readings.idle;
    line(
        "memory after this load / idle",
        format!("{growth:.2}x"),
        format!("{GOAL_GROWTH}x"),
        growth <= GOAL_GROWTH,
    );
    let of = "creating a pod, p50, with the webhook / with the built-in plugins only";
    for (which, installed) in [
        (1, "`--rules=default-tolerations`, the work of the plugin"),
        (2, "the default, which guards pools as well"),
    ] {
        let ratio = ratio(&readings.creates, which);
        line(
            &format!("{of}: {installed}"),
            format!("{ratio:.2}x"),
            format!("{GOAL_RATIO}x"),
            ratio <= GOAL_RATIO,
        );
    }
    let rounds: Vec<String> = readings
        .creates
        .iter()
        .map(|[without, plugin, default]| format!("{plugin:.2?} and {default:.2?} / {without:.2?}"))
        .collect();
    let _ = writeln!(
        text,
        "\nIn addition, {CONNECTIONS} connections from the same machine that send reviews without a pause received {:.0} answers per \
         second. At the fixed rate, p50 was {p50:.2?} and p99.9 {p999:.2?}, counted from the moment when a review was due. Creations \
         with the plugin's work and with the default / without the webhook, in each round: {}.",
        readings.reached,
        rounds.join(", ")
    );
    text + REST
}

/// The median over all rounds of what one of [`INSTALLED`], counted from 1, adds.
fn ratio(creates: &[[Duration; 3]], which: usize) -> f64 {
    median(creates.iter().map(|round| round[which].as_secs_f64() / round[0].as_secs_f64()))
}
