//! Generates a random history of inputs from a seed.

use crate::common::paired::PairedEngine;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionInput};
use taintward_core::fact::{NodeFact, PodFact, PodLifePhase};
use taintward_core::identity::PodRef;
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::taint::Taint;
use taintward_core::testkit::{self, taint, toleration};
use taintward_core::time::{Mono, Now, Wall};

const KEYS: [&str; 3] = ["k", "l", "node.kubernetes.io/not-ready"];
const EPOCH: i64 = 1_800_000_000;
pub(crate) const NODES: u64 = 2;
pub(crate) const PODS: u64 = 3;

pub(crate) fn node_name(node: u64) -> NodeName {
    NodeName::new(&format!("n{node}"))
}

fn pod_uid(pod: u64) -> Uid {
    Uid::new(&format!("p{pod}"))
}

/// Pseudorandom numbers, the same for the same seed.
struct HistoryChoices(u64);

impl HistoryChoices {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn in_hundred(&mut self, cases: u64) -> bool {
        self.below(100) < cases
    }
}

pub(crate) struct RequestHistory {
    choices: HistoryChoices,
    pub(crate) now: i64,
    version: u64,
    pub(crate) engine: PairedEngine,
    /// Effects without a response.
    pub(crate) requested: Vec<EvictionEffect>,
    pub(crate) log: Vec<String>,
    /// Deletions of pods are also reported while the pods exist.
    lies: bool,
}

impl RequestHistory {
    pub(crate) fn new(seed: u64, lies: bool) -> Self {
        let choices = HistoryChoices(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (requested, log) = (Vec::new(), Vec::new());
        let engine = PairedEngine::unmonitored(EvictionConfig::default());
        let mut history = Self { choices, now: 1_000_000, version: 1, engine, requested, log, lies };
        history.list(None, Vec::new(), None);
        history
    }

    pub(crate) fn clock(&self) -> Now {
        Now::exact(Mono::from_micros(self.now), Wall::from_micros(EPOCH * 1_000_000 + self.now))
    }

    pub(crate) fn feed(&mut self, input: EvictionInput) {
        self.log.push(format!("{} {input:?}", self.now));
        self.engine.handle(input, self.clock());
    }

    /// Checks the invariants.
    pub(crate) fn check(&self) -> Result<(), String> {
        let census = self.engine.stats();
        let pending = self.engine.pending().count();
        if census.counting != pending {
            return Err(format!("{} are counted, {pending} pending", census.counting));
        }
        Ok(())
    }

    pub(crate) fn next_version(&mut self) -> ResourceVersion {
        self.version += 1;
        ResourceVersion(self.version)
    }

    /// Returns a version, mostly a newer one.
    fn some_version(&mut self) -> ResourceVersion {
        let version = self.next_version();
        match self.choices.in_hundred(85) {
            true => version,
            false => ResourceVersion(version.0.saturating_sub(self.choices.below(20)).max(1)),
        }
    }

    fn this_second(&self) -> Wall {
        Wall::from_secs(EPOCH + self.now / 1_000_000)
    }

    pub(crate) fn some_node(&mut self, node: u64) -> NodeFact {
        let uid = Uid::new(&format!("nu{node}-{}", self.choices.below(2)));
        let version = Some(self.some_version());
        let mut taints = Vec::new();
        for key in KEYS {
            if self.choices.in_hundred(35) {
                let time_added = match self.choices.below(3) {
                    0 => None,
                    1 => Some(self.this_second()),
                    _ => Some(Wall::from_secs(EPOCH + self.choices.below(100).cast_signed())),
                };
                taints.push(Taint { time_added, ..taint(key) });
            }
        }
        let taints_changed = self.choices.in_hundred(50).then(|| self.this_second());
        let name = node_name(node);
        NodeFact { uid, version, created: None, taints, taints_changed, ..testkit::node(name.as_str()) }
    }

    pub(crate) fn some_pod(&mut self, pod: u64, node: u64) -> PodFact {
        let version = Some(self.some_version());
        let mut tolerations = Vec::new();
        for key in KEYS {
            let seconds = match self.choices.below(5) {
                0 => None,
                1 => Some(self.choices.below(8).cast_signed()),
                2 => Some(60),
                _ => continue,
            };
            tolerations.push(toleration(key, seconds));
        }
        PodFact {
            id: PodId::new(pod_uid(pod), PodName::new("d", "p")),
            node: node_name(node),
            version,
            tolerations,
            priority: i32::try_from(self.choices.below(3)).expect("it is small"),
            life_phase: match self.choices.below(12) {
                0 => PodLifePhase::Terminating,
                1 => PodLifePhase::Finished,
                _ => PodLifePhase::Live,
            },
            mirror: self.choices.in_hundred(4),
            marked: self.choices.in_hundred(15),
            ..testkit::pod("p")
        }
    }

    pub(crate) fn list(
        &mut self,
        silent_since: Option<Mono>,
        nodes: Vec<NodeFact>,
        pods: Option<Vec<PodFact>>,
    ) {
        self.feed(EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since }));
        nodes
            .into_iter()
            .for_each(|fact| self.feed(EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: true })));
        self.feed(EvictionInput::Nodes(ObjectEvent::ListCompleted));
        self.list_pods(silent_since, pods.unwrap_or_default());
    }

    fn list_pods(&mut self, silent_since: Option<Mono>, pods: Vec<PodFact>) {
        self.feed(EvictionInput::Pods(ObjectEvent::ListStarted { silent_since }));
        pods.into_iter()
            .for_each(|fact| self.feed(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: true })));
        self.feed(EvictionInput::Pods(ObjectEvent::ListCompleted));
    }

    fn some_failure(&mut self) -> ApiFailure {
        [
            ApiFailure::NotFound,
            ApiFailure::Conflict,
            ApiFailure::Forbidden,
            ApiFailure::Throttled(None),
            ApiFailure::Rejected,
            ApiFailure::Unavailable,
        ][usize::try_from(self.choices.below(6)).expect("it is small")]
    }

    /// Responds to one of the effects, in a random way.
    fn response(&mut self) {
        let Some(which) =
            (!self.requested.is_empty()).then(|| self.choices.below(self.requested.len() as u64))
        else {
            return;
        };
        let effect = self.requested.swap_remove(usize::try_from(which).expect("it is small"));
        let fails = self.choices.in_hundred(35);
        let failure = self.some_failure();
        let result = if fails { Err(failure) } else { Ok(()) };
        let number = |node: &NodeName| node.as_str()[1..].parse::<u64>().expect("names end in their number");
        let input = match effect {
            EvictionEffect::ReadNode { node } => {
                let sent = Mono::from_micros(self.now - self.choices.below(1_000_000).cast_signed());
                let reading = match self.choices.below(10) {
                    0 => LiveRead::NotFound,
                    1 => LiveRead::Undecodable,
                    _ => LiveRead::Found(self.some_node(number(&node))),
                };
                EvictionInput::NodeConfirmed { node, sent, result: result.map(|()| reading) }
            }
            EvictionEffect::SetDisruptionTarget { pod, .. } => {
                let version = self.next_version();
                let version = self.choices.in_hundred(80).then_some(version);
                EvictionInput::Marked { pod, result: result.map(|()| version) }
            }
            EvictionEffect::DeletePod { pod, .. } => EvictionInput::Deleted { pod, result },
            EvictionEffect::EvictPod { pod, .. } => EvictionInput::Evicted { pod, result },
            EvictionEffect::ReadPod { pod, .. } => {
                let node = number(&pod.node);
                let reading = match self.choices.below(10) {
                    0 => LiveRead::NotFound,
                    1 => LiveRead::Undecodable,
                    2 => {
                        let other = self.choices.below(PODS);
                        LiveRead::Found(self.some_pod(other, node))
                    }
                    _ => LiveRead::Found(PodFact {
                        id: PodId::new(pod.uid.clone(), PodName::new("d", "p")),
                        ..self.some_pod(0, node)
                    }),
                };
                EvictionInput::PodRead { pod, result: result.map(|()| reading), half_deleted: false }
            }
            EvictionEffect::ClearDisruptionTarget { pod, .. } => EvictionInput::Unmarked { pod, result },
        };
        self.feed(input);
    }

    pub(crate) fn pull(&mut self, lane: Lane) -> bool {
        let Some(effect) = self.engine.next_effect(lane, self.clock()) else { return false };
        self.log.push(format!("{} asks {effect:?}", self.now));
        self.requested.push(effect);
        true
    }

    /// Returns the last moment of complete knowledge, or a wrong one.
    fn some_past(&mut self) -> Option<Mono> {
        Some(Mono::from_micros(self.now - self.choices.below(5_000_000).cast_signed()))
    }

    /// Takes a random step.
    pub(crate) fn step(&mut self) {
        let (node, pod) = (self.choices.below(NODES), self.choices.below(PODS));
        match self.choices.below(100) {
            0..=9 => {
                let fact = self.some_node(node);
                self.feed(EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false }));
            }
            10..=11 => {
                let uid = self.choices.in_hundred(50);
                let uid = uid.then(|| Uid::new(&format!("nu{node}-{}", self.version % 2)));
                self.feed(EvictionInput::Nodes(ObjectEvent::Deleted(ObjectRef::node(&node_name(node), uid))));
            }
            12 => self.feed(EvictionInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(
                &node_name(node),
                None,
            )))),
            13..=27 => {
                let fact = self.some_pod(pod, pod % NODES);
                self.feed(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
            }
            28..=30 if self.lies || self.choices.in_hundred(30) => {
                let pod = PodRef { node: node_name(pod % NODES), uid: pod_uid(pod) };
                self.feed(EvictionInput::Pods(ObjectEvent::Deleted(pod.into())));
            }
            31 => {
                let node = self.choices.in_hundred(50).then(|| node_name(pod % NODES));
                self.feed(EvictionInput::Pods(ObjectEvent::Undecodable(ObjectRef::pod(pod_uid(pod), node))));
            }
            32 => {
                let on = self.choices.in_hundred(50);
                self.feed(EvictionInput::CountdownHold(on));
            }
            33 => {
                let since = self.some_past();
                let nodes: Vec<_> = (0..NODES).filter(|_| self.choices.in_hundred(80)).collect();
                self.feed(EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: since }));
                for node in nodes {
                    let fact = self.some_node(node);
                    self.feed(EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: true }));
                }
                self.feed(EvictionInput::Nodes(ObjectEvent::ListCompleted));
            }
            34 => {
                let since = self.some_past();
                let pods: Vec<_> = (0..PODS).filter(|_| self.choices.in_hundred(80)).collect();
                let pods = pods.into_iter().map(|pod| self.some_pod(pod, pod % NODES)).collect();
                self.list_pods(since, pods);
            }
            28..=60 => {
                let lane = if self.choices.in_hundred(70) { Lane::All } else { Lane::Fresh };
                self.pull(lane);
            }
            61..=80 => self.response(),
            _ => {
                let longest = [1, 100_000, 1_000_000, 10_000_000];
                let longest = longest[usize::try_from(self.choices.below(4)).expect("it is small")];
                self.now += self.choices.below(longest).cast_signed();
                self.engine.tick(self.clock().mono);
            }
        }
    }
}
