//! Defines the parts of a dashboard, and the PromQL that panels share.

use super::alert::{INSTALLATION, seconds, total};
use taintward_controller::metrics::names;

/// One dashboard of Grafana.
#[derive(Debug)]
pub struct Dashboard {
    /// The identity in Grafana and the name of the file; addresses of the dashboard contain it.
    pub uid: &'static str,
    /// The title, without the name of the product.
    pub title: &'static str,
    /// The question that it answers.
    pub description: &'static str,
    /// The matcher of the label `mode` that selects the processes of the dashboard.
    pub mode: String,
    /// Panels under headings, from top to bottom.
    pub rows: Vec<PanelRow>,
}

/// Panels under one heading.
#[derive(Debug)]
pub struct PanelRow {
    /// The heading.
    pub title: &'static str,
    /// From left to right; a panel without enough space begins a line.
    pub panels: Vec<Panel>,
}

/// One panel.
#[derive(Debug)]
pub struct Panel {
    /// The heading.
    pub title: &'static str,
    /// What it shows, and which values are bad.
    pub description: &'static str,
    /// How Grafana draws it.
    pub form: PanelForm,
    /// What its values are.
    pub unit: PanelUnit,
    /// At least one.
    pub queries: Vec<PanelQuery>,
}

/// How Grafana draws a panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelForm {
    /// The last value as a number, red from a limit on, if it has one.
    Stat {
        /// The limit.
        red_from: Option<u32>,
    },
    /// A line for each series.
    TimeSeries,
}

/// What the values of a panel are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelUnit {
    /// A number of things.
    Number,
    /// A duration.
    Seconds,
    /// A share of 100.
    Percent,
    /// A number of things per second.
    PerSecond,
}

impl PanelUnit {
    /// Grafana's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Number => "short",
            Self::Seconds => "s",
            Self::Percent => "percent",
            Self::PerSecond => "ops",
        }
    }
}

/// One expression of a panel.
#[derive(Debug)]
pub struct PanelQuery {
    /// The name of a series, as a template of Grafana.
    pub legend: String,
    /// The PromQL expression, made of the constants that metrics are registered under.
    pub expr: String,
}

impl PanelQuery {
    /// A query whose series have the name `legend`.
    pub(crate) fn new(legend: impl Into<String>, expr: String) -> Self {
        Self { legend: legend.into(), expr }
    }
}

impl Panel {
    /// The last value of each installation.
    pub(crate) fn stat(
        title: &'static str,
        unit: PanelUnit,
        red_from: Option<u32>,
        expr: String,
        description: &'static str,
    ) -> Self {
        let queries = vec![PanelQuery::new("{{namespace}} {{job}}", expr)];
        Self { title, description, form: PanelForm::Stat { red_from }, unit, queries }
    }

    /// Numbers of things over time.
    pub(crate) fn numbers(title: &'static str, queries: Vec<PanelQuery>, description: &'static str) -> Self {
        Self::lines(title, PanelUnit::Number, queries, description)
    }

    /// Durations over time.
    pub(crate) fn seconds(title: &'static str, queries: Vec<PanelQuery>, description: &'static str) -> Self {
        Self::lines(title, PanelUnit::Seconds, queries, description)
    }

    /// Events per second over time.
    pub(crate) fn rates(title: &'static str, queries: Vec<PanelQuery>, description: &'static str) -> Self {
        Self::lines(title, PanelUnit::PerSecond, queries, description)
    }

    /// Lines over time.
    pub(crate) fn lines(
        title: &'static str,
        unit: PanelUnit,
        queries: Vec<PanelQuery>,
        description: &'static str,
    ) -> Self {
        Self { title, description, form: PanelForm::TimeSeries, unit, queries }
    }
}

/// The samples of the installations that the variables select.
pub(crate) fn chosen(samples: &str) -> String {
    format!("{samples}{{namespace=~\"$namespace\",job=~\"$job\"}}")
}

/// The number of processes of each selected installation whose mode the matcher selects.
pub(crate) fn processes(mode: &str) -> String {
    let info = names::BUILD_INFO;
    format!("sum by ({INSTALLATION}) ({info}{{mode{mode},namespace=~\"$namespace\",job=~\"$job\"}})")
}

/// Events per second in all selected installations, separately for each value of the labels.
fn per_second(labels: &str, counter: &str) -> String {
    format!("sum by ({labels}) (rate({}[$__rate_interval]))", chosen(&total(counter)))
}

/// A query with one series, which has this name.
pub(crate) fn per_second_named(legend: &str, counter: &str) -> PanelQuery {
    PanelQuery::new(legend, per_second("", counter))
}

/// A query with one series for each value of the labels, which are the name of the series.
pub(crate) fn per_second_by(labels: &[&str], counter: &str) -> PanelQuery {
    PanelQuery::new(legend(labels), per_second(&labels.join(", "), counter))
}

/// Median and 99th percentile of a histogram in seconds, separately for each value of the labels.
pub(crate) fn quantiles(labels: &[&str], histogram: &str) -> Vec<PanelQuery> {
    let buckets = chosen(&format!("{}_bucket", seconds(histogram)));
    let by = [&["le"], labels].concat().join(", ");
    let query = |(quantile, name): (&str, &str)| {
        let legend = format!("{name} {}", legend(labels));
        let rate = format!("sum by ({by}) (rate({buckets}[$__rate_interval]))");
        PanelQuery::new(legend.trim_end(), format!("histogram_quantile({quantile}, {rate})"))
    };
    [("0.5", "median"), ("0.99", "99 %")].map(query).into()
}

/// The largest value of all selected processes: each replica reports the same cluster.
pub(crate) fn largest(legend: &'static str, gauge: &str) -> PanelQuery {
    PanelQuery::new(legend, format!("max({})", chosen(gauge)))
}

/// The largest value of all selected processes, separately for each value of a label.
pub(crate) fn largest_by(label: &str, gauge: &str) -> PanelQuery {
    PanelQuery::new(legend(&[label]), format!("max by ({label}) ({})", chosen(gauge)))
}

fn legend(labels: &[&str]) -> String {
    let shown: Vec<String> = labels.iter().map(|label| format!("{{{{{label}}}}}")).collect();
    shown.join(" ")
}
