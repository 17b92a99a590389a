//! Simulates kubelets, an exact API server and the control loop around the engine on virtual time.
//!
//! - A test kills, revives, disconnects, pauses and restarts; every commit is checked without code of the engine.

use crate::common::monitored::MonitoredEngine;
use crate::node_lifecycle::invariants::InvariantChecker;
use crate::node_lifecycle::list_started;
use std::collections::{BTreeMap, VecDeque};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::Engine;
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{
    ConditionExpiry, ConditionKind, ConditionStatus, LeaseFact, ManagedTaint, ManagedTaints, NodeCondition,
    NodeHealthFact, NodeLifecycleConfig, NodeLifecycleEngine, NodeLifecycleFlags,
    NodeLifecycleInput as Input, NodeLifecycleNotice, PlatformLabels, PodReadinessFact, WatchedKind, ZoneKey,
    ZoneLabels,
};
use taintward_core::node_lifecycle_monitor::NodeLifecycleMonitor;
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::time::{Mono, Now, Wall};

pub const SECOND: i64 = 1_000_000;
const EPOCH: i64 = 1_800_000_000 * SECOND;
const RENEWAL: i64 = 10 * SECOND;
const WITNESS: i64 = 2 * SECOND;

mod server;

#[derive(Clone, Debug)]
pub struct Kubelet {
    pub alive: bool,
    pub ready: bool,
    next: i64,
}

#[derive(Clone, Debug)]
pub struct Stored {
    pub node: NodeHealthFact,
    pub lease: Option<LeaseFact>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct LifecycleCommit {
    pub at: i64,
    pub node: String,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    Taint { add: ManagedTaints, remove: ManagedTaints },
    Declare(Vec<(ConditionKind, ConditionExpiry)>),
    Label,
    Mark(String),
}

#[derive(Clone)]
pub struct NodeLifecycleHarness {
    pub now: i64,
    pub flags: NodeLifecycleFlags,
    pub engine: Option<MonitoredEngine<NodeLifecycleMonitor>>,
    pub leading: bool,
    /// It watches, and only reports what it would do.
    pub observing: bool,
    /// The number of wakeups.
    pub wakes: usize,
    pub stored: BTreeMap<String, Stored>,
    pub kubelets: BTreeMap<String, Kubelet>,
    pub pods: BTreeMap<String, (String, PodReadinessFact)>,
    pub commits: Vec<LifecycleCommit>,
    pub notices: Vec<(i64, NodeLifecycleNotice)>,
    pub api: bool,
    pub paused: bool,
    /// Leases arrive this much later than they were written.
    pub lease_lag: i64,
    pub faults: VecDeque<Option<ApiFailure>>,
    pub reads: usize,
    pub invariants: InvariantChecker,
    wire: VecDeque<(i64, Input)>,
    received: i64,
    next_witness: i64,
    version: u64,
    /// All nodes were down before this instant already: the events cannot still be in flight.
    was_all_down: bool,
    stepped_at: i64,
}

pub fn zone(name: &str) -> ZoneKey {
    ZoneKey::of(ZoneLabels { zone: Some(name), ..ZoneLabels::default() })
}

impl NodeLifecycleHarness {
    /// This many nodes in each zone, named `a0`, `a1`, `b0`; all healthy, and known for so long that everything is
    /// settled.
    pub fn new(zones: &[(&str, usize)]) -> Self {
        let mut harness = Self::unsettled(zones, NodeLifecycleFlags::default());
        harness.pass(100);
        harness.commits.clear();
        harness
    }

    pub fn unsettled(zones: &[(&str, usize)], flags: NodeLifecycleFlags) -> Self {
        let mut harness = Self {
            now: 0,
            flags,
            engine: None,
            leading: true,
            observing: false,
            wakes: 0,
            stored: BTreeMap::new(),
            kubelets: BTreeMap::new(),
            pods: BTreeMap::new(),
            commits: Vec::new(),
            notices: Vec::new(),
            api: true,
            paused: false,
            lease_lag: 0,
            faults: VecDeque::new(),
            reads: 0,
            invariants: InvariantChecker::default(),
            wire: VecDeque::new(),
            received: 0,
            next_witness: 0,
            version: 1,
            was_all_down: false,
            stepped_at: -1,
        };
        for (name, nodes) in zones {
            (0..*nodes).for_each(|at| harness.add_node(&format!("{name}{at}"), name));
        }
        harness.start();
        harness
    }

    pub fn clock(&self) -> Now {
        Now::exact(Mono::from_micros(self.now), self.wall())
    }

    pub fn wall(&self) -> Wall {
        Wall::from_micros(EPOCH + self.now)
    }

    fn bump(&mut self) -> Option<ResourceVersion> {
        self.version += 1;
        Some(ResourceVersion(self.version))
    }

    // Actions of a test.

    pub fn add_node(&mut self, name: &str, zone_name: &str) {
        let phase = (self.stored.len() as i64 * 1_370_000) % RENEWAL;
        self.kubelets.insert(name.into(), Kubelet { alive: true, ready: true, next: self.now + phase });
        let node = NodeHealthFact {
            name: NodeName::new(name),
            uid: Uid::new(&format!("00000000-0000-4000-8000-{:012x}", self.version)),
            version: self.bump(),
            created: Some(self.wall()),
            zone: zone(zone_name),
            excluded: false,
            unschedulable: false,
            taints: Vec::new(),
            conditions: vec![NodeCondition {
                kind: ConditionKind::Ready,
                status: ConditionStatus::True,
                heartbeat: Some(self.wall()),
            }],
            platform: PlatformLabels::default(),
        };
        self.stored.insert(name.into(), Stored { node, lease: None });
        self.send_node(name);
        self.beat(name);
        self.kubelets.get_mut(name).expect("it was just put there").next = self.now + phase;
    }

    pub fn kill(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.kubelets.get_mut(*name).expect("it exists").alive = false);
    }

    /// The node runs again, and sends a heartbeat immediately if it can.
    pub fn revive(&mut self, names: &[&str]) {
        for name in names {
            let kubelet = self.kubelets.get_mut(*name).expect("it exists");
            (kubelet.alive, kubelet.next) = (true, self.now);
            if self.api {
                self.beat(name);
            }
        }
    }

    pub fn set_ready(&mut self, name: &str, ready: bool) {
        let now = self.now;
        let kubelet = self.kubelets.get_mut(name).expect("it exists");
        (kubelet.ready, kubelet.next) = (ready, now);
    }

    pub fn edit(&mut self, name: &str, edit: impl FnOnce(&mut NodeHealthFact)) {
        let version = self.bump();
        let stored = self.stored.get_mut(name).expect("it exists");
        edit(&mut stored.node);
        stored.node.version = version;
        self.send_node(name);
    }

    pub fn bind(&mut self, name: &str, node: &str) {
        let uid = Uid::new(&format!("pod-{}", self.version));
        self.bump();
        let (name, pod_name) = (name.to_string(), PodName::new("default", name));
        let fact = PodReadinessFact {
            id: PodId::new(uid, pod_name),
            node: NodeName::new(node),
            ready: Some(ConditionStatus::True),
        };
        self.pods.insert(name, (node.into(), fact.clone()));
        self.send(Input::Pods(ObjectEvent::Applied { fact, listed: false }), 0);
    }

    pub fn remove_node(&mut self, name: &str) {
        let gone = self.stored.remove(name).expect("it exists").node;
        self.kubelets.remove(name);
        self.send(Input::Nodes(ObjectEvent::Deleted(ObjectRef::node(&gone.name, Some(gone.uid)))), 0);
    }

    // The controller's process.

    pub fn start(&mut self) {
        let config = NodeLifecycleConfig::new(&self.flags).expect("valid flags");
        self.engine = Some(MonitoredEngine::new(NodeLifecycleEngine::new(config)));
        self.invariants.start(self.now);
        self.wire.clear();
        self.list(true);
        self.next_witness = self.now;
    }

    pub fn crash(&mut self) {
        self.engine = None;
        self.wire.clear();
    }

    pub fn submit(&mut self, input: Input) {
        let now = self.clock();
        if let Some(engine) = &mut self.engine {
            engine.handle(input, now);
        }
        self.work();
    }

    pub fn list(&mut self, first: bool) {
        self.wire.clear();
        let silent_since = (!first).then(|| Mono::from_micros(self.received));
        let begin = |stream| list_started(stream, silent_since);
        let mut inputs = vec![begin(WatchedKind::Nodes)];
        let nodes = self.stored.values().map(|it| it.node.clone());
        inputs.extend(nodes.map(|fact| Input::Nodes(ObjectEvent::Applied { fact, listed: true })));
        inputs.extend([Input::Nodes(ObjectEvent::ListCompleted), begin(WatchedKind::Leases)]);
        let leases = self.stored.values().filter_map(|it| it.lease.clone());
        inputs.extend(leases.map(|fact| Input::Leases(ObjectEvent::Applied { fact, listed: true })));
        inputs.extend([Input::Leases(ObjectEvent::ListCompleted), begin(WatchedKind::Pods)]);
        let pods = self.pods.values().map(|(_, fact)| fact.clone());
        inputs.extend(pods.map(|fact| Input::Pods(ObjectEvent::Applied { fact, listed: false })));
        inputs.push(Input::Pods(ObjectEvent::ListCompleted));
        let now = self.clock();
        if let Some(engine) = &mut self.engine {
            inputs.into_iter().for_each(|input| engine.handle(input, now));
        }
        self.received = self.now;
        self.work();
    }

    // Time.

    pub fn pass(&mut self, seconds: i64) {
        self.pass_micros(seconds * SECOND);
    }

    pub fn pass_micros(&mut self, micros: i64) {
        let until = self.now + micros;
        loop {
            let kubelets = self.kubelets.values().filter(|it| it.alive && self.api).map(|it| it.next);
            let runs = self.engine.is_some() && !self.paused;
            let wake = self.engine.as_ref().and_then(|engine| engine.next_wakeup()).map(Mono::as_micros);
            let own =
                [wake, Some(self.next_witness), self.wire.front().filter(|_| self.api).map(|(at, _)| *at)];
            let own = own.into_iter().flatten().filter(|_| runs);
            let next = kubelets.chain(own).min().unwrap_or(i64::MAX).max(self.now);
            if next > until {
                break;
            }
            self.now = next;
            self.step();
        }
        self.now = until;
        self.step();
    }

    fn step(&mut self) {
        if self.now > self.stepped_at {
            (self.was_all_down, self.stepped_at) = (self.is_all_down(), self.now);
        }
        let due: Vec<String> = self
            .kubelets
            .iter()
            .filter(|(_, it)| it.alive && self.api && it.next <= self.now)
            .map(|(name, _)| name.clone())
            .collect();
        due.iter().for_each(|name| self.beat(name));
        if self.engine.is_none() || self.paused {
            return;
        }
        while self.api && self.wire.front().is_some_and(|(at, _)| *at <= self.now) {
            let (_, input) = self.wire.pop_front().expect("it was just seen");
            self.received = self.now;
            self.submit(input);
        }
        if self.next_witness <= self.now {
            self.next_witness = self.now + WITNESS;
            if self.api {
                self.submit(Input::OwnRequestSucceeded { sent: Mono::from_micros(self.now) });
            }
        }
        let mono = self.clock().mono;
        if let Some(engine) = &mut self.engine
            && engine.next_wakeup().is_some_and(|at| at <= mono)
        {
            engine.tick(mono);
            self.wakes += 1;
            assert!(engine.next_wakeup().is_none_or(|at| at > mono), "a wakeup without any work");
        }
        self.work();
    }

    /// A kubelet renews its lease, and posts its status if that has changed, or once in a while.
    fn beat(&mut self, name: &str) {
        let (now, wall) = (self.now, self.wall());
        let kubelet = self.kubelets.get_mut(name).expect("it exists");
        kubelet.next = now + RENEWAL;
        let ready = if kubelet.ready { ConditionStatus::True } else { ConditionStatus::False };
        let fact = LeaseFact { node: NodeName::new(name), version: self.bump(), renewed: Some(wall) };
        let Some(stored) = self.stored.get_mut(name) else { return };
        stored.lease = Some(fact.clone());
        let posted = stored.node.conditions.iter().find(|it| it.kind == ConditionKind::Ready).copied();
        let fresh = posted
            .and_then(|it| it.heartbeat)
            .is_some_and(|at| wall.as_micros() - at.as_micros() < 300 * SECOND);
        self.invariants.received(name, now);
        self.send(Input::Leases(ObjectEvent::Applied { fact, listed: false }), self.lease_lag);
        if !fresh || posted.map(|it| it.status) != Some(ready) {
            self.edit(name, |node| {
                node.conditions.retain(|it| it.kind != ConditionKind::Ready);
                node.conditions.push(NodeCondition {
                    kind: ConditionKind::Ready,
                    status: ready,
                    heartbeat: Some(wall),
                });
            });
        }
    }

    fn send_node(&mut self, name: &str) {
        let fact = self.stored[name].node.clone();
        self.send(Input::Nodes(ObjectEvent::Applied { fact, listed: false }), 0);
    }

    fn send(&mut self, input: Input, lag: i64) {
        if self.engine.is_none() {
            return;
        }
        let at = self.now + lag;
        let place = self.wire.iter().position(|(other, _)| *other > at).unwrap_or(self.wire.len());
        self.wire.insert(place, (at, input));
    }

    // Queries of a test.

    fn is_all_down(&self) -> bool {
        let ready = |stored: &Stored| {
            stored
                .node
                .conditions
                .iter()
                .any(|it| (it.kind, it.status) == (ConditionKind::Ready, ConditionStatus::True))
        };
        self.stored.values().filter(|it| !it.node.excluded).all(|it| !ready(it))
    }

    pub fn own(&self, name: &str) -> ManagedTaints {
        ManagedTaints::of(&self.stored[name].node.taints)
    }

    pub fn tainted(&self) -> Vec<&str> {
        let evicting = |stored: &Stored| !ManagedTaints::of(&stored.node.taints).no_execute().is_empty();
        self.stored.iter().filter(|(_, it)| evicting(it)).map(|(name, _)| name.as_str()).collect()
    }

    /// Returns when a taint of that kind was first added to this node, in seconds and fractions.
    pub fn when(&self, name: &str, taint: ManagedTaint) -> Option<f64> {
        let has = |commit: &&LifecycleCommit| matches!(commit.what, What::Taint { add, .. } if commit.node == name && add.has(taint));
        self.commits.iter().find(has).map(|commit| commit.at as f64 / SECOND as f64)
    }
}
