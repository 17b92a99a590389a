//! Simulates an exact API server around the eviction engine on virtual time.
//!
//! - A test taints, binds, edits, removes, restarts and lets time pass; an unjustified deletion panics. Deadlines are
//!   computed without code of the engine.

#![allow(unreachable_pub, reason = "shared by several test crates")]
#![allow(dead_code, reason = "each test file uses its own part of the harness")]
#![allow(clippy::mod_module_files, reason = "cargo's convention for code shared by integration tests")]

pub mod cluster;
pub mod crowd;
pub mod hold_times;
pub mod monitored;
pub mod paired;
pub mod script;
pub mod storm;
pub mod truth;
mod work;

use paired::PairedEngine;
use std::collections::{BTreeMap, VecDeque};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionInput, EvictionNotice};
use taintward_core::fact::{BindingTimes, NodeFact, PodFact};
use taintward_core::identity::{NodeName, PodId, PodName, PodRef, ResourceVersion, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::testkit::{node, pod, taint};
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_core::toleration::Toleration;
use truth::{TruthNode, TruthPod, TruthTaint};

/// Wall time at monotonic zero; a whole second, so that rounding shows.
pub const EPOCH: i64 = 1_800_000_000;

pub fn seconds(s: f64) -> i64 {
    (s * 1e6).round() as i64
}

pub struct EvictionHarness {
    pub now: i64,
    pub engine: PairedEngine,
    pub config: EvictionConfig,
    pub nodes: BTreeMap<String, TruthNode>,
    pub pods: BTreeMap<String, TruthPod>,
    /// Watch events that the engine has not received yet.
    pub wire: VecDeque<EvictionInput>,
    /// While true, events stay on the wire.
    pub deaf: bool,
    /// The results of the next effects; `None`: success.
    pub faults: VecDeque<Option<ApiFailure>>,
    /// Deleted pods by name with the time in microseconds.
    pub deleted: Vec<(String, i64)>,
    pub effects: Vec<EvictionEffect>,
    pub notices: Vec<EvictionNotice>,
    /// Whether taints have a `timeAdded`.
    pub stamped: bool,
    /// When time was on hold (NL-48).
    pub held: hold_times::HoldTimes,
    /// By how much the engine's wall clock is ahead of the server's, in microseconds.
    pub clock_error: i64,
    /// The known maximum of that error; `None`: unknown.
    pub skew_max: Option<Span>,
    version: u64,
    next_uid: u64,
    last_active: i64,
}

impl EvictionHarness {
    /// A harness with an engine that has listed it, empty, at time zero.
    pub fn new() -> Self {
        Self::with(EvictionConfig::default())
    }

    pub fn with(config: EvictionConfig) -> Self {
        let mut harness = Self {
            now: seconds(0.25),
            engine: PairedEngine::new(config.clone()),
            config,
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            wire: VecDeque::new(),
            deaf: false,
            faults: VecDeque::new(),
            deleted: Vec::new(),
            effects: Vec::new(),
            notices: Vec::new(),
            stamped: true,
            held: hold_times::HoldTimes::default(),
            clock_error: 0,
            skew_max: Some(Span::ZERO),
            version: 1,
            next_uid: 1,
            last_active: 0,
        };
        harness.list(true);
        harness
    }

    pub fn clock(&self) -> Now {
        let wall = Wall::from_micros(EPOCH * 1_000_000 + self.now + self.clock_error);
        Now::new(Mono::from_micros(self.now), wall, self.skew_max)
    }

    fn truncated(at: i64) -> Option<Wall> {
        Some(Wall::from_secs(EPOCH + at.div_euclid(1_000_000)))
    }

    fn bump(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    fn fresh_uid(&mut self) -> Uid {
        self.next_uid += 1;
        Uid::new(&format!("00000000-0000-4000-8000-{:012x}", self.next_uid))
    }

    // What a test does to the cluster.

    pub fn add_node(&mut self, name: &str) {
        let (uid, version) = (self.fresh_uid(), self.bump());
        let node = TruthNode { uid, created: self.now, taints: Vec::new(), changed: None, version };
        self.nodes.insert(name.into(), node);
        self.send_node(name);
    }

    pub fn remove_node(&mut self, name: &str) {
        if let Some(node) = self.nodes.remove(name) {
            self.wire.push_back(EvictionInput::Nodes(ObjectEvent::Deleted(ObjectRef::node(
                &NodeName::new(name),
                Some(node.uid),
            ))));
            self.receive();
        }
    }

    pub fn add_taint(&mut self, node: &str, key: &str) {
        self.add_taint_as(node, key, TaintEffect::NoExecute);
    }

    pub fn add_taint_as(&mut self, node: &str, key: &str, effect: TaintEffect) {
        let (now, stamped, version) = (self.now, self.stamped, self.bump());
        let Some(truth) = self.nodes.get_mut(node) else { return };
        if truth.taints.iter().any(|known| &*known.taint.key == key && known.taint.effect == effect) {
            return;
        }
        let time_added = stamped.then(|| Self::truncated(now)).flatten();
        let taint = Taint { effect, time_added, ..taint(key) };
        truth.taints.push(TruthTaint { taint, since: now });
        truth.changed = Some(now);
        truth.version = version;
        self.send_node(node);
    }

    pub fn untaint(&mut self, node: &str, key: &str) {
        let (now, version) = (self.now, self.bump());
        let Some(truth) = self.nodes.get_mut(node) else { return };
        truth.taints.retain(|known| &*known.taint.key != key);
        truth.changed = Some(now);
        truth.version = version;
        self.send_node(node);
    }

    pub fn add_pod(&mut self, name: &str, node: &str, tolerations: &[Toleration]) -> PodRef {
        let (uid, version) = (self.fresh_uid(), self.bump());
        let at = Self::truncated(self.now);
        let fact = PodFact {
            id: PodId::new(uid.clone(), PodName::new("default", name)),
            tolerations: tolerations.to_vec(),
            arrival: BindingTimes { scheduled: at, started: None, created: at },
            ..pod(name).on(node).at_version(version)
        };
        self.pods.insert(name.into(), TruthPod { fact, arrived: self.now });
        self.send_pod(name);
        PodRef { node: NodeName::new(node), uid }
    }

    pub fn edit_pod(&mut self, name: &str, edit: impl FnOnce(&mut PodFact)) {
        let version = self.bump();
        let Some(pod) = self.pods.get_mut(name) else { return };
        edit(&mut pod.fact);
        pod.fact.version = Some(ResourceVersion(version));
        self.send_pod(name);
    }

    pub fn remove_pod(&mut self, name: &str) {
        if let Some(pod) = self.pods.remove(name) {
            let pod = PodRef { node: pod.fact.node, uid: pod.fact.id.uid().clone() };
            self.wire.push_back(EvictionInput::Pods(ObjectEvent::Deleted(pod.into())));
            self.receive();
        }
    }

    pub fn hold(&mut self, on: bool) {
        self.held.set(on, self.now);
        self.engine.handle(EvictionInput::CountdownHold(on), self.clock());
        self.work();
    }

    // The engine's inputs.

    pub fn node_fact(&self, name: &str) -> Option<NodeFact> {
        let truth = self.nodes.get(name)?;
        Some(NodeFact {
            uid: truth.uid.clone(),
            created: Self::truncated(truth.created),
            taints: truth.taints.iter().map(|known| known.taint.clone()).collect(),
            taints_changed: truth.changed.and_then(Self::truncated),
            ..node(name).at_version(truth.version)
        })
    }

    fn send_node(&mut self, name: &str) {
        let fact = self.node_fact(name).expect("a node that was just changed exists");
        self.wire.push_back(EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false }));
        self.receive();
    }

    fn send_pod(&mut self, name: &str) {
        let fact = self.pods[name].fact.clone();
        self.wire.push_back(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
        self.receive();
    }

    /// Delivers the events on the wire, unless `deaf`.
    pub fn receive(&mut self) {
        if self.deaf {
            return;
        }
        while let Some(input) = self.wire.pop_front() {
            self.engine.handle(input, self.clock());
        }
        self.last_active = self.now;
        self.work();
    }

    /// A complete list of everything; events on the wire are lost. `first`: the engine has never listed before.
    pub fn list(&mut self, first: bool) {
        self.wire.clear();
        self.deaf = false;
        let silent_since = (!first).then(|| Mono::from_micros(self.last_active));
        let mut inputs = vec![EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since })];
        let names: Vec<_> = self.nodes.keys().cloned().collect();
        inputs.extend(
            names
                .iter()
                .filter_map(|name| self.node_fact(name))
                .map(|fact| EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: true })),
        );
        inputs.extend([
            EvictionInput::Nodes(ObjectEvent::ListCompleted),
            EvictionInput::Pods(ObjectEvent::ListStarted { silent_since }),
        ]);
        inputs.extend(
            self.pods.values().map(|pod| {
                EvictionInput::Pods(ObjectEvent::Applied { fact: pod.fact.clone(), listed: true })
            }),
        );
        inputs.push(EvictionInput::Pods(ObjectEvent::ListCompleted));
        for input in inputs {
            self.engine.handle(input, self.clock());
        }
        self.last_active = self.now;
        self.work();
    }

    /// The process crashes and a new one starts.
    pub fn restart(&mut self) {
        self.engine = PairedEngine::new(self.config.clone());
        self.held.forget(self.now);
        self.engine.handle(EvictionInput::CountdownHold(self.held.is_on()), self.clock());
        self.list(true);
    }

    // Time and effects.

    pub fn pass(&mut self, micros: i64) {
        let until = self.now + micros;
        loop {
            let wake = self.engine.next_wakeup().map_or(i64::MAX, Mono::as_micros);
            let step = wake.clamp(self.now, until);
            if step == until && wake > until {
                break;
            }
            self.now = step;
            self.engine.tick(self.clock().mono);
            let before = self.effects.len();
            self.work();
            if wake <= self.now
                && before == self.effects.len()
                && self.engine.next_wakeup() == Some(Mono::from_micros(wake))
            {
                panic!("a wakeup without any work at {wake}");
            }
        }
        self.now = until;
        self.engine.tick(self.clock().mono);
        self.work();
    }

    /// When a pod is due by the true state alone, in microseconds: the plain rule, taint by taint (MATCH-9, TE-17, D1,
    /// NL-48).
    pub fn true_due(&self, name: &str) -> Option<i64> {
        let pod = self.pods.get(name)?;
        let node = self.nodes.get(pod.fact.node.as_str())?;
        let of_taint = |known: &TruthTaint| {
            let used = pod.fact.tolerations.iter().find(|toleration| toleration.key == known.taint.key);
            let left =
                used.map_or(Some(0), |used| used.seconds.map(|left| left.max(0).saturating_mul(1_000_000)))?;
            let from = known.since.max(pod.arrived);
            Some(from.saturating_add(left).saturating_add(self.held.spent(&known.taint.key, from)?))
        };
        node.taints
            .iter()
            .filter(|known| known.taint.effect == TaintEffect::NoExecute)
            .filter_map(of_taint)
            .min()
    }

    pub fn deleted_at(&self, name: &str) -> Option<i64> {
        self.deleted.iter().find(|(deleted, _)| deleted == name).map(|(_, at)| *at)
    }

    pub fn left(&self) -> Vec<&str> {
        self.deleted.iter().map(|(name, _)| name.as_str()).collect()
    }
}
