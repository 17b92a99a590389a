//! Handles the responses to requests about pods: evicted, marked, read once more, retried, or no longer relevant.
//!
//! - Invariant: an eviction is retried until it is no longer due (D3, L2) and not dropped after one 404; a lost
//!   response or failed precondition leads to a live read, not a repeat (P31, P45, S10).
//! - See `work_queue/responses.rs` for what a response changes in the attempt that waited for it.

use super::EvictionEngine;
use super::input::EvictionInput;
use super::notice::EvictionNotice;
use super::work_queue::{InFlightRequest, PodReading};
use crate::api_error::ApiFailure;
use crate::engine::LiveRead;
use crate::fact::PodFact;
use crate::identity::{PodRef, ResourceVersion};
use crate::object_event::ObjectIndex;
use crate::time::{Mono, Now};

impl EvictionEngine {
    /// Handles the response to a request about a pod.
    pub(crate) fn on_response(&mut self, input: EvictionInput, now: Now) {
        match input {
            EvictionInput::Marked { pod, result } => self.marked(&pod, result, now.mono),
            EvictionInput::Deleted { pod, result } => {
                self.deleted(&pod, InFlightRequest::Delete, result, now.mono)
            }
            EvictionInput::Evicted { pod, result: Err(ApiFailure::Budget) } => {
                self.rejected_by_budget(&pod, now.mono)
            }
            EvictionInput::Evicted { pod, result } => {
                self.deleted(&pod, InFlightRequest::Evict, result, now.mono)
            }
            EvictionInput::PodRead { pod, result, half_deleted } => {
                self.pod_read(&pod, result, half_deleted, now)
            }
            EvictionInput::Unmarked { pod, result } => self.unmarked(&pod, result, now.mono),
            EvictionInput::Nodes(_)
            | EvictionInput::Pods(_)
            | EvictionInput::CountdownHold(_)
            | EvictionInput::Policies(_)
            | EvictionInput::PolicyDefinitionAbsent(_)
            | EvictionInput::Budgets(_)
            | EvictionInput::Workloads(..)
            | EvictionInput::Namespaces(_)
            | EvictionInput::NodeConfirmed { .. } => {}
        }
    }

    fn marked(&mut self, pod: &PodRef, result: Result<Option<ResourceVersion>, ApiFailure>, now: Mono) {
        if !self.state.queue.on_mark_response(pod, result.is_ok(), now) {
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

    /// A disruption budget does not allow the eviction now: the pod waits for the budget.
    fn rejected_by_budget(&mut self, pod: &PodRef, now: Mono) {
        let failure = Err(ApiFailure::Budget);
        if self.state.queue.on_delete_response(pod, InFlightRequest::Evict, failure) {
            self.state.queue.gate_mut().rejected(pod, now);
            self.update().finish_without_eviction(pod, now);
        }
    }

    fn deleted(&mut self, pod: &PodRef, request: InFlightRequest, result: Result<(), ApiFailure>, now: Mono) {
        let rejected = matches!(result, Err(ApiFailure::NotFound | ApiFailure::Conflict));
        if rejected && self.state.queue.came_late(pod) {
            self.state.notices.push(EvictionNotice::EvictedByOther { pod: pod.clone() });
        }
        if !self.state.queue.on_delete_response(pod, request, result) {
            return;
        }
        match result {
            Ok(()) => self.evicted(pod, request),
            Err(failure) => {
                self.failed(pod, failure, now);
                // A webhook takes longer than the time limit: a pause would only be added to that.
                if failure == ApiFailure::Unavailable && self.state.queue.took_long(pod, now) {
                    self.state.queue.hasten(pod);
                }
            }
        }
    }

    /// The API server has accepted the deletion; whether the watch has already delivered it does not matter. An eviction has
    /// no version as precondition.
    fn evicted(&mut self, pod: &PodRef, request: InFlightRequest) {
        let completed = self.state.queue.complete(pod);
        let (reason, by_uid_only) = completed.unwrap_or_default();
        self.update().accept_deletion(pod, by_uid_only || request == InFlightRequest::Evict);
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
        let reading = self.state.queue.on_read_response(pod, half_deleted, now.mono);
        let Some((PodReading { sent, known, .. }, any_version)) = reading else { return };
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
        let Some(resume_at) = self.state.queue.on_clear_mark_response(pod, result.is_ok()) else { return };
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
