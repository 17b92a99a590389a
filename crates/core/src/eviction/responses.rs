//! Handles responses to effects: the next step, another read, a retry, or the end of the attempt.
//!
//! - Invariant: an eviction is retried until it is no longer due (D3, L2) and not dropped after one 404; a lost
//!   response or failed precondition leads to a live read, not a repeat (P31, P45, S10).

use super::cache::PodFlags;
use super::confirmation::NodeConfirmation;
use super::node_state::{CacheStaleness, NodeSource};
use super::phase::EvictionPhase;
use super::{EvictionEngine, EvictionNotice};
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::engine::LiveRead;
use crate::fact::{NodeFact, PodFact};
use crate::identity::{NodeName, PodRef, ResourceVersion, Uid};
use crate::object_event::ObjectIndex as _;
use crate::time::{Mono, Now};

/// So often the watch gets time to tell what a live read says of a taint's beginning.
const NEWS_AWAITED: u32 = 5;

/// So often in a row a node that the watch knows is not found, before everything is to be listed again.
const ABSENCES_DOUBTED: u32 = 3;

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
            None => self.state.queue.unpark(node),
            Some(failure) => self.not_confirmed(node, tries.saturating_add(1), failure, now.mono),
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
    fn not_confirmed(&mut self, node: &NodeName, tries: u32, failure: ApiFailure, now: Mono) {
        let retry_at = now.plus(backoff(node.as_str(), &Uid::new(""), tries, failure));
        if let Some(entry) = self.nodes.get_mut(node) {
            entry.confirmation = NodeConfirmation::Failed { at: now, retry_at, tries };
        }
        if failure == ApiFailure::NotFound && tries == ABSENCES_DOUBTED {
            self.state.notices.push(EvictionNotice::ResourceVersionWentBack);
        }
        self.state.queue.postpone_parked(node, failure, retry_at);
    }

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
                if let Some(held) = self.nodes.get_mut(&pod.node).and_then(|entry| entry.pod_mut(&pod.uid)) {
                    held.flags.set(PodFlags::MARKED, true);
                    held.set_version(version);
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
        if let Some(held) = self.nodes.get_mut(&pod.node).and_then(|entry| entry.pod_mut(&pod.uid)) {
            held.set_phase(EvictionPhase::Deleted, &mut self.state.counts);
            held.flags.set(PodFlags::LISTED_SINCE_GONE, false);
            // Accepted for whichever version there was: newer than the one that is known says nothing.
            if any_version {
                held.set_version(None);
            }
        }
        if let Some(reason) = reason {
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
        let answer = self.state.queue.answer(pod);
        let Some((asked, known, any_version)) = answer.read(half_deleted, now.mono) else { return };
        match result {
            Ok(LiveRead::Found(fact)) if *fact.id.uid() == pod.uid => {
                let late = now.mono > asked.plus(self.config.confirm_age_max);
                let counts = any_version || fact.version.is_none();
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
                    _ => self.state.queue.answer(pod).requeue(),
                }
            }
            Ok(LiveRead::Found(successor)) => {
                self.delete_pod(pod);
                self.applied(successor, false, now);
            }
            Ok(LiveRead::NotFound) | Err(ApiFailure::NotFound) => self.delete_pod(pod),
            Ok(LiveRead::Undecodable) => {
                self.mark_pod_undecodable(&pod.uid, Some(&pod.node), now.mono);
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
                None => self.reassess_pod(&pod.node, &pod.uid, None, now),
            };
        }
        if let Some(held) = self.nodes.get_mut(&pod.node).and_then(|entry| entry.pod_mut(&pod.uid)) {
            held.flags.set(PodFlags::MARKED, false);
            held.set_version(None);
        }
        match resume_at {
            Some(resume_at) => self.state.queue.answer(pod).resume_at(resume_at),
            None => self.finish_without_eviction(pod, now),
        }
    }

    fn failed(&mut self, pod: &PodRef, failure: ApiFailure, now: Mono) {
        let any_version = self.state.queue.answer(pod).failed(failure, now);
        let entry = self.nodes.get_mut(&pod.node).filter(|_| any_version);
        if let Some(entry) = entry.filter(|entry| matches!(entry.confirmation, NodeConfirmation::At(_))) {
            entry.confirmation = NodeConfirmation::None;
        }
    }
}
