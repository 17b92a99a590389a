//! Tests the text of `/metrics` with a strict parser.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use taintward_core::api_error::ApiFailure;
use taintward_core::time::{Mono, Span};

/// Metrics on a clock that the test moves.
struct Bench {
    metrics: ControllerMetrics,
    now: Arc<AtomicI64>,
}

impl Bench {
    fn new() -> Self {
        let now = Arc::new(AtomicI64::new(0));
        let reading = now.clone();
        let clock: MonoClock = Arc::new(move || Mono::from_micros(reading.load(Ordering::SeqCst)));
        let about = BuildInfo {
            version: "1.2.3",
            mode: "enforce",
            lease: "taintward".into(),
            started: Wall::from_secs(1_700_000_000),
            host: "10.0.0.1:6443".into(),
        };
        Self { metrics: ControllerMetrics::new(clock, &about), now }
    }

    fn at(&self, seconds: i64) {
        self.now.store(seconds * 1_000_000, Ordering::SeqCst);
    }

    /// The value of one series.
    fn value(&self, series: &str) -> f64 {
        let text = self.metrics.render(Exposition::Prometheus);
        let samples = MetricsText::read(&text, false).samples;
        *samples.get(series).unwrap_or_else(|| panic!("no series {series} in\n{text}"))
    }
}

/// A text that keeps the rules of its format.
struct MetricsText {
    kinds: BTreeMap<String, String>,
    units: BTreeMap<String, String>,
    samples: BTreeMap<String, f64>,
}

impl MetricsText {
    fn read(text: &str, open_metrics: bool) -> Self {
        let mut read = Self { kinds: BTreeMap::new(), units: BTreeMap::new(), samples: BTreeMap::new() };
        let mut helped = BTreeSet::new();
        let mut family = String::new();
        assert!(text.ends_with('\n'));
        assert_eq!(text.ends_with("\n# EOF\n"), open_metrics);
        for line in text.lines().filter(|line| *line != "# EOF") {
            let words: Vec<&str> = line.splitn(4, ' ').collect();
            match words[..] {
                ["#", "HELP", name, help] => {
                    assert!(helped.insert(name.to_owned()) && !help.is_empty(), "{line}")
                }
                ["#", "TYPE", name, kind] => {
                    assert!(helped.contains(name), "TYPE without HELP: {line}");
                    assert!(read.kinds.insert(name.into(), kind.into()).is_none(), "declared twice: {line}");
                    family = name.into();
                }
                ["#", "UNIT", name, unit] => {
                    assert!(open_metrics && name == family && name.ends_with(&format!("_{unit}")), "{line}");
                    read.units.insert(name.into(), unit.into());
                }
                _ => read.sample(line, &family, open_metrics),
            }
        }
        read
    }

    fn sample(&mut self, line: &str, family: &str, open_metrics: bool) {
        let (series, value) = line.rsplit_once(' ').expect("a sample has a value");
        let name = series.split('{').next().unwrap();
        let endings: &[&str] = match (self.kinds[family].as_str(), open_metrics) {
            ("counter", true) => &["_total"],
            ("counter" | "gauge", _) => &[""],
            ("histogram", _) => &["_bucket", "_sum", "_count"],
            (kind, _) => panic!("{family} is a {kind}"),
        };
        assert!(
            endings.iter().any(|ending| name == format!("{family}{ending}")),
            "{line} is not a sample of {family}"
        );
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
        assert!(value.is_finite(), "{line}");
        assert!(self.samples.insert(series.into(), value).is_none(), "twice: {line}");
    }
}

fn use_everything(metrics: &ControllerMetrics) {
    let (t0, t1) = (Mono::from_secs(10), Mono::from_secs(11));
    metrics.evictions.deleted(DeletionTimes { due: t0, confirmed: t0, sent: t1, on_response: t1 });
    metrics.evictions.census(EvictionGauges {
        pods: 3,
        nodes: 2,
        oldest_due: Some(t0),
        ..EvictionGauges::default()
    });
    for effect in Effect::all() {
        for outcome in Outcome::all() {
            metrics.effects.began();
            metrics.effects.ended(effect, outcome, Span::from_millis(3));
        }
    }
    for resource in Resource::all() {
        for phase in Phase::all() {
            metrics.watches.entered(resource, phase);
        }
        for restart in Restart::all() {
            metrics.watches.restarts.of((resource, restart)).inc();
        }
        metrics.watches.undecodable.of(resource).inc();
        metrics.watches.active(resource, t1);
    }
    for kind in Unknown::all() {
        metrics.watches.unknown.of(kind).inc();
    }
    for sign in Sign::all() {
        metrics.evictions.other_controller.of(sign).inc();
    }
    for property in PropertyLabel::all() {
        metrics.evictions.violations.of(property).inc();
    }
    for queue in Queue::all() {
        metrics.queues.added(queue, true);
        metrics.queues.depth(queue, 4);
        metrics.queues.handled(queue, Span::from_millis(1), Span::from_millis(2));
    }
    metrics.lease.leads_until(Mono::from_secs(20));
}

#[test]
fn both_forms_keep_their_rules_and_say_the_same() {
    let bench = Bench::new();
    use_everything(&bench.metrics);
    let open = MetricsText::read(&bench.metrics.render(Exposition::OpenMetrics), true);
    let plain = MetricsText::read(&bench.metrics.render(Exposition::Prometheus), false);
    assert_eq!(open.samples.keys().collect::<Vec<_>>(), plain.samples.keys().collect::<Vec<_>>());
    assert!(open.samples.len() > 100);
    for (name, kind) in &plain.kinds {
        assert_eq!(name.ends_with("_total"), kind == "counter", "{name} is a {kind}");
        let declared = name.strip_suffix("_total").unwrap_or(name);
        assert_eq!(open.kinds.get(declared), Some(kind), "{name}");
        if name.ends_with("_seconds") || name.ends_with("_bytes") {
            assert!(open.units.contains_key(name), "{name} has no unit");
        }
    }
}

#[test]
fn the_form_follows_the_readers_wish() {
    let requested =
        "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
    assert_eq!(Exposition::accepted(requested), Exposition::OpenMetrics);
    for requested in ["", "*/*", "text/plain;version=0.0.4"] {
        assert_eq!(Exposition::accepted(requested), Exposition::Prometheus);
    }
    assert_eq!(Exposition::Prometheus.media_type(), "text/plain; version=0.0.4; charset=utf-8");
    assert!(Exposition::OpenMetrics.media_type().starts_with("application/openmetrics-text; version=1.0.0"));
}

#[test]
fn upstreams_names_are_there_in_seconds() {
    // TE-37, TE-38, D9.
    let bench = Bench::new();
    let [due, confirmed, sent, on_response] =
        [100_000_000, 111_000_000, 112_000_000, 112_500_000].map(Mono::from_micros);
    bench.metrics.evictions.deleted(DeletionTimes { due, confirmed, sent, on_response });
    assert_eq!(bench.value("taint_eviction_controller_pod_deletions_total"), 1.0);
    let duration = "taint_eviction_controller_pod_deletion_duration_seconds";
    assert_eq!(bench.value(&format!("{duration}_sum")), 12.5);
    assert_eq!(bench.value(&format!("{duration}_count")), 1.0);
    for (edge, count) in [("0.005", 0.0), ("10.0", 0.0), ("30.0", 1.0), ("240.0", 1.0), ("+Inf", 1.0)] {
        assert_eq!(bench.value(&format!("{duration}_bucket{{le=\"{edge}\"}}")), count, "{edge}");
    }
    let text = bench.metrics.render(Exposition::Prometheus);
    let edges: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with(&format!("{duration}_bucket")))
        .map(|line| line.split('"').nth(1).unwrap())
        .collect();
    let upstream = [
        "0.005", "0.025", "0.1", "0.5", "1.0", "2.5", "10.0", "30.0", "60.0", "120.0", "180.0", "240.0",
        "+Inf",
    ];
    assert_eq!(edges, upstream);
    assert_eq!(bench.value("taintward_decision_age_seconds_sum"), 1.5);
}

#[test]
fn a_deletion_before_its_time_shows_for_good() {
    // S3.
    let bench = Bench::new();
    let deletion = |due, sent| {
        let (due, sent) = (Mono::from_secs(due), Mono::from_secs(sent));
        // What counts is when it was sent, not when it was confirmed or answered.
        let (confirmed, on_response) = (sent.minus(Span::from_secs(1)), sent.plus(Span::from_secs(1)));
        bench.metrics.evictions.deleted(DeletionTimes { due, confirmed, sent, on_response });
    };
    deletion(10, 10);
    deletion(10, 11);
    assert_eq!(bench.value("taintward_early_seconds"), 0.0);
    deletion(10, 7);
    deletion(10, 9);
    assert_eq!(bench.value("taintward_early_seconds"), 3.0);
}

#[test]
fn ages_grow_by_themselves() {
    let bench = Bench::new();
    let metrics = &bench.metrics;
    bench.at(100);
    assert_eq!(bench.value("taintward_oldest_due_pod_seconds"), 0.0);
    assert_eq!(bench.value("taintward_watch_last_heard_age_seconds{resource=\"pods\"}"), 100.0);
    metrics.evictions.census(EvictionGauges {
        due: 1,
        oldest_due: Some(Mono::from_secs(90)),
        ..EvictionGauges::default()
    });
    metrics.watches.active(Resource::Pods, Mono::from_secs(99));
    metrics.lease.leads_until(Mono::from_secs(110));
    bench.at(105);
    assert_eq!(bench.value("taintward_oldest_due_pod_seconds"), 15.0);
    assert_eq!(bench.value("taintward_due_pods"), 1.0);
    assert_eq!(bench.value("taintward_watch_last_heard_age_seconds{resource=\"pods\"}"), 6.0);
    assert_eq!(bench.value("taintward_watch_last_heard_age_seconds{resource=\"nodes\"}"), 105.0);
    assert_eq!(bench.value("taintward_lease_margin_seconds"), 5.0);
    bench.at(112);
    assert_eq!(bench.value("taintward_lease_margin_seconds"), -2.0);
    metrics.evictions.census(EvictionGauges::default());
    assert_eq!(bench.value("taintward_oldest_due_pod_seconds"), 0.0);
}

#[test]
fn leadership_shows_under_client_gos_name() {
    let bench = Bench::new();
    let leading = "leader_election_master_status{name=\"taintward\"}";
    assert_eq!(bench.value(leading), 0.0);
    bench.metrics.lease.leads_until(Mono::from_secs(10));
    assert_eq!(bench.value(leading), 1.0);
    bench.metrics.lease.follows();
    assert_eq!((bench.value(leading), bench.value("taintward_lease_margin_seconds")), (0.0, 0.0));
    bench.metrics.lease.leads_alone();
    assert_eq!((bench.value(leading), bench.value("taintward_lease_margin_seconds")), (1.0, 0.0));
}

#[test]
fn a_stream_is_in_one_phase() {
    let bench = Bench::new();
    let phases = |resource: &str| -> Vec<&str> {
        let all = ["connecting", "listing", "watching", "waiting"];
        let is = |phase: &&str| {
            bench.value(&format!("taintward_watch_phase{{resource=\"{resource}\",phase=\"{phase}\"}}")) == 1.0
        };
        all.into_iter().filter(is).collect()
    };
    assert_eq!(phases("pods"), ["connecting"]);
    bench.metrics.watches.entered(Resource::Pods, Phase::Listing);
    bench.metrics.watches.entered(Resource::Pods, Phase::Watching);
    assert_eq!((phases("pods"), phases("nodes")), (vec!["watching"], vec!["connecting"]));
}

#[test]
fn requests_are_counted_by_their_outcome() {
    let bench = Bench::new();
    let effects = &bench.metrics.effects;
    let rows = [
        (Outcome::from(Ok::<(), ApiFailure>(())), "done"),
        (ApiFailure::NotFound.into(), "not_found"),
        (ApiFailure::Conflict.into(), "conflict"),
        (ApiFailure::Forbidden.into(), "forbidden"),
        (ApiFailure::Throttled(None).into(), "throttled"),
        (ApiFailure::Budget.into(), "budget"),
        (ApiFailure::Rejected.into(), "rejected"),
        (ApiFailure::Unavailable.into(), "unavailable"),
    ];
    assert_eq!(rows.len(), Outcome::all().len());
    for (outcome, label) in rows {
        effects.began();
        effects.began();
        effects.ended(Effect::Delete, outcome, Span::from_millis(250));
        assert_eq!(bench.value("taintward_inflight_effects"), 1.0);
        effects.ended(Effect::Mark, outcome, Span::ZERO);
        let series = format!("taintward_effects_total{{effect=\"delete\",outcome=\"{label}\"}}");
        assert_eq!(bench.value(&series), 1.0, "{label}");
    }
    assert_eq!(bench.value("taintward_precondition_conflict_total"), 2.0);
    assert_eq!(bench.value("taintward_effect_duration_seconds_sum{effect=\"delete\"}"), 2.0);
    effects.limit(Controller::NodeLifecycle, 32);
    let limit = |name| bench.value(&format!("taintward_concurrency_limit{{controller=\"{name}\"}}"));
    assert_eq!((limit("node-lifecycle-controller"), limit("taint-eviction-controller")), (32.0, 0.0));
}

#[test]
fn queues_have_upstreams_names() {
    // TE-5.
    let bench = Bench::new();
    bench.metrics.queues.added(Queue::Pod, false);
    bench.metrics.queues.added(Queue::Pod, true);
    bench.metrics.queues.depth(Queue::Node, 7);
    assert_eq!(bench.value("workqueue_adds_total{name=\"noexec_taint_pod\"}"), 2.0);
    assert_eq!(bench.value("workqueue_retries_total{name=\"noexec_taint_pod\"}"), 1.0);
    assert_eq!(bench.value("workqueue_adds_total{name=\"noexec_taint_node\"}"), 0.0);
    assert_eq!(bench.value("workqueue_depth{name=\"noexec_taint_node\"}"), 7.0);
}

#[test]
fn every_series_is_there_from_the_start_and_none_comes_later() {
    let bench = Bench::new();
    let series = || {
        MetricsText::read(&bench.metrics.render(Exposition::Prometheus), false)
            .samples
            .into_keys()
            .collect::<Vec<_>>()
    };
    let before = series();
    use_everything(&bench.metrics);
    assert_eq!(series(), before);
    for word in ["pod=", "node=", "value=", "uid="] {
        assert!(!before.iter().any(|series| series.contains(word)), "{word}");
    }
}

#[test]
fn the_process_tells_what_it_costs() {
    let bench = Bench::new();
    assert_eq!(bench.value("taintward_build_info{version=\"1.2.3\",mode=\"enforce\"}"), 1.0);
    assert_eq!(bench.value("process_start_time_seconds"), 1_700_000_000.0);
    let resident = bench.value("process_resident_memory_bytes");
    assert!(resident > 1e6 && resident < bench.value("process_virtual_memory_bytes"));
    assert!(bench.value("process_cpu_seconds_total") > 0.0);
    let open = bench.value("process_open_fds");
    assert!(open >= 3.0 && open <= bench.value("process_max_fds"));
}

#[test]
fn the_description_names_each_metric_with_its_labels() {
    let described = describe(&Bench::new().metrics.render(Exposition::Prometheus));
    let find = |name: &str| described.iter().find(|metric| metric.name == name).unwrap();
    let effects = find("taintward_effects_total");
    assert_eq!((effects.kind.as_str(), effects.labels.join(",")), ("counter", "effect,outcome".into()));
    let durations = find("taintward_effect_duration_seconds");
    assert_eq!((durations.kind.as_str(), durations.labels.join(",")), ("histogram", "effect".into()));
    assert!(find("taintward_pods").labels.is_empty());
    assert!(described.iter().all(|metric| !metric.help.is_empty() && !metric.kind.is_empty()));
}
