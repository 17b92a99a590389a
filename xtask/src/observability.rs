//! Reads the alerts and the dashboards of `deploy/monitoring`, for their tests and pictures.
//!
//! - `xtask/tests/observability.rs` tests them; `cargo xtask chart` copies them into the Helm chart.

use crate::files::files_below;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The object with all alerts, from the root of the repository.
pub const ALERTS: &str = "deploy/monitoring/alerts.yaml";

/// The folder of the dashboards.
pub const DASHBOARDS: &str = "deploy/monitoring/dashboards";

/// One alerting rule of Prometheus.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Alert {
    /// The name, also that of the runbook page.
    #[serde(rename = "alert")]
    pub name: String,
    /// The PromQL expression.
    pub expr: String,
    /// For how long the expression must hold before the alert fires, in seconds, as `60s`.
    #[serde(rename = "for")]
    pub hold: String,
    /// Includes `severity`.
    pub labels: BTreeMap<String, String>,
    /// Includes `summary`, `description` and `runbook_url`.
    pub annotations: BTreeMap<String, String>,
}

impl Alert {
    /// The seconds of `for`.
    pub fn hold_seconds(&self) -> Result<u32> {
        let seconds = self.hold.strip_suffix('s').and_then(|number| number.parse().ok());
        seconds.with_context(|| format!("{}: `for: {}` is not in seconds, as in 60s", self.name, self.hold))
    }
}

#[derive(Deserialize)]
struct PrometheusRule {
    spec: RuleGroups,
}

#[derive(Deserialize)]
struct RuleGroups {
    groups: Vec<RuleGroup>,
}

#[derive(Deserialize)]
struct RuleGroup {
    rules: Vec<Alert>,
}

/// All alerts of the repository at `root`, in the order of the file.
pub fn alerts(root: &Path) -> Result<Vec<Alert>> {
    let text = fs::read_to_string(root.join(ALERTS)).with_context(|| format!("reading {ALERTS}"))?;
    let object: PrometheusRule =
        serde_saphyr::from_str(&text).with_context(|| format!("decoding {ALERTS}"))?;
    Ok(object.spec.groups.into_iter().flat_map(|group| group.rules).collect())
}

/// A file of rules for Prometheus and promtool, in JSON, which is YAML.
pub fn rule_file(alerts: &[Alert]) -> String {
    json!({"groups": [{"name": "taintward", "rules": alerts}]}).to_string()
}

/// The JSON of each dashboard by the name of its file, sorted.
pub fn dashboards(root: &Path) -> Result<BTreeMap<String, Value>> {
    let read = |file: &Path| -> Result<(String, Value)> {
        let name = file.file_stem().and_then(|name| name.to_str()).context("a file has a name")?;
        Ok((name.to_owned(), serde_json::from_str(&fs::read_to_string(file)?)?))
    };
    let files = files_below(&root.join(DASHBOARDS), &["json"])?;
    files.iter().map(|file| read(file).with_context(|| format!("reading {}", file.display()))).collect()
}

/// The expressions of a dashboard's panels, each with its panel.
pub fn panel_queries(dashboard: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    let panels = dashboard["panels"].as_array().into_iter().flatten();
    panels.flat_map(|panel| {
        panel["targets"].as_array().into_iter().flatten().map(move |target| (panel, target))
    })
}
