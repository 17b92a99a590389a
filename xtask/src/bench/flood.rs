//! Benchmarks the webhook under attack, in a cgroup with the memory of its pod.
//!
//! - Fails if a forbidden pod is admitted; writes docs/benchmarks-flood.md. Without permission to create a cgroup it
//!   runs without a limit, and the page says so.

#[path = "../../../crates/admission/tests/server/flood/attack.rs"]
mod attack;
mod cgroup;

use super::load::{pod, review_of_pod};
use super::readings::Readings;
use super::report::{MILLISECONDS, Report, met};
use super::{policies, webhook};
use crate::review_client::{ReviewClient, post};
use crate::sources;
use crate::webhook_process::WebhookProcess;
use anyhow::{Context as _, Result, ensure};
use attack::{FloodAttack, FloodTarget};
use cgroup::CgroupLimit;
use rustls::pki_types::ServerName;
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use taintward_envtest::{Account, TestApi};

/// The memory limit of the container in the manifests.
const MEMORY: u64 = 128 << 20;
/// For the 99th percentile, in seconds.
const GOAL: f64 = 0.1;
/// Legitimate reviews per second.
const RATE: u32 = 50;
/// Every fourth review opens a new connection.
const RECONNECT_EVERY: u32 = 4;
const PODS: &str = "/api/v1/namespaces/ns-7/pods";

/// What the benchmark measured, in seconds.
#[derive(Default)]
struct FloodReadings {
    reviews: Readings,
    unanswered: u64,
    rejected: u64,
    admitted: u64,
    creations: Readings,
    /// The longest delay of a thread that only sleeps for a millisecond, again and again.
    stall: f64,
}

pub(crate) async fn run(quick: bool) -> Result<()> {
    let lasts = Duration::from_secs(if quick { 5 } else { 60 });
    let program = sources::build_taintward(true)?;
    let cluster = super::start_cluster().await?;
    let api = cluster.api(Account::Admin).await?;
    policies::install(&cluster, &api).await?;
    api.create("/apis/taintward.io/v1alpha1/dedicatedpools", &policies::pool(0)).await?;
    let cgroup = CgroupLimit::to(MEMORY);
    let kubeconfig = cluster.kubeconfig(Account::Admin, 0);
    let mut hook = WebhookProcess::start(cgroup.command(&program), &kubeconfig, None, &[]).await?;
    webhook::register(&api, &webhook::configurations(&program, &hook, "*", "Ignore")?).await?;
    ensure!(policies::keeps_out(&api).await?, "the policies do not refuse a forbidden pod");

    let calm = measure(&hook.client, &api, lasts / 4).await?;
    let address = hook.client.address;
    let metrics = Some(SocketAddr::from((Ipv4Addr::LOCALHOST, hook.server.port)));
    let (name, connector, review) =
        (ServerName::from(address.ip()), hook.client.connector.clone(), review_of_pod());
    let review = std::str::from_utf8(&review)?;
    let mut attack = FloodAttack::hold(FloodTarget::new(address, metrics, name, connector, review))?;
    attack.extend()?;
    let started = tokio::time::timeout(Duration::from_secs(60), attack.has_started()).await;
    started.with_context(|| format!("the attack does not start: {}", attack.describe()))?;
    let attacked = measure(&hook.client, &api, lasts).await?;
    let attack = attack.end();
    let is_alive = hook.server.process.ended().is_none();
    let mut report = Report::new(
        "benchmarks-flood.md",
        "The webhook under attack",
        &["", "before", "under attack", "goal", ""],
    );
    add_rows(&mut report, &calm, &attacked);
    let (peak, kills) = cgroup.peak().unzip();
    let peak = peak.map_or("not limited: no cgroup could be created".into(), |peak| {
        format!("{:.0} MiB", peak as f64 / f64::from(1 << 20))
    });
    let label = format!("peak memory of the cgroup, limit {} MiB", MEMORY >> 20);
    report.row(&[label.as_str(), "", &peak, "", kills.map_or("", |kills| met(kills == 0))]);
    report.row(&["restarts", "", if is_alive { "0" } else { "1" }, "0", met(is_alive)]);
    ensure!(attacked.admitted == 0, "{} forbidden pods were admitted", attacked.admitted);
    ensure!(is_alive, "the webhook has ended");
    let measured = format!(
        "`taintward webhook` as installed, alongside a real API server with the policies of an installation, attacked for {} s from \
         other addresses of the same machine. All processes share its cores.",
        lasts.as_secs()
    );
    report.publish(quick, &measured, &format!("\nThe attack: {attack}.\n"))
}

fn add_rows(report: &mut Report, calm: &FloodReadings, attacked: &FloodReadings) {
    let mut row = |label: &str, of: &dyn Fn(&FloodReadings) -> String, goal: &str, met: &str| {
        report.row(&[label, of(calm).as_str(), of(attacked).as_str(), goal, met]);
    };
    let p99 = |readings: &FloodReadings| readings.reviews.at(0.99);
    let ms = |seconds| MILLISECONDS.show(seconds);
    row("legitimate reviews, p50", &|readings| ms(readings.reviews.median()), "", "");
    row("legitimate reviews, p99", &|readings| ms(p99(readings)), &ms(GOAL), met(p99(attacked) <= GOAL));
    row("longest delay of a thread that only sleeps", &|readings| ms(readings.stall), "", "");
    let unanswered = |readings: &FloodReadings| {
        let FloodReadings { unanswered, reviews, .. } = readings;
        format!("{unanswered} of {}", unanswered + reviews.count())
    };
    let label = "legitimate reviews without an answer within 2 s";
    row(label, &unanswered, "0", met(attacked.unanswered == 0));
    let admitted = |&FloodReadings { admitted, rejected, .. }: &FloodReadings| {
        format!("{admitted} of {}", admitted + rejected)
    };
    row("forbidden pods admitted", &admitted, "0", met(attacked.admitted == 0));
    row("creating a permitted pod, p50", &|readings| ms(readings.creations.median()), "", "");
}

/// Sends legitimate reviews at their rate, and creates pods that are permitted and pods that are forbidden.
async fn measure(client: &ReviewClient, api: &TestApi, lasts: Duration) -> Result<FloodReadings> {
    let sleeper = std::thread::spawn(move || {
        let (begin, moment, mut worst) = (Instant::now(), Duration::from_millis(1), Duration::ZERO);
        while begin.elapsed() < lasts {
            let began = Instant::now();
            std::thread::sleep(moment);
            worst = worst.max(began.elapsed().saturating_sub(moment));
        }
        worst
    });
    let ((reviews, unanswered), created) =
        futures::join!(send_reviews(client, lasts), create_pods(api, lasts));
    let stall = sleeper.join().unwrap_or_default().as_secs_f64();
    Ok(FloodReadings { reviews, unanswered, stall, ..created? })
}

/// Times count from the moment when a review was due.
async fn send_reviews(client: &ReviewClient, lasts: Duration) -> (Readings, u64) {
    let (body, begin, pause) = (review_of_pod(), Instant::now(), Duration::from_secs(1) / RATE);
    let (mut took, mut unanswered, mut kept) = (Readings::default(), 0, None);
    for number in 0_u32.. {
        let due = begin + pause * number;
        if due > begin + lasts {
            break;
        }
        tokio::time::sleep(due.saturating_duration_since(Instant::now())).await;
        if number % RECONNECT_EVERY == 0 {
            kept = None;
        }
        let response = async {
            let mut connection = match kept.take() {
                Some(connection) => connection,
                None => client.connect().await?,
            };
            post(&mut connection, "/mutate?timeout=2s", &body).await?;
            anyhow::Ok(connection)
        };
        // An API server waits no longer.
        match tokio::time::timeout(Duration::from_secs(2), response).await {
            Ok(Ok(connection)) => {
                kept = Some(connection);
                took.add(due.elapsed().as_secs_f64());
            }
            _ => unanswered += 1,
        }
    }
    (took, unanswered)
}

/// Creates through the API server a pod with the pool's toleration, which is forbidden, and a pod without it.
async fn create_pods(api: &TestApi, lasts: Duration) -> Result<FloodReadings> {
    let (begin, mut readings) = (Instant::now(), FloodReadings::default());
    for number in 0.. {
        if begin.elapsed() > lasts {
            break;
        }
        let name = format!("flood-{}-{number}", lasts.as_millis());
        let mut smuggler = pod(&format!("{name}-evil"), "ns-7", None);
        smuggler["spec"]["tolerations"] =
            json!([{"key": "dedicated", "value": "team-0", "effect": "NoSchedule"}]);
        match api.create(PODS, &smuggler).await {
            Ok(_) => readings.admitted += 1,
            Err(error) if matches!(error.code(), Some(403 | 422)) => readings.rejected += 1,
            Err(error) => return Err(error).context("creating a forbidden pod"),
        }
        let (pod, began) = (pod(&name, "ns-7", None), Instant::now());
        api.create(PODS, &pod).await.context("creating a permitted pod")?;
        readings.creations.add(began.elapsed().as_secs_f64());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(readings)
}
