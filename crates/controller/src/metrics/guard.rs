//! Counts guarded pods: those that have a ceiling, and those that have yet to get one.

use super::names;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use taintward_core::toleration_seconds::TolerationSecondsStats;
use taintward_server::metrics::MetricsRegistry;

/// The group.
#[derive(Clone, Debug)]
pub struct GuardMetrics {
    /// Pods that were patched.
    pub patched: Counter,
    guarded: Gauge,
    pending: Gauge,
}

impl GuardMetrics {
    pub(super) fn new(registry: &mut MetricsRegistry<'_>) -> Self {
        Self {
            patched: registry.counter(
                names::GUARD_PODS_PATCHED,
                "Pods that got the ceiling of their namespace, or their own tolerationSeconds back",
            ),
            guarded: registry.gauge(
                names::GUARD_PODS_GUARDED,
                "Pods that have the ceiling of their namespace; Taintward evicts them after their own tolerationSeconds",
            ),
            pending: registry.gauge(
                names::GUARD_PODS_PENDING,
                "Pods on healthy nodes for which the controller has yet to write the ceiling of their namespace, or to restore their own tolerationSeconds",
            ),
        }
    }

    /// How everything is.
    pub fn set(&self, stats: TolerationSecondsStats) {
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.guarded.set(number(stats.guarded));
        self.pending.set(number(stats.guard_pending));
    }
}
