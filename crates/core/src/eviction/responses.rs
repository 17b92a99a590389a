//! Handles responses to effects: the next step, another read, a retry, or the end of the attempt.
//!
//! - Invariant: an eviction is retried until it is no longer due (D3, L2) and not dropped after one 404; a lost
//!   response or failed precondition leads to a live read, not a repeat (P31, P45, S10).

use super::cache::PodFlags;
use super::confirmation::NodeConfirmation;
use super::dispatch::VERSION_CONFLICTS_MAX;
use super::node_state::{CacheStaleness, NodeSource};
use super::phase::EvictionPhase;
use super::work_queue::{EvictionAttempt, InFlightRequest, NextStep, QueueKey};
use super::{EvictionEngine, EvictionNotice};
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::engine::LiveRead;
use crate::fact::{NodeFact, PodFact};
use crate::identity::{NodeName, PodRef, ResourceVersion, Uid};
use crate::object_event::ObjectIndex as _;
use crate::time::{Mono, Now, Span};
use alloc::vec::Vec;

/// So often the watch gets time to tell what a live read says of a taint's beginning.
const NEWS_AWAITED: u32 = 5;

/// So often in a row a node that the watch knows is not found, before everything is to be listed again.
const ABSENCES_DOUBTED: u32 = 3;

/// How long a mark may stand on a pod that cannot be deleted: S9's 60 s, less what taking it away may take.
const MARK_MAX: Span = Span::from_secs(45);

/// What goes with a live read of a node.
struct NodeReadContext {
    sent: Mono,
    tries: u32,
    /// What was known then.
    known: Option<ResourceVersion>,
}

impl EvictionEngine {
    pub(super) fn confirmed(
        &mut self,
        node: &NodeName,
        sent: Mono,
        result: Result<LiveRead<NodeFact>, ApiFailure>,
        now: Now,
    ) {
        let Some(entry) = self.nodes.get_mut(node) else { return };
        let NodeConfirmation::InFlight { tries, void, known } = entry.confirmation else { return };
        let parked = core::mem::take(&mut entry.parked);
        entry.confirmation = NodeConfirmation::None;
        let failure = match result {
            Ok(_) | Err(ApiFailure::NotFound) if void => None,
            Ok(LiveRead::Found(fact)) => self.node_read(fact, &NodeReadContext { sent, tries, known }, now),
            Ok(LiveRead::Undecodable) => {
                self.mark_node_undecodable(node, now.mono);
                None
            }
            // Not forgotten for one word: if it is so, the watch or a list tells, too.
            Ok(LiveRead::NotFound) => Some(ApiFailure::NotFound),
            Err(failure) => Some(failure),
        };
        match failure {
            None => parked.into_iter().for_each(|key| self.state.queue.requeue(key)),
            Some(failure) => self.not_confirmed(node, tries.saturating_add(1), failure, parked, now.mono),
        }
        self.remove_empty_entry(node);
    }

    /// Takes in what a live read says of a node, and counts it as a confirmation, unless there is a reason why not.
    ///
    /// A quorum read cannot be older than what was known when it was sent, unless the store was put back to an earlier
    /// state (the watch may overtake it while it is under way, which is no matter). Then all that was known before
    /// belongs to another history: what was read is adopted as if it had been found in a list, nobody is evicted by it
    /// before it is read once more, and everything should be listed again.
    ///
    /// A read that is ahead of the watch may show another instance of a taint that is known. Within the second that is
    /// said of its beginning, that is settled by counting from the end of that second; if something else is said of its
    /// beginning, the watch gets a little time to tell whether somebody only wrote it anew (P46).
    fn node_read(&mut self, fact: NodeFact, asked: &NodeReadContext, now: Now) -> Option<ApiFailure> {
        let entry = self.nodes.get_mut(&fact.name)?;
        if fact.version.is_some() && fact.version < asked.known {
            self.state.notices.push(EvictionNotice::ResourceVersionWentBack);
            // What was told since may be of the new history.
            if entry.state.as_ref().is_some_and(|known| known.version() == asked.known) {
                self.apply_observed_node(fact, NodeSource::List { absent_until: None }, now);
            }
            return None;
        }
        let behind =
            entry.state.as_ref().map_or(CacheStaleness::UpToDate, |known| known.staleness(&fact, now));
        if behind == CacheStaleness::Newer && asked.tries < NEWS_AWAITED {
            return Some(ApiFailure::Conflict);
        }
        let last_notice = fact.version.is_some() && behind == CacheStaleness::UpToDate;
        let source = if last_notice { NodeSource::Watch } else { NodeSource::NewerRead };
        let late = now.mono > asked.sent.plus(self.config.confirm_age_max);
        if !late {
            entry.confirmation = NodeConfirmation::At(asked.sent);
        }
        self.apply_observed_node(fact, source, now);
        late.then_some(ApiFailure::Unavailable)
    }

    /// A node cannot be confirmed for now: those who wait for it wait for the next try.
    fn not_confirmed(
        &mut self,
        node: &NodeName,
        tries: u32,
        failure: ApiFailure,
        parked: Vec<QueueKey>,
        now: Mono,
    ) {
        let retry_at = now.plus(backoff(node.as_str(), &Uid::new(""), tries, failure));
        if let Some(entry) = self.nodes.get_mut(node) {
            entry.confirmation = NodeConfirmation::Failed { at: now, retry_at, tries };
        }
        if failure == ApiFailure::NotFound && tries == ABSENCES_DOUBTED {
            self.state.notices.push(EvictionNotice::ResourceVersionWentBack);
        }
        for key in parked {
            if let Some(attempt) = self.state.queue.attempts.get_mut(&key.pod) {
                attempt.last_failure = Some(failure);
                self.postpone(key, retry_at);
            }
        }
    }

    pub(super) fn marked(
        &mut self,
        pod: &PodRef,
        result: Result<Option<ResourceVersion>, ApiFailure>,
        now: Mono,
    ) {
        let Some(attempt) = self.answered(pod, InFlightRequest::Mark) else { return };
        let key = attempt.key.clone();
        match result {
            Ok(version) => {
                (attempt.marked_at, attempt.marked_here) = (Some(now), true);
                if let Some(held) = self.nodes.get_mut(&pod.node).and_then(|entry| entry.pod_mut(&pod.uid)) {
                    held.flags.set(PodFlags::MARKED, true);
                    held.set_version(version);
                    self.state.queue.requeue(key);
                }
            }
            Err(failure) => self.failed(pod, failure, now),
        }
    }

    pub(super) fn deleted(&mut self, pod: &PodRef, result: Result<(), ApiFailure>, now: Mono) {
        let attempt = self.state.queue.attempts.get(pod);
        let vanished = attempt.is_some_and(|attempt| attempt.vanished);
        let refused = matches!(result, Err(ApiFailure::NotFound | ApiFailure::Conflict));
        if refused && attempt.is_some_and(|attempt| attempt.deleted_by_other) {
            self.state.notices.push(EvictionNotice::EvictedByOther { pod: pod.clone() });
        }
        if vanished && result.is_ok() {
            return self.evicted(pod);
        }
        let Some(attempt) = self.answered(pod, InFlightRequest::Delete) else { return };
        match result {
            Ok(()) => self.evicted(pod),
            Err(failure) => {
                attempt.delete_lost |= failure == ApiFailure::Unavailable;
                self.failed(pod, failure, now);
            }
        }
    }

    /// The API server has accepted the deletion; whether the watch has said so already does not matter.
    fn evicted(&mut self, pod: &PodRef) {
        let attempt = self.state.queue.forget(pod);
        if let Some(held) = self.nodes.get_mut(&pod.node).and_then(|entry| entry.pod_mut(&pod.uid)) {
            held.set_phase(EvictionPhase::Deleted, &mut self.state.counts);
            held.flags.set(PodFlags::LISTED_SINCE_GONE, false);
            // Accepted for whichever version there was: newer than the one that is known says nothing.
            if attempt.as_ref().is_some_and(|attempt| attempt.conflicts >= VERSION_CONFLICTS_MAX) {
                held.set_version(None);
            }
        }
        if let Some(reason) = attempt.and_then(|attempt| attempt.reason) {
            self.state.notices.push(EvictionNotice::Evicted { pod: pod.clone(), reason });
        }
    }

    pub(super) fn looked(
        &mut self,
        pod: &PodRef,
        result: Result<LiveRead<PodFact>, ApiFailure>,
        half_deleted: bool,
        now: Now,
    ) {
        let Some(attempt) = self.answered(pod, InFlightRequest::ReadPod) else { return };
        // What a DELETE that went unanswered has begun is brought to its end (P31); whatever else is on its way out is
        // left alone (S10).
        let finish = half_deleted && attempt.delete_lost;
        attempt.step = if finish { NextStep::Finish } else { NextStep::Evict };
        let (asked, known) = attempt.pod_read.unwrap_or((now.mono, None));
        let by_uid_only = attempt.conflicts >= VERSION_CONFLICTS_MAX;
        let key = attempt.key.clone();
        match result {
            Ok(LiveRead::Found(fact)) if *fact.id.uid() == pod.uid => {
                let late = now.mono > asked.plus(self.config.confirm_age_max);
                let counts = by_uid_only || fact.version.is_none() || finish;
                // As with nodes: older than what was known means that the store was put back.
                let rewound = fact.version.is_some() && fact.version < known;
                let held = self.nodes.get(&pod.node).and_then(|entry| entry.pod(&pod.uid));
                let is_as_known = held.is_some_and(|held| held.version() == known);
                if rewound {
                    self.state.notices.push(EvictionNotice::ResourceVersionWentBack);
                }
                self.applied(fact, rewound && is_as_known, now);
                match (rewound && !is_as_known, late && counts) {
                    (true, _) => self.failed(pod, ApiFailure::Conflict, now.mono),
                    (_, true) => self.failed(pod, ApiFailure::Unavailable, now.mono),
                    _ => self.state.queue.requeue(key),
                }
            }
            Ok(LiveRead::Found(successor)) => {
                self.delete_pod(pod);
                self.applied(successor, false, now);
            }
            Ok(LiveRead::NotFound) | Err(ApiFailure::NotFound) => self.delete_pod(pod),
            Ok(LiveRead::Undecodable) => {
                self.mark_pod_undecodable(&pod.uid, Some(&pod.node), now.mono);
                self.state.queue.requeue(key);
            }
            Err(failure) => self.failed(pod, failure, now.mono),
        }
    }

    pub(super) fn unmarked(&mut self, pod: &PodRef, result: Result<(), ApiFailure>, now: Mono) {
        let Some(attempt) = self.answered(pod, InFlightRequest::Unmark) else { return };
        let (key, resume_at) = (attempt.key.clone(), attempt.unmark_at.take());
        if let Err(failure) = result {
            self.failed(pod, failure, now);
            if let Some(resume_at) = resume_at {
                return self.resume(key, resume_at);
            }
            // Its deadline may come before the next try.
            return self.reassess_pod(&pod.node, &pod.uid, None, now);
        }
        (attempt.marked_at, attempt.marked_here) = (None, false);
        if let Some(held) = self.nodes.get_mut(&pod.node).and_then(|entry| entry.pod_mut(&pod.uid)) {
            held.flags.set(PodFlags::MARKED, false);
            held.set_version(None);
        }
        match resume_at {
            Some(resume_at) => self.resume(key, resume_at),
            None => self.finish_without_eviction(pod, now),
        }
    }

    /// What was put off while the mark was taken away: its time comes as it would have come without that.
    fn resume(&mut self, key: QueueKey, at: Mono) {
        let Some(attempt) = self.state.queue.attempts.get_mut(&key.pod) else { return };
        (attempt.step, attempt.unmark_at) = (NextStep::ReadPod, None);
        self.state.queue.hasten(&key.pod);
        self.state.queue.next.remove(&key);
        self.state.queue.later_at(key, at);
    }

    /// The attempt that waited for this answer, if its pod is still there; otherwise the attempt ends here.
    fn answered(&mut self, pod: &PodRef, request: InFlightRequest) -> Option<&mut EvictionAttempt> {
        let attempt = self.state.queue.attempts.get(pod)?;
        if attempt.in_flight != Some(request) {
            return None;
        }
        if attempt.vanished {
            self.state.queue.forget(pod);
            return None;
        }
        let attempt = self.state.queue.attempts.get_mut(pod)?;
        attempt.in_flight = None;
        Some(attempt)
    }

    fn failed(&mut self, pod: &PodRef, failure: ApiFailure, now: Mono) {
        let Some(attempt) = self.state.queue.attempts.get_mut(pod) else { return };
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
        let uid_only = attempt.conflicts >= VERSION_CONFLICTS_MAX;
        let key = attempt.key.clone();
        if let Some(entry) = self
            .nodes
            .get_mut(&pod.node)
            .filter(|entry| uid_only && matches!(entry.confirmation, NodeConfirmation::At(_)))
        {
            entry.confirmation = NodeConfirmation::None;
        }
        match tries == 1 && matches!(failure, ApiFailure::NotFound | ApiFailure::Conflict) {
            true => self.state.queue.requeue(key),
            false => self.postpone(key, now.plus(backoff(pod.node.as_str(), &pod.uid, tries, failure))),
        }
    }

    /// Another try at that moment. A mark does not stand for so long on a pod that is not deleted (S9): it is taken away
    /// first, and put on again before the next DELETE.
    fn postpone(&mut self, key: QueueKey, at: Mono) {
        let Some(attempt) = self.state.queue.attempts.get_mut(&key.pod) else { return };
        let long = attempt.marked_at.is_some_and(|marked| marked.plus(MARK_MAX) < at);
        if long && matches!(attempt.step, NextStep::Evict | NextStep::ReadPod) {
            attempt.step = NextStep::Rest;
            attempt.unmark_at = Some(at);
            return self.state.queue.requeue(key);
        }
        self.state.queue.later_at(key, at);
    }
}
