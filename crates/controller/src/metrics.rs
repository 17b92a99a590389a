//! Registers all metrics of the controllers.
//!
//! - Invariant: labels have closed lists of values, except for a bounded number of zones, so that the number of series
//!   does not depend on the cluster (S12).

mod backfill;
mod effects;
mod eviction_policies;
mod evictions;
mod guard;
mod holds;
mod labels;
mod lease;
pub mod names;
mod node_health;
mod pools;
mod property_label;
mod queues;
mod requests;
mod server_time;
mod watches;

pub use backfill::BackfillMetrics;
pub use effects::EffectMetrics;
pub use eviction_policies::{DelayReason, EvictionPolicyMetrics};
pub use evictions::{DeletionTimes, EvictionGauges, EvictionMetrics};
pub use guard::GuardMetrics;
pub use holds::HoldMetrics;
pub use labels::{
    Code, Controller, DateIgnored, Effect, LogLevel, Method, Outcome, Phase, PoolValidityLabel, Queue,
    Resource, Restart, Sign, Unknown, Verb,
};
pub use lease::LeaseMetrics;
pub use node_health::{NodeGauges, NodeLifecycleMetrics};
pub use pools::PoolMetrics;
pub use property_label::PropertyLabel;
pub use queues::QueueMetrics;
pub use requests::RequestMetrics;
pub use server_time::ServerTimeMetrics;
pub use taintward_server::metrics::{
    ByLabel, ClosedLabel, Exposition, MetricDescription, MonoClock, Registry, TimeDirection, TimeGauge,
    describe,
};
pub use watches::WatchMetrics;

use prometheus_client::metrics::counter::Counter;
use std::sync::{Arc, LazyLock};
use taintward_core::time::Wall;
use taintward_server::metrics::{MetricsRegistry, ProcessCollector, Render};

/// Log records shown so far, by level: one log for the whole process.
pub(crate) static LOG_MESSAGES: LazyLock<ByLabel<LogLevel, Counter>> = LazyLock::new(ByLabel::counters);

/// Registers the metrics of every process that is a client of an API server at `host`: its requests, and the records of its
/// log.
pub fn register_client(registry: &mut Registry, clock: &MonoClock, host: &str) -> RequestMetrics {
    MetricsRegistry::new(registry, Arc::clone(clock)).shared(
        names::LOG_MESSAGES,
        "Records shown in the log, by level; failures without a metric of their own show here",
        &LOG_MESSAGES,
    );
    let of_host = registry.sub_registry_with_label(("host".into(), host.to_owned().into()));
    RequestMetrics::new(&mut MetricsRegistry::new(of_host, Arc::clone(clock)))
}

/// What a process is, for the labels that never change.
#[derive(Clone, Debug)]
pub struct BuildInfo {
    /// The version of the program.
    pub version: &'static str,
    /// `enforce` or `observe`.
    pub mode: &'static str,
    /// The name of the lease, as `leader_election_master_status` shows it.
    pub lease: String,
    /// When the process started.
    pub started: Wall,
    /// The API server's host and port, as client-go's metrics show it.
    pub host: String,
}

/// All metrics. Handles inside are shared: a clone of a group reports to the same series.
#[derive(Debug)]
pub struct ControllerMetrics {
    /// Pods: due, counting down, deleted (TE-37, TE-38, S2, S3, L1).
    pub evictions: EvictionMetrics,
    /// Eviction policies.
    pub eviction_policies: EvictionPolicyMetrics,
    /// Requests that write or confirm, and their outcome.
    pub effects: EffectMetrics,
    /// All requests.
    pub requests: RequestMetrics,
    /// The offset of this machine's clock from the server's.
    pub server_time: ServerTimeMetrics,
    /// Zones and nodes (NL-29).
    pub node_health: NodeLifecycleMetrics,
    /// Dedicated pools.
    pub pools: PoolMetrics,
    /// Holds.
    pub holds: HoldMetrics,
    /// Backfill.
    pub backfill: BackfillMetrics,
    /// The guard.
    pub guard: GuardMetrics,
    /// The streams of facts.
    pub watches: WatchMetrics,
    /// Leadership.
    pub lease: LeaseMetrics,
    /// Work that waits, under upstream's queue names (TE-5).
    pub queues: QueueMetrics,
    registry: Registry,
}

impl ControllerMetrics {
    /// All series, at zero.
    pub fn new(clock: MonoClock, about: &BuildInfo) -> Self {
        let mut registry = Registry::default();
        let requests = register_client(&mut registry, &clock, &about.host);
        let mut metrics = MetricsRegistry::new(&mut registry, clock);
        let evictions = EvictionMetrics::new(&mut metrics);
        let eviction_policies = EvictionPolicyMetrics::new(&mut metrics);
        let effects = EffectMetrics::new(&mut metrics);
        let node_health = NodeLifecycleMetrics::new(&mut metrics);
        let pools = PoolMetrics::new(&mut metrics);
        let holds = HoldMetrics::new(&mut metrics);
        let backfill = BackfillMetrics::new(&mut metrics);
        let guard = GuardMetrics::new(&mut metrics);
        let watches = WatchMetrics::new(&mut metrics);
        let lease = LeaseMetrics::new(&mut metrics, &about.lease);
        let server_time = ServerTimeMetrics::new(&mut metrics);
        let queues = QueueMetrics::new(&mut metrics);
        metrics.constant(
            names::BUILD_INFO,
            "Always 1; the labels say which version runs in which mode",
            vec![("version", about.version.into()), ("mode", about.mode.into())],
        );
        registry.register_collector(Box::new(ProcessCollector { started: about.started }));
        Self {
            evictions,
            eviction_policies,
            effects,
            requests,
            server_time,
            node_health,
            pools,
            holds,
            backfill,
            guard,
            watches,
            lease,
            queues,
            registry,
        }
    }

    /// The text of `/metrics`.
    pub fn render(&self, exposition: Exposition) -> String {
        exposition.render(&self.registry)
    }
}

impl Render for ControllerMetrics {
    fn render(&self, exposition: Exposition) -> String {
        Self::render(self, exposition)
    }
}

#[cfg(test)]
mod tests;
