//! Orders the pods that are due: first attempts, retries by time, and attempts in flight.
//!
//! - Invariant: a pod, by UID, is in at most one place (TE-26, TE-29); first attempts never wait behind retries (L6).
//! - See `work_queue/turn.rs` for what is sent at a pod's turn, `work_queue/responses.rs` for what responses change.

use super::order::EvictionOrder;
use super::policy_gate::PolicyGate;
use super::stats::{EvictionStall, EvictionStats, FailingEviction};
use crate::api_error::ApiFailure;
use crate::engine::Lane;
use crate::identity::{NodeName, PodRef};
use crate::time::{Mono, Span};
use crate::verdict::Outcome;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use attempt::EvictionAttempt;
pub(super) use attempt::{PodReading, QueueKey};
use delete_throttle::DeleteThrottle;
pub(super) use next_step::InFlightRequest;
use next_step::NextStep;
use rejection::{RejectionLog, RequestScope, is_rejection};
use retry_queue::RetryQueue;

mod attempt;
mod delays;
mod delete_throttle;
mod learning;
mod next_step;
mod rejection;
mod responses;
mod retry_queue;
mod turn;

/// How long a pod that cannot be deleted may keep a mark: S9's 60 s, minus the time that removing it may take.
const MARK_MAX: Span = Span::from_secs(45);

fn deadline(outcome: Outcome) -> Option<Mono> {
    match outcome {
        Outcome::StaysUntil(until) => Some(until),
        Outcome::Leaves { .. } | Outcome::Stays(_) => None,
    }
}

/// All pods that must be evicted, at any stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct WorkQueue {
    /// Marked pods, and others whose next request continues an attempt; before all others (S9).
    next: BTreeSet<QueueKey>,
    /// Due pods without an attempt. The value is when the engine knew that they were due.
    due: BTreeMap<QueueKey, Mono>,
    /// Pods waiting for a retry.
    later: RetryQueue,
    /// Pods waiting for the live read of their node.
    parked: BTreeMap<NodeName, Vec<PodRef>>,
    /// Evictions in progress, wherever their queue key is.
    attempts: BTreeMap<PodRef, EvictionAttempt>,
    /// Deadlines of pods with an attempt that are not due yet.
    deadlines: BTreeSet<(Mono, PodRef)>,
    /// Which kinds of requests the API server rejects.
    rejections: RejectionLog,
    /// How long deletions take.
    deletes: DeleteThrottle,
    /// Since when no request for a due pod has succeeded, and why the last one failed.
    stall: Option<EvictionStall>,
    /// Pods that policies or the brake delay.
    gate: PolicyGate,
}

impl WorkQueue {
    /// Adds a due pod without an attempt.
    pub(super) fn add(&mut self, pod: PodRef, due: Mono, rank: EvictionOrder, known_due: Mono) {
        self.gate.due(&pod, rank);
        self.due.insert(QueueKey { due, rank, pod }, known_due);
    }

    /// Removes a due pod without an attempt. Returns when it was known to be due.
    pub(super) fn remove(&mut self, pod: PodRef, due: Mono, rank: EvictionOrder) -> Option<Mono> {
        let delayed = self.gate.withdraw(&pod);
        self.due.remove(&QueueKey { due, rank, pod }).or(delayed)
    }

    /// A pod stays: its mark is removed at that moment, unless the pod becomes due before.
    pub(super) fn withdraw_at(&mut self, at: Mono, pod: PodRef, rank: EvictionOrder, outcome: Outcome) {
        let attempt = EvictionAttempt::new(QueueKey { due: at, rank, pod: pod.clone() }, NextStep::ClearMark);
        self.attempts.insert(pod.clone(), attempt);
        self.retry_at(&pod, at);
        self.set_deadline(&pod, deadline(outcome));
    }

    /// A pod with an attempt was judged again. An attempt that waits for a retry and no longer matches the outcome
    /// ends, so that the pod is planned again immediately: returns when it was known to be due, if it was. A pod whose
    /// turn it is, or whose request is in flight, is decided again at its turn.
    pub(super) fn reconsider(
        &mut self,
        pod: &PodRef,
        outcome: Outcome,
        is_marked: bool,
        now: Mono,
    ) -> Option<Option<Mono>> {
        let attempt = self.attempts.get(pod)?;
        if attempt.retry_at.is_some_and(|at| !attempt.step.fits(outcome, is_marked, at)) {
            return self.end(pod).map(|attempt| attempt.known_due);
        }
        self.set_deadline(pod, deadline(outcome));
        let attempt = self.attempts.get_mut(pod)?;
        match outcome {
            Outcome::Leaves { .. } if attempt.wavered => {
                attempt.wavered = false;
                attempt.known_due = Some(now);
            }
            Outcome::Leaves { .. } => {}
            Outcome::Stays(_) | Outcome::StaysUntil(_) => attempt.wavered = true,
        }
        None
    }

    /// A pod may not have been due in between.
    pub(super) fn waver(&mut self, pod: &PodRef) {
        self.attempts.get_mut(pod).into_iter().for_each(|attempt| attempt.wavered = true);
    }

    /// A pod is gone. An eviction with a request in flight is kept for its response.
    pub(super) fn pod_gone(&mut self, pod: &PodRef) {
        self.gate.pod_gone(pod);
        match self.attempts.get_mut(pod) {
            Some(attempt) if attempt.in_flight.is_some() => attempt.vanished = true,
            _ => {
                self.end(pod);
            }
        }
    }

    /// A pod appeared that was unknown or gone; true if its eviction is in progress.
    pub(super) fn pod_came(&mut self, pod: &PodRef) -> bool {
        let Some(attempt) = self.attempts.get_mut(pod) else { return false };
        attempt.vanished = false;
        true
    }

    /// An attempt ended without a deletion. Returns when its pod was known to be due.
    pub(super) fn forget(&mut self, pod: &PodRef) -> Option<Mono> {
        self.end(pod)?.known_due
    }

    /// Removes a pod's eviction, wherever it is.
    fn end(&mut self, pod: &PodRef) -> Option<EvictionAttempt> {
        self.set_deadline(pod, None);
        self.stop_waiting(pod);
        self.gate.attempt_ended(pod);
        let attempt = self.attempts.remove(pod)?;
        if self.attempts.is_empty() {
            self.stall = None;
            self.rejections.clear();
            self.deletes.clear();
        }
        self.next.remove(&attempt.key);
        Some(attempt)
    }

    /// A pod with the mark is terminating before the engine's DELETE was accepted: true if another client deleted it
    /// between the mark and that DELETE (P39). False while that DELETE is in flight, because it may be the cause, and
    /// after other failures, which leave no such moment.
    ///
    /// An API-initiated eviction, a preemption and podgc overwrite the mark; a plain DELETE does not, so that a single
    /// sign may be chance.
    pub(super) fn is_deleted_by_other(&mut self, pod: &PodRef) -> bool {
        let attempt = self.attempts.get_mut(pod);
        let Some(attempt) = attempt.filter(|attempt| attempt.marked_here && attempt.is_smooth()) else {
            return false;
        };
        attempt.deleted_by_other |= attempt.in_flight == Some(InFlightRequest::Delete);
        attempt.in_flight != Some(InFlightRequest::Delete)
    }

    /// Takes out the next pod of a lane; true: its turn comes before its time, to find out whether rejections have ended.
    pub(super) fn dequeue(&mut self, lane: Lane, now: Mono) -> Option<(PodRef, bool)> {
        self.open_gate(now);
        loop {
            let (key, is_probe) = self.pop(lane, now)?;
            let Some(attempt) = self.attempts.get_mut(&key.pod) else { return Some((key.pod, is_probe)) };
            if attempt.in_flight.is_some() {
                continue;
            }
            let is_early = core::mem::take(&mut attempt.is_early);
            return Some((key.pod, is_probe || is_early));
        }
    }

    fn pop(&mut self, lane: Lane, now: Mono) -> Option<(QueueKey, bool)> {
        if let Some(key) = self.next.pop_first() {
            return Some((key, false));
        }
        if let Some((key, known_due)) = self.due.pop_first() {
            let mut attempt = EvictionAttempt::new(key.clone(), NextStep::Evict);
            attempt.known_due = Some(known_due);
            self.attempts.insert(key.pod.clone(), attempt);
            return Some((key, false));
        }
        if lane != Lane::All {
            return None;
        }
        let first = self.later.first().filter(|(at, _)| *at <= now).map(|(_, key)| key.clone());
        let (key, is_probe) = match first {
            Some(key) => (key, false),
            None => (self.next_probe(now)?, true),
        };
        if let Some(scope) = self.stop_waiting(&key.pod) {
            self.rejections.probed(&scope, is_probe, now);
        }
        Some((key, is_probe))
    }

    /// Whether a pull of this lane could find something now.
    pub(super) fn has_work(&self, lane: Lane, now: Mono) -> bool {
        let retry = lane == Lane::All && self.next_retry().is_some_and(|at| at <= now);
        !self.next.is_empty() || !self.due.is_empty() || retry || self.gate.has_changed()
    }

    /// When the next retry is due.
    pub(super) fn next_retry(&self) -> Option<Mono> {
        let (at, _) = self.later.first()?;
        let probes = self.later.scopes().filter_map(|scope| self.rejections.probe_at(scope));
        probes.chain([*at]).min()
    }

    /// When the first deadline of a pod with an attempt comes.
    pub(super) fn next_deadline(&self) -> Option<Mono> {
        self.deadlines.first().map(|(at, _)| *at).into_iter().chain(self.gate.next_timer()).min()
    }

    /// Takes out a pod with an attempt whose deadline has come.
    pub(super) fn pop_deadline(&mut self, now: Mono) -> Option<PodRef> {
        let pod = self.deadlines.first().filter(|(at, _)| *at <= now).map(|(_, pod)| pod.clone())?;
        self.set_deadline(&pod, None);
        Some(pod)
    }

    /// Records when a pod with an attempt will be due, so that no other wait delays it (L1).
    fn set_deadline(&mut self, pod: &PodRef, deadline: Option<Mono>) {
        let Some(attempt) = self.attempts.get_mut(pod) else { return };
        if let Some(old) = core::mem::replace(&mut attempt.deadline, deadline) {
            self.deadlines.remove(&(old, pod.clone()));
        }
        if let Some(new) = deadline {
            self.deadlines.insert((new, pod.clone()));
        }
    }

    /// Gives a pod its turn, whatever it waits for.
    pub(super) fn hasten(&mut self, pod: &PodRef) {
        let Some(attempt) = self.attempts.get(pod).filter(|attempt| attempt.retry_at.is_some()) else {
            return;
        };
        self.next.insert(attempt.key.clone());
        self.stop_waiting(pod);
    }

    /// Schedules another turn as soon as possible, unless the attempt is over.
    pub(super) fn requeue(&mut self, pod: &PodRef) {
        if let Some(attempt) = self.attempts.get(pod).filter(|attempt| attempt.is_idle()) {
            self.next.insert(attempt.key.clone());
        }
    }

    /// Schedules another turn at a later moment, unless the attempt is over.
    fn retry_at(&mut self, pod: &PodRef, at: Mono) {
        self.stop_waiting(pod);
        let Some(attempt) = self.attempts.get_mut(pod) else { return };
        attempt.retry_at = Some(at);
        attempt.waits_in = attempt.rejected_in();
        self.later.insert(at, attempt.key.clone(), attempt.waits_in.as_ref());
    }

    /// Takes a pod out of those that wait for a retry. Returns for the end of which rejections it waited.
    fn stop_waiting(&mut self, pod: &PodRef) -> Option<RequestScope> {
        let attempt = self.attempts.get_mut(pod)?;
        let at = attempt.retry_at.take()?;
        let scope = attempt.waits_in.take();
        self.later.remove(at, &attempt.key, scope.as_ref());
        scope
    }

    /// Pods whose turn it is, pods with an attempt, and the earliest due date of both.
    pub(super) fn stats(&self, others: EvictionStats) -> EvictionStats {
        let first_due = self.due.first_key_value().map(|(key, _)| key.due);
        let in_hand = self.attempts.values().filter(|attempt| attempt.known_due.is_some());
        let oldest_due = first_due.into_iter().chain(in_hand.map(|attempt| attempt.key.due)).min();
        EvictionStats {
            due: self.due.len(),
            delayed: self.gate.delayed(),
            oldest_delayed: self.gate.oldest_due(),
            in_hand: self.attempts.len(),
            oldest_due,
            braked_keys: self.gate.braked_keys(),
            stall: self.stall.filter(|_| oldest_due.is_some()),
            ..others
        }
    }

    /// Returns all unfinished evictions that failed at least once.
    pub(super) fn failing(&self) -> impl Iterator<Item = FailingEviction<'_>> {
        self.attempts.iter().filter_map(|(pod, attempt)| {
            let failures = attempt.failures.saturating_add(attempt.conflicts);
            let failure = attempt.last_failure?;
            Some(FailingEviction { pod, due: attempt.key.due, failures, failure, retry_at: attempt.retry_at })
        })
    }

    /// The live read of a node succeeded: the pods that waited for it get their turn.
    pub(super) fn unpark(&mut self, node: &NodeName) {
        self.parked.remove(node).iter().flatten().for_each(|pod| self.requeue(pod));
    }

    /// The live read of a node failed: the pods that waited for it wait for the next attempt.
    pub(super) fn postpone_parked(&mut self, node: &NodeName, failure: ApiFailure, retry_at: Mono) {
        for pod in self.parked.remove(node).iter().flatten() {
            let rejection = self.attempts.get(pod).and_then(EvictionAttempt::rejection);
            let floor = rejection.filter(|_| is_rejection(failure)).map(|rejection| rejection.floor(pod));
            if let Some(attempt) = self.attempts.get_mut(pod) {
                attempt.last_failure = Some(failure);
            }
            self.postpone(pod, floor.map_or(retry_at, |floor| floor.max(retry_at)));
        }
    }

    /// Schedules a retry at that moment. A pod that is not deleted must not keep the mark that long (S9): it is removed
    /// first, and set again before the next DELETE.
    fn postpone(&mut self, pod: &PodRef, at: Mono) {
        let Some(attempt) = self.attempts.get_mut(pod) else { return };
        let long = attempt.marked_at.is_some_and(|marked| marked.plus(MARK_MAX) < at);
        if long && matches!(attempt.step, NextStep::Evict | NextStep::ReadPod) {
            attempt.step = NextStep::Rest;
            attempt.clear_mark_at = Some(at);
            return self.requeue(pod);
        }
        self.retry_at(pod, at);
    }
}

#[cfg(test)]
mod tests;
