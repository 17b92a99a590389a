//! Counts pools by state, and the nodes and pods of all pools together.
//!
//! - No series has the name of a pool; a pool's own counts are in its status.

use super::labels::PoolValidityLabel;
use super::names;
use prometheus_client::metrics::gauge::Gauge;
use taintward_core::dedicated_pools::DedicatedPoolStats;
use taintward_server::metrics::{ByLabel, MetricsRegistry};

/// The group.
#[derive(Clone, Debug)]
pub struct PoolMetrics {
    pools: ByLabel<PoolValidityLabel, Gauge>,
    nodes: Gauge,
    conflicts: Gauge,
    violations: Gauge,
    unguarded: Gauge,
    waiting: Gauge,
    retrying: Gauge,
}

impl PoolMetrics {
    pub(super) fn new(registry: &mut MetricsRegistry<'_>) -> Self {
        Self {
            pools: registry.gauges(names::POOLS, "Dedicated pools, by standing"),
            nodes: registry.gauge(names::POOL_NODES, "Nodes that are dedicated to some pool"),
            conflicts: registry.gauge(
                names::POOL_CONFLICTS,
                "Nodes selected by a pool on which another writer's taint or label conflicts with the pool's",
            ),
            violations: registry
                .gauge(names::POOL_VIOLATIONS, "Pods on dedicated nodes that are not of the node's pool"),
            unguarded: registry.gauge(
                names::POOLS_UNGUARDED,
                "Dedicated pools that the PoolGuard does not contain, or whose changes do not reach it",
            ),
            waiting: registry.gauge(
                names::POOL_NODES_WAITING,
                "Nodes whose taints and labels the controller has yet to write for dedicated pools",
            ),
            retrying: registry.gauge(
                names::POOL_NODES_RETRYING,
                "Nodes whose last request for a dedicated pool failed and is retried",
            ),
        }
    }

    /// How everything is.
    pub fn set(&self, sums: DedicatedPoolStats) {
        let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        for (validity, pools) in [
            (PoolValidityLabel::Applied, sums.applied),
            (PoolValidityLabel::Frozen, sums.frozen),
            (PoolValidityLabel::Rejected, sums.rejected),
            (PoolValidityLabel::Leaving, sums.leaving),
            (PoolValidityLabel::Unreadable, sums.undecodable),
        ] {
            self.pools.of(validity).set(number(pools));
        }
        self.nodes.set(number(sums.nodes));
        self.conflicts.set(number(sums.conflicts));
        self.violations.set(number(sums.violations));
        self.unguarded.set(number(sums.unguarded));
        self.waiting.set(number(sums.waiting));
        self.retrying.set(number(sums.retrying));
    }
}
