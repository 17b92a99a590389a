//! Writes the alerts with their runbooks, and the dashboards, from definitions.
//!
//! - See `alerts.rs` and `dashboards.rs` for the definitions; `xtask/tests/observability.rs` compares and tests them.

mod alert;
mod alert_rules;
mod alerts;
mod dashboard;
mod dashboard_json;
mod dashboards;
mod runbook;

pub use alert::{Alert, Runbook, Severity};
pub use alert_rules::rule_group;
pub use dashboard::{Dashboard, Panel, PanelForm, PanelQuery, PanelRow, PanelUnit};

use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The folder of the runbooks, from the root of the repository; it has no other files.
pub const RUNBOOKS: &str = "docs/runbooks";

/// The folder of the dashboards; it has no other files.
pub const DASHBOARDS: &str = "deploy/monitoring/dashboards";

/// The folder of the dashboards in the Helm chart, each in one line; it has no other files.
pub const CHART_DASHBOARDS: &str = "deploy/chart/dashboards";

/// All alerts.
pub fn alerts() -> Vec<Alert> {
    alerts::all()
}

/// All dashboards.
pub fn dashboards() -> [Dashboard; 4] {
    dashboards::all()
}

/// Every file that the definitions generate: its text by its path from the root of the repository.
pub fn files() -> BTreeMap<String, String> {
    let alerts = alerts();
    let pages = alerts.iter().map(|alert| (alert.page(), runbook::page(alert)));
    let dashboards = dashboards();
    let indented = dashboards
        .iter()
        .map(|dashboard| (format!("{DASHBOARDS}/{}.json", dashboard.uid), dashboard_json::file(dashboard)));
    let compact = dashboards.iter().map(|dashboard| {
        (format!("{CHART_DASHBOARDS}/{}.json", dashboard.uid), dashboard_json::line(dashboard))
    });
    let others = [
        ("deploy/chart/templates/prometheusrule.yaml".to_owned(), alert_rules::chart_template(&alerts)),
        ("deploy/monitoring/alerts.yaml".to_owned(), alert_rules::object(&alerts)),
        (format!("{RUNBOOKS}/README.md"), runbook::index(&alerts)),
    ];
    pages.chain(indented).chain(compact).chain(others).collect()
}

/// Writes all files into the repository at `root`.
pub fn run(root: &Path) -> Result<()> {
    for (path, text) in files() {
        let file = root.join(&path);
        fs::create_dir_all(file.parent().context("a path with a folder")?)?;
        fs::write(&file, text)?;
        println!("{path}: written");
    }
    Ok(())
}
