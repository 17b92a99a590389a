//! Predicts what would have happened in a record under other eviction policies.
//!
//! - The engine gets what the record's engine observed: nodes, pods, budgets, workloads, holds. The model of the API server
//!   (`taintward_core::eviction`, `prediction.rs`) responds to its requests.
//! - The pods that Taintward evicted in the record live on until the prediction evicts them.

use crate::call::{EngineCall, RecordedCall};
use crate::error::RecordError;
use crate::follower::{CallVisitor, EngineFollower};
use crate::frame::{Frame, RecordedController};
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::engine::Engine as _;
use taintward_core::eviction::{
    EvictionEngine, EvictionInput, EvictionNotice, EvictionPrediction, EvictionReason, EvictionScenario,
    ReplacementReadiness,
};
use taintward_core::eviction_policy::{EvictionPolicyFact, ReplicatedKind};
use taintward_core::fact::{PodFact, PodLifePhase};
use taintward_core::identity::{NodeName, PodRef, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::time::{Mono, Now, Wall};

/// A record, as it would be under other policies.
#[derive(Default)]
pub struct PolicyReplay {
    follower: EngineFollower<EvictionEngine>,
    processes: PolicyProcesses,
}

/// The processes that wrote the record, the oldest first.
#[derive(Default)]
struct PolicyProcesses(Vec<RecordedProcess>);

/// What would have happened, and what the record does not show about it.
#[derive(Debug)]
pub struct PolicyPrediction {
    /// The evictions, and the pods that are due at the end.
    pub prediction: EvictionPrediction,
    /// No policy of the record needed disruption budgets, so they delay nothing here.
    pub lacks_budgets: bool,
    /// No policy of the record needed the replicas of workloads, so they delay nothing here.
    pub lacks_workloads: bool,
}

/// What one process observed and did, from its first decision on.
pub struct RecordedProcess {
    /// The engine before its first decision, and when that was.
    engine: EvictionEngine,
    since: Now,
    until: Now,
    /// `None`: it was not yet the leader; what it observes is part of the state.
    observed: Option<Vec<(Mono, EvictionInput)>>,
    /// The pods that it evicted, with when their deletion was decided, in the order of that.
    pub evicted: Vec<(PodRef, EvictionReason)>,
}

impl PolicyReplay {
    /// Reads a frame.
    ///
    /// # Errors
    /// If it cannot be decoded.
    pub fn read(&mut self, frame: &Frame) -> Result<(), RecordError> {
        match frame.controller {
            RecordedController::TaintEviction => self.follower.read(frame, &mut self.processes),
            RecordedController::NodeLifecycle | RecordedController::TolerationSeconds => Ok(()),
        }
    }

    /// The processes that decided something, the oldest first.
    pub fn processes(&self) -> impl Iterator<Item = &RecordedProcess> {
        self.processes.0.iter().filter(|process| process.observed.is_some())
    }
}

impl CallVisitor<EvictionEngine> for PolicyProcesses {
    type Error = RecordError;

    fn begin(&mut self, engine: &EvictionEngine, followed: Option<&EvictionEngine>) {
        if followed != Some(engine) {
            let (engine, since) = (engine.clone(), Now::of_wall(Wall::from_micros(0)));
            self.0.push(RecordedProcess { engine, since, until: since, observed: None, evicted: Vec::new() });
        }
    }

    fn call(
        &mut self,
        engine: &mut EvictionEngine,
        call: RecordedCall<EvictionEngine>,
        now: Now,
    ) -> Result<(), RecordError> {
        let Some(process) = self.0.last_mut() else { return Ok(()) };
        process.until = now;
        match call {
            EngineCall::Handle(input) => {
                if let Some(observed) = process.observed.as_mut().filter(|_| is_observation(&input)) {
                    observed.push((now.mono, input.clone()));
                }
                engine.handle(input, now);
            }
            EngineCall::Tick => engine.tick(now.mono),
            EngineCall::Pull(lane, _) => {
                if process.observed.is_none() && engine.is_synced() {
                    (process.engine, process.since) = (engine.clone(), now);
                    process.observed = Some(Vec::new());
                }
                drop(engine.next_effect(lane, now));
            }
            EngineCall::Notices(notices) => {
                drop(engine.take_notices());
                process.evicted.extend(notices.into_iter().filter_map(|notice| match notice {
                    EvictionNotice::Evicted { pod, reason } => Some((pod, *reason)),
                    _ => None,
                }));
            }
        }
        Ok(())
    }
}

/// Whether it shows the cluster, and does not respond to a request. Policies and their definition are those of the replay.
const fn is_observation(input: &EvictionInput) -> bool {
    matches!(
        input,
        EvictionInput::Nodes(_)
            | EvictionInput::Pods(_)
            | EvictionInput::Budgets(_)
            | EvictionInput::Workloads(..)
            | EvictionInput::Namespaces(_)
            | EvictionInput::CountdownHold(_)
    )
}

impl RecordedProcess {
    /// The first and the last moment.
    pub const fn times(&self) -> (Now, Now) {
        (self.since, self.until)
    }

    /// Whether it applied eviction policies; otherwise, the record lacks what they need.
    pub fn applies_policies(&self) -> bool {
        self.engine.applies_policies()
    }

    /// Predicts what would have happened with these policies instead of those of the record.
    pub fn under(&self, policies: &[EvictionPolicyFact]) -> PolicyPrediction {
        let mut engine = self.engine.clone();
        let (had_budgets, had_workloads) = (engine.needs_budgets(), engine.needs_workloads());
        let listed = policies.iter().cloned().map(|fact| ObjectEvent::Applied { fact, listed: true });
        let events = [ObjectEvent::ListStarted { silent_since: None }].into_iter().chain(listed);
        let inputs = events.chain([ObjectEvent::ListCompleted]).map(EvictionInput::Policies);
        for input in [EvictionInput::PolicyDefinitionAbsent(false)].into_iter().chain(inputs) {
            engine.handle(input, self.since);
        }
        let lacks_budgets = engine.needs_budgets() && !had_budgets;
        let lacks_workloads = engine.needs_workloads() && !had_workloads;
        let mut lists = Vec::new();
        if lacks_budgets {
            lists.extend(empty_list().map(EvictionInput::Budgets));
        }
        for kind in [ReplicatedKind::Deployment, ReplicatedKind::ReplicaSet, ReplicatedKind::StatefulSet] {
            if lacks_workloads {
                lists.extend(empty_list().map(|event| EvictionInput::Workloads(kind, event)));
            }
        }
        lists.into_iter().for_each(|input| engine.handle(input, self.since));
        let (changes, until) = (self.changes(), self.until.mono);
        let readiness = ReplacementReadiness::Never;
        let prediction =
            engine.predict(&EvictionScenario { changes: &changes, readiness, until }, self.since);
        PolicyPrediction { prediction, lacks_budgets, lacks_workloads }
    }

    /// What the engine observes, in the order of times.
    fn changes(&self) -> Vec<(Mono, EvictionInput)> {
        let evicted = self.evicted.iter().map(|(pod, _)| pod.uid.clone()).collect();
        let mut pods = PodsToEvict { evicted, known: BTreeMap::new(), listed: None };
        pods.known.extend(self.engine.pods().map(|(pod, _)| (pod.uid, pod.node)));
        let mut changes = Vec::new();
        for (at, input) in self.observed.iter().flatten() {
            match input {
                EvictionInput::Pods(event) => {
                    let events = pods.follow(event);
                    changes.extend(events.into_iter().map(|event| (*at, EvictionInput::Pods(event))));
                }
                other => changes.push((*at, other.clone())),
            }
        }
        changes
    }
}

fn empty_list<F>() -> [ObjectEvent<F>; 2] {
    [ObjectEvent::ListStarted { silent_since: None }, ObjectEvent::ListCompleted]
}

/// Turns the recorded events of pods into those of a cluster in which no eviction has happened.
struct PodsToEvict {
    /// The pods that the record's controller evicted.
    evicted: BTreeSet<Uid>,
    known: BTreeMap<Uid, NodeName>,
    /// The pods that the current list has shown.
    listed: Option<BTreeSet<Uid>>,
}

impl PodsToEvict {
    fn follow(&mut self, event: &ObjectEvent<PodFact>) -> Vec<ObjectEvent<PodFact>> {
        match event {
            ObjectEvent::ListStarted { .. } => {
                self.listed = Some(BTreeSet::new());
                Vec::new()
            }
            ObjectEvent::ListAborted => {
                self.listed = None;
                Vec::new()
            }
            ObjectEvent::ListCompleted => self.end_list(),
            ObjectEvent::Applied { fact, listed } => {
                let (uid, is_evicted) = (fact.id.uid(), self.evicted.contains(fact.id.uid()));
                self.listed.iter_mut().for_each(|all| all.extend([uid.clone()]));
                self.known.insert(uid.clone(), fact.node.clone());
                if is_evicted && fact.life_phase != PodLifePhase::Live {
                    return Vec::new();
                }
                let fact = PodFact { marked: fact.marked && !is_evicted, ..fact.clone() };
                vec![ObjectEvent::Applied { fact, listed: *listed }]
            }
            ObjectEvent::Undecodable(object) => {
                self.listed.iter_mut().for_each(|all| all.extend(object.uid.clone()));
                vec![event.clone()]
            }
            ObjectEvent::Deleted(object) => {
                object.uid.iter().for_each(|uid| drop(self.known.remove(uid)));
                let is_evicted = object.uid.as_ref().is_some_and(|uid| self.evicted.contains(uid));
                if is_evicted { Vec::new() } else { vec![event.clone()] }
            }
        }
    }

    /// The pods that the list has not shown are gone, unless the record's controller evicted them.
    fn end_list(&mut self) -> Vec<ObjectEvent<PodFact>> {
        let Self { evicted, known, listed } = self;
        let Some(listed) = listed.take() else { return Vec::new() };
        let gone = known.extract_if(.., |uid, _| !listed.contains(uid) && !evicted.contains(uid));
        gone.map(|(uid, node)| ObjectEvent::Deleted(ObjectRef::pod(uid, Some(node)))).collect()
    }
}
