//! Writes alerts as rules of Prometheus, and as the object that the Prometheus operator reads.

use super::alert::Alert;

/// The file that `promtool check rules` takes.
pub fn rule_group(alerts: &[Alert]) -> String {
    let rules: String = alerts.iter().map(rule).collect();
    format!("groups:\n  - name: taintward\n    rules:\n{rules}")
}

/// The PrometheusRule.
pub(super) fn object(alerts: &[Alert]) -> String {
    let spec: String = rule_group(alerts).lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "# Made by `cargo xtask observability`; each alert has a page in docs/runbooks.\n\
         apiVersion: monitoring.coreos.com/v1\n\
         kind: PrometheusRule\n\
         metadata:\n  \
           name: taintward\n  \
           namespace: taintward-system\n  \
           labels:\n    \
             app.kubernetes.io/name: taintward\n\
         spec:\n{spec}"
    )
}

fn rule(alert: &Alert) -> String {
    let Alert { name, hold_seconds, severity, .. } = alert;
    let (expr, summary, description) =
        (quoted(&alert.expr), quoted(alert.summary), quoted(alert.description));
    let (severity, page) = (severity.as_str(), alert.page());
    format!(
        "      - alert: {name}\n        \
                 expr: {expr}\n        \
                 for: {hold_seconds}s\n        \
                 labels:\n          \
                   severity: {severity}\n        \
                 annotations:\n          \
                   summary: {summary}\n          \
                   description: {description}\n          \
                   runbook_url: {page}\n"
    )
}

/// A single-quoted scalar of YAML.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
