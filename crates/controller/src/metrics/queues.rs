//! Shows work queues with client-go's `workqueue_*` metrics (TE-5).

use super::labels::Queue;
use super::names;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use taintward_core::time::Span;
use taintward_server::metrics::{ByLabel, MetricsRegistry};

/// The group.
#[derive(Clone, Debug)]
pub struct QueueMetrics {
    depth: ByLabel<Queue, Gauge>,
    adds: ByLabel<Queue, Counter>,
    retries: ByLabel<Queue, Counter>,
    waited: ByLabel<Queue, Histogram>,
    worked: ByLabel<Queue, Histogram>,
}

impl QueueMetrics {
    pub(super) fn new(registry: &mut MetricsRegistry<'_>) -> Self {
        Self {
            depth: registry.gauges(names::WORKQUEUE_DEPTH, "Items that wait"),
            adds: registry.counters(names::WORKQUEUE_ADDS, "Items added to the queue"),
            retries: registry
                .counters(names::WORKQUEUE_RETRIES, "Items added again because handling them failed"),
            waited: registry.histograms(
                names::WORKQUEUE_QUEUE_DURATION,
                "How long an item waited before it was handled",
                steps,
            ),
            worked: registry.histograms(
                names::WORKQUEUE_WORK_DURATION,
                "How long handling an item took",
                steps,
            ),
        }
    }

    /// An item came in, for the first time or because handling it failed.
    pub fn added(&self, queue: Queue, again: bool) {
        self.adds.of(queue).inc();
        if again {
            self.retries.of(queue).inc();
        }
    }

    /// So many items wait.
    pub fn depth(&self, queue: Queue, items: usize) {
        self.depth.of(queue).set(i64::try_from(items).unwrap_or(i64::MAX));
    }

    /// A pod was handled: after waiting so long, it took so long. Nodes are handled as they come in.
    pub fn handled(&self, queue: Queue, waited: Span, worked: Span) {
        self.waited.of(queue).observe(waited.as_secs_f64());
        self.worked.of(queue).observe(worked.as_secs_f64());
    }
}

/// The buckets of client-go's work queues without those below a microsecond, which no measurement here resolves.
fn steps() -> Histogram {
    Histogram::new(exponential_buckets(1e-6, 10.0, 10))
}
