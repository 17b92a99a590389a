//! Defines the parts of a cause of alerts, and times the run of one.

use super::scrape_job::ScrapeJob;
use anyhow::{Result, ensure};
use futures::future::LocalBoxFuture;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use taintward_envtest::wait;

/// The longest windows and holds are ten minutes.
const TIMEOUT: Duration = Duration::from_secs(900);

/// The pause between two queries of Prometheus.
const PAUSE: Duration = Duration::from_millis(250);

/// What makes alerts fire.
pub(crate) struct AlertCause {
    /// At least one; the first names the scrape job.
    pub(crate) alerts: &'static [&'static str],
    /// What the test does, for the table.
    pub(crate) what: &'static str,
    /// Does it between [`CauseRun::begins`] and [`CauseRun::fires`], and ends it before [`CauseRun::resolves`].
    pub(crate) produce: for<'a> fn(&'a mut CauseRun<'_>) -> LocalBoxFuture<'a, Result<()>>,
}

/// One run of a cause.
pub(crate) struct CauseRun<'a> {
    pub(crate) job: ScrapeJob<'a>,
    alerts: &'static [&'static str],
    began: Instant,
    /// How long after its cause each alert fired, and after the end of the cause resolved.
    pub(crate) fired: BTreeMap<&'static str, Duration>,
    pub(crate) resolved: BTreeMap<&'static str, Duration>,
}

impl<'a> CauseRun<'a> {
    pub(crate) fn new(job: ScrapeJob<'a>, alerts: &'static [&'static str]) -> Self {
        Self { job, alerts, began: Instant::now(), fired: BTreeMap::new(), resolved: BTreeMap::new() }
    }

    /// Marks the begin of the cause. None of its alerts may be pending or firing yet.
    pub(crate) fn begins(&mut self) -> Result<()> {
        for alert in self.alerts {
            let state = self.state(alert)?;
            ensure!(state.is_none(), "{alert} is {} before its cause", state.unwrap_or_default());
        }
        self.began = Instant::now();
        Ok(())
    }

    /// Waits until all of its alerts fire.
    pub(crate) async fn fires(&mut self) -> Result<()> {
        self.fired = self.until("fire", |state| state == Some("firing")).await?;
        self.began = Instant::now();
        Ok(())
    }

    /// Waits until all of them are resolved.
    pub(crate) async fn resolves(&mut self) -> Result<()> {
        self.resolved = self.until("resolve", |state| state.is_none()).await?;
        Ok(())
    }

    /// Waits until all alerts have had such a state. Returns how long each took.
    async fn until(
        &self,
        what: &str,
        is_reached: fn(Option<&str>) -> bool,
    ) -> Result<BTreeMap<&'static str, Duration>> {
        let mut reached = BTreeMap::new();
        wait::until(&format!("{} to {what}", self.alerts.join(", ")), TIMEOUT, async || {
            for alert in self.alerts {
                if is_reached(self.state(alert)?.as_deref()) {
                    reached.entry(*alert).or_insert_with(|| self.began.elapsed());
                }
            }
            tokio::time::sleep(PAUSE).await;
            Ok((reached.len() == self.alerts.len()).then_some(()))
        })
        .await?;
        Ok(reached)
    }

    /// `pending` or `firing`; `None` if it is neither. An alert about absent series has no job.
    fn state(&self, alert: &str) -> Result<Option<String>> {
        for active in self.job.prometheus.alerts()? {
            let labels = &active["labels"];
            if labels["alertname"] == alert && (labels["job"].is_null() || labels["job"] == self.job.name) {
                let description = active["annotations"]["description"].as_str().unwrap_or_default();
                ensure!(
                    !description.contains("<error"),
                    "Prometheus cannot expand the description of {alert}: {description}"
                );
                return Ok(active["state"].as_str().map(str::to_owned));
            }
        }
        Ok(None)
    }
}
