//! Tests many silent nodes at the same time: part of a zone, a zone, all nodes; and their return.

use crate::node_lifecycle::world::{Commit, SECOND, What, World};
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

fn kill(world: &mut World, names: &[String]) {
    world.kill(&names.iter().map(String::as_str).collect::<Vec<_>>());
}

fn revive(world: &mut World, names: &[String]) {
    world.revive(&names.iter().map(String::as_str).collect::<Vec<_>>());
}

fn zones(world: &World) -> Vec<(String, u32, u32, ZoneState, TaintRate)> {
    let engine = world.engine.as_ref().expect("it runs");
    engine.zones().map(|it| (it.zone.to_string(), it.size, it.unhealthy, it.state, it.rate)).collect()
}

const FULL: TaintRate = TaintRate::from_millionths(100_000);
const SECONDARY: TaintRate = TaintRate::from_millionths(10_000);

/// NL-25, NL-26: most of a small zone is down: none of its nodes is tainted any more; the other zone continues.
#[test]
fn most_of_a_small_zone_stops_its_tainting() {
    let mut world = World::new(&[("a", 10), ("b", 10)]);
    kill(&mut world, &names("a", 0..6));
    world.kill(&["b0"]);
    world.pass(300);
    assert_eq!(zones(&world)[0], ("a".into(), 10, 6, ZoneState::PartialDisruption, TaintRate::ZERO));
    assert_eq!(zones(&world)[1], ("b".into(), 10, 1, ZoneState::Normal, FULL));
    // Those that became silent before it was the sixth's turn had their turn at the ordinary rate.
    let of_a = world.tainted().iter().filter(|name| name.starts_with('a')).count();
    assert!(of_a <= 2, "{:?}", world.tainted());
    assert!(world.tainted().contains(&"b0"));
    let engine = world.engine.as_ref().expect("it runs");
    let held: Vec<_> = names("a", 0..6)
        .iter()
        .filter_map(|name| engine.explain(&NodeName::new(name), world.clock().mono)?.delayed_by)
        .collect();
    assert!(held.len() >= 4 && held.iter().all(|held| *held == DelayReason::ZoneStopped), "{held:?}");
    // NL-5 does not wait for any of this.
    assert!(names("a", 0..6).iter().all(|name| world.own(name).has(ManagedTaint::Unreachable)));
    revive(&mut world, &names("a", 0..6));
    world.pass(5);
    assert_eq!(world.tainted(), ["b0"]);
}

/// NL-26, NL-47: three of five become silent in the same instant, as far as can be observed: their last heartbeats were
/// milliseconds apart, or as far apart as lease renewals. No node is tainted, not even the first.
#[test]
fn most_of_a_small_zone_in_the_same_instant() {
    for (apart, down) in [(0, 3), (4_000, 3), (1_000_000, 3), (4_900_000, 3), (4_000, 2)] {
        let mut world = World::new(&[("a", 5), ("b", 3)]);
        for name in names("a", 0..3) {
            world.pass_micros(apart);
            world.revive(&[&name]);
        }
        kill(&mut world, &names("a", 0..down));
        world.pass(49 - 2 * apart / SECOND);
        assert_eq!(world.commits, [], "{apart} {down}");
        world.pass(200);
        let tainted = if down == 2 { names("a", 0..2) } else { Vec::new() };
        assert_eq!(world.tainted(), tainted, "{apart} {down}");
        assert!(names("a", 0..down).iter().all(|name| world.own(name).has(ManagedTaint::Unreachable)));
        let first = world
            .when("a0", ManagedTaint::UnreachableNoExecute)
            .zip(world.when("a0", ManagedTaint::Unreachable));
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
    let mut world = World::new(&[("a", 5), ("b", 3)]);
    world.revive(&["a0", "a1", "a2"]);
    let from = world.now / SECOND;
    world.kill(&["a0", "a1", "a2"]);
    world.pass(45);
    assert_eq!(zones(&world)[0], ("a".into(), 5, 0, ZoneState::PartialDisruption, TaintRate::ZERO));
    world.revive(&["a2"]);
    world.pass_micros(1);
    assert_eq!(zones(&world)[0], ("a".into(), 5, 0, ZoneState::Normal, FULL));
    world.pass(30);
    let away = ["a0", "a1"].map(|name| world.when(name, ManagedTaint::UnreachableNoExecute).map(f64::floor));
    assert_eq!(away, [Some((from + 50) as f64), Some((from + 60) as f64)]);
    assert_eq!(world.tainted(), ["a0", "a1"]);
}

/// NL-26: half of a large zone: at the secondary rate.
#[test]
fn most_of_a_large_zone_slows_its_tainting() {
    let mut world = World::new(&[("a", 60)]);
    kill(&mut world, &names("a", 0..40));
    world.pass(75);
    assert_eq!(zones(&world)[0], ("a".into(), 60, 40, ZoneState::PartialDisruption, SECONDARY));
    let before = world.tainted().len();
    world.pass(1_000);
    let gained = world.tainted().len() - before;
    assert!((9..=11).contains(&gained), "{gained} in 1,000 s");
}

/// NL-26: a zone that is fully disrupted keeps the ordinary rate while another one is healthy.
#[test]
fn a_whole_zone_is_tainted_at_the_ordinary_rate() {
    let mut world = World::new(&[("a", 5), ("b", 5)]);
    kill(&mut world, &names("a", 0..5));
    world.pass(120);
    assert_eq!(zones(&world)[0], ("a".into(), 5, 5, ZoneState::FullDisruption, FULL));
    assert_eq!(world.tainted(), names("a", 0..5));
    assert_eq!(world.judge.evictions.len(), 1);
}

/// NL-26, NL-47: most of a small zone is down, and the rest is suspected. That zone does not yet count as fully
/// disrupted: none of its nodes is tainted before the last one is declared silent, too.
#[test]
fn suspicion_does_not_restart_a_stopped_zone() {
    let flags = NodeLifecycleFlags { eviction_rate: 1.0, ..NodeLifecycleFlags::default() };
    let mut world = World::unsettled(&[("a", 4), ("b", 2)], flags);
    world.pass(100);
    kill(&mut world, &names("a", 0..3));
    world.pass(70);
    assert_eq!(zones(&world)[0], ("a".into(), 4, 3, ZoneState::PartialDisruption, TaintRate::ZERO));
    let before = world.tainted().len();
    assert!(before < 3, "the third makes the zone stop");
    world.kill(&["a3"]);
    world.commits.clear();
    // The live read of it fails, and is retried.
    world.faults = vec![Some(ApiFailure::Unavailable)].into();
    world.pass(70);
    let is_declared = |it: &Commit| it.node == "a3" && matches!(it.what, What::Declare(_));
    let is_taint = |it: &Commit| matches!(&it.what, What::Taint { add, .. } if !add.no_execute().is_empty());
    let declared = world.commits.iter().position(is_declared).expect("it is declared silent");
    let tainted = world.commits.iter().position(is_taint).expect("the zone continues");
    assert!(world.faults.is_empty() && declared < tainted, "{:?}", world.commits);
    let all = TaintRate::from_millionths(1_000_000);
    assert_eq!(zones(&world)[0], ("a".into(), 4, 4, ZoneState::FullDisruption, all));
    assert_eq!(world.tainted(), names("a", 0..4));
}

/// NL-27, NL-47, NL-48: all nodes are down: none is tainted, not even the first; existing taints are removed. When some
/// nodes return, the rest has a whole grace period, and is tainted then.
#[test]
fn all_nodes_down_and_back() {
    let mut world = World::new(&[("a", 4), ("b", 4)]);
    world.kill(&["a0"]);
    world.pass(100);
    assert_eq!(world.tainted(), ["a0"]);
    let before = world.judge.evictions.clone();
    kill(&mut world, &names("a", 1..4));
    kill(&mut world, &names("b", 0..4));
    world.pass(30);
    assert!(
        world.engine.as_ref().expect("it runs").holds_countdowns(),
        "on hold before any node is declared silent"
    );
    world.pass(600);
    assert_eq!(world.tainted(), Vec::<&str>::new(), "NL-27");
    assert_eq!(world.judge.evictions, before, "NL-47: no new one");
    assert!(world.engine.as_ref().expect("it runs").is_everything_down());
    assert!(world.own("b3").has(ManagedTaint::Unreachable), "NL-5 stands");
    let back = world.now;
    revive(&mut world, &names("b", 0..4));
    world.pass(49);
    assert_eq!(world.tainted(), Vec::<&str>::new(), "a whole grace period for the rest");
    world.pass(45);
    assert_eq!(world.tainted(), names("a", 0..4));
    assert!(world.judge.evictions.values().flatten().filter(|at| **at > back + 50 * SECOND).count() == 4);
    let reported: Vec<bool> = world
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
    let mut world = World::new(&[("a", 2)]);
    world.leading = false;
    world.kill(&["a1"]);
    world.pass(65);
    let since = world.clock().mono;
    world.submit(NodeLifecycleInput::StreamLost { stream: WatchedKind::Leases, since });
    world.leading = true;
    world.set_ready("a0", false);
    world.pass(30);
    assert!(world.own("a0").has(ManagedTaint::NotReady), "NL-5 does not wait");
    assert_eq!(world.tainted(), Vec::<&str>::new());
    let engine = world.engine.as_ref().expect("it runs");
    assert!(!engine.is_everything_down(), "according to conditions");
    let held =
        engine.explain(&NodeName::new("a0"), world.clock().mono).expect("the node is known").delayed_by;
    assert_eq!(held, Some(DelayReason::EverythingDown));
}

/// NL-27: all nodes report themselves as not ready: no new taint is added, the old ones are removed.
#[test]
fn all_nodes_not_ready() {
    let mut world = World::new(&[("a", 3)]);
    world.set_ready("a0", false);
    world.pass(30);
    assert_eq!(world.tainted(), ["a0"]);
    world.set_ready("a1", false);
    world.set_ready("a2", false);
    world.pass(100);
    assert_eq!(world.tainted(), Vec::<&str>::new());
    world.set_ready("a2", true);
    world.pass(30);
    assert_eq!(world.tainted(), ["a0", "a1"]);
}

/// NL-28: a single node that is down means that all nodes are down.
#[test]
fn a_single_node_is_never_tainted() {
    let mut world = World::new(&[("a", 1)]);
    world.kill(&["a0"]);
    world.pass(1_000);
    assert_eq!(world.tainted(), Vec::<&str>::new());
    assert_eq!(world.own("a0"), ManagedTaints::NONE.with(ManagedTaint::Unreachable));
}

/// NL-42, NL-29: a zone of excluded nodes only keeps its queue and its bucket: each is tainted once.
#[test]
fn nl_42_excluded_zones_do_not_churn() {
    let mut world = World::new(&[("a", 3), ("b", 3)]);
    for name in names("a", 0..3) {
        world.edit(&name, |node| node.excluded = true);
    }
    kill(&mut world, &names("a", 0..3));
    world.pass(400);
    assert_eq!(world.tainted(), names("a", 0..3));
    let writes = world.commits.iter().filter(|it| matches!(it.what, What::Taint { .. })).count();
    assert_eq!(
        writes,
        world.commits.iter().filter(|it| matches!(it.what, What::Declare(_))).count() + 2,
        "{:?}",
        world.commits
    );
    let engine = world.engine.as_ref().expect("it runs");
    let report = engine.zones().next().expect("zone a");
    assert_eq!((report.size, report.excluded, report.evictions, report.health_percent()), (0, 3, 3, 100.0));
}

/// NL-41: a rate of exactly 1 recovers from a stop.
#[test]
fn nl_41_a_rate_of_one_recovers() {
    let flags = NodeLifecycleFlags { eviction_rate: 1.0, ..NodeLifecycleFlags::default() };
    let mut world = World::unsettled(&[("a", 10), ("b", 2)], flags);
    world.pass(100);
    kill(&mut world, &names("a", 0..7));
    world.pass(100);
    let stopped = world.tainted().len();
    assert!(stopped < 7, "{stopped}");
    revive(&mut world, &names("a", 0..3));
    world.pass(10);
    assert_eq!(world.tainted(), names("a", 3..7));
}

/// NL-43: a node that moves waits only in its new zone; a zone without nodes is removed.
#[test]
fn nl_43_a_node_that_moves_waits_once() {
    let mut world = World::new(&[("a", 4), ("b", 4)]);
    kill(&mut world, &names("a", 0..4));
    world.pass(58);
    for at in 0..4 {
        world.edit(&format!("a{at}"), |node| node.zone = crate::node_lifecycle::world::zone("c\u{e9}:/\0"));
    }
    world.pass(1);
    let engine = world.engine.as_ref().expect("it runs");
    assert_eq!(
        engine.zones().map(|it| it.zone.clone()).collect::<Vec<_>>(),
        [crate::node_lifecycle::world::zone("b"), crate::node_lifecycle::world::zone("c\u{e9}:/\0")]
    );
    assert_eq!(engine.zones().map(|it| it.waiting).sum::<usize>(), 4 - world.tainted().len());
    world.pass(100);
    assert_eq!(world.tainted().len(), 4);
    let puts = |name: &str| {
        world
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
        let mut world = World::unsettled(&[("a", nodes)], flags);
        world.pass(600);
        let holds = world
            .notices
            .iter()
            .filter(|(_, it)| matches!(it, NodeLifecycleNotice::HoldCountdowns(_)))
            .count();
        assert_eq!(holds, 0, "{grace} {nodes}");
    }
    for grace in [16, 20, 50] {
        let flags =
            NodeLifecycleFlags { monitor_grace_micros: grace * SECOND, ..NodeLifecycleFlags::default() };
        let mut world = World::unsettled(&[("a", 3), ("b", 3)], flags);
        world.pass(100);
        let all = [names("a", 0..3), names("b", 0..3)].concat();
        for name in &all {
            world.revive(&[name]);
            world.pass_micros(300_000);
        }
        kill(&mut world, &all);
        let last = world.now - 300_000;
        world.pass(200);
        let held = world
            .notices
            .iter()
            .find(|(_, it)| *it == NodeLifecycleNotice::HoldCountdowns(true))
            .map(|(at, _)| *at);
        let limit = last + (grace * SECOND / 2).max(12 * SECOND + SECOND / 2);
        assert!(held.is_some_and(|at| at > last && at <= limit + 1), "{grace}: {held:?} {limit}");
        assert_eq!(world.judge.evictions.len(), 0, "{grace}");
    }
}

/// 10,000 nodes disappear at the same time: from the list, with all their leases. No node is written to, and nothing is
/// left.
#[test]
fn ten_thousand_nodes_disappear_at_the_same_time() {
    let mut world = World::unsettled(&[("a", 10_000)], NodeLifecycleFlags::default());
    world.pass(60);
    world.stored.clear();
    world.kubelets.clear();
    world.list(false);
    world.pass(120);
    assert_eq!((world.commits.as_slice(), world.reads), (&[] as &[Commit], 0));
    let engine = world.engine.as_ref().expect("it runs");
    assert_eq!((engine.stats().nodes, engine.zones().count()), (0, 0));
    let gone = world.notices.iter().filter(|(_, it)| matches!(it, NodeLifecycleNotice::Removed(_))).count();
    assert_eq!(gone, 10_000);
    world.submit(NodeLifecycleInput::Leases(ObjectEvent::ListCompleted));
}

/// 10,000 nodes become silent at the same time, ten do not: all are declared silent, and tainted at the secondary rate
/// only.
#[test]
fn ten_thousand_nodes_become_silent_at_the_same_time() {
    let mut world = World::unsettled(&[("a", 10_010)], NodeLifecycleFlags::default());
    world.pass(110);
    kill(&mut world, &names("a", 0..10_000));
    world.pass(200);
    let (_, size, unhealthy, state, rate) = zones(&world).remove(0);
    assert_eq!((size, unhealthy, state, rate), (10_010, 10_000, ZoneState::PartialDisruption, SECONDARY));
    assert!(world.tainted().len() <= 3, "{}", world.tainted().len());
}
