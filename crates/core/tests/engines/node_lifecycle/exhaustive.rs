//! Explores every interleaving of a cluster of two nodes in one zone, breadth first.
//!
//! - Prints the path to a NoExecute taint that came within the grace period (S7) or above the rate (S6), or to a state
//!   from which a fair run does not end well (NL-7, L7).

use crate::exhaustive::search::{self, SearchResult, SearchState};
use crate::node_lifecycle::harness::zone;
use std::collections::VecDeque;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{
    ConditionKind, ConditionStatus, LeaseFact, LiveNodeAndLease, ManagedTaint, ManagedTaints, NodeCondition,
    NodeHealthFact, NodeLifecycleConfig, NodeLifecycleEffect, NodeLifecycleEngine,
    NodeLifecycleInput as Input, PlatformLabels,
};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::taint_of;
use taintward_core::time::{Mono, Now, Wall};

const STATES_MAX: usize = 40_000;
const SECOND: i64 = 1_000_000;
const GRACE: i64 = 50 * SECOND;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum LifecycleStep {
    /// The second node sends a heartbeat; the first always does.
    Beat,
    ReceiveLease,
    ReceiveNode,
    Pull,
    Commit,
    Response,
    /// The response is lost, committed or not.
    Lose,
    Pass(i64),
    Restart,
    List,
    /// A list starts and is aborted; the watch continues.
    BreakList,
}

const STEPS: [LifecycleStep; 11] = [
    LifecycleStep::Pull,
    LifecycleStep::ReceiveNode,
    LifecycleStep::ReceiveLease,
    LifecycleStep::Commit,
    LifecycleStep::Response,
    LifecycleStep::Beat,
    LifecycleStep::Pass(12),
    LifecycleStep::Lose,
    LifecycleStep::Restart,
    LifecycleStep::List,
    LifecycleStep::BreakList,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LifecycleState {
    now: i64,
    engine: NodeLifecycleEngine,
    nodes: [NodeHealthFact; 2],
    leases: [LeaseFact; 2],
    beat: i64,
    /// When it last was silent for longer than the grace period, and then sent a heartbeat.
    silent_at: Option<i64>,
    version: u64,
    tainted: Vec<i64>,
    flight: Option<(NodeLifecycleEffect, i64, Option<Input>)>,
    node_change: VecDeque<NodeHealthFact>,
    lease_change: VecDeque<LeaseFact>,
    beats: u8,
    passes: u8,
    losses: u8,
    restarts: u8,
    lists: u8,
}

fn spend(budget: &mut u8) -> Option<()> {
    *budget = budget.checked_sub(1)?;
    Some(())
}

impl LifecycleState {
    fn first(beats: u8, passes: u8, losses: u8, restarts: u8, lists: u8) -> Self {
        let ready = NodeCondition {
            kind: ConditionKind::Ready,
            status: ConditionStatus::True,
            heartbeat: Some(Wall::from_secs(1)),
        };
        let node = |name: &str| NodeHealthFact {
            name: NodeName::new(name),
            uid: Uid::new(name),
            version: Some(ResourceVersion(1)),
            created: Some(Wall::from_secs(0)),
            zone: zone("a"),
            excluded: false,
            unschedulable: false,
            taints: Vec::new(),
            conditions: vec![ready],
            platform: PlatformLabels::default(),
        };
        let lease = |name: &str| LeaseFact {
            node: NodeName::new(name),
            version: Some(ResourceVersion(1)),
            renewed: Some(Wall::from_secs(1)),
        };
        let mut state = Self {
            now: 0,
            engine: NodeLifecycleEngine::new(NodeLifecycleConfig::default()),
            nodes: ["n0", "n1"].map(node),
            leases: ["n0", "n1"].map(lease),
            beat: 0,
            silent_at: None,
            version: 1,
            tainted: Vec::new(),
            flight: None,
            node_change: VecDeque::new(),
            lease_change: VecDeque::new(),
            beats,
            passes,
            losses,
            restarts,
            lists,
        };
        state.list();
        // Known and healthy for as long as a grace period, then silent for most of another.
        (0..5).for_each(|_| state.pass(12));
        state.renew(1);
        state.lease_change.drain(..).for_each(drop);
        state.list();
        (0..4).for_each(|_| state.pass(12));
        state
    }

    fn clock(&self) -> Now {
        Now::exact(Mono::from_micros(self.now), Wall::from_micros(1_800_000_000 * SECOND + self.now))
    }

    fn submit(&mut self, input: Input) {
        let now = self.clock();
        self.engine.handle(input, now);
        self.engine.take_notices();
    }

    fn list(&mut self) {
        self.node_change.clear();
        self.lease_change.clear();
        let silent_since = Some(self.clock().mono);
        self.submit(Input::OwnRequestSucceeded { sent: Mono::from_micros(self.now) });
        self.submit(Input::Nodes(ObjectEvent::ListStarted { silent_since }));
        for fact in self.nodes.clone() {
            self.submit(Input::Nodes(ObjectEvent::Applied { fact, listed: true }));
        }
        self.submit(Input::Nodes(ObjectEvent::ListCompleted));
        self.submit(Input::Leases(ObjectEvent::ListStarted { silent_since }));
        for fact in self.leases.clone() {
            self.submit(Input::Leases(ObjectEvent::Applied { fact, listed: true }));
        }
        self.submit(Input::Leases(ObjectEvent::ListCompleted));
    }

    /// A node renews its lease, and posts that it is ready if its object says otherwise.
    fn renew(&mut self, which: usize) {
        self.version += 2;
        let wall = self.clock().wall;
        let lease = &mut self.leases[which];
        (lease.version, lease.renewed) = (Some(ResourceVersion(self.version)), Some(wall));
        self.lease_change.push_back(lease.clone());
        let node = &mut self.nodes[which];
        if node.conditions[0].status != ConditionStatus::True {
            node.conditions[0] =
                NodeCondition { status: ConditionStatus::True, heartbeat: Some(wall), ..node.conditions[0] };
            node.version = Some(ResourceVersion(self.version + 1));
            self.node_change.push_back(node.clone());
        }
        if which == 1 {
            self.silent_at = (self.now - self.beat > GRACE).then_some(self.now).or(self.silent_at);
            self.beat = self.now;
        }
    }

    fn pass(&mut self, seconds: i64) {
        self.now += seconds * SECOND;
        self.version += 2;
        let wall = self.clock().wall;
        self.leases[0].version = Some(ResourceVersion(self.version));
        self.leases[0].renewed = Some(wall);
        let fact = self.leases[0].clone();
        self.submit(Input::Leases(ObjectEvent::Applied { fact, listed: false }));
        self.submit(Input::OwnRequestSucceeded { sent: Mono::from_micros(self.now) });
    }

    fn take(&mut self, step: LifecycleStep) -> Option<()> {
        match step {
            LifecycleStep::Beat => {
                spend(&mut self.beats)?;
                self.renew(1);
            }
            LifecycleStep::ReceiveLease => {
                let fact = self.lease_change.pop_front()?;
                self.submit(Input::Leases(ObjectEvent::Applied { fact, listed: false }));
            }
            LifecycleStep::ReceiveNode => {
                let fact = self.node_change.pop_front()?;
                self.submit(Input::Nodes(ObjectEvent::Applied { fact, listed: false }));
            }
            LifecycleStep::Pull if self.flight.is_none() => {
                let effect = self.engine.next_effect(Lane::All, self.clock())?;
                self.flight = Some((effect, self.now, None));
            }
            LifecycleStep::Commit => self.commit()?,
            LifecycleStep::Response => {
                let response = self.flight.as_ref()?.2.clone()?;
                self.flight = None;
                self.submit(response);
            }
            LifecycleStep::Lose => {
                spend(&mut self.losses)?;
                let (effect, sent, _) = self.flight.take()?;
                self.submit(lost(&effect, sent));
            }
            LifecycleStep::Pass(seconds) => {
                spend(&mut self.passes)?;
                self.pass(seconds);
            }
            LifecycleStep::Restart => {
                spend(&mut self.restarts)?;
                self.engine = NodeLifecycleEngine::new(NodeLifecycleConfig::default());
                self.flight = None;
                self.list();
            }
            LifecycleStep::List => {
                spend(&mut self.lists)?;
                self.list();
            }
            LifecycleStep::BreakList => {
                spend(&mut self.lists)?;
                let silent_since = Some(self.clock().mono);
                self.submit(Input::Leases(ObjectEvent::ListStarted { silent_since }));
                let fact = self.leases[0].clone();
                self.submit(Input::Leases(ObjectEvent::Applied { fact, listed: true }));
                self.submit(Input::Leases(ObjectEvent::ListAborted));
            }
            LifecycleStep::Pull => return None,
        }
        Some(())
    }

    fn commit(&mut self) -> Option<()> {
        let (effect, sent, response) = self.flight.clone()?;
        if response.is_some() || self.now - sent > 10 * SECOND {
            return None;
        }
        let sent = Mono::from_micros(sent);
        let response = match &effect {
            NodeLifecycleEffect::ReadNode { node } => {
                let at = usize::from(node.as_str() == "n1");
                let (node_fact, lease) = (self.nodes[at].clone(), self.leases[at].clone());
                let result =
                    Ok(LiveNodeAndLease { node: LiveRead::Found(node_fact), lease: LiveRead::Found(lease) });
                Input::Confirmed { node: node.clone(), sent, result }
            }
            NodeLifecycleEffect::PatchTaints { node, version, add, remove, .. } => {
                let result = self.write(&node.name, *version, |fact| {
                    fact.taints.retain(|taint| !ManagedTaint::of(taint).is_some_and(|own| remove.has(own)));
                    fact.taints.extend(add.iter().map(|own| taint_of(own.key(), "", own.effect().as_str())));
                });
                Input::Written { node: node.name.clone(), result }
            }
            NodeLifecycleEffect::SetConditionsUnknown { node, version, .. } => {
                let result = self
                    .write(&node.name, *version, |fact| fact.conditions[0].status = ConditionStatus::Unknown);
                Input::Written { node: node.name.clone(), result }
            }
            other => panic!("no {other:?} is expected here"),
        };
        self.flight.as_mut()?.2 = Some(response);
        Some(())
    }

    fn write(
        &mut self,
        name: &NodeName,
        version: Option<ResourceVersion>,
        write: impl FnOnce(&mut NodeHealthFact),
    ) -> Result<Option<ResourceVersion>, ApiFailure> {
        assert_eq!(name.as_str(), "n1", "the first is healthy");
        let fact = &mut self.nodes[1];
        if version != fact.version {
            return Err(ApiFailure::Conflict);
        }
        let before = ManagedTaints::of(&fact.taints).no_execute();
        write(fact);
        self.version += 2;
        fact.version = Some(ResourceVersion(self.version));
        self.node_change.push_back(fact.clone());
        let after = ManagedTaints::of(&fact.taints).no_execute();
        if before.is_empty() && !after.is_empty() {
            // A read may be two seconds old, and a request in flight for ten.
            let was_silent = self.silent_at.is_some_and(|at| self.now - at <= 12 * SECOND);
            let is_silent = self.now - self.beat > GRACE;
            assert!(is_silent || was_silent, "S7: a heartbeat {} ago", self.now - self.beat);
            assert!(self.tainted.last().is_none_or(|last| self.now - last >= 10 * SECOND), "S6");
            self.tainted.push(self.now);
        }
        Ok(Some(ResourceVersion(self.version)))
    }

    /// From here on nothing goes wrong: the node is alive, or is not.
    fn end(mut self, alive: bool) {
        for _ in 0..20 {
            if alive {
                self.renew(1);
            }
            for _ in 0..60 {
                while self.take(LifecycleStep::ReceiveNode).is_some()
                    || self.take(LifecycleStep::ReceiveLease).is_some()
                {}
                while self.take(LifecycleStep::Commit).is_some()
                    || self.take(LifecycleStep::Response).is_some()
                {}
                if self.flight.is_some() {
                    self.losses = 1;
                    self.take(LifecycleStep::Lose);
                }
                if self.take(LifecycleStep::Pull).is_none() {
                    break;
                }
            }
            self.pass(5);
            self.engine.tick(self.clock().mono);
        }
        let own = ManagedTaints::of(&self.nodes[1].taints);
        match alive {
            true => assert_eq!(own, ManagedTaints::NONE, "L7"),
            false => {
                let both = [ManagedTaint::UnreachableNoExecute, ManagedTaint::Unreachable];
                assert!(both.into_iter().all(|taint| own.has(taint)), "{own:?}");
            }
        }
    }
}

impl SearchState for LifecycleState {
    type Step = LifecycleStep;

    const STEPS: &'static [LifecycleStep] = &STEPS;

    fn step(&self, step: LifecycleStep) -> Option<Self> {
        let mut next = self.clone();
        next.take(step)?;
        next.engine.tick(next.clock().mono);
        next.engine.take_notices();
        Some(next)
    }

    fn has_acted(&self) -> bool {
        !self.tainted.is_empty()
    }

    fn run_fairly(self) {
        self.clone().end(true);
        self.end(false);
    }
}

fn lost(effect: &NodeLifecycleEffect, sent: i64) -> Input {
    let gone = ApiFailure::Unavailable;
    match effect {
        NodeLifecycleEffect::ReadNode { node } => {
            Input::Confirmed { node: node.clone(), sent: Mono::from_micros(sent), result: Err(gone) }
        }
        NodeLifecycleEffect::PatchTaints { node, .. }
        | NodeLifecycleEffect::SetConditionsUnknown { node, .. }
        | NodeLifecycleEffect::PatchLabels { node, .. } => {
            Input::Written { node: node.name.clone(), result: Err(gone) }
        }
        NodeLifecycleEffect::SetPodNotReady { pod, .. } => {
            Input::PodMarked { pod: pod.clone(), result: Err(gone) }
        }
    }
}

#[test]
fn no_interleaving_taints_wrongly_and_every_state_ends_well() {
    let mut all = SearchResult::default();
    for (beats, passes, losses, restarts, lists) in
        [(1, 4, 0, 0, 0), (1, 3, 2, 0, 0), (0, 8, 1, 1, 0), (1, 7, 0, 1, 1), (2, 6, 1, 0, 1)]
    {
        let first = LifecycleState::first(beats, passes, losses, restarts, lists);
        let found = search::explore(first, search::states_max(STATES_MAX));
        println!(
            "beats {beats}, passes {passes}, losses {losses}, restarts {restarts}, lists {lists}: {found}"
        );
        assert!(found.acted > 0, "no node is tainted");
        all = all.and(found);
    }
    println!("{all}");
}
