//! # Reassess: who stays and who goes, judged again
//! Room:     judging all pods of a node, or one of them; letting time pass; when something happens by itself.
//! Comes in: a node or a pod about which something has changed, or whose moment has come.
//! Goes out: plans as the outcomes now are; the moment at which the node's next deadline comes.
//! Keeps:    the earliest deadline of a node is known, exactly.
//! Not here: the outcome itself (`verdict.rs`); what follows from it (`plan.rs`).

use super::Engine;
use super::roster::{Pod, Seat, Stage, Tolerations};
use crate::matching::{self, Answer, NumericOperators};
use crate::names::{NodeName, Uid};
use crate::time::Mono;
use crate::verdict::{self, TaintInstance};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Distinct toleration lists whose answers are remembered during the walk over one node's pods.
const ANSWERS_REMEMBERED_MAX: usize = 32;

impl Engine {
    /// Lets time pass: deadlines that have come make pods due, not earlier and not batched (TE-25).
    pub fn tick(&mut self, now: Mono) {
        while let Some((at, _)) = self.wakes.first() {
            if *at > now {
                break;
            }
            let Some((_, node)) = self.wakes.pop_first() else { break };
            let Some(seat) = self.nodes.get_mut(&node) else { continue };
            seat.wake = Mono::NEVER;
            match seat.deadlines.take_due(now) {
                Some(due) => {
                    for uid in due {
                        self.judge_pod(&node, &uid, None, now);
                    }
                    self.rewake(&node);
                }
                None => self.reassess(&node, now),
            }
        }
        while let Some(pod) = self.book.queue.pop_deadline(now) {
            self.reassess_pod(&pod.node, &pod.uid, None, now);
            self.book.queue.hasten(&pod);
        }
    }

    /// When [`Engine::tick`] or [`Engine::next`] will have something to do that they have not now; `None`: not by
    /// the passing of time.
    pub fn wake_at(&self) -> Option<Mono> {
        self.deadline_at().into_iter().chain(self.retry_at()).min()
    }

    /// When the next deadline comes: what [`Engine::tick`] then makes due is there for [`super::Lane::Fresh`], too.
    pub fn deadline_at(&self) -> Option<Mono> {
        let first = self.wakes.first().map(|(at, _)| *at);
        first.into_iter().chain(self.book.queue.next_deadline()).min().filter(|at| *at != Mono::NEVER)
    }

    /// When the next retry may be pulled ([`super::Lane::All`]). It stays in the past for as long as nobody pulls it: whoever has
    /// no room for retries waits for deadlines only (L6).
    pub fn retry_at(&self) -> Option<Mono> {
        self.book.queue.wake_at().filter(|at| self.is_synced() && *at != Mono::NEVER)
    }

    /// Judges every pod of a node again, at one moment, and plans accordingly (TE-12, TE-13, TE-14).
    pub(super) fn reassess(&mut self, node: &NodeName, now: Mono) {
        let Some(seat) = self.nodes.get_mut(node) else { return };
        let numeric = self.config.numeric;
        let (taints, obscured, pods) = seat.split();
        let mut remembered: Vec<(Tolerations, Vec<Answer>)> = Vec::new();
        for pod in pods {
            let at = remembered.iter().position(|(list, _)| Arc::ptr_eq(list, &pod.tolerations));
            let at = at.unwrap_or_else(|| {
                remembered.truncate(ANSWERS_REMEMBERED_MAX - 1);
                remembered.push((pod.tolerations.clone(), answers(pod, taints, numeric)));
                remembered.len() - 1
            });
            let subject = pod.subject(obscured);
            let outcome = verdict::outcome(&subject, taints, &self.book.holds, &remembered[at].1, now);
            self.book.settle(pod, outcome, node, None, now);
        }
        seat.deadlines.forget();
        self.rewake(node);
    }

    /// Judges one pod again and plans accordingly, on an untainted node too (TE-16, TE-44); `known_due`: it was taken
    /// out of the queue for this.
    pub(super) fn reassess_pod(&mut self, node: &NodeName, uid: &Uid, known_due: Option<Mono>, now: Mono) {
        let Some((before, after)) = self.judge_pod(node, uid, known_due, now) else { return };
        let wake = self.nodes.get(node).map_or(Mono::NEVER, |seat| seat.wake);
        match (before, after) {
            (before, after) if before == after => {}
            (_, Stage::Counting(at)) if at < wake => self.set_wake(node, at),
            (Stage::Counting(at), _) if at == wake && at != Mono::NEVER => self.rewake(node),
            _ => {}
        }
    }

    /// Judges one pod without finding its node's next deadline; says from which stage to which.
    fn judge_pod(
        &mut self,
        node: &NodeName,
        uid: &Uid,
        known_due: Option<Mono>,
        now: Mono,
    ) -> Option<(Stage, Stage)> {
        let seat = self.nodes.get_mut(node)?;
        let numeric = self.config.numeric;
        let obscured = seat.obscured();
        let (taints, Some(pod)) = seat.taints_and_pod(uid) else { return None };
        let before = pod.stage();
        let answers = answers(pod, taints, numeric);
        let outcome = verdict::outcome(&pod.subject(obscured), taints, &self.book.holds, &answers, now);
        self.book.settle(pod, outcome, node, known_due, now);
        let after = pod.stage();
        seat.deadline_changed(uid, before, after);
        Some((before, after))
    }

    /// Finds the earliest deadline of a node's pods.
    pub(super) fn rewake(&mut self, node: &NodeName) {
        let Some(seat) = self.nodes.get_mut(node) else { return };
        let earliest = seat.earliest_deadline();
        self.set_wake(node, earliest);
    }

    fn set_wake(&mut self, node: &NodeName, wake: Mono) {
        let Some(seat) = self.nodes.get_mut(node) else { return };
        if seat.wake == wake {
            return;
        }
        let old = core::mem::replace(&mut seat.wake, wake);
        if old != Mono::NEVER {
            self.wakes.remove(&(old, node.clone()));
        }
        if wake != Mono::NEVER {
            self.wakes.insert((wake, node.clone()));
        }
    }

    /// Gives up a seat that holds nothing.
    pub(super) fn clear_seat(&mut self, node: &NodeName) {
        if self.nodes.get(node).is_some_and(Seat::is_vacant) {
            self.set_wake(node, Mono::NEVER);
            self.nodes.remove(node);
        }
    }
}

fn answers(pod: &Pod, taints: &[TaintInstance], numeric: NumericOperators) -> Vec<Answer> {
    matching::answers(&pod.tolerations, taints.iter().map(|instance| &instance.taint), numeric)
}
