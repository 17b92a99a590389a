//! Gives the gate of policies and the brake what the cache knows about pods and nodes.

use super::{CacheUpdate, PodEntry};
use crate::eviction::cache::node_state::NodeState;
use crate::eviction::input::EvictionInput;
use crate::eviction::policy_gate::{
    DueTaint, EvictionMode, GateDecision, GateSubject, PolicyChange, PolicyGate,
};
use crate::eviction::work_queue::WorkQueue;
use crate::eviction::{EvictionPhase, EvictionState};
use crate::fact::{PodLifePhase, PodTemplateFact};
use crate::identity::{NodeName, PodRef};
use crate::scheduling::Labels;
use crate::taint::Taint;
use crate::time::{Mono, Now};
use crate::toleration_matching::TaintMatch;
use crate::verdict::{self, Outcome, Verdict};
use crate::workload::Workload;
use alloc::vec::Vec;

impl CacheUpdate<'_> {
    /// Handles an input about policies and what they need.
    pub(in crate::eviction) fn on_policy_input(&mut self, input: EvictionInput, now: Now) {
        let gate = self.state.queue.gate_mut();
        let change = match input {
            EvictionInput::Policies(event) => gate.apply_policies(event, now),
            EvictionInput::PolicyDefinitionAbsent(absent) => gate.set_definition_absent(absent, now.mono),
            EvictionInput::Namespaces(event) => gate.apply_namespaces(event, now),
            EvictionInput::Budgets(event) => gate.apply_budgets(event, now),
            EvictionInput::Workloads(kind, event) => gate.apply_workloads(kind, event, now),
            _ => PolicyChange::Nothing,
        };
        if change == PolicyChange::Count {
            self.count_for_policies(now.mono);
        }
        if change != PolicyChange::Nothing {
            for pod in self.state.queue.gate().leaving() {
                self.with_all_taints(&pod, now.mono, |gate, subject| gate.observe_emptied(subject));
            }
            self.follow_all_holds(now.mono);
            let delayed = self.state.queue.gate().all();
            self.state.queue.hasten_delayed(&delayed);
        }
    }

    /// Policies need counts of pods: counts all.
    fn count_for_policies(&mut self, now: Mono) {
        let leaving = self.state.queue.count_due();
        let pods: Vec<PodRef> = self
            .cache
            .pods()
            .filter(|(_, pod)| pod.life_phase == PodLifePhase::Terminating || pod.ready_workload().is_some())
            .map(|(node, pod)| PodRef { node: node.clone(), uid: pod.uid().clone() })
            .collect();
        for pod in pods {
            self.follow_for_policies(&pod, None, None, now);
        }
        for pod in leaving {
            self.with_all_taints(&pod, now, |gate, subject| gate.observe_leaving(subject));
        }
    }

    /// Calls this with the pod as a subject of all NoExecute taints of its node.
    fn with_all_taints(
        &mut self,
        pod: &PodRef,
        now: Mono,
        observe: impl FnOnce(&mut PolicyGate, &GateSubject<'_>),
    ) {
        let Some(entry) = self.cache.nodes.get(&pod.node) else { return };
        let Some(known) = entry.pods.get(&pod.uid) else { return };
        let taints: Vec<&Taint> = entry.taints().iter().map(|instance| &instance.taint).collect();
        let none = (Labels::new(), PodTemplateFact::default());
        let node = entry.state.as_ref().and_then(NodeState::labels).unwrap_or(&none.0);
        let template = known.template.fact.as_deref().unwrap_or(&none.1);
        let subject = known.gate_subject((pod, node, template), &taints, (now, None));
        observe(self.state.queue.gate_mut(), &subject);
    }

    /// A pod is known, or has changed: tells the gate whether it is a ready replica, and whether it is terminating.
    pub(super) fn follow_for_policies(
        &mut self,
        pod: &PodRef,
        before: Option<PodLifePhase>,
        was_ready: Option<Workload>,
        now: Mono,
    ) {
        let queue = &mut self.state.queue;
        if !queue.gate().is_active() {
            return;
        }
        let Some(entry) = self.cache.nodes.get(&pod.node) else { return };
        let Some(known) = entry.pods.get(&pod.uid) else { return };
        queue.gate_mut().change_readiness(was_ready.as_ref(), known.ready_workload());
        let terminating = PodLifePhase::Terminating;
        match (before == Some(terminating), known.life_phase == terminating) {
            (false, true) => {
                self.with_all_taints(pod, now, |gate, subject| gate.observe_terminating(subject, now))
            }
            (true, false) => queue.gate_mut().pod_gone(pod),
            _ => {}
        }
    }

    /// The workload of which a pod is a ready replica, if these are counted.
    pub(super) fn ready_workload(&self, pod: &PodRef) -> Option<Workload> {
        let known = self.cache.nodes.get(&pod.node)?.pods.get(&pod.uid)?;
        self.state.queue.gate().ready_workload(known.ready_workload())
    }
}

impl PodEntry {
    /// The workload of which it is a ready replica.
    pub(super) fn ready_workload(&self) -> Option<&Workload> {
        let is_ready =
            self.ready && self.life_phase == PodLifePhase::Live && self.phase() != EvictionPhase::Deleted;
        self.template.fact.as_ref().filter(|_| is_ready)?.workload.as_ref()
    }

    /// Decides whether a pod whose turn has come is evicted now.
    pub(super) fn gate_decision(
        &self,
        pod: &PodRef,
        node: Option<&NodeState>,
        verdict: &mut Verdict,
        queue: &mut WorkQueue,
        now: Mono,
    ) -> GateDecision {
        let (Outcome::Leaves { due }, true) = (verdict.outcome, queue.may_delay(pod)) else {
            return GateDecision::Open(EvictionMode::default());
        };
        let instances = node.map_or(&[][..], NodeState::taints);
        let judged = instances.iter().zip(&verdict.reasons).enumerate();
        let judged = judged.filter_map(|(position, (instance, reason))| {
            Some(DueTaint { position, taint: &instance.taint, due: reason.due? })
        });
        let mut due_taints: Vec<DueTaint<'_>> = judged.clone().filter(|one| one.due <= now).collect();
        let next_due = judged.map(|one| one.due).filter(|due| *due > now).min();
        let (gate, allow) = (queue.gate_mut(), node.and_then(NodeState::allow));
        if let Some(delay) = gate.apply_brake(pod, &mut due_taints, allow, (due, next_due), now) {
            return GateDecision::Wait(delay);
        }
        // The pod leaves because of the taints that are not braked.
        let Some(first) = due_taints.iter().min_by_key(|one| one.due) else {
            return GateDecision::Open(EvictionMode::default());
        };
        let due = first.due;
        (verdict.outcome, verdict.decisive) = (Outcome::Leaves { due }, Some(first.position));
        let taints: Vec<&Taint> = due_taints.iter().map(|one| one.taint).collect();
        let none = (Labels::new(), PodTemplateFact::default());
        let labels = node.and_then(NodeState::labels).unwrap_or(&none.0);
        let template = self.template.fact.as_deref().unwrap_or(&none.1);
        let subject = self.gate_subject((pod, labels, template), &taints, (due, next_due));
        gate.decide(&subject, now)
    }

    /// Tells the brake because of which taints the pod is due.
    pub(super) fn follow_for_brake(
        &self,
        node: &NodeName,
        known: Option<&NodeState>,
        outcome: Outcome,
        matches: &[TaintMatch],
        state: &mut EvictionState,
        now: Mono,
    ) {
        if !state.queue.gate().has_brake() {
            return;
        }
        let is_planned = matches!(self.phase(), EvictionPhase::Due(_) | EvictionPhase::InProgress);
        let mut due: Vec<(&str, Mono)> = Vec::new();
        if is_planned && matches!(outcome, Outcome::Leaves { .. }) {
            let (subject, taints) = (self.input(known), known.map_or(&[][..], NodeState::taints));
            let reasons = verdict::reasons(&subject, taints, &state.holds, matches, now);
            let judged =
                taints.iter().zip(reasons).filter_map(|(one, reason)| Some((&*one.taint.key, reason.due?)));
            due.extend(judged.filter(|(_, due)| *due <= now));
        }
        let pod = PodRef { node: node.clone(), uid: self.uid().clone() };
        state.queue.gate_mut().set_due(&pod, &due, now);
    }

    pub(super) fn gate_subject<'a>(
        &'a self,
        (pod, node, template): (&'a PodRef, &'a Labels, &'a PodTemplateFact),
        taints: &'a [&'a Taint],
        (due, next_due): (Mono, Option<Mono>),
    ) -> GateSubject<'a> {
        let (namespace, workload) = (self.name().namespace(), self.ready_workload());
        let (order, is_ready) = (self.order(), self.ready);
        GateSubject { pod, namespace, template, order, is_ready, workload, node, taints, due, next_due }
    }
}
