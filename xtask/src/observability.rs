//! Writes the alerts and their runbooks from one table of definitions.
//!
//! - See `alerts.rs` for the definitions; `xtask/tests/observability.rs` compares and tries them.

mod alert;
mod alert_rules;
mod alerts;
mod runbook;

pub use alert::{Alert, Runbook, Severity};
pub use alert_rules::rule_group;

use anyhow::{Context as _, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The folder of the runbooks, from the root of the repository; nothing else is in it.
pub const RUNBOOKS: &str = "docs/runbooks";

/// All alerts.
pub fn alerts() -> Vec<Alert> {
    alerts::all()
}

/// Every file that follows from the alerts: its text by its path from the root of the repository.
pub fn files(alerts: &[Alert]) -> BTreeMap<String, String> {
    let pages = alerts.iter().map(|alert| (alert.page(), runbook::page(alert)));
    let others = [
        ("deploy/monitoring/alerts.yaml".to_owned(), alert_rules::object(alerts)),
        (format!("{RUNBOOKS}/README.md"), runbook::index(alerts)),
    ];
    pages.chain(others).collect()
}

/// Writes all files into the repository at `root`.
pub fn run(root: &Path) -> Result<()> {
    for (path, text) in files(&alerts()) {
        let file = root.join(&path);
        fs::create_dir_all(file.parent().context("a path with a folder")?)?;
        fs::write(&file, text)?;
        println!("{path}: written");
    }
    Ok(())
}
