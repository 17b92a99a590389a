//! Tests many silent nodes at the same time: part of a zone, a zone, all nodes; and their return.

use crate::node_lifecycle::harness::{LifecycleCommit, NodeLifecycleHarness, SECOND, What};
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::NodeName;
use taintward_core::node_lifecycle::{
    DelayReason, ManagedTaint, ManagedTaints, NodeLifecycleFlags, NodeLifecycleInput, NodeLifecycleNotice,
    TaintRate, WatchedKind, ZoneState,
};
use taintward_core::object_event::ObjectEvent;

fn names(zone: &str, numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|at| format!("{zone}{at}")).collect()
}

fn kill(harness: &mut NodeLifecycleHarness, names: &[String]) {
    harness.kill(&names.iter().map(String::as_str).collect::<Vec<_>>());
}

fn revive(harness: &mut NodeLifecycleHarness, names: &[String]) {
    harness.revive(&names.iter().map(String::as_str).collect::<Vec<_>>());
}

fn zones(harness: &NodeLifecycleHarness) -> Vec<(String, u32, u32, ZoneState, TaintRate)> {
    let engine = harness.engine.as_ref().expect("it runs");
    engine.zones().map(|it| (it.zone.to_string(), it.size, it.unhealthy, it.state, it.rate)).collect()
}

const FULL: TaintRate = TaintRate::from_millionths(100_000);
const SECONDARY: TaintRate = TaintRate::from_millionths(10_000);

/// NL-25, NL-26: most of a small zone is down: none of its nodes is tainted any more; the other zone continues.
#[test]
fn most_of_a_small_zone_stops_its_tainting() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 10), ("b", 10)]);
    kill(&mut harness, &names("a", 0..6));
    harness.kill(&["b0"]);
    harness.pass(300);
    assert_eq!(zones(&harness)[0], ("a".into(), 10, 6, ZoneState::PartialDisruption, TaintRate::ZERO));
    assert_eq!(zones(&harness)[1], ("b".into(), 10, 1, ZoneState::Normal, FULL));
    // Those that became silent before it was the sixth's turn had their turn at the ordinary rate.
    let of_a = harness.tainted().iter().filter(|name| name.starts_with('a')).count();
    assert!(of_a <= 2, "{:?}", harness.tainted());
    assert!(harness.tainted().contains(&"b0"));
    let engine = harness.engine.as_ref().expect("it runs");
    let held: Vec<_> = names("a", 0..6)
        .iter()
        .filter_map(|name| engine.explain(&NodeName::new(name), harness.clock().mono)?.delayed_by)
        .collect();
    assert!(held.len() >= 4 && held.iter().all(|held| *held == DelayReason::ZoneStopped), "{held:?}");
    // NL-5 does not wait for any of this.
    assert!(names("a", 0..6).iter().all(|name| harness.own(name).has(ManagedTaint::Unreachable)));
    revive(&mut harness, &names("a", 0..6));
    harness.pass(5);
    assert_eq!(harness.tainted(), ["b0"]);
}

/// NL-26, NL-47: three of five become silent in the same instant, as far as can be observed: their last heartbeats were
/// milliseconds apart, or as far apart as lease renewals. No node is tainted, not even the first.
#[test]
fn most_of_a_small_zone_in_the_same_instant() {
    for (apart, down) in [(0, 3), (4_000, 3), (1_000_000, 3), (4_900_000, 3), (4_000, 2)] {
        let mut harness = NodeLifecycleHarness::new(&[("a", 5), ("b", 3)]);
        for name in names("a", 0..3) {
            harness.pass_micros(apart);
            harness.revive(&[&name]);
        }
        kill(&mut harness, &names("a", 0..down));
        harness.pass(49 - 2 * apart / SECOND);
        assert_eq!(harness.commits, [], "{apart} {down}");
        harness.pass(200);
        let tainted = if down == 2 { names("a", 0..2) } else { Vec::new() };
        assert_eq!(harness.tainted(), tainted, "{apart} {down}");
        assert!(names("a", 0..down).iter().all(|name| harness.own(name).has(ManagedTaint::Unreachable)));
        let first = harness
            .when("a0", ManagedTaint::UnreachableNoExecute)
            .zip(harness.when("a0", ManagedTaint::Unreachable));
        assert!(
            first.is_none_or(|(away, off)| away == off),
            "a node that is not delayed does not wait: {first:?}"
        );
    }
}

/// NL-47: three of five are overdue, and one of them sends a heartbeat just in time: the others are tainted to the
/// second.
#[test]
fn an_overdue_node_that_sends_a_heartbeat_delays_no_other() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 5), ("b", 3)]);
    harness.revive(&["a0", "a1", "a2"]);
    let from = harness.now / SECOND;
    harness.kill(&["a0", "a1", "a2"]);
    harness.pass(45);
    assert_eq!(zones(&harness)[0], ("a".into(), 5, 0, ZoneState::PartialDisruption, TaintRate::ZERO));
    harness.revive(&["a2"]);
    harness.pass_micros(1);
    assert_eq!(zones(&harness)[0], ("a".into(), 5, 0, ZoneState::Normal, FULL));
    harness.pass(30);
    let away =
        ["a0", "a1"].map(|name| harness.when(name, ManagedTaint::UnreachableNoExecute).map(f64::floor));
    assert_eq!(away, [Some((from + 50) as f64), Some((from + 60) as f64)]);
    assert_eq!(harness.tainted(), ["a0", "a1"]);
}

/// NL-26: half of a large zone: at the secondary rate.
#[test]
fn most_of_a_large_zone_slows_its_tainting() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 60)]);
    kill(&mut harness, &names("a", 0..40));
    harness.pass(75);
    assert_eq!(zones(&harness)[0], ("a".into(), 60, 40, ZoneState::PartialDisruption, SECONDARY));
    let before = harness.tainted().len();
    harness.pass(1_000);
    let gained = harness.tainted().len() - before;
    assert!((9..=11).contains(&gained), "{gained} in 1,000 s");
}

/// NL-26: a zone that is fully disrupted keeps the ordinary rate while another one is healthy.
#[test]
fn a_whole_zone_is_tainted_at_the_ordinary_rate() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 5), ("b", 5)]);
    kill(&mut harness, &names("a", 0..5));
    harness.pass(120);
    assert_eq!(zones(&harness)[0], ("a".into(), 5, 5, ZoneState::FullDisruption, FULL));
    assert_eq!(harness.tainted(), names("a", 0..5));
    assert_eq!(harness.invariants.evictions.len(), 1);
}

/// NL-26, NL-47: most of a small zone is down, and the rest is suspected. That zone does not yet count as fully
/// disrupted: none of its nodes is tainted before the last one is declared silent, too.
#[test]
fn suspicion_does_not_restart_a_stopped_zone() {
    let flags = NodeLifecycleFlags { eviction_rate: 1.0, ..NodeLifecycleFlags::default() };
    let mut harness = NodeLifecycleHarness::unsettled(&[("a", 4), ("b", 2)], flags);
    harness.pass(100);
    kill(&mut harness, &names("a", 0..3));
    harness.pass(70);
    assert_eq!(zones(&harness)[0], ("a".into(), 4, 3, ZoneState::PartialDisruption, TaintRate::ZERO));
    let before = harness.tainted().len();
    assert!(before < 3, "the third makes the zone stop");
    harness.kill(&["a3"]);
    harness.commits.clear();
    // The live read of it fails, and is retried.
    harness.faults = vec![Some(ApiFailure::Unavailable)].into();
    harness.pass(70);
    let is_declared = |it: &LifecycleCommit| it.node == "a3" && matches!(it.what, What::Declare(_));
    let is_taint =
        |it: &LifecycleCommit| matches!(&it.what, What::Taint { add, .. } if !add.no_execute().is_empty());
    let declared = harness.commits.iter().position(is_declared).expect("it is declared silent");
    let tainted = harness.commits.iter().position(is_taint).expect("the zone continues");
    assert!(harness.faults.is_empty() && declared < tainted, "{:?}", harness.commits);
    let all = TaintRate::from_millionths(1_000_000);
    assert_eq!(zones(&harness)[0], ("a".into(), 4, 4, ZoneState::FullDisruption, all));
    assert_eq!(harness.tainted(), names("a", 0..4));
}

/// NL-27, NL-47, NL-48: all nodes are down: none is tainted, not even the first; existing taints are removed. When some
/// nodes return, the rest has a whole grace period, and is tainted then.
#[test]
fn all_nodes_down_and_back() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4), ("b", 4)]);
    harness.kill(&["a0"]);
    harness.pass(100);
    assert_eq!(harness.tainted(), ["a0"]);
    let before = harness.invariants.evictions.clone();
    kill(&mut harness, &names("a", 1..4));
    kill(&mut harness, &names("b", 0..4));
    harness.pass(30);
    assert!(
        harness.engine.as_ref().expect("it runs").holds_countdowns(),
        "on hold before any node is declared silent"
    );
    harness.pass(600);
    assert_eq!(harness.tainted(), Vec::<&str>::new(), "NL-27");
    assert_eq!(harness.invariants.evictions, before, "NL-47: no new one");
    assert!(harness.engine.as_ref().expect("it runs").is_everything_down());
    assert!(harness.own("b3").has(ManagedTaint::Unreachable), "NL-5 stands");
    let back = harness.now;
    revive(&mut harness, &names("b", 0..4));
    harness.pass(49);
    assert_eq!(harness.tainted(), Vec::<&str>::new(), "a whole grace period for the rest");
    harness.pass(45);
    assert_eq!(harness.tainted(), names("a", 0..4));
    assert!(
        harness.invariants.evictions.values().flatten().filter(|at| **at > back + 50 * SECOND).count() == 4
    );
    let reported: Vec<bool> = harness
        .notices
        .iter()
        .filter_map(|(_, it)| match it {
            NodeLifecycleNotice::EverythingDown(down) => Some(*down),
            _ => None,
        })
        .collect();
    assert_eq!(reported, [true, false]);
}

/// NL-47: no node is left that is known to be healthy, though that is not written yet, and cannot be: a node that
/// reports itself as not ready is not tainted either.
#[test]
fn the_worst_possible_state_delays_taints() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 2)]);
    harness.leading = false;
    harness.kill(&["a1"]);
    harness.pass(65);
    let since = harness.clock().mono;
    harness.submit(NodeLifecycleInput::StreamLost { stream: WatchedKind::Leases, since });
    harness.leading = true;
    harness.set_ready("a0", false);
    harness.pass(30);
    assert!(harness.own("a0").has(ManagedTaint::NotReady), "NL-5 does not wait");
    assert_eq!(harness.tainted(), Vec::<&str>::new());
    let engine = harness.engine.as_ref().expect("it runs");
    assert!(!engine.is_everything_down(), "according to conditions");
    let held =
        engine.explain(&NodeName::new("a0"), harness.clock().mono).expect("the node is known").delayed_by;
    assert_eq!(held, Some(DelayReason::EverythingDown));
}

/// NL-27: all nodes report themselves as not ready: no new taint is added, the old ones are removed.
#[test]
fn all_nodes_not_ready() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 3)]);
    harness.set_ready("a0", false);
    harness.pass(30);
    assert_eq!(harness.tainted(), ["a0"]);
    harness.set_ready("a1", false);
    harness.set_ready("a2", false);
    harness.pass(100);
    assert_eq!(harness.tainted(), Vec::<&str>::new());
    harness.set_ready("a2", true);
    harness.pass(30);
    assert_eq!(harness.tainted(), ["a0", "a1"]);
}

/// NL-28: a single node that is down means that all nodes are down.
#[test]
fn a_single_node_is_never_tainted() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 1)]);
    harness.kill(&["a0"]);
    harness.pass(1_000);
    assert_eq!(harness.tainted(), Vec::<&str>::new());
    assert_eq!(harness.own("a0"), ManagedTaints::NONE.with(ManagedTaint::Unreachable));
}

/// NL-42, NL-29: a zone of excluded nodes only keeps its queue and its bucket: each is tainted once.
#[test]
fn nl_42_excluded_zones_do_not_churn() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 3), ("b", 3)]);
    for name in names("a", 0..3) {
        harness.edit(&name, |node| node.excluded = true);
    }
    kill(&mut harness, &names("a", 0..3));
    harness.pass(400);
    assert_eq!(harness.tainted(), names("a", 0..3));
    let writes = harness.commits.iter().filter(|it| matches!(it.what, What::Taint { .. })).count();
    assert_eq!(
        writes,
        harness.commits.iter().filter(|it| matches!(it.what, What::Declare(_))).count() + 2,
        "{:?}",
        harness.commits
    );
    let engine = harness.engine.as_ref().expect("it runs");
    let report = engine.zones().next().expect("zone a");
    assert_eq!((report.size, report.excluded, report.evictions, report.health_percent()), (0, 3, 3, 100.0));
}

/// NL-41: a rate of exactly 1 recovers from a stop.
#[test]
fn nl_41_a_rate_of_one_recovers() {
    let flags = NodeLifecycleFlags { eviction_rate: 1.0, ..NodeLifecycleFlags::default() };
    let mut harness = NodeLifecycleHarness::unsettled(&[("a", 10), ("b", 2)], flags);
    harness.pass(100);
    kill(&mut harness, &names("a", 0..7));
    harness.pass(100);
    let stopped = harness.tainted().len();
    assert!(stopped < 7, "{stopped}");
    revive(&mut harness, &names("a", 0..3));
    harness.pass(10);
    assert_eq!(harness.tainted(), names("a", 3..7));
}

/// NL-43: a node that moves waits only in its new zone; a zone without nodes is removed.
#[test]
fn nl_43_a_node_that_moves_waits_once() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4), ("b", 4)]);
    kill(&mut harness, &names("a", 0..4));
    harness.pass(58);
    for at in 0..4 {
        harness
            .edit(&format!("a{at}"), |node| node.zone = crate::node_lifecycle::harness::zone("c\u{e9}:/\0"));
    }
    harness.pass(1);
    let engine = harness.engine.as_ref().expect("it runs");
    assert_eq!(
        engine.zones().map(|it| it.zone.clone()).collect::<Vec<_>>(),
        [crate::node_lifecycle::harness::zone("b"), crate::node_lifecycle::harness::zone("c\u{e9}:/\0")]
    );
    assert_eq!(engine.zones().map(|it| it.waiting).sum::<usize>(), 4 - harness.tainted().len());
    harness.pass(100);
    assert_eq!(harness.tainted().len(), 4);
    let puts = |name: &str| {
        harness
            .commits
            .iter()
            .filter(|it| {
                it.node == name && matches!(it.what, What::Taint { add, .. } if !add.no_execute().is_empty())
            })
            .count()
    };
    assert!(names("a", 0..4).iter().all(|name| puts(name) == 1));
}

/// NL-48: leases are renewed every ten seconds, whatever the grace period. In a healthy cluster of few nodes, silence
/// of nearly that length puts nothing on hold; if no node sends heartbeats any more, countdowns are put on hold, and no
/// node is tainted.
#[test]
fn nl_48_short_grace_periods_hold_nothing_while_all_nodes_are_healthy() {
    for (grace, nodes) in [(12, 1), (12, 3), (16, 2), (20, 1), (25, 1)] {
        let flags =
            NodeLifecycleFlags { monitor_grace_micros: grace * SECOND, ..NodeLifecycleFlags::default() };
        let mut harness = NodeLifecycleHarness::unsettled(&[("a", nodes)], flags);
        harness.pass(600);
        let holds = harness
            .notices
            .iter()
            .filter(|(_, it)| matches!(it, NodeLifecycleNotice::HoldCountdowns(_)))
            .count();
        assert_eq!(holds, 0, "{grace} {nodes}");
    }
    for grace in [16, 20, 50] {
        let flags =
            NodeLifecycleFlags { monitor_grace_micros: grace * SECOND, ..NodeLifecycleFlags::default() };
        let mut harness = NodeLifecycleHarness::unsettled(&[("a", 3), ("b", 3)], flags);
        harness.pass(100);
        let all = [names("a", 0..3), names("b", 0..3)].concat();
        for name in &all {
            harness.revive(&[name]);
            harness.pass_micros(300_000);
        }
        kill(&mut harness, &all);
        let last = harness.now - 300_000;
        harness.pass(200);
        let held = harness
            .notices
            .iter()
            .find(|(_, it)| *it == NodeLifecycleNotice::HoldCountdowns(true))
            .map(|(at, _)| *at);
        let limit = last + (grace * SECOND / 2).max(12 * SECOND + SECOND / 2);
        assert!(held.is_some_and(|at| at > last && at <= limit + 1), "{grace}: {held:?} {limit}");
        assert_eq!(harness.invariants.evictions.len(), 0, "{grace}");
    }
}

/// 10,000 nodes disappear at the same time: from the list, with all their leases. No node is written to, and nothing is
/// left.
#[test]
fn ten_thousand_nodes_disappear_at_the_same_time() {
    let mut harness = NodeLifecycleHarness::unsettled(&[("a", 10_000)], NodeLifecycleFlags::default());
    harness.pass(60);
    harness.stored.clear();
    harness.kubelets.clear();
    harness.list(false);
    harness.pass(120);
    assert_eq!((harness.commits.as_slice(), harness.reads), (&[] as &[LifecycleCommit], 0));
    let engine = harness.engine.as_ref().expect("it runs");
    assert_eq!((engine.stats().nodes, engine.zones().count()), (0, 0));
    let gone = harness.notices.iter().filter(|(_, it)| matches!(it, NodeLifecycleNotice::Removed(_))).count();
    assert_eq!(gone, 10_000);
    harness.submit(NodeLifecycleInput::Leases(ObjectEvent::ListCompleted));
}

/// 10,000 nodes become silent at the same time, ten do not: all are declared silent, and tainted at the secondary rate
/// only.
#[test]
fn ten_thousand_nodes_become_silent_at_the_same_time() {
    let mut harness = NodeLifecycleHarness::unsettled(&[("a", 10_010)], NodeLifecycleFlags::default());
    harness.pass(110);
    kill(&mut harness, &names("a", 0..10_000));
    harness.pass(200);
    let (_, size, unhealthy, state, rate) = zones(&harness).remove(0);
    assert_eq!((size, unhealthy, state, rate), (10_010, 10_000, ZoneState::PartialDisruption, SECONDARY));
    assert!(harness.tainted().len() <= 3, "{}", harness.tainted().len());
}
