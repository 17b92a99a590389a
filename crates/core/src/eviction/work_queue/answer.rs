//! Advances an attempt by the response to its request: the next step, another read, a retry, or its end.
//!
//! - Invariant: an eviction is retried until it is no longer due (D3, L2) and not dropped after one 404; a lost
//!   response or failed precondition leads to a live read, not a repeat (P31, P45, S10).

use super::attempt::{EvictionAttempt, PodReading};
use super::delete_pace::SLOW_MIN;
use super::refusal::{Refusal, is_refusal};
use super::{InFlightRequest, NextStep, WorkQueue};
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::engine::LiveRead;
use crate::eviction::EvictionEngine;
use crate::eviction::input::EvictionInput;
use crate::eviction::notice::{EvictionNotice, EvictionReason};
use crate::fact::PodFact;
use crate::identity::{PodRef, ResourceVersion};
use crate::object_event::ObjectIndex;
use crate::time::{Mono, Now};
use alloc::boxed::Box;

impl EvictionEngine {
    /// Handles the response to a request about a pod.
    pub(in crate::eviction) fn answered(&mut self, input: EvictionInput, now: Now) {
        match input {
            EvictionInput::Marked { pod, result } => self.marked(&pod, result, now.mono),
            EvictionInput::Deleted { pod, result } => self.deleted(&pod, result, now.mono),
            EvictionInput::PodRead { pod, result, half_deleted } => {
                self.pod_read(&pod, result, half_deleted, now)
            }
            EvictionInput::Unmarked { pod, result } => self.unmarked(&pod, result, now.mono),
            EvictionInput::Nodes(_)
            | EvictionInput::Pods(_)
            | EvictionInput::CountdownHold(_)
            | EvictionInput::NodeConfirmed { .. } => {}
        }
    }

    fn marked(&mut self, pod: &PodRef, result: Result<Option<ResourceVersion>, ApiFailure>, now: Mono) {
        if !self.state.queue.mark_answered(pod, result.is_ok(), now) {
            return;
        }
        match result {
            Ok(version) => {
                if self.update().set_marked(pod, true, version) {
                    self.state.queue.requeue(pod);
                }
            }
            Err(failure) => self.failed(pod, failure, now),
        }
    }

    fn deleted(&mut self, pod: &PodRef, result: Result<(), ApiFailure>, now: Mono) {
        let refused = matches!(result, Err(ApiFailure::NotFound | ApiFailure::Conflict));
        if refused && self.state.queue.came_late(pod) {
            self.state.notices.push(EvictionNotice::EvictedByOther { pod: pod.clone() });
        }
        if !self.state.queue.delete_answered(pod, result) {
            return;
        }
        match result {
            Ok(()) => self.evicted(pod),
            Err(failure) => {
                self.failed(pod, failure, now);
                // A webhook takes longer than the time limit: a pause would only be added to that.
                if failure == ApiFailure::Unavailable && self.state.queue.took_long(pod, now) {
                    self.state.queue.hasten(pod);
                }
            }
        }
    }

    /// The API server has accepted the deletion; whether the watch has already delivered it does not matter.
    fn evicted(&mut self, pod: &PodRef) {
        let completed = self.state.queue.complete(pod);
        let (reason, any_version) = completed.unwrap_or_default();
        self.update().accept_deletion(pod, any_version);
        if let Some(reason) = reason {
            self.state.notices.push(EvictionNotice::Evicted { pod: pod.clone(), reason });
        }
    }

    fn pod_read(
        &mut self,
        pod: &PodRef,
        result: Result<LiveRead<PodFact>, ApiFailure>,
        half_deleted: bool,
        now: Now,
    ) {
        let result = match result {
            Ok(found) => found,
            // The pod is gone. Every other failure shows nothing of it: it is read again.
            Err(ApiFailure::NotFound) => LiveRead::NotFound,
            Err(failure) => {
                if self.state.queue.read_failed(pod) {
                    self.failed(pod, failure, now.mono);
                }
                return;
            }
        };
        let answer = self.state.queue.read_answered(pod, half_deleted, now.mono);
        let Some((PodReading { sent, known, .. }, any_version)) = answer else { return };
        match result {
            LiveRead::Found(fact) if *fact.id.uid() == pod.uid => {
                let late = now.mono > self.config.confirmed_until(sent, now.mono);
                let counts = any_version || fact.version.is_none();
                // As with nodes: a version older than the known one means that the store was restored.
                let rewound = fact.version.is_some() && fact.version < known;
                let is_as_known = self.cache.version(pod) == known;
                if rewound {
                    self.state.notices.push(EvictionNotice::ResourceVersionWentBack);
                }
                self.update().applied(fact, rewound && is_as_known, now);
                match (rewound && !is_as_known, late && counts) {
                    (true, _) => self.failed(pod, ApiFailure::Conflict, now.mono),
                    (_, true) => self.failed(pod, ApiFailure::Unavailable, now.mono),
                    _ => self.state.queue.requeue(pod),
                }
            }
            LiveRead::Found(successor) => {
                self.delete_pod(pod, now);
                self.update().applied(successor, false, now);
            }
            LiveRead::NotFound => self.delete_pod(pod, now),
            LiveRead::Undecodable => {
                ObjectIndex::<PodFact>::undecodable(&mut self.update(), pod.clone().into(), now);
                self.state.queue.requeue(pod);
            }
        }
    }

    fn unmarked(&mut self, pod: &PodRef, result: Result<(), ApiFailure>, now: Mono) {
        let Some(resume_at) = self.state.queue.unmark_answered(pod, result.is_ok()) else { return };
        if let Err(failure) = result {
            self.failed(pod, failure, now);
            return match resume_at {
                Some(resume_at) => self.state.queue.resume_at(pod, resume_at),
                // Its deadline may come before the next attempt.
                None => self.update().reassess_pod(pod, None, now),
            };
        }
        self.update().set_marked(pod, false, None);
        match resume_at {
            Some(resume_at) => self.state.queue.resume_at(pod, resume_at),
            None => self.update().finish_without_eviction(pod, now),
        }
    }

    fn delete_pod(&mut self, pod: &PodRef, now: Now) {
        ObjectIndex::<PodFact>::deleted(&mut self.update(), pod.clone().into(), now);
    }

    fn failed(&mut self, pod: &PodRef, failure: ApiFailure, now: Mono) {
        let any_version = self.state.queue.request_failed(pod, failure, now);
        if any_version {
            self.update().unconfirm(&pod.node);
        }
    }
}

/// What a response changes in the attempt that waited for it.
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
    fn mark_answered(&mut self, pod: &PodRef, is_marked: bool, now: Mono) -> bool {
        let Some(attempt) = self.awaited(pod, InFlightRequest::Mark) else { return false };
        if is_marked {
            (attempt.marked_at, attempt.marked_here) = (Some(now), true);
        }
        true
    }

    /// Records whether the mark was removed. Returns until when the next attempt waits, if it was removed for that.
    fn unmark_answered(&mut self, pod: &PodRef, is_unmarked: bool) -> Option<Option<Mono>> {
        let attempt = self.awaited(pod, InFlightRequest::Unmark)?;
        if is_unmarked {
            (attempt.marked_at, attempt.marked_here) = (None, false);
        }
        Some(attempt.unmark_at.take())
    }

    /// The pod could not be read: without a read it is not deleted by its UID alone (S1, S10), so that is still its next
    /// step. False if that no longer matters.
    fn read_failed(&mut self, pod: &PodRef) -> bool {
        let Some(attempt) = self.awaited(pod, InFlightRequest::ReadPod) else { return false };
        (attempt.step, attempt.pod_read) = (NextStep::ReadPod, None);
        true
    }

    /// The pod was read. Returns the read, and whether the pod is deleted by its UID alone.
    fn read_answered(&mut self, pod: &PodRef, half_deleted: bool, now: Mono) -> Option<(PodReading, bool)> {
        let attempt = self.awaited(pod, InFlightRequest::ReadPod)?;
        // A deletion that a lost DELETE has started is completed (P31); any other terminating pod is skipped (S10).
        let finish = half_deleted && attempt.delete_lost;
        attempt.step = if finish { NextStep::Finish } else { NextStep::Evict };
        let by_any_version = attempt.is_by_uid_only() || finish;
        let reading = attempt.pod_read.get_or_insert(PodReading { sent: now, answered: None, known: None });
        reading.answered = Some(now);
        Some((*reading, by_any_version))
    }

    /// Whether a refused DELETE came too late: another client's was accepted before.
    fn came_late(&self, pod: &PodRef) -> bool {
        self.attempts.get(pod).is_some_and(|attempt| attempt.deleted_by_other)
    }

    /// Records whether the DELETE was accepted; false if that no longer matters.
    fn delete_answered(&mut self, pod: &PodRef, result: Result<(), ApiFailure>) -> bool {
        if result.is_ok() && self.attempts.get(pod).is_some_and(|attempt| attempt.vanished) {
            return true;
        }
        let Some(attempt) = self.awaited(pod, InFlightRequest::Delete) else { return false };
        attempt.delete_lost |= result == Err(ApiFailure::Unavailable);
        true
    }

    /// Whether the last request of this attempt took long.
    fn took_long(&self, pod: &PodRef, now: Mono) -> bool {
        self.attempts.get(pod).is_some_and(|attempt| now.since(attempt.sent) >= SLOW_MIN)
    }

    /// The deletion is accepted: the attempt is over. Returns the reason, and whether the DELETE accepted any version.
    fn complete(&mut self, pod: &PodRef) -> Option<(Option<Box<EvictionReason>>, bool)> {
        let attempt = self.end(pod)?;
        let by_uid_only = attempt.is_by_uid_only();
        Some((attempt.reason, by_uid_only))
    }

    /// Resumes what was postponed while the mark was removed, at its original time.
    fn resume_at(&mut self, pod: &PodRef, at: Mono) {
        let Some(attempt) = self.attempts.get_mut(pod) else { return };
        (attempt.step, attempt.unmark_at) = (NextStep::ReadPod, None);
        let key = attempt.key.clone();
        self.next.remove(&key);
        self.retry_at(pod, at);
    }

    /// The request failed and is retried; true if by the UID alone from now on.
    fn request_failed(&mut self, pod: &PodRef, failure: ApiFailure, now: Mono) -> bool {
        let Some(attempt) = self.attempts.get_mut(pod) else { return false };
        attempt.last_failure = Some(failure);
        // If removing the mark failed, the retry does not start by removing it: that would repeat the same request
        // immediately (D3).
        let unmark_failed = matches!(attempt.step, NextStep::Unmark | NextStep::Rest);
        let conflict = failure == ApiFailure::Conflict;
        let tries = if conflict { &mut attempt.conflicts } else { &mut attempt.failures };
        *tries = tries.saturating_add(1);
        let tries = *tries;
        let refusals = attempt.refusal().filter(|_| is_refusal(failure)).map(Refusal::failures);
        // After not found, a conflict or no response, the stored pod may be outdated.
        let doubtful =
            matches!(failure, ApiFailure::NotFound | ApiFailure::Conflict | ApiFailure::Unavailable);
        if doubtful {
            attempt.step = NextStep::ReadPod;
        }
        attempt.slow |= failure == ApiFailure::Unavailable;
        let by_uid_only = attempt.is_by_uid_only();
        let PodRef { node, uid } = pod;
        let at = now.plus(backoff(node.as_str(), uid, refusals.unwrap_or(tries), failure));
        if tries == 1 && matches!(failure, ApiFailure::NotFound | ApiFailure::Conflict) {
            self.requeue(pod);
        } else if unmark_failed {
            self.retry_at(pod, at);
        } else {
            self.postpone(pod, at);
        }
        by_uid_only
    }
}

#[cfg(test)]
mod tests;
