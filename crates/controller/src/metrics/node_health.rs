//! Shows zones with upstream's metrics (NL-29), and nodes by state.
//!
//! - Invariant: a bounded number of zones have series of their own (S12); the others share a counter.

use super::names;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use taintward_core::node_lifecycle::ZoneReport;
use taintward_core::time::Span;
use taintward_server::metrics::MetricsRegistry;

/// Zones with series of their own. Three is usual; labels of nodes can define any number.
const ZONES_MAX: usize = 500;

/// The zone of the zones beyond.
const OTHERS: &str = "(others)";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ZoneLabel {
    zone: String,
}

type FloatGauge = Gauge<f64, AtomicU64>;

/// What is counted of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeGauges {
    /// Silent for longer than their grace period.
    pub silent: usize,
    /// With a NoExecute taint of node health.
    pub tainted: usize,
    /// Waiting for one.
    pub waiting: usize,
    /// With a request that failed last.
    pub failing: usize,
    /// Not understood, or with a lease that is not (D11).
    pub not_understood: usize,
    /// All zones are down (NL-27).
    pub everything_down: bool,
    /// The controller's own observation cannot be trusted (S7).
    pub in_doubt: bool,
}

/// The group.
#[derive(Clone, Debug)]
pub struct NodeLifecycleMetrics {
    zone_health: Family<ZoneLabel, FloatGauge>,
    zone_size: Family<ZoneLabel, Gauge>,
    unhealthy: Family<ZoneLabel, Gauge>,
    evictions: Family<ZoneLabel, Counter>,
    one: Histogram,
    all: Histogram,
    silent: Gauge,
    tainted: Gauge,
    waiting: Gauge,
    failing: Gauge,
    not_understood: Gauge,
    everything_down: Gauge,
    in_doubt: Gauge,
    /// In observe mode: nodes that enforce mode would have given a NoExecute taint.
    pub would_taint: Counter,
    zones: Arc<Mutex<BTreeSet<String>>>,
}

impl NodeLifecycleMetrics {
    pub(super) fn new(registry: &mut MetricsRegistry<'_>) -> Self {
        Self {
            zone_health: registry.family(
                names::NODE_COLLECTOR_ZONE_HEALTH,
                "Gauge measuring percentage of healthy nodes per zone",
            ),
            zone_size: registry.family(names::NODE_COLLECTOR_ZONE_SIZE, "Gauge measuring number of registered Nodes per zone"),
            unhealthy: registry.family(
                names::NODE_COLLECTOR_UNHEALTHY_NODES_IN_ZONE,
                "Gauge measuring number of not Ready Nodes per zone",
            ),
            evictions: registry.family(
                names::NODE_COLLECTOR_EVICTIONS,
                "Number of Node evictions that happened since current instance of NodeController started",
            ),
            one: registry.seconds(
                names::NODE_COLLECTOR_UPDATE_NODE_HEALTH_DURATION,
                "Time to read a silent node live, or to set its conditions to Unknown",
                Histogram::new([0.001, 0.004, 0.016, 0.064, 0.256, 1.024, 4.096, 16.384]),
            ),
            all: registry.seconds(
                names::NODE_COLLECTOR_UPDATE_ALL_NODES_HEALTH_DURATION,
                "Time of one pass over all nodes",
                Histogram::new([0.01, 0.04, 0.16, 0.64, 2.56, 10.24, 40.96, 163.84]),
            ),
            silent: registry.gauge(names::SILENT_NODES, "Nodes that have not reported for longer than their \
             grace period"),
            tainted: registry.gauge(
                names::UNHEALTHY_TAINTED_NODES,
                "Nodes with a NoExecute taint for being not ready or unreachable",
            ),
            waiting: registry.gauge(names::NODES_WAITING_FOR_TAINT, "Nodes that wait for a NoExecute taint"),
            failing: registry.gauge(names::NODES_RETRYING, "Nodes whose last request failed and is retried"),
            not_understood: registry.gauge(
                names::NODES_NOT_UNDERSTOOD,
                "Nodes that are invalid or have invalid leases: their taints stay unchanged",
            ),
            everything_down: registry.gauge(
                names::EVERYTHING_DOWN,
                "1 while all zones are fully disrupted: no NoExecute taints are added, and existing ones are \
                 removed",
            ),
            in_doubt: registry.gauge(
                names::OBSERVATION_IN_DOUBT,
                "1 while the controller does not treat silent nodes as unreachable: not synced, an interrupted \
                 watch, or failing requests of this process",
            ),
            would_taint: registry.counter(
                names::WOULD_TAINT,
                "Nodes that --mode=enforce would have given a NoExecute taint; counted with --mode=observe only",
            ),
            zones: Arc::default(),
        }
    }

    /// What zones are like; one that is gone is healthy and empty (NL-29).
    pub fn zones<'a>(&self, reports: impl Iterator<Item = ZoneReport<'a>>) {
        let mut left = self.zones.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for report in reports {
            let zone = self.known(report.zone.as_str());
            left.remove(&zone);
            if zone == OTHERS {
                continue;
            }
            let label = ZoneLabel { zone };
            self.zone_health.get_or_create_owned(&label).set(report.health_percent());
            self.zone_size.get_or_create_owned(&label).set(i64::from(report.size));
            self.unhealthy.get_or_create_owned(&label).set(i64::from(report.unhealthy));
            drop(self.evictions.get_or_create(&label));
        }
        for zone in left.into_iter().filter(|zone| zone != OTHERS) {
            let label = ZoneLabel { zone };
            self.zone_health.get_or_create_owned(&label).set(100.0);
            self.zone_size.get_or_create_owned(&label).set(0);
            self.unhealthy.get_or_create_owned(&label).set(0);
        }
    }

    /// A node got a NoExecute taint (NL-22).
    pub fn evicted(&self, zone: &str) {
        self.evictions.get_or_create_owned(&ZoneLabel { zone: self.known(zone) }).inc();
    }

    /// A live read or a declaration took so long.
    pub fn checked_node(&self, took: Span) {
        self.one.observe(took.as_secs_f64());
    }

    /// Deciding took so long.
    pub fn checked_all(&self, took: Span) {
        self.all.observe(took.as_secs_f64());
    }

    /// How nodes are.
    pub fn nodes(&self, nodes: NodeGauges) {
        let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.silent.set(number(nodes.silent));
        self.tainted.set(number(nodes.tainted));
        self.waiting.set(number(nodes.waiting));
        self.failing.set(number(nodes.failing));
        self.not_understood.set(number(nodes.not_understood));
        self.everything_down.set(i64::from(nodes.everything_down));
        self.in_doubt.set(i64::from(nodes.in_doubt));
    }

    /// The zone a series is for.
    fn known(&self, zone: &str) -> String {
        let mut zones = self.zones.lock().unwrap_or_else(PoisonError::into_inner);
        let known = if zones.len() < ZONES_MAX || zones.contains(zone) { zone } else { OTHERS };
        zones.insert(known.to_owned());
        known.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BuildInfo, ControllerMetrics, Exposition};
    use super::*;
    use taintward_core::node_lifecycle::{TaintRate, ZoneKey, ZoneLabels, ZoneState};
    use taintward_core::time::{Mono, Wall};

    fn metrics() -> ControllerMetrics {
        let about = BuildInfo {
            version: "",
            mode: "",
            lease: String::new(),
            started: Wall::from_secs(0),
            host: String::new(),
        };
        ControllerMetrics::new(Arc::new(|| Mono::from_secs(0)), &about)
    }

    fn zone(name: &str) -> ZoneKey {
        ZoneKey::of(ZoneLabels { region: Some("r"), zone: Some(name), ..ZoneLabels::default() })
    }

    fn report(zone: &ZoneKey, size: u32, unhealthy: u32) -> ZoneReport<'_> {
        let (state, rate) = (ZoneState::Normal, TaintRate::from_millionths(100_000));
        ZoneReport { zone, size, unhealthy, suspects: 0, excluded: 0, state, rate, waiting: 0, evictions: 0 }
    }

    #[track_caller]
    fn shows(metrics: &ControllerMetrics, line: &str) {
        let text = metrics.render(Exposition::Prometheus);
        let name = line.split('{').next().unwrap();
        let near: Vec<&str> = text.lines().filter(|line| line.starts_with(name)).take(5).collect();
        assert!(text.lines().any(|one| one == line), "no {line:?}, but {near:#?}");
    }

    #[test]
    fn nl_29_zones_by_upstreams_names_and_labels() {
        let metrics = metrics();
        let (a, b) = (zone("a"), zone("b"));
        metrics.node_health.zones([report(&a, 4, 1), report(&b, 2, 2)].into_iter());
        metrics.node_health.evicted(b.as_str());
        shows(&metrics, "node_collector_zone_health{zone=\"r:\0:a\"} 75.0");
        shows(&metrics, "node_collector_zone_size{zone=\"r:\0:a\"} 4");
        shows(&metrics, "node_collector_unhealthy_nodes_in_zone{zone=\"r:\0:b\"} 2");
        shows(&metrics, "node_collector_evictions_total{zone=\"r:\0:b\"} 1");
        shows(&metrics, "node_collector_evictions_total{zone=\"r:\0:a\"} 0");
        metrics.node_health.zones([report(&a, 4, 0)].into_iter());
        shows(&metrics, "node_collector_zone_health{zone=\"r:\0:a\"} 100.0");
        shows(&metrics, "node_collector_zone_health{zone=\"r:\0:b\"} 100.0");
        shows(&metrics, "node_collector_zone_size{zone=\"r:\0:b\"} 0");
        shows(&metrics, "node_collector_evictions_total{zone=\"r:\0:b\"} 1");
    }

    #[test]
    fn s12_zones_beyond_all_bounds_share_a_series() {
        let metrics = metrics();
        for number in 0..10 * ZONES_MAX {
            metrics.node_health.evicted(zone(&format!("z{number:05}")).as_str());
        }
        shows(&metrics, &format!("node_collector_evictions_total{{zone=\"(others)\"}} {}", 9 * ZONES_MAX));
        let text = metrics.render(Exposition::Prometheus);
        let series = text.lines().filter(|line| line.starts_with("node_collector_evictions_total{")).count();
        assert_eq!(series, ZONES_MAX + 1);
    }
}
