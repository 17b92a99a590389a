//! Tests that predictions bound when pods really leave.

use super::random::{NODES, limits};
use super::world::{World, min_available};
use super::{EvictionPolicy, cluster, graceful, policy, taint_nodes};
use crate::cases::cases;
use crate::common::EPOCH;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::iter;
use taintward_core::engine::Engine as _;
use taintward_core::eviction::{EvictionInput, EvictionScenario, PredictedEviction, ReplacementReadiness};
use taintward_core::eviction_policy::{SelectedTaint, WaveOrder};
use taintward_core::fact::HoldPeriod;
use taintward_core::node_limit::NodeLimit;
use taintward_core::object_event::ObjectEvent;
use taintward_core::taint::Taint;
use taintward_core::testkit::{taint, toleration};
use taintward_core::time::{Mono, Span, Wall};

const MAINTENANCE: &[&str] = &["maintenance:NoExecute"];

/// What the cluster takes for its own work.
const LATENCY: Span = Span::from_secs(70);

/// A policy that ends pods as fast as the cluster does.
fn short(policy: EvictionPolicy) -> EvictionPolicy {
    EvictionPolicy { grace_seconds_max: Some(1), ..policy }
}

fn predicted(world: &World, readiness: ReplacementReadiness) -> Vec<PredictedEviction> {
    let until = world.time().mono.plus(Span::from_secs(3_600));
    world.engine.predict(&EvictionScenario { changes: &[], readiness, until }, world.time()).evictions
}

/// When each pod leaves, in whole seconds from now, and whether it is forced.
fn leaving(world: &World, readiness: ReplacementReadiness) -> BTreeMap<String, (i64, bool)> {
    let now = world.time().mono;
    let row = |one: PredictedEviction| {
        (one.name.name().to_owned(), (one.at.since(now).as_micros() / 1_000_000, one.is_forced))
    };
    predicted(world, readiness).into_iter().map(row).collect()
}

fn rows(all: &[(&str, i64, bool)]) -> BTreeMap<String, (i64, bool)> {
    all.iter().map(|(name, at, forced)| ((*name).to_owned(), (*at, *forced))).collect()
}

/// Another process lists everything, and evicts nothing: its clock stands.
fn listed(mut world: World) -> World {
    world.restart();
    world
}

#[test]
fn without_a_policy_every_pod_leaves_when_it_is_due() {
    let mut world = cluster(Vec::new(), 1);
    taint_nodes(&mut world, &["n1", "n2"], MAINTENANCE);
    let world = listed(world);
    let expected = rows(&[("n1-0", 0, false), ("n2-0", 0, false)]);
    assert_eq!(leaving(&world, ReplacementReadiness::Never), expected);
    assert_eq!(leaving(&world, ReplacementReadiness::Immediately), expected);
}

#[test]
fn pods_without_a_version_leave_too() {
    let mut world = cluster(Vec::new(), 1);
    taint_nodes(&mut world, &["n1"], MAINTENANCE);
    world.pods.values_mut().for_each(|pod| pod.fact.version = None);
    let expected = rows(&[("n1-0", 0, false)]);
    assert_eq!(leaving(&listed(world), ReplacementReadiness::Never), expected);
}

#[test]
fn a_budget_delays_until_replacements_are_ready_or_until_the_deadline() {
    let mut world = cluster(vec![short(graceful(Some(600)))], 1);
    world.add_budget("web", "web", min_available(2));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1", "n2", "n3"], MAINTENANCE);
    let world = listed(world);
    let never = leaving(&world, ReplacementReadiness::Never);
    assert_eq!(never["n1-0"], (0, false));
    assert!(never["n2-0"].1 && (600..603).contains(&never["n2-0"].0), "{never:?}");
    assert!(never["n3-0"].1, "{never:?}");
    let immediately = leaving(&world, ReplacementReadiness::Immediately);
    let times: Vec<i64> = immediately.values().map(|(at, _)| *at).collect();
    assert_eq!(times, [0, 1, 2], "one after the other, each when the one before is gone");
    assert!(immediately.values().all(|(_, is_forced)| !is_forced));
}

#[test]
fn a_pod_that_is_not_ready_takes_no_disruption_of_a_budget_that_is_met() {
    for (required, expected) in [(2, rows(&[("broken", 0, false)])), (3, rows(&[]))] {
        let mut world = cluster(vec![short(graceful(None))], 1);
        world.change_pod("n3-0", |fact| fact.ready = Some(false));
        world.add_pod("broken", "web", "n1", |fact| fact.ready = Some(false));
        world.set_replicas("web", 4);
        world.add_budget("web", "web", min_available(required));
        world.pass(1_000);
        taint_nodes(&mut world, &["n1"], MAINTENANCE);
        let world = listed(world);
        assert_eq!(leaving(&world, ReplacementReadiness::Never), expected, "{required} required");
        let with = leaving(&world, ReplacementReadiness::Immediately);
        let both = rows(&[("broken", 0, false), ("n1-0", 1, false)]);
        assert_eq!(with, if required == 2 { both } else { rows(&[]) }, "its replacement is healthy");
    }
}

#[test]
fn without_a_deadline_a_pod_may_never_leave() {
    let mut world = cluster(vec![short(graceful(None))], 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], MAINTENANCE);
    let world = listed(world);
    assert_eq!(leaving(&world, ReplacementReadiness::Never), BTreeMap::new());
    assert!(world.monitor.deletions.is_empty(), "a prediction sends nothing");
}

#[test]
fn a_countdown_goes_on_beside_a_pod_that_may_never_leave() {
    let mut world = cluster(vec![short(graceful(None))], 1);
    world.add_pod("patient", "other", "n1", |fact| {
        fact.tolerations = vec![toleration("maintenance", Some(300))];
    });
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], MAINTENANCE);
    let predicted = leaving(&listed(world), ReplacementReadiness::Never);
    assert_eq!(predicted.keys().map(String::as_str).collect::<Vec<_>>(), ["patient"]);
    assert!((299..=302).contains(&predicted["patient"].0), "{predicted:?}");
}

#[test]
fn a_budget_that_requires_no_pod_is_not_met_without_healthy_ones() {
    let mut world = cluster(vec![short(graceful(None))], 0);
    ["a", "b"].iter().for_each(|name| world.add_pod(name, "web", "n1", |fact| fact.ready = Some(false)));
    world.set_replicas("web", 2);
    world.add_budget("web", "web", min_available(0));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], MAINTENANCE);
    assert_eq!(leaving(&listed(world), ReplacementReadiness::Never), BTreeMap::new());
}

#[test]
fn planned_changes_count_from_their_moment() {
    let mut world = cluster(vec![short(graceful(Some(600)))], 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    let now = world.time();
    let at = now.mono.plus(Span::from_secs(40));
    let mut planned = world.nodes["n2"].clone();
    planned.taints = vec![Taint { time_added: Some(now.wall_of(at)), ..taint(MAINTENANCE[0]) }];
    let change = EvictionInput::Nodes(ObjectEvent::Applied { fact: planned, listed: false });
    let changes = [(at, change)];
    let scenario = |seconds| EvictionScenario {
        changes: &changes,
        readiness: ReplacementReadiness::Never,
        until: now.mono.plus(Span::from_secs(seconds)),
    };
    let mut engine = listed(world).engine;
    let prediction = engine.predict(&scenario(639), now);
    let delays: Vec<String> = prediction.delayed().map(|one| one.reason.to_string()).collect();
    assert_eq!(delays, ["waits for budget default/web: 3 pods are healthy, 3 required"]);
    assert_eq!(prediction.evictions, Vec::new());
    let evictions = engine.predict(&scenario(641), now).evictions;
    assert!(evictions.len() == 1 && evictions[0].is_forced && evictions[0].due == at, "{evictions:?}");
    engine.tick(now.mono.plus(Span::from_secs(700)));
    assert!(engine.stats().due + engine.stats().delayed.total() == 0, "a prediction changes nothing");
}

#[test]
fn waves_follow_priorities() {
    let policy = EvictionPolicy { order: Some(WaveOrder { timeout: None }), ..short(policy("waves")) };
    let mut world = cluster(vec![policy], 1);
    for (name, priority) in [("low", -1), ("high", 7)] {
        world.add_pod(name, "web", "n1", |fact| fact.priority = priority);
    }
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], MAINTENANCE);
    let waves: Vec<(String, i32)> = predicted(&listed(world), ReplacementReadiness::Never)
        .into_iter()
        .map(|one| (one.name.name().to_owned(), one.wave.unwrap().priority))
        .collect();
    assert_eq!(waves, [("low".to_owned(), -1), ("n1-0".to_owned(), 0), ("high".to_owned(), 7)]);
}

#[test]
fn the_brake_holds_back_what_it_holds_back_now() {
    let limit = NodeLimit { nodes: Some(1), percent: None };
    let mut world = World::with_brake(Some(limit), Vec::new());
    for node in ["n1", "n2", "n3"] {
        world.add_node(node, "general");
        world.add_pod(&format!("{node}-0"), "web", node, |_| {});
    }
    world.pass(1_000);
    taint_nodes(&mut world, &["n1", "n2"], MAINTENANCE);
    let world = listed(world);
    assert_eq!(predicted(&world, ReplacementReadiness::Immediately), Vec::new());
}

/// Also while no pod is delayed: time goes on until the last countdown has ended.
#[test]
fn pods_leave_when_their_countdowns_end() {
    let mut world = cluster(Vec::new(), 1);
    for (name, seconds) in [("n1-0", 60), ("n2-0", 600), ("n3-0", 4_000)] {
        world.change_pod(name, |fact| fact.tolerations = vec![toleration("maintenance", Some(seconds))]);
    }
    taint_nodes(&mut world, &["n1", "n2", "n3"], MAINTENANCE);
    let world = listed(world);
    let leaving = leaving(&world, ReplacementReadiness::Never);
    let near = |name: &str, seconds: i64| {
        leaving.get(name).is_some_and(|(at, _)| (seconds - 2..=seconds).contains(at))
    };
    assert!(near("n1-0", 60) && near("n2-0", 600) && leaving.len() == 2, "within an hour: {leaving:?}");
}

/// Whether the eviction API carries it out, or a DELETE that asks no budget.
#[test]
fn an_eviction_respects_budgets_if_its_policy_does_or_is_forced_in_spite_of_them() {
    let respects = |policies: Vec<EvictionPolicy>, required: u32| -> Vec<(String, bool, bool)> {
        let mut world = cluster(policies, 1);
        world.add_budget("web", "web", min_available(required));
        world.pass(1_000);
        taint_nodes(&mut world, &["n1"], MAINTENANCE);
        let evictions = predicted(&listed(world), ReplacementReadiness::Never);
        let row = |one: PredictedEviction| (one.name.name().to_owned(), one.respects_budgets, one.is_forced);
        evictions.into_iter().map(row).collect()
    };
    let pod = |respects_budgets, is_forced| vec![("n1-0".to_owned(), respects_budgets, is_forced)];
    assert_eq!(respects(Vec::new(), 2), pod(false, false));
    assert_eq!(respects(vec![short(policy("plain"))], 2), pod(false, false));
    assert_eq!(respects(vec![short(graceful(None))], 2), pod(true, false));
    assert_eq!(respects(vec![short(graceful(Some(60)))], 3), pod(true, true));
}

#[test]
fn only_a_policy_with_an_order_has_waves() {
    let ordered = EvictionPolicy {
        order: Some(WaveOrder { timeout: None }),
        taints: [SelectedTaint { key: "other".into(), values: Vec::new() }].into(),
        ..short(policy("ordered"))
    };
    let mut world = cluster(vec![ordered, short(policy("plain"))], 1);
    taint_nodes(&mut world, &["n1"], MAINTENANCE);
    taint_nodes(&mut world, &["n2"], &["other:NoExecute"]);
    let evictions = predicted(&listed(world), ReplacementReadiness::Never);
    let waves: BTreeMap<&str, bool> =
        evictions.iter().map(|one| (one.name.name(), one.wave.is_some())).collect();
    assert_eq!(waves, BTreeMap::from([("n1-0", false), ("n2-0", true)]));
}

proptest! {
    #![proptest_config(cases(200))]

    /// At no time have more pods left than predicted with replacements at once, nor fewer than without any, apart from the
    /// latency of the cluster. A single pod may leave at another moment than in both: the others are then before it in turn.
    #[test]
    fn as_many_pods_leave_as_predicted(
        policy in limits(),
        needed in proptest::option::of(5..8_u32),
        tainted in 1..4_usize,
        broken in proptest::option::of(0..8_usize),
    ) {
        let mut world = super::random::build(None, short(policy), needed);
        if let Some(broken) = broken {
            world.change_pod(&format!("web-{broken}"), |fact| fact.ready = Some(false));
            world.pass(2_000);
        }
        taint_nodes(&mut world, &NODES[..tainted], MAINTENANCE);
        world.restart();
        let times = |readiness| -> Vec<Mono> {
            predicted(&world, readiness).into_iter().map(|one| one.at).collect()
        };
        let most = times(ReplacementReadiness::Immediately);
        let least = times(ReplacementReadiness::Never);
        world.pass(1_200_000);
        let left: Vec<Mono> =
            world.monitor.deletions.iter().map(|deletion| Mono::from_micros(deletion.at * 1_000)).collect();
        prop_assert!(least.len() <= left.len() && left.len() <= most.len(), "{least:?} {left:?} {most:?}");
        for ((at, earliest), latest) in left.iter().zip(&most).zip(least.iter().map(Some).chain(iter::repeat(None))) {
            prop_assert!(*earliest <= at.plus(Span::from_secs(1)), "{left:?} {most:?}");
            prop_assert!(latest.is_none_or(|latest| *at <= latest.plus(LATENCY)), "{left:?} {least:?}");
        }
    }
}

/// A previous process has marked it: its mark is removed, and set again.
#[test]
fn the_countdown_of_a_marked_pod_goes_on() {
    let mut world = cluster(Vec::new(), 1);
    world.change_pod("n1-0", |fact| {
        (fact.marked, fact.tolerations) = (true, [toleration("maintenance", Some(60))].into());
    });
    taint_nodes(&mut world, &["n1"], MAINTENANCE);
    let leaves = leaving(&listed(world), ReplacementReadiness::Never);
    assert!((59..=61).contains(&leaves["n1-0"].0), "{leaves:?}");
}

#[test]
fn a_held_pod_leaves_when_its_hold_ends() {
    let mut world = cluster(Vec::new(), 1);
    let wall = |seconds| Wall::from_secs(EPOCH + seconds);
    let held = [HoldPeriod { since: wall(0), until: wall(100) }];
    world.change_node("n1", |fact| fact.holds = Some(held.into()));
    taint_nodes(&mut world, &["n1"], MAINTENANCE);
    let leaves = leaving(&listed(world), ReplacementReadiness::Never);
    assert!((97..=101).contains(&leaves["n1-0"].0), "{leaves:?}");
}
