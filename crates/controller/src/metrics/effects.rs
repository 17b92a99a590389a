//! Counts and times the requests of effects.

use super::labels::{Controller, Effect, Outcome};
use super::names;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use taintward_core::time::Span;
use taintward_server::metrics::{ByLabel, MetricsRegistry};

/// The group.
#[derive(Clone, Debug)]
pub struct EffectMetrics {
    total: ByLabel<(Effect, Outcome), Counter>,
    duration: ByLabel<Effect, Histogram>,
    inflight: Gauge,
    limit: ByLabel<Controller, Gauge>,
    conflicts: Counter,
    /// Events that were given up; evictions never wait for them.
    pub events_dropped: Counter,
}

impl EffectMetrics {
    pub(super) fn new(registry: &mut MetricsRegistry<'_>) -> Self {
        Self {
            total: registry.counters(names::EFFECTS, "Requests to the API server, by kind and outcome"),
            duration: registry.histograms(
                names::EFFECT_DURATION,
                "How long a request to the API server took until it was answered or given up",
                request_buckets,
            ),
            inflight: registry.gauge(names::INFLIGHT_EFFECTS, "Requests that are not answered yet"),
            limit: registry.gauges(
                names::CONCURRENCY_LIMIT,
                "Maximum number of requests of a controller in flight, as adapted to what the API server can \
                 serve; 0 where the controller does not run",
            ),
            conflicts: registry.counter(
                names::PRECONDITION_CONFLICT,
                "Writes refused because the object was replaced or changed after the decision",
            ),
            events_dropped: registry.counter(
                names::EVENTS_DROPPED,
                "Events that were dropped: too many waited, the replica was no longer the leader, or the process ended",
            ),
        }
    }

    /// A request is sent.
    pub fn began(&self) {
        self.inflight.inc();
    }

    /// A request ended after `took`.
    pub fn ended(&self, effect: Effect, outcome: impl Into<Outcome>, took: Span) {
        let outcome = outcome.into();
        self.inflight.dec();
        self.total.of((effect, outcome)).inc();
        self.duration.of(effect).observe(took.as_secs_f64());
        if outcome == Outcome::Conflict {
            self.conflicts.inc();
        }
    }

    /// How many requests of a controller may be in flight.
    pub fn limit(&self, controller: Controller, limit: usize) {
        self.limit.of(controller).set(i64::try_from(limit).unwrap_or(i64::MAX));
    }
}

fn request_buckets() -> Histogram {
    Histogram::new([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0])
}
