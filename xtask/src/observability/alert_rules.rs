//! Writes alerts as rules of Prometheus, and as the object that the Prometheus operator reads.

use super::alert::Alert;

/// The file that `promtool check rules` reads.
pub fn rule_group(alerts: &[Alert]) -> String {
    let rules: String = alerts.iter().map(|alert| rule(alert, |text| text, &alert.page())).collect();
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

/// The template of the PrometheusRule in the Helm chart. It escapes the templates of Prometheus.
pub(super) fn chart_template(alerts: &[Alert]) -> String {
    let rules: String = alerts.iter().map(chart_rule).collect();
    format!(
        "{{{{- if $.Values.monitoring.enabled }}}}\n\
         ---\n\
         # Made by `cargo xtask observability`; each alert has a page in docs/runbooks.\n\
         apiVersion: monitoring.coreos.com/v1\n\
         kind: PrometheusRule\n\
         metadata:\n  \
           name: taintward\n  \
           namespace: {{{{ $.Release.Namespace | quote }}}}\n  \
           labels:\n    \
             app.kubernetes.io/name: taintward\n    \
             app.kubernetes.io/component: monitoring\n    \
             {{{{- if $.Values.monitoring.labels }}}}\n    \
             {{{{- toYaml $.Values.monitoring.labels | nindent 4 }}}}\n    \
             {{{{- end }}}}\n\
         spec:\n  \
           groups:\n    \
             - name: taintward\n      \
               rules:\n\
         {rules}{{{{- end }}}}\n"
    )
}

/// One rule. The chart has an alert about the absence of a part only if that part is installed.
fn chart_rule(alert: &Alert) -> String {
    let page =
        format!("{{{{ printf \"%s/{}.md\" $.Values.monitoring.runbookBaseUrl | quote }}}}", alert.name);
    let rule: String = rule(alert, |text| text.replace("{{", "{{ \"{{\" }}"), &page)
        .lines()
        .map(|line| format!("  {line}\n"))
        .collect();
    match alert.part() {
        Some(part) => format!("        {{{{- if $.Values.parts.{part} }}}}\n{rule}        {{{{- end }}}}\n"),
        None => rule,
    }
}

fn rule(alert: &Alert, escaped: impl Fn(String) -> String, page: &str) -> String {
    let Alert { name, hold_seconds, severity, .. } = alert;
    let [expr, summary, description] =
        [&*alert.expr, alert.summary, alert.description].map(|text| escaped(quoted(text)));
    let severity = severity.as_str();
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
