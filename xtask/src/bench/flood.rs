//! Benchmarks the webhook under attack, in a cgroup with the memory of its pod.
//!
//! - Fails if a forbidden pod is admitted; writes docs/benchmarks-flood.md. Without the right to create a cgroup it
//!   runs without a limit, and the page says so.

mod attack;
pub(super) mod cgroup;

use super::load::LoadGenerator;
use super::policies;
use super::report::{command, machine, met, write_page};
use super::webhook::{self, review_client};
use crate::sources;
use anyhow::{Context as _, Result, ensure};
use attack::FloodAttack;
use cgroup::CgroupLimit;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use taintward_envtest::{Account, TestApi};

/// The memory limit of the container in the manifests.
const MEMORY: u64 = 128 << 20;
const GOAL: Duration = Duration::from_millis(100);
/// Legitimate reviews per second.
const PACE: u32 = 50;
/// Every fourth review opens a new connection.
const RECONNECT_EVERY: u32 = 4;
const PODS: &str = "/api/v1/namespaces/ns-7/pods";

/// What the benchmark measured.
struct FloodReadings {
    took: Vec<Duration>,
    unanswered: usize,
    refused: usize,
    admitted: usize,
    created: Vec<Duration>,
    /// The longest delay of a thread that only sleeps for a millisecond, again and again.
    stall: Duration,
}

pub(crate) async fn run(quick: bool) -> Result<()> {
    let lasts = Duration::from_secs(if quick { 5 } else { 60 });
    let binary = sources::build_taintward(true)?;
    let cluster = super::start_cluster().await?;
    let api = LoadGenerator::new(cluster.api(Account::Admin).await?).api;
    let bindings = policies::install(&cluster, &api).await?;
    policies::bind(&api, &bindings).await?;
    api.create("/apis/taintward.io/v1alpha1/dedicatedpools", &policies::pool(0)).await?;
    let confined = CgroupLimit::to(MEMORY);
    let mut hook = webhook::WebhookProcess::within(&binary, &cluster, &confined).await?;
    webhook::register(&hook, &api, "*", "Ignore").await?;
    ensure!(policies::keeps_out(&api).await?, "the policies do not refuse a forbidden pod");

    let calm = measure(&hook, &api, lasts / 4).await?;
    let attack = FloodAttack::begin(&hook)?;
    attack.is_whole()?;
    let under = measure(&hook, &api, lasts).await?;
    let brought = attack.end();
    let alive = hook.is_alive()?;
    let memory = confined.most();
    let text = table(&calm, &under, &brought, alive, memory);
    println!("\n{text}");
    ensure!(under.admitted == 0, "{} forbidden pods were admitted", under.admitted);
    ensure!(alive, "the webhook has ended");
    if quick {
        return Ok(());
    }
    let text = format!(
        "# The webhook under attack\n\nMade by `cargo xtask {}`: `taintward webhook` as installed, beside a real API server with the policies \
         of an installation, attacked for {} s from other addresses of the same machine. All processes share its cores. {}\n\n{text}",
        command(),
        lasts.as_secs(),
        machine()
    );
    write_page("benchmarks-flood.md", &text)
}

/// Sends legitimate reviews at their rate, and creates pods that are permitted and pods that are forbidden.
async fn measure(hook: &webhook::WebhookProcess, api: &TestApi, lasts: Duration) -> Result<FloodReadings> {
    let sleeper = std::thread::spawn(move || {
        let (begin, moment, mut worst) = (Instant::now(), Duration::from_millis(1), Duration::ZERO);
        while begin.elapsed() < lasts {
            let began = Instant::now();
            std::thread::sleep(moment);
            worst = worst.max(began.elapsed().saturating_sub(moment));
        }
        worst
    });
    let (asked, tried) = futures::join!(ask(hook, lasts), create(api, lasts));
    let ((took, unanswered), (refused, admitted, created)) = (asked, tried?);
    let stall = sleeper.join().unwrap_or_default();
    Ok(FloodReadings { took, unanswered, refused, admitted, created, stall })
}

/// Times count from the moment when a review was due.
async fn ask(hook: &webhook::WebhookProcess, lasts: Duration) -> (Vec<Duration>, usize) {
    let (body, begin, pause) =
        (review_client::question("ns-7", 0), Instant::now(), Duration::from_secs(1) / PACE);
    let (mut took, mut unanswered, mut kept) = (Vec::new(), 0, None);
    for number in 0_u32.. {
        let due = begin + pause * number;
        if due > begin + lasts {
            break;
        }
        tokio::time::sleep(due.saturating_duration_since(Instant::now())).await;
        if number % RECONNECT_EVERY == 0 {
            kept = None;
        }
        let asked = async {
            let mut sender = match kept.take() {
                Some(sender) => sender,
                None => hook.asker.connect().await?,
            };
            review_client::ask(&mut sender, &body).await?;
            anyhow::Ok(sender)
        };
        // An API server waits no longer.
        match tokio::time::timeout(Duration::from_secs(2), asked).await {
            Ok(Ok(sender)) => {
                kept = Some(sender);
                took.push(due.elapsed());
            }
            _ => unanswered += 1,
        }
    }
    took.sort_unstable();
    (took, unanswered)
}

/// Creates through the API server a pod with the pool's toleration, which is forbidden, and a pod without it.
async fn create(api: &TestApi, lasts: Duration) -> Result<(usize, usize, Vec<Duration>)> {
    let (begin, mut refused, mut admitted, mut created) = (Instant::now(), 0, 0, Vec::new());
    for number in 0.. {
        if begin.elapsed() > lasts {
            break;
        }
        let name = format!("flood-{}-{number}", lasts.as_millis());
        let mut smuggler = review_client::pod(&format!("{name}-evil"));
        smuggler["spec"]["tolerations"] =
            json!([{"key": "dedicated", "value": "team-0", "effect": "NoSchedule"}]);
        match api.create(PODS, &smuggler).await {
            Ok(_) => admitted += 1,
            Err(error) if matches!(error.code(), Some(403 | 422)) => refused += 1,
            Err(error) => return Err(error).context("creating a forbidden pod"),
        }
        let (pod, began): (Value, _) = (review_client::pod(&name), Instant::now());
        api.create(PODS, &pod).await.context("creating a permitted pod")?;
        created.push(began.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    created.sort_unstable();
    Ok((refused, admitted, created))
}

fn at(sorted: &[Duration], share: usize) -> Duration {
    sorted.get((sorted.len() * share / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or_default()
}

fn table(
    calm: &FloodReadings,
    under: &FloodReadings,
    brought: &str,
    alive: bool,
    memory: Option<(u64, u64)>,
) -> String {
    let p99 = at(&under.took, 99);
    let (most, kills) = memory.unzip();
    let most = most.map_or("not limited: no cgroup could be created".into(), |most| {
        format!("{:.0} MiB", most as f64 / 1_048_576.0)
    });
    format!(
        "| | before | under attack | goal | |\n|---|--:|--:|--:|---|\n\
         | legitimate reviews, p50 | {:.1?} | {:.1?} | | |\n\
         | legitimate reviews, p99 | {:.1?} | {p99:.1?} | {GOAL:?} | {} |\n\
         | longest delay of a thread that only sleeps | {:.1?} | {:.1?} | | |\n\
         | legitimate reviews without an answer within 2 s | {} of {} | {} of {} | 0 | {} |\n\
         | forbidden pods admitted | {} of {} | {} of {} | 0 | {} |\n\
         | creating a permitted pod, p50 | {:.1?} | {:.1?} | | |\n\
         | peak memory of the cgroup, limit {} MiB | | {most} | | {} |\n\
         | restarts | | {} | 0 | {} |\n\n{brought}\n",
        at(&calm.took, 50),
        at(&under.took, 50),
        at(&calm.took, 99),
        met(p99 <= GOAL),
        calm.stall,
        under.stall,
        calm.unanswered,
        calm.unanswered + calm.took.len(),
        under.unanswered,
        under.unanswered + under.took.len(),
        met(under.unanswered == 0),
        calm.admitted,
        calm.admitted + calm.refused,
        under.admitted,
        under.admitted + under.refused,
        met(under.admitted == 0),
        at(&calm.created, 50),
        at(&under.created, 50),
        MEMORY >> 20,
        kills.map_or("", |kills| met(kills == 0)),
        usize::from(!alive),
        met(alive),
    )
}
