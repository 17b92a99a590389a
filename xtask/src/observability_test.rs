//! Runs `cargo xtask observability test`: a real Prometheus observes the cause of each alert, its end, and the series of each panel.
//!
//! - The expressions are those of `deploy/monitoring`. The test waits a tenth of each `for`, rounded up; Prometheus scrapes and
//!   evaluates each second.

mod alert_cause;
mod causes;
mod certified_webhook;
mod panels;
mod prometheus;
mod scrape_job;

pub(crate) use certified_webhook::CertifiedWebhook;
pub(crate) use prometheus::{PrometheusServer, unix_now};
pub(crate) use scrape_job::{SandboxServer, ScrapeJob};

use crate::sources;
use alert_cause::{AlertCause, CauseRun};
use anyhow::{Context as _, Result, bail, ensure};
use causes::CAUSES;
use clap::{Args, Subcommand};
use futures::future;
use std::path::Path;
use std::time::Duration;
use taintward_envtest::ProcessFolder;
use xtask::observability::{alerts, rule_file};

/// The divisor of the `for` of each alert.
const HOLD_DIVISOR: u32 = 10;

#[derive(Args)]
pub(crate) struct ObservabilityArgs {
    #[command(subcommand)]
    action: ObservabilityAction,
}

#[derive(Subcommand)]
enum ObservabilityAction {
    /// Produce the cause of each alert, and wait until a real Prometheus fires and resolves it; 11 minutes
    Test {
        /// Only these alerts, and those that have the same cause
        names: Vec<String>,
    },
}

/// One line of the table.
struct AlertRow {
    alert: &'static str,
    what: &'static str,
    fired: Duration,
    resolved: Duration,
}

pub(crate) async fn run(arguments: &ObservabilityArgs) -> Result<()> {
    let ObservabilityAction::Test { names } = &arguments.action;
    test(names).await
}

/// Tests the alerts with these names, or all alerts and all panels.
pub(crate) async fn test(names: &[String]) -> Result<()> {
    causes::expect_one_for_each_alert()?;
    for name in names {
        ensure!(CAUSES.iter().any(|cause| cause.alerts.contains(&name.as_str())), "there is no alert {name}");
    }
    let folder = ProcessFolder::create("taintward-observability")?;
    let binary = sources::build_taintward(false)?;
    let prometheus = PrometheusServer::start(&folder, &rules()?).await?;
    let since = unix_now()?;
    let is_wanted = |cause: &&AlertCause| {
        names.is_empty() || names.iter().any(|name| cause.alerts.contains(&name.as_str()))
    };
    let produce = |cause| produce(cause, &folder, &prometheus, &binary);
    let mut runs = Vec::new();
    for first in CAUSES[..1].iter().filter(is_wanted) {
        runs.push(produce(first).await);
    }
    runs.extend(future::join_all(CAUSES[1..].iter().filter(is_wanted).map(produce)).await);
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for run in runs {
        match run {
            Ok(found) => rows.extend(found),
            Err(why) => failures.push(format!("{why:#}")),
        }
    }
    print(&rows);
    if names.is_empty() && failures.is_empty() {
        let count = panels::expect_series(&prometheus, since)?;
        println!("Each of the {count} queries of the dashboards returns series.");
    }
    match failures.is_empty() {
        true => Ok(()),
        false => bail!("{}", failures.join("\n")),
    }
}

/// All alerts with a part of their `for`.
fn rules() -> Result<String> {
    let mut alerts = alerts(sources::root())?;
    for alert in &mut alerts {
        alert.hold = format!("{}s", alert.hold_seconds()?.div_ceil(HOLD_DIVISOR));
    }
    Ok(rule_file(&alerts))
}

async fn produce(
    cause: &AlertCause,
    folder: &ProcessFolder,
    prometheus: &PrometheusServer,
    binary: &Path,
) -> Result<Vec<AlertRow>> {
    let name = cause.alerts[0];
    let mut run = CauseRun::new(ScrapeJob { folder, prometheus, binary, name }, cause.alerts);
    (cause.produce)(&mut run).await.with_context(|| format!("{name}, with this cause: {}", cause.what))?;
    eprintln!("{}: fired and resolved", cause.alerts.join(", "));
    let row = |(alert, fired): (&&'static str, &Duration)| AlertRow {
        alert,
        what: cause.what,
        fired: *fired,
        resolved: run.resolved.get(alert).copied().unwrap_or_default(),
    };
    Ok(run.fired.iter().map(row).collect())
}

fn print(rows: &[AlertRow]) {
    println!("\n| alert | fired after | resolved after | cause |\n|---|---:|---:|---|");
    for AlertRow { alert, what, fired, resolved } in rows {
        println!("| {alert} | {:.0} s | {:.0} s | {what} |", fired.as_secs_f64(), resolved.as_secs_f64());
    }
    println!(
        "\nEach alert waited 1/{HOLD_DIVISOR} of its `for`; the expressions are as shipped. Each cause is real: Prometheus scraped \
         only the pages of real processes."
    );
}
