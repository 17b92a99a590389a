//! Connects the queue with the gate of policies and the brake: pods that wait there have no attempt, and are in no other place.

use super::attempt::EvictionAttempt;
use super::next_step::InFlightRequest;
use super::{NextStep, QueueKey, WorkQueue};
use crate::eviction::policy_gate::{Delay, PolicyGate};
use crate::identity::{NodeName, PodRef};
use crate::time::Mono;
use alloc::vec::Vec;

impl WorkQueue {
    pub(in crate::eviction) fn gate(&self) -> &PolicyGate {
        &self.gate
    }

    pub(in crate::eviction) fn gate_mut(&mut self) -> &mut PolicyGate {
        &mut self.gate
    }

    /// The due pods that have passed the gate or wait for their turn, with their due date.
    pub(in crate::eviction) fn undelayed(&self) -> impl Iterator<Item = (&PodRef, Mono)> {
        let in_hand = self.attempts.values().filter(|attempt| attempt.known_due.is_some());
        self.due.keys().chain(in_hand.map(|attempt| &attempt.key)).map(|key| (&key.pod, key.due))
    }

    /// There are policies now: pods that were due before count on their nodes, though they have waited for no policy. Returns
    /// those whose eviction is in flight.
    pub(in crate::eviction) fn count_due(&mut self) -> Vec<PodRef> {
        let in_hand = self.attempts.values().filter(|attempt| attempt.known_due.is_some());
        let keys = self.due.keys().chain(in_hand.map(|attempt| &attempt.key));
        keys.for_each(|key| self.gate.due_before(&key.pod, key.rank));
        let evicts = |attempt: &&EvictionAttempt| {
            matches!(attempt.in_flight, Some(InFlightRequest::Delete | InFlightRequest::Evict))
        };
        self.attempts.values().filter(evicts).map(|attempt| attempt.key.pod.clone()).collect()
    }

    /// Whether a policy or the brake may delay the next request of a pod: the one that evicts it.
    pub(in crate::eviction) fn may_delay(&self, pod: &PodRef) -> bool {
        let may_delay = self.gate.is_active() || self.gate.has_brake();
        may_delay && self.attempts.get(pod).is_some_and(|attempt| attempt.step == NextStep::Evict)
    }

    /// A pod whose turn has come waits instead.
    pub(in crate::eviction) fn delay(&mut self, key: QueueKey, delay: Delay, now: Mono) {
        let known_due = self.forget(&key.pod).unwrap_or(now);
        self.gate.park(key, known_due, delay);
    }

    /// A marked pod waits: its mark is removed first (S9).
    pub(in crate::eviction) fn rest(&mut self, pod: &PodRef) {
        self.attempts.get_mut(pod).into_iter().for_each(|attempt| attempt.step = NextStep::Rest);
    }

    /// Time has passed, or something has changed: pods whose reason to wait may be over get their turn.
    pub(in crate::eviction) fn open_gate(&mut self, now: Mono) {
        let woken = self.gate.tick(now);
        self.hasten_delayed(&woken);
        let turns = self.gate.open(now);
        self.due.extend(turns);
    }

    /// Gives pods their turn, whatever they wait for.
    pub(in crate::eviction) fn hasten_delayed(&mut self, pods: &[PodRef]) {
        for pod in pods {
            match self.gate.hasten(pod) {
                Some((key, known_due)) => _ = self.due.insert(key, known_due),
                None => self.hasten(pod),
            }
        }
    }

    /// The pods of a node that wait.
    pub(in crate::eviction) fn delayed_on(&self, node: &NodeName) -> Vec<PodRef> {
        self.gate.waiting_on(node)
    }
}
