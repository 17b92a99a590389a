//! Takes pictures of the dashboards, drawn from their JSON and from the series of a real Prometheus, in docs/.

use crate::observability_test::{PrometheusServer, ScrapeJob, unix_now};
use crate::server_process::SandboxProcess;
use crate::sources;
use crate::webhook_process::WebhookProcess;
use anyhow::{Context as _, Result};
use serde_json::json;
use std::fs;
use std::time::{Duration, Instant};
use taintward_envtest::browser::Browser;
use taintward_envtest::fixtures::{no_execute, pod, set_taints};
use taintward_envtest::{ProcessFolder, TestApi};
use xtask::observability::{dashboards, panel_queries};

/// Draws one dashboard from Grafana's JSON and from series.
const PAGE: &str = include_str!("dashboard_page.html");

const BYTES_MAX: u64 = 200_000;

/// The width of the page, 24 columns, in pixels.
const WIDTH: u32 = 1104;

/// The time range, and the seconds between two points.
const LASTS: Duration = Duration::from_secs(300);
const STEP: u32 = 2;

/// The seconds after which the cluster changes.
const CHANGES_AT: [u64; 8] = [20, 60, 90, 110, 140, 180, 220, 270];

/// The time between two reviews of the webhook.
const REVIEW_EVERY: Duration = Duration::from_millis(400);

pub(super) async fn run() -> Result<()> {
    let mut browser = Browser::start()?;
    let folder = ProcessFolder::create("taintward-dashboards")?;
    let binary = sources::build_taintward(false)?;
    let prometheus = PrometheusServer::start("groups: []").await?;
    let job = ScrapeJob { prometheus: &prometheus, binary: &binary, name: "taintward" };
    let sandbox = job.sandbox(&["--nodes=9"]).await?;
    let webhook = job.webhook(&sandbox, Some(60)).await?;
    let controllers =
        "--controllers=taint-eviction-controller,node-lifecycle-controller,dedicated-pool-controller";
    let _replicas = [job.run(&sandbox, &[controllers]).await?, job.run(&sandbox, &[controllers]).await?];
    let since = unix_now();
    work(&job, &sandbox, &webhook).await?;
    let until = unix_now();

    for (uid, dashboard) in dashboards(sources::root())? {
        let mut series = serde_json::Map::new();
        for (panel, target) in panel_queries(&dashboard) {
            let expr = target["expr"].as_str().context("a target without an expression")?;
            let key = format!("{}{}", panel["id"], target["refId"].as_str().unwrap_or_default());
            series.insert(key, prometheus.series(expr, since, STEP)?);
        }
        let data = json!({"dashboard": dashboard, "series": series, "since": since, "until": until});
        let page = folder.path().join("page.html");
        fs::write(&page, PAGE.replace("DATA", &data.to_string().replace('<', "\\u003c")))?;
        browser.open(&format!("file://{}?{uid}", page.display()))?;
        let height = browser.until("the dashboard", &format!("location.search === '?{uid}' && drawn"))?;
        let height = u32::try_from(height.as_u64().context("the page has no height")?)?;
        browser.resize(WIDTH, height)?;
        let name = uid.trim_start_matches("taintward-");
        super::save(&mut browser, &format!("dashboard-{name}"), BYTES_MAX)?;
    }
    Ok(())
}

/// Changes the cluster and sends reviews for the whole time range.
async fn work(job: &ScrapeJob<'_>, sandbox: &SandboxProcess, webhook: &WebhookProcess) -> Result<()> {
    let (api, began) = (&sandbox.api, Instant::now());
    let node = api.get("/api/v1/nodes/n1").await?;
    let mut done = 0;
    while began.elapsed() < LASTS {
        if CHANGES_AT.get(done).is_some_and(|at| began.elapsed().as_secs() >= *at) {
            match done {
                0 => set_taints(api, "n2", &[no_execute("power", "off")]).await?,
                1 => {
                    let pool = json!({"apiVersion": "taintward.io/v1alpha1", "kind": "DedicatedPool", "metadata": {"name": "a"},
                        "spec": {
                            "taint": {"key": "example.com/pool", "value": "a"}, "nodes": {"names": ["n8", "n9"]},
                            "users": {"namespaceSelector": {"matchLabels": {"team": "a"}}}, "enforcement": "Deny",
                        },
                    });
                    api.create("/apis/taintward.io/v1alpha1/dedicatedpools", &pool).await?;
                }
                2 => job.command(sandbox, &["sandbox", "node", "silence", "n5", "n6"])?,
                3 => taint_with_countdowns(api, "n3", 20).await?,
                4 => set_taints(api, "n2", &[]).await?,
                5 => set_taints(api, "n1", &[no_execute("power", "off")]).await?,
                6 => job.command(sandbox, &["sandbox", "node", "recover", "n5", "n6"])?,
                _ => taint_with_countdowns(api, "n7", 60).await?,
            }
            done += 1;
        }
        let name = format!("web-{}", began.elapsed().as_millis());
        let new = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": {}});
        webhook.review_pod(&new).await?;
        if done == 5 {
            webhook.review_taints(&node, &[no_execute("maintenance", "now")]).await?;
        }
        tokio::time::sleep(REVIEW_EVERY).await;
    }
    Ok(())
}

/// Taints a node with pods that tolerate the taint: the first for `first` seconds, each further pod for ten more.
async fn taint_with_countdowns(api: &TestApi, node: &str, first: i64) -> Result<()> {
    for number in 0..8 {
        let batch = pod(&format!("batch-{node}-{number}"), node);
        batch.bearing("maintenance", Some(first + 10 * number)).create(api).await?;
    }
    Ok(set_taints(api, node, &[no_execute("maintenance", "now")]).await?)
}
