//! Generates facts of very many pods and nodes, with lists of tolerations that few templates share.

use std::time::{Duration, Instant};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput};
use taintward_core::fact::{BindingTimes, NodeFact, PodFact, PodOwnerKind};
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::taint::TaintEffect;
use taintward_core::testkit::{self, taint, toleration};
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration::{Toleration, TolerationOperator};

/// Distinct lists of tolerations in the crowd.
const KINDS: usize = 15;

pub const KEY: &str = "node.kubernetes.io/unreachable";

pub fn now() -> Now {
    Now::exact(Mono::from_secs(10_000), Wall::from_secs(1_800_000_000))
}

/// Every pod has the two that admission adds (300 s); most kinds have a few of their own.
pub fn tolerations(kind: usize, period: i64) -> Vec<Toleration> {
    let mut list: Vec<_> = (0..kind % 5)
        .map(|at| toleration(&format!("dedicated.example.com/{}-{at}", kind / 5), None))
        .collect();
    for key in ["node.kubernetes.io/not-ready", KEY] {
        list.push(toleration(key, Some(period + kind as i64)));
    }
    list
}

pub fn node_name(node: usize) -> NodeName {
    NodeName::new(&format!(
        "ip-10-{}-{}-{}.eu-central-1.compute.internal",
        node >> 16,
        node >> 8 & 255,
        node & 255
    ))
}

/// A node with a name and a UID as long as those of clouds.
pub fn large_node(node: usize, version: u64, taints: &[&str]) -> NodeFact {
    NodeFact {
        name: node_name(node),
        uid: Uid::new(&format!("9c3a0b1e-0000-4000-8000-{node:012x}")),
        ..testkit::node("").at_version(version).tainted(taints.iter().map(|key| taint(key).added(now().wall)))
    }
}

/// A pod with a name and a UID as long as those of clouds; UIDs arrive in no particular order.
pub fn large_pod(pod: usize, node: NodeName, tolerations: Vec<Toleration>) -> PodFact {
    let at = Some(Wall::from_secs(1_750_000_000));
    let scattered = (pod as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    PodFact {
        id: PodId::new(
            Uid::new(&format!("{:08x}-{:04x}-4abc-8def-{pod:012x}", scattered >> 32, scattered & 0xffff)),
            PodName::new(
                &format!("team-{}", pod % 40),
                &format!("checkout-api-{:010x}-{:05x}", scattered % 97, pod & 0xf_ffff),
            ),
        ),
        node,
        tolerations,
        owner: if pod.is_multiple_of(30) { PodOwnerKind::DaemonSet } else { PodOwnerKind::Other },
        arrival: BindingTimes { scheduled: at, started: at, created: at },
        ..testkit::pod("").at_version(1_000_000 + pod as u64)
    }
}

/// Returns an engine that has listed this many nodes with this many pods each.
pub fn engine(nodes: usize, pods_each: usize, period: i64) -> EvictionEngine {
    loaded(nodes, pods_each, period).0
}

/// The same, with the time that the engine itself took.
pub fn loaded(nodes: usize, pods_each: usize, period: i64) -> (EvictionEngine, Duration) {
    let mut engine = EvictionEngine::new(EvictionConfig::default());
    let mut taken = Duration::ZERO;
    let mut send = |inputs: Vec<EvictionInput>| {
        let start = Instant::now();
        inputs.into_iter().for_each(|input| engine.handle(input, now()));
        taken += start.elapsed();
    };
    send(vec![EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None })]);
    for at in 0..nodes {
        send(vec![EvictionInput::Nodes(ObjectEvent::Applied { fact: large_node(at, 1, &[]), listed: true })]);
    }
    send(vec![
        EvictionInput::Nodes(ObjectEvent::ListCompleted),
        EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }),
    ]);
    // The API server lists by namespace and name, not by node; pages of 500.
    let listed = |at: usize| {
        let fact = large_pod(at, node_name(at % nodes), tolerations(at % KINDS, period));
        EvictionInput::Pods(ObjectEvent::Applied { fact, listed: true })
    };
    for page in 0..(nodes * pods_each).div_ceil(500) {
        send((page * 500..nodes * pods_each).take(500).map(listed).collect());
    }
    send(vec![EvictionInput::Pods(ObjectEvent::ListCompleted)]);
    engine.take_notices();
    (engine, taken)
}

/// Responds to all effects of the engine until there are none left. Returns how many pods were deleted.
pub fn evict_all(engine: &mut EvictionEngine, read: impl Fn(&NodeName) -> NodeFact) -> usize {
    let mut deleted = 0;
    while let Some(effect) = engine.next_effect(Lane::All, now()) {
        let response = match effect {
            EvictionEffect::ReadNode { node } => {
                let fact = read(&node);
                EvictionInput::NodeConfirmed { node, sent: now().mono, result: Ok(LiveRead::Found(fact)) }
            }
            EvictionEffect::SetDisruptionTarget { pod, .. } => {
                EvictionInput::Marked { pod, result: Ok(Some(ResourceVersion(9_000_000))) }
            }
            EvictionEffect::DeletePod { pod, .. } => {
                deleted += 1;
                EvictionInput::Deleted { pod, result: Ok(()) }
            }
            EvictionEffect::EvictPod { .. } => unreachable!("there is no policy"),
            EvictionEffect::ReadPod { pod, .. } => {
                EvictionInput::PodRead { pod, result: Err(ApiFailure::NotFound), half_deleted: false }
            }
            EvictionEffect::ClearDisruptionTarget { pod, .. } => {
                EvictionInput::Unmarked { pod, result: Ok(()) }
            }
        };
        engine.handle(response, now());
    }
    deleted
}

/// A pod with very many tolerations and a node with very many taints, none of which match until the last.
pub fn hostile(tolerations: usize, taints: usize) -> (PodFact, NodeFact) {
    let list = (0..tolerations).map(|at| {
        let key = format!("hostile.example.com/key-{:05}", at % (taints * 2) + taints / 2);
        let operator = if at % 3 == 0 { TolerationOperator::Exists } else { TolerationOperator::Equal };
        Toleration { operator, ..toleration(&key, Some(1000 + at as i64)) }
    });
    let keys: Vec<_> = (0..taints).map(|at| format!("hostile.example.com/key-{at:05}")).collect();
    let keys: Vec<_> = keys.iter().map(String::as_str).collect();
    (large_pod(1, node_name(0), list.collect()), large_node(0, 2, &keys))
}

/// The same, with tolerations without a key, for another effect: an API server accepts any number of them, and they
/// tolerate no taint.
pub fn hostile_wildcards(tolerations: usize, taints: usize) -> (PodFact, NodeFact) {
    let (mut pod, node) = hostile(0, taints);
    let effects = [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule];
    let wildcard = |at: usize| {
        let effect = Some(effects[at % effects.len()].clone());
        Toleration { effect, ..toleration("", None) }
    };
    pod.tolerations = (0..tolerations).map(wildcard).collect();
    (pod, node)
}
