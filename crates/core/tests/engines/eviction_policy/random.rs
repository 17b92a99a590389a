//! Random clusters, policies and changes: no deletion violates a policy, and every due pod leaves that may.

use super::world::{World, min_available};
use super::{graceful, left_on, policy, taint_nodes};
use crate::cases::cases;
use crate::common::EPOCH;
use proptest::prelude::*;
use taintward_core::eviction::DelayCategory;
use taintward_core::eviction_policy::{BudgetRespect, EvictionPolicy, UnavailableLimit, WaveOrder};
use taintward_core::fact::HoldPeriod;
use taintward_core::node_limit::NodeLimit;
use taintward_core::time::{Span, Wall};

/// What happens to the cluster.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Taint(usize),
    Untaint(usize),
    Allow(usize),
    /// A hold of the node for so many seconds; 0 releases it.
    Hold(usize, i64),
    /// A hold of the first pod of the app on the node.
    HoldPod(usize, i64),
    /// A new process starts; it knows budgets and workloads so many milliseconds after nodes and pods.
    Restart(i64),
    Pass(i64),
    Scale(u32),
    /// The policy is deleted, or created again.
    Policy,
    /// The policy limits how many nodes are emptied at once, or does not.
    NodesAtOnce(Option<u32>),
}

pub(super) fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (0..4_usize).prop_map(Change::Taint),
        1 => (0..4_usize).prop_map(Change::Untaint),
        1 => (0..4_usize).prop_map(Change::Allow),
        1 => (0..4_usize, 0..40_i64).prop_map(|(node, seconds)| Change::Hold(node, seconds)),
        1 => (0..4_usize, 1..40_i64).prop_map(|(pod, seconds)| Change::HoldPod(pod, seconds)),
        1 => prop_oneof![Just(0), 1..20_000_i64].prop_map(Change::Restart),
        5 => (1..20_000_i64).prop_map(Change::Pass),
        1 => (8..14_u32).prop_map(Change::Scale),
    ]
}

/// The same, and the policy changes.
fn change_of_any_kind() -> impl Strategy<Value = Change> {
    let nodes = proptest::option::of(1..3_u32).prop_map(Change::NodesAtOnce);
    prop_oneof![9 => change(), 1 => Just(Change::Policy), 1 => nodes]
}

pub(super) fn limits() -> impl Strategy<Value = EvictionPolicy> {
    (
        proptest::option::of(proptest::option::of(30..120_i64)),
        proptest::option::of(2..40_u32),
        proptest::option::of(1..3_u32),
        proptest::option::of(1..4_u32),
        proptest::option::of(Just(WaveOrder { timeout: None })),
    )
        .prop_map(|(deadline, pods_per_minute, nodes_at_once, replicas, order)| {
            let budgets = deadline.map(|deadline| BudgetRespect { deadline: deadline.map(Span::from_secs) });
            let unavailable_per_workload =
                replicas.map(|replicas| UnavailableLimit { replicas: Some(replicas), percent: None });
            EvictionPolicy {
                budgets,
                pods_per_minute,
                nodes_at_once,
                unavailable_per_workload,
                order,
                ..policy("limits")
            }
        })
}

pub(super) const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];

pub(super) fn build(brake: Option<NodeLimit>, policy: EvictionPolicy, needed: Option<u32>) -> World {
    let mut world = World::with_brake(brake, vec![policy]);
    NODES.iter().chain(&["spare"]).for_each(|node| world.add_node(node, "general"));
    world.set_replicas("web", 8);
    world.set_replicas("db", 4);
    for (at, node) in NODES.iter().cycle().take(8).enumerate() {
        world.add_pod(&format!("web-{at}"), "web", node, |fact| {
            fact.priority = i32::try_from(at % 3).unwrap()
        });
    }
    for (at, node) in NODES.iter().enumerate() {
        world.add_pod(&format!("db-{at}"), "db", node, |fact| fact.priority = 5);
    }
    if let Some(needed) = needed {
        world.add_budget("web", "web", min_available(needed));
    }
    world.pass(2_000);
    world
}

/// A hold that begins now, for so many seconds.
fn hold(world: &World, seconds: i64) -> Option<Box<[HoldPeriod]>> {
    let since = Wall::from_secs(EPOCH + world.now / 1_000);
    (seconds > 0).then(|| [HoldPeriod { since, until: since.plus(Span::from_secs(seconds)) }].into())
}

/// How long the watch takes, and a pod that terminates: the events of a deletion come before its response, or after it.
fn delays() -> impl Strategy<Value = (i64, i64)> {
    (prop_oneof![Just(1_i64), Just(30)], prop_oneof![Just(1_i64), Just(1_000)])
}

/// The counts by category are those of the pods that are delayed, and each forced deletion that was reported is counted.
fn check_counts(world: &World) {
    for (policy, status) in world.engine.policy_statuses(world.time()) {
        // Another policy of the same name counts from zero.
        let counted = world.policy_changed.is_some() || status.forced == world.forced(&policy.policy.name);
        assert!(counted, "{status:?}");
    }
    let counted = world.engine.stats().delayed;
    for category in DelayCategory::ALL {
        let delayed = world.engine.delayed().filter(|pod| pod.reason.category() == category).count();
        assert_eq!(counted.of(category), delayed, "{category:?}: {:?}", world.reasons());
    }
}

pub(super) fn apply(world: &mut World, change: &Change) {
    match change {
        Change::Taint(at) => taint_nodes(world, &[NODES[*at]], &["maintenance:NoExecute"]),
        Change::Untaint(at) => {
            world.set_taints(NODES[*at], &[]);
            world.monitor.tainted.remove(NODES[*at]);
        }
        Change::Allow(at) => {
            world.change_node(NODES[*at], |fact| fact.allow_no_execute = Some("maintenance".into()))
        }
        Change::Hold(at, seconds) => {
            let holds = hold(world, *seconds);
            world.monitor.released.insert(NODES[*at].to_owned(), world.now);
            world.change_node(NODES[*at], |fact| fact.holds = holds);
        }
        Change::HoldPod(at, seconds) => {
            let holds = hold(world, *seconds);
            world.change_pod(&format!("web-{at}"), |fact| fact.holds = holds);
        }
        Change::Restart(list) => {
            world.delays.list = *list;
            world.restart();
        }
        Change::Pass(millis) => world.pass(*millis),
        Change::Scale(replicas) => world.set_replicas("web", *replicas),
        Change::Policy => world.toggle_policy(),
        Change::NodesAtOnce(nodes) => world.limit_nodes(*nodes),
    }
}

proptest! {
    #![proptest_config(cases(400))]

    /// The monitor checks each deletion. At the end there is time for all.
    #[test]
    fn limits_hold_and_every_pod_leaves_that_may(
        policy in limits(),
        needed in proptest::option::of(5..8_u32),
        (watch, termination) in delays(),
        changes in proptest::collection::vec(change_of_any_kind(), 1..20),
    ) {
        let mut world = build(None, policy, needed);
        (world.delays.watch, world.delays.termination) = (watch, termination);
        for change in &changes {
            apply(&mut world, change);
            check_counts(&world);
        }
        world.set_replicas("web", 8);
        world.pass(1_800_000);
        check_counts(&world);
        let tainted: Vec<&str> =
            NODES.into_iter().filter(|node| !world.nodes[*node].taints.is_empty()).collect();
        for node in tainted {
            prop_assert_eq!(left_on(&world, node), 0, "{} is not empty", node);
        }
    }

    /// One pod is never ready. The eviction API lets it go if enough others are ready, whatever pods it waits behind; the others
    /// follow once its replacement is ready.
    #[test]
    fn a_budget_delays_no_pod_that_the_eviction_api_lets_go(
        broken in 0..8_usize,
        needed in 1..8_u32,
        changes in proptest::collection::vec(change(), 1..20),
    ) {
        let mut world = build(None, graceful(None), Some(needed));
        world.change_pod(&format!("web-{broken}"), |fact| fact.ready = Some(false));
        for change in &changes {
            apply(&mut world, change);
        }
        world.set_replicas("web", 8);
        apply(&mut world, &Change::Taint(broken % NODES.len()));
        world.pass(1_800_000);
        for node in NODES.into_iter().filter(|node| !world.nodes[*node].taints.is_empty()) {
            prop_assert_eq!(left_on(&world, node), 0, "{} is not empty", node);
        }
    }

    /// The brake delays nothing unless more nodes have pods that are due than it allows, and nothing that is allowed.
    #[test]
    fn the_brake_and_limits_together_delay_no_pod_that_may_leave(
        brake in 0..3_u32,
        policy in limits(),
        needed in proptest::option::of(5..8_u32),
        (watch, termination) in delays(),
        changes in proptest::collection::vec(change(), 1..20),
    ) {
        let mut world = build(Some(NodeLimit { nodes: Some(brake), percent: None }), policy, needed);
        (world.delays.watch, world.delays.termination) = (watch, termination);
        for change in &changes {
            apply(&mut world, change);
            check_counts(&world);
        }
        world.set_replicas("web", 8);
        world.pass(3_600_000);
        check_counts(&world);
        let is_full = |node: &&str| !world.nodes[*node].taints.is_empty() && left_on(&world, node) > 0;
        let full: Vec<&str> = NODES.into_iter().filter(is_full).collect();
        prop_assert!(full.is_empty() || full.len() > brake as usize, "{:?}: {:?}", full, world.reasons());
        prop_assert!(full.iter().all(|node| world.nodes[*node].allow_no_execute.is_none()), "{:?}", full);
        prop_assert_eq!(world.engine.stats().braked_keys, usize::from(!full.is_empty()));
    }

    /// A budget that allows nothing delays until the deadline and no longer.
    #[test]
    fn at_the_deadline_every_pod_has_left(deadline in 20..90_i64, tainted in 1..4_usize, restart_at in 1..60_000_i64) {
        let mut world = build(None, graceful(Some(deadline)), Some(8));
        taint_nodes(&mut world, &NODES[..tainted], &["maintenance:NoExecute"]);
        world.pass(restart_at.min(deadline * 1_000 - 1_500));
        world.restart();
        // A new process knows to the second when the taint was added.
        world.pass(deadline * 1_000 + 2_000 - restart_at.min(deadline * 1_000 - 1_500));
        for node in &NODES[..tainted] {
            prop_assert_eq!(left_on(&world, node), 0);
        }
    }
}
