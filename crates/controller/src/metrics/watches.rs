//! Shows the state of watches, and counts what could not be decoded.

use super::labels::{Phase, Resource, Restart, Unknown};
use super::names;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::taint::TaintEffect;
use taintward_core::time::Mono;
use taintward_core::toleration::TolerationOperator;
use taintward_server::metrics::{ByLabel, ClosedLabel, MetricsRegistry, TimeGauges};

/// The group.
#[derive(Clone, Debug)]
pub struct WatchMetrics {
    phase: ByLabel<(Resource, Phase), Gauge>,
    last_active: TimeGauges<Resource>,
    /// Streams that had to be taken up again, by reason.
    pub restarts: ByLabel<(Resource, Restart), Counter>,
    /// Objects that could not be decoded; the pod in question is not evicted (D11).
    pub undecodable: ByLabel<Resource, Counter>,
    /// Values this version does not know; they never evict (D11).
    pub unknown: ByLabel<Unknown, Counter>,
}

impl WatchMetrics {
    pub(super) fn new(registry: &mut MetricsRegistry<'_>) -> Self {
        let watches = Self {
            phase: registry.gauges(
                names::WATCH_PHASE,
                "1 for the phase the stream of a resource is in, 0 for the others",
            ),
            last_active: registry.moments_since(
                names::WATCH_LAST_ACTIVE_AGE,
                "Seconds since the API server last sent anything on the watch of a resource; bookmarks count",
            ),
            restarts: registry.counters(
                names::WATCH_RESTARTS,
                "Watches that were resumed, by reason; closed and relist are not failures",
            ),
            undecodable: registry.counters(
                names::UNDECODABLE_OBJECTS,
                "Objects that could not be decoded; the pods concerned are not evicted",
            ),
            unknown: registry.counters(
                names::UNKNOWN_INPUT,
                "Values this version does not know, by kind; they never evict a pod",
            ),
        };
        for resource in Resource::all() {
            watches.entered(resource, Phase::Connecting);
        }
        watches
    }

    /// A stream entered a phase.
    pub fn entered(&self, resource: Resource, phase: Phase) {
        for each in Phase::all() {
            self.phase.of((resource, each)).set(i64::from(each == phase));
        }
    }

    /// Something came in on a stream, news or not.
    pub fn active(&self, resource: Resource, at: Mono) {
        if let Some(moment) = self.last_active.of(resource) {
            moment.set(Some(at));
        }
    }

    /// Counts the effects of a node's taints that this version does not know.
    pub(crate) fn count_unknown_taints(&self, node: &NodeFact) {
        let unknown = node.taints.iter().filter(|taint| matches!(taint.effect, TaintEffect::Unknown(_)));
        self.unknown.of(Unknown::TaintEffect).inc_by(unknown.count() as u64);
    }

    /// Counts the operators and effects of a pod's tolerations that this version does not know.
    pub(crate) fn count_unknown_tolerations(&self, pod: &PodFact) {
        for toleration in &pod.tolerations {
            if matches!(toleration.operator, TolerationOperator::Unknown(_)) {
                self.unknown.of(Unknown::TolerationOperator).inc();
            }
            if matches!(toleration.effect, Some(TaintEffect::Unknown(_))) {
                self.unknown.of(Unknown::TolerationEffect).inc();
            }
        }
    }
}
