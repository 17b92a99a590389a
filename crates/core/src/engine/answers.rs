//! # Answers: what the API server's answers mean
//! Room:     results of effects: progress, another look, another try, or the end of an attempt.
//! Comes in: the answer to each pulled effect.
//! Goes out: tickets back into the queue, pods out of the roster, notices.
//! Keeps:    never given up (D3, L2); a lost answer or a failed precondition is followed by a look, not by a repeat
//!           (P31, P45, S10).
//! Not here: deciding what to send (`turns.rs`).

use super::ingest::Unseen;
use super::queue::{Attempt, Errand, PodRef, Step, backoff};
use super::roster::{Check, Flags, Stage};
use super::turns::VERSION_CONFLICTS_MAX;
use super::{Engine, Notice, Reading};
use crate::effect::Failure;
use crate::fact::{NodeFact, PodFact};
use crate::names::{NodeName, Uid, Version};
use crate::start::Sighting;
use crate::time::{Mono, Now};

impl Engine {
    pub(super) fn confirmed(
        &mut self,
        node: &NodeName,
        sent: Mono,
        result: Result<Reading<NodeFact>, Failure>,
        now: Now,
    ) {
        let Some(seat) = self.nodes.get_mut(node) else { return };
        let Check::InFlight { tries, void } = seat.check else { return };
        let parked = core::mem::take(&mut seat.parked);
        let result = match result {
            // It is ahead of the watch in what deadlines depend on: asked again when the watch may have caught up.
            Ok(Reading::Is(fact)) if seat.known.as_ref().is_some_and(|known| known.is_behind(&fact, now)) => {
                Err(Failure::Conflict)
            }
            result => result,
        };
        match result {
            Ok(_) | Err(Failure::NotFound) if void => seat.check = Check::None,
            Ok(Reading::Is(fact)) => {
                seat.check = Check::At(sent);
                let ordered = fact.version.is_some();
                let unseen = if ordered { Unseen::Nothing } else { Unseen::Since(None) };
                self.node_told(fact, Sighting::Live, unseen, now);
            }
            Ok(Reading::Absent) | Err(Failure::NotFound) => {
                seat.check = Check::None;
                self.node_gone(node, None, now.mono);
            }
            Ok(Reading::Unreadable) => {
                seat.check = Check::None;
                self.node_unreadable(node, now.mono);
            }
            Err(failure) => {
                let tries = tries.saturating_add(1);
                let retry_at = now.mono.plus(backoff(node.as_str(), &Uid::new(""), tries, failure));
                seat.check = Check::Failed { retry_at, tries };
                for ticket in parked {
                    if let Some(attempt) = self.book.queue.attempts.get_mut(&ticket.pod) {
                        attempt.last_failure = Some(failure);
                        self.book.queue.later_at(ticket, retry_at);
                    }
                }
                return;
            }
        }
        for ticket in parked {
            self.book.queue.again(ticket);
        }
        self.clear_seat(node);
    }

    pub(super) fn marked(&mut self, pod: &PodRef, result: Result<Option<Version>, Failure>, now: Mono) {
        let Some(attempt) = self.answered(pod, Errand::Mark) else { return };
        let ticket = attempt.ticket.clone();
        match result {
            Ok(version) => {
                if let Some(held) = self.nodes.get_mut(&pod.node).and_then(|seat| seat.pod_mut(&pod.uid)) {
                    held.flags.set(Flags::MARKED, true);
                    held.set_version(version);
                    self.book.queue.again(ticket);
                }
            }
            Err(failure) => self.failed(pod, failure, now),
        }
    }

    pub(super) fn deleted(&mut self, pod: &PodRef, result: Result<(), Failure>, now: Mono) {
        let vanished = self.book.queue.attempts.get(pod).is_some_and(|attempt| attempt.vanished);
        if vanished && result.is_ok() {
            return self.evicted(pod);
        }
        let Some(_) = self.answered(pod, Errand::Delete) else { return };
        match result {
            Ok(()) => self.evicted(pod),
            Err(failure) => self.failed(pod, failure, now),
        }
    }

    /// The API server has accepted the deletion; whether the watch has said so already does not matter.
    fn evicted(&mut self, pod: &PodRef) {
        let attempt = self.book.queue.forget(pod);
        if let Some(held) = self.nodes.get_mut(&pod.node).and_then(|seat| seat.pod_mut(&pod.uid)) {
            held.set_stage(Stage::Gone, &mut self.book.counts);
            held.flags.set(Flags::LISTED_SINCE_GONE, false);
            // Accepted for whichever version there was: newer than the one that is known says nothing.
            if attempt.as_ref().is_some_and(|attempt| attempt.conflicts >= VERSION_CONFLICTS_MAX) {
                held.set_version(None);
            }
        }
        if let Some(grounds) = attempt.and_then(|attempt| attempt.grounds) {
            self.book.notices.push(Notice::Evicted { pod: pod.clone(), grounds });
        }
    }

    pub(super) fn looked(&mut self, pod: &PodRef, result: Result<Reading<PodFact>, Failure>, now: Now) {
        let Some(attempt) = self.answered(pod, Errand::Look) else { return };
        attempt.step = Step::Evict;
        let ticket = attempt.ticket.clone();
        match result {
            Ok(Reading::Is(fact)) if fact.uid == pod.uid => {
                self.pod(fact, false, now);
                self.book.queue.again(ticket);
            }
            Ok(Reading::Is(successor)) => {
                self.pod_gone(pod);
                self.pod(successor, false, now);
            }
            Ok(Reading::Absent) => self.pod_gone(pod),
            Ok(Reading::Unreadable) => {
                self.pod_unreadable(&pod.uid, Some(&pod.node), now.mono);
                self.book.queue.again(ticket);
            }
            Err(failure) => self.failed(pod, failure, now.mono),
        }
    }

    pub(super) fn unmarked(&mut self, pod: &PodRef, result: Result<(), Failure>, now: Mono) {
        let Some(_) = self.answered(pod, Errand::Unmark) else { return };
        if let Err(failure) = result {
            return self.failed(pod, failure, now);
        }
        if let Some(held) = self.nodes.get_mut(&pod.node).and_then(|seat| seat.pod_mut(&pod.uid)) {
            held.flags.set(Flags::MARKED, false);
            held.set_version(None);
        }
        self.settled(pod, now);
    }

    /// The attempt that waited for this answer, if its pod is still there; otherwise the attempt ends here.
    fn answered(&mut self, pod: &PodRef, errand: Errand) -> Option<&mut Attempt> {
        let attempt = self.book.queue.attempts.get(pod)?;
        if attempt.errand != Some(errand) {
            return None;
        }
        if attempt.vanished {
            self.book.queue.forget(pod);
            return None;
        }
        let attempt = self.book.queue.attempts.get_mut(pod)?;
        attempt.errand = None;
        Some(attempt)
    }

    fn failed(&mut self, pod: &PodRef, failure: Failure, now: Mono) {
        let Some(attempt) = self.book.queue.attempts.get_mut(pod) else { return };
        attempt.last_failure = Some(failure);
        let (tries, at_once) = match failure {
            Failure::NotFound => return self.pod_gone(pod),
            Failure::Conflict => {
                attempt.step = Step::Look;
                attempt.conflicts = attempt.conflicts.saturating_add(1);
                (attempt.conflicts, attempt.conflicts == 1)
            }
            Failure::Unavailable => {
                attempt.step = Step::Look;
                attempt.failures = attempt.failures.saturating_add(1);
                (attempt.failures, false)
            }
            Failure::Forbidden | Failure::Throttled(_) | Failure::Rejected => {
                attempt.failures = attempt.failures.saturating_add(1);
                (attempt.failures, false)
            }
        };
        let uid_only = attempt.conflicts >= VERSION_CONFLICTS_MAX;
        let ticket = attempt.ticket.clone();
        if let Some(seat) =
            self.nodes.get_mut(&pod.node).filter(|seat| uid_only && matches!(seat.check, Check::At(_)))
        {
            seat.check = Check::None;
        }
        match at_once {
            true => self.book.queue.again(ticket),
            false => self
                .book
                .queue
                .later_at(ticket, now.plus(backoff(pod.node.as_str(), &pod.uid, tries, failure))),
        }
    }
}
