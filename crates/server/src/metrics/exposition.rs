//! Renders metrics as OpenMetrics 1.0, or as Prometheus text format 0.0.4 for older readers.

use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

/// A format of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposition {
    /// OpenMetrics 1.0: a counter is declared without its ending `_total`; the text ends with `# EOF`.
    OpenMetrics,
    /// Prometheus text 0.0.4: a counter is declared with its ending.
    Prometheus,
}

/// The description of a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricDescription {
    /// The prefix of its samples' names.
    pub name: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: String,
    /// What it means.
    pub help: String,
    /// Its labels, sorted by name; a histogram's `le` is left out.
    pub labels: Vec<String>,
}

impl Exposition {
    /// The format for a client with this `Accept` header.
    pub fn accepted(accept: &str) -> Self {
        if accept.contains("application/openmetrics-text") { Self::OpenMetrics } else { Self::Prometheus }
    }

    /// The value of `Content-Type`.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Renders everything in a registry.
    pub fn render(self, registry: &Registry) -> String {
        let mut open_metrics = String::new();
        // Writing to a String cannot fail, and no metric fails to encode.
        let _ = text::encode(&mut open_metrics, registry);
        match self {
            Self::OpenMetrics => open_metrics,
            Self::Prometheus => to_prometheus(&open_metrics),
        }
    }
}

/// Rewrites the declarations; samples are the same in both formats.
fn to_prometheus(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(about) = line.strip_prefix("# HELP ") {
            help = about.split_once(' ');
        } else if let Some((name, kind)) =
            line.strip_prefix("# TYPE ").and_then(|about| about.split_once(' '))
        {
            let ending = if kind == "counter" { "_total" } else { "" };
            if let Some((_, meaning)) = help.take() {
                text.push_str(&format!("# HELP {name}{ending} {meaning}\n"));
            }
            text.push_str(&format!("# TYPE {name}{ending} {kind}\n"));
        } else if !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

/// The metrics in a text of the format [`Exposition::Prometheus`], in its order.
pub fn describe(prometheus: &str) -> Vec<MetricDescription> {
    let mut all: Vec<MetricDescription> = Vec::new();
    for line in prometheus.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|about| about.split_once(' ')) {
            let (name, help) = (name.to_owned(), help.to_owned());
            all.push(MetricDescription { name, kind: String::new(), help, labels: Vec::new() });
        } else if let (Some(metric), Some((_, kind))) =
            (all.last_mut(), line.strip_prefix("# TYPE ").and_then(|about| about.split_once(' ')))
        {
            metric.kind = kind.to_owned();
        } else if let (Some(metric), Some((_, labels))) = (all.last_mut(), line.split_once('{')) {
            let names =
                labels.split("\",").filter_map(|pair| pair.split_once('=')).map(|(name, _)| name.to_owned());
            metric.labels.extend(names.filter(|name| name != "le"));
            metric.labels.sort();
            metric.labels.dedup();
        }
    }
    all
}
