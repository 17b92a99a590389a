//! Generates random commands and applies them to a simulated cluster.

use crate::common::cluster::SECOND;
use crate::common::storm::Storm;
use proptest::prelude::*;
use taintward_core::fact::PodLifePhase;
use taintward_core::taint::TaintEffect;
use taintward_core::toleration::{Toleration, TolerationOperator};

#[derive(Clone, Debug)]
pub(crate) enum EvictionCommand {
    PutNode(u8),
    RemoveNode(u8),
    Taint {
        node: u8,
        key: u8,
        effect: u8,
        stamped: bool,
    },
    Untaint {
        node: u8,
        key: u8,
    },
    /// The taint is removed and added again, so soon that the times of both have the same second.
    Retaint {
        node: u8,
        key: u8,
        stamped: bool,
    },
    Refresh {
        node: u8,
        key: u8,
    },
    TouchNode(u8),
    NodeReadable {
        node: u8,
        readable: bool,
    },
    PutPod {
        pod: u8,
        node: u8,
        tolerations: Vec<u8>,
        lingers: bool,
    },
    RemovePod(u8),
    Tolerate {
        pod: u8,
        tolerations: Vec<u8>,
    },
    TouchPod(u8),
    Finish(u8),
    Terminate(u8),
    Mark {
        pod: u8,
        on: bool,
    },
    PodReadable {
        pod: u8,
        readable: bool,
    },
    Pass(i64),
    Lag {
        nodes: u8,
        pods: u8,
    },
    Deaf(bool),
    List,
    Lose(u8),
    Stall,
    Repeat(u8),
    Restart,
    Capacity(u8),
    Hold(bool),
    /// The engine's wall clock is ahead by this many milliseconds, and the engine knows that it may be wrong by that
    /// and some more; or the server's clock is unknown to it.
    Clock {
        ahead: i64,
        more: Option<i64>,
    },
}

const NODES: u8 = 3;
const PODS: u8 = 7;
const KEYS: [&str; 3] = ["k", "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

fn effect(choice: u8) -> TaintEffect {
    match choice {
        0 => TaintEffect::NoSchedule,
        1 => TaintEffect::Unknown("NoExecuteAtAll".into()),
        _ => TaintEffect::NoExecute,
    }
}

/// Every kind of toleration: short, long, unlimited, zero, absurd; any key, any effect, others' effects, unknown.
fn tolerations(choices: &[u8]) -> Vec<Toleration> {
    let made = |&choice: &u8| {
        let key = KEYS[usize::from(choice) % 3];
        let (key, operator, effect, seconds) = match choice / 3 {
            0 => (key, TolerationOperator::Exists, Some(TaintEffect::NoExecute), Some(60)),
            1 => (key, TolerationOperator::Exists, Some(TaintEffect::NoExecute), Some(300)),
            2 => (key, TolerationOperator::Exists, Some(TaintEffect::NoExecute), None),
            3 => (key, TolerationOperator::Equal, None, Some(2)),
            4 => (
                key,
                TolerationOperator::Unset,
                Some(TaintEffect::NoExecute),
                Some([0, -1, i64::MIN][choice as usize % 3]),
            ),
            5 => (
                key,
                TolerationOperator::Exists,
                None,
                Some([i64::MAX, 18_446_744_074, 86_400][choice as usize % 3]),
            ),
            6 => (
                "",
                TolerationOperator::Exists,
                [None, Some(TaintEffect::NoExecute)][choice as usize % 2].clone(),
                Some(30),
            ),
            7 => (key, TolerationOperator::Exists, Some(TaintEffect::NoSchedule), None),
            8 => (key, TolerationOperator::Unknown("In".into()), Some(TaintEffect::NoExecute), Some(5)),
            9 => (key, TolerationOperator::Exists, Some(TaintEffect::Unknown("x".into())), Some(5)),
            _ => (key, TolerationOperator::Lt, Some(TaintEffect::NoExecute), None),
        };
        Toleration { key: key.into(), operator, value: "".into(), effect, seconds }
    };
    choices.iter().map(made).collect()
}

/// Lists of tolerations; the understood and finite ones prevail.
fn some_tolerations() -> impl Strategy<Value = Vec<u8>> {
    let one = prop_oneof![4 => 0u8..6, 2 => 6u8..21, 1 => 21u8..33];
    prop::collection::vec(one, 0..4)
}

fn some_time() -> impl Strategy<Value = i64> {
    prop_oneof![
        1 => Just(1),
        2 => 0..SECOND,
        4 => 0..100 * SECOND,
        2 => (0i64..400).prop_map(|seconds| seconds * SECOND),
        1 => 0..3 * 86_400 * SECOND,
    ]
}

fn ordinary(unstamped: bool) -> BoxedStrategy<EvictionCommand> {
    let (node, pod, key) = (0..NODES, 0..PODS, 0u8..3);
    let stamped = if unstamped { any::<bool>().boxed() } else { Just(true).boxed() };
    prop_oneof![
        1 => node.clone().prop_map(EvictionCommand::PutNode),
        1 => node.clone().prop_map(EvictionCommand::RemoveNode),
        9 => (node.clone(), key.clone(), 0u8..12, stamped)
            .prop_map(|(node, key, effect, stamped)| EvictionCommand::Taint { node, key, effect, stamped }),
        3 => (node.clone(), key.clone()).prop_map(|(node, key)| EvictionCommand::Untaint { node, key }),
        3 => (node.clone(), key, any::<bool>().prop_map(move |on| on || !unstamped))
            .prop_map(|(node, key, stamped)| EvictionCommand::Retaint { node, key, stamped }),
        1 => node.clone().prop_map(EvictionCommand::TouchNode),
        9 => (pod.clone(), node, some_tolerations(), any::<bool>()).prop_map(
            |(pod, node, tolerations, lingers)| EvictionCommand::PutPod { pod, node, tolerations, lingers }
        ),
        1 => pod.clone().prop_map(EvictionCommand::RemovePod),
        3 => (pod.clone(), some_tolerations())
            .prop_map(|(pod, tolerations)| EvictionCommand::Tolerate { pod, tolerations }),
        1 => pod.clone().prop_map(EvictionCommand::TouchPod),
        1 => pod.clone().prop_map(EvictionCommand::Finish),
        1 => pod.prop_map(EvictionCommand::Terminate),
        8 => some_time().prop_map(EvictionCommand::Pass),
    ]
    .boxed()
}

fn hold() -> impl Strategy<Value = EvictionCommand> {
    prop::bool::weighted(0.6).prop_map(EvictionCommand::Hold)
}

fn clock() -> impl Strategy<Value = EvictionCommand> {
    let ahead = prop_oneof![-3_600_000i64..=3_600_000, -3_000i64..=3_000];
    (ahead, prop::option::weighted(0.8, 0i64..2_000))
        .prop_map(|(ahead, more)| EvictionCommand::Clock { ahead, more })
}

/// Clocks are stepped, and processes crash; everything else succeeds.
pub(crate) fn wrong_clocks() -> BoxedStrategy<Vec<EvictionCommand>> {
    let restart = prop_oneof![3 => Just(EvictionCommand::Restart), 1 => Just(EvictionCommand::List)];
    with_nodes(prop_oneof![5 => ordinary(false), 2 => restart, 1 => clock()].boxed(), 40)
}

/// Any client may do anything to objects, but every event arrives immediately and every request succeeds.
pub(crate) fn calm() -> BoxedStrategy<Vec<EvictionCommand>> {
    let marks = (0..PODS, any::<bool>()).prop_map(|(pod, on)| EvictionCommand::Mark { pod, on });
    let readable =
        (0..PODS, any::<bool>()).prop_map(|(pod, readable)| EvictionCommand::PodReadable { pod, readable });
    let refresh = (0..NODES, 0u8..3).prop_map(|(node, key)| EvictionCommand::Refresh { node, key });
    let one = prop_oneof![20 => ordinary(true), 2 => marks, 1 => readable, 1 => refresh, 2 => hold()];
    with_nodes(one.boxed(), 40)
}

pub(crate) fn restarting() -> BoxedStrategy<Vec<EvictionCommand>> {
    let one = prop_oneof![5 => ordinary(false), 1 => Just(EvictionCommand::Restart), 1 => Just(EvictionCommand::List)];
    with_nodes(one.boxed(), 40)
}

/// Everything.
pub(crate) fn stormy() -> BoxedStrategy<Vec<EvictionCommand>> {
    let (node, pod) = (0..NODES, 0..PODS);
    let failure = prop_oneof![
        1 => (node.clone(), 0u8..3).prop_map(|(node, key)| EvictionCommand::Refresh { node, key }),
        1 => (node, any::<bool>()).prop_map(|(node, readable)| EvictionCommand::NodeReadable { node, readable }),
        1 => (pod.clone(), any::<bool>())
            .prop_map(|(pod, readable)| EvictionCommand::PodReadable { pod, readable }),
        1 => (pod, any::<bool>()).prop_map(|(pod, on)| EvictionCommand::Mark { pod, on }),
        2 => hold(),
        2 => (0u8..5, 0u8..5).prop_map(|(nodes, pods)| EvictionCommand::Lag { nodes, pods }),
        2 => prop::bool::weighted(0.3).prop_map(EvictionCommand::Deaf),
        2 => Just(EvictionCommand::List),
        1 => any::<u8>().prop_map(EvictionCommand::Lose),
        1 => Just(EvictionCommand::Stall),
        1 => any::<u8>().prop_map(EvictionCommand::Repeat),
        1 => Just(EvictionCommand::Restart),
        1 => (0u8..6).prop_map(EvictionCommand::Capacity),
        1 => clock(),
    ];
    let one = prop_oneof![2 => ordinary(true), 1 => failure];
    with_nodes(one.boxed(), 60)
}

/// A sequence that starts with some nodes, so that commands have objects.
fn with_nodes(one: BoxedStrategy<EvictionCommand>, length: usize) -> BoxedStrategy<Vec<EvictionCommand>> {
    let sequence = prop::collection::vec(one, length / 4..length);
    let begin =
        |commands: Vec<EvictionCommand>| (0..NODES).map(EvictionCommand::PutNode).chain(commands).collect();
    sequence.prop_map(begin).boxed()
}

/// How far a stream can lag.
fn lag(choice: u8) -> i64 {
    [0, 0, 3_000, SECOND, 20 * SECOND][usize::from(choice)]
}

pub(crate) fn perform(storm: &mut Storm, command: EvictionCommand) {
    // No two commands happen at the same instant.
    storm.pass(1);
    let cluster = &mut storm.cluster;
    let key = |key: u8| KEYS[usize::from(key)];
    match command {
        EvictionCommand::PutNode(node) => cluster.put_node(node),
        EvictionCommand::RemoveNode(node) => cluster.remove_node(node),
        EvictionCommand::Taint { node, key: of, effect: choice, stamped } => {
            cluster.add_taint(node, key(of), effect(choice), stamped);
        }
        EvictionCommand::Untaint { node, key: of } => cluster.untaint(node, key(of)),
        EvictionCommand::Retaint { node, key: of, stamped } => {
            cluster.untaint(node, key(of));
            cluster.add_taint(node, key(of), TaintEffect::NoExecute, stamped);
        }
        EvictionCommand::Refresh { node, key: of } => cluster.refresh(node, key(of)),
        EvictionCommand::TouchNode(node) => cluster.edit_node(node, |_, _| ()),
        EvictionCommand::NodeReadable { node, readable } => {
            cluster.edit_node(node, |node, _| node.unreadable = !readable);
        }
        EvictionCommand::PutPod { pod, node, tolerations: list, lingers } => {
            cluster.put_pod(pod, node, tolerations(&list), lingers);
        }
        EvictionCommand::RemovePod(pod) => cluster.remove_pod(pod),
        EvictionCommand::Tolerate { pod, tolerations: list } => {
            cluster.edit_pod(pod, |pod| pod.fact.tolerations = tolerations(&list));
        }
        EvictionCommand::TouchPod(pod) => cluster.edit_pod(pod, |_| ()),
        EvictionCommand::Finish(pod) => {
            cluster.edit_pod(pod, |pod| leave(&mut pod.fact.life_phase, PodLifePhase::Finished))
        }
        EvictionCommand::Terminate(pod) => {
            cluster.edit_pod(pod, |pod| pod.fact.life_phase = PodLifePhase::Terminating);
        }
        EvictionCommand::Mark { pod, on } => cluster.edit_pod(pod, |pod| pod.fact.marked = on),
        EvictionCommand::PodReadable { pod, readable } => {
            cluster.edit_pod(pod, |pod| pod.unreadable = !readable);
        }
        EvictionCommand::Pass(micros) => storm.pass(micros),
        EvictionCommand::Lag { nodes, pods } => (storm.nodes.lag, storm.pods.lag) = (lag(nodes), lag(pods)),
        EvictionCommand::Deaf(deaf) => storm.deaf = deaf,
        EvictionCommand::List => storm.list(),
        EvictionCommand::Stall => storm.stall(),
        EvictionCommand::Lose(which) => storm.lose(which.into()),
        EvictionCommand::Repeat(which) => storm.repeat(which.into()),
        EvictionCommand::Restart => storm.restart(),
        EvictionCommand::Hold(on) => storm.hold(on),
        EvictionCommand::Clock { ahead, more } => {
            cluster.clock_error = ahead * 1_000;
            cluster.skew_max = more.map(|more| (ahead.abs() + more) * 1_000);
        }
        EvictionCommand::Capacity(room) => storm.capacity = if room == 0 { usize::MAX } else { room.into() },
    }
    storm.settle();
}

/// A terminating pod does not become live again.
fn leave(life_phase: &mut PodLifePhase, to: PodLifePhase) {
    if *life_phase == PodLifePhase::Live {
        *life_phase = to;
    }
}
