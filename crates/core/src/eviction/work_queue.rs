//! Orders the pods that are due: first tries, retries by time, and attempts in flight.
//!
//! - Invariant: a pod, by UID, is in at most one place (TE-26, TE-29); first tries never wait behind retries (L6).
//! - See `work_queue/turn.rs` for what is sent when it is a pod's turn, `work_queue/answer.rs` for what follows from answers.

use super::notice::EvictionReason;
use super::order::EvictionOrder;
use super::stats::{EvictionStats, FailingEviction};
use crate::api_error::ApiFailure;
use crate::engine::Lane;
use crate::identity::{NodeName, PodRef, ResourceVersion};
use crate::time::{Mono, Span};
use crate::verdict::Outcome;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use next_step::{InFlightRequest, NextStep};
use outage::ServerOutage;

mod answer;
mod next_step;
mod outage;
mod turn;

/// So many conflicts are answered by reading the pod again; after that a DELETE demands only the UID, no longer the
/// version: a pod whose status changes faster than it can be read still goes (P45).
const VERSION_CONFLICTS_MAX: u32 = 5;

/// How long a mark may stand on a pod that cannot be deleted: S9's 60 s, less what taking it away may take.
const MARK_MAX: Span = Span::from_secs(45);

/// A place in the queue: earliest due date first; on the same instant lower rank first; then by node and UID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct QueueKey {
    due: Mono,
    rank: EvictionOrder,
    pod: PodRef,
}

/// An eviction under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct EvictionAttempt {
    key: QueueKey,
    step: NextStep,
    /// The request that is out, if any.
    in_flight: Option<InFlightRequest>,
    /// When it is to be tried again, if it waits for that.
    retry_at: Option<Mono>,
    failures: u32,
    conflicts: u32,
    last_failure: Option<ApiFailure>,
    /// When the pod was last asked for, to be read, and what was known of it then.
    pod_read: Option<(Mono, Option<ResourceVersion>)>,
    /// A request went unanswered.
    slow: bool,
    /// One of these was a DELETE: whether it was carried out is unknown, even by halves.
    delete_lost: bool,
    /// Since when the pod bears our mark, at the latest.
    marked_at: Option<Mono>,
    /// It was put on by this attempt, and not taken off again.
    marked_here: bool,
    /// The watch said the pod goes while our DELETE was out.
    deleted_by_other: bool,
    /// While the mark is taken away ([`NextStep::Rest`]): when the next try is.
    unmark_at: Option<Mono>,
    /// While the pod does not have to go: when it will have to.
    deadline: Option<Mono>,
    /// The watch said the pod is gone while a request was out.
    vanished: bool,
    /// When it was known to be due.
    known_due: Option<Mono>,
    /// It did not have to go in between, and was not seen to be due again since.
    wavered: bool,
    /// Why it is being deleted, kept for the report.
    reason: Option<Box<EvictionReason>>,
}

impl EvictionAttempt {
    fn new(key: QueueKey, step: NextStep) -> Self {
        Self {
            key,
            step,
            in_flight: None,
            retry_at: None,
            failures: 0,
            conflicts: 0,
            last_failure: None,
            pod_read: None,
            slow: false,
            delete_lost: false,
            marked_at: None,
            marked_here: false,
            deleted_by_other: false,
            unmark_at: None,
            deadline: None,
            vanished: false,
            known_due: None,
            wavered: false,
            reason: None,
        }
    }

    /// Its DELETE no longer demands a version.
    fn is_by_uid_only(&self) -> bool {
        self.conflicts >= VERSION_CONFLICTS_MAX
    }

    /// Nothing was refused and nothing went unanswered so far.
    fn is_first(&self) -> bool {
        self.last_failure.is_none()
    }

    /// Every request was answered, and nothing stood in the way but that the pod had changed or was gone.
    fn is_smooth(&self) -> bool {
        !self.slow && matches!(self.last_failure, None | Some(ApiFailure::Conflict | ApiFailure::NotFound))
    }
}

fn deadline(outcome: Outcome) -> Option<Mono> {
    match outcome {
        Outcome::StaysUntil(until) => Some(until),
        Outcome::Leaves { .. } | Outcome::Stays(_) => None,
    }
}

/// All pods that go, wherever they are in the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct WorkQueue {
    /// Marked pods and others whose next request continues what was begun; before all others (S9).
    next: BTreeSet<QueueKey>,
    /// Due pods, never tried. The value is when the engine knew that they were due.
    due: BTreeMap<QueueKey, Mono>,
    /// Pods waiting for another try.
    later: BTreeSet<(Mono, QueueKey)>,
    /// Pods waiting for the live read of their node.
    parked: BTreeMap<NodeName, Vec<PodRef>>,
    /// Evictions under way, wherever their queue key is.
    attempts: BTreeMap<PodRef, EvictionAttempt>,
    /// Deadlines of pods in hand that do not have to go yet.
    deadlines: BTreeSet<(Mono, PodRef)>,
    /// Whether the API server answers.
    outage: ServerOutage,
}

impl WorkQueue {
    /// A pod is due and was never tried.
    pub(super) fn add(&mut self, pod: PodRef, due: Mono, rank: EvictionOrder, known_due: Mono) {
        self.due.insert(QueueKey { due, rank, pod }, known_due);
    }

    /// Takes a due pod out that was never tried; says when it was known to be due.
    pub(super) fn remove(&mut self, pod: PodRef, due: Mono, rank: EvictionOrder) -> Option<Mono> {
        self.due.remove(&QueueKey { due, rank, pod })
    }

    /// A pod stays: its mark is taken away at that moment, unless it has to go before.
    pub(super) fn withdraw_at(&mut self, at: Mono, pod: PodRef, rank: EvictionOrder, outcome: Outcome) {
        let attempt = EvictionAttempt::new(QueueKey { due: at, rank, pod: pod.clone() }, NextStep::Unmark);
        self.attempts.insert(pod.clone(), attempt);
        self.retry_at(&pod, at);
        self.set_deadline(&pod, deadline(outcome));
    }

    /// A pod in hand was judged again. An attempt that waits for another try and does not fit the outcome any more ends,
    /// so that the pod is planned anew at once: says when that was known to be due, if it was. One whose turn it is, or
    /// whose request is out, asks again by itself.
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

    /// A pod is gone. An eviction whose request is out is kept for its answer.
    pub(super) fn pod_gone(&mut self, pod: &PodRef) {
        match self.attempts.get_mut(pod) {
            Some(attempt) if attempt.in_flight.is_some() => attempt.vanished = true,
            _ => {
                self.end(pod);
            }
        }
    }

    /// A pod is there that was not known, or was gone; true if its eviction is under way.
    pub(super) fn pod_came(&mut self, pod: &PodRef) -> bool {
        let Some(attempt) = self.attempts.get_mut(pod) else { return false };
        attempt.vanished = false;
        true
    }

    /// An attempt is over without a deletion; says when its pod was known to be due.
    pub(super) fn forget(&mut self, pod: &PodRef) -> Option<Mono> {
        self.end(pod)?.known_due
    }

    /// Takes a pod's eviction out of wherever it is.
    fn end(&mut self, pod: &PodRef) -> Option<EvictionAttempt> {
        self.set_deadline(pod, None);
        let attempt = self.attempts.remove(pod)?;
        self.next.remove(&attempt.key);
        if let Some(at) = attempt.retry_at {
            self.later.remove(&(at, attempt.key.clone()));
        }
        Some(attempt)
    }

    /// A pod that bears our mark goes, and no DELETE of ours was accepted: true if another's was, in the moment between the
    /// two (P39), unless the one that is out now was. Only where nothing else went wrong: then there was a moment.
    ///
    /// An API-initiated eviction, a preemption and podgc overwrite the mark; a plain DELETE does not, so that one sign
    /// alone may be chance.
    pub(super) fn is_deleted_by_other(&mut self, pod: &PodRef) -> bool {
        let attempt = self.attempts.get_mut(pod);
        let Some(attempt) = attempt.filter(|attempt| attempt.marked_here && attempt.is_smooth()) else {
            return false;
        };
        attempt.deleted_by_other |= attempt.in_flight == Some(InFlightRequest::Delete);
        attempt.in_flight != Some(InFlightRequest::Delete)
    }

    /// The next pod of a lane, taken out; true: it goes before its time, to find out whether the API server is back.
    pub(super) fn dequeue(&mut self, lane: Lane, now: Mono) -> Option<(PodRef, bool)> {
        loop {
            let (key, is_probe) = self.pop(lane, now)?;
            // A queue key from before the pod was gone and told of again; its attempt has another one.
            let is_stale = |attempt: &&mut EvictionAttempt| attempt.in_flight.is_some() || attempt.key != key;
            match self.attempts.get_mut(&key.pod) {
                Some(attempt) if is_stale(&attempt) => continue,
                Some(attempt) => attempt.retry_at = None,
                None => {}
            }
            return Some((key.pod, is_probe));
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
        let is_probe = self.outage.probe_at().is_some_and(|at| at <= now);
        let (at, _) = self.later.first().filter(|_| lane == Lane::All)?;
        if *at > now && !is_probe {
            return None;
        }
        self.outage.probed(now);
        self.later.pop_first().map(|(_, key)| (key, is_probe))
    }

    /// Whether a pull of this lane could find something now.
    pub(super) fn has_work(&self, lane: Lane, now: Mono) -> bool {
        let retry = lane == Lane::All && self.next_retry().is_some_and(|at| at <= now);
        !self.next.is_empty() || !self.due.is_empty() || retry
    }

    /// When the next retry is due.
    pub(super) fn next_retry(&self) -> Option<Mono> {
        let (at, _) = self.later.first()?;
        Some(self.outage.probe_at().map_or(*at, |probe| probe.min(*at)))
    }

    /// When the first deadline of a pod in hand comes.
    pub(super) fn next_deadline(&self) -> Option<Mono> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// A pod in hand whose deadline has come.
    pub(super) fn pop_deadline(&mut self, now: Mono) -> Option<PodRef> {
        let pod = self.deadlines.first().filter(|(at, _)| *at <= now).map(|(_, pod)| pod.clone())?;
        self.set_deadline(&pod, None);
        Some(pod)
    }

    /// Notes when a pod in hand will have to go, so that whatever it waits for does not make that late (L1).
    fn set_deadline(&mut self, pod: &PodRef, deadline: Option<Mono>) {
        let Some(attempt) = self.attempts.get_mut(pod) else { return };
        if let Some(old) = core::mem::replace(&mut attempt.deadline, deadline) {
            self.deadlines.remove(&(old, pod.clone()));
        }
        if let Some(new) = deadline {
            self.deadlines.insert((new, pod.clone()));
        }
    }

    /// Whatever a pod waits for: it is its turn.
    pub(super) fn hasten(&mut self, pod: &PodRef) {
        let Some(attempt) = self.attempts.get_mut(pod) else { return };
        if let Some(at) = attempt.retry_at.take() {
            let key = attempt.key.clone();
            self.later.remove(&(at, key.clone()));
            self.next.insert(key);
        }
    }

    /// A request ended; when an outage is over by that, what failed by it has its turn soon, whatever pause it had come to.
    pub(super) fn observe(&mut self, failure: Option<ApiFailure>, is_read: bool, now: Mono) {
        if !self.outage.observe(failure, is_read, now) {
            return;
        }
        for (at, key) in core::mem::take(&mut self.later) {
            let attempt = self.attempts.get_mut(&key.pod).filter(|attempt| attempt.retry_at == Some(at));
            let unanswered = attempt.filter(|attempt| attempt.last_failure == Some(ApiFailure::Unavailable));
            let at = unanswered.map_or(at, |attempt| {
                let at = at.min(outage::retry_after(&key.pod, attempt.failures, now));
                attempt.retry_at = Some(at);
                at
            });
            self.later.insert((at, key));
        }
    }

    /// Another turn as soon as possible, unless the attempt is over.
    fn requeue(&mut self, pod: &PodRef) {
        let waits = |attempt: &&EvictionAttempt| attempt.in_flight.is_none() && attempt.retry_at.is_none();
        if let Some(attempt) = self.attempts.get(pod).filter(waits) {
            self.next.insert(attempt.key.clone());
        }
    }

    /// Another turn at a later moment, unless the attempt is over.
    fn retry_at(&mut self, pod: &PodRef, at: Mono) {
        let Some(attempt) = self.attempts.get_mut(pod) else { return };
        if let Some(old) = attempt.retry_at.replace(at) {
            self.later.remove(&(old, attempt.key.clone()));
        }
        self.later.insert((at, attempt.key.clone()));
    }

    /// Pods whose turn it is, pods in hand, and the earliest due date of both.
    pub(super) fn stats(&self, others: EvictionStats) -> EvictionStats {
        let first_due = self.due.first_key_value().map(|(key, _)| key.due);
        let in_hand = self.attempts.values().filter(|attempt| attempt.known_due.is_some());
        EvictionStats {
            due: self.due.len(),
            in_hand: self.attempts.len(),
            oldest_due: first_due.into_iter().chain(in_hand.map(|attempt| attempt.key.due)).min(),
            ..others
        }
    }

    /// All evictions that failed at least once and are not over.
    pub(super) fn failing(&self) -> impl Iterator<Item = FailingEviction<'_>> {
        self.attempts.iter().filter_map(|(pod, attempt)| {
            let failures = attempt.failures.saturating_add(attempt.conflicts);
            let failure = attempt.last_failure?;
            Some(FailingEviction { pod, due: attempt.key.due, failures, failure, retry_at: attempt.retry_at })
        })
    }

    /// The live read of a node says what it says of it: the pods that waited for it have their turn.
    pub(super) fn unpark(&mut self, node: &NodeName) {
        self.parked.remove(node).iter().flatten().for_each(|pod| self.requeue(pod));
    }

    /// The live read of a node failed: the pods that waited for it wait for the next try.
    pub(super) fn postpone_parked(&mut self, node: &NodeName, failure: ApiFailure, retry_at: Mono) {
        let parked = self.parked.remove(node);
        parked.iter().flatten().for_each(|pod| self.postpone(pod, failure, retry_at));
    }

    /// Another try at that moment. A mark does not stand for so long on a pod that is not deleted (S9): it is taken away
    /// first, and put on again before the next DELETE.
    fn postpone(&mut self, pod: &PodRef, failure: ApiFailure, at: Mono) {
        let Some(attempt) = self.attempts.get_mut(pod) else { return };
        attempt.last_failure = Some(failure);
        let long = attempt.marked_at.is_some_and(|marked| marked.plus(MARK_MAX) < at);
        if long && matches!(attempt.step, NextStep::Evict | NextStep::ReadPod) {
            attempt.step = NextStep::Rest;
            attempt.unmark_at = Some(at);
            return self.requeue(pod);
        }
        self.retry_at(pod, at);
    }
}

#[cfg(test)]
mod tests;
