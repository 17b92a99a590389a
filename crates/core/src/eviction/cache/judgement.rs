//! Judges pods again: all pods of a node after a change, or those whose deadline has come.
//!
//! - Invariant: the earliest deadline of each node is known exactly.
//! - See `pod_transition.rs` for what follows from an outcome.

use super::pod_transition::{LostCause, Transition};
use super::{CacheUpdate, NodeEntry, PodEntry, SharedTemplate};
use crate::countdown_hold::HoldHistory;
use crate::eviction::EvictionPhase;
use crate::eviction::EvictionState;
use crate::eviction::notice::{CancellationReason, EvictionNotice};
use crate::eviction::policy_gate::{EvictionMode, GateDecision};
use crate::eviction::work_queue::QueueKey;
use crate::eviction::{Dispatch, PodTurn};
use crate::identity::{NodeName, PodRef, ResourceVersion, Uid};
use crate::taint::Taint;
use crate::time::{Mono, Now};
use crate::toleration_matching::{self, NumericOperators, TaintMatch};
use crate::verdict::{self, Outcome, TaintInstance};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Distinct templates whose results are kept while the pods of one node are judged.
const MATCHES_REMEMBERED_MAX: usize = 32;

impl CacheUpdate<'_> {
    /// Expired deadlines make pods due, not earlier and not batched (TE-25).
    pub(in crate::eviction) fn pass_deadlines(&mut self, now: Mono) {
        while self.cache.wakeups.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, node)) = self.cache.wakeups.pop_first() else { break };
            let Some(entry) = self.cache.nodes.get_mut(&node) else { continue };
            entry.wakeup = Mono::NEVER;
            match entry.pods.take_due(now) {
                Some(due) => {
                    for uid in due {
                        self.judge_pod(&node, &uid, None, None, now);
                    }
                    self.cache.reschedule_wakeup(&node);
                }
                None => self.reassess(&node, None, now),
            }
        }
        self.state.queue.open_gate(now);
        while let Some(pod) = self.state.queue.pop_deadline(now) {
            self.reassess_pod(&pod, None, now);
            self.state.queue.hasten(&pod);
        }
    }

    /// Starts or ends a countdown hold (NL-48).
    pub(in crate::eviction) fn hold(&mut self, on: bool, now: Mono) {
        if on == self.state.holds.is_on() {
            return;
        }
        if on {
            self.state.holds.begin(now);
            self.reassess_held(now);
            self.state.notices.push(EvictionNotice::CountdownsHeld { pods: self.state.counts.held });
        } else if let Some(held) = self.state.holds.end(now) {
            let pods = self.state.counts.held;
            self.state.notices.push(EvictionNotice::CountdownsResumed { held, pods });
            self.reassess_held(now);
        }
    }

    /// Judges the pods of all nodes that a hold affects.
    fn reassess_held(&mut self, now: Mono) {
        let concerned = |entry: &NodeEntry| {
            entry.taints().iter().any(|instance| HoldHistory::applies_to(&instance.taint))
        };
        let nodes = self.cache.nodes.iter().filter(|(_, entry)| concerned(entry));
        let names: Vec<_> = nodes.map(|(name, _)| name.clone()).collect();
        for name in names {
            self.reassess(&name, None, now);
        }
    }

    /// Judges every pod of a node again, at one moment, and plans accordingly (TE-12, TE-13, TE-14). `before`: the
    /// node's taints, if they have changed.
    pub(super) fn reassess(&mut self, node: &NodeName, before: Option<&[TaintInstance]>, now: Mono) {
        let Some(entry) = self.cache.nodes.get_mut(node) else { return };
        let numeric = self.config.numeric;
        let NodeEntry { state: known, pods, .. } = entry;
        let reason = match known {
            Some(_) => CancellationReason::TaintRemoved,
            None => CancellationReason::NodeDeleted,
        };
        let taints = known.as_ref().map_or(&[][..], |known| known.taints());
        let mut remembered: Vec<(SharedTemplate, Vec<TaintMatch>)> = Vec::new();
        pods.update_all(|pod| {
            let at = remembered.iter().position(|(template, _)| Arc::ptr_eq(template, pod.template()));
            let at = at.unwrap_or_else(|| {
                remembered.truncate(MATCHES_REMEMBERED_MAX - 1);
                remembered.push((pod.template().clone(), toleration_matches(pod, taints, numeric)));
                remembered.len() - 1
            });
            let subject = pod.input(known.as_ref());
            let outcome = verdict::outcome(&subject, taints, &self.state.holds, &remembered[at].1, now);
            let cause = before
                .filter(|_| matches!(outcome, Outcome::Stays(_)))
                .and_then(|before| pod.evicting_taint(before, &self.state.holds, numeric))
                .map(|taint| LostCause { reason, taint });
            Transition::new(pod, node, self.state).with_cause(cause).apply_outcome(outcome, None, now);
            pod.follow_for_brake(node, known.as_ref(), outcome, &remembered[at].1, self.state, now);
        });
        self.cache.reschedule_wakeup(node);
    }

    /// Judges one pod again and plans accordingly, on an untainted node too (TE-16, TE-44); `known_due`: it was taken
    /// out of the queue for this.
    pub(in crate::eviction) fn reassess_pod(&mut self, pod: &PodRef, known_due: Option<Mono>, now: Mono) {
        self.reassess_changed_pod(pod, known_due, None, now);
    }

    /// The same for a pod with new tolerations; `before`: the taint that would have evicted it first.
    pub(super) fn reassess_changed_pod(
        &mut self,
        pod: &PodRef,
        known_due: Option<Mono>,
        before: Option<Taint>,
        now: Mono,
    ) {
        let node = &pod.node;
        let Some((before, after)) = self.judge_pod(node, &pod.uid, known_due, before, now) else { return };
        let wake = self.cache.nodes.get(node).map_or(Mono::NEVER, |entry| entry.wakeup);
        match (before, after) {
            (before, after) if before == after => {}
            (_, EvictionPhase::CountingDown(at)) if at < wake => self.cache.set_wakeup(node, at),
            (EvictionPhase::CountingDown(at), _) if at == wake && at != Mono::NEVER => {
                self.cache.reschedule_wakeup(node)
            }
            _ => {}
        }
    }

    /// Judges one pod without recomputing its node's next deadline. Returns the phases before and after.
    fn judge_pod(
        &mut self,
        node: &NodeName,
        uid: &Uid,
        known_due: Option<Mono>,
        taint: Option<Taint>,
        now: Mono,
    ) -> Option<(EvictionPhase, EvictionPhase)> {
        let entry = self.cache.nodes.get_mut(node)?;
        let NodeEntry { state: known, pods, .. } = entry;
        let taints = known.as_ref().map_or(&[][..], |known| known.taints());
        pods.update(uid, |pod| {
            let before = pod.phase();
            let matches = toleration_matches(pod, taints, self.config.numeric);
            let outcome =
                verdict::outcome(&pod.input(known.as_ref()), taints, &self.state.holds, &matches, now);
            let reason = CancellationReason::TolerationsChanged;
            let cause = taint.map(|taint| LostCause { reason, taint });
            Transition::new(pod, node, self.state).with_cause(cause).apply_outcome(outcome, known_due, now);
            pod.follow_for_brake(node, known.as_ref(), outcome, &matches, self.state, now);
            (before, pod.phase())
        })
    }

    /// Decides what is sent for the pod whose turn it is. `None`: the pod is unknown.
    pub(in crate::eviction) fn take_turn(
        &mut self,
        pod: &PodRef,
        is_probe: bool,
        now: Now,
    ) -> Option<Dispatch> {
        let entry = self.cache.nodes.get_mut(&pod.node)?;
        if is_probe {
            entry.confirmation = entry.confirmation.without_pause(now.mono);
        }
        let counts = &mut self.state.counts;
        entry.pods.update(&pod.uid, |pod| pod.set_phase(EvictionPhase::InProgress, counts))?;
        let mut confirmation = entry.confirmation;
        let node_version = entry.state.as_ref().and_then(|known| known.version());
        let (taints, holds) = (entry.taints(), &self.state.holds);
        let known = entry.pods.get(&pod.uid)?;
        let subject = known.input(entry.state.as_ref());
        let mut verdict = verdict::judge_held(&subject, taints, holds, self.config.numeric, now);
        let (node, queue) = (entry.state.as_ref(), &mut self.state.queue);
        let mode = match known.gate_decision(pod, node, &mut verdict, queue, now.mono) {
            GateDecision::Open(mode) => mode,
            GateDecision::Wait(_) if known.is_marked() => {
                self.state.queue.rest(pod);
                EvictionMode::default()
            }
            GateDecision::Wait(delay) => {
                let (due, rank) = (delay.due, known.order());
                entry.pods.update(&pod.uid, |pod| pod.set_phase(EvictionPhase::Due(due), counts));
                self.state.queue.delay(QueueKey { due, rank, pod: pod.clone() }, delay, now.mono);
                return Some(Dispatch::Waiting);
            }
        };
        let facts = PodTurn {
            name: known.name(),
            generation: known.generation(),
            version: known.version(),
            is_marked: known.is_marked(),
            owner: known.owner(),
            verdict,
            taints,
            holds,
            mode,
            node_version,
            confirmation: &mut confirmation,
        };
        let dispatch = self.state.queue.take_turn(pod, facts, self.config, now.mono);
        entry.confirmation = confirmation;
        Some(dispatch)
    }

    /// An attempt ended without a deletion: the pod is planned again.
    pub(in crate::eviction) fn finish_without_eviction(&mut self, pod: &PodRef, now: Mono) {
        let known_due = self.state.queue.forget(pod);
        let idle = self.update_pod(pod, |pod, state| pod.set_phase(EvictionPhase::Idle, &mut state.counts));
        if idle.is_some() {
            self.reassess_pod(pod, known_due, now);
        }
    }

    /// The deletion of a pod is accepted; with `any_version`, whichever version it had.
    pub(in crate::eviction) fn accept_deletion(&mut self, pod: &PodRef, any_version: bool) {
        let before = self.ready_workload(pod);
        self.update_pod(pod, |pod, state| pod.accept_deletion(any_version, &mut state.counts));
        self.state.queue.gate_mut().change_readiness(before.as_ref(), None);
    }

    /// The condition of a pod was set or removed, which made this version; false if the pod is unknown.
    pub(in crate::eviction) fn set_marked(
        &mut self,
        pod: &PodRef,
        on: bool,
        version: Option<ResourceVersion>,
    ) -> bool {
        self.update_pod(pod, |pod, _| pod.set_marked(on, version)).is_some()
    }

    /// Invalidates the last read of a node.
    pub(in crate::eviction) fn unconfirm(&mut self, node: &NodeName) {
        if let Some(entry) = self.cache.nodes.get_mut(node) {
            entry.confirmation = entry.confirmation.unconfirmed();
        }
    }

    fn update_pod<R>(
        &mut self,
        pod: &PodRef,
        change: impl FnOnce(&mut PodEntry, &mut EvictionState) -> R,
    ) -> Option<R> {
        let entry = self.cache.nodes.get_mut(&pod.node)?;
        entry.pods.update(&pod.uid, |pod| change(pod, self.state))
    }
}

impl PodEntry {
    /// The taint of these that evicts the pod first, if its eviction is planned and one does: also a taint whose time is
    /// on hold, unless another evicts the pod meanwhile.
    pub(super) fn evicting_taint(
        &self,
        taints: &[TaintInstance],
        holds: &HoldHistory,
        numeric: NumericOperators,
    ) -> Option<Taint> {
        if matches!(self.phase(), EvictionPhase::Idle | EvictionPhase::Deleted) {
            return None;
        }
        let (subject, matches) = (self.input(None), toleration_matches(self, taints, numeric));
        let decisive = |holds| verdict::outcome_with_cause(&subject, taints, holds, &matches, Mono::NEVER).1;
        let unheld = HoldHistory::NONE;
        let position = decisive(holds).or_else(|| decisive(&unheld))?;
        Some(taints[position].taint.clone())
    }
}

fn toleration_matches(
    pod: &PodEntry,
    taints: &[TaintInstance],
    numeric: NumericOperators,
) -> Vec<TaintMatch> {
    toleration_matching::match_taints(
        pod.tolerations(),
        taints.iter().map(|instance| &instance.taint),
        numeric,
    )
}
