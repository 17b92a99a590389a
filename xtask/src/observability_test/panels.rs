//! Evaluates what the panels of all dashboards show.

use super::prometheus::PrometheusServer;
use anyhow::{Result, ensure};
use xtask::observability::dashboards;

/// Seconds between two points.
const STEP: u32 = 15;

/// Evaluates each query from a moment until now; fails for those without series. Says how many there are.
pub(crate) fn expect_series(prometheus: &PrometheusServer, since: f64) -> Result<usize> {
    let (mut count, mut empty) = (0, Vec::new());
    for dashboard in dashboards() {
        for panel in dashboard.rows.iter().flat_map(|row| &row.panels) {
            for query in &panel.queries {
                count += 1;
                if prometheus.series(&query.expr, since, STEP)?.as_array().is_none_or(Vec::is_empty) {
                    empty.push(format!("{}, {}: {}", dashboard.title, panel.title, query.expr));
                }
            }
        }
    }
    ensure!(empty.is_empty(), "queries without series:\n{}", empty.join("\n"));
    Ok(count)
}
