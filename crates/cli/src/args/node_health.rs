//! Defines the flags of node-lifecycle-controller: upstream's names and defaults (NL-2), and two of our own.

use super::bool_flag;
use super::run::rate;
use super::run_options::RunArgsError;
use crate::args::duration;
use clap::Args;
use std::time::Duration;
use taintward_core::node_lifecycle;

/// The ids of the flags that only node health reads.
pub(super) const NODE_HEALTH_IDS: [(&str, &str); 9] = [
    ("node_monitor_period", "--node-monitor-period"),
    ("node_monitor_grace_period", "--node-monitor-grace-period"),
    ("node_startup_grace_period", "--node-startup-grace-period"),
    ("node_eviction_rate", "--node-eviction-rate"),
    ("secondary_node_eviction_rate", "--secondary-node-eviction-rate"),
    ("unhealthy_zone_threshold", "--unhealthy-zone-threshold"),
    ("large_cluster_size_threshold", "--large-cluster-size-threshold"),
    ("hold_countdowns", "--hold-countdowns"),
    ("lift_taints_together", "--lift-taints-together"),
];

#[derive(Debug, Args)]
#[command(next_help_heading = "Node health (node-lifecycle-controller)")]
pub(super) struct NodeHealthArgs {
    /// How often all nodes are looked at, at the least; what has to happen earlier happens when its time has come
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = duration::parse)]
    #[arg(env = "TAINTWARD_NODE_MONITOR_PERIOD", hide_env = true)]
    pub(super) node_monitor_period: Duration,
    /// How long a node may be silent before it counts as unreachable
    #[arg(long, value_name = "DURATION", default_value = "50s", value_parser = duration::parse)]
    #[arg(env = "TAINTWARD_NODE_MONITOR_GRACE_PERIOD", hide_env = true)]
    pub(super) node_monitor_grace_period: Duration,
    /// The same for a node that never said whether it is ready
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration::parse)]
    #[arg(env = "TAINTWARD_NODE_STARTUP_GRACE_PERIOD", hide_env = true)]
    pub(super) node_startup_grace_period: Duration,
    /// How many nodes a second of one zone may get a NoExecute taint
    #[arg(long, value_name = "RATE", default_value = "0.1", allow_negative_numbers = true, value_parser = rate)]
    #[arg(env = "TAINTWARD_NODE_EVICTION_RATE", hide_env = true)]
    pub(super) node_eviction_rate: f64,
    /// The same while the zone is unhealthy, if it is large; a small one gets none
    #[arg(long, value_name = "RATE", default_value = "0.01", allow_negative_numbers = true, value_parser = rate)]
    #[arg(env = "TAINTWARD_SECONDARY_NODE_EVICTION_RATE", hide_env = true)]
    pub(super) secondary_node_eviction_rate: f64,
    /// The share of a zone's nodes that are not ready, three at least, from which on it is unhealthy
    #[arg(long, value_name = "SHARE", default_value = "0.55", allow_negative_numbers = true, value_parser = rate)]
    #[arg(env = "TAINTWARD_UNHEALTHY_ZONE_THRESHOLD", hide_env = true)]
    pub(super) unhealthy_zone_threshold: f64,
    /// A zone with more nodes than this is large
    #[arg(long, value_name = "COUNT", default_value = "50", allow_negative_numbers = true)]
    #[arg(env = "TAINTWARD_LARGE_CLUSTER_SIZE_THRESHOLD", hide_env = true)]
    pub(super) large_cluster_size_threshold: i64,
    /// While all zones are down, or no node at all is heard of, countdowns that not-ready and unreachable started
    /// stand still
    #[arg(long, value_name = "BOOL", default_value = "true", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(env = "TAINTWARD_HOLD_COUNTDOWNS", hide_env = true)]
    pub(super) hold_countdowns: bool,
    /// A node that is ready again loses its NoSchedule and NoExecute taints in one write; without it, in two
    #[arg(long, value_name = "BOOL", default_value = "true", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(env = "TAINTWARD_LIFT_TAINTS_TOGETHER", hide_env = true)]
    pub(super) lift_taints_together: bool,
}

impl NodeHealthArgs {
    /// By what node health goes; checked by the core.
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

#[cfg(test)]
mod tests {
    use super::super::tests::{complaint, notices, plan};
    use super::*;

    const ON: &str = "--controllers=taint-eviction-controller,node-lifecycle-controller";

    #[test]
    fn nl_2_the_defaults_are_upstreams() {
        let on = |flags: &str| plan(&format!("{ON} {flags}")).settings.controllers.node_lifecycle;
        assert_eq!(on(""), Some(node_lifecycle::NodeLifecycleConfig::default()));
        let said = "--node-monitor-period=5s --node-monitor-grace-period=50s --node-startup-grace-period=1m \
                    --node-eviction-rate=0.1 --secondary-node-eviction-rate=0.01 --unhealthy-zone-threshold=0.55 \
                    --large-cluster-size-threshold=50 --hold-countdowns --lift-taints-together";
        assert_eq!(on(said), Some(node_lifecycle::NodeLifecycleConfig::default()));
        assert_ne!(on("--node-eviction-rate=0.2"), Some(node_lifecycle::NodeLifecycleConfig::default()));
    }

    #[test]
    fn nl_2_nonsense_is_refused_with_a_way_out_whether_or_not_anybody_reads_it() {
        let rows = [
            ("--node-monitor-period=-5s", "a duration cannot be negative"),
            ("--node-monitor-period=0", "--node-monitor-period=0s"),
            ("--node-monitor-grace-period=4s", "is shorter than --node-monitor-period"),
            ("--node-startup-grace-period=0s", "--node-startup-grace-period=0s"),
            ("--node-eviction-rate=-1", "--node-eviction-rate=-1"),
            ("--node-eviction-rate=NaN", "--node-eviction-rate"),
            ("--node-eviction-rate=inf", "--node-eviction-rate"),
            ("--secondary-node-eviction-rate=0.2", "is above --node-eviction-rate"),
            ("--unhealthy-zone-threshold=0", "--unhealthy-zone-threshold=0"),
            ("--unhealthy-zone-threshold=1.01", "--unhealthy-zone-threshold=1.01"),
            ("--large-cluster-size-threshold=-1", "--large-cluster-size-threshold=-1"),
            ("--large-cluster-size-threshold=x", "invalid digit"),
            ("--hold-countdowns=perhaps", "--hold-countdowns"),
        ];
        for (flags, expected) in rows {
            for flags in [flags.to_owned(), format!("{ON} {flags}")] {
                let said = complaint(&flags);
                assert!(said.contains(expected), "{flags}: {said}");
            }
        }
    }

    #[test]
    fn flags_that_nobody_reads_are_told_of() {
        assert_eq!(notices(&format!("{ON} --node-eviction-rate=1")), []);
        assert_eq!(notices(""), []);
        let told = notices("--large-cluster-size-threshold=5 --node-eviction-rate=1");
        let [(flag, text)] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(*flag, "--node-eviction-rate");
        assert!(text.contains("name it in --controllers"), "{text}");
    }

    #[test]
    fn node_health_may_run_alone_and_the_mode_is_for_both() {
        let controllers = plan("--controllers=node-lifecycle-controller").settings.controllers;
        assert!(!controllers.taint_eviction && controllers.node_lifecycle.is_some());
        assert_eq!(plan("--controllers=*").settings.controllers.node_lifecycle, None);
    }
}
