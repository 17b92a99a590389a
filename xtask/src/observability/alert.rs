//! Defines what an alert consists of, and the PromQL that alerts have in common.

use taintward_admission::metrics::MODE;
use taintward_controller::metrics::{Phase, names};

/// One alerting rule with its runbook.
#[derive(Debug)]
pub struct Alert {
    /// The name, also that of the runbook page.
    pub name: &'static str,
    /// How soon a person has to look.
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

/// How soon a person has to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// At once.
    Critical,
    /// In working hours.
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
    /// How to see the cause.
    pub diagnosis: &'static str,
    /// What to do.
    pub action: &'static str,
    /// When a silence is right.
    pub silence: &'static str,
}

impl Alert {
    /// The page, from the root of the repository: no address of the documentation is known here.
    pub fn page(&self) -> String {
        format!("docs/runbooks/{}.md", self.name)
    }

    /// The part of an installation whose absence makes it fire, as the chart names it.
    pub(super) fn part(&self) -> Option<&'static str> {
        let is_webhook = self.expr.contains(&format!("mode=\"{MODE}\""));
        self.expr.starts_with("absent(").then_some(if is_webhook { "webhook" } else { "controller" })
    }
}

/// Labels of scraping that tell installations apart; `cluster` is there where one Prometheus serves several.
pub(crate) const INSTALLATION: &str = "cluster, namespace, job";

/// Labels of scraping that tell processes apart.
pub(super) const PROCESS: &str = "cluster, namespace, job, instance";

/// The samples of a counter.
pub(super) fn total(name: &str) -> String {
    format!("{name}_total")
}

/// The samples of a metric that is registered with the unit seconds.
pub(super) fn seconds(name: &str) -> String {
    format!("{name}_seconds")
}

/// 1 for each watch of a process that was open within ten minutes. A watch that is not needed stays in its first phase, and its
/// age counts from the start of the process.
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

/// By how much counters of an installation rose together, apart for each value of a label.
pub(super) fn rise(label: &str, counters: &str, window: &str) -> String {
    format!("sum by ({INSTALLATION}, {label}) (increase({counters}[{window}]))")
}
