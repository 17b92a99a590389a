//! Ends a history fairly with an exact API server, and panics if a node, a pod or a zone is not as it should be.

use super::{EPOCH, FuzzHistory, NODES, STREAMS, clock, name, number, taint};
use crate::node_lifecycle::harness::{SECOND, zone};
use crate::node_lifecycle::{list_aborted, list_completed, list_started};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, LiveRead};
use taintward_core::identity::{PodId, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{
    ConditionKind, ConditionStatus, LeaseFact, LiveNodeAndLease, ManagedTaint, ManagedTaints, NodeCondition,
    NodeHealthFact, NodeLifecycleEffect, NodeLifecycleInput, NodeRef, PlatformLabels, PodReadinessFact,
    WatchedKind,
};
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Wall};

const LENGTH: i64 = 300 * SECOND;
/// Responses to earlier marks arrive when dying nodes have been down again for a while.
const LATE_MARKS: i64 = 100 * SECOND;

struct Truth {
    nodes: Vec<NodeHealthFact>,
    leases: Vec<LeaseFact>,
    pods: Vec<PodReadinessFact>,
    dead: std::ops::Range<usize>,
    /// More than half of its only zone is dead.
    stopped: bool,
}

impl Truth {
    fn new(history: &mut FuzzHistory, seed: u64) -> Self {
        let stopped = seed % 4 == 1;
        let dead = match seed % 4 {
            0 => 3..4,
            1 => 1..4,
            3 => 3..4,
            _ => 0..0,
        };
        let together = stopped || seed.is_multiple_of(5);
        history.version += 1_000;
        let now = Wall::from_micros(EPOCH + history.now);
        let ready =
            NodeCondition { kind: ConditionKind::Ready, status: ConditionStatus::True, heartbeat: Some(now) };
        let nodes = (0..NODES).map(|node| NodeHealthFact {
            uid: Uid::new(&format!("u{node}-false")),
            version: Some(history.bump()),
            zone: zone(if together { "z" } else { ["a", "a", "b", "b"][node] }),
            excluded: false,
            unschedulable: false,
            platform: PlatformLabels::default(),
            conditions: vec![ready],
            ..history.node_fact(node)
        });
        let nodes: Vec<NodeHealthFact> = nodes.collect();
        let lease = |node| LeaseFact { node: name(node), version: Some(history.bump()), renewed: Some(now) };
        let leases = (0..NODES).map(lease).collect();
        let pod = |node| PodReadinessFact {
            id: PodId::new(Uid::new(&format!("p{node}-0")), PodName::new("default", &format!("p{node}-0"))),
            node: name(node),
            ready: Some(ConditionStatus::True),
        };
        Self { nodes, leases, pods: (0..NODES).map(pod).collect(), dead, stopped }
    }

    fn list(&self, history: &mut FuzzHistory) {
        let silent_since = Some(Mono::from_micros(history.now));
        for stream in STREAMS {
            history.submit(list_started(stream, silent_since));
            for node in 0..NODES {
                history.submit(match stream {
                    WatchedKind::Nodes => NodeLifecycleInput::Nodes(ObjectEvent::Applied {
                        fact: self.nodes[node].clone(),
                        listed: true,
                    }),
                    WatchedKind::Leases => NodeLifecycleInput::Leases(ObjectEvent::Applied {
                        fact: self.leases[node].clone(),
                        listed: true,
                    }),
                    WatchedKind::Pods => NodeLifecycleInput::Pods(ObjectEvent::Applied {
                        fact: self.pods[node].clone(),
                        listed: false,
                    }),
                });
            }
            history.submit(list_completed(stream));
        }
    }

    fn renew(&mut self, node: usize, history: &mut FuzzHistory) {
        let lease = &mut self.leases[node];
        lease.version = Some(history.bump());
        lease.renewed = Some(Wall::from_micros(EPOCH + history.now));
        let fact = lease.clone();
        history.submit(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, listed: false }));
    }

    fn carry_out(&mut self, effect: NodeLifecycleEffect, history: &mut FuzzHistory) {
        let sent = Mono::from_micros(history.now);
        let input = match effect {
            NodeLifecycleEffect::ReadNode { node } => {
                let at = number(&node);
                let (fact, lease) = (self.nodes[at].clone(), self.leases[at].clone());
                let result =
                    Ok(LiveNodeAndLease { node: LiveRead::Found(fact), lease: LiveRead::Found(lease) });
                NodeLifecycleInput::Confirmed { node, sent, result }
            }
            NodeLifecycleEffect::PatchTaints { node, version, add, remove, .. } => {
                self.write(node, version, history, |fact| {
                    fact.taints.retain(|taint| !ManagedTaint::of(taint).is_some_and(|own| remove.has(own)));
                    fact.taints.extend(add.iter().map(|own| taint(&own.to_string())));
                })
            }
            NodeLifecycleEffect::SetConditionsUnknown { node, version, conditions, .. } => {
                self.write(node, version, history, |fact| {
                    for (kind, _) in conditions {
                        fact.conditions.retain(|condition| condition.kind != kind);
                        let heartbeat = fact.created;
                        fact.conditions.push(NodeCondition {
                            kind,
                            status: ConditionStatus::Unknown,
                            heartbeat,
                        });
                    }
                })
            }
            NodeLifecycleEffect::PatchLabels { node, version, .. } => {
                self.write(node, version, history, |_| {})
            }
            NodeLifecycleEffect::SetPodNotReady { pod, .. } => {
                let held = self.pods.iter_mut().find(|held| *held.id.uid() == pod.uid);
                let result = held
                    .map(|held| held.ready.replace(ConditionStatus::False) != Some(ConditionStatus::False));
                NodeLifecycleInput::PodMarked { pod, result: result.ok_or(ApiFailure::NotFound) }
            }
        };
        history.submit(input);
        for fact in self.nodes.clone() {
            history.submit(NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact, listed: false }));
        }
        for fact in self.pods.clone() {
            history.submit(NodeLifecycleInput::Pods(ObjectEvent::Applied { fact, listed: false }));
        }
    }

    fn write(
        &mut self,
        node: NodeRef,
        version: Option<ResourceVersion>,
        history: &mut FuzzHistory,
        write: impl FnOnce(&mut NodeHealthFact),
    ) -> NodeLifecycleInput {
        let fact = &mut self.nodes[number(&node.name)];
        if fact.uid != node.uid || version.is_some() && version != fact.version {
            return NodeLifecycleInput::Written { node: node.name, result: Err(ApiFailure::Conflict) };
        }
        write(fact);
        fact.version = Some(history.bump());
        NodeLifecycleInput::Written { node: node.name, result: Ok(fact.version) }
    }

    fn judge(&self, history: &FuzzHistory) {
        let off = ManagedTaints::NONE.with(ManagedTaint::Unreachable);
        for node in 0..NODES {
            let (own, dead) = (ManagedTaints::of(&self.nodes[node].taints), self.dead.contains(&node));
            let wanted = match (dead, self.stopped) {
                (false, _) => ManagedTaints::NONE,
                (true, false) => off.with(ManagedTaint::UnreachableNoExecute),
                (true, true) => off,
            };
            let why = history.engine.explain(&name(node), clock(history.now).mono);
            assert_eq!(own, wanted, "n{node}: {why:?}");
            assert_eq!(self.pods[node].ready == Some(ConditionStatus::False), dead, "the pod of n{node}");
        }
        let census = history.engine.stats();
        let waiting = if self.stopped { self.dead.len() } else { 0 };
        assert_eq!(census.waiting, waiting, "{census:?}");
        assert_eq!(census.in_flight + census.marks + census.failing, 0, "{census:?}");
        let counted: u32 = history.engine.zones().map(|zone| zone.size).sum();
        assert_eq!(counted as usize, NODES);
    }
}

/// Nothing goes wrong any more; in the end everything is as it should be.
pub(super) fn check(history: &mut FuzzHistory, seed: u64) {
    let mut truth = Truth::new(history, seed);
    let (marks, others): (Vec<_>, Vec<_>) = std::mem::take(&mut history.out)
        .into_iter()
        .partition(|it| matches!(it, NodeLifecycleEffect::SetPodNotReady { .. }));
    let mut late_marks = Some(marks);
    truth.list(history);
    for stream in STREAMS {
        // A relist is aborted, and the watch continues.
        if history.dice.percent(50) {
            history.submit(list_started(stream, Some(Mono::from_micros(history.now))));
            history.submit(list_aborted(stream));
        }
    }
    for node in truth.dead.clone() {
        // The last heartbeats of nodes that die in the same instant.
        history.now += 3_000;
        truth.renew(node, history);
    }
    others.into_iter().for_each(|effect| truth.carry_out(effect, history));
    let (began, mut beat, mut witness) = (history.now, history.now, history.now);
    for _ in 0..5_000 {
        if beat <= history.now {
            beat = history.now + 10 * SECOND;
            let alive: Vec<usize> = (0..NODES).filter(|node| !truth.dead.contains(node)).collect();
            alive.into_iter().for_each(|node| truth.renew(node, history));
        }
        if witness <= history.now {
            witness = history.now + 2 * SECOND;
            history.submit(NodeLifecycleInput::OwnRequestSucceeded { sent: Mono::from_micros(history.now) });
        }
        if history.now >= began + LATE_MARKS {
            for effect in late_marks.take().into_iter().flatten() {
                let NodeLifecycleEffect::SetPodNotReady { pod, .. } = effect else { continue };
                history.submit(NodeLifecycleInput::PodMarked { pod, result: Ok(true) });
            }
        }
        history.engine.tick(Mono::from_micros(history.now));
        while history.pull() {
            assert!(history.out.len() <= 200, "effects without end");
        }
        if let Some(effect) = history.out.pop() {
            truth.carry_out(effect, history);
            continue;
        }
        if history.now >= began + LENGTH {
            return truth.judge(history);
        }
        let wake = history.engine.next_wakeup().map_or(i64::MAX, Mono::as_micros);
        assert!(wake > history.now, "a wakeup without any work: {wake}");
        history.now = wake.min(beat).min(witness).min(began + LENGTH);
    }
    panic!("no rest");
}
