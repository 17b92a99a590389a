//! Writes the runbook page of each alert, and their index.

use super::alert::{Alert, Runbook};

const MADE: &str = "<!-- Made by `cargo xtask observability`. -->";

/// The page of one alert.
pub(super) fn page(alert: &Alert) -> String {
    let Alert { name, hold_seconds, severity, expr, summary, .. } = alert;
    let Runbook { meaning, impact, diagnosis, action, silence } = &alert.runbook;
    let severity = severity.as_str();
    format!(
        "{MADE}\n# {name}\n\n{summary}\n\nSeverity: {severity}. It fires when this expression has held for {hold_seconds} s:\n\n\
         ```promql\n{expr}\n```\n\n## Meaning\n\n{meaning}\n\n## Impact\n\n{impact}\n\n## Diagnosis\n\n{diagnosis}\n\n\
         ## What to do\n\n{action}\n\n## When to silence\n\n{silence}\n\n```sh\n\
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
        "{MADE}\n# Runbooks\n\nEach alert of `deploy/monitoring/alerts.yaml`, a PrometheusRule of the Prometheus operator, has a \
         page here. [monitoring.md](../monitoring.md) shows how to install the alerts. Prometheus must scrape `/metrics` of \
         `taintward run` and `taintward webhook` ([metrics.md](../metrics.md)). It adds the labels `job` and `instance` by itself; \
         the labels `namespace` and `cluster` distinguish several installations. The annotation `runbook_url` of an alert is the \
         path of its page in this repository, unless you install the alerts with `--runbook-base-url`.\n\n\
         | alert | severity | meaning |\n|---|---|---|\n{rows}"
    )
}
