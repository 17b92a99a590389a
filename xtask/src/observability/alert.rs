//! Defines the parts of an alert, and the PromQL that alerts share.

use taintward_admission::metrics::MODE;
use taintward_controller::metrics::{Phase, names};

/// One alerting rule with its runbook.
#[derive(Debug)]
pub struct Alert {
    /// The name, also that of the runbook page.
    pub name: &'static str,
    /// How soon a person has to respond.
    pub severity: Severity,
    /// For how long the expression must hold, in seconds, before the alert fires.
    pub hold_seconds: u32,
    /// The PromQL expression, made of the constants that metrics are registered under.
    pub expr: String,
    /// One line for a list of alerts.
    pub summary: &'static str,
    /// What is wrong in figures, as a template of Prometheus.
    pub description: &'static str,
    /// The page.
    pub runbook: Runbook,
}

/// How soon a person has to respond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Immediately.
    Critical,
    /// During working hours.
    Warning,
}

impl Severity {
    /// The value of the label `severity`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
        }
    }
}

/// What a runbook page says, in Markdown.
#[derive(Debug)]
pub struct Runbook {
    /// What the alert means.
    pub meaning: &'static str,
    /// What it does to pods and nodes.
    pub impact: &'static str,
    /// How to find the cause.
    pub diagnosis: &'static str,
    /// What to do.
    pub action: &'static str,
    /// When a silence is appropriate.
    pub silence: &'static str,
}

impl Alert {
    /// The page, from the root of the repository: the address of the documentation is unknown here.
    pub fn page(&self) -> String {
        format!("docs/runbooks/{}.md", self.name)
    }

    /// The part of an installation whose absence fires the alert, as the chart names it.
    pub(super) fn part(&self) -> Option<&'static str> {
        let is_webhook = self.expr.contains(&format!("mode=\"{MODE}\""));
        self.expr.starts_with("absent(").then_some(if is_webhook { "webhook" } else { "controller" })
    }
}

/// Labels of a scrape that distinguish installations; `cluster` exists if one Prometheus serves several clusters.
pub(crate) const INSTALLATION: &str = "cluster, namespace, job";

/// Labels of a scrape that distinguish processes.
pub(super) const PROCESS: &str = "cluster, namespace, job, instance";

/// The samples of a counter.
pub(super) fn total(name: &str) -> String {
    format!("{name}_total")
}

/// The samples of a metric that is registered with the unit seconds.
pub(super) fn seconds(name: &str) -> String {
    format!("{name}_seconds")
}

/// 1 for each watch that a process had open within the last ten minutes. A watch that the process does not need stays in its first
/// phase, and its age counts from the start of the process.
pub(super) fn opened_watches() -> String {
    let (phase, first) = (names::WATCH_PHASE, Phase::Connecting.as_str());
    format!("max by ({PROCESS}, resource) (max_over_time({phase}{{phase!=\"{first}\"}}[10m])) == 1")
}

/// The largest value of an installation.
pub(super) fn max(expr: &str) -> String {
    format!("max by ({INSTALLATION}) ({expr})")
}

/// The smallest value of an installation.
pub(super) fn min(expr: &str) -> String {
    format!("min by ({INSTALLATION}) ({expr})")
}

/// The increase of the counters of an installation, separately for each value of a label.
pub(super) fn rise(label: &str, counters: &str, window: &str) -> String {
    format!("sum by ({INSTALLATION}, {label}) (increase({counters}[{window}]))")
}
