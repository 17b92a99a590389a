//! Learns from responses what the API server rejects, and gives waiting pods their turn when that ends.
//!
//! - See `rejection.rs` for what a response shows, `delete_throttle.rs` for how long deletions take.

use super::attempt::{EvictionAttempt, QueueKey};
use super::rejection::{RejectedObject, RequestScope, SuccessMeaning, TURNS_PER_SUCCESS, is_rejection};
use super::{InFlightRequest, WorkQueue};
use crate::api_error::ApiFailure;
use crate::backoff::jitter;
use crate::eviction::stats::{EvictionStall, StallReason};
use crate::identity::{NodeName, PodRef};
use crate::time::{Mono, Span};

/// How many waiting pods of a kind are considered for a turn before their time.
const CANDIDATES_MAX: usize = 8;

/// When rejections have ended, the retries of waiting pods are spread: this far apart, over at most this time.
const RETRIES_APART: Span = Span::from_millis(2);
const RETRIES_SPREAD_MAX: Span = Span::from_secs(1);

impl WorkQueue {
    /// A live read of a node ended. A response that came too late confirms nothing, but is one.
    pub(in crate::eviction) fn node_read(
        &mut self,
        node: &NodeName,
        failure: Option<ApiFailure>,
        is_late: bool,
        now: Mono,
    ) {
        let stall = failure.filter(|failure| is_rejection(*failure)).map(StallReason::Failed);
        self.note_progress(stall.or(is_late.then_some(StallReason::TooLate)), now);
        let Some(failure) = failure.filter(|failure| is_rejection(*failure)) else {
            return self.succeeded(&RequestScope::Reads, now);
        };
        let object = RejectedObject::Node(node.clone());
        let reason = self.rejections.rejected(&RequestScope::Reads, object, failure, now);
        for pod in self.parked.get(node).into_iter().flatten() {
            if let Some(attempt) = self.attempts.get_mut(pod).filter(|attempt| attempt.is_idle()) {
                attempt.rejected(RequestScope::Reads, reason, now);
            }
        }
    }

    /// A request about a pod ended.
    pub(in crate::eviction) fn request_ended(
        &mut self,
        pod: &PodRef,
        request: InFlightRequest,
        failure: Option<ApiFailure>,
        now: Mono,
    ) {
        let is_awaited = |attempt: &&mut EvictionAttempt| attempt.in_flight == Some(request);
        let Some(attempt) = self.attempts.get_mut(pod).filter(is_awaited) else { return };
        let (scope, sent, was_slow) = (attempt.scope(request), attempt.sent, attempt.is_slow_delete);
        let rejection = failure.filter(|failure| is_rejection(*failure));
        match rejection {
            Some(failure) => {
                let object = RejectedObject::Pod(pod.clone());
                let reason = self.rejections.rejected(&scope, object, failure, now);
                attempt.rejected(scope.clone(), reason, now);
            }
            None => {
                attempt.succeeded(&scope);
                self.succeeded(&scope, now);
            }
        }
        if let RequestScope::Deletes(namespace) = &scope {
            let has_response = failure != Some(ApiFailure::Unavailable);
            self.deletes.ended(namespace, sent, was_slow, has_response, now);
        }
        // What removes a mark brings no eviction further.
        if rejection.is_some() || request != InFlightRequest::ClearMark {
            self.note_progress(rejection.map(StallReason::Failed), now);
        }
    }

    /// A request for a due pod ended: it succeeded, or brought the eviction no further for this reason.
    fn note_progress(&mut self, failure: Option<StallReason>, now: Mono) {
        self.stall = failure.filter(|_| !self.attempts.is_empty()).map(|reason| {
            let since = self.stall.map_or(now, |stall| stall.since);
            EvictionStall { since, reason }
        });
    }

    fn succeeded(&mut self, scope: &RequestScope, now: Mono) {
        match self.rejections.succeeded(scope, now) {
            SuccessMeaning::Nothing => {}
            SuccessMeaning::Hint => self.hint(scope, now),
            SuccessMeaning::End { is_alone } => self.end_rejections(scope, is_alone, now),
        }
    }

    /// A few pods that wait because of this kind of rejections get their turn.
    fn hint(&mut self, scope: &RequestScope, now: Mono) {
        let ready = |key: &&QueueKey| {
            let rejection = self.attempts.get(&key.pod).and_then(EvictionAttempt::rejection);
            rejection.is_some_and(|rejection| rejection.hint_floor(&key.pod) <= now)
        };
        let waiting = self.later.of_scope(scope).take(CANDIDATES_MAX).filter(ready);
        let pods: alloc::vec::Vec<_> = waiting.take(TURNS_PER_SUCCESS).map(|key| key.pod.clone()).collect();
        for pod in pods {
            if let Some(attempt) = self.attempts.get_mut(&pod) {
                attempt.is_early = true;
                attempt.rejection_mut().into_iter().for_each(|rejection| rejection.hint());
            }
            self.retry_at(&pod, now);
        }
    }

    /// Refusals of this kind have ended: all pods that wait because of them get their turn soon, and pauses begin
    /// again. Each is considered once: a pod that is rejected even so waits for its own time.
    fn end_rejections(&mut self, scope: &RequestScope, is_alone: bool, now: Mono) {
        let waiting = self.later.all_of_scope(scope);
        let spread =
            RETRIES_APART.as_micros().saturating_mul(i64::try_from(waiting.len()).unwrap_or(i64::MAX));
        let spread = spread.min(RETRIES_SPREAD_MAX.as_micros());
        for QueueKey { pod, .. } in waiting {
            let Some(attempt) = self.attempts.get_mut(&pod) else { continue };
            let Some(rejection) = attempt.rejection_mut() else { continue };
            rejection.end(is_alone);
            let share = i64::from(jitter(pod.node.as_str(), &pod.uid, rejection.failures()));
            let at = now.plus(Span::from_micros(spread * share / 1024)).max(rejection.floor(&pod));
            attempt.is_early = true;
            let at = attempt.retry_at.map_or(at, |before| before.min(at));
            self.wait_alone(&pod, at);
        }
    }

    /// Schedules a retry at that moment: no end of rejections changes it any more.
    fn wait_alone(&mut self, pod: &PodRef, at: Mono) {
        self.stop_waiting(pod);
        let Some(attempt) = self.attempts.get_mut(pod) else { return };
        attempt.retry_at = Some(at);
        self.later.insert(at, attempt.key.clone(), None);
    }

    /// The pod that is tried before its time, to find out whether rejections have ended.
    pub(super) fn next_probe(&mut self, now: Mono) -> Option<QueueKey> {
        loop {
            let at = |scope: &RequestScope| self.rejections.probe_at(scope);
            let first = self.later.scopes().filter_map(|scope| Some((at(scope)?, scope))).min();
            let scope = first.filter(|(at, _)| *at <= now).map(|(_, scope)| scope.clone())?;
            let mut earliest = Mono::NEVER;
            for key in self.later.of_scope(&scope).take(CANDIDATES_MAX) {
                let rejection = self.attempts.get(&key.pod).and_then(EvictionAttempt::rejection);
                let floor = rejection
                    .map_or(Mono::NEVER, |rejection| self.rejections.probe_floor(rejection, &key.pod));
                if floor <= now {
                    return Some(key.clone());
                }
                earliest = earliest.min(floor);
            }
            self.rejections.put_off(&scope, earliest);
        }
    }
}
