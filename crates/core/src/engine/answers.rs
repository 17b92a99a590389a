//! # Answers: what the API server's answers mean
//! Room:     results of effects: progress, another look, another try, or the end of an attempt.
//! Comes in: the answer to each pulled effect.
//! Goes out: tickets back into the queue, pods out of the roster, notices.
//! Keeps:    never given up (D3, L2), nor forgotten for one 404; a lost answer or a failed precondition is followed by a
//!           look, not by a repeat (P31, P45, S10).
//! Not here: deciding what to send (`turns.rs`).

use super::check::Check;
use super::ingest::{Behind, Unseen};
use super::queue::{Attempt, Errand, PodRef, Step, Ticket, backoff};
use super::roster::{Flags, Stage};
use super::turns::VERSION_CONFLICTS_MAX;
use super::{Engine, Notice, Reading};
use crate::effect::Failure;
use crate::fact::{NodeFact, PodFact};
use crate::names::{NodeName, Uid, Version};
use crate::start::Sighting;
use crate::time::{Mono, Now, Span};
use alloc::vec::Vec;

/// So often the watch gets time to tell what a live read says of a taint's beginning.
const NEWS_AWAITED: u32 = 5;

/// So often in a row a node that the watch knows is not found, before everything is to be listed again.
const ABSENCES_DOUBTED: u32 = 3;

/// How long a mark may stand on a pod that cannot be deleted: S9's 60 s, less what taking it away may take.
const MARK_MAX: Span = Span::from_secs(45);

/// What goes with a live read of a node.
struct Asked {
    sent: Mono,
    tries: u32,
    /// What was known then.
    known: Option<Version>,
}

impl Engine {
    pub(super) fn confirmed(
        &mut self,
        node: &NodeName,
        sent: Mono,
        result: Result<Reading<NodeFact>, Failure>,
        now: Now,
    ) {
        let Some(seat) = self.nodes.get_mut(node) else { return };
        let Check::InFlight { tries, void, known } = seat.check else { return };
        let parked = core::mem::take(&mut seat.parked);
        seat.check = Check::None;
        let failure = match result {
            Ok(_) | Err(Failure::NotFound) if void => None,
            Ok(Reading::Is(fact)) => self.node_read(fact, &Asked { sent, tries, known }, now),
            Ok(Reading::Unreadable) => {
                self.node_unreadable(node, now.mono);
                None
            }
            // Not forgotten for one word: if it is so, the watch or a list tells, too.
            Ok(Reading::Absent) => Some(Failure::NotFound),
            Err(failure) => Some(failure),
        };
        match failure {
            None => parked.into_iter().for_each(|ticket| self.book.queue.again(ticket)),
            Some(failure) => self.not_confirmed(node, tries.saturating_add(1), failure, parked, now.mono),
        }
        self.clear_seat(node);
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
    fn node_read(&mut self, fact: NodeFact, asked: &Asked, now: Now) -> Option<Failure> {
        let seat = self.nodes.get_mut(&fact.name)?;
        if fact.version.is_some() && fact.version < asked.known {
            self.book.notices.push(Notice::Rewound);
            // What was told since may be of the new history.
            if seat.known.as_ref().is_some_and(|known| known.version == asked.known) {
                let sighting = Sighting::Listed { absent_until: None };
                self.node_told(fact, sighting, Unseen::Since(None), now);
            }
            return None;
        }
        let behind = seat.known.as_ref().map_or(Behind::Nothing, |known| known.behind(&fact, now));
        if behind == Behind::News && asked.tries < NEWS_AWAITED {
            return Some(Failure::Conflict);
        }
        let told = fact.version.is_some() && behind == Behind::Nothing;
        let unseen = if told { Unseen::Nothing } else { Unseen::Since(None) };
        let late = now.mono > asked.sent.plus(self.config.confirm_age_max);
        if !late {
            seat.check = Check::At(asked.sent);
        }
        self.node_told(fact, Sighting::Live, unseen, now);
        late.then_some(Failure::Unavailable)
    }

    /// A node cannot be confirmed for now: those who wait for it wait for the next try.
    fn not_confirmed(
        &mut self,
        node: &NodeName,
        tries: u32,
        failure: Failure,
        parked: Vec<Ticket>,
        now: Mono,
    ) {
        let retry_at = now.plus(backoff(node.as_str(), &Uid::new(""), tries, failure));
        if let Some(seat) = self.nodes.get_mut(node) {
            seat.check = Check::Failed { at: now, retry_at, tries };
        }
        if failure == Failure::NotFound && tries == ABSENCES_DOUBTED {
            self.book.notices.push(Notice::Rewound);
        }
        for ticket in parked {
            if let Some(attempt) = self.book.queue.attempts.get_mut(&ticket.pod) {
                attempt.last_failure = Some(failure);
                self.postpone(ticket, retry_at);
            }
        }
    }

    pub(super) fn marked(&mut self, pod: &PodRef, result: Result<Option<Version>, Failure>, now: Mono) {
        let Some(attempt) = self.answered(pod, Errand::Mark) else { return };
        let ticket = attempt.ticket.clone();
        match result {
            Ok(version) => {
                (attempt.marked_at, attempt.marked_here) = (Some(now), true);
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
        let attempt = self.book.queue.attempts.get(pod);
        let vanished = attempt.is_some_and(|attempt| attempt.vanished);
        let refused = matches!(result, Err(Failure::NotFound | Failure::Conflict));
        if refused && attempt.is_some_and(|attempt| attempt.overtaken) {
            self.book.notices.push(Notice::Overtaken { pod: pod.clone() });
        }
        if vanished && result.is_ok() {
            return self.evicted(pod);
        }
        let Some(attempt) = self.answered(pod, Errand::Delete) else { return };
        match result {
            Ok(()) => self.evicted(pod),
            Err(failure) => {
                attempt.delete_lost |= failure == Failure::Unavailable;
                self.failed(pod, failure, now);
            }
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

    pub(super) fn looked(
        &mut self,
        pod: &PodRef,
        result: Result<Reading<PodFact>, Failure>,
        half_deleted: bool,
        now: Now,
    ) {
        let Some(attempt) = self.answered(pod, Errand::Look) else { return };
        // What a DELETE that went unanswered has begun is brought to its end (P31); whatever else is on its way out is
        // left alone (S10).
        let finish = half_deleted && attempt.delete_lost;
        attempt.step = if finish { Step::Finish } else { Step::Evict };
        let (asked, known) = attempt.looked.unwrap_or((now.mono, None));
        let by_uid_only = attempt.conflicts >= VERSION_CONFLICTS_MAX;
        let ticket = attempt.ticket.clone();
        match result {
            Ok(Reading::Is(fact)) if fact.uid == pod.uid => {
                let late = now.mono > asked.plus(self.config.confirm_age_max);
                let counts = by_uid_only || fact.version.is_none() || finish;
                // As with nodes: older than what was known means that the store was put back.
                let rewound = fact.version.is_some() && fact.version < known;
                let held = self.nodes.get(&pod.node).and_then(|seat| seat.pod(&pod.uid));
                let is_as_known = held.is_some_and(|held| held.version() == known);
                if rewound {
                    self.book.notices.push(Notice::Rewound);
                }
                self.pod(fact, rewound && is_as_known, now);
                match (rewound && !is_as_known, late && counts) {
                    (true, _) => self.failed(pod, Failure::Conflict, now.mono),
                    (_, true) => self.failed(pod, Failure::Unavailable, now.mono),
                    _ => self.book.queue.again(ticket),
                }
            }
            Ok(Reading::Is(successor)) => {
                self.pod_gone(pod);
                self.pod(successor, false, now);
            }
            Ok(Reading::Absent) | Err(Failure::NotFound) => self.pod_gone(pod),
            Ok(Reading::Unreadable) => {
                self.pod_unreadable(&pod.uid, Some(&pod.node), now.mono);
                self.book.queue.again(ticket);
            }
            Err(failure) => self.failed(pod, failure, now.mono),
        }
    }

    pub(super) fn unmarked(&mut self, pod: &PodRef, result: Result<(), Failure>, now: Mono) {
        let Some(attempt) = self.answered(pod, Errand::Unmark) else { return };
        let (ticket, resume_at) = (attempt.ticket.clone(), attempt.resume_at.take());
        if let Err(failure) = result {
            self.failed(pod, failure, now);
            if let Some(resume_at) = resume_at {
                return self.resume(ticket, resume_at);
            }
            // Its deadline may come before the next try.
            return self.reassess_pod(&pod.node, &pod.uid, None, now);
        }
        (attempt.marked_at, attempt.marked_here) = (None, false);
        if let Some(held) = self.nodes.get_mut(&pod.node).and_then(|seat| seat.pod_mut(&pod.uid)) {
            held.flags.set(Flags::MARKED, false);
            held.set_version(None);
        }
        match resume_at {
            Some(resume_at) => self.resume(ticket, resume_at),
            None => self.settled(pod, now),
        }
    }

    /// What was put off while the mark was taken away: its time comes as it would have come without that.
    fn resume(&mut self, ticket: Ticket, at: Mono) {
        let Some(attempt) = self.book.queue.attempts.get_mut(&ticket.pod) else { return };
        (attempt.step, attempt.resume_at) = (Step::Look, None);
        self.book.queue.hasten(&ticket.pod);
        self.book.queue.next.remove(&ticket);
        self.book.queue.later_at(ticket, at);
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
        let conflict = failure == Failure::Conflict;
        let tries = if conflict { &mut attempt.conflicts } else { &mut attempt.failures };
        *tries = tries.saturating_add(1);
        let tries = *tries;
        // Not to be found, another, or unanswered: what is known of the pod may not be so.
        let doubtful = matches!(failure, Failure::NotFound | Failure::Conflict | Failure::Unavailable);
        if doubtful {
            attempt.step = Step::Look;
        }
        attempt.slow |= failure == Failure::Unavailable;
        let uid_only = attempt.conflicts >= VERSION_CONFLICTS_MAX;
        let ticket = attempt.ticket.clone();
        if let Some(seat) =
            self.nodes.get_mut(&pod.node).filter(|seat| uid_only && matches!(seat.check, Check::At(_)))
        {
            seat.check = Check::None;
        }
        match tries == 1 && matches!(failure, Failure::NotFound | Failure::Conflict) {
            true => self.book.queue.again(ticket),
            false => self.postpone(ticket, now.plus(backoff(pod.node.as_str(), &pod.uid, tries, failure))),
        }
    }

    /// Another try at that moment. A mark does not stand for so long on a pod that is not deleted (S9): it is taken away
    /// first, and put on again before the next DELETE.
    fn postpone(&mut self, ticket: Ticket, at: Mono) {
        let Some(attempt) = self.book.queue.attempts.get_mut(&ticket.pod) else { return };
        let long = attempt.marked_at.is_some_and(|marked| marked.plus(MARK_MAX) < at);
        if long && matches!(attempt.step, Step::Evict | Step::Look) {
            attempt.step = Step::Rest;
            attempt.resume_at = Some(at);
            return self.book.queue.again(ticket);
        }
        self.book.queue.later_at(ticket, at);
    }
}
