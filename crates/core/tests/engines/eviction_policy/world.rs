//! A cluster around the eviction engine: an API server with the eviction API, budgets and their controller, workloads that
//! recreate their pods, all with delays, on virtual time.
//!
//! - Invariant: each deletion is checked at the moment at which the API server carries it out, without code of the engine.

mod api_server;
mod budgets;
mod lists;
mod policies;
mod readings;

use super::monitor::Monitor;
use crate::common::EPOCH;
use crate::common::script::at;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use taintward_core::cluster_snapshot::{DisruptionLimit, IntOrPercent};
use taintward_core::engine::{Engine, Lane};
use taintward_core::eviction::{
    EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput, EvictionNotice,
};
use taintward_core::eviction_policy::{EvictionPolicy, ReplicatedKind, WorkloadFact};
use taintward_core::fact::{BindingTimes, NodeFact, PodFact, PodLifePhase, PodTemplateFact};
use taintward_core::identity::{PodId, PodName, PodRef, ResourceVersion, Uid};
use taintward_core::node_limit::NodeLimit;
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::scheduling::Labels;
use taintward_core::testkit::{node, pod, taint};
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::workload::{Workload, WorkloadKind};

/// Milliseconds of virtual time.
pub(crate) type Millis = i64;

/// How long requests, watch events, counts of budgets, and new pods take.
#[derive(Clone, Copy)]
pub(crate) struct Delays {
    pub(crate) request: Millis,
    pub(crate) watch: Millis,
    pub(crate) budget: Millis,
    pub(crate) termination: Millis,
    pub(crate) replacement: Millis,
    /// How much later than nodes and pods a process that starts knows namespaces, budgets and workloads.
    pub(crate) list: Millis,
}

impl Default for Delays {
    fn default() -> Self {
        Self { request: 20, watch: 30, budget: 50, termination: 1_000, replacement: 3_000, list: 0 }
    }
}

/// A pod as the API server stores it.
#[derive(Clone)]
pub(crate) struct WorldPod {
    pub(crate) fact: PodFact,
    pub(crate) app: String,
    /// It counts for no budget until the disruption controller has seen it go.
    pub(crate) is_terminating: bool,
}

/// A budget as the API server stores it.
#[derive(Clone)]
pub(crate) struct WorldBudget {
    pub(crate) app: String,
    pub(crate) limit: DisruptionLimit,
    pub(crate) allowed: u32,
    pub(crate) healthy: u32,
}

/// What happens later.
enum Happening {
    Arrives(EvictionInput),
    Carried { effect: EvictionEffect, sent: Mono, is_awaited: bool },
    Gone(String),
    Replaced(String, String),
    Counted(String),
    Listed,
}

pub(crate) struct World {
    pub(crate) now: Millis,
    pub(crate) engine: EvictionEngine,
    pub(crate) config: EvictionConfig,
    pub(crate) delays: Delays,
    pub(crate) nodes: BTreeMap<String, NodeFact>,
    pub(crate) pods: BTreeMap<String, WorldPod>,
    pub(crate) budgets: BTreeMap<String, WorldBudget>,
    pub(crate) policies: Vec<EvictionPolicy>,
    /// The policy that was deleted, and may be created again.
    deleted_policy: Option<EvictionPolicy>,
    /// The team that the namespace of all pods belongs to.
    pub(crate) team: &'static str,
    /// When it last changed after the start which policies there are, or what they select.
    pub(crate) policy_changed: Option<Millis>,
    /// The forced deletions that the status of every policy has.
    pub(crate) recorded_forced: u64,
    pub(crate) replicas: BTreeMap<String, u32>,
    /// When the process started last.
    pub(crate) restarted: Millis,
    /// The request that is being carried out comes from a process that has crashed, or from another client.
    pub(crate) is_orphaned: bool,
    /// The replicas before the last change, and when that was.
    pub(crate) scaled: BTreeMap<String, (u32, Millis)>,
    pub(crate) monitor: Monitor,
    pub(crate) notices: Vec<EvictionNotice>,
    /// How many of them are from processes that have crashed.
    pub(crate) notices_of_crashed: usize,
    /// The effects that were pulled, with their time.
    pub(crate) effects: Vec<(Millis, EvictionEffect)>,
    /// The evictions of these pods fail.
    pub(crate) unavailable: BTreeSet<String>,
    /// The process has not yet received the lists that only policies need.
    is_listing: bool,
    later: BinaryHeap<Reverse<(Millis, u64)>>,
    happenings: BTreeMap<u64, Happening>,
    version: u64,
    next: u64,
}

/// The workload of an app.
pub(crate) fn workload(app: &str) -> Workload {
    Workload { namespace: "default".into(), kind: WorkloadKind::Deployment, name: app.into() }
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect()
}

impl World {
    pub(crate) fn new(policies: Vec<EvictionPolicy>) -> Self {
        Self::with_brake(None, policies)
    }

    pub(crate) fn with_brake(brake: Option<NodeLimit>, policies: Vec<EvictionPolicy>) -> Self {
        Self::with(EvictionConfig { policies: true, brake, ..EvictionConfig::default() }, policies)
    }

    /// The process runs without `--eviction-policies`.
    pub(crate) fn without_policies() -> Self {
        Self::with(EvictionConfig::default(), Vec::new())
    }

    fn with(config: EvictionConfig, policies: Vec<EvictionPolicy>) -> Self {
        let mut world = Self {
            now: 0,
            engine: EvictionEngine::new(config.clone()),
            config,
            delays: Delays::default(),
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            budgets: BTreeMap::new(),
            policies,
            deleted_policy: None,
            team: "shop",
            policy_changed: None,
            recorded_forced: 0,
            replicas: BTreeMap::new(),
            restarted: 0,
            is_orphaned: false,
            scaled: BTreeMap::new(),
            monitor: Monitor::default(),
            notices: Vec::new(),
            notices_of_crashed: 0,
            effects: Vec::new(),
            unavailable: BTreeSet::new(),
            is_listing: false,
            later: BinaryHeap::new(),
            happenings: BTreeMap::new(),
            version: 1,
            next: 0,
        };
        world.list();
        world
    }

    pub(crate) fn time(&self) -> Now {
        at(self.now as f64 / 1_000.0)
    }

    fn bump(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    fn after(&mut self, delay: Millis, happening: Happening) {
        self.next += 1;
        self.later.push(Reverse((self.now + delay, self.next)));
        self.happenings.insert(self.next, happening);
    }

    fn send(&mut self, input: EvictionInput) {
        self.after(self.delays.watch, Happening::Arrives(input));
    }

    // What a test does to the cluster.

    pub(crate) fn add_node(&mut self, name: &str, pool: &str) {
        let version = self.bump();
        let fact =
            NodeFact { labels: Some(Box::new(labels(&[("pool", pool)]))), ..node(name).at_version(version) };
        self.nodes.insert(name.into(), fact);
        self.send_node(name);
    }

    pub(crate) fn set_taints(&mut self, name: &str, taints: &[&str]) {
        let changed = Wall::from_secs(EPOCH + self.now / 1_000);
        let taints = taints.iter().map(|text| taint(text)).collect();
        self.change_node(name, |fact| (fact.taints_changed, fact.taints) = (Some(changed), taints));
    }

    pub(crate) fn change_node(&mut self, name: &str, change: impl FnOnce(&mut NodeFact)) {
        let version = self.bump();
        let fact = self.nodes.get_mut(name).unwrap();
        change(fact);
        fact.version = Some(ResourceVersion(version));
        self.send_node(name);
    }

    pub(crate) fn remove_node(&mut self, name: &str) {
        let uid = self.nodes.remove(name).map(|fact| fact.uid);
        let object = ObjectRef { name: name.into(), uid, node: None };
        self.send(EvictionInput::Nodes(ObjectEvent::Deleted(object)));
    }

    fn send_node(&mut self, name: &str) {
        let fact = self.nodes[name].clone();
        self.send(EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false }));
    }

    pub(crate) fn add_pod(&mut self, name: &str, app: &str, node: &str, edit: impl FnOnce(&mut PodFact)) {
        let version = self.bump();
        let template = PodTemplateFact {
            labels: labels(&[("app", app)]),
            workload: Some(workload(app)),
            grace_seconds: Some(30),
        };
        let mut fact = PodFact {
            id: PodId::new(Uid::new(name), PodName::new("default", name)),
            arrival: BindingTimes {
                scheduled: Some(Wall::from_secs(EPOCH + self.now / 1_000)),
                ..BindingTimes::default()
            },
            ready: Some(true),
            template: Some(Box::new(template)),
            ..pod(name).on(node).at_version(version)
        };
        edit(&mut fact);
        self.pods.insert(name.into(), WorldPod { fact, app: app.into(), is_terminating: false });
        self.send_pod(name);
        self.count_budgets(app);
    }

    pub(crate) fn change_pod(&mut self, name: &str, change: impl FnOnce(&mut PodFact)) {
        let version = self.bump();
        let Some(pod) = self.pods.get_mut(name) else { return };
        change(&mut pod.fact);
        pod.fact.version = Some(ResourceVersion(version));
        let app = pod.app.clone();
        self.send_pod(name);
        self.count_budgets(&app);
    }

    fn send_pod(&mut self, name: &str) {
        let mut fact = self.pods[name].fact.clone();
        if self.pods[name].is_terminating {
            fact.life_phase = PodLifePhase::Terminating;
        }
        self.send(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    }

    pub(crate) fn set_replicas(&mut self, app: &str, replicas: u32) {
        let before = self.replicas.insert(app.into(), replicas).unwrap_or(replicas);
        let scaled = self.scaled.entry(app.into()).or_insert((before, self.now));
        let is_recent = self.now - scaled.1 < 200;
        *scaled = (if is_recent { before.min(scaled.0) } else { before }, self.now);
        self.bump();
        let fact = self.workload_fact(app);
        let event = ObjectEvent::Applied { fact, listed: false };
        self.send(EvictionInput::Workloads(ReplicatedKind::Deployment, event));
    }

    fn workload_fact(&self, app: &str) -> WorkloadFact {
        WorkloadFact {
            uid: Uid::new(app),
            version: Some(ResourceVersion(self.version)),
            workload: workload(app),
            replicas: self.replicas[app],
        }
    }

    // The engine.

    /// Lets time pass.
    pub(crate) fn pass(&mut self, millis: Millis) {
        let until = self.now + millis;
        loop {
            self.work();
            let wake =
                self.engine.next_wakeup().map_or(Millis::MAX, |at| (at.as_micros() + 999).div_euclid(1_000));
            let next = self.later.peek().map_or(Millis::MAX, |Reverse((when, _))| *when);
            let step = wake.max(self.now + 1).min(next).min(until);
            self.now = step;
            while let Some(Reverse((when, id))) = self.later.peek().copied().filter(|one| one.0.0 <= self.now)
            {
                self.later.pop();
                debug_assert!(when <= self.now);
                if let Some(happening) = self.happenings.remove(&id) {
                    self.happen(happening);
                }
            }
            if self.now >= until {
                return self.work();
            }
        }
    }

    fn work(&mut self) {
        let now = self.time();
        self.engine.tick(now.mono);
        loop {
            let has_work = self.engine.has_work(Lane::All, now.mono);
            let Some(effect) = self.engine.next_effect(Lane::All, now) else { break };
            assert!(has_work, "no work was announced: {effect:?}");
            Monitor::check_request(self, &effect);
            self.effects.push((self.now, effect.clone()));
            self.after(
                self.delays.request / 2,
                Happening::Carried { effect, sent: now.mono, is_awaited: true },
            );
        }
        self.notices.extend(self.engine.take_notices());
        assert!(!self.engine.has_work(Lane::All, now.mono), "the engine has work and returns no effect");
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrives(input) if self.is_too_early(&input) => {}
            Happening::Arrives(input) => {
                self.monitor.observe_response(&input);
                let now = self.time();
                self.engine.handle(input, now);
            }
            Happening::Carried { effect, sent, is_awaited } => {
                self.is_orphaned = !is_awaited;
                let response = self.carry_out(effect, sent);
                if is_awaited {
                    self.after(self.delays.request / 2, Happening::Arrives(response));
                }
            }
            Happening::Gone(name) => {
                let Some(pod) = self.pods.remove(&name) else { return };
                let of_pod = PodRef { node: pod.fact.node.clone(), uid: pod.fact.id.uid().clone() };
                self.send(EvictionInput::Pods(ObjectEvent::Deleted(of_pod.into())));
                self.count_budgets(&pod.app);
            }
            Happening::Replaced(name, app) => self.add_pod(&name, &app, "spare", |_| {}),
            Happening::Counted(name) => self.budget_counted(&name),
            Happening::Listed => self.list_objects_of_policies(),
        }
    }
}

/// `minAvailable` of so many.
pub(crate) fn min_available(pods: u32) -> DisruptionLimit {
    DisruptionLimit::MinAvailable(IntOrPercent::Count(pods))
}
