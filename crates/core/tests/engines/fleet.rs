//! Runs an engine for many pods on several nodes in virtual time, with as many requests in flight as the control loop
//! sends, on an API server that rejects or delays what a test says.

use crate::common::script::{at, failed, tainted_node};
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{pod, toleration};

/// Requests in flight, and retries among them.
const IN_FLIGHT_MAX: usize = 16;
const RETRIES_MAX: usize = 4;

/// A request in flight for so long takes no other request's place, if there are not too many of these.
const STALLED_MIN: f64 = 0.5;
const STALLED_MAX: usize = 32;

/// The length of a step.
const STEP: f64 = 0.01;

/// The fate of a request: the failure, if it fails, and when the response arrives.
pub(super) type FleetFate = (Option<ApiFailure>, f64);

/// Pseudorandom numbers, the same for the same seed.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

struct FleetFlight {
    sent: f64,
    ends: f64,
    is_retry: bool,
    is_slow: bool,
    input: EvictionInput,
    /// The pod that is gone then.
    gone: Option<Uid>,
}

pub(super) struct Fleet {
    pub(super) engine: EvictionEngine,
    pub(super) now: f64,
    /// Every request, with its time and whether it succeeded.
    pub(super) sent: Vec<(f64, EvictionEffect, bool)>,
    /// When each pod was deleted.
    pub(super) left: BTreeMap<Uid, f64>,
    pub(super) due: BTreeMap<Uid, f64>,
    /// Pods whose deletion has begun (P31).
    pub(super) half_deleted: BTreeSet<Uid>,
    nodes: BTreeMap<NodeName, NodeFact>,
    flights: Vec<FleetFlight>,
}

fn fact(node: usize, version: u64, taints: &[(&str, Option<i64>)]) -> NodeFact {
    let name = NodeName::new(&format!("n{node}"));
    NodeFact { name, uid: Uid::new(&format!("node-{node}")), ..tainted_node(version, taints) }
}

impl Fleet {
    /// Nodes that are tainted at one second, and pods on them that tolerate it for so many seconds, by namespace.
    pub(super) fn new(nodes: usize, pods: &[(&str, i64)]) -> Self {
        let mut fleet = Self {
            engine: EvictionEngine::new(EvictionConfig::default()),
            now: 0.0,
            sent: Vec::new(),
            left: BTreeMap::new(),
            due: BTreeMap::new(),
            half_deleted: BTreeSet::new(),
            nodes: BTreeMap::new(),
            flights: Vec::new(),
        };
        for input in [
            EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }),
            EvictionInput::Nodes(ObjectEvent::ListCompleted),
            EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }),
            EvictionInput::Pods(ObjectEvent::ListCompleted),
        ] {
            fleet.engine.handle(input, at(0.0));
        }
        for (index, (namespace, seconds)) in pods.iter().enumerate() {
            let (uid, node) = (Uid::new(&format!("p{index}")), NodeName::new(&format!("n{}", index % nodes)));
            let id = PodId::new(uid.clone(), PodName::new(namespace, &format!("p{index}")));
            let patient = pod("p").at_version(50).tolerates([toleration("k", Some(*seconds))]);
            let pod = PodFact { id, node, ..patient };
            fleet.due.insert(uid, 1.0 + *seconds as f64);
            fleet
                .engine
                .handle(EvictionInput::Pods(ObjectEvent::Applied { fact: pod, listed: false }), at(1.0));
        }
        for node in 0..nodes {
            let known = fact(node, 100, &[("k", None)]);
            fleet.nodes.insert(known.name.clone(), known.clone());
            fleet
                .engine
                .handle(EvictionInput::Nodes(ObjectEvent::Applied { fact: known, listed: false }), at(1.0));
        }
        fleet.now = 1.0;
        fleet
    }

    fn well(&self, effect: &EvictionEffect) -> EvictionInput {
        let sent = at(self.now).mono;
        match effect.clone() {
            EvictionEffect::ReadNode { node } => {
                let result = Ok(LiveRead::Found(self.nodes[&node].clone()));
                EvictionInput::NodeConfirmed { node, sent, result }
            }
            EvictionEffect::ReadPod { pod: it, name } => {
                let fact = PodFact {
                    id: PodId::new(it.uid.clone(), name),
                    node: it.node.clone(),
                    ..pod("p").at_version(50).tolerates([toleration("k", Some(0))])
                };
                let half_deleted = self.half_deleted.contains(&it.uid);
                EvictionInput::PodRead { pod: it, result: Ok(LiveRead::Found(fact)), half_deleted }
            }
            EvictionEffect::SetDisruptionTarget { pod, .. } => {
                EvictionInput::Marked { pod, result: Ok(Some(ResourceVersion(60))) }
            }
            EvictionEffect::DeletePod { pod, .. } => EvictionInput::Deleted { pod, result: Ok(()) },
            EvictionEffect::EvictPod { pod, .. } => EvictionInput::Evicted { pod, result: Ok(()) },
            EvictionEffect::ClearDisruptionTarget { pod, .. } => {
                EvictionInput::Unmarked { pod, result: Ok(()) }
            }
        }
    }

    /// Lets time pass; `fate` returns the fate of each request.
    pub(super) fn run(&mut self, until: f64, mut fate: impl FnMut(&mut Self, &EvictionEffect) -> FleetFate) {
        while self.now < until {
            self.now = ((self.now / STEP).round() + 1.0) * STEP;
            loop {
                while let Some(index) = self.flights.iter().position(|flight| flight.ends <= self.now) {
                    let flight = self.flights.remove(index);
                    if let Some(uid) = flight.gone {
                        self.left.insert(uid, self.now);
                    }
                    self.engine.handle(flight.input, at(self.now));
                }
                self.engine.tick(at(self.now).mono);
                let Some((effect, is_retry)) = self.pull() else { break };
                let (failure, takes) = fate(self, &effect);
                let input = match failure {
                    Some(failure) => failed(&effect, at(self.now).mono, failure),
                    None => self.well(&effect),
                };
                let (gone, is_slow) = match &effect {
                    EvictionEffect::DeletePod { pod, slow, .. } if failure.is_none() => {
                        (Some(pod.uid.clone()), *slow)
                    }
                    EvictionEffect::DeletePod { slow, .. } => (None, *slow),
                    _ => (None, false),
                };
                self.sent.push((self.now, effect, failure.is_none()));
                self.flights.push(FleetFlight {
                    sent: self.now,
                    ends: self.now + takes.max(STEP),
                    is_retry,
                    is_slow,
                    input,
                    gone,
                });
            }
            self.engine.take_notices();
        }
    }

    fn pull(&mut self) -> Option<(EvictionEffect, bool)> {
        let usual = || self.flights.iter().filter(|flight| !flight.is_slow);
        let (all, retries) = (usual().count(), usual().filter(|flight| flight.is_retry).count());
        let stalled = usual().filter(|flight| flight.sent + STALLED_MIN <= self.now).count();
        if all - stalled.min(STALLED_MAX) >= IN_FLIGHT_MAX {
            return None;
        }
        let fresh = self.engine.next_effect(Lane::Fresh, at(self.now)).map(|effect| (effect, false));
        fresh.or_else(|| {
            let has_room = retries < RETRIES_MAX;
            has_room.then(|| self.engine.next_effect(Lane::All, at(self.now))).flatten().map(|it| (it, true))
        })
    }

    /// The first request that succeeded after a moment.
    pub(super) fn first_success(&self, after: f64) -> f64 {
        self.sent
            .iter()
            .find(|(when, _, well)| *well && *when >= after)
            .map_or(f64::INFINITY, |(when, ..)| *when)
    }

    /// How late the last pod left that had become due before `end`, after `end`.
    pub(super) fn last_left(&self, end: f64) -> f64 {
        let waited = self.due.iter().filter(|(_, due)| **due <= end);
        let left = waited.map(|(uid, _)| self.left.get(uid).copied().unwrap_or(f64::INFINITY) - end);
        left.fold(0.0, f64::max)
    }

    /// The largest number of requests in any second of a time.
    pub(super) fn rate_max(&self, from: f64, to: f64) -> usize {
        let within =
            |second: f64| self.sent.iter().filter(|(when, ..)| (second..second + 1.0).contains(when)).count();
        (from.ceil() as i64..to.floor() as i64).map(|second| within(second as f64)).max().unwrap_or(0)
    }
}
