//! Brings an attempt further by the answer to its request: the next step, another read, a retry, or its end.
//!
//! - Invariant: an eviction is retried until it is no longer due (D3, L2) and not dropped after one 404; a lost
//!   response or failed precondition leads to a live read, not a repeat (P31, P45, S10).

use super::{EvictionAttempt, InFlightRequest, NextStep, WorkQueue};
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::eviction::notice::EvictionReason;
use crate::identity::{PodRef, ResourceVersion};
use crate::time::{Mono, Span};
use alloc::boxed::Box;

/// How long a mark may stand on a pod that cannot be deleted: S9's 60 s, less what taking it away may take.
const MARK_MAX: Span = Span::from_secs(45);

/// The answer to a request about a pod.
pub(in crate::eviction) struct Answer<'q> {
    queue: &'q mut WorkQueue,
    pod: &'q PodRef,
}

impl<'q> Answer<'q> {
    pub(super) fn new(queue: &'q mut WorkQueue, pod: &'q PodRef) -> Self {
        Self { queue, pod }
    }

    fn attempt(&mut self) -> Option<&mut EvictionAttempt> {
        self.queue.attempts.get_mut(self.pod)
    }

    /// The attempt that waited for this answer, if its pod is still there; otherwise the attempt ends here.
    fn awaited(&mut self, request: InFlightRequest) -> Option<&mut EvictionAttempt> {
        let attempt = self.attempt()?;
        if attempt.in_flight != Some(request) {
            return None;
        }
        if attempt.vanished {
            self.queue.end(self.pod);
            return None;
        }
        let attempt = self.attempt()?;
        attempt.in_flight = None;
        Some(attempt)
    }

    /// Whether the mark was put on; false if that does not matter any more.
    pub(in crate::eviction) fn marked(mut self, is_marked: bool, now: Mono) -> bool {
        let Some(attempt) = self.awaited(InFlightRequest::Mark) else { return false };
        if is_marked {
            (attempt.marked_at, attempt.marked_here) = (Some(now), true);
        }
        true
    }

    /// Whether the mark was taken away; says until when the next try waits, if it was taken away for that.
    pub(in crate::eviction) fn unmarked(mut self, is_unmarked: bool) -> Option<Option<Mono>> {
        let attempt = self.awaited(InFlightRequest::Unmark)?;
        if is_unmarked {
            (attempt.marked_at, attempt.marked_here) = (None, false);
        }
        Some(attempt.unmark_at.take())
    }

    /// The pod was read. Says when it was asked for, what was known of it then, and whether it is deleted by its UID alone.
    pub(in crate::eviction) fn read(
        mut self,
        half_deleted: bool,
        now: Mono,
    ) -> Option<(Mono, Option<ResourceVersion>, bool)> {
        let attempt = self.awaited(InFlightRequest::ReadPod)?;
        // What a DELETE that went unanswered has begun is brought to its end (P31); whatever else is on its way out is
        // left alone (S10).
        let finish = half_deleted && attempt.delete_lost;
        attempt.step = if finish { NextStep::Finish } else { NextStep::Evict };
        let (asked, known) = attempt.pod_read.unwrap_or((now, None));
        Some((asked, known, attempt.is_by_uid_only() || finish))
    }

    /// Whether a DELETE that was refused came too late: another's was accepted before.
    pub(in crate::eviction) fn came_late(mut self) -> bool {
        self.attempt().is_some_and(|attempt| attempt.deleted_by_other)
    }

    /// The DELETE was accepted or not; false if that does not matter any more.
    pub(in crate::eviction) fn deleted(mut self, result: Result<(), ApiFailure>) -> bool {
        if result.is_ok() && self.attempt().is_some_and(|attempt| attempt.vanished) {
            return true;
        }
        let Some(attempt) = self.awaited(InFlightRequest::Delete) else { return false };
        attempt.delete_lost |= result == Err(ApiFailure::Unavailable);
        true
    }

    /// The deletion is accepted: the attempt is over. Says why, and whether any version was good enough for it.
    pub(in crate::eviction) fn complete(self) -> Option<(Option<Box<EvictionReason>>, bool)> {
        let attempt = self.queue.end(self.pod)?;
        let by_uid_only = attempt.is_by_uid_only();
        Some((attempt.reason, by_uid_only))
    }

    /// The pod has its turn again.
    pub(in crate::eviction) fn requeue(self) {
        self.queue.requeue(self.pod);
    }

    /// What was put off while the mark was taken away: its time comes as it would have come without that.
    pub(in crate::eviction) fn resume_at(mut self, at: Mono) {
        let Some(attempt) = self.attempt() else { return };
        (attempt.step, attempt.unmark_at) = (NextStep::ReadPod, None);
        let key = attempt.key.clone();
        self.queue.next.remove(&key);
        self.queue.retry_at(self.pod, at);
    }

    /// The request failed and is tried again; true if by the UID alone from now on.
    pub(in crate::eviction) fn failed(mut self, failure: ApiFailure, now: Mono) -> bool {
        let Some(attempt) = self.attempt() else { return false };
        attempt.last_failure = Some(failure);
        let conflict = failure == ApiFailure::Conflict;
        let tries = if conflict { &mut attempt.conflicts } else { &mut attempt.failures };
        *tries = tries.saturating_add(1);
        let tries = *tries;
        // Not to be found, another, or unanswered: what is known of the pod may not be so.
        let doubtful =
            matches!(failure, ApiFailure::NotFound | ApiFailure::Conflict | ApiFailure::Unavailable);
        if doubtful {
            attempt.step = NextStep::ReadPod;
        }
        attempt.slow |= failure == ApiFailure::Unavailable;
        let by_uid_only = attempt.is_by_uid_only();
        let PodRef { node, uid } = self.pod;
        match tries == 1 && matches!(failure, ApiFailure::NotFound | ApiFailure::Conflict) {
            true => self.queue.requeue(self.pod),
            false => self.postpone(failure, now.plus(backoff(node.as_str(), uid, tries, failure))),
        }
        by_uid_only
    }

    /// Another try at that moment. A mark does not stand for so long on a pod that is not deleted (S9): it is taken away
    /// first, and put on again before the next DELETE.
    pub(super) fn postpone(mut self, failure: ApiFailure, at: Mono) {
        let Some(attempt) = self.attempt() else { return };
        attempt.last_failure = Some(failure);
        let long = attempt.marked_at.is_some_and(|marked| marked.plus(MARK_MAX) < at);
        if long && matches!(attempt.step, NextStep::Evict | NextStep::ReadPod) {
            attempt.step = NextStep::Rest;
            attempt.unmark_at = Some(at);
            return self.requeue();
        }
        self.queue.retry_at(self.pod, at);
    }
}
