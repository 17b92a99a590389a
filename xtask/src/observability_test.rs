//! Runs `cargo xtask observability test`: a real Prometheus observes the cause of each alert, its end, and the series of each panel.
//!
//! - The expressions are those of `deploy/monitoring`. The test waits a tenth of each `for`, rounded up; Prometheus scrapes and
//!   evaluates each second.

mod alert_cause;
mod causes;
mod panels;
mod prometheus;
mod scrape_job;

pub(crate) use prometheus::{PrometheusServer, unix_now};
pub(crate) use scrape_job::ScrapeJob;

use crate::sources;
use alert_cause::{AlertCause, CauseRun};
use anyhow::{Context as _, Result, ensure};
use causes::CAUSES;
use clap::{Args, Subcommand};
use futures::future;
use std::path::Path;
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

pub(crate) async fn run(arguments: &ObservabilityArgs) -> Result<()> {
    let ObservabilityAction::Test { names } = &arguments.action;
    test(names).await
}

/// Tests the alerts with these names, or all alerts and all panels.
pub(crate) async fn test(names: &[String]) -> Result<()> {
    for name in names {
        ensure!(CAUSES.iter().any(|cause| cause.alerts.contains(&name.as_str())), "there is no alert {name}");
    }
    let binary = sources::build_taintward(false)?;
    let prometheus = PrometheusServer::start(&rules()?).await?;
    let since = unix_now();
    let is_wanted = |cause: &&AlertCause| {
        names.is_empty() || names.iter().any(|name| cause.alerts.contains(&name.as_str()))
    };
    let produce = |cause| produce(cause, &prometheus, &binary);
    let mut runs = Vec::new();
    for first in CAUSES[..1].iter().filter(is_wanted) {
        runs.push(produce(first).await);
    }
    runs.extend(future::join_all(CAUSES[1..].iter().filter(is_wanted).map(produce)).await);
    println!("\n| alert | fired after | resolved after | cause |\n|---|---:|---:|---|");
    let mut failures = Vec::new();
    for run in runs {
        match run {
            Ok(rows) => print!("{rows}"),
            Err(why) => failures.push(format!("{why:#}")),
        }
    }
    println!(
        "\nEach alert waited 1/{HOLD_DIVISOR} of its `for`; the expressions are as shipped. Each cause is real: Prometheus scraped \
         only the pages of real processes."
    );
    if names.is_empty() && failures.is_empty() {
        let count = panels::expect_series(&prometheus, since)?;
        println!("Each of the {count} queries of the dashboards returns series.");
    }
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// All alerts with a part of their `for`.
fn rules() -> Result<String> {
    let mut alerts = alerts(sources::root())?;
    for alert in &mut alerts {
        alert.hold = format!("{}s", alert.hold_seconds()?.div_ceil(HOLD_DIVISOR));
    }
    Ok(rule_file(&alerts))
}

/// Produces a cause and ends it. Returns a line of the table for each of its alerts.
async fn produce(cause: &AlertCause, prometheus: &PrometheusServer, binary: &Path) -> Result<String> {
    let name = cause.alerts[0];
    let mut run = CauseRun::new(ScrapeJob { prometheus, binary, name }, cause.alerts);
    (cause.produce)(&mut run).await.with_context(|| format!("{name}, with this cause: {}", cause.what))?;
    eprintln!("{}: fired and resolved", cause.alerts.join(", "));
    let row = |alert: &&'static str| {
        let [fired, resolved] = [&run.fired, &run.resolved].map(|times| times[alert].as_secs_f64());
        format!("| {alert} | {fired:.0} s | {resolved:.0} s | {} |\n", cause.what)
    };
    Ok(cause.alerts.iter().map(row).collect())
}
