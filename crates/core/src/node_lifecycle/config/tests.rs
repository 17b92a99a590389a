//! Tests the defaults of flags and which values are rejected (NL-2).

use crate::node_lifecycle::{NodeLifecycleConfig, NodeLifecycleFlags, TaintRate};
use crate::time::Span;
use alloc::string::ToString;

#[test]
fn nl_2_defaults_are_upstreams() {
    let config = NodeLifecycleConfig::default();
    assert_eq!(config.monitor_period, Span::from_secs(5));
    assert_eq!(config.monitor_grace, Span::from_secs(50));
    assert_eq!(config.startup_grace, Span::from_secs(60));
    assert_eq!(config.rate, TaintRate::from_millionths(100_000));
    assert_eq!(config.secondary_rate, TaintRate::from_millionths(10_000));
    assert_eq!(config.large_zone, 50);
    assert!(config.threshold.is_reached(11, 20) && !config.threshold.is_reached(54, 100));
    assert!(config.hold_countdowns && config.lift_together);
}

#[test]
fn nl_2_invalid_values_are_refused_with_a_remedy() {
    type Edit = fn(&mut NodeLifecycleFlags);
    let cases: [(&str, &str, Edit); 24] = [
        ("--node-monitor-period", "-1s", |flags| flags.monitor_period_micros = -1_000_000),
        ("--node-monitor-period", "0s", |flags| flags.monitor_period_micros = 0),
        ("--node-monitor-period", "0.000001s", |flags| flags.monitor_period_micros = 1),
        ("--node-monitor-period", "0.099999s", |flags| flags.monitor_period_micros = 99_999),
        ("--node-monitor-grace-period", "0s", |flags| flags.monitor_grace_micros = 0),
        ("--node-monitor-grace-period", "4s", |flags| flags.monitor_grace_micros = 4_000_000),
        ("--node-startup-grace-period", "-0.000001s", |flags| flags.startup_grace_micros = -1),
        ("--node-startup-grace-period", "9223372036854.775s", |flags| flags.startup_grace_micros = i64::MAX),
        ("--node-eviction-rate", "-0.1", |flags| flags.eviction_rate = -0.1),
        ("--node-eviction-rate", "NaN", |flags| flags.eviction_rate = f64::NAN),
        ("--node-eviction-rate", "inf", |flags| flags.eviction_rate = f64::INFINITY),
        ("--node-eviction-rate", "0.0000001", |flags| flags.eviction_rate = 1e-7),
        ("--secondary-node-eviction-rate", "0.2", |flags| flags.secondary_eviction_rate = 0.2),
        ("--secondary-node-eviction-rate", "inf", |flags| flags.secondary_eviction_rate = f64::INFINITY),
        ("--secondary-node-eviction-rate", "-1", |flags| flags.secondary_eviction_rate = -1.0),
        ("--secondary-node-eviction-rate", "NaN", |flags| flags.secondary_eviction_rate = f64::NAN),
        ("--node-startup-grace-period", "31622400.000001s", |flags| {
            flags.startup_grace_micros = 366 * 86_400_000_000 + 1;
        }),
        ("--unhealthy-zone-threshold", "0.0000001", |flags| flags.unhealthy_zone_threshold = 1e-7),
        ("--unhealthy-zone-threshold", "0", |flags| flags.unhealthy_zone_threshold = 0.0),
        ("--unhealthy-zone-threshold", "1.01", |flags| flags.unhealthy_zone_threshold = 1.01),
        ("--unhealthy-zone-threshold", "-0.5", |flags| flags.unhealthy_zone_threshold = -0.5),
        ("--unhealthy-zone-threshold", "NaN", |flags| flags.unhealthy_zone_threshold = f64::NAN),
        ("--large-cluster-size-threshold", "4294967296", |flags| {
            flags.large_cluster_size_threshold = 1 << 32;
        }),
        ("--large-cluster-size-threshold", "-1", |flags| flags.large_cluster_size_threshold = -1),
    ];
    for (flag, value, edit) in cases {
        let mut flags = NodeLifecycleFlags::default();
        edit(&mut flags);
        let error = NodeLifecycleConfig::new(&flags).expect_err(flag);
        assert_eq!((error.flag, error.value.as_str()), (flag, value));
        assert!(error.to_string().contains(&error.way_out) && error.way_out.starts_with("set"), "{error}");
    }
}

#[test]
fn nl_2_the_bounds_themselves_are_accepted() {
    let flags = NodeLifecycleFlags {
        eviction_rate: 0.0,
        secondary_eviction_rate: 0.0,
        unhealthy_zone_threshold: 1.0,
        large_cluster_size_threshold: 0,
        monitor_period_micros: 100_000,
        monitor_grace_micros: 100_000,
        startup_grace_micros: 366 * 86_400_000_000,
        ..NodeLifecycleFlags::default()
    };
    assert!(NodeLifecycleConfig::new(&flags).is_ok());
    let flags = NodeLifecycleFlags {
        eviction_rate: 1.0,
        secondary_eviction_rate: 1.0,
        ..NodeLifecycleFlags::default()
    };
    assert!(NodeLifecycleConfig::new(&flags).is_ok());
}

#[test]
fn a_grace_period_is_short_if_one_late_renewal_exceeds_it() {
    let is_short = |monitor_grace_micros| {
        let flags = NodeLifecycleFlags { monitor_grace_micros, ..NodeLifecycleFlags::default() };
        NodeLifecycleConfig::new(&flags).unwrap().is_grace_short()
    };
    let late = super::RENEWAL_LATE.as_micros();
    assert_eq!([late - 1, late, late + 1].map(is_short), [true, false, false]);
}
