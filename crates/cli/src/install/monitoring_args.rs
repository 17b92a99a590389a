//! Defines the flags of `taintward install` for monitoring.

use crate::args::object_names;
use clap::Args;

/// The objects for the Prometheus operator and for Grafana.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Monitoring")]
pub(crate) struct MonitoringValues {
    /// Adds PodMonitors and alerts for the Prometheus operator, and dashboards for Grafana
    #[arg(long)]
    pub(crate) with_monitoring: bool,
    /// A label for the PodMonitors and the PrometheusRule, by which your Prometheus selects them, as in
    /// release=kube-prometheus-stack; may be repeated
    #[arg(long, value_name = "KEY=VALUE", requires = "with_monitoring", value_parser = label)]
    pub(crate) monitoring_label: Vec<(String, String)>,
    /// How often Prometheus scrapes each pod
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "30s",
        requires = "with_monitoring",
        value_parser = interval
    )]
    pub(crate) scrape_interval: String,
    /// The namespace of Prometheus: the NetworkPolicies admit connections to the metrics from it. Without it, they admit
    /// namespaces with the label taintward.io/metrics=allowed
    #[arg(long, value_name = "NAME", requires = "with_monitoring", value_parser = object_names::namespace)]
    pub(crate) prometheus_namespace: Option<String>,
    /// Authorization for the controllers' metrics: none serves every client that can connect; delegated asks the API
    /// server, and gives Prometheus a token
    #[arg(long, value_name = "HOW", default_value = "none", requires = "with_monitoring", value_parser = ["none", "delegated"])]
    pub(crate) metrics_authentication: String,
    /// The URL of your copy of the runbooks; alerts link to its pages
    #[arg(
        long,
        value_name = "URL",
        default_value = "docs/runbooks",
        requires = "with_monitoring",
        value_parser = base_url
    )]
    pub(crate) runbook_base_url: String,
    /// Omits the dashboards
    #[arg(long, requires = "with_monitoring")]
    pub(crate) no_dashboards: bool,
}

impl MonitoringValues {
    /// Adds the objects of any installation.
    pub(crate) fn with_everything(&mut self) {
        self.with_monitoring = true;
        self.no_dashboards = false;
        "delegated".clone_into(&mut self.metrics_authentication);
    }
}

fn label(text: &str) -> Result<(String, String), &'static str> {
    let fits = |part: &str, most: usize| {
        let inner = part.bytes().all(|c| c.is_ascii_alphanumeric() || b"-._".contains(&c));
        let ends = |c: char| c.is_ascii_alphanumeric();
        inner && part.len() <= most && part.starts_with(ends) && part.ends_with(ends)
    };
    let read = || {
        let (key, value) = text.split_once('=')?;
        let name = match key.split_once('/') {
            Some((prefix, name)) => object_names::object(prefix).is_ok().then_some(name)?,
            None => key,
        };
        (fits(name, 63) && (value.is_empty() || fits(value, 63))).then(|| (key.to_owned(), value.to_owned()))
    };
    read().ok_or("expected a label, as in release=kube-prometheus-stack")
}

/// Parses a duration in Prometheus' format with one unit.
fn interval(text: &str) -> Result<String, &'static str> {
    let number = ["ms", "s", "m", "h"].iter().find_map(|unit| {
        text.strip_suffix(unit).filter(|number| number.bytes().all(|digit| digit.is_ascii_digit()))
    });
    match number.is_some_and(|number| !number.is_empty() && !number.starts_with('0')) {
        true => Ok(text.to_owned()),
        false => Err("expected a number with its unit, as in 30s or 1m"),
    }
}

/// Checks the characters of a URL, and removes its last slash.
fn base_url(text: &str) -> Result<String, &'static str> {
    let text = text.trim_end_matches('/');
    let fits = |c: u8| c.is_ascii_alphanumeric() || b"-._~:/?#@!&+,;=%".contains(&c);
    match !text.is_empty() && text.bytes().all(fits) {
        true => Ok(text.to_owned()),
        false => Err("expected a URL, as in https://docs.example.com/taintward/runbooks"),
    }
}
