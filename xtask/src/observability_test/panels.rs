//! Evaluates what the panels of all dashboards show.

use super::prometheus::PrometheusServer;
use crate::sources;
use anyhow::{Context as _, Result, ensure};
use xtask::observability::{dashboards, panel_queries};

/// Seconds between two points.
const STEP: u32 = 15;

/// Evaluates each query from a moment until now; fails for those without series. Says how many there are.
pub(crate) fn expect_series(prometheus: &PrometheusServer, since: f64) -> Result<usize> {
    let (mut count, mut empty) = (0, Vec::new());
    for (name, dashboard) in dashboards(sources::root())? {
        for (panel, target) in panel_queries(&dashboard) {
            let expr = target["expr"].as_str().context("a target without an expression")?;
            count += 1;
            if prometheus.series(expr, since, STEP)?.as_array().is_none_or(Vec::is_empty) {
                empty.push(format!("{name}, {}: {expr}", panel["title"]));
            }
        }
    }
    ensure!(empty.is_empty(), "queries without series:\n{}", empty.join("\n"));
    Ok(count)
}
