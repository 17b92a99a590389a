//! Advances an attempt by the response to its request: the next step, another read, a retry, or its end.
//!
//! - Invariant: only the attempt that waited for this response changes; each retry keeps its step or reads the pod first.

use super::attempt::{EvictionAttempt, PodReading};
use super::delete_throttle::SLOW_MIN;
use super::rejection::{Rejection, is_rejection};
use super::{InFlightRequest, NextStep, WorkQueue};
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::eviction::notice::EvictionReason;
use crate::identity::PodRef;
use crate::time::Mono;
use alloc::boxed::Box;

impl WorkQueue {
    /// Returns the attempt that waited for this response, if its pod still exists; otherwise the attempt ends here.
    fn awaited(&mut self, pod: &PodRef, request: InFlightRequest) -> Option<&mut EvictionAttempt> {
        let attempt = self.attempts.get(pod)?;
        if attempt.in_flight != Some(request) {
            return None;
        }
        if attempt.vanished {
            self.end(pod);
            return None;
        }
        let attempt = self.attempts.get_mut(pod)?;
        attempt.in_flight = None;
        Some(attempt)
    }

    /// Records whether the mark was set; false if that no longer matters.
    pub(crate) fn on_mark_response(&mut self, pod: &PodRef, is_marked: bool, now: Mono) -> bool {
        let Some(attempt) = self.awaited(pod, InFlightRequest::Mark) else { return false };
        if is_marked {
            (attempt.marked_at, attempt.marked_here) = (Some(now), true);
        }
        true
    }

    /// Records whether the mark was removed. Returns until when the next attempt waits, if it was removed for that.
    pub(crate) fn on_clear_mark_response(&mut self, pod: &PodRef, is_cleared: bool) -> Option<Option<Mono>> {
        let attempt = self.awaited(pod, InFlightRequest::ClearMark)?;
        if is_cleared {
            (attempt.marked_at, attempt.marked_here) = (None, false);
        }
        Some(attempt.clear_mark_at.take())
    }

    /// The pod could not be read: without a read it is not deleted by its UID alone (S1, S10), so that is still its next
    /// step. False if that no longer matters.
    pub(crate) fn read_failed(&mut self, pod: &PodRef) -> bool {
        let Some(attempt) = self.awaited(pod, InFlightRequest::ReadPod) else { return false };
        (attempt.step, attempt.pod_read) = (NextStep::ReadPod, None);
        true
    }

    /// The pod was read. Returns the read, and whether the pod is deleted by its UID alone.
    pub(crate) fn on_read_response(
        &mut self,
        pod: &PodRef,
        half_deleted: bool,
        now: Mono,
    ) -> Option<(PodReading, bool)> {
        let attempt = self.awaited(pod, InFlightRequest::ReadPod)?;
        // A deletion that a lost DELETE has started is completed (P31); any other terminating pod is skipped (S10).
        let finish = half_deleted && attempt.delete_lost;
        attempt.step = if finish { NextStep::Finish } else { NextStep::Evict };
        let by_any_version = attempt.is_by_uid_only() || finish;
        let reading = attempt.pod_read.get_or_insert(PodReading { sent: now, received: None, known: None });
        reading.received = Some(now);
        Some((*reading, by_any_version))
    }

    /// Whether a rejected DELETE came too late: another client's was accepted before.
    pub(crate) fn came_late(&self, pod: &PodRef) -> bool {
        self.attempts.get(pod).is_some_and(|attempt| attempt.deleted_by_other)
    }

    /// Records whether the DELETE, or the eviction, was accepted; false if that no longer matters.
    pub(crate) fn on_delete_response(
        &mut self,
        pod: &PodRef,
        request: InFlightRequest,
        result: Result<(), ApiFailure>,
    ) -> bool {
        if result.is_ok() && self.attempts.get(pod).is_some_and(|attempt| attempt.vanished) {
            return true;
        }
        let Some(attempt) = self.awaited(pod, request) else { return false };
        attempt.delete_lost |= result == Err(ApiFailure::Unavailable);
        true
    }

    /// Whether the last request of this attempt took long.
    pub(crate) fn took_long(&self, pod: &PodRef, now: Mono) -> bool {
        self.attempts.get(pod).is_some_and(|attempt| now.since(attempt.sent) >= SLOW_MIN)
    }

    /// The deletion is accepted: the attempt is over. Returns the reason, and whether the DELETE accepted any version.
    pub(crate) fn complete(&mut self, pod: &PodRef) -> Option<(Option<Box<EvictionReason>>, bool)> {
        self.gate.accepted(pod);
        let attempt = self.end(pod)?;
        let policy = attempt.reason.as_ref().and_then(|reason| reason.policy.as_ref());
        if let Some(policy) = policy.filter(|policy| policy.is_forced) {
            self.gate.count_forced(&policy.name);
        }
        let by_uid_only = attempt.is_by_uid_only();
        Some((attempt.reason, by_uid_only))
    }

    /// Resumes what was postponed while the mark was removed, at its original time.
    pub(crate) fn resume_at(&mut self, pod: &PodRef, at: Mono) {
        let Some(attempt) = self.attempts.get_mut(pod) else { return };
        (attempt.step, attempt.clear_mark_at) = (NextStep::ReadPod, None);
        let key = attempt.key.clone();
        self.next.remove(&key);
        self.retry_at(pod, at);
    }

    /// The request failed and is retried; true if by the UID alone from now on.
    pub(crate) fn request_failed(&mut self, pod: &PodRef, failure: ApiFailure, now: Mono) -> bool {
        self.gate.request_ended(pod);
        let Some(attempt) = self.attempts.get_mut(pod) else { return false };
        attempt.last_failure = Some(failure);
        // If removing the mark failed, the retry does not start by removing it: that would repeat the same request
        // immediately (D3).
        let clear_mark_failed = matches!(attempt.step, NextStep::ClearMark | NextStep::Rest);
        let conflict = failure == ApiFailure::Conflict;
        let tries = if conflict { &mut attempt.conflicts } else { &mut attempt.failures };
        *tries = tries.saturating_add(1);
        let tries = *tries;
        let rejections = attempt.rejection().filter(|_| is_rejection(failure)).map(Rejection::failures);
        // After not found, a conflict or no response, the stored pod may be outdated.
        let doubtful =
            matches!(failure, ApiFailure::NotFound | ApiFailure::Conflict | ApiFailure::Unavailable);
        if doubtful {
            attempt.step = NextStep::ReadPod;
        }
        attempt.slow |= failure == ApiFailure::Unavailable;
        let by_uid_only = attempt.is_by_uid_only();
        let PodRef { node, uid } = pod;
        let at = now.plus(backoff(node.as_str(), uid, rejections.unwrap_or(tries), failure));
        if tries == 1 && matches!(failure, ApiFailure::NotFound | ApiFailure::Conflict) {
            self.requeue(pod);
        } else if clear_mark_failed {
            self.retry_at(pod, at);
        } else {
            self.postpone(pod, at);
        }
        by_uid_only
    }
}

#[cfg(test)]
mod tests;
