//! Orders the pods that are due: first tries, retries by time, and attempts in flight.
//!
//! - Invariant: a pod, by UID, is in at most one place (TE-26, TE-29); first tries never wait behind retries (L6).

use super::notice::EvictionReason;
use super::order::EvictionOrder;
use super::outage::ServerOutage;
use crate::api_error::ApiFailure;
use crate::backoff::jitter;
use crate::engine::Lane;
use crate::identity::{PodRef, ResourceVersion};
use crate::time::{Mono, Span};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};

/// A place in the queue: earliest due date first; on the same instant lower rank first; then by node and UID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct QueueKey {
    pub(super) due: Mono,
    pub(super) rank: EvictionOrder,
    pub(super) pod: PodRef,
}

/// What is asked of the API server about a pod at its next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum NextStep {
    /// Evict: mark if needed, then delete.
    Evict,
    /// Read the pod first: a precondition failed, or an answer was lost.
    ReadPod,
    /// Take the mark away: it is not going after all (S9).
    Unmark,
    /// Take the mark away until the next try: it cannot go yet (S9).
    Rest,
    /// Delete it again: its deletion has begun, and nothing is left that somebody else would do (P31).
    Finish,
}

/// The request that is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum InFlightRequest {
    Mark,
    Delete,
    ReadPod,
    Unmark,
}

/// An eviction under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct EvictionAttempt {
    pub(super) key: QueueKey,
    pub(super) step: NextStep,
    /// The request that is out, if any.
    pub(super) in_flight: Option<InFlightRequest>,
    /// When it is to be tried again, if it waits for that.
    pub(super) retry_at: Option<Mono>,
    pub(super) failures: u32,
    pub(super) conflicts: u32,
    pub(super) last_failure: Option<ApiFailure>,
    /// When the pod was last asked for, to be read, and what was known of it then.
    pub(super) pod_read: Option<(Mono, Option<ResourceVersion>)>,
    /// A request went unanswered.
    pub(super) slow: bool,
    /// One of these was a DELETE: whether it was carried out is unknown, even by halves.
    pub(super) delete_lost: bool,
    /// Since when the pod bears our mark, at the latest.
    pub(super) marked_at: Option<Mono>,
    /// It was put on by this attempt, and not taken off again.
    pub(super) marked_here: bool,
    /// The watch said the pod goes while our DELETE was out.
    pub(super) deleted_by_other: bool,
    /// While the mark is taken away ([`NextStep::Rest`]): when the next try is.
    pub(super) unmark_at: Option<Mono>,
    /// While the pod does not have to go: when it will have to.
    pub(super) deadline: Option<Mono>,
    /// The watch said the pod is gone while a request was out.
    pub(super) vanished: bool,
    /// When it was known to be due.
    pub(super) known_due: Option<Mono>,
    /// It did not have to go in between, and was not seen to be due again since.
    pub(super) wavered: bool,
    /// Why it is being deleted, kept for the report.
    pub(super) reason: Option<Box<EvictionReason>>,
}

impl EvictionAttempt {
    pub(super) fn new(key: QueueKey, step: NextStep) -> Self {
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

    /// Nothing was refused and nothing went unanswered so far.
    pub(super) fn is_first(&self) -> bool {
        self.last_failure.is_none()
    }

    /// Every request was answered, and nothing stood in the way but that the pod had changed or was gone.
    pub(super) fn is_smooth(&self) -> bool {
        !self.slow && matches!(self.last_failure, None | Some(ApiFailure::Conflict | ApiFailure::NotFound))
    }
}

/// All pods that go, wherever they are in the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct WorkQueue {
    /// Marked pods and others whose next request continues what was begun; before all others (S9).
    pub(super) next: BTreeSet<QueueKey>,
    /// Due pods, never tried. The value is when the engine knew that they were due.
    pub(super) due: BTreeMap<QueueKey, Mono>,
    /// Pods waiting for another try.
    pub(super) later: BTreeSet<(Mono, QueueKey)>,
    /// Evictions under way, wherever their queue key is.
    pub(super) attempts: BTreeMap<PodRef, EvictionAttempt>,
    /// Deadlines of pods in hand that do not have to go yet.
    deadlines: BTreeSet<(Mono, PodRef)>,
    /// Whether anybody answers.
    pub(super) outage: ServerOutage,
}

/// Over how long the retries of an outage are spread when it is over.
const OUTAGE_SPREAD: Span = Span::from_secs(1);

/// A queue key whose turn it is.
pub(super) struct Dequeued {
    pub(super) key: QueueKey,
    /// When it was known to be due, if it is a first try.
    pub(super) known_due: Option<Mono>,
    /// It goes before its time, to find out whether the API server is back: its node's pause does not count.
    pub(super) is_probe: bool,
}

impl WorkQueue {
    /// The next queue key of a lane, taken out.
    pub(super) fn dequeue(&mut self, lane: Lane, now: Mono) -> Option<Dequeued> {
        if let Some(key) = self.next.pop_first() {
            return Some(Dequeued { key, known_due: None, is_probe: false });
        }
        if let Some((key, known)) = self.due.pop_first() {
            return Some(Dequeued { key, known_due: Some(known), is_probe: false });
        }
        let is_probe = self.outage.probe_at().is_some_and(|at| at <= now);
        let (at, _) = self.later.first().filter(|_| lane == Lane::All)?;
        if *at > now && !is_probe {
            return None;
        }
        self.outage.probed(now);
        self.later.pop_first().map(|(_, key)| Dequeued { key, known_due: None, is_probe })
    }

    /// An outage is over: what failed by it has its turn soon, whatever pause it had come to.
    pub(super) fn hasten_unanswered(&mut self, now: Mono) {
        for (at, key) in core::mem::take(&mut self.later) {
            let attempt = self.attempts.get_mut(&key.pod).filter(|attempt| attempt.retry_at == Some(at));
            let unanswered = attempt.filter(|attempt| attempt.last_failure == Some(ApiFailure::Unavailable));
            let at = unanswered.map_or(at, |attempt| {
                let share = i64::from(jitter(key.pod.node.as_str(), &key.pod.uid, attempt.failures));
                let spread = Span::from_micros(OUTAGE_SPREAD.as_micros() * share / 1024);
                let at = at.min(now.plus(spread));
                attempt.retry_at = Some(at);
                at
            });
            self.later.insert((at, key));
        }
    }

    /// Takes a pod's eviction out of wherever it is.
    pub(super) fn forget(&mut self, pod: &PodRef) -> Option<EvictionAttempt> {
        self.set_deadline(pod, None);
        let attempt = self.attempts.remove(pod)?;
        self.unqueue(&attempt);
        Some(attempt)
    }

    /// Notes when a pod in hand will have to go, so that whatever it waits for does not make that late (L1).
    pub(super) fn set_deadline(&mut self, pod: &PodRef, deadline: Option<Mono>) {
        let Some(attempt) = self.attempts.get_mut(pod) else { return };
        if let Some(old) = core::mem::replace(&mut attempt.deadline, deadline) {
            self.deadlines.remove(&(old, pod.clone()));
        }
        if let Some(new) = deadline {
            self.deadlines.insert((new, pod.clone()));
        }
    }

    /// A pod in hand whose deadline has come.
    pub(super) fn pop_deadline(&mut self, now: Mono) -> Option<PodRef> {
        let pod = self.deadlines.first().filter(|(at, _)| *at <= now).map(|(_, pod)| pod.clone())?;
        self.set_deadline(&pod, None);
        Some(pod)
    }

    /// When the first of them comes.
    pub(super) fn next_deadline(&self) -> Option<Mono> {
        self.deadlines.first().map(|(at, _)| *at)
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

    fn unqueue(&mut self, attempt: &EvictionAttempt) {
        self.next.remove(&attempt.key);
        if let Some(at) = attempt.retry_at {
            self.later.remove(&(at, attempt.key.clone()));
        }
    }

    /// Another turn as soon as possible, unless the attempt is over.
    pub(super) fn requeue(&mut self, key: QueueKey) {
        if self.attempt_of(&key).is_some() {
            self.next.insert(key);
        }
    }

    /// Another turn at a later moment, unless the attempt is over.
    pub(super) fn later_at(&mut self, key: QueueKey, at: Mono) {
        if let Some(attempt) = self.attempt_of(&key) {
            attempt.retry_at = Some(at);
            self.later.insert((at, key));
        }
    }

    /// A queue key from before its pod was gone and told of again is worth nothing: the attempt of now has another one.
    fn attempt_of(&mut self, key: &QueueKey) -> Option<&mut EvictionAttempt> {
        self.attempts.get_mut(&key.pod).filter(|attempt| attempt.key == *key)
    }

    /// When the next retry is due.
    pub(super) fn next_wakeup(&self) -> Option<Mono> {
        let (at, _) = self.later.first()?;
        Some(self.outage.probe_at().map_or(*at, |probe| probe.min(*at)))
    }
}
