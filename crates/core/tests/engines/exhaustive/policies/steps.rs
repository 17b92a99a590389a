//! Applies one step to a state: a change of the cluster, a request, a response, or the passing of time.

use super::super::spend;
use super::PolicyState;
use super::cluster::{PodPresence, PolicyCluster};
use super::properties::evicted;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput};
use taintward_core::fact::NodeFact;
use taintward_core::time::Mono;

/// How many requests may be in flight.
const FLIGHTS_MAX: usize = 2;

/// How long a hold lasts unless it is released, in seconds.
const HOLD: i64 = 40;

/// How far time passes if the engine waits for nothing, and at most, in seconds.
const PASSES: (i64, i64) = (20, 600);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PolicyStep {
    Taint(usize),
    Untaint(usize),
    Pull,
    /// The request is carried out, and the response arrives.
    Respond(usize),
    /// The server fails.
    Fail(usize),
    /// The request is carried out, and the response is lost.
    Lose(usize),
    /// A terminating pod is gone.
    Gone,
    /// The budget allows so many disruptions.
    Budget(u32),
    /// The policy is deleted, or created again.
    Policy,
    /// The definition of policies is deleted, or created again.
    Definition,
    /// The node is held, or released.
    Hold(usize),
    /// The first pod is held, or released.
    HoldPod,
    Restart,
    /// A request of a process that has crashed evicts the first pod.
    EvictOrphaned,
    /// Time passes until the engine's next wakeup.
    Pass,
}

pub(super) const ALL: [PolicyStep; 20] = [
    PolicyStep::Pull,
    PolicyStep::Respond(0),
    PolicyStep::Respond(1),
    PolicyStep::Taint(0),
    PolicyStep::Taint(1),
    PolicyStep::Gone,
    PolicyStep::Pass,
    PolicyStep::Untaint(0),
    PolicyStep::Fail(0),
    PolicyStep::Fail(1),
    PolicyStep::Lose(0),
    PolicyStep::Lose(1),
    PolicyStep::Budget(0),
    PolicyStep::Budget(1),
    PolicyStep::Policy,
    PolicyStep::Definition,
    PolicyStep::Hold(0),
    PolicyStep::HoldPod,
    PolicyStep::Restart,
    PolicyStep::EvictOrphaned,
];

impl PolicyState {
    pub(super) fn take(&mut self, step: PolicyStep) -> Option<()> {
        let now = self.cluster.now;
        match step {
            PolicyStep::Taint(at) if self.cluster.nodes[at].tainted.is_none() => {
                spend(&mut self.left.taints)?;
                let changed = self.cluster.change_node(at, |node| node.tainted = Some(now));
                self.receive(changed);
            }
            PolicyStep::Untaint(at) if self.cluster.nodes[at].tainted.is_some() => {
                spend(&mut self.left.untaints)?;
                if self.engine.stats().braked_keys > 0 {
                    self.cluster.settles_until = now + 30;
                }
                let changed =
                    self.cluster.change_node(at, |node| (node.tainted, node.is_begun) = (None, false));
                self.receive(changed);
            }
            PolicyStep::Pull => self.pull()?,
            PolicyStep::Respond(at) => self.respond(at)?,
            PolicyStep::Fail(at) => {
                spend(&mut self.left.failures)?;
                self.lose(at, false)?;
            }
            PolicyStep::Lose(at) => {
                spend(&mut self.left.losses)?;
                self.lose(at, true)?;
            }
            PolicyStep::Gone => self.gone()?,
            PolicyStep::Budget(allowed) => {
                spend(&mut self.left.budget_changes)?;
                self.set_budget(allowed)?;
            }
            PolicyStep::Policy => {
                spend(&mut self.left.policy_changes)?;
                let changed = self.cluster.toggle_policy();
                self.receive(changed);
            }
            PolicyStep::Definition => {
                spend(&mut self.left.definition_changes)?;
                self.cluster.forget_begun();
                self.cluster.is_definition_absent = !self.cluster.is_definition_absent;
                self.receive(EvictionInput::PolicyDefinitionAbsent(self.cluster.is_definition_absent));
            }
            PolicyStep::Hold(at) => {
                spend(&mut self.left.holds)?;
                // A node that is held loses its place among those that are emptied.
                let changed = self.cluster.change_node(at, |node| {
                    node.is_begun = false;
                    hold_or_release(&mut node.holds, now);
                });
                self.receive(changed);
            }
            PolicyStep::HoldPod if self.cluster.pods[0].presence == PodPresence::Running => {
                spend(&mut self.left.pod_holds)?;
                let changed = self.cluster.change_pod(0, |pod| hold_or_release(&mut pod.holds, now));
                self.receive(changed);
            }
            PolicyStep::Restart => {
                spend(&mut self.left.restarts)?;
                self.engine = EvictionEngine::new(EvictionConfig::clone(&self.cluster.config));
                self.cluster.forget_begun();
                self.flights.clear();
                self.list();
            }
            PolicyStep::EvictOrphaned if self.cluster.pods[0].presence == PodPresence::Running => {
                spend(&mut self.left.orphans)?;
                self.cluster.pods[0].is_orphaned = true;
                self.delete(0).ok()?;
            }
            PolicyStep::Pass => {
                spend(&mut self.left.passes)?;
                self.pass();
            }
            _ => return None,
        }
        Some(())
    }

    fn receive(&mut self, input: EvictionInput) {
        self.engine.handle(input, self.cluster.clock());
    }

    pub(super) fn set_budget(&mut self, allowed: u32) -> Option<()> {
        let changed = self.cluster.set_budget(allowed)?;
        self.receive(changed);
        Some(())
    }

    pub(super) fn release_holds(&mut self) {
        let now = self.cluster.now;
        for at in 0..self.cluster.nodes.len() {
            if self.cluster.nodes[at].holds.iter().any(|(_, until)| *until > now) {
                let changed = self.cluster.change_node(at, |node| hold_or_release(&mut node.holds, now));
                self.receive(changed);
            }
        }
        let pod = &self.cluster.pods[0];
        if pod.presence == PodPresence::Running && pod.holds.iter().any(|(_, until)| *until > now) {
            let changed = self.cluster.change_pod(0, |pod| hold_or_release(&mut pod.holds, now));
            self.receive(changed);
        }
    }

    /// Pulls a request, which must be allowed. Reads are answered at once.
    pub(super) fn pull(&mut self) -> Option<()> {
        if self.flights.len() >= FLIGHTS_MAX {
            return None;
        }
        loop {
            let effect = self.engine.next_effect(Lane::All, self.cluster.clock())?;
            if let Some(response) = self.read(&effect) {
                self.receive(response);
                continue;
            }
            let forbidden = self.cluster.forbids(&effect, &self.flights);
            assert!(forbidden.is_none(), "{forbidden:?}: {effect:?}");
            if let Some(pod) = evicted(&effect)
                && self.cluster.governing().is_some()
            {
                let PolicyCluster { now, sent, nodes, pods, .. } = &mut self.cluster;
                sent.retain(|at| *at > *now - 60);
                sent.push(*now);
                nodes[pods[pod].node].is_begun = true;
            }
            self.flights.push(effect);
            return Some(());
        }
    }

    fn read(&self, effect: &EvictionEffect) -> Option<EvictionInput> {
        match effect {
            EvictionEffect::ReadNode { node } => {
                let fact = self.cluster.node_fact(PolicyCluster::node_of(node.as_str()));
                let read = LiveRead::Found(NodeFact { labels: None, ..fact });
                let sent = self.cluster.clock().mono;
                Some(EvictionInput::NodeConfirmed { node: node.clone(), sent, result: Ok(read) })
            }
            EvictionEffect::ReadPod { pod, .. } => {
                let at = PolicyCluster::pod_of(pod);
                let read = match self.cluster.pods[at].presence {
                    PodPresence::Gone => LiveRead::NotFound,
                    _ => LiveRead::Found(self.cluster.pod_fact(at)),
                };
                Some(EvictionInput::PodRead { pod: pod.clone(), result: Ok(read), half_deleted: false })
            }
            _ => None,
        }
    }

    pub(super) fn respond(&mut self, at: usize) -> Option<()> {
        let effect = self.take_flight(at)?;
        let response = self.carry_out(effect);
        self.receive(response);
        Some(())
    }

    fn lose(&mut self, at: usize, is_carried_out: bool) -> Option<()> {
        let effect = self.take_flight(at)?;
        if is_carried_out {
            self.carry_out(effect.clone());
        }
        let result = Err(ApiFailure::Unavailable);
        let response = match effect {
            EvictionEffect::SetDisruptionTarget { pod, .. } => {
                EvictionInput::Marked { pod, result: Err(ApiFailure::Unavailable) }
            }
            EvictionEffect::ClearDisruptionTarget { pod, .. } => EvictionInput::Unmarked { pod, result },
            EvictionEffect::EvictPod { pod, .. } => EvictionInput::Evicted { pod, result },
            EvictionEffect::DeletePod { pod, .. } => EvictionInput::Deleted { pod, result },
            read => unreachable!("{read:?} is answered at once"),
        };
        self.receive(response);
        Some(())
    }

    fn take_flight(&mut self, at: usize) -> Option<EvictionEffect> {
        (at < self.flights.len()).then(|| self.flights.remove(at))
    }

    /// Carries out a request, and delivers what follows from it.
    fn carry_out(&mut self, effect: EvictionEffect) -> EvictionInput {
        match effect {
            EvictionEffect::SetDisruptionTarget { pod, version, .. } => {
                let at = PolicyCluster::pod_of(&pod);
                let result =
                    self.mark(at, true, version.is_none_or(|one| self.cluster.version_of(at) == Some(one)));
                let version = self.cluster.version_of(at);
                EvictionInput::Marked { pod, result: result.map(|()| version) }
            }
            EvictionEffect::ClearDisruptionTarget { pod, .. } => {
                let result = self.mark(PolicyCluster::pod_of(&pod), false, true);
                EvictionInput::Unmarked { pod, result }
            }
            EvictionEffect::DeletePod { pod, version, .. } => {
                let at = PolicyCluster::pod_of(&pod);
                let is_same = version.is_none_or(|one| self.cluster.version_of(at) == Some(one));
                let result = if is_same { self.delete(at) } else { Err(ApiFailure::Conflict) };
                EvictionInput::Deleted { pod, result }
            }
            EvictionEffect::EvictPod { pod, .. } => {
                let at = PolicyCluster::pod_of(&pod);
                let is_running = self.cluster.pods[at].presence == PodPresence::Running;
                let result = match self.cluster.budget.filter(|_| is_running) {
                    Some(0) => Err(ApiFailure::Budget),
                    Some(allowed) => {
                        self.set_budget(allowed - 1);
                        self.delete(at)
                    }
                    None => self.delete(at),
                };
                EvictionInput::Evicted { pod, result }
            }
            read => unreachable!("{read:?} is answered at once"),
        }
    }

    fn mark(&mut self, at: usize, on: bool, is_same: bool) -> Result<(), ApiFailure> {
        match self.cluster.pods[at].presence {
            PodPresence::Gone => return Err(ApiFailure::NotFound),
            _ if !is_same => return Err(ApiFailure::Conflict),
            _ => {}
        }
        if self.cluster.pods[at].is_marked != on {
            let changed = self.cluster.change_pod(at, |pod| pod.is_marked = on);
            self.receive(changed);
        }
        Ok(())
    }

    fn delete(&mut self, at: usize) -> Result<(), ApiFailure> {
        match self.cluster.pods[at].presence {
            PodPresence::Gone => Err(ApiFailure::NotFound),
            PodPresence::Terminating => Ok(()),
            PodPresence::Running => {
                let changed = self.cluster.change_pod(at, |pod| pod.presence = PodPresence::Terminating);
                self.receive(changed);
                Ok(())
            }
        }
    }

    /// The first terminating pod is gone.
    pub(super) fn gone(&mut self) -> Option<()> {
        let at = self.cluster.pods.iter().position(|pod| pod.presence == PodPresence::Terminating)?;
        let changed = self.cluster.change_pod(at, |pod| pod.presence = PodPresence::Gone);
        self.receive(changed);
        if self.cluster.replaces {
            let replacement = self.cluster.replace(at);
            self.receive(replacement);
        }
        Some(())
    }

    pub(super) fn pass(&mut self) {
        let wake = self.engine.next_wakeup().map(Mono::as_micros);
        let wake = wake.map_or(PASSES.0, |at| (at + 999_999).div_euclid(1_000_000) - self.cluster.now);
        self.cluster.now += wake.clamp(1, PASSES.1);
        self.engine.tick(self.cluster.clock().mono);
    }
}

/// Begins a hold, or ends the present one.
fn hold_or_release(holds: &mut Vec<(i64, i64)>, now: i64) {
    match holds.last_mut().filter(|(_, until)| *until > now) {
        Some((_, until)) => *until = now,
        None => holds.push((now, now + HOLD)),
    }
}
