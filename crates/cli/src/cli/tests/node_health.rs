//! Tests the flags of node-lifecycle-controller through the parser of the program.

use super::{complaint, notices, plan};
use taintward_core::node_lifecycle;

const ON: &str = "--controllers=taint-eviction-controller,node-lifecycle-controller";

#[test]
fn nl_2_the_defaults_are_upstreams() {
    let on = |flags: &str| plan(&format!("{ON} {flags}")).settings.controllers.node_lifecycle;
    assert_eq!(on(""), Some(node_lifecycle::NodeLifecycleConfig::default()));
    let written = "--node-monitor-period=5s --node-monitor-grace-period=50s --node-startup-grace-period=1m \
                --node-eviction-rate=0.1 --secondary-node-eviction-rate=0.01 --unhealthy-zone-threshold=0.55 \
                --large-cluster-size-threshold=50 --hold-countdowns --lift-taints-together";
    assert_eq!(on(written), Some(node_lifecycle::NodeLifecycleConfig::default()));
    assert_ne!(on("--node-eviction-rate=0.2"), Some(node_lifecycle::NodeLifecycleConfig::default()));
}

#[test]
fn nl_2_invalid_values_are_rejected_even_if_the_controller_is_off() {
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
            let message = complaint(&flags);
            assert!(message.contains(expected), "{flags}: {message}");
        }
    }
}

#[test]
fn unused_flags_are_reported() {
    assert_eq!(notices(&format!("{ON} --node-eviction-rate=1")), []);
    assert_eq!(notices(""), []);
    let notices = notices("--large-cluster-size-threshold=5 --node-eviction-rate=1");
    let [(flag, text)] = notices.as_slice() else { panic!("{notices:?}") };
    assert_eq!(flag, "--node-eviction-rate");
    assert!(text.contains("name it in --controllers"), "{text}");
}

#[test]
fn node_health_may_run_alone_and_the_mode_is_for_both() {
    let controllers = plan("--controllers=node-lifecycle-controller").settings.controllers;
    assert!(!controllers.taint_eviction && controllers.node_lifecycle.is_some());
    assert_eq!(plan("--controllers=*").settings.controllers.node_lifecycle, None);
}
