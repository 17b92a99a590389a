//! Tests nodes one by one: when each is declared silent, tainted and untainted.

use crate::node_lifecycle::harness::{LifecycleCommit, NodeLifecycleHarness, SECOND, What};
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::NodeName;
use taintward_core::node_lifecycle::{
    ConditionExpiry, ConditionKind, ConditionStatus, DelayReason, ManagedTaint, ManagedTaints, NodeCondition,
    NodeLifecycleFlags, NodeLifecycleInput, NodeLifecycleNotice, ObservationDoubt, PlatformLabels,
    TaintCause,
};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::testkit::{taint, taint_of};

fn at(harness: &NodeLifecycleHarness, which: impl Fn(&LifecycleCommit) -> bool) -> Option<f64> {
    harness.commits.iter().find(|commit| which(commit)).map(|commit| commit.at as f64 / SECOND as f64)
}

/// NL-46: a node dies; 50 s after its last heartbeat its conditions are Unknown, and both taints are added immediately.
#[test]
fn nl_46_the_timeline_to_the_second() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    harness.bind("web", "a1");
    harness.pass(7);
    let last = 100.0 + 1.37; // The second node's last renewal.
    harness.kill(&["a1"]);
    harness.pass_micros(((last + 50.0) * 1e6) as i64 - harness.now);
    assert_eq!(harness.commits, [], "not before the grace period is over");
    harness.pass(1);
    let declared = at(&harness, |commit| matches!(commit.what, What::Declare(_))).expect("declared");
    assert!((declared - last - 50.0).abs() < 0.001, "{declared}");
    let both = ManagedTaints::NONE.with(ManagedTaint::Unreachable).with(ManagedTaint::UnreachableNoExecute);
    assert_eq!(harness.own("a1"), both);
    let tainted = harness.when("a1", ManagedTaint::UnreachableNoExecute).expect("tainted");
    assert!((tainted - last - 50.0).abs() < 0.001, "{tainted}");
    assert_eq!(
        harness.commits.len(),
        3,
        "conditions, both taints in one write, the pod: {:?}",
        harness.commits
    );
    assert_eq!(harness.commits[2].what, What::Mark("web".into()));
    // NL-49, L7: it recovers, and both are removed immediately, in one write.
    harness.pass(100);
    assert_eq!(harness.commits.len(), 3, "nothing is written while nothing changes");
    let back = harness.now;
    harness.revive(&["a1"]);
    harness.pass(1);
    assert_eq!(harness.own("a1"), ManagedTaints::NONE);
    let lifted = harness.commits.last().expect("lifted");
    assert_eq!((lifted.at, &lifted.what), (back, &What::Taint { add: ManagedTaints::NONE, remove: both }));
}

/// NL-23: the first immediately, then one every ten seconds.
#[test]
fn nl_23_one_node_in_ten_seconds() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 12)]);
    harness.kill(&["a1", "a2", "a3", "a4"]);
    harness.pass(120);
    let taint = ManagedTaint::UnreachableNoExecute;
    let mut times: Vec<f64> =
        ["a1", "a2", "a3", "a4"].iter().map(|name| harness.when(name, taint).expect("tainted")).collect();
    times.sort_by(f64::total_cmp);
    for pair in times.windows(2) {
        assert!((pair[1] - pair[0] - 10.0).abs() < 0.1, "{times:?}");
    }
    // The NoSchedule taint does not wait (NL-5).
    for name in ["a1", "a2", "a3", "a4"] {
        assert!(harness.when(name, ManagedTaint::Unreachable).expect("tainted") <= 160.0);
    }
}

/// NL-16: between False and Unknown one taint replaces the other, in one write and without waiting (NL-45).
#[test]
fn nl_16_nl_45_a_swap_is_one_write_and_is_not_limited() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    harness.set_ready("a1", false);
    harness.pass(1);
    assert_eq!(
        harness.own("a1"),
        ManagedTaints::NONE.with(ManagedTaint::NotReady).with(ManagedTaint::NotReadyNoExecute)
    );
    harness.kill(&["a1"]);
    harness.set_ready("a2", false);
    harness.pass(53);
    harness.commits.clear();
    harness.pass(8);
    let unreachable =
        ManagedTaints::NONE.with(ManagedTaint::Unreachable).with(ManagedTaint::UnreachableNoExecute);
    let not_ready = ManagedTaints::NONE.with(ManagedTaint::NotReady).with(ManagedTaint::NotReadyNoExecute);
    assert_eq!(harness.own("a1"), unreachable);
    let swap = harness.notices.iter().rev().find_map(|(_, notice)| match notice {
        NodeLifecycleNotice::Tainted { add, remove, why, .. } => Some((*add, *remove, *why)),
        _ => None,
    });
    assert_eq!(swap, Some((unreachable, not_ready, TaintCause::Swap)));
    harness.revive(&["a1"]);
    harness.pass(1);
    assert_eq!(harness.own("a1"), not_ready, "and back");
}

/// NL-7: a write that fails is retried until it succeeds.
#[test]
fn nl_7_failed_condition_taints_are_retried() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 3)]);
    harness.faults = (0..12)
        .map(|at| Some(if at % 2 == 0 { ApiFailure::Rejected } else { ApiFailure::Unavailable }))
        .collect();
    let pressed =
        NodeCondition { kind: ConditionKind::MemoryPressure, status: ConditionStatus::True, heartbeat: None };
    harness.edit("a0", |node| node.conditions.push(pressed));
    harness.pass(1);
    assert_eq!(harness.own("a0"), ManagedTaints::NONE);
    harness.pass(300);
    assert_eq!(harness.own("a0"), ManagedTaints::NONE.with(ManagedTaint::MemoryPressure));
}

/// NL-9, NL-6: cordoned and uncordoned; a managed taint that another client added without a reason is removed, others
/// stay.
#[test]
fn nl_9_cordon_and_nl_6_taints_of_other_clients() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 3)]);
    let foreign = taint("example.com/gpu=x:NoExecute");
    harness.edit("a0", |node| {
        node.unschedulable = true;
        node.taints.push(foreign.clone());
        let own = ManagedTaint::NetworkUnavailable;
        node.taints.push(taint_of(own.key(), "x", own.effect().as_str()));
    });
    harness.pass(1);
    assert_eq!(harness.own("a0"), ManagedTaints::NONE.with(ManagedTaint::Unschedulable));
    harness.edit("a0", |node| node.unschedulable = false);
    harness.pass(1);
    assert_eq!(harness.stored["a0"].node.taints, [foreign]);
}

/// NL-8: the deprecated labels follow the current ones.
#[test]
fn nl_8_labels_follow() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 2)]);
    harness.edit("a0", |node| {
        node.platform = PlatformLabels {
            os: Some("linux".into()),
            beta_arch: Some("arm64".into()),
            ..PlatformLabels::default()
        };
    });
    harness.pass(1);
    let platform = &harness.stored["a0"].node.platform;
    assert_eq!((platform.beta_os.as_deref(), platform.beta_arch.as_deref()), (Some("linux"), Some("arm64")));
    assert_eq!(harness.commits.len(), 1);
}

/// NL-11, NL-12: a node that never posted a status has the startup grace period from its creation; one that renews its
/// lease is healthy (NL-10).
#[test]
fn nl_11_a_node_that_never_posted() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 3)]);
    harness.add_node("a8", "a");
    harness.edit("a8", |node| node.conditions.clear());
    harness.stored.get_mut("a8").expect("it exists").lease = None;
    harness.kill(&["a8"]);
    harness.submit(NodeLifecycleInput::Leases(ObjectEvent::Deleted(ObjectRef::node(
        &NodeName::new("a8"),
        None,
    ))));
    harness.pass(59);
    assert!(!harness.commits.iter().any(|commit| commit.node == "a8"));
    harness.pass(2);
    let what = &harness.commits.iter().find(|commit| commit.node == "a8").expect("declared").what;
    let What::Declare(conditions) = what else { panic!("{what:?}") };
    assert_eq!(conditions.len(), 4);
    assert!(conditions.iter().all(|(_, expiry)| *expiry == ConditionExpiry::NeverPosted));
    assert_eq!(harness.tainted(), ["a8"]);
    // The heartbeat time that the declaration invents is the node's creation, and not a heartbeat.
    harness.pass(10);
    let engine = harness.engine.as_ref().expect("it runs");
    let received =
        engine.explain(&NodeName::new("a8"), harness.clock().mono).expect("the node is known").last_renewal;
    assert_eq!(received.as_micros() / SECOND, 100);
    let declarations =
        harness.commits.iter().filter(|commit| matches!(commit.what, What::Declare(_))).count();
    harness.pass(300);
    assert_eq!(
        declarations,
        harness.commits.iter().filter(|commit| matches!(commit.what, What::Declare(_))).count()
    );
}

/// NL-17, NL-18: pods of a node that went down are marked, also later ones; once each.
#[test]
fn nl_17_nl_18_pods_are_marked_once() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 3)]);
    harness.bind("old", "a1");
    harness.bind("elsewhere", "a2");
    harness.pass(1);
    harness.set_ready("a1", false);
    harness.pass(1);
    harness.bind("new", "a1");
    harness.pass(1);
    let marks = |harness: &NodeLifecycleHarness| -> Vec<String> {
        let mark = |commit: &LifecycleCommit| {
            if let What::Mark(pod) = &commit.what { Some(pod.clone()) } else { None }
        };
        harness.commits.iter().filter_map(mark).collect()
    };
    assert_eq!(marks(&harness), ["old", "new"]);
    // The kubelet disagrees, and takes precedence.
    let mut fact = harness.pods["old"].1.clone();
    fact.ready = Some(ConditionStatus::True);
    harness.submit(NodeLifecycleInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    harness.pass(60);
    assert_eq!(marks(&harness).len(), 2);
    let reported = harness
        .notices
        .iter()
        .filter(|(_, notice)| matches!(notice, NodeLifecycleNotice::BecameNotReady(_)))
        .count();
    assert_eq!(reported, 1, "NL-17: one event for the node");
}

/// Flapping: heartbeats always arrive just in time; the node is never tainted, and nothing is written.
#[test]
fn a_flapping_node_with_heartbeats_in_time_is_not_changed() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    for _ in 0..30 {
        harness.kill(&["a1"]);
        harness.pass(39);
        harness.revive(&["a1"]);
        harness.pass(1);
    }
    assert_eq!(harness.commits, []);
}

/// NL-48, NL-49: the flags.
#[test]
fn nl_49_taints_are_removed_separately_if_configured() {
    let flags = NodeLifecycleFlags { lift_together: false, ..NodeLifecycleFlags::default() };
    let mut harness = NodeLifecycleHarness::unsettled(&[("a", 4)], flags);
    harness.pass(100);
    harness.kill(&["a1"]);
    harness.pass(70);
    assert_eq!(harness.tainted(), ["a1"]);
    harness.commits.clear();
    harness.revive(&["a1"]);
    harness.pass(1);
    assert_eq!(harness.own("a1"), ManagedTaints::NONE);
    assert_eq!(harness.commits.len(), 2);
}

/// An observer reports what it would do, and why it does not do it yet.
#[test]
fn observing_explains() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    harness.leading = false;
    harness.kill(&["a1"]);
    harness.pass(70);
    let now = harness.clock().mono;
    let engine = harness.engine.as_ref().expect("it runs");
    let name = NodeName::new("a1");
    let explanation = engine.explain(&name, now).expect("the node is known");
    assert_eq!(explanation.wanted, Some(ManagedTaint::UnreachableNoExecute));
    assert_eq!(explanation.delayed_by, Some(DelayReason::ConditionsFirst));
    assert_eq!(engine.doubt(now), None);
    harness.kill(&["a0", "a2", "a3"]);
    harness.pass(30);
    let now = harness.clock().mono;
    let engine = harness.engine.as_ref().expect("it runs");
    let held = engine.explain(&name, now).expect("the node is known").delayed_by;
    assert_eq!(held, Some(DelayReason::Doubt(ObservationDoubt::NoNodeRenewed)));
    assert!(engine.holds_countdowns(), "NL-48");
    assert_eq!(harness.commits, []);
}
