//! Handles responses to requests about pods.
//!
//! - See `work_queue/answer.rs` for the next step of an attempt, `cache/node_read.rs` for reads of nodes.

use super::{EvictionEngine, EvictionNotice};
use crate::api_error::ApiFailure;
use crate::engine::LiveRead;
use crate::fact::PodFact;
use crate::identity::{PodRef, ResourceVersion};
use crate::object_event::ObjectIndex;
use crate::time::{Mono, Now};

impl EvictionEngine {
    pub(super) fn marked(
        &mut self,
        pod: &PodRef,
        result: Result<Option<ResourceVersion>, ApiFailure>,
        now: Mono,
    ) {
        if !self.state.queue.answer(pod).marked(result.is_ok(), now) {
            return;
        }
        match result {
            Ok(version) => {
                if self.update().set_marked(pod, true, version) {
                    self.state.queue.answer(pod).requeue();
                }
            }
            Err(failure) => self.failed(pod, failure, now),
        }
    }

    pub(super) fn deleted(&mut self, pod: &PodRef, result: Result<(), ApiFailure>, now: Mono) {
        let refused = matches!(result, Err(ApiFailure::NotFound | ApiFailure::Conflict));
        if refused && self.state.queue.answer(pod).came_late() {
            self.state.notices.push(EvictionNotice::EvictedByOther { pod: pod.clone() });
        }
        if !self.state.queue.answer(pod).deleted(result) {
            return;
        }
        match result {
            Ok(()) => self.evicted(pod),
            Err(failure) => self.failed(pod, failure, now),
        }
    }

    /// The API server has accepted the deletion; whether the watch has said so already does not matter.
    fn evicted(&mut self, pod: &PodRef) {
        let completed = self.state.queue.answer(pod).complete();
        let (reason, any_version) = completed.unwrap_or_default();
        self.update().accept_deletion(pod, any_version);
        if let Some(reason) = reason {
            self.state.notices.push(EvictionNotice::Evicted { pod: pod.clone(), reason });
        }
    }

    pub(super) fn pod_read(
        &mut self,
        pod: &PodRef,
        result: Result<LiveRead<PodFact>, ApiFailure>,
        half_deleted: bool,
        now: Now,
    ) {
        let answer = self.state.queue.answer(pod);
        let Some((asked, known, any_version)) = answer.read(half_deleted, now.mono) else { return };
        match result {
            Ok(LiveRead::Found(fact)) if *fact.id.uid() == pod.uid => {
                let late = now.mono > asked.plus(self.config.confirm_age_max);
                let counts = any_version || fact.version.is_none();
                // As with nodes: older than what was known means that the store was put back.
                let rewound = fact.version.is_some() && fact.version < known;
                let is_as_known = self.cache.version(pod) == known;
                if rewound {
                    self.state.notices.push(EvictionNotice::ResourceVersionWentBack);
                }
                self.update().applied(fact, rewound && is_as_known, now);
                match (rewound && !is_as_known, late && counts) {
                    (true, _) => self.failed(pod, ApiFailure::Conflict, now.mono),
                    (_, true) => self.failed(pod, ApiFailure::Unavailable, now.mono),
                    _ => self.state.queue.answer(pod).requeue(),
                }
            }
            Ok(LiveRead::Found(successor)) => {
                self.delete_pod(pod, now);
                self.update().applied(successor, false, now);
            }
            Ok(LiveRead::NotFound) | Err(ApiFailure::NotFound) => self.delete_pod(pod, now),
            Ok(LiveRead::Undecodable) => {
                ObjectIndex::<PodFact>::undecodable(&mut self.update(), pod.clone().into(), now);
                self.state.queue.answer(pod).requeue();
            }
            Err(failure) => self.failed(pod, failure, now.mono),
        }
    }

    pub(super) fn unmarked(&mut self, pod: &PodRef, result: Result<(), ApiFailure>, now: Mono) {
        let Some(resume_at) = self.state.queue.answer(pod).unmarked(result.is_ok()) else { return };
        if let Err(failure) = result {
            self.failed(pod, failure, now);
            return match resume_at {
                Some(resume_at) => self.state.queue.answer(pod).resume_at(resume_at),
                // Its deadline may come before the next try.
                None => self.update().reassess_pod(pod, None, now),
            };
        }
        self.update().set_marked(pod, false, None);
        match resume_at {
            Some(resume_at) => self.state.queue.answer(pod).resume_at(resume_at),
            None => self.update().finish_without_eviction(pod, now),
        }
    }

    fn delete_pod(&mut self, pod: &PodRef, now: Now) {
        ObjectIndex::<PodFact>::deleted(&mut self.update(), pod.clone().into(), now);
    }

    fn failed(&mut self, pod: &PodRef, failure: ApiFailure, now: Mono) {
        let any_version = self.state.queue.answer(pod).failed(failure, now);
        if any_version {
            self.update().unconfirm(&pod.node);
        }
    }
}
