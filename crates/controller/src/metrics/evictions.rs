//! Counts evictions with upstream's metrics (TE-37, TE-38), and monitors S2, S3 and L1.

use super::labels::Sign;
use super::names;
use super::property_label::PropertyLabel;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use taintward_core::time::{Mono, Span};
use taintward_server::metrics::{ByLabel, MetricsRegistry, TimeDirection, TimeGauge};

/// Upstream's buckets (TE-38), in seconds.
const DURATION_BUCKETS: [f64; 12] = [0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 120.0, 180.0, 240.0];

/// An age up to the limit S2 sets by default (2 s), and up to its hard cap (5 s).
const AGE_BUCKETS: [f64; 9] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 3.0, 5.0];

/// One pod deleted, as its moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletionTimes {
    /// When the pod had to leave.
    pub due: Mono,
    /// When the live read that justifies the delete was answered (D5).
    pub confirmed: Mono,
    /// When the DELETE was sent.
    pub sent: Mono,
    /// When it was answered.
    pub on_response: Mono,
}

/// What the engine holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictionGauges {
    /// Pods bound to a node.
    pub pods: usize,
    /// Nodes.
    pub nodes: usize,
    /// Nodes with at least one NoExecute taint.
    pub tainted_nodes: usize,
    /// Nodes that are ready, and have the taint out-of-service.
    pub ready_out_of_service_nodes: usize,
    /// Pods whose deadline lies ahead.
    pub pending: usize,
    /// Pods that have to leave and have not.
    pub due: usize,
    /// Pods among the due whose last attempt failed.
    pub retrying: usize,
    /// Taint keys for which the brake delays evictions.
    pub braked_keys: usize,
    /// The earliest deadline among the due.
    pub oldest_due: Option<Mono>,
}

/// The group.
#[derive(Clone, Debug)]
pub struct EvictionMetrics {
    deletions: Counter,
    duration: Histogram,
    decision_age: Histogram,
    early: MaxGauge,
    /// Requests that violate a property, by the monitor.
    pub violations: ByLabel<PropertyLabel, Counter>,
    /// In observe mode: evictions that enforce mode would have begun.
    pub would_evict: Counter,
    /// Signs of another controller that evicts alongside this one (P39).
    pub other_controller: ByLabel<Sign, Counter>,
    pods: Gauge,
    nodes: Gauge,
    tainted_nodes: Gauge,
    ready_out_of_service_nodes: Gauge,
    pending: Gauge,
    due: Gauge,
    retrying: Gauge,
    braked_keys: Gauge,
    oldest_due: TimeGauge,
}

impl EvictionMetrics {
    pub(super) fn new(registry: &mut MetricsRegistry<'_>) -> Self {
        Self {
            deletions: registry.counter(
                names::TAINT_EVICTION_CONTROLLER_POD_DELETIONS,
                "Total number of Pods deleted by TaintEvictionController since its start",
            ),
            duration: registry.seconds(
                names::TAINT_EVICTION_CONTROLLER_POD_DELETION_DURATION,
                "Latency, in seconds, between the deadline of a pod and its deletion",
                Histogram::new(DURATION_BUCKETS),
            ),
            decision_age: registry.seconds(
                names::DECISION_AGE,
                "Age of the live read of the node when the API server answered the deletion; above 5, report a bug",
                Histogram::new(AGE_BUCKETS),
            ),
            early: registry.seconds(
                names::EARLY,
                "Longest time by which Taintward sent a deletion before the pod's deadline, since the start; above 0, report a bug",
                MaxGauge::default(),
            ),
            violations: registry.counters(
                names::INVARIANT_VIOLATIONS,
                "Requests that violate a property of docs/invariants.md, by property, as a check beside the engine found; above 0, report a bug",
            ),
            would_evict: registry.counter(
                names::WOULD_EVICT,
                "Evictions that --mode=enforce would have started; counted with --mode=observe only",
            ),
            other_controller: registry.counters(
                names::OTHER_CONTROLLER_SEEN,
                "Signs that another taint eviction controller is active alongside this one, by kind of sign",
            ),
            pods: registry.gauge(names::PODS, "Pods bound to a node, as observed"),
            nodes: registry.gauge(names::NODES, "Nodes, as observed"),
            tainted_nodes: registry.gauge(names::TAINTED_NODES, "Nodes with at least one NoExecute taint"),
            ready_out_of_service_nodes: registry.gauge(
                names::READY_OUT_OF_SERVICE_NODES,
                "Nodes that are Ready and still have the taint node.kubernetes.io/out-of-service",
            ),
            pending: registry.gauge(names::PENDING_PODS, "Pods with a running countdown: their toleration \
             period has not ended"),
            due: registry.gauge(names::DUE_PODS, "Pods that are due for eviction and not deleted yet"),
            retrying: registry.gauge(names::RETRYING_PODS, "Pods whose last eviction attempt failed"),
            braked_keys: registry.gauge(
                names::BRAKED_KEYS,
                "Taint keys for which --brake-limit delays evictions: pods of more nodes are due than it allows",
            ),
            oldest_due: registry.moment(
                names::OLDEST_DUE_POD,
                "How long the longest overdue pod has been due; 0 if no pod is due; the best single alert",
                TimeDirection::Since,
            ),
        }
    }

    /// A pod was deleted (TE-37, TE-38; D9: the duration is in seconds).
    pub fn deleted(&self, deletion: DeletionTimes) {
        self.deletions.inc();
        self.duration.observe(deletion.on_response.since(deletion.due).as_secs_f64());
        self.decision_age.observe(deletion.on_response.since(deletion.confirmed).as_secs_f64());
        self.early.raise(deletion.due.since(deletion.sent));
    }

    /// The engine has settled and holds this.
    pub fn census(&self, census: EvictionGauges) {
        let gauges = [
            (&self.pods, census.pods),
            (&self.nodes, census.nodes),
            (&self.tainted_nodes, census.tainted_nodes),
            (&self.ready_out_of_service_nodes, census.ready_out_of_service_nodes),
            (&self.pending, census.pending),
            (&self.due, census.due),
            (&self.retrying, census.retrying),
            (&self.braked_keys, census.braked_keys),
        ];
        for (gauge, count) in gauges {
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        self.oldest_due.set(census.oldest_due);
    }
}

/// The largest span reported so far, as a gauge in seconds.
#[derive(Clone, Debug, Default)]
struct MaxGauge(Arc<AtomicI64>);

impl MaxGauge {
    fn raise(&self, span: Span) {
        self.0.fetch_max(span.as_micros(), Ordering::Relaxed);
    }
}

impl EncodeMetric for MaxGauge {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(&Span::from_micros(self.0.load(Ordering::Relaxed)).as_secs_f64())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}
