//! Counts held pods, and those that have seconds again.

use super::names;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use taintward_core::toleration_seconds::TolerationSecondsStats;
use taintward_server::metrics::MetricsRegistry;

/// The group.
#[derive(Clone, Debug)]
pub struct HoldMetrics {
    /// Pods whose seconds were cleared.
    pub cleared: Counter,
    /// Pods that got seconds again.
    pub given_back: Counter,
    held: Gauge,
    released: Gauge,
    undecodable: Gauge,
    unrecorded: Gauge,
    waiting: Gauge,
    limits_exceeded: Gauge,
}

impl HoldMetrics {
    pub(super) fn new(registry: &mut MetricsRegistry<'_>) -> Self {
        Self {
            cleared: registry.counter(
                names::HOLD_PODS_CLEARED,
                "Pods whose tolerationSeconds were cleared, so that their countdown is on hold",
            ),
            given_back: registry
                .counter(names::HOLD_PODS_GIVEN_BACK, "Held pods that got tolerationSeconds again"),
            held: registry.gauge(names::HOLD_PODS, "Pods that are held now"),
            released: registry.gauge(
                names::HOLD_PODS_RELEASED,
                "Pods that were held and count down again, with their own seconds or with the rest of them",
            ),
            undecodable: registry.gauge(
                names::HOLD_PODS_UNDECODABLE,
                "Pods whose annotation taintward.io/held cannot be decoded: they are left unchanged",
            ),
            unrecorded: registry.gauge(
                names::HOLD_PODS_UNRECORDED,
                "Pods whose annotation was removed while no controller ran: they keep no tolerationSeconds, or the ceiling",
            ),
            waiting: registry
                .gauge(names::HOLD_PODS_WAITING, "Pods that the controller has yet to hold or release"),
            limits_exceeded: registry.gauge(
                names::HOLD_LIMITS_EXCEEDED,
                "Scopes (each zone, and the cluster) in which more nodes are silent than --hold-limit allows",
            ),
        }
    }

    /// How everything is.
    pub fn set(&self, stats: TolerationSecondsStats, limits_exceeded: usize) {
        let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        self.held.set(number(stats.held));
        self.released.set(number(stats.released));
        self.undecodable.set(number(stats.undecodable));
        self.unrecorded.set(number(stats.unrecorded));
        self.waiting.set(number(stats.waiting));
        self.limits_exceeded.set(number(limits_exceeded));
    }
}
