//! Lists all alerts.

mod connection;
mod dedicated_nodes;
mod eviction_delay;
mod leadership;
mod managed_clusters;
mod node_taints;
mod webhook_answers;

use super::alert::Alert;

/// All alerts, in the order of the index.
pub(super) fn all() -> Vec<Alert> {
    let groups = [
        eviction_delay::alerts(),
        leadership::alerts(),
        node_taints::alerts(),
        connection::alerts(),
        webhook_answers::alerts(),
        managed_clusters::alerts(),
        dedicated_nodes::alerts(),
    ];
    groups.into_iter().flatten().collect()
}
