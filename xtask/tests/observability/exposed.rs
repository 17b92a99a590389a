//! Knows the metrics of both programs with their labels and values, and finds those that PromQL names.

use regex::Regex;
use std::collections::BTreeMap;
use std::sync::Arc;
use taintward_admission::metrics::{MODE, WebhookMetrics};
use taintward_controller::metrics::{
    BuildInfo, ControllerMetrics, Exposition, MonoClock, Registry, describe, register_client,
};
use taintward_controller::settings::WriteMode;
use taintward_core::node_lifecycle::{TaintRate, ZoneKey, ZoneLabels, ZoneReport, ZoneState};
use taintward_core::time::{Mono, Wall};

/// Labels that Prometheus adds to what it scrapes, and that of a histogram's buckets.
const SCRAPE_LABELS: [&str; 5] = ["cluster", "namespace", "job", "instance", "le"];

/// What both programs expose at their start: every label has a closed list of values.
pub(crate) struct Exposed {
    text: String,
    /// The labels of each metric, by its name in expressions.
    labels: BTreeMap<String, Vec<String>>,
}

impl Exposed {
    pub(crate) fn by_both_programs() -> Self {
        let clock: MonoClock = Arc::new(|| Mono::from_secs(0));
        let mut registry = Registry::default();
        register_client(&mut registry, &clock, "");
        let webhook = WebhookMetrics::new(registry, Arc::clone(&clock), "", Wall::from_secs(0), &["brake"]);
        let modes = [WriteMode::Enforce, WriteMode::Observe].map(|mode| controllers(&clock, mode.as_str()));
        let text = modes.concat() + &webhook.render(Exposition::Prometheus);
        let described = describe(&text).into_iter();
        let labels = described.map(|metric| (metric.name, metric.labels)).collect();
        Self { text, labels }
    }

    /// The labels of a metric; `None` if there is no such metric.
    pub(crate) fn labels(&self, metric: &str) -> Option<&[String]> {
        self.labels.get(metric.strip_suffix("_bucket").unwrap_or(metric)).map(Vec::as_slice)
    }

    /// Whether a label is one of the metrics of an expression, or of the scrape.
    pub(crate) fn has_label(&self, expr: &str, label: &str) -> bool {
        let has = |metric| self.labels(metric).is_some_and(|labels| labels.iter().any(|one| one == label));
        SCRAPE_LABELS.contains(&label) || metrics_of(expr).into_iter().any(has)
    }

    /// Panics unless each metric, each label and each value of a label in an expression exists.
    pub(crate) fn assert_names_exist(&self, origin: &str, expr: &str) {
        let fault = self.fault(expr);
        assert!(fault.is_none(), "{origin}: {}: {expr}", fault.unwrap_or_default());
    }

    fn fault(&self, expr: &str) -> Option<String> {
        let metrics = metrics_of(expr);
        if metrics.is_empty() {
            return Some("no metric".to_owned());
        }
        if let Some(unknown) = metrics.iter().find(|metric| self.labels(metric).is_none()) {
            return Some(format!("no metric has the name {unknown}"));
        }
        let lists = Regex::new(r"\b(?:by|on|without|ignoring) \(([^)]*)\)").unwrap();
        let listed = lists.captures_iter(expr).flat_map(|found| found.extract::<1>().1[0].split(", "));
        if let Some(unknown) =
            listed.filter(|label| !label.is_empty()).find(|label| !self.has_label(expr, label))
        {
            return Some(format!("no metric of the expression has the label {unknown}"));
        }
        let selectors = Regex::new(r"(\w+)\{([^}]*)\}").unwrap();
        let matchers = Regex::new(r#"(\w+)(?:=~|!~|!=|=)"([^"]*)""#).unwrap();
        for (_, [metric, within]) in selectors.captures_iter(expr).map(|found| found.extract()) {
            for (_, [label, values]) in matchers.captures_iter(within).map(|found| found.extract()) {
                let unknown = values.split('|').find(|value| !self.has_value(metric, label, value));
                if let Some(value) = unknown.filter(|_| !SCRAPE_LABELS.contains(&label)) {
                    return Some(format!("no series of {metric} has {label}={value:?}"));
                }
            }
        }
        None
    }

    fn has_value(&self, metric: &str, label: &str, value: &str) -> bool {
        let pair = format!("{label}=\"{value}\"");
        let series = self.text.lines().filter_map(|line| line.strip_prefix(metric)?.strip_prefix('{'));
        series.into_iter().any(|labels| labels.split(['{', ',', '}']).any(|one| one == pair))
    }
}

/// The words of an expression that are no function, operator, number, label or range.
fn metrics_of(expr: &str) -> Vec<&str> {
    let words =
        Regex::new(r"\b(?:by|on|without|ignoring) \([^)]*\)|\{[^}]*\}|\[[^\]]*\]|[a-zA-Z_]\w*(?: ?\()?")
            .unwrap();
    let words = words.find_iter(expr).map(|word| word.as_str());
    words
        .filter(|word| word.starts_with(|c: char| c.is_alphabetic()) && !word.contains('('))
        .filter(|word| !["sum", "max", "min", "and", "or", "unless"].contains(word))
        .collect()
}

/// The words of a text that have the form of names of metrics.
pub(crate) fn metrics_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| {
        let starts = [
            "taintward_",
            "leader_election_",
            "rest_client_",
            "taint_eviction_",
            "node_collector_",
            "workqueue_",
        ];
        starts.iter().any(|start| word.starts_with(start))
    })
}

fn controllers(clock: &MonoClock, mode: &'static str) -> String {
    let about = BuildInfo {
        version: "",
        mode,
        lease: String::new(),
        started: Wall::from_secs(0),
        host: String::new(),
    };
    let run = ControllerMetrics::new(Arc::clone(clock), &about);
    // Series of zones begin with the first zone.
    let zone = &ZoneKey::of(ZoneLabels::default());
    let (state, rate) = (ZoneState::Normal, TaintRate::ZERO);
    let empty = ZoneReport {
        zone,
        size: 0,
        unhealthy: 0,
        suspects: 0,
        excluded: 0,
        state,
        rate,
        waiting: 0,
        evictions: 0,
    };
    run.node_health.zones([empty].into_iter());
    run.render(Exposition::Prometheus)
}

#[test]
fn a_misspelled_metric_label_or_value_is_found() {
    let exposed = Exposed::by_both_programs();
    let right = "sum by (job, effect) (rate(taintward_effects_total{effect=\"delete\",outcome=~\"forbidden|rejected\"}[5m]))";
    assert_eq!(exposed.fault(right), None);
    for (word, misspelled) in [
        ("taintward_effects_total", "taintward_efects_total"),
        ("taintward_effects_total", "up"),
        ("[5m]))", "[5m])) and tainward_due_pods"),
        ("(job, effect)", "(job, efect)"),
        ("outcome=~", "outcom=~"),
        ("|rejected", "|reject"),
        ("=\"delete\"", "=\"\""),
    ] {
        let wrong = right.replace(word, misspelled);
        assert_ne!(wrong, right);
        assert!(exposed.fault(&wrong).is_some(), "{wrong}");
    }
    let mode = |mode: &str| exposed.fault(&format!("taintward_build_info{{mode=\"{mode}\"}}"));
    assert_eq!((mode("enforce"), mode("observe"), mode(MODE)), (None, None, None));
    assert!(mode("other").is_some());
}
