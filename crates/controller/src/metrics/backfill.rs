//! Counts pods whose default tolerations get the seconds that new pods get.

use super::names;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use taintward_core::toleration_seconds::TolerationSecondsStats;
use taintward_server::metrics::MetricsRegistry;

/// The group.
#[derive(Clone, Debug)]
pub struct BackfillMetrics {
    /// Pods that were patched.
    pub patched: Counter,
    pending: Gauge,
}

impl BackfillMetrics {
    pub(super) fn new(registry: &mut MetricsRegistry<'_>) -> Self {
        Self {
            patched: registry.counter(
                names::BACKFILL_PODS_PATCHED,
                "Running pods that got the tolerationSeconds that new pods get",
            ),
            pending: registry.gauge(
                names::BACKFILL_PODS_PENDING,
                "Running pods on healthy nodes for which the controller has yet to write the tolerationSeconds that new pods get",
            ),
        }
    }

    /// How everything is.
    pub fn set(&self, stats: TolerationSecondsStats) {
        self.pending.set(i64::try_from(stats.backfill_pending).unwrap_or(i64::MAX));
    }
}
