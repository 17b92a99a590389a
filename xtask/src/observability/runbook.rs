//! Writes the runbook page of each alert, and their index.

use super::alert::{Alert, Runbook};

const MADE: &str = "<!-- Made by `cargo xtask observability`. -->";

/// The page of one alert.
pub(super) fn page(alert: &Alert) -> String {
    let Alert { name, hold_seconds, severity, expr, summary, .. } = alert;
    let Runbook { meaning, impact, diagnosis, action, silence } = &alert.runbook;
    let severity = severity.as_str();
    format!(
        "{MADE}\n# {name}\n\n{summary}\n\nSeverity: {severity}. It fires when this has held for {hold_seconds} s:\n\n\
         ```promql\n{expr}\n```\n\n## Meaning\n\n{meaning}\n\n## Impact\n\n{impact}\n\n## How to see\n\n{diagnosis}\n\n\
         ## What to do\n\n{action}\n\n## How to silence\n\n{silence}\n\n```sh\n\
         amtool silence add alertname={name} --duration=2h --comment=\"why\"\n```\n"
    )
}

/// The page that lists all alerts.
pub(super) fn index(alerts: &[Alert]) -> String {
    let rows: String = alerts
        .iter()
        .map(|alert| {
            let (name, severity, summary) = (alert.name, alert.severity.as_str(), alert.summary);
            format!("| [{name}]({name}.md) | {severity} | {summary} |\n")
        })
        .collect();
    format!(
        "{MADE}\n# Runbooks\n\nOne page for each alert of `deploy/monitoring/alerts.yaml`, a PrometheusRule of the Prometheus \
         operator. [monitoring.md](../monitoring.md) shows how to install it. Prometheus has to scrape `/metrics` of `taintward run` and \
         `taintward webhook` ([metrics.md](../metrics.md)), and to add the labels `job` and `instance`, as it does by itself; `namespace` and `cluster` tell several installations apart. \
         The annotation `runbook_url` is the path of the page in this repository, unless the installation names another place.\n\n\
         | alert | severity | meaning |\n|---|---|---|\n{rows}"
    )
}
