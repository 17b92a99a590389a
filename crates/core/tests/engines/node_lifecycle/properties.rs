//! Tests node lifecycle with random sequences of events; every commit is checked.

use crate::cases::cases;
use crate::node_lifecycle::harness::{NodeLifecycleHarness, SECOND};
use crate::node_lifecycle::{list_aborted, list_completed, list_started};
use proptest::prelude::*;
use proptest::test_runner::Config as Runs;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::Engine;
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{
    ConditionKind, ConditionStatus, LeaseFact, ManagedTaints, NodeCondition, NodeHealthFact,
    NodeLifecycleConfig, NodeLifecycleEngine, NodeLifecycleFlags, NodeLifecycleInput, PlatformLabels,
    PodReadinessFact, WatchedKind,
};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::time::{Mono, Now, Wall};

#[derive(Clone, Debug)]
enum LifecycleCommand {
    Kill(u8),
    Revive(u8),
    Ready(u8, bool),
    Cordon(u8, bool),
    Exclude(u8),
    Move(u8, u8),
    Replace(u8),
    Bind(u8, u8),
    Pass(i64),
    Pause(i64),
    Cut(i64, bool),
    Lag(i64),
    List,
    Restart(i64),
    Follow(i64),
    Faults(Vec<u8>),
    LoseLeases(i64),
    BreakList(i64, bool),
}

const NODES: u8 = 9;

fn commands() -> impl Strategy<Value = Vec<LifecycleCommand>> {
    let node = 0..NODES;
    let some_time = prop_oneof![3 => 0i64..30, 3 => 30i64..80, 1 => 80i64..700];
    let one = prop_oneof![
        6 => node.clone().prop_map(LifecycleCommand::Kill),
        3 => node.clone().prop_map(LifecycleCommand::Revive),
        3 => (node.clone(), any::<bool>()).prop_map(|(node, ready)| LifecycleCommand::Ready(node, ready)),
        1 => (node.clone(), any::<bool>()).prop_map(|(node, on)| LifecycleCommand::Cordon(node, on)),
        1 => node.clone().prop_map(LifecycleCommand::Exclude),
        1 => (node.clone(), 0u8..3).prop_map(|(node, zone)| LifecycleCommand::Move(node, zone)),
        1 => node.clone().prop_map(LifecycleCommand::Replace),
        1 => (0u8..20, node).prop_map(|(pod, node)| LifecycleCommand::Bind(pod, node)),
        10 => some_time.clone().prop_map(LifecycleCommand::Pass),
        1 => some_time.clone().prop_map(LifecycleCommand::Pause),
        1 => (some_time.clone(), any::<bool>()).prop_map(|(time, noticed)| LifecycleCommand::Cut(time, noticed)),
        1 => (0i64..90).prop_map(LifecycleCommand::Lag),
        1 => Just(LifecycleCommand::List),
        2 => (0i64..40).prop_map(LifecycleCommand::Restart),
        1 => some_time.clone().prop_map(LifecycleCommand::Follow),
        2 => prop::collection::vec(0u8..7, 1..8).prop_map(LifecycleCommand::Faults),
        1 => some_time.clone().prop_map(LifecycleCommand::LoseLeases),
        1 => (some_time, any::<bool>()).prop_map(|(time, nodes)| LifecycleCommand::BreakList(time, nodes)),
    ];
    prop::collection::vec(one, 1..40)
}

fn name(node: u8) -> String {
    format!("{}{}", ["a", "b"][usize::from(node % 2)], node / 2)
}

fn perform(harness: &mut NodeLifecycleHarness, command: LifecycleCommand) {
    match command {
        LifecycleCommand::Kill(node) => harness.kill(&[&name(node)]),
        LifecycleCommand::Revive(node) => harness.revive(&[&name(node)]),
        LifecycleCommand::Ready(node, ready) => harness.set_ready(&name(node), ready),
        LifecycleCommand::Cordon(node, on) => harness.edit(&name(node), |node| node.unschedulable = on),
        LifecycleCommand::Exclude(node) => harness.edit(&name(node), |node| node.excluded = !node.excluded),
        LifecycleCommand::Move(node, zone) => {
            harness.edit(&name(node), |node| {
                node.zone = crate::node_lifecycle::harness::zone(["a", "b", "c"][usize::from(zone)])
            });
        }
        LifecycleCommand::Replace(node) => {
            harness.remove_node(&name(node));
            harness.add_node(&name(node), "a");
        }
        LifecycleCommand::Bind(pod, node) => harness.bind(&format!("pod-{pod}"), &name(node)),
        LifecycleCommand::Pass(time) => harness.pass(time),
        LifecycleCommand::Pause(time) => {
            harness.paused = true;
            harness.pass(time);
            harness.paused = false;
        }
        LifecycleCommand::Cut(time, noticed) => {
            harness.api = false;
            if noticed {
                let since = harness.clock().mono;
                harness.submit(NodeLifecycleInput::StreamLost { stream: WatchedKind::Nodes, since });
                harness.submit(NodeLifecycleInput::StreamLost { stream: WatchedKind::Leases, since });
            }
            harness.pass(time);
            harness.api = true;
            harness.list(false);
        }
        LifecycleCommand::Lag(time) => harness.lease_lag = time * SECOND,
        LifecycleCommand::List => harness.list(false),
        LifecycleCommand::Restart(time) => {
            harness.crash();
            harness.pass(time);
            harness.start();
        }
        LifecycleCommand::Follow(time) => {
            (harness.leading, harness.observing) = (false, time % 2 == 0);
            harness.pass(time);
            (harness.leading, harness.observing) = (true, false);
            harness.submit(NodeLifecycleInput::BecameLeader);
        }
        LifecycleCommand::Faults(faults) => {
            let fault = |choice| match choice {
                0 => Some(ApiFailure::Unavailable),
                1 => Some(ApiFailure::Conflict),
                2 => Some(ApiFailure::Throttled(None)),
                _ => None,
            };
            harness.faults = faults.into_iter().map(fault).collect();
        }
        LifecycleCommand::LoseLeases(time) => {
            let since = harness.clock().mono;
            harness.submit(NodeLifecycleInput::StreamLost { stream: WatchedKind::Leases, since });
            harness.pass(time);
            harness.submit(NodeLifecycleInput::StreamRecovered { stream: WatchedKind::Leases });
        }
        LifecycleCommand::BreakList(time, nodes) => {
            let stream = if nodes { WatchedKind::Nodes } else { WatchedKind::Leases };
            let silent_since = Some(harness.clock().mono);
            harness.submit(list_started(stream, silent_since));
            harness.pass(time);
            harness.submit(list_aborted(stream));
        }
    }
}

fn runs() -> Runs {
    Runs { max_shrink_iters: 5_000, ..cases(1_000) }
}

fn harness() -> NodeLifecycleHarness {
    let mut harness = NodeLifecycleHarness::unsettled(&[("a", 5), ("b", 4)], NodeLifecycleFlags::default());
    harness.pass(100);
    harness
}

proptest! {
    #![proptest_config(runs())]

    /// S6, S7, S8, NL-27, NL-45 at every commit, whatever goes wrong; and when nothing goes wrong any more, all dead
    /// nodes are tainted, no other is, and nothing more is written.
    #[test]
    fn no_node_is_tainted_by_mistake_and_in_the_end_all_dead_ones_are(commands in commands()) {
        let mut harness = harness();
        for command in commands {
            perform(&mut harness, command);
        }
        harness.faults.clear();
        harness.lease_lag = 0;
        harness.list(false);
        // Most nodes of each zone are alive, so that no zone stops and not all nodes are down.
        for node in 0..NODES {
            let name = name(node);
            harness.edit(&name, |fact| (fact.zone, fact.excluded) = (crate::node_lifecycle::harness::zone(&name[..1]), false));
            if node < 6 {
                harness.revive(&[&name]);
                harness.set_ready(&name, true);
            }
        }
        harness.pass(300);
        for (name, kubelet) in &harness.kubelets {
            let evicted = !harness.own(name).no_execute().is_empty();
            prop_assert_eq!(evicted, !kubelet.alive || !kubelet.ready, "{}: {:?}", name, kubelet);
            prop_assert_ne!(harness.own(name).no_execute(), ManagedTaints::NO_EXECUTE);
        }
        let written = harness.commits.len();
        harness.pass(400);
        prop_assert_eq!(written, harness.commits.len(), "nothing changes, nothing is written");
    }

    /// The same facts at one moment make the same engine, in any order and any number of repetitions (NL-43).
    #[test]
    fn order_and_number_of_facts_do_not_matter(
        facts in prop::collection::vec(fact(), 1..30),
        choices in prop::collection::vec(any::<u8>(), 1..200),
    ) {
        let straight = engine(&facts);
        prop_assert_eq!(straight, engine(&retold(&facts, &choices)));
    }
}

/// A fact about one of a few objects, from a few numbers.
fn fact() -> impl Strategy<Value = NodeLifecycleInput> {
    (0u8..12, 0u8..4, any::<[u8; 4]>()).prop_map(|(kind, object, numbers)| made(kind, object, numbers))
}

fn made(kind: u8, object: u8, [one, two, three, four]: [u8; 4]) -> NodeLifecycleInput {
    let node = NodeName::new(&format!("n{object}"));
    match kind {
        0..6 => NodeLifecycleInput::Nodes(ObjectEvent::Applied {
            fact: node_fact(node, [one, two, three, four]),
            listed: false,
        }),
        6 => NodeLifecycleInput::Nodes(ObjectEvent::Deleted(ObjectRef::node(&node, None))),
        7 => NodeLifecycleInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(&node, None))),
        8 | 9 => {
            let renewed = Some(Wall::from_secs(i64::from(one)));
            NodeLifecycleInput::Leases(ObjectEvent::Applied {
                fact: LeaseFact { node, version: None, renewed },
                listed: false,
            })
        }
        10 => NodeLifecycleInput::Leases(ObjectEvent::Undecodable(ObjectRef::node(&node, None))),
        _ => {
            let ready =
                [None, Some(ConditionStatus::True), Some(ConditionStatus::False)][usize::from(one % 3)];
            let uid = Uid::new(&format!("{object}"));
            NodeLifecycleInput::Pods(ObjectEvent::Applied {
                fact: PodReadinessFact { id: PodId::new(uid, PodName::new("default", "p")), node, ready },
                listed: false,
            })
        }
    }
}

fn node_fact(name: NodeName, [one, two, three, four]: [u8; 4]) -> NodeHealthFact {
    let status = [
        ConditionStatus::True,
        ConditionStatus::False,
        ConditionStatus::Unknown,
        ConditionStatus::True,
        ConditionStatus::Other,
    ][usize::from(one % 5)];
    let heartbeat = Some(Wall::from_secs(i64::from(two)));
    let ready = NodeCondition { kind: ConditionKind::Ready, status, heartbeat };
    NodeHealthFact {
        uid: Uid::new(&format!("{name}-{}", three % 2)),
        name,
        version: None,
        created: Some(Wall::from_secs(0)),
        zone: crate::node_lifecycle::harness::zone(["a", "b"][usize::from(three / 2 % 2)]),
        excluded: four % 5 == 0,
        unschedulable: four % 3 == 0,
        taints: Vec::new(),
        conditions: vec![ready],
        platform: PlatformLabels::default(),
    }
}

fn engine(facts: &[NodeLifecycleInput]) -> NodeLifecycleEngine {
    let now = Now::exact(Mono::from_secs(1_000), Wall::from_secs(1_800_000_000));
    let mut engine = NodeLifecycleEngine::new(NodeLifecycleConfig::default());
    for stream in [WatchedKind::Nodes, WatchedKind::Leases] {
        engine.handle(list_started(stream, None), now);
        engine.handle(list_completed(stream), now);
    }
    engine.handle(NodeLifecycleInput::OwnRequestSucceeded { sent: now.mono }, now);
    facts.iter().for_each(|fact| engine.handle(fact.clone(), now));
    engine.tick(now.mono);
    engine.take_notices();
    engine
}

/// Another order that keeps each object's own; some facts twice.
fn retold(facts: &[NodeLifecycleInput], choices: &[u8]) -> Vec<NodeLifecycleInput> {
    let object = |fact: &NodeLifecycleInput| match fact {
        NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact, .. }) => (0, fact.name.clone()),
        NodeLifecycleInput::Nodes(ObjectEvent::Deleted(node) | ObjectEvent::Undecodable(node)) => {
            (0, node.node_name())
        }
        NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, .. }) => (1, fact.node.clone()),
        NodeLifecycleInput::Leases(ObjectEvent::Undecodable(lease)) => (1, lease.node_name()),
        NodeLifecycleInput::Pods(ObjectEvent::Applied { fact, .. }) => (2, fact.node.clone()),
        other => panic!("not a fact: {other:?}"),
    };
    let mut left: Vec<NodeLifecycleInput> = facts.to_vec();
    let mut choices = choices.iter().copied().cycle();
    let mut reported = Vec::new();
    while !left.is_empty() {
        let choice = usize::from(choices.next().expect("a cycle does not end"));
        let chosen = object(&left[choice % left.len()]);
        let first = left.iter().position(|fact| object(fact) == chosen).expect("the fact exists");
        let fact = left.remove(first);
        reported.push(fact.clone());
        if choice % 3 == 0 {
            reported.push(fact);
        }
    }
    reported
}

proptest! {
    #![proptest_config(cases(300))]

    /// A node whose lease advances within the grace period is never tainted, however late and however often its events
    /// arrive: the live read comes first.
    #[test]
    fn a_node_that_renews_in_time_is_never_tainted(
        lags in prop::collection::vec(0i64..200, 1..12),
        repeats in prop::collection::vec(any::<bool>(), 12),
    ) {
        let mut harness = harness();
        harness.kill(&["b3"]);
        for (lag, repeat) in lags.into_iter().zip(repeats) {
            harness.lease_lag = lag * SECOND;
            harness.pass(45);
            if repeat {
                let again = harness.stored["a0"].lease.clone().expect("it has a lease");
                let old = LeaseFact { version: Some(ResourceVersion(2)), renewed: Some(Wall::from_secs(0)), ..again.clone() };
                harness.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact: again, listed: false }));
                harness.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact: old, listed: false }));
            }
        }
        prop_assert!(harness.commits.iter().all(|commit| commit.node == "b3"), "{:?}", harness.commits);
    }
}

/// The sequences are meaningful: in most of them some node is tainted NoExecute.
#[test]
fn sequences_taint() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let tainting = (0..100).filter(|_| {
        let commands = commands().new_tree(&mut runner).expect("a sequence").current();
        let mut harness = harness();
        commands.into_iter().for_each(|command| perform(&mut harness, command));
        !harness.invariants.evictions.is_empty()
    });
    let tainting = tainting.count();
    assert!(tainting > 50, "{tainting} of 100");
}
