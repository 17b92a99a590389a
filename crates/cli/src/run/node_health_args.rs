//! Defines the flags of node-lifecycle-controller: upstream's names and defaults (NL-2), and two flags of Taintward.

use super::rate;
use super::run_args_error::RunArgsError;
use crate::args::{bool_flag, duration};
use clap::Args;
use std::time::Duration;
use taintward_core::node_lifecycle;

#[derive(Debug, Args)]
#[command(next_help_heading = "Node health (node-lifecycle-controller)")]
pub(super) struct NodeHealthArgs {
    /// Maximum interval between checks of all nodes; deadlines are still handled when they are due
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration::parse)]
    node_monitor_period: Duration,
    /// How long a node may be silent before it counts as unreachable
    #[arg(long, value_name = "DURATION", default_value = "50s", value_parser = duration::parse)]
    node_monitor_grace_period: Duration,
    /// The same for a node that has never reported whether it is ready
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration::parse)]
    node_startup_grace_period: Duration,
    /// Maximum number of nodes per second and zone that get a NoExecute taint
    #[arg(long, value_name = "RATE", default_value = "0.1", allow_negative_numbers = true, value_parser = rate)]
    node_eviction_rate: f64,
    /// The same while the zone is unhealthy, if it is large; a small unhealthy zone gets no NoExecute taints
    #[arg(long, value_name = "RATE", default_value = "0.01", allow_negative_numbers = true, value_parser = rate)]
    secondary_node_eviction_rate: f64,
    /// The share of not-ready nodes from which on a zone counts as unhealthy; at least three nodes
    #[arg(long, value_name = "SHARE", default_value = "0.55", allow_negative_numbers = true, value_parser = rate)]
    unhealthy_zone_threshold: f64,
    /// A zone with more nodes than this is large
    #[arg(long, value_name = "COUNT", default_value = "50", allow_negative_numbers = true)]
    large_cluster_size_threshold: i64,
    /// Holds the countdowns of the taints not-ready and unreachable while all zones are fully disrupted, or while
    /// Taintward cannot observe any node
    #[arg(long, value_name = "BOOL", default_value = "true", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    hold_countdowns: bool,
    /// Removes the NoSchedule and NoExecute taints of a node that is ready again in one write instead of two
    #[arg(long, value_name = "BOOL", default_value = "true", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    lift_taints_together: bool,
}

impl NodeHealthArgs {
    /// The settings of node lifecycle; the core validates them.
    pub(super) fn config(&self) -> Result<node_lifecycle::NodeLifecycleConfig, RunArgsError> {
        let micros = |length: Duration| i64::try_from(length.as_micros()).unwrap_or(i64::MAX);
        let flags = node_lifecycle::NodeLifecycleFlags {
            monitor_period_micros: micros(self.node_monitor_period),
            monitor_grace_micros: micros(self.node_monitor_grace_period),
            startup_grace_micros: micros(self.node_startup_grace_period),
            eviction_rate: self.node_eviction_rate,
            secondary_eviction_rate: self.secondary_node_eviction_rate,
            unhealthy_zone_threshold: self.unhealthy_zone_threshold,
            large_cluster_size_threshold: self.large_cluster_size_threshold,
            hold_countdowns: self.hold_countdowns,
            lift_together: self.lift_taints_together,
        };
        node_lifecycle::NodeLifecycleConfig::new(&flags).map_err(RunArgsError::NodeHealth)
    }
}
