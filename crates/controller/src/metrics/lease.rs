//! Shows leadership as client-go does, and the margin until it expires (S5).

use super::names;
use prometheus_client::metrics::gauge::Gauge;
use taintward_core::time::Mono;
use taintward_server::metrics::{MetricsRegistry, TimeDirection, TimeGauge};

/// The group.
#[derive(Clone, Debug)]
pub struct LeaseMetrics {
    leading: Gauge,
    margin: TimeGauge,
}

impl LeaseMetrics {
    pub(super) fn new(registry: &mut MetricsRegistry<'_>, name: &str) -> Self {
        Self {
            leading: registry.labelled_gauge(
                names::LEADER_ELECTION_MASTER_STATUS,
                "1 while this process leads, 0 while it follows; `name` is the lease",
                vec![("name", name.into())],
            ),
            margin: registry.moment(
                names::LEASE_MARGIN,
                "How long this process may still act without renewing the lease; 0 while it follows; below 0 is a fault",
                TimeDirection::Until,
            ),
        }
    }

    /// This process leads until the given moment, unless it renews.
    pub fn leads_until(&self, until: Mono) {
        self.leading.set(1);
        self.margin.set(Some(until));
    }

    /// This process leads without a lease (`--leader-elect=false`).
    pub fn leads_alone(&self) {
        self.leading.set(1);
        self.margin.set(None);
    }

    /// This process follows.
    pub fn follows(&self) {
        self.leading.set(0);
        self.margin.set(None);
    }
}
