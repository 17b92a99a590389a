//! Benchmarks the webhook: reviews per second, latency, and what it adds to the creation of a pod.
//!
//! - Writes docs/benchmarks-webhook.md.

use super::load::{LoadGenerator, names, pod, review_of_pod};
use super::policies;
use super::readings::Readings;
use super::report::{FACTOR, Goal, MEGABYTES, MILLISECONDS, RATE, Report};
use crate::sources;
use crate::webhook_process::WebhookProcess;
use anyhow::{Context as _, Result};
use base64::Engine as _;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use taintward_envtest::{Account, Audit, Binaries, Cluster, ClusterConfig, DiskSync, TestApi};

/// Reviews per second and core; latency is measured at half of this rate.
const GOAL_RATE: f64 = 20_000.0;

const NODES: usize = 1000;
const NAMESPACES: usize = 100;
const CONNECTIONS: usize = 16;

/// The size of the benchmark.
struct WebhookBenchSizes {
    saturated: Duration,
    paced: Duration,
    rounds: usize,
    creates: usize,
}

pub(crate) async fn run(quick: bool) -> Result<()> {
    let sizes = |saturated, paced, rounds, creates| {
        let [saturated, paced] = [saturated, paced].map(Duration::from_secs);
        WebhookBenchSizes { saturated, paced, rounds, creates }
    };
    let sizes = if quick { sizes(1, 1, 1, 50) } else { sizes(8, 15, 7, 400) };
    let program = sources::build_taintward(true)?;
    let options = ClusterConfig { audit: Audit::Off, disk: DiskSync::Synced, ..ClusterConfig::default() };
    let cluster = Cluster::start(&Binaries::find_or_build()?, options).await?;
    let fleet = LoadGenerator::new(cluster.api(Account::Admin).await?);
    furnish(&cluster, &fleet).await?;
    let kubeconfig = cluster.kubeconfig(Account::Admin, 0);
    let webhook = WebhookProcess::start(Command::new(&program), &kubeconfig, None, &[]).await?;
    let mut report = Report::comparison("benchmarks-webhook.md", "The webhook", &["measured"]);
    let in_words = measure_reviews(&webhook, &sizes, &mut report).await?;
    let rounds = measure_creates(&program, &webhook, &fleet.api, &sizes, &mut report).await?;
    let measured = format!(
        "`taintward webhook` with its default rules, 3 pools, 2 policies, {NAMESPACES} namespaces and {NODES} nodes, on loopback; the \
         review of a pod has {} bytes.",
        review_of_pod().len()
    );
    report.publish(quick, &measured, &format!("\n{in_words} {rounds}\n"))
}

/// Measures the webhook without an API server.
async fn measure_reviews(
    webhook: &WebhookProcess,
    sizes: &WebhookBenchSizes,
    report: &mut Report,
) -> Result<String> {
    tokio::time::sleep(Duration::from_secs(2)).await;
    let (idle, review) = (webhook.server.usage()?, review_of_pod());
    let began = Instant::now();
    let responses = webhook.client.saturate(&review, CONNECTIONS, sizes.saturated).await? as f64;
    let reached = responses / began.elapsed().as_secs_f64();
    let cpu = webhook.server.usage()?.cpu.saturating_sub(idle.cpu).as_secs_f64();
    let paced = webhook.client.paced(&review, CONNECTIONS, GOAL_RATE / 2.0, sizes.paced).await?;
    let (paced, busy) = (paced.into_iter().collect::<Readings>(), webhook.server.usage()?);
    let (idle, busy) = (idle.resident as f64, busy.resident as f64);
    let label = "reviews per second of processor time, keep-alive TLS";
    report.compare(label, RATE, &[responses / cpu], Goal::Limit(GOAL_RATE));
    let label = format!("p99 of an answer at {:.0} reviews per second", GOAL_RATE / 2.0);
    report.compare(&label, MILLISECONDS, &[paced.at(0.99)], Goal::Limit(0.002));
    report.compare("memory, idle", MEGABYTES, &[idle], Goal::Limit(20e6));
    // So much counts as constant.
    report.compare("memory after this load / idle", FACTOR, &[busy / idle], Goal::Limit(1.1));
    Ok(format!(
        "In addition, {CONNECTIONS} connections from the same machine that send reviews without a pause received {reached:.0} answers \
         per second. At the fixed rate, p50 was {} and p99.9 {}, counted from the moment when a review was due.",
        MILLISECONDS.show(paced.median()),
        MILLISECONDS.show(paced.at(0.999)),
    ))
}

/// Creates the objects that the rules read.
async fn furnish(cluster: &Cluster, fleet: &LoadGenerator) -> Result<()> {
    let crds = sources::root().join("deploy/crds");
    cluster.kubectl(["apply", "-f", crds.to_str().context("a path that is text")?])?;
    let established = ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"];
    cluster.kubectl(established)?;
    fleet.create_nodes(&names("node", NODES)).await?;
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
        let object = json!({"apiVersion": "taintward.io/v1alpha1", "kind": "TolerationPolicy",
        "metadata": {"name": format!("team-{team}")},
        "spec": {
            "namespaceSelector": {"matchLabels": {"team": format!("team-{team}")}},
            "notReadySeconds": 600,
        }});
        eventually(&fleet.api, "/apis/taintward.io/v1alpha1/tolerationpolicies", &object).await?;
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

/// The rules of two installations: the rule of the built-in plugin, and the default.
const INSTALLED: [(&str, &str); 2] = [
    ("default-tolerations", "`--rules=default-tolerations`, the work of the plugin"),
    ("*", "the default, which guards pools as well"),
];

/// Measures the median time of a pod's creation in each round, without the webhook and with each of [`INSTALLED`].
async fn measure_creates(
    program: &Path,
    webhook: &WebhookProcess,
    api: &TestApi,
    sizes: &WebhookBenchSizes,
    report: &mut Report,
) -> Result<String> {
    let mut rounds = Vec::new();
    for round in 0..sizes.rounds {
        let mut medians = [0.0; 3];
        for turn in 0..3 {
            // Each round begins with another case.
            let which = (round + turn) % 3;
            let rules = which.checked_sub(1).map(|at| INSTALLED[at].0);
            let objects = rules
                .map(|rules| configurations(program, webhook, rules, "Fail"))
                .transpose()?
                .unwrap_or_default();
            register(api, &objects).await?;
            medians[which] = time_creates(api, &format!("r{round}-{which}"), sizes.creates).await?;
            for (path, object) in &objects {
                let name = object["metadata"]["name"].as_str().context("a name")?;
                api.delete(&format!("{path}/{name}"), &json!({})).await?;
            }
            tokio::time::sleep(OBSERVED).await;
        }
        rounds.push(medians);
    }
    for (at, (_, installed)) in INSTALLED.iter().enumerate() {
        let ratios: Readings = rounds.iter().map(|round| round[at + 1] / round[0]).collect();
        let label =
            format!("creating a pod, p50, with the webhook / with the built-in plugins only: {installed}");
        report.compare(&label, FACTOR, &[ratios.median()], Goal::Limit(1.3));
    }
    let shown = |round: &[f64; 3]| {
        let [without, plugin, default] = round.map(|median| MILLISECONDS.show(median));
        format!("{plugin} and {default} / {without}")
    };
    let rounds = rounds.iter().map(shown).collect::<Vec<_>>().join(", ");
    Ok(format!(
        "Creations with the plugin's work and with the default / without the webhook, in each round: {rounds}."
    ))
}

/// Creates pods one after the other; returns the median seconds.
async fn time_creates(api: &TestApi, name: &str, number: usize) -> Result<f64> {
    // The first creations include opening connections.
    const FIRST: usize = 50;
    let mut took = Readings::default();
    for at in 0..FIRST + number {
        let pod = pod(&format!("{name}-{at}"), "ns-7", None).to_string();
        let began = Instant::now();
        api.create_text("/api/v1/namespaces/ns-7/pods", pod).await?;
        if at >= FIRST {
            took.add(began.elapsed().as_secs_f64());
        }
    }
    Ok(took.median())
}

/// Both kinds of configurations, with the names that `taintward install` and paths use.
const CONFIGURATIONS: [(&str, &str); 2] = [
    ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
    ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
];

/// The time in which API servers observe a configuration.
const OBSERVED: Duration = Duration::from_secs(2);

/// The configurations of an installation with their paths, with an address instead of its Service.
pub(super) fn configurations(
    program: &Path,
    webhook: &WebhookProcess,
    rules: &str,
    failure_policy: &str,
) -> Result<Vec<(String, Value)>> {
    let bundle = base64::engine::general_purpose::STANDARD.encode(&webhook.bundle);
    let mut command = Command::new(program);
    command.args(["install", "--parts=webhook", "-o", "json"]);
    command.args([format!("--rules={rules}"), format!("--failure-policy={failure_policy}")]);
    let mut list: Value = serde_json::from_str(&sources::output(&mut command)?)?;
    let mut found = Vec::new();
    for object in list["items"].as_array_mut().context("a list")? {
        let of_kind = CONFIGURATIONS.iter().find(|(kind, _)| object["kind"] == *kind);
        let Some((_, plural)) = of_kind else { continue };
        for one in object["webhooks"].as_array_mut().context("webhooks")? {
            let path = one["clientConfig"]["service"]["path"].as_str().context("a path")?;
            let url = format!("https://{}{path}", webhook.client.address);
            one["clientConfig"] = json!({"url": url, "caBundle": bundle});
        }
        found.push((format!("/apis/admissionregistration.k8s.io/v1/{plural}"), object.take()));
    }
    Ok(found)
}

/// Creates configurations, and waits until API servers have observed them.
pub(super) async fn register(api: &TestApi, configurations: &[(String, Value)]) -> Result<()> {
    for (path, object) in configurations {
        api.create(path, object).await?;
    }
    tokio::time::sleep(OBSERVED).await;
    Ok(())
}
