//! Judges pods again: all of a node after a change, or those whose deadline has come.
//!
//! - Invariant: the earliest deadline of each node is known exactly.
//! - See `transitions.rs` for what follows from an outcome.

use super::EvictionEngine;
use super::cache::{NodeEntry, PodEntry, TolerationList};
use super::phase::EvictionPhase;
use crate::engine::Engine;
use crate::identity::{NodeName, Uid};
use crate::time::Mono;
use crate::toleration_matching::{self, NumericOperators, TaintMatch};
use crate::verdict::{self, TaintInstance};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Distinct toleration lists whose answers are remembered during the walk over one node's pods.
const ANSWERS_REMEMBERED_MAX: usize = 32;

impl EvictionEngine {
    /// Deadlines that have come make pods due, not earlier and not batched (TE-25).
    pub(super) fn pass_deadlines(&mut self, now: Mono) {
        while let Some((at, _)) = self.wakeups.first() {
            if *at > now {
                break;
            }
            let Some((_, node)) = self.wakeups.pop_first() else { break };
            let Some(entry) = self.nodes.get_mut(&node) else { continue };
            entry.wakeup = Mono::NEVER;
            match entry.deadlines.take_due(now) {
                Some(due) => {
                    for uid in due {
                        self.judge_pod(&node, &uid, None, now);
                    }
                    self.reschedule_wakeup(&node);
                }
                None => self.reassess(&node, now),
            }
        }
        while let Some(pod) = self.state.queue.pop_deadline(now) {
            self.reassess_pod(&pod.node, &pod.uid, None, now);
            self.state.queue.hasten(&pod);
        }
    }

    /// When the next deadline comes: what [`Engine::tick`] then makes due is there for [`Lane::Fresh`](crate::engine::Lane::Fresh), too.
    pub fn deadline_at(&self) -> Option<Mono> {
        let first = self.wakeups.first().map(|(at, _)| *at);
        first.into_iter().chain(self.state.queue.next_deadline()).min().filter(|at| *at != Mono::NEVER)
    }

    /// When the next retry may be pulled ([`Lane::All`](crate::engine::Lane::All)). It stays in the past for as long as nobody pulls it: whoever has
    /// no room for retries waits for deadlines only (L6).
    pub fn retry_at(&self) -> Option<Mono> {
        self.state.queue.next_retry().filter(|at| self.is_synced() && *at != Mono::NEVER)
    }

    /// Judges every pod of a node again, at one moment, and plans accordingly (TE-12, TE-13, TE-14).
    pub(super) fn reassess(&mut self, node: &NodeName, now: Mono) {
        let Some(entry) = self.nodes.get_mut(node) else { return };
        let numeric = self.config.numeric;
        let (taints, undecodable, pods) = entry.split();
        let mut remembered: Vec<(TolerationList, Vec<TaintMatch>)> = Vec::new();
        for pod in pods {
            let at = remembered.iter().position(|(list, _)| Arc::ptr_eq(list, &pod.tolerations));
            let at = at.unwrap_or_else(|| {
                remembered.truncate(ANSWERS_REMEMBERED_MAX - 1);
                remembered.push((pod.tolerations.clone(), toleration_matches(pod, taints, numeric)));
                remembered.len() - 1
            });
            let subject = pod.input(undecodable);
            let outcome = verdict::outcome(&subject, taints, &self.state.holds, &remembered[at].1, now);
            self.state.apply_outcome(pod, outcome, node, None, now);
        }
        entry.deadlines.forget();
        self.reschedule_wakeup(node);
    }

    /// Judges one pod again and plans accordingly, on an untainted node too (TE-16, TE-44); `known_due`: it was taken
    /// out of the queue for this.
    pub(super) fn reassess_pod(&mut self, node: &NodeName, uid: &Uid, known_due: Option<Mono>, now: Mono) {
        let Some((before, after)) = self.judge_pod(node, uid, known_due, now) else { return };
        let wake = self.nodes.get(node).map_or(Mono::NEVER, |entry| entry.wakeup);
        match (before, after) {
            (before, after) if before == after => {}
            (_, EvictionPhase::CountingDown(at)) if at < wake => self.set_wakeup(node, at),
            (EvictionPhase::CountingDown(at), _) if at == wake && at != Mono::NEVER => {
                self.reschedule_wakeup(node)
            }
            _ => {}
        }
    }

    /// Judges one pod without finding its node's next deadline; says from which phase to which.
    fn judge_pod(
        &mut self,
        node: &NodeName,
        uid: &Uid,
        known_due: Option<Mono>,
        now: Mono,
    ) -> Option<(EvictionPhase, EvictionPhase)> {
        let entry = self.nodes.get_mut(node)?;
        let numeric = self.config.numeric;
        let undecodable = entry.is_undecodable();
        let (taints, Some(pod)) = entry.taints_and_pod(uid) else { return None };
        let before = pod.phase();
        let answers = toleration_matches(pod, taints, numeric);
        let outcome = verdict::outcome(&pod.input(undecodable), taints, &self.state.holds, &answers, now);
        self.state.apply_outcome(pod, outcome, node, known_due, now);
        let after = pod.phase();
        entry.deadline_changed(uid, before, after);
        Some((before, after))
    }

    /// Finds the earliest deadline of a node's pods.
    pub(super) fn reschedule_wakeup(&mut self, node: &NodeName) {
        let Some(entry) = self.nodes.get_mut(node) else { return };
        let earliest = entry.earliest_deadline();
        self.set_wakeup(node, earliest);
    }

    fn set_wakeup(&mut self, node: &NodeName, wake: Mono) {
        let Some(entry) = self.nodes.get_mut(node) else { return };
        if entry.wakeup == wake {
            return;
        }
        let old = core::mem::replace(&mut entry.wakeup, wake);
        if old != Mono::NEVER {
            self.wakeups.remove(&(old, node.clone()));
        }
        if wake != Mono::NEVER {
            self.wakeups.insert((wake, node.clone()));
        }
    }

    /// Gives up an entry that holds nothing.
    pub(super) fn remove_empty_entry(&mut self, node: &NodeName) {
        if self.nodes.get(node).is_some_and(NodeEntry::is_vacant) {
            self.set_wakeup(node, Mono::NEVER);
            self.nodes.remove(node);
        }
    }
}

fn toleration_matches(
    pod: &PodEntry,
    taints: &[TaintInstance],
    numeric: NumericOperators,
) -> Vec<TaintMatch> {
    toleration_matching::match_taints(
        &pod.tolerations,
        taints.iter().map(|instance| &instance.taint),
        numeric,
    )
}
